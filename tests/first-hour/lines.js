// Lines that someone had to write: neither blank nor a comment, and each layer on a line of its own.

const IS_CODE = /^\s*[^\s/]|^\s*\/[^/]/;

/** @param {string} text of a program or a page */
export function countLines(text) {
  const imported = /import \{([^}]*)\} from '[^']*layers(?:\.js)?'/.exec(text)?.[1] ?? '';
  const names = imported.split(',').flatMap((name) => (/sequential|^\s*$/.test(name) ? [] : [name.trim()]));
  const layer = new RegExp(`${names.map((name) => `\\b${name}\\(`).join('|') || 'tf\\.layers\\.'}`, 'g');
  return text
    .split('\n')
    .filter((line) => IS_CODE.test(line))
    .reduce((count, line) => count + Math.max(1, line.match(layer)?.length ?? 0), 0);
}
