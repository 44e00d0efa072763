/**
 * ONNX's newer backend cases in one file, cases.br: those that Debian's package does not have or has otherwise, but for
 * the few of more than 60 KB.   node tests/onnx/packed.js FOLDER   writes them as files, for the test in C.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** @import { OnnxCase } from './cases.js' */

const FILE = new URL('cases.br', import.meta.url);
const MOST_BYTES = 60_000;

/** The length of a list as 4 bytes, the list as JSON (case, file, bytes), and all files one behind the other. */
function unpack() {
  const all = brotliDecompressSync(readFileSync(FILE));
  let at = 4 + all.readUInt32LE();
  /** @type {Map<string, Map<string, Uint8Array>>} */
  const cases = new Map();
  for (const [name, file, bytes] of JSON.parse(all.toString('utf8', 4, at))) {
    if (!cases.has(name)) cases.set(name, new Map());
    cases.get(name)?.set(file, all.subarray(at, at + bytes));
    at += bytes;
  }
  return cases;
}

/** @returns {OnnxCase[]} */
export const packedCases = () => [...unpack()].map(([name, files]) => ({ name, read: (file) => files.get(file) }));

/**
 * Packs those of the cases in folder `from` that folder `known` does not have.
 * @param {string} from
 * @param {string} known
 */
export function pack(from, known) {
  const cases = readdirSync(from).flatMap((kind) => readdirSync(`${from}/${kind}`).map((name) => `${kind}/${name}`));
  const files = cases.sort().flatMap((name) => newerFiles(from, known, name));
  const list = Buffer.from(JSON.stringify(files.map(([name, file, bytes]) => [name, file, bytes.length])));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(list.length);
  const all = Buffer.concat([length, list, ...files.map(([, , bytes]) => bytes)]);
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: all.length };
  writeFileSync(FILE, brotliCompressSync(all, { params }));
}

/** @param {string} from @param {string} known @param {string} name @returns {[string, string, Buffer][]} */
function newerFiles(from, known, name) {
  const all = readdirSync(`${from}/${name}`, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const files = all.map((one) => path.join(one.parentPath, one.name)).sort();
  const contents = files.map((file) => readFileSync(file));
  const model = contents[files.findIndex((file) => file.endsWith('model.onnx'))];
  if (contents.reduce((sum, bytes) => sum + bytes.length, 0) > MOST_BYTES || isKnown(`${known}/${name}`, model))
    return [];
  return files.map((file, i) => [name, path.relative(`${from}/${name}`, file), contents[i]]);
}

/** @param {string} folder @param {Buffer} model */
function isKnown(folder, model) {
  try {
    return model.equals(readFileSync(`${folder}/model.onnx`));
  } catch {
    return false;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const to = process.argv[2];
  for (const [name, files] of unpack())
    for (const [file, bytes] of files) {
      mkdirSync(path.dirname(path.join(to, name, file)), { recursive: true });
      writeFileSync(path.join(to, name, file), bytes);
    }
}
