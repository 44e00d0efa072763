// The limits of one thread of the machine under this very engine: 128-bit mul + add and relaxed madd that never leave
// the registers, and a copy.

import { message as bytesOf } from '../../support/onnx-file.js';

export const CHAINS = 12; // enough to hide the latency of mul and add; they fit the registers with two constants
export const LOOPS = 2_000_000;
export const COPIED = 64 * 2 ** 20; // larger than most caches

/** Work of a step: floating-point operations, or bytes read and written. */
export const WORK = { 'simd-peak': CHAINS * LOOPS * 8, 'relaxed-peak': CHAINS * LOOPS * 8, 'memory-copy': 2 * COPIED };

const V128 = 0x7b,
  I32 = 0x7f,
  F32 = 0x7d;
const get = (i) => [0x20, i],
  set = (i) => [0x21, i],
  simd = (...op) => [0xfd, ...op];
const MUL = simd(0xe6, 0x01),
  ADD = simd(0xe4, 0x01),
  RELAXED_MADD = simd(0x85, 0x02);
const i32 = (n) => [0x41, ...signed(n)];

function signed(n) {
  const bytes = [];
  for (let rest = n; ; rest >>= 7) {
    if (rest >= -64 && rest < 64) return [...bytes, rest & 127];
    bytes.push((rest & 127) | 128);
  }
}

/** A vector or section: its length, then its bytes; bytesOf writes it as a field of one tag byte, which is dropped. */
const sized = (bytes) => [...bytesOf([1, Uint8Array.from(bytes)])].slice(1);
const section = (id, bytes) => [id, ...sized(bytes)];

/** (module (func (export "f") (param i32) (result f32) …) (memory 2048)): `body` with `locals` more v128 locals. */
function moduleOf(locals, body) {
  const code = [...(locals ? [1, locals, V128] : [0]), ...body, 0x0b];
  return Uint8Array.from([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    ...section(1, [1, 0x60, 1, I32, 1, F32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 0x80, 0x10]),
    ...section(7, [1, 1, 0x66, 0, 0]),
    ...section(10, [1, ...sized(code)]),
  ]);
}

/** Each turn: chain = chain · c + d, for all chains. Local 0 counts down, 1 and 2 are c and d, the chains follow. */
function chains(multiplyAdd) {
  const all = Array.from({ length: CHAINS }, (_, i) => i + 3);
  const constant = (byte0, byte1) => [...[0x43, 0, 0, byte0, byte1], ...simd(0x13)];
  const turn = all.flatMap((i) => [...get(i), ...get(1), ...multiplyAdd, ...set(i)]);
  const loop = [0x03, 0x40, ...turn, ...get(0), ...i32(1), 0x6b, 0x22, 0, 0x0d, 0, 0x0b];
  const sum = [...get(3), ...all.slice(1).flatMap((i) => [...get(i), ...ADD]), ...simd(0x1f, 0)];
  return moduleOf(CHAINS + 2, [
    ...constant(0x00, 0x3f),
    ...set(1),
    ...constant(0x80, 0x3f),
    ...set(2),
    ...loop,
    ...sum,
  ]);
}

/** Writes 0 where it will read. Memory that nobody wrote is one page of zeros, which the first cache holds. */
const FILL = [...get(0), 0x45, 0x04, 0x40, ...i32(0), ...i32(1), ...i32(COPIED), 0xfc, 0x0b, 0, 0x0b];

/**
 * Loads so many bytes, multiples of 16, of each quarter of COPIED, side by side: of one place after another a processor
 * fetches less ahead.
 */
function reads() {
  const sums = [1, 2, 3, 4];
  const at = [...i32(COPIED / 4), ...get(0), 0x6b];
  const load = (i) => [...get(i), ...at, ...simd(0x00, 4, ...signed(((i - 1) * COPIED) / 4)), ...simd(0x50), ...set(i)];
  const turn = [...sums.flatMap(load), ...get(0), ...i32(16), 0x6b, ...set(0)];
  const loop = [...get(0), 0x04, 0x40, 0x03, 0x40, ...turn, ...get(0), 0x0d, 0, 0x0b, 0x0b];
  const sum = [...get(1), ...sums.slice(1).flatMap((i) => [...get(i), ...simd(0x50)]), ...simd(0x1f, 0)];
  return moduleOf(sums.length, [...FILL, ...loop, ...sum]);
}

/** Loads and stores so many bytes, a multiple of the vectors, `vectors` of 16 at a time, to the upper half. */
function copyLoop(vectors) {
  const all = Array.from({ length: vectors }, (_, i) => i);
  const at = [...i32(COPIED), ...get(0), 0x6b];
  const load = (i) => [...at, ...simd(0x00, 4, ...signed(16 * i)), ...set(i + 1)];
  const store = (i) => [...at, ...get(i + 1), ...simd(0x0b, 4, ...signed(COPIED + 16 * i))];
  const turn = [...all.flatMap(load), ...all.flatMap(store), ...get(0), ...i32(16 * vectors), 0x6b, 0x22, 0];
  const loop = [...get(0), 0x04, 0x40, 0x03, 0x40, ...turn, 0x0d, 0, 0x0b, 0x0b];
  return moduleOf(vectors, [...FILL, ...loop, 0x43, 0, 0, 0, 0]);
}

const MODULES = {
  'simd-peak': () => chains([...MUL, ...get(2), ...ADD]),
  'relaxed-peak': () => chains([...get(2), ...RELAXED_MADD]),
  'memory-read': reads,
  /** memory.copy of COPIED bytes to the upper half */
  'memory-copy': () =>
    moduleOf(0, [...FILL, ...i32(COPIED), ...i32(0), ...get(0), 0xfc, 0x0a, 0, 0, 0x43, 0, 0, 0x80, 0x3f]),
};

const functionOf = (contender) => functionOfModule(MODULES[contender]());

async function functionOfModule(bytes) {
  if (!WebAssembly.validate(bytes)) throw new Error('this engine does not know the instructions');
  return (await WebAssembly.instantiate(bytes)).instance.exports.f;
}

/** A function that copies so many bytes within a wasm memory. @param {number} bytes at most COPIED */
export async function copyBytes(bytes) {
  const copy = await functionOf('memory-copy');
  copy(0);
  return () => copy(bytes);
}

/**
 * The same by wasm's loads and stores, so many vectors at a time.
 * @param {number} bytes a multiple of 16 · vectors
 * @param {number} vectors
 */
export async function copyBytesByLoop(bytes, vectors) {
  const copy = await functionOfModule(copyLoop(vectors));
  copy(0);
  return () => copy(bytes);
}

/**
 * A function that reads so many bytes of a wasm memory, that were written before.
 * @param {number} bytes at most COPIED
 */
export async function readBytes(bytes) {
  const read = await functionOf('memory-read');
  read(0);
  return () => read((bytes >> 6) << 4);
}

/** A function that does as many multiply-adds as WORK says, fused ones where the engine has relaxed SIMD. */
export async function multiplyAdd() {
  const run = await functionOf('relaxed-peak').catch(() => functionOf('simd-peak'));
  return () => run(LOOPS);
}

export async function open(_, { contender }) {
  const run = await functionOf(contender);
  const argument = contender === 'memory-copy' ? COPIED : LOOPS;
  if (contender === 'memory-copy') run(0);
  return { step: async () => run(argument) };
}
