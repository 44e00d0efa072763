/**
 * Cuts out of a wasm file of ours what nothing leads to, once rows of its tables are empty: from the exports that are
 * kept, along calls, addresses of functions, and addresses of data.
 *
 *   exports ─▶ function ─▶ function ─▶ data ─▶ function …        what is not reached: functions trap, data is zeros
 */

import { leb, SECTION, signedLeb, withSections } from './wasm-file.js';

/** @import { Image } from './image.js' */

const FUNCTION = 0;
/** A function's body that traps. */
const TRAP = Uint8Array.of(3, 0, 0x00, 0x0b);

/**
 * @typedef {object} Layout of a file's constants, as the linker laid them out (wasm/layout.mjs)
 * @property {string} sha256
 * @property {number[]} objects
 * @property {Record<string, [address: number, bytes: number]>} named
 * @property {number[]} tails
 * @property {[address: number, object: number][]} astray
 * @property {number[]} taken addresses of functions that the code has
 */

/** The objects of a file's memory. */
class Objects {
  /** @param {Image} image @param {Layout} layout */
  constructor({ memory }, { objects, astray }) {
    let at = 0;
    this.starts = objects.map((step) => (at += step));
    this.end = memory.length;
    this.astray = new Map(astray);
  }

  /** Blocks for an address: the one that contains it, and one that the address stands for from outside. */
  at(/** @type {number} */ address) {
    const meant = this.astray.get(address);
    return [address, meant].flatMap((it) => (it === undefined ? [] : this.#index(it)));
  }

  /** @param {number} address */
  #index(address) {
    if (address < this.starts[0] || address >= this.end) return [];
    let low = 0;
    let high = this.starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= address) low = middle;
      else high = middle;
    }
    return [low];
  }

  /** @param {number} index @returns {[from: number, to: number]} */
  range(index) {
    return [this.starts[index], Math.min(this.starts[index + 1] ?? this.end, this.end)];
  }
}

/**
 * @param {Image} image whose memory may have been changed
 * @param {Layout} layout
 * @param {(name: string) => boolean} isExported which exports are kept
 * @param {Set<number>} dead addresses of objects that count as unreached, whoever refers to them
 */
export function cut(image, layout, isExported, dead) {
  const objects = new Objects(image, layout);
  const parts = partsOf(image, layout);
  const live = reach(image, layout, objects, parts, isExported, dead);
  objects.starts.forEach((_, i) => {
    if (!live.objects.has(i)) image.memory.fill(0, ...objects.range(i));
  });
  const code = codeOf(image, parts, live.functions);
  const exportSection = exportsOf(image, isExported);
  const data = dataOf(image);
  return withSections(
    image.bytes,
    image.sections,
    new Map([
      [SECTION.code, code],
      [SECTION.export, exportSection],
      [SECTION.data, data],
      [SECTION.element, tableOf(image, live.functions)],
    ]),
  );
}

/** The pointer of each part, by its address; no code writes it. @param {Image} image @param {Layout} layout */
const partsOf = ({ memory }, { named }) =>
  new Map(
    Object.entries(named)
      .filter(([name]) => name.startsWith('part_'))
      .map(([, [address]]) => [address, memory.readUInt32LE(address)]),
  );

/**
 * @param {Image} image @param {Layout} layout @param {Objects} objects @param {Map<number, number>} parts
 * @param {(name: string) => boolean} isExported @param {Set<number>} dead
 */
function reach(image, layout, objects, parts, isExported, dead) {
  const { imported, table, tableBase, memory, bodies } = image;
  const taken = new Set(layout.taken);
  const live = { functions: new Set(), objects: new Set() };
  /** @type {number[]} */
  const left = [];
  /** @param {number} index */
  const call = (index) => {
    if (index < imported || live.functions.has(index)) return;
    live.functions.add(index);
    left.push(index);
  };
  /** @param {number} number */
  const refer = (number) => {
    const slot = number - tableBase;
    if (slot >= 0 && slot < table.length) call(table[slot]);
    else for (const index of objects.at(number)) read(index);
  };
  /** @param {number} index */
  const read = (index) => {
    if (live.objects.has(index) || dead.has(objects.starts[index])) return;
    live.objects.add(index);
    const [from, to] = objects.range(index);
    for (let at = Math.ceil(from / 4) * 4; at + 4 <= to; at += 4) refer(memory.readUInt32LE(at));
  };
  for (const { name, kind, index } of image.exports) if (kind === FUNCTION && isExported(name)) call(index);
  if (image.started !== undefined) call(image.started);
  while (left.length) {
    const body = bodies[/** @type {number} */ (left.pop()) - imported];
    body.calls.forEach(call);
    for (const number of body.numbers) if (number >= tableBase + table.length || taken.has(number)) refer(number);
    for (const { address } of body.loads) refer(parts.get(address) ?? address);
  }
  return live;
}

/** @param {Image} image @param {Map<number, number>} parts @param {Set<number>} live */
function codeOf({ bytes, bodies, imported }, parts, live) {
  const all = bodies.map((body, i) => (live.has(i + imported) ? bodyOf(bytes, body, parts) : TRAP));
  return Buffer.concat([leb(bodies.length), ...all]);
}

/**
 * With the parts themselves where it loads them: then the code for those that are missing can go, and the others are
 * called directly.
 * @param {Uint8Array} bytes @param {Image['bodies'][number]} body @param {Map<number, number>} parts
 */
function bodyOf(bytes, { start, end, loads }, parts) {
  const pieces = [];
  let from = start;
  for (const load of loads) {
    const part = parts.get(load.address);
    if (part === undefined) continue;
    pieces.push(bytes.subarray(from, load.start), Uint8Array.of(0x41), signedLeb(part));
    from = load.end;
  }
  const body = Buffer.concat([...pieces, bytes.subarray(from, end)]);
  return Buffer.concat([leb(body.length), body]);
}

/**
 * Nobody has the address of a dead function: its place holds a live one, so that the function can go.
 * @param {Image} image @param {Set<number>} live
 */
function tableOf({ table, tableBase }, live) {
  const any = table.find((index) => live.has(index)) ?? table[0];
  const places = table.map((index) => leb(live.has(index) ? index : any));
  return Buffer.concat([
    Uint8Array.of(1, 0, 0x41),
    signedLeb(tableBase),
    Uint8Array.of(0x0b),
    leb(table.length),
    ...places,
  ]);
}

/** @param {Image} image @param {(name: string) => boolean} isExported */
function exportsOf({ exports }, isExported) {
  const kept = exports.filter(({ name, kind }) => kind !== FUNCTION || isExported(name));
  const entries = kept.flatMap(({ name, kind, index }) => {
    const text = Buffer.from(name);
    return [leb(text.length), text, Uint8Array.of(kind), leb(index)];
  });
  return Buffer.concat([leb(kept.length), ...entries]);
}

/** The section as it was, with the bytes that memory has now. @param {Image} image */
function dataOf({ bytes, sections, segments, memory }) {
  const section = sections.find(({ id }) => id === SECTION.data);
  if (!section) return new Uint8Array();
  const data = Buffer.from(bytes.subarray(section.start, section.end));
  for (const { address, at, count } of segments) memory.copy(data, at - section.start, address, address + count);
  return data;
}
