// Orders a wasm file's functions: brotli refers to bytes that it has seen, the cheaper the nearer they are.
//
//   those with the most callers, whose index is then one byte ─▶ all others
//
// In both, each is followed by the one that is most like it and the two before it.

import { readImage } from '../js/cli/shrink/image.js';
import { leb, Reader, SECTION, sectionsOf, withSections } from '../js/cli/shrink/wasm-file.js';

const ONE_BYTE = 128;
/** Two functions are alike in the runs of so many bytes that both have. */
const RUN = 4;
/** A function is compared with so many before it. */
const BEFORE = 3;
/** A run that so many functions have says nothing, and takes long. */
const COMMON = 3000;

/** Digits and a point before a name: its place among the functions. */
const PLACE = 7;
const FUNCTION_NAMES = 1;

/** The same file with names that sort as the functions should stand, for wasm-opt's --reorder-functions-by-name. */
export function withPlaces(bytes) {
  const image = readImage(bytes);
  const places = [];
  orderOf(image).forEach((body, place) => {
    places[body + image.imported] = `${String(place).padStart(PLACE - 1, '0')}.`;
  });
  return withNames(bytes, (name, index) => (places[index] ?? '') + name);
}

/** @param {Uint8Array} bytes of a file with places, in that order */
export function withoutPlaces(bytes) {
  const { imported } = readImage(bytes);
  return withNames(bytes, (name, index) => (index < imported ? name : name.slice(PLACE)));
}

function orderOf({ bytes, bodies, imported }) {
  const runs = bodies.map(({ start, end }) => runsOf(bytes, start, end));
  const having = new Map();
  runs.forEach((its, i) => {
    for (const run of its)
      if (having.has(run)) having.get(run).push(i);
      else having.set(run, [i]);
  });
  const first = new Set(mostCalled(bodies, imported));
  const order = [];
  for (const left of [first, new Set([...bodies.keys()].filter((i) => !first.has(i)))])
    for (
      let [next] = left;
      left.size;
      next = mostLike(order.slice(-BEFORE), runs, having, left) ?? left.values().next().value
    ) {
      left.delete(next);
      order.push(next);
    }
  return order;
}

/** @returns {number[]} */
function mostCalled(bodies, imported) {
  const callers = bodies.map(() => 0);
  for (const { calls } of bodies) for (const index of calls) if (index >= imported) callers[index - imported]++;
  const byCallers = [...bodies.keys()].sort((a, b) => callers[b] - callers[a] || a - b);
  return byCallers.slice(0, ONE_BYTE - imported);
}

/** @returns {Set<number>} */
function runsOf(bytes, start, end) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const runs = new Set();
  for (let at = start; at + RUN <= end; at++) runs.add(view.getUint32(at));
  return runs;
}

/** The one of those left that is most like the last ones: the last counts whole, the one before it half, and so on. */
function mostLike(last, runs, having, left) {
  const likeness = new Map();
  last.reverse().forEach((body, before) => {
    for (const [i, shared] of sharedWith(body, runs, having, left)) {
      const part = shared / (runs[body].size + runs[i].size - shared);
      likeness.set(i, (likeness.get(i) ?? 0) + part / (before + 1));
    }
  });
  let most;
  for (const [i, value] of likeness) if (most === undefined || value > likeness.get(most)) most = i;
  return most;
}

/** The number of runs that each of those left shares with a function. */
function sharedWith(body, runs, having, left) {
  const shared = new Map();
  for (const run of runs[body]) {
    const those = having.get(run);
    if (those.length <= COMMON) for (const i of those) if (left.has(i)) shared.set(i, (shared.get(i) ?? 0) + 1);
  }
  return shared;
}

/** With functions' names changed; of all else that the section names nothing stays. */
function withNames(bytes, change) {
  const sections = sectionsOf(bytes);
  const { start, end } = sections.find(({ name }) => name === 'name');
  const reader = new Reader(bytes, start, end);
  const names = [];
  while (!reader.done) {
    const kind = reader.byte();
    const next = reader.count() + reader.at;
    if (kind === FUNCTION_NAMES) names.push(...reader.list(() => [reader.count(), reader.name()]));
    reader.at = next;
  }
  const entries = names.flatMap(([index, name]) => [leb(index), ...text(change(name, index))]);
  const body = Buffer.concat([leb(names.length), ...entries]);
  const contents = Buffer.concat([...text('name'), Uint8Array.of(FUNCTION_NAMES), leb(body.length), body]);
  const others = withSections(
    bytes,
    sections.filter(({ name }) => name !== 'name'),
  );
  return Buffer.concat([others, Uint8Array.of(SECTION.custom), leb(contents.length), contents]);
}

function text(of) {
  const bytes = Buffer.from(of);
  return [leb(bytes.length), bytes];
}
