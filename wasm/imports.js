/**
 * Tells Emscripten's linker what the engine imports beside what Emscripten's own library wants: js/engine/engine.js
 * brings it.
 */

mergeInto(LibraryManager.library, { stopped() {}, now() {} });
