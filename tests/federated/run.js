// Nodes of their own processes at a SuperLink of PyPI: what they learn together is what a loop computes; rounds end
// though nodes are killed in the middle of them, and a node that is started again is the same one.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setUp, SuperLink } from '../../examples/federated/start.mjs';
import { arraysIn, layoutOf } from '../../js/federated/exchange.js';
import { parametersFile } from '../../js/federated/index.js';
import { readSafetensors } from '../../js/formats/safetensors.js';
import { root } from '../../tools/programs.mjs';
import { dataOf, sessionIn, writeArtifacts } from './model.js';

const PORT = 8_731;
const NODES = 4;
const [ROUNDS, EPOCHS, LR] = [3, 2, 0.1];

/** A node's process and its events. */
class Node {
  events = [];

  constructor(folder, index) {
    const args = [join(root, 'tests/federated/node.js'), folder, String(index), `http://127.0.0.1:${PORT}`];
    this.process = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    this.process.stdout.on('data', (data) => {
      const lines = (text + data).split('\n');
      text = lines.pop();
      for (const line of lines) this.events.push(JSON.parse(line));
      this.changed?.();
    });
    this.ended = new Promise((done) => this.process.on('exit', done));
  }

  /** The first event of that kind, at the latest when the process ends. */
  async first(isIt) {
    while (!this.events.some(isIt)) {
      const more = new Promise((done) => (this.changed = done));
      const over = await Promise.race([more, this.ended.then(() => 'over')]);
      if (over && !this.events.some(isIt)) throw new Error('a node ended before it did what was awaited');
    }
    return this.events.find(isIt);
  }

  async end(signal = 'SIGTERM') {
    this.process.kill(signal);
    await this.ended;
  }
}

const isJoined = ({ type }) => type === 'joined';

/** The parameters after each round of the same FedAvg as a loop, each an average in float64. */
async function looped(folder) {
  const sessions = await Promise.all(Array.from({ length: NODES }, () => sessionIn(folder)));
  const layout = await layoutOf(sessions[0], 'all');
  let { data: average } = await sessions[0].getContiguousParameters(false);
  for (let round = 0; round < ROUNDS; round++) {
    const sum = new Float64Array(average.length);
    let examples = 0;
    for (const [index, session] of sessions.entries()) {
      const data = dataOf(index);
      await session.loadParametersBuffer(new Uint8Array(average.buffer), false);
      await session.setLearningRate(LR);
      await session.fit(data, { epochs: EPOCHS, resume: false });
      const weight = data.inputs.dims[0];
      (await session.getContiguousParameters(false)).data.forEach((x, i) => (sum[i] += x * weight));
      examples += weight;
    }
    average = Float32Array.from(sum, (x) => x / examples);
  }
  for (const session of sessions) await session.release();
  return arraysIn(layout, average);
}

function compare(found, wanted) {
  let far = 0;
  assert.deepEqual([...found.keys()].sort(), [...wanted.keys()].sort());
  for (const [name, { data }] of wanted)
    found.get(name).data.forEach((x, i) => (far = Math.max(far, Math.abs(x - data[i]))));
  return far;
}

const folder = mkdtempSync(join(tmpdir(), 'trainlet-federated-'));
mkdirSync(join(root, 'build'), { recursive: true });
const bin = setUp(join(root, 'build/federated-venv'));
await writeArtifacts(folder);
const first = await sessionIn(folder);
writeFileSync(join(folder, 'initial'), await parametersFile(first));
await first.release();
const link = await SuperLink.start(bin, { port: PORT });
let nodes = Array.from({ length: NODES }, (_, i) => new Node(folder, i));
try {
  const ids = await Promise.all(nodes.map(async (node) => (await node.first(isJoined)).id));
  const result = join(folder, 'result');
  const config = { initial: join(folder, 'initial'), result, nodes: NODES, rounds: ROUNDS, epochs: EPOCHS, lr: LR };
  await link.run(config);
  const { tensors } = readSafetensors(readFileSync(result), 'result');
  const far = compare(tensors, await looped(folder));
  console.log(`${ROUNDS} rounds of ${NODES} nodes: at most ${far.toExponential(1)} from the loop's parameters`);
  assert.ok(far < 1e-6);
  const rounds = nodes.flatMap(({ events }) => events.filter(({ type }) => type === 'train'));
  assert.equal(rounds.length, ROUNDS * NODES);
  const mean = (values) => values.reduce((a, b) => a + b) / values.length;
  const bytes = rounds[0].bytes;
  console.log(`a round of a node: ${mean(rounds.map(({ ms }) => ms)).toFixed(0)} ms, ${bytes.sent} bytes sent`);
  const { evaluate: evaluated } = JSON.parse(readFileSync(`${result}.json`, 'utf8'));
  assert.deepEqual(Object.keys(evaluated), ['1', '2', '3']);
  console.log(`accuracy of all nodes: ${Object.values(evaluated).map(({ accuracy }) => accuracy.toFixed(3))}`);

  const last = nodes[NODES - 1];
  last.events.length = 0;
  const killed = last.first(({ type }) => type === 'step').then(() => last.end('SIGKILL'));
  const began = Date.now();
  rmSync(result);
  await link.run({ ...config, nodes: NODES - 1, rounds: 2, epochs: 10, timeout: 120 });
  await killed;
  readSafetensors(readFileSync(result), 'result');
  const done = nodes.map(({ events }) => events.filter(({ type }) => type === 'train').length);
  assert.deepEqual(done, [ROUNDS + 2, ROUNDS + 2, ROUNDS + 2, 0], 'the others did both rounds');
  console.log(`a node was killed in a round: two rounds ended in ${((Date.now() - began) / 1000).toFixed(0)} s`);
  const again = new Node(folder, NODES - 1);
  nodes = [...nodes.slice(0, -1), again];
  assert.equal((await again.first(isJoined)).id, ids[NODES - 1]);
  await link.run({ ...config, rounds: 1 });
  assert.ok(again.events.some(({ type }) => type === 'train'));
  console.log('started again, it is the same node, and trains');

  const before = nodes.map(({ events }) => events.length);
  await link.run({ ...config, rounds: 2, noise: 0.01, 'clipping-norm': 1, 'proximal-mu': 0.1 });
  const events = nodes.flatMap(({ events: all }, i) => all.slice(before[i]));
  assert.equal(events.filter(({ type }) => type === 'error').length, 0);
  assert.equal(events.filter(({ type }) => type === 'evaluate').length, 2 * NODES);
  console.log('with central differential privacy and FedProx both rounds are done by all');
} catch (error) {
  console.log(link.text.slice(-4000));
  throw error;
} finally {
  await Promise.all(nodes.map((node) => node.end()));
  await link.stop();
  rmSync(folder, { recursive: true });
}
