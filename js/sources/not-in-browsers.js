/** Nothing: bundlers for browsers take it instead of Node's files, folder.js, file.js and transport-node.js. */

export const Folder = undefined;
export const contentOf = undefined;
export const fileOf = undefined;
export const openNodeThread = undefined;
