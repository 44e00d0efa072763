// Lines that someone had to write: neither blank nor a comment.

/** @param {string} text of a program or a page */
export const countLines = (text) => text.split('\n').filter((line) => line.trim() && !/^\s*\/\//.test(line)).length;
