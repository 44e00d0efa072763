# Toolchain of the relaxed builds: clang 19 or newer, which knows relaxed SIMD, with the C library of the Emscripten in
# the PATH.
#
# Emscripten's own compiler may be older than the final opcodes of relaxed SIMD (Debian 12's is). WASM_CLANG names
# another clang.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(EMSCRIPTEN TRUE)
set(TRAINLET_RELAXED TRUE)
set(WASM_CLANG clang-19 CACHE STRING "A clang that knows relaxed SIMD")
set(WASM_SYSROOT "" CACHE PATH "Emscripten's system root: include/, lib/wasm32-emscripten/")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WASM_CLANG WASM_SYSROOT)

set(CMAKE_C_COMPILER "${WASM_CLANG}")
set(CMAKE_C_COMPILER_TARGET wasm32-unknown-emscripten)
set(CMAKE_SYSROOT "${WASM_SYSROOT}")
set(CMAKE_AR emar CACHE FILEPATH "") # the machine's own ar knows no symbols of wasm
set(CMAKE_RANLIB emranlib CACHE FILEPATH "")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # nothing is linked to find out what the compiler can do
