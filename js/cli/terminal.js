/** Terminal output, a line at a time: names and messages are escaped to plain text. */

/** Controls (C0, DEL, C1), what turns the direction of text, line separators and halves of characters. */
const ODD = /[\p{Cc}\p{Bidi_Control}\p{Cs}\u2028\u2029]/gu;

/** A text in which nothing commands the terminal: ESC is shown as \x1b. @param {string} text */
export const printable = (text) =>
  text.replace(ODD, (odd) => {
    const code = odd.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });

/** @type {NodeJS.WriteStream} */
let out = process.stdout;
/** From here on standard output is for what a program reads, and all lines go elsewhere. */
export const sayElsewhere = () => {
  out = process.stderr;
};

/** @param {string} line */
export const say = (line) => {
  out.write(`${printable(line)}\n`);
};

/** @param {string} line */
export const complain = (line) => {
  process.stderr.write(`${printable(line)}\n`);
};

/** @type {Set<string>} */
const warned = new Set();

/** Each sentence once, however many sessions a command opens of the same model. @param {readonly string[]} sentences */
export const warn = (sentences) => {
  for (const sentence of sentences) if (!warned.has(sentence)) complain(`warning: ${sentence}`);
  for (const sentence of sentences) warned.add(sentence);
};
