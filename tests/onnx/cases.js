/**
 * ONNX's own backend cases: read from their files, run through an InferenceSession, compared as ONNX's own runner does.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { InferenceSession, Tensor } from '../../js/index.js';
import { ALONE } from '../support/engines.js';

/** A case's name, and what its files hold; nothing where there is no such file.
 * @typedef {{ name: string, read: (file: string) => Uint8Array | undefined }} OnnxCase
 */

/** Every case of a folder but those of real models, whose weights it does not have.
 * @param {string} root @returns {OnnxCase[]}
 */
export const casesIn = (root) =>
  readdirSync(root)
    .filter((kind) => kind !== 'real')
    .flatMap((kind) => readdirSync(`${root}/${kind}`).map((name) => `${kind}/${name}`))
    .map((name) => ({
      name,
      read: (file) => (existsSync(`${root}/${name}/${file}`) ? readFileSync(`${root}/${name}/${file}`) : undefined),
    }));

/**
 * Runs them all. `leftOut`: names of cases by the reason why they do not pass.
 * @param {OnnxCase[]} cases @param {Record<string, string[]>} leftOut
 * @returns {Promise<{ passed: number, wrong: string[] }>} those that do not as the list says, with a sentence each
 */
export async function runCases(cases, leftOut) {
  const listed = new Set(Object.values(leftOut).flat());
  /** @type {string[]} */
  const wrong = [];
  let passed = 0;
  for (const one of cases) {
    const failure = await runCase(one).then(
      () => undefined,
      (error) => String(error.message).split('\n')[0],
    );
    if (failure === undefined) passed++;
    if ((failure !== undefined) === listed.has(one.name)) continue;
    wrong.push(failure === undefined ? `${one.name} passes: take it off the list` : `${one.name}: ${failure}`);
  }
  return { passed, wrong };
}

// ---- protobuf: a message is a map from field number to its values, numbers as bigint, all else as bytes ----

/** @param {Uint8Array} bytes @returns {(field: number) => any[]} */
function message(bytes) {
  const fields = new Map();
  let at = 0;
  const take = (length) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = varint(bytes, () => at++);
    const [field, wire] = [Number(key >> 3n), Number(key & 7n)];
    let value;
    if (wire === 0) value = varint(bytes, () => at++);
    else if (wire === 1) value = take(8);
    else if (wire === 5) value = take(4);
    else value = take(Number(varint(bytes, () => at++)));
    if (!fields.has(field)) fields.set(field, []);
    fields.get(field).push(value);
  }
  return (field) => fields.get(field) ?? [];
}

function varint(bytes, next) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[next()];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

/** The numbers of a repeated field of varints, packed or not. */
const varints = (values) =>
  values.flatMap((value) => {
    if (typeof value === 'bigint') return [value];
    const numbers = [];
    let at = 0;
    while (at < value.length) numbers.push(varint(value, () => at++));
    return numbers;
  });

const text = (bytes) => new TextDecoder().decode(bytes);

// ---- tensors ----

/**
 * Types by ONNX's number: our name, the class of its data, its field unless raw, bits below 8, and whether these are
 * signed.
 */
const TYPES = {
  1: ['float32', Float32Array, 4],
  2: ['uint8', Uint8Array, 5],
  3: ['int8', Int8Array, 5],
  4: ['uint16', Uint16Array, 5],
  5: ['int16', Int16Array, 5],
  6: ['int32', Int32Array, 5],
  7: ['int64', BigInt64Array, 7],
  8: ['string', Array, 6],
  9: ['bool', Uint8Array, 5],
  10: ['float16', Uint16Array, 5],
  11: ['float64', Float64Array, 10],
  12: ['uint32', Uint32Array, 11],
  13: ['uint64', BigUint64Array, 11],
  16: ['bfloat16', Uint16Array, 5],
  17: ['float8e4m3fn', Uint8Array, 5],
  18: ['float8e4m3fnuz', Uint8Array, 5],
  19: ['float8e5m2', Uint8Array, 5],
  20: ['float8e5m2fnuz', Uint8Array, 5],
  21: ['uint4', Uint8Array, 5, 4],
  22: ['int4', Uint8Array, 5, 4, true],
  23: ['float4e2m1', Uint8Array, 5, 4],
  24: ['float8e8m0', Uint8Array, 5],
  25: ['uint2', Uint8Array, 5, 2],
  26: ['int2', Uint8Array, 5, 2, true],
};

function tensorOf(bytes) {
  const fields = message(bytes);
  const dims = varints(fields(1)).map(Number);
  const known = TYPES[Number(fields(2)[0])];
  if (!known) throw new Error(`a tensor of type ${fields(2)[0]}`);
  const [type, array, field, bits, isSigned] = known;
  const data = dataOf(fields, array, field);
  return new Tensor(type, bits ? unpacked(data, bits, isSigned, dims) : data, dims);
}

/** Several to a byte, the first in its low bits; those of ints are signed. */
const unpacked = (bytes, bits, isSigned, dims) =>
  new bytes.constructor(dims.reduce((a, b) => a * b, 1)).map((_, i) => {
    const low = (bytes[Math.floor((i * bits) / 8)] >> ((i * bits) % 8)) & (2 ** bits - 1);
    return isSigned && low >= 2 ** (bits - 1) ? low - 2 ** bits : low;
  });

function dataOf(fields, array, field) {
  if (array === Array) return fields(field).map(text);
  const raw = fields(9)[0] ?? (field === 4 || field === 10 ? Buffer.concat(fields(field)) : undefined);
  if (raw) return new array(Uint8Array.from(raw).buffer);
  const numbers = varints(fields(field));
  return array.from(
    numbers,
    array === BigInt64Array || array === BigUint64Array ? BigInt : (n) => Number(BigInt.asIntN(64, n)),
  );
}

// ---- cases ----

const nameOf = (info) => text(message(info)(1)[0]);

/** 'tensor', 'sequence' or 'optional'. */
const sortOf = (info) => {
  const type = message(message(info)(2)[0]);
  return type(1).length ? 'tensor' : type(4).length ? 'sequence' : 'optional';
};

/** ONNX's Python keeps bfloat16 in files of uint16; the model says which it is. */
const declaredAs = (info, tensor) => {
  const type = TYPES[Number(message(message(message(info)(2)[0])(1)[0])(1)[0])]?.[0];
  return type === 'bfloat16' && tensor.type === 'uint16' ? new Tensor(type, tensor.data, tensor.dims) : tensor;
};

/** Content of an input's or output's .pb file. */
function readValue(bytes, sort, info) {
  if (sort === 'tensor') return declaredAs(info, tensorOf(bytes));
  if (sort === 'sequence') return message(bytes)(3).map(tensorOf);
  const optional = message(bytes); /* name, elem_type, tensor, sparse tensor, sequence */
  return optional(3).length
    ? tensorOf(optional(3)[0])
    : optional(5).length
      ? readValue(optional(5)[0], 'sequence')
      : null;
}

function valuesOf(read, start, infos) {
  const values = {};
  infos.forEach((info, i) => {
    const bytes = read(`${start}_${i}.pb`);
    if (bytes) values[nameOf(info)] = readValue(bytes, sortOf(info), info);
  });
  return values;
}

/** Throws when the case does not pass. @param {OnnxCase} one */
async function runCase({ read }) {
  const model = read('model.onnx');
  const graph = message(message(model)(7)[0]);
  const constants = new Set(graph(5).map((tensor) => text(message(tensor)(8)[0])));
  const inputs = graph(11).filter((info) => !constants.has(nameOf(info)));
  /** ONNX's own tolerance, unless the case has a file that says otherwise. */
  const tolerance = {
    rtol: 1e-3,
    atol: 1e-7,
    ...JSON.parse(text(read('data.json') ?? new TextEncoder().encode('{}'))),
  };
  const session = await InferenceSession.create(model, ALONE);
  try {
    for (let set = 0; set === 0 || read(`test_data_set_${set}/output_0.pb`); set++) {
      const wanted = valuesOf(read, `test_data_set_${set}/output`, graph(12));
      assert.ok(Object.keys(wanted).length > 0, 'the case wants no output');
      const outputs = await session.run(valuesOf(read, `test_data_set_${set}/input`, inputs));
      for (const key of Object.keys(wanted)) compare(key, outputs[key], wanted[key], tolerance);
    }
  } finally {
    await session.release();
  }
}

function compare(name, got, want, { rtol, atol }) {
  if (want === null || Array.isArray(want)) {
    assert.equal(got === null, want === null, `output '${name}' is ${want === null ? 'not ' : ''}null`);
    assert.equal(got?.length, want?.length, `length of '${name}'`);
    want?.forEach((tensor, i) => {
      compare(`${name}[${i}]`, got[i], tensor, { rtol, atol });
    });
    return;
  }
  assert.deepEqual([got.type, [...got.dims]], [want.type, [...want.dims]], `type and shape of '${name}'`);
  const number = NUMBERS[want.type];
  if (!number) return assert.deepEqual(got.data, want.data, `'${name}'`);
  const relative = want.type === 'bfloat16' ? Math.max(rtol, 2 ** -6) : rtol; /* two units of its last place */
  want.data.forEach((value, i) => {
    const [a, b] = [number(got.data[i]), number(value)];
    const close =
      Object.is(a, b) || a === b || (Number.isFinite(b) && Math.abs(a - b) <= atol + relative * Math.abs(b));
    assert.ok(close, `element ${i} of '${name}' is ${a}, wanted ${b}`);
  });
}

/** float16's bits as a number. */
const half = (bits) => {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size =
    exponent === 31
      ? fraction
        ? Number.NaN
        : Infinity
      : exponent
        ? (1 + fraction / 1024) * 2 ** (exponent - 15)
        : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
};

/** The types that are compared by tolerance. */
const NUMBERS = {
  float32: (x) => x,
  float64: (x) => x,
  float16: half,
  bfloat16: (bits) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0],
};
