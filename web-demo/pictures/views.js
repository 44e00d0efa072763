// Renderings of a glyph as a camera might see it: turned, shifted, scaled, in perspective, in other colours and light,
// on a background, a little blurred, with noise.

export const SIDE = 96;
const TURN = Math.PI / 6;

/** @typedef {() => number} Random from 0 to 1 */
/** @typedef {{ kind: string, pixels: ArrayLike<number> }} Glyph 96 × 96 pixels of red, green, blue, opacity */
/** @typedef {{ size: number, colours: Float32Array }} Grid coarse colours, which become a smooth background */

/** Mulberry32, so that the same seed makes the same pictures. @param {number} seed @returns {Random} */
export function randomFrom(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * One view, side × side pixels of red, green, blue and 255, as ImageData has them.
 * @param {Glyph} glyph @param {Random} random @param {readonly Glyph[]} others what may stand blurred behind it
 * @param {number} [side]
 */
export function viewOf(glyph, random, others, side = SIDE) {
  const grid = backgroundOf(random, others);
  const made = paint(
    glyph,
    grid,
    side,
    placeOf(random),
    coloursOf(random),
    glyph.kind === 'icon' ? inkOn(grid, random) : undefined,
    lightOf(random),
  );
  if (random() < 0.35) blur(made, side);
  return finished(made, random);
}

/** @param {Random} random @param {number} least @param {number} most */
const between = (random, least, most) => least + (most - least) * random();

// ── background ──

/** @param {Random} random */
const colour = (random) => {
  const [grey, vivid] = [255 * random(), random()];
  return [0, 1, 2].map(() => grey + (255 * random() - grey) * vivid);
};

/**
 * One colour, a gradient, clouds, or another glyph far out of focus.
 * @param {Random} random @param {readonly Glyph[]} others
 */
function backgroundOf(random, others) {
  const kind = random();
  if (kind < 0.2) return gridOf(1, () => colour(random));
  if (kind < 0.45) return gridOf(2, () => colour(random));
  const [one, other] = [colour(random), colour(random)];
  const size = 4 + Math.floor(random() * 9);
  if (kind < 0.75 || !others.length) {
    return gridOf(size, () => mix(one, other, random()));
  }
  return behind(others[Math.floor(random() * others.length)], size, one, random);
}

/** @param {readonly number[]} a @param {readonly number[]} b @param {number} share of b */
const mix = (a, b, share) => a.map((value, c) => value + (b[c] - value) * share);

/** @param {number} size @param {(x: number, y: number) => readonly number[]} colourAt @returns {Grid} */
function gridOf(size, colourAt) {
  const colours = new Float32Array(size * size * 3);
  for (let i = 0; i < size * size; i++) colours.set(colourAt(i % size, Math.floor(i / size)), 3 * i);
  return { size, colours };
}

/** @param {Glyph} glyph @param {number} size @param {readonly number[]} ground @param {Random} random */
function behind({ pixels }, size, ground, random) {
  const step = SIDE / size;
  const [left, top] = [between(random, -30, 30), between(random, -30, 30)];
  return gridOf(size, (x, y) => {
    const [px, py] = [Math.floor((x + 0.5) * step + left), Math.floor((y + 0.5) * step + top)];
    if (px < 0 || py < 0 || px >= SIDE || py >= SIDE) return ground;
    const at = 4 * (py * SIDE + px);
    return mix(ground, [pixels[at], pixels[at + 1], pixels[at + 2]], pixels[at + 3] / 255);
  });
}

// ── what is drawn on it ──

/**
 * From a pixel of the view to one of the glyph: (x, y) ↦ (a·x + b·y + c, d·x + e·y + f) / (g·x + h·y + 1).
 * @param {Random} random
 */
function placeOf(random) {
  const angle = between(random, -TURN, TURN);
  const size = between(random, 0.5, 1.05);
  const [wide, high] = [size * between(random, 0.9, 1.1), size * between(random, 0.9, 1.1)];
  const shear = between(random, -0.15, 0.15);
  const room = 0.5 * Math.max(0.12, 1 - size) * SIDE;
  const [dx, dy] = [between(random, -room, room), between(random, -room, room)];
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return {
    a: (cos + shear * sin) / wide,
    b: (sin - shear * cos) / wide,
    d: -sin / high,
    e: cos / high,
    g: between(random, -0.002, 0.002),
    h: between(random, -0.002, 0.002),
    dx,
    dy,
  };
}

/**
 * Red, green and blue of the glyph in those of the view: a turn of the hue, saturation, contrast, brightness.
 * @param {Random} random
 */
function coloursOf(random) {
  const hue = between(random, -0.35, 0.35);
  const saturation = between(random, 0.6, 1.4);
  const contrast = between(random, 0.7, 1.25);
  const shift = between(random, -30, 30) + 128 * (1 - contrast);
  const grey = [0.299, 0.587, 0.114];
  const [cos, sin] = [Math.cos(hue), Math.sin(hue) / Math.sqrt(3)];
  const turn = (/** @type {number} */ row, /** @type {number} */ column) =>
    (1 - cos) / 3 + (row === column ? cos : (row + 1) % 3 === column ? -sin : sin);
  const matrix = Float32Array.from({ length: 9 }, (_, i) => {
    const [row, column] = [Math.floor(i / 3), i % 3];
    const turned = turn(row, column);
    return contrast * (saturation * turned + (1 - saturation) * grey[column]);
  });
  return { matrix, shift };
}

/** A colour for a glyph that has none, to be told from what is behind it. @param {Grid} grid @param {Random} random */
function inkOn({ size, colours }, random) {
  const brightness = (/** @type {ArrayLike<number>} */ c) => 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2];
  const middle = 3 * Math.floor((size * size) / 2);
  const ground = brightness(colours.subarray(middle, middle + 3));
  let ink = colour(random);
  for (let i = 0; i < 8 && Math.abs(brightness(ink) - ground) < 70; i++) ink = colour(random);
  return ink;
}

/** @param {Random} random */
const lightOf = (random) => ({
  even: between(random, 0.85, 1.1),
  across: between(random, -0.25, 0.25) / SIDE,
  down: between(random, -0.25, 0.25) / SIDE,
});

/**
 * @param {Glyph} glyph @param {Grid} grid @param {number} side @param {ReturnType<typeof placeOf>} place
 * @param {ReturnType<typeof coloursOf>} colours @param {number[] | undefined} ink
 * @param {ReturnType<typeof lightOf>} light
 */
function paint({ pixels }, grid, side, { a, b, d, e, g, h, dx, dy }, { matrix, shift }, ink, light) {
  const made = ground(grid, side);
  const over = new Float32Array(4);
  const middle = SIDE / 2;
  const pixel = SIDE / side;
  for (let y = 0, to = 0; y < side; y++)
    for (let x = 0; x < side; x++, to += 3) {
      const u = (x + 0.5) * pixel - middle - dx;
      const v = (y + 0.5) * pixel - middle - dy;
      const w = 1 / (g * u + h * v + 1);
      sample(pixels, (a * u + b * v) * w + middle - 0.5, (d * u + e * v) * w + middle - 0.5, over);
      const lit = light.even + light.across * u + light.down * v;
      const alpha = over[3];
      for (let c = 0; c < 3; c++) {
        let value = made[to + c];
        if (alpha > 0) value = value * (1 - alpha) + shownOf(over, matrix, shift, ink, c);
        made[to + c] = lit * value;
      }
    }
  return made;
}

/**
 * @param {Float32Array} over
 * @param {Float32Array} m @param {number} shift @param {number[] | undefined} ink @param {number} c
 */
function shownOf(over, m, shift, ink, c) {
  if (ink) return ink[c] * over[3];
  return m[3 * c] * over[0] + m[3 * c + 1] * over[1] + m[3 * c + 2] * over[2] + shift * over[3];
}

/** The grid's colours at each pixel. @param {Grid} grid @param {number} side */
function ground({ size, colours }, side) {
  const made = new Float32Array(3 * side * side);
  const row = new Float32Array(3 * size + 3);
  const { from, share } = axisOf(size, side);
  for (let y = 0, to = 0; y < side; y++) {
    const [top, below] = [3 * size * from[y], 3 * size * Math.min(from[y] + 1, size - 1)];
    for (let i = 0; i < 3 * size; i++) row[i] = colours[top + i] + (colours[below + i] - colours[top + i]) * share[y];
    for (let x = 0; x < side; x++, to += 3) {
      const at = 3 * from[x];
      for (let c = 0; c < 3; c++) made[to + c] = row[at + c] + (row[at + 3 + c] - row[at + c]) * share[x];
    }
  }
  return made;
}

/**
 * Between which colours of the grid each pixel lies, and how far from the first, without a kink.
 * @param {number} size @param {number} side
 */
function axisOf(size, side) {
  const from = new Int32Array(side);
  const share = new Float32Array(side);
  for (let i = 0; i < side; i++) {
    const at = (i / side) * (size - 1);
    from[i] = Math.floor(at);
    share[i] = (at - from[i]) ** 2 * (3 - 2 * (at - from[i]));
  }
  return { from, share };
}

/**
 * Red, green and blue times opacity, and opacity from 0 to 1, between four pixels.
 * @param {ArrayLike<number>} pixels @param {number} x @param {number} y @param {Float32Array} to
 */
function sample(pixels, x, y, to) {
  to[0] = to[1] = to[2] = to[3] = 0;
  const left = Math.floor(x);
  const top = Math.floor(y);
  if (left < 0 || top < 0 || left >= SIDE - 1 || top >= SIDE - 1) return;
  const fx = (x - left) / 255;
  const fy = y - top;
  const at = 4 * (top * SIDE + left);
  add(pixels, at, (1 / 255 - fx) * (1 - fy), to);
  add(pixels, at + 4, fx * (1 - fy), to);
  add(pixels, at + 4 * SIDE, (1 / 255 - fx) * fy, to);
  add(pixels, at + 4 * SIDE + 4, fx * fy, to);
}

/** @param {ArrayLike<number>} pixels @param {number} at @param {number} share @param {Float32Array} to */
function add(pixels, at, share, to) {
  const alpha = share * pixels[at + 3];
  to[0] += alpha * pixels[at];
  to[1] += alpha * pixels[at + 1];
  to[2] += alpha * pixels[at + 2];
  to[3] += alpha;
}

// ── the camera ──

/** The mean of three, across and then down. @param {Float32Array} image @param {number} side */
function blur(image, side) {
  for (const step of [3, 3 * side]) {
    const was = image.slice();
    for (let i = step; i < image.length - step; i++) image[i] = (was[i - step] + was[i] + was[i + step]) / 3;
  }
}

/** With noise, as bytes. @param {Float32Array} image @param {Random} random */
function finished(image, random) {
  const made = new Uint8ClampedArray((image.length / 3) * 4);
  const strength = (25 * random() ** 3) / 2 ** 31;
  let state = Math.floor(random() * 2 ** 31);
  for (let from = 0, to = 0; to < made.length; from += 3, to += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    const noise = strength * state;
    made[to] = image[from] + noise;
    made[to + 1] = image[from + 1] + noise;
    made[to + 2] = image[from + 2] + noise;
    made[to + 3] = 255;
  }
  return made;
}

/**
 * Pixels in the backbone's form, (3, side, side), from -1 to 1.
 * @param {Uint8ClampedArray} view @param {Float32Array} to
 */
export function numbersOf(view, to) {
  const pixels = view.length / 4;
  for (let c = 0; c < 3; c++) for (let i = 0; i < pixels; i++) to[c * pixels + i] = (view[4 * i + c] / 255 - 0.5) / 0.5;
}
