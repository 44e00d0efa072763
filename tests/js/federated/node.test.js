/** A node at a SuperLink of its own: rounds, what it refuses, what it survives. */

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { epsilonOf, parametersFile, SuperNode } from '../../../js/federated/index.js';
import * as wire from '../../../js/federated/messages.js';
import * as objects from '../../../js/federated/objects.js';
import { arraysIn, layoutOf, readFlat } from '../../../js/federated/exchange.js';
import { optionsOf } from '../../../js/federated/options.js';
import { answerTo } from '../../../js/federated/rounds.js';
import { pull, roomFor } from '../../../js/federated/transfer.js';
import { readSafetensors } from '../../../js/formats/safetensors.js';
import { generateArtifacts, TrainingSession, tensor } from '../../../js/index.js';
import { dense, input, sequential } from '../../../js/layers/index.js';
import { FakeSuperLink, metadataFor, sealConfig, sealContent } from '../../support/fake-superlink.js';
import { assertNear } from '../../support/near.js';

/** @import { Arrays } from '../../../js/federated/objects.js' */

const COUNT = 24;
const points = Array.from({ length: COUNT }, (_, i) => [Math.sin(i), Math.cos(3 * i)]);
const data = {
  inputs: tensor(points),
  labels: tensor(
    points.map(([x, y]) => Number(x * y > 0)),
    'int64',
  ),
};
const LR = 0.1;
/** @type {import('../../../js/types.js').Artifacts} */
let artifacts;
/** @type {string} */
let folder;

before(async () => {
  const network = await sequential([input([2]), dense(3, { activation: 'tanh' }), dense(2)], { seed: 1 });
  artifacts = await generateArtifacts(network, { loss: 'cross-entropy', optimizer: { type: 'sgd', lr: LR } });
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-federated-'));
});
after(() => rm(folder, { recursive: true }));

const newSession = () => TrainingSession.create(artifacts, { worker: false, threads: 1 });

/** A session's arrays, each number changed. @param {any} session @param {(x: number) => number} [change] */
async function arraysOf(session, change = (x) => x) {
  const layout = await layoutOf(session, 'all');
  return arraysIn(layout, (await readFlat(session, 'all')).map(change));
}

/** @param {Arrays} arrays */
const flat = (arrays) => [...arrays.values()].flatMap(({ data: numbers }) => [...numbers]);

/**
 * Runs a test with a SuperLink, a session and its node, and releases all.
 * @param {object} options @param {(parts: { link: FakeSuperLink, session: any, node: any, id: bigint, url: string,
 * errors: any[], rounds: any[] }) => Promise<void>} work
 */
async function withNode(options, work) {
  const link = new FakeSuperLink();
  const url = await link.start();
  const session = await newSession();
  const [errors, rounds] = [[], []];
  const listeners = { onError: (event) => errors.push(event), onRound: (event) => rounds.push(event) };
  const node = await SuperNode.connect(url, { session, data, pollMs: 10, ...listeners, ...options });
  try {
    await work({ link, session, node, id: BigInt(node.id), url, errors, rounds });
  } finally {
    await node.leave();
    await session.release();
    link.stop();
  }
}

/** The records of a reply. @param {any} reply @param {Arrays} wanted */
function opened(reply, wanted) {
  const { contents, id } = reply;
  const child = (/** @type {string} */ of) => {
    const text = Buffer.from(contents.get(of)).toString('latin1');
    return text.slice(0, text.indexOf('\0')).split(' ')[1].split(',');
  };
  const metrics = child(child(id)[0]).at(-1);
  const body = contents.get(metrics).subarray(contents.get(metrics).indexOf(0) + 1);
  const { items } = wire.decode(wire.MetricRecord, body);
  const named = Object.fromEntries(items.map(({ key, value }) => [key, value.double ?? value.sint64]));
  return { metrics: named, arrays: wanted && objects.openMessage(contents, id, wanted).arrays };
}

test('a round trains from the parameters that came with the options asked for, and sends the result', async () => {
  const other = await newSession();
  const start = await arraysOf(other, (x) => x / 2 + 0.01);
  const config = { epochs: 2n, 'batch-size': 8n, lr: 0.05, 'server-round': 4n, secret: 'x' };
  await withNode({}, async ({ link, session, id, rounds }) => {
    const reply = await link.ask(id, 'train', await sealContent(start, config));
    assert.equal(reply.error, undefined);
    const { arrays, metrics } = opened(reply, start);
    assert.deepEqual(flat(arrays), flat(await arraysOf(session)));

    await other.loadParametersBuffer(new Uint8Array(Float32Array.from(flat(start)).buffer), false);
    await other.setLearningRate(0.05);
    const history = await other.fit(data, { epochs: 2, batchSize: 8 });
    assert.deepEqual(flat(arrays), flat(await arraysOf(other)));
    assert.equal(metrics.loss, history.epochs[1].loss);
    assert.equal(metrics['num-examples'], BigInt(COUNT));
    assert.ok(Math.abs((await session.getLearningRate()) - LR) < 1e-7, 'the rate of before');

    const [{ type, round, ignored, examples, bytes }] = await eventually(rounds);
    assert.deepEqual([type, round, ignored, examples], ['train', 4, ['secret'], COUNT]);
    assert.ok(bytes.sent > 300 && bytes.received > 300);

    const measured = await link.ask(id, 'evaluate', await sealContent(start, config));
    const { loss, accuracy, 'num-examples': count } = opened(measured).metrics;
    await other.loadParametersBuffer(new Uint8Array(Float32Array.from(flat(start)).buffer), false);
    const wanted = await other.evaluate(data, { batchSize: 8 });
    assert.deepEqual([loss, accuracy, count], [wanted.loss, wanted.accuracy, BigInt(COUNT)]);
  });
  await other.release();
});

/** The list once it has something. @template T @param {T[]} list @param {number} [count] */
async function eventually(list, count = 1) {
  while (list.length < count) await new Promise((done) => setTimeout(done, 5));
  return list;
}

test('parameters go back in the order in which they came, also where names are numbers', async () => {
  const order = ['b', '10', 'a', '2', '"q":'];
  const values = { dims: [1], data: Float32Array.of(1) };
  const sealed = await objects.sealArrays(new Map(order.map((name) => [name, values])), 'float32');
  const records = await objects.sealRecords([['arrays', sealed]]);
  const message = await objects.sealMessage({ metadata: metadataFor(1n, 'train') }, [records]);
  const wanted = new Map(order.map((name) => [name, { dims: [1] }]));
  const { arrays } = objects.openMessage(objects.contentsOf(message), message.id, wanted);
  assert.deepEqual([...arrays.keys()], order);
  await withNode({}, async ({ link, session, id }) => {
    const reversed = new Map([...(await arraysOf(session))].reverse());
    const reply = await link.ask(id, 'train', await sealContent(reversed));
    assert.deepEqual([...opened(reply, reversed).arrays.keys()], [...reversed.keys()]);
  });
});

test('FedProx draws parameters to those that came, anew in each round', async () => {
  const [mu, lr] = [0.5, 0.1];
  const single = { epochs: 2n, 'batch-size': BigInt(COUNT), lr };
  await withNode({ fit: { shuffle: false } }, async ({ link, session, id }) => {
    for (const scale of [0.5, 2]) {
      const start = await arraysOf(session, (x) => scale * x + 0.1);
      const plain = opened(await link.ask(id, 'train', await sealContent(start, { ...single, epochs: 1n })), start);
      const drawn = opened(
        await link.ask(id, 'train', await sealContent(start, { ...single, 'proximal-mu': mu })),
        start,
      );
      const free = opened(await link.ask(id, 'train', await sealContent(start, single)), start);
      // in the first step the pull is 0; in the second it is mu times the way of the first
      const wanted = flat(free.arrays).map((x, i) => x - lr * mu * (flat(plain.arrays)[i] - flat(start)[i]));
      assertNear(flat(drawn.arrays), wanted, { absolute: 1e-6 });
    }
  });
});

test('what a page does not allow is refused with a sentence, and changes nothing', async () => {
  await withNode({ limits: { epochs: 3 } }, async ({ link, session, id, errors }) => {
    const before = flat(await arraysOf(session));
    const start = await arraysOf(session, (x) => x + 1);
    const without = new Map([...start].slice(1));
    const renamed = new Map([...start].map(([name, values], i) => [i ? name : 'other', values]));
    const [[name, first]] = start;
    const reshaped = new Map(start).set(name, { ...first, dims: [...first.dims].reverse() });
    const infinite = new Map(start).set(name, { ...first, data: first.data.map(() => NaN) });
    const cases = [
      [
        'train',
        await sealContent(start, { epochs: 4n }),
        /asks for epochs 4; this page allows whole numbers from 1 to 3/,
      ],
      ['train', await sealContent(start, { epochs: 0n }), /asks for epochs 0/],
      ['train', await sealContent(start, { epochs: 1.5 }), /asks for epochs 1.5/],
      ['train', await sealContent(start, { lr: -1 }), /asks for lr -1; this page allows numbers from 0 to 1/],
      ['train', await sealContent(start, { lr: NaN }), /asks for lr NaN/],
      ['train', await sealContent(start, { 'batch-size': 'all' }), /asks for batch-size 'all'/],
      ['query', await sealContent(start), /asks for 'query'; this node trains and evaluates, and does nothing else/],
      ['train', await sealContent(without), /model lacks 'dense\/kernel'/],
      ['train', await sealContent(renamed), /model has "other", which this session does not exchange/],
      ['train', await sealContent(reshaped), /'dense\/kernel' has the shape \[3,2\], this session's \[2,3\]/],
      ['train', await sealContent(infinite), /'dense\/kernel' has NaN in it/],
      ['train', await objects.sealRecords([['config', await sealConfig({})]]), /0 records of arrays/],
      ['train', await sealConfig({}), /class "ConfigRecord", where \^RecordDict\$ was wanted/],
    ];
    for (const [type, content, sentence] of /** @type {any[]} */ (cases)) {
      const { error, contents } = await link.ask(id, type, content);
      assert.match(error.reason, sentence);
      assert.equal(contents.size, 1, 'nothing but the refusal was sent');
    }
    await eventually(errors, cases.length);
    assert.deepEqual(flat(await arraysOf(session)), before);
    assert.equal((await link.ask(id, 'train', await sealContent(start))).error, undefined);
  });
});

test('what fails at home is told without a word about the data', async () => {
  const wrong = { inputs: data.inputs, labels: tensor(Array(COUNT).fill(7), 'int64') };
  await withNode({ data: wrong }, async ({ link, session, id, errors }) => {
    const before = flat(await arraysOf(session));
    const { error } = await link.ask(id, 'train', await sealContent(await arraysOf(session, () => 0.5)));
    assert.equal(error.reason, 'the train failed here: invalid-feed');
    assert.match((await eventually(errors))[0].error.message, /label/);
    assert.deepEqual(flat(await arraysOf(session)), before, 'the parameters of before');
  });
});

test('with privacy an update is clipped and has noise, no metric leaves, a spent budget ends the node', async () => {
  const [clippingNorm, noiseMultiplier, delta] = [0.01, 1.5, 1e-5];
  const two = await epsilonOf({ noiseMultiplier: noiseMultiplier / 2, rounds: 2, delta });
  /** @type {[number, boolean][]} */
  const spent = [];
  /** @type {FakeSuperLink | undefined} */
  let superLink;
  const onSpend = (/** @type {number} */ rounds) => {
    spent.push([rounds, Boolean(superLink?.calls.includes('push-messages'))]);
  };
  const privacy = { clippingNorm, noiseMultiplier, delta, maxEpsilon: two + 0.1, onSpend };
  await withNode({ privacy, limits: { epochs: 50 } }, async ({ link, session, node, id, rounds }) => {
    superLink = link;
    assert.equal(node.privacy.epsilon, 0);
    const start = await arraysOf(session);
    const evaluation = await link.ask(id, 'evaluate', await sealContent(start));
    assert.match(evaluation.error.reason, /measured on validation data alone, and has none/);
    superLink.calls.length = 0;
    const reply = await link.ask(id, 'train', await sealContent(start, { epochs: 50n }));
    const { arrays, metrics } = opened(reply, start);
    assert.deepEqual(Object.keys(metrics), ['num-examples']);
    const [update, trained] = [flat(arrays), flat(await arraysOf(session))].map((end) =>
      Math.hypot(...end.map((x, i) => x - flat(start)[i])),
    );
    const expected = noiseMultiplier * clippingNorm * Math.sqrt(flat(start).length);
    assert.ok(trained > 10 * expected, 'what was learned is larger than the noise');
    assert.ok(update > expected / 3 && update < 3 * expected, `${update}, about ${expected} expected`);
    assert.deepEqual(spent, [[1, false]], 'told before the update left');
    assert.equal((await eventually(rounds))[0].privacy.rounds, 1);
    assert.equal(node.privacy.next, two);
    await link.ask(id, 'train', await sealContent(start));
    await node.finished;
    assert.deepEqual([node.privacy.epsilon, node.privacy.rounds], [two, 2]);
    assert.ok(link.calls.includes('deactivate-node'));
  });
});

test("Flower's central differential privacy has updates clipped", async () => {
  await withNode({}, async ({ link, session, id, errors }) => {
    const start = await arraysOf(session);
    const reply = await link.ask(id, 'train', await sealContent(start, { epochs: 9n, clipping_norm: 0.01 }));
    const { arrays } = opened(reply, start);
    assertNear(Math.hypot(...flat(arrays).map((x, i) => x - flat(start)[i])), 0.01, { relative: 1e-4 });
    const wrong = await link.ask(id, 'train', await sealContent(start, { clipping_norm: -1 }));
    assert.match(wrong.error.reason, /asks for clipping_norm -1/);
    await eventually(errors);
  });
});

test('a SuperLink that is away, or was started anew, is joined again', async () => {
  await withNode({}, async ({ link, session, id, errors }) => {
    link.instead['pull-messages'] = [{ status: 503, type: 'text/html', body: 'later' }];
    await eventually(errors);
    assert.match(errors[0].error.message, /the SuperLink answered pull-messages with 503/);
    assert.ok(errors[0].retryMs > 700 && errors[0].retryMs < 1300);
    link.nodes.clear(); // a SuperLink without a database forgets its nodes
    while (!link.nodes.size) await new Promise((done) => setTimeout(done, 20));
    assert.equal((await link.ask(id, 'train', await sealContent(await arraysOf(session)))).error, undefined);
  });
});

test('leave ends a round in the middle: the node says good-bye, the session has the parameters of before', async () => {
  await withNode({ limits: { epochs: 1e6 } }, async ({ link, session, node, id }) => {
    const before = flat(await arraysOf(session));
    link.ask(id, 'train', await sealContent(await arraysOf(session, (x) => -x), { epochs: 1_000_000n }));
    while (!link.calls.includes('confirm-message-received')) await new Promise((done) => setTimeout(done, 10));
    await new Promise((done) => setTimeout(done, 100));
    await node.leave();
    assert.deepEqual(link.calls.slice(-2), ['deactivate-node', 'unregister-node']);
    assert.ok(!link.calls.includes('push-messages'));
    assert.deepEqual(flat(await arraysOf(session)), before);
  });
});

test('in Node a key is kept in a file: the node is the same one again', async () => {
  const identity = path.join(folder, 'node.pem');
  const link = new FakeSuperLink();
  const url = await link.start();
  const session = await newSession();
  const key = await SuperNode.publicKey(identity);
  const ids = [];
  for (let i = 0; i < 2; i++) {
    const node = await SuperNode.connect(url, { session, data, identity });
    ids.push(node.id);
    assert.equal(node.publicKey, key);
    await node.leave();
  }
  assert.equal(ids[0], ids[1]);
  assert.match(key, /^ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhB[\w+/]+=*$/);
  assert.equal((await stat(identity)).mode & 0o777, process.platform === 'win32' ? 0o666 : 0o600);
  await writeFile(identity, (await readFile(identity, 'utf8')).slice(0, 200));
  await assert.rejects(SuperNode.connect(url, { session, data, identity }), {
    code: 'source-unreadable',
    message: /node.pem is no P-384 key of a node: delete it/,
  });
  await session.release();
  link.stop();
});

test('connect refuses what it cannot use', async () => {
  const session = await newSession();
  const link = new FakeSuperLink();
  const url = await link.start();
  const strict = { clippingNorm: 1, noiseMultiplier: 1, delta: 1e-5, maxEpsilon: 2 };
  const cases = /** @type {const} */ ([
    [url, { data }, /session must be a TrainingSession/],
    [url, { session }, /wanted whole arrays as data, or examples/],
    [url, { session, data, echanges: 1 }, /no option 'echanges'/],
    [url, { session, data, exchange: 'adapter' }, /needs artifacts made with lora/],
    [url, { session, data, exchange: 'some' }, /one of all, trainable, adapter, not 'some'/],
    [url, { session, data, precision: 'int8' }, /float32 or float16, not 'int8'/],
    [url, { session, data, heartbeat: 5 }, /heartbeat must be 10 to 1800 s/],
    [url, { session, data, limits: { epoch: 1 } }, /is it epochs/],
    [url, { session, data, fit: { resume: true } }, /resume is the node's/],
    [url, { session, data, privacy: { clippingNorm: 1 } }, /privacy.noiseMultiplier must be a number above 0/],
    [url, { session, data, privacy: { ...strict, spent: 9 } }, /budget is spent: after 9 rounds, another would make/],
    [url, { session, data, signal: AbortSignal.abort() }, /stopped by the signal/],
    ['ftp://here', { session, data }, /wanted an http\(s\) URL/],
    [url.replace('/base', '/other'), { session, data }, /no SuperLink of Flower 1.42 at .*: it answered .* with 404/],
  ]);
  for (const [to, options, message] of cases)
    await assert.rejects(SuperNode.connect(to, /** @type {any} */ (options)), { name: 'TrainletError', message });
  link.instead['register-node'] = [
    { status: 403, type: 'application/json', body: '{"code":2001,"detail":"disabled"}' },
  ];
  link.instead['activate-node'] = [{ status: 400, type: 'application/json', body: '{"code":2004,"detail":"no"}' }];
  await assert.rejects(SuperNode.connect(url, { session, data }), {
    message: /does not know this node; whoever runs it registers the key: ecdsa-sha2-nistp384 AAAA/,
  });
  await session.release();
  link.stop();
});

test('a file of the first parameters is one of safetensors', async () => {
  const session = await newSession();
  const { tensors } = readSafetensors(await parametersFile(session), 'initial');
  assert.deepEqual(tensors, new Map([...(await arraysOf(session))].sort(([a], [b]) => (a < b ? -1 : 1))));
  await session.release();
});

test('all parameters, those that train or an adapter are exchanged, each by its name', async () => {
  const made = /** @type {const} */ ([
    ['cnn_bn.onnx', { loss: 'cross-entropy' }, { all: 16, trainable: 12 }],
    ['lora_linear.onnx', { loss: 'mse', lora: { r: 2 } }, { trainable: 6, adapter: 6 }],
  ]);
  for (const [file, options, counts] of made) {
    const model = new URL(`../../golden/data/${file}`, import.meta.url);
    const session = await TrainingSession.create(await generateArtifacts(model, { optimizer: 'sgd', ...options }));
    for (const [exchange, count] of Object.entries(counts)) {
      const layout = await layoutOf(session, /** @type {any} */ (exchange));
      assert.equal(layout.size, count, `${file}, ${exchange}`);
      const arrays = arraysIn(layout, await readFlat(session, /** @type {any} */ (exchange)));
      for (const [name, { dims, data: values }] of arrays) {
        const parameter = await session.getParameter(name);
        assert.deepEqual([parameter.dims, parameter.data], [dims, values], name);
      }
    }
    await session.release();
  }
});

/** @param {number} seed */
function randomOf(seed) {
  let state = Math.imul(seed, 0x9e3779b9) >>> 0;
  return (/** @type {number} */ below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const FUZZED = 1000;

test(`of ${FUZZED} damaged messages each is refused with a sentence; the session is as it was`, async (t) => {
  const session = await newSession();
  const plan = await optionsOf({ session, data });
  const layout = await layoutOf(session, 'all');
  const room = roomFor(layout);
  const before = flat(await arraysOf(session));
  const metadata = metadataFor(7n, 'train');
  const start = await arraysOf(session, (x) => x + 1);
  const content = await sealContent(start, { epochs: 2n, lr: 0.1, 'server-round': 1n });
  const signal = new AbortController().signal;
  const outcomes = new Map();
  for (let seed = 0; seed < FUZZED; seed++) {
    const random = randomOf(seed);
    const attack = await damaged(metadata, content, random);
    let [bytes, kind] = [0, 'taken'];
    const fleet = {
      signal,
      /** @param {string} at @param {object} _ @param {any} request @param {object} given @param {any} options */
      call: async (at, _, request, given, { most }) => {
        const answer = attack(at, request);
        if (answer.length > most) throw new TypeError(`${answer.length} bytes are more than ${most}`);
        bytes += answer.length;
        return wire.decode(given, answer);
      },
    };
    try {
      const link = /** @type {any} */ ({ fleet, node: { node_id: 7n }, onRetry: () => {} });
      const pulled = await pull(link, room);
      // the training itself is not what is tested: a damage that leaves a sound message may change a number
      const idle = { ...plan, session: /** @type {any} */ ({}) };
      const reply = pulled && (await answerTo(idle, layout, pulled, signal).catch((error) => error));
      if (reply?.refused) kind = reply.refused.code;
      else if (!pulled) kind = 'nothing';
    } catch (error) {
      kind = /** @type {any} */ (error).code ?? /** @type {Error} */ (error).message.replace(/\d+/g, 'N');
    }
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    assert.ok(bytes < 4 * room.bytes, `${bytes} bytes were taken`);
  }
  t.diagnostic(JSON.stringify([...outcomes]));
  const sound = ['taken', 'nothing', 'source-unreadable', 'integrity-mismatch', 'invalid-argument', 'non-finite-loss'];
  assert.deepEqual(
    [...outcomes.keys()].filter((kind) => !sound.includes(kind) && !/^N bytes are more than N$/.test(kind)),
    [],
  );
  assert.ok((outcomes.get('taken') ?? 0) < FUZZED / 5, 'most are refused');
  assert.deepEqual(flat(await arraysOf(session)), before);
  await session.release();
});

const HUGE = [0xff, 0xff, 0xff, 0xff, 0x7f];

/** Bytes with a damage. @param {Uint8Array} bytes @param {(below: number) => number} random */
function mutated(bytes, random) {
  const copy = [...bytes];
  const at = random(copy.length);
  const kind = random(5);
  if (kind === 0) copy[at] ^= 1 << random(8);
  else if (kind === 1) copy.length = at;
  else if (kind === 2) copy.splice(at, 1 + random(4));
  else if (kind === 3) copy.splice(at, 0, ...HUGE);
  else copy.splice(at, 1, ...copy.slice(random(copy.length)).slice(0, 40));
  return Uint8Array.from(copy);
}

/**
 * Answers to the calls of a pull, of which something is damaged: the answer's bytes, an object's bytes under the hash
 * of the sound ones, or an object's bytes with hashes that fit.
 * @param {any} metadata @param {import('../../../js/federated/objects.js').Sealed} content
 * @param {(below: number) => number} random
 */
async function damaged(metadata, content, random) {
  const kind = random(4);
  const change = async (/** @type {any} */ sealed, /** @type {number} */ victim, count = { at: 0 }) => {
    const children = [];
    for (const child of sealed.children) children.push(await change(child, victim, count));
    let text = Buffer.from(sealed.bytes).toString('latin1');
    sealed.children.forEach((child, i) => {
      text = text.replaceAll(child.id, children[i].id);
    });
    const bytes = new Uint8Array(Buffer.from(text, 'latin1'));
    const changed = count.at++ === victim ? mutated(bytes, random) : bytes;
    return { id: await objects.idOf(changed), bytes: changed, children };
  };
  const sound = await objects.sealMessage({ metadata }, [content]);
  const sealed = kind === 2 ? await change(sound, random(objects.contentsOf(sound).size)) : sound;
  const contents = objects.contentsOf(sealed);
  const victim = [...contents.keys()][random(contents.size)];
  const message = { metadata: { ...metadata, message_id: sealed.id }, content: {} };
  const tree = objects.treeOf(sealed);
  const first = wire.encode(wire.PullMessagesResponse, { messages_list: [message], message_object_trees: [tree] });
  return (/** @type {string} */ at, /** @type {any} */ request) => {
    if (at === 'confirm-message-received') return new Uint8Array();
    if (at === 'pull-messages') return kind === 0 ? mutated(first, random) : first;
    const known = contents.get(request.object_id);
    const isVictim = request.object_id === victim;
    const bytes = known && isVictim && kind === 1 ? mutated(known, random) : known;
    const answer = { object_found: bytes !== undefined, object_available: true, object_content: bytes };
    const encoded = wire.encode(wire.PullObjectResponse, answer);
    return isVictim && kind === 3 ? mutated(encoded, random) : encoded;
  };
}
