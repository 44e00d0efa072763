// Pictures of 64 × 64 pixels: discs, crosses and stripes of any colour, size and place, with noise.

/** Numbers from 0 to 1. @param {number} i */
const noise = (i) => (Math.abs(Math.sin(12.9898 * (i + 1))) * 43758.5453) % 1;
const SIDE = 64;
/** @type {((x: number, y: number, size: number) => boolean)[]} */
const SHAPES = [
  (x, y, size) => Math.hypot(x, y) < size,
  (x, y, size) => Math.min(Math.abs(x), Math.abs(y)) < size / 4 && Math.max(Math.abs(x), Math.abs(y)) < size,
  (x, y, size) => Math.floor((x + y + 2 * SIDE) / (size / 3)) % 2 === 0,
];

/** @param {number} count @param {number} seed @returns {{ images: ImageData[], labels: number[] }} */
export function pictures(count, seed) {
  const labels = Array.from({ length: count }, (_, i) => i % SHAPES.length);
  const images = labels.map((label, i) => {
    const draw = (/** @type {number} */ k) => noise(1000 * seed + 10 * i + k);
    const [left, top, size] = [24 + 16 * draw(0), 24 + 16 * draw(1), 14 + 10 * draw(2)];
    const isOn = SHAPES[label];
    const image = new ImageData(SIDE, SIDE);
    image.data.forEach((_, at) => {
      const [x, y, colour] = [((at >> 2) % SIDE) - left, (at >> 8) - top, at % 4];
      const bright = 60 * draw(3 + colour) + (isOn(x, y, size) ? 150 : 20) + 40 * noise(at + i);
      image.data[at] = colour === 3 ? 255 : bright;
    });
    return image;
  });
  return { images, labels };
}
