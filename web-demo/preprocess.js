// Turns strokes into the 28×28 greys MNIST would have made of them.

/** @typedef {[number, number]} Point  @typedef {Point[]} Stroke  one stroke, in units of the pad, 0..1 */

export const SIZE = 28;
export const PIXELS = SIZE * SIZE;
const BOX = 20; // MNIST fits a digit into 20×20 …
const MIDDLE = SIZE / 2; // … and puts its centre of mass here
const RADIUS = 1.2; // half the width of a stroke, in pixels of the small image

/** @param {Stroke[]} strokes @returns {Uint8Array} 784 greys, 0 paper, 255 ink */
export function rasterize(strokes) {
  const fitted = fitIntoBox(strokes);
  const [x, y] = centreOfMass(ink(fitted));
  return ink(fitted.map((stroke) => stroke.map(([px, py]) => [px + MIDDLE - x, py + MIDDLE - y])));
}

function fitIntoBox(strokes) {
  const xs = strokes.flat().map((p) => p[0]),
    ys = strokes.flat().map((p) => p[1]);
  const left = Math.min(...xs),
    top = Math.min(...ys);
  const width = Math.max(...xs) - left,
    height = Math.max(...ys) - top;
  const scale = (BOX - 2 * RADIUS) / Math.max(width, height, 0.05);
  return strokes.map((stroke) =>
    stroke.map(([x, y]) => [MIDDLE + (x - left - width / 2) * scale, MIDDLE + (y - top - height / 2) * scale]),
  );
}

/** The ink of a pixel falls from full to none across one pixel at the stroke's edge: that is the anti-aliasing. */
function ink(strokes) {
  const image = new Uint8Array(PIXELS);
  for (const stroke of strokes) stroke.forEach((end, i) => inkSegment(image, stroke[Math.max(0, i - 1)], end));
  return image;
}

function inkSegment(image, [ax, ay], [bx, by]) {
  const reach = RADIUS + 1;
  const x0 = Math.max(0, Math.floor(Math.min(ax, bx) - reach)),
    x1 = Math.min(SIZE - 1, Math.ceil(Math.max(ax, bx) + reach));
  const y0 = Math.max(0, Math.floor(Math.min(ay, by) - reach)),
    y1 = Math.min(SIZE - 1, Math.ceil(Math.max(ay, by) + reach));
  const dx = bx - ax,
    dy = by - ay,
    square = dx * dx + dy * dy;
  for (let y = y0; y <= y1; y++)
    for (let x = x0; x <= x1; x++) {
      const px = x + 0.5 - ax,
        py = y + 0.5 - ay;
      const t = square ? Math.min(1, Math.max(0, (px * dx + py * dy) / square)) : 0;
      const grey = 255 * Math.min(1, Math.max(0, RADIUS + 0.5 - Math.hypot(px - t * dx, py - t * dy)));
      const at = y * SIZE + x;
      if (grey > image[at]) image[at] = Math.round(grey);
    }
}

function centreOfMass(image) {
  let mass = 0,
    x = 0,
    y = 0;
  image.forEach((grey, i) => {
    mass += grey;
    x += grey * ((i % SIZE) + 0.5);
    y += grey * (Math.floor(i / SIZE) + 0.5);
  });
  return mass ? [x / mass, y / mass] : [MIDDLE, MIDDLE];
}
