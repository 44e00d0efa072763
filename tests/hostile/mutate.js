// Random damage of files: bits, bytes, lengths, cuts, repeats, and swaps of tokens in text.

/** Mulberry32: the same numbers for the same seed. @param {number} seed */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const ODD = [0, 1, 0x7f, 0x80, 0xff, 0x22, 0x27, 0x2c, 0x0a, 0x5b, 0x7b, 0x2d];
const WORDS = ['"', ',', '\n', '[', ']', '{', '}', '-1', '1e999', '99999999999999999999', 'null', 'NaN', 'True', "'"];
const LENGTHS = [0, 1, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

const WAYS = [
  (bytes, random) => {
    bytes[random(bytes.length)] ^= 1 << random(8);
    return bytes;
  },
  (bytes, random) => {
    bytes[random(bytes.length)] = ODD[random(ODD.length)];
    return bytes;
  },
  (bytes, random) => {
    if (bytes.length > 4) bytes.writeUInt32LE(LENGTHS[random(LENGTHS.length)], random(bytes.length - 4));
    return bytes;
  },
  (bytes, random) => bytes.subarray(0, random(bytes.length)),
  (bytes, random) => {
    const [from, length, to] = [random(bytes.length), random(64), random(bytes.length)];
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, from + length), bytes.subarray(to)]);
  },
  (bytes, random) => {
    const at = random(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(WORDS[random(WORDS.length)]), bytes.subarray(at)]);
  },
  (bytes, random) => {
    const [at, length] = [random(bytes.length), 1 + random(16)];
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
  },
];

/** One to four damages of a copy. @param {Uint8Array} whole @param {(below: number) => number} random */
export function mutate(whole, random, ways = WAYS) {
  let bytes = Buffer.from(whole);
  for (let n = 1 + random(4); n > 0 && bytes.length; n--) bytes = ways[random(ways.length)](bytes, random);
  return bytes;
}

const VALUES = [
  '0',
  '-1',
  '7',
  '0.5',
  '1e999',
  '5e8',
  'null',
  'true',
  '"x"',
  '""',
  '[]',
  '[1]',
  '{}',
  '{"fc1": 3}',
  '["fc1"]',
];

/** Another value at one of the places of JSON that have one. */
function otherValue(bytes, random) {
  const text = bytes.toString('latin1');
  const places = [...text.matchAll(/(?<=: ?|[[,]\s*)(?:"[^"]*"|[-\w.]+|\[\]|\{\})/g)];
  if (!places.length) return bytes;
  const { index, 0: old } = places[random(places.length)];
  return Buffer.from(text.slice(0, index) + VALUES[random(VALUES.length)] + text.slice(index + old.length), 'latin1');
}

/** The same of JSON, most often a value in the place of another. */
export const mutateText = (whole, random) => mutate(whole, random, random(4) ? [otherValue] : WAYS);
