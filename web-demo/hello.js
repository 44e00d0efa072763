// The greeting: the pad draws a 2 as a hand would, and the network reads it meanwhile.

const MS = 900;
/** @type {import('./preprocess.js').Stroke} */
const TWO = [
  ...Array.from({ length: 22 }, (_, i) => {
    const angle = Math.PI * (1.05 + (1.2 * i) / 21);
    return /** @type {[number, number]} */ ([0.5 + 0.21 * Math.cos(angle), 0.37 + 0.19 * Math.sin(angle)]);
  }),
  ...Array.from(
    { length: 12 },
    (_, i) => /** @type {[number, number]} */ ([0.6 - (0.31 * i) / 11, 0.53 + (0.26 * i) / 11]),
  ),
  ...Array.from({ length: 10 }, (_, i) => /** @type {[number, number]} */ ([0.31 + (0.42 * i) / 9, 0.79])),
];

/** Draws until someone else does. @param {import('./pad.js').Pad} pad */
export function greet(pad) {
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const begun = performance.now();
  let last = pad.strokes;
  const draw = () => {
    if (pad.strokes !== last) return; // the visitor draws
    const share = isCalm ? 1 : Math.min(1, (performance.now() - begun) / MS);
    pad.show([TWO.slice(0, Math.max(1, Math.round(share * TWO.length)))]);
    last = pad.strokes;
    if (share < 1) requestAnimationFrame(draw);
  };
  draw();
}
