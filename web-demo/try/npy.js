// NumPy's arrays: .npy, and .npz, a zip file of these. It stands in the code that the page shows, as it is here.

const TYPES = {
  '<f4': ['float32', Float32Array],
  '<f8': ['float64', Float64Array],
  '|i1': ['int8', Int8Array],
  '|u1': ['uint8', Uint8Array],
  '<i2': ['int16', Int16Array],
  '<u2': ['uint16', Uint16Array],
  '<i4': ['int32', Int32Array],
  '<u4': ['uint32', Uint32Array],
  '<i8': ['int64', BigInt64Array],
  '<u8': ['uint64', BigUint64Array],
  '|b1': ['bool', Uint8Array],
};

/** An array as { type, data, dims }. @param {Uint8Array} bytes of a .npy file */
export function parseNpy(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = bytes[6] > 1 ? 12 : 10;
  const length = bytes.length < 12 ? 0 : bytes[6] > 1 ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder('latin1').decode(bytes.subarray(start, start + length));
  const [, descr] = /'descr': *'([^']*)'/.exec(header) ?? [];
  const [, shape] = /'shape': *\(([^)]*)\)/.exec(header) ?? [];
  if (descr === undefined || shape === undefined) throw new Error('is no array of NumPy, or not all of it');
  if (!TYPES[descr]) throw new Error(`has numbers of type ${descr}; save it with astype("float32") or astype("int64")`);
  if (/'fortran_order': *True/.test(header)) throw new Error('is in Fortran order; save numpy.ascontiguousarray(it)');
  const [type, Numbers] = TYPES[descr];
  const dims = shape.split(',').flatMap((dim) => (dim.trim() ? [Number(dim)] : []));
  const count = dims.reduce((a, b) => a * b, 1);
  const from = start + length;
  if (bytes.length - from < count * Numbers.BYTES_PER_ELEMENT) throw new Error('is cut off: numbers are missing');
  return { type, data: new Numbers(bytes.slice(from, from + count * Numbers.BYTES_PER_ELEMENT).buffer), dims };
}

/** Arrays by their names. @param {Uint8Array} bytes of a .npz file */
export async function parseNpz(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error('is no .npz, or not all of it');
  const arrays = {};
  let at = view.getUint32(end + 16, true);
  for (let i = 0; i < view.getUint16(end + 10, true); i++) {
    const [method, packed] = [view.getUint16(at + 10, true), view.getUint32(at + 20, true)];
    const [name, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const local = view.getUint32(at + 42, true);
    const file = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name));
    const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const content = bytes.subarray(from, from + packed);
    if (file.endsWith('.npy')) arrays[file.slice(0, -4)] = parseNpy(method ? await inflated(content) : content);
    at += 46 + name + extra + comment;
  }
  return arrays;
}

/** @param {Uint8Array} packed */
async function inflated(packed) {
  const stream = new Response(packed).body.pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
