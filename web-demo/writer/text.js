// A person's text as a lesson: which lines are learned, and which are held out to test it on.

/** One of so many lines is held out. */
const HELD_OUT_OF = 6;
/** A paragraph in one line is cut into sentences of at least so many characters. */
const LINE = 60;
/** With fewer characters there is nothing to learn, or to test on. */
export const LEAST = 600;

/** @param {string} text @returns {string[]} */
function linesOf(text) {
  return text.split(/\s*\n\s*/).flatMap((paragraph) => {
    const lines = [''];
    for (const sentence of paragraph.match(/.+?(?:[.!?…]["'”’)]*(?=\s|$)|$)/g) ?? [])
      if (lines[lines.length - 1].length < LINE) lines[lines.length - 1] += sentence;
      else lines.push(sentence);
    return lines.map((line) => line.trim()).filter(Boolean);
  });
}

/** @param {string} text @returns {{ learned: string, heldOut: string }} */
export function lessonOf(text) {
  const lines = linesOf(text);
  const isHeldOut = (/** @type {number} */ i) => i % HELD_OUT_OF === HELD_OUT_OF - 2;
  return {
    learned: lines.filter((_, i) => !isHeldOut(i)).join('\n'),
    heldOut: lines.filter((_, i) => isHeldOut(i)).join('\n'),
  };
}
