// Reads the places of the engine's constants from a file linked with --emit-relocs, so that js/cli/shrink can follow
// references.
//
// https://github.com/WebAssembly/tool-conventions/blob/main/Linking.md

import { Reader, SECTION, sectionsOf } from '../js/cli/shrink/wasm-file.js';
import { Failure } from '../tools/programs.mjs';

const SYMBOLS = 8;
const DATA_SYMBOL = 1;
const SECTION_SYMBOL = 3;
const UNDEFINED = 0x10;
const EXPLICIT_NAME = 0x40;
/** Relocations in code: a function's address; an address of data as a load's or store's offset, and as a constant. */
const FUNCTION = 1;
const OFFSET = 3;
const CONSTANT = 4;

/** Objects that `trainlet shrink` changes or reads, by their names in C. */
const isNamed = (name) => /^(op_rows|op_fields|shrunk_for|part_.*)$/.test(name);

/**
 * @param {Uint8Array} bytes a linked file, not optimized yet
 * @returns objects: the addresses at which one begins, ascending, each as its distance from the one before; named:
 * address and bytes of those that are changed; tails: places within an object where another string begins; astray:
 * addresses in the code that lie outside the object which they mean, such as its end, each with that object's; taken:
 * the functions' addresses that the code has, so that another number like one is just a number
 */
export function layoutOf(bytes) {
  const sections = sectionsOf(bytes);
  const linking = sections.find(({ name }) => name === 'linking');
  if (!linking) throw new Failure('The linker wrote no relocations: it must be called with --emit-relocs.');
  const symbols = symbolsIn(new Reader(bytes, linking.start, linking.end));
  const inCode = relocationsOf(bytes, sections);
  const references = inCode.flatMap((it) => {
    const symbol = symbols[it.symbol];
    return it.type !== FUNCTION && symbol.segment !== undefined ? [{ ...it, symbol }] : [];
  });
  // In a threads build the segments themselves have no address.
  const segments = [];
  for (const { address, addend, symbol } of references) segments[symbol.segment] = address - addend - symbol.offset;
  const addressOf = ({ segment, offset }) => segments[segment] + offset;
  const objects = symbols.filter(({ size, segment }) => size && segments[segment] !== undefined);
  const { starts, tails } = startsOf(objects.map((o) => [addressOf(o), addressOf(o) + o.size]));
  const astray = references.filter(({ addend, symbol }) => addend < 0 || addend >= symbol.size);
  return {
    objects: starts.map((at, i) => at - (starts[i - 1] ?? 0)),
    named: Object.fromEntries(objects.filter(({ name }) => isNamed(name)).map((o) => [o.name, [addressOf(o), o.size]])),
    tails,
    astray: astray.map(({ address, symbol }) => [address, addressOf(symbol)]),
    taken: [...new Set(inCode.filter(({ type }) => type === FUNCTION).map(({ address }) => address))],
  };
}

/** One string may be the end of another: they are one object. */
function startsOf(ranges) {
  let end = 0;
  const starts = [];
  const tails = new Set();
  for (const [from, to] of ranges.sort((a, b) => a[0] - b[0])) {
    if (from >= end) starts.push(from);
    else if (from > starts.at(-1)) tails.add(from);
    end = Math.max(end, to);
  }
  return { starts, tails: [...tails] };
}

function symbolsIn(reader) {
  reader.count(); // version
  while (!reader.done) {
    const type = reader.byte();
    const end = reader.count() + reader.at;
    if (type === SYMBOLS) return reader.list(() => symbolIn(reader));
    reader.at = end;
  }
  throw new Failure('The linker wrote no symbols.');
}

function symbolIn(reader) {
  const kind = reader.byte();
  const flags = reader.count();
  if (kind === SECTION_SYMBOL) return { kind, index: reader.count() };
  if (kind !== DATA_SYMBOL) {
    const index = reader.count();
    return { kind, index, name: flags & UNDEFINED && !(flags & EXPLICIT_NAME) ? '' : reader.name() };
  }
  const name = reader.name();
  if (flags & UNDEFINED) return { kind, name };
  return { kind, name, segment: reader.count(), offset: reader.count(), size: reader.count() };
}

/** The places in the code that hold an address. */
function relocationsOf(bytes, sections) {
  const code = sections.find(({ id }) => id === SECTION.code);
  const { start, end } = sections.find(({ name }) => name === 'reloc.CODE');
  const reader = new Reader(bytes, start, end);
  reader.count(); // their section
  return reader
    .list(() => {
      const type = reader.byte();
      const at = new Reader(bytes, code.start + reader.count());
      const symbol = reader.count();
      if (type !== FUNCTION && type !== OFFSET && type !== CONSTANT) return [];
      const addend = type === FUNCTION ? 0 : reader.signed();
      return [{ type, address: type === OFFSET ? at.count() : at.signed(), addend, symbol }];
    })
    .flat();
}
