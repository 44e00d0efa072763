/** What a bundler takes for browsers instead of the files that are Node's, folder.js, file.js and thread.js: nothing. */

export const openFolder = undefined;
export const contentOf = undefined;
export const fileOf = undefined;
export const openThread = undefined;
