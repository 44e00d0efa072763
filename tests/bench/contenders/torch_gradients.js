// PyTorch's gradients of the rows of the benchmark of operators, in a process of its own.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../../../tools/programs.mjs';
import { domainAndName } from '../operator_model.js';
import { PYTHON } from '../places/native.js';

const bytesOf = ({ data }) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
const plain = (value) => value?.float ?? value?.floats ?? value?.strings ?? value;
const shapeOf = (tensor) => tensor && { type: tensor.type, dims: tensor.dims };

/** A program that answers lines with lines, in order. */
function programOf(script) {
  const child = spawn(PYTHON, [script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1', MKL_NUM_THREADS: '1' },
  });
  const waiting = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift().resolve(JSON.parse(line)));
  child.on('close', () => {
    for (const { reject } of waiting) reject(new Error('the program of PyTorch ended'));
  });
  const ask = (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      child.stdin.write(`${JSON.stringify(question)}\n`);
    });
  return { ask, close: () => child.kill() };
}

/** Opens PyTorch: of a row and its parts (operator_gradient.js) the gradients, and what a backward pass takes. */
export function openTorch() {
  const folder = mkdtempSync(join(tmpdir(), 'trainlet-gradients-'));
  const program = programOf(join(root, 'tests/bench/contenders/torch_gradients.py'));
  const { ask } = program;
  const open = async ([operator, inputs, attributes, more = {}], { fed, arriving, towards }) => {
    const file = join(folder, 'row');
    const arrived = arriving.map((name) => fed.find(([other]) => other === name)[1]);
    writeFileSync(file, Buffer.concat([...inputs.filter(Boolean), ...arrived].map(bytesOf)));
    const [domain, name] = domainAndName(operator);
    const { error, sizes } = await ask({
      open: file,
      domain,
      operator: name,
      opset: more.opset ?? 18,
      outputs: Array.isArray(more.outputs) ? more.outputs.length : (more.outputs ?? 1),
      inputs: inputs.map(shapeOf),
      arriving: arrived.map(shapeOf),
      attributes: Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, plain(value)])),
      towards: towards.map(({ index }) => index),
    });
    if (error) return { error };
    const bytes = readFileSync(`${file}.gradients`);
    const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    let at = 0;
    const gradients = sizes.map((size) => {
      at += size;
      return floats.subarray(at - size, at);
    });
    const timed = (without) => ({
      timed: async (times) => {
        const { ms, error } = await ask({ times, without });
        if (error) throw new Error(error);
        return ms;
      },
    });
    return { gradients, run: timed(false), without: timed(true) };
  };
  const close = () => {
    program.close();
    rmSync(folder, { recursive: true });
  };
  return { open, close };
}
