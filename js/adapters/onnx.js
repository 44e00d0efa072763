/**
 * ONNX Runtime's `.onnx_adapter`, a FlatBuffers file (onnxruntime/lora/adapter_format/adapter_schema.fbs):
 *
 *     Adapter { format_version, adapter_version, model_version: int32, parameters: [Parameter] }
 *     Parameter { name: text, dims: [int64], data_type: int32 of ONNX, raw_data: [byte], at a multiple of 8 }
 *
 * Parameters are called as the inputs of the model that they are fed to.
 */

import { TrainletError } from '../base/errors.js';
import { flatFile, int32, list, table, text, vector } from '../formats/flatbuffer.js';
import { floatsOf } from '../formats/safetensors.js';

/** @typedef {import('../formats/safetensors.js').Floats} Floats */

const IDENTIFIER = 'TORT';
/** The versions of the format, of the adapter and of the model; the last two have no effect here. */
const VERSION = 1;
const FLOAT = 1;
/** ONNX's numbers of types, as safetensors calls them. */
const TYPES = /** @type {Record<number, 'F32' | 'F16' | 'BF16' | 'F64'>} */ ({
  1: 'F32',
  10: 'F16',
  11: 'F64',
  16: 'BF16',
});

/** @param {Map<string, Floats>} tensors @returns {Uint8Array<ArrayBuffer>} */
export function writeOnnxAdapter(tensors) {
  const parameters = [...tensors].map(([name, { dims, data }]) =>
    table(
      text(name),
      vector(BigInt64Array.from(dims, BigInt), dims.length, 8),
      int32(FLOAT),
      vector(data, data.byteLength, 8),
    ),
  );
  const bytes = [...tensors.values()].reduce((sum, { data }) => sum + data.byteLength + 256, 256);
  const root = table(int32(VERSION), int32(VERSION), int32(VERSION), list(parameters));
  return /** @type {Uint8Array<ArrayBuffer>} */ (flatFile(IDENTIFIER, root, bytes));
}

/**
 * The tensors by their names, as float32.
 * @param {Uint8Array} bytes @param {string} file what errors call it
 * @returns {Map<string, Floats>}
 */
export function readOnnxAdapter(bytes, file) {
  const read = new Reader(bytes, file);
  if (bytes.length < 8 || read.letters(4, 4) !== IDENTIFIER)
    throw read.bad(`does not have the letters ${IDENTIFIER} at byte 4: it is no .onnx_adapter file`);
  const root = read.table(read.pointer(0));
  const version = root(0, (at) => read.int32(at)) ?? 0;
  if (version !== VERSION)
    throw read.bad(`is of version ${version} of the format, we read version ${VERSION}`, 'unsupported-version');
  const tensors = new Map();
  for (const at of root(3, (field) => read.pointers(read.pointer(field))) ?? []) {
    const [name, tensor] = parameterOf(read, at);
    if (tensors.has(name)) throw read.bad(`has two parameters '${name}'`);
    tensors.set(name, tensor);
  }
  return tensors;
}

/** @param {Reader} read @param {number} at @returns {[string, Floats]} */
function parameterOf(read, at) {
  const field = read.table(at);
  const name = field(0, (place) => read.text(read.pointer(place))) ?? '';
  const dims = field(1, (place) => read.int64s(read.pointer(place))) ?? [];
  const type = field(2, (place) => read.int32(place)) ?? 0;
  const [from, bytes] = field(3, (place) => read.vector(read.pointer(place), 1)) ?? [0, 0];
  if (!Object.hasOwn(TYPES, type))
    throw read.bad(`parameter '${name}' is of type ${type}; floats are ${Object.keys(TYPES).join(', ')}`);
  const count = dims.reduce((a, b) => a * b, 1);
  const each = { F64: 8, F32: 4, F16: 2, BF16: 2 }[TYPES[type]];
  if (bytes !== count * each)
    throw read.bad(`parameter '${name}' of [${dims}] has ${bytes} bytes, and needs ${count * each}`);
  return [name, { dims, data: floatsOf(read.view, TYPES[type], from, count) }];
}

/** Looks at no byte that the file does not have. */
class Reader {
  #bytes;
  #file;

  /** @param {Uint8Array} bytes @param {string} file */
  constructor(bytes, file) {
    this.#bytes = bytes;
    this.#file = file;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** @param {string} message @param {import('../types.js').ErrorCode} [code] */
  bad(message, code = 'source-unreadable') {
    return new TrainletError(code, `${this.#file}: ${message}`);
  }

  /** @param {number} at @param {number} bytes */
  #check(at, bytes) {
    if (at >= 0 && at + bytes <= this.#bytes.length) return at;
    throw this.bad(`leads to byte ${at}, and has ${this.#bytes.length}: was it cut off?`);
  }

  /** @param {number} at */
  int32(at) {
    return this.view.getInt32(this.#check(at, 4), true);
  }

  /** The position that the offset at `at` points to. @param {number} at */
  pointer(at) {
    return at + this.view.getUint32(this.#check(at, 4), true);
  }

  /** @param {number} at @param {number} count @returns {string} */
  letters(at, count) {
    const bytes = this.#bytes.subarray(this.#check(at, count), at + count);
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      throw this.bad(`has at byte ${at} no text of UTF-8`);
    }
  }

  /**
   * Reads fields by their number; undefined where they are absent.
   * @param {number} at
   * @returns {<T>(field: number, read: (at: number) => T) => T | undefined}
   */
  table(at) {
    const vtable = this.#check(at - this.int32(at), 4);
    const bytes = this.view.getUint16(vtable, true);
    if (bytes % 2) throw this.bad(`has at byte ${vtable} a table of ${bytes} bytes`);
    this.#check(vtable, bytes);
    return (field, read) => {
      const entry = 4 + 2 * field;
      const offset = entry + 2 <= bytes ? this.view.getUint16(this.#check(vtable + entry, 2), true) : 0;
      return offset ? read(at + offset) : undefined;
    };
  }

  /**
   * The position of the first element and the number of elements.
   * @param {number} at @param {number} each their bytes @returns {[number, number]}
   */
  vector(at, each) {
    const count = this.view.getUint32(this.#check(at, 4), true);
    return [this.#check(at + 4, count * each), count];
  }

  /** A zero follows. @param {number} at */
  text(at) {
    const [from, count] = this.vector(at, 1);
    if (this.#bytes[from + count] !== 0) throw this.bad(`has at byte ${from} a text without an end`);
    return this.letters(from, count);
  }

  /** @param {number} at */
  pointers(at) {
    const [from, count] = this.vector(at, 4);
    return Array.from({ length: count }, (_, i) => this.pointer(from + 4 * i));
  }

  /** @param {number} at */
  int64s(at) {
    const [from, count] = this.vector(at, 8);
    return Array.from({ length: count }, (_, i) => {
      const dim = Number(this.view.getBigInt64(from + 8 * i, true));
      if (Number.isSafeInteger(dim) && dim >= 0) return dim;
      throw this.bad(`has a dimension of ${dim}`);
    });
  }
}
