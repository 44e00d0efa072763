// Calibration: PyTorch's temperatures and calibration errors, a threshold for what is unknown, both kept and applied.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fineTune, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { calibrationError, temperatureOf, thresholdOf } from '../../../js/session/calibration.js';
import { clusters, golden } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';
import { assertNear } from '../../support/near.js';

const sets = JSON.parse(readFileSync(new URL('../../golden/data/calibration.json', import.meta.url), 'utf8'));
const rowsOf = ({ scores, classes, labels }) => labels.map((_, i) => scores.slice(i * classes, (i + 1) * classes));
const near = (found, wanted) => assertNear(found, wanted, { relative: 1e-5 });

test('temperature and calibration error are those of PyTorch; one beyond 20 is none', () => {
  for (const one of sets) {
    const rows = rowsOf(one);
    near(calibrationError(rows, one.labels, 1), one.before);
    near(calibrationError(rows, one.labels, one.temperature), one.after);
    const found = temperatureOf(rows, one.labels);
    if (one.temperature > 20) assert.equal(found, undefined);
    else near(found, one.temperature);
  }
  assert.equal(sets.filter(({ temperature }) => temperature > 20).length, 1);
  assert.equal(
    temperatureOf(
      [
        [3, 1],
        [0, 2],
      ],
      [0, 1],
    ),
    undefined,
    'all are right: the lower the better',
  );
});

test('a threshold misses no more of what is read rightly than is said', () => {
  const rows = Array.from({ length: 40 }, (_, i) => [i / 10, 0]);
  const labels = rows.map(() => 0);
  const share = (least) => rows.filter(([a]) => 1 / (1 + Math.exp(-a)) < least).length / rows.length;
  for (const missed of [0, 0.05, 0.25]) assert.equal(share(thresholdOf(rows, labels, 1, missed)), missed);
});

async function trained(t) {
  const head = { classes: ['ant', 'bee', 'cat', 'dog', 'eel'] };
  const artifacts = await generateArtifacts(golden('mlp_small.onnx'), { loss: 'cross-entropy', head, ...HERE });
  const session = await TrainingSession.create(artifacts, HERE);
  t.after(() => session.release());
  await session.initializeHead(clusters(60, 1));
  return { session, artifacts };
}

test('calibrate: what it finds is applied, is in checkpoints and exports, and dropped with the head', async (t) => {
  const { session, artifacts } = await trained(t);
  const data = clusters(200, 3);
  data.labels.labels.data.forEach((label, i, all) => {
    if (i % 8 === 0) all[i] = (label + 1n) % 5n; // not all can be right
  });
  const ece = async () => (await session.evaluate(data, { metrics: ['calibration-error'] }))['calibration-error'];
  const found = await session.calibrate(data, { unknown: { missed: 0.25 } });
  assert.equal(found.examples, 200);
  assert.ok(found.temperature > 0.05 && found.temperature < 20 && found.temperature !== 1);
  near(found.before, await ece());
  const { scores, probabilities } = await session.predict(data.inputs, { probabilities: true });
  const row = [...scores.data.subarray(0, 5)].map((score) => Math.exp(score / found.temperature));
  near(probabilities.data[2], row[2] / row.reduce((a, b) => a + b));
  const labelled = await session.predict(data.inputs, { labels: true, threshold: true, probabilities: true });
  const unknown = labelled.labels.data.filter((label) => label === '').length;
  assert.ok(unknown > 20 && unknown < 100, `${unknown} of 200`);
  const own = await session.predict(data.inputs, { labels: true, threshold: found.threshold });
  assert.deepEqual(own.labels.data, labelled.labels.data);
  assert.ok((await session.predict(data.inputs, { labels: true })).labels.data.every((label) => label));

  const checkpointState = await session.saveCheckpoint();
  const exported = await session.exportModel();
  const again = await generateArtifacts(exported, { loss: 'cross-entropy', ...HERE });
  for (const from of [{ ...artifacts, checkpointState }, again]) {
    const later = await TrainingSession.create(from, HERE);
    t.after(() => later.release());
    const given = await later.predict(data.inputs, { labels: true, threshold: true, probabilities: true });
    assert.deepEqual(given.labels.data, labelled.labels.data);
    assert.deepEqual(given.probabilities.data, labelled.probabilities.data);
  }
  const fresh = await generateArtifacts(exported, { loss: 'cross-entropy', head: { classes: ['a', 'b'] }, ...HERE });
  const other = await TrainingSession.create(fresh, HERE);
  t.after(() => other.release());
  await assert.rejects(other.predict(data.inputs, { labels: true, threshold: true }), /no threshold was chosen/);
});

test('fineTune tells of it', async () => {
  const { inputs, labels } = clusters(100, 3);
  const names = [...labels.labels.data].map((label, i) => (i % 9 ? 'abcde'[Number(label)] : 'a'));
  const data = { inputs, labels: names };
  const { session, report } = await fineTune(golden('mlp_small.onnx'), data, {
    engine: HERE,
    epochs: 4,
    unknown: true,
  });
  const { temperature, threshold, examples } = report.calibration;
  assert.equal(examples, report.examples.heldOut);
  const kept = JSON.parse(session.properties.get('trainlet.calibration'));
  assert.deepEqual(kept, { temperature, threshold });
  const { labels: given } = await session.predict(inputs, { labels: true, threshold: true });
  assert.ok(given.data.includes('') && given.data.some((label) => label));
  await session.release();
});

test('what cannot be calibrated is refused in a sentence', async (t) => {
  const { session } = await trained(t);
  const data = clusters(10, 3);
  const wrong = {
    ...data,
    labels: {
      labels: new Tensor(
        'int64',
        BigInt64Array.from({ length: 10 }, () => 7n),
        [10],
      ),
    },
  };
  for (const [asked, message] of [
    [() => session.calibrate(wrong), /^calibrate: label 7 in row 0, and the classes are 0 to 4/],
    [() => session.calibrate({ inputs: data.inputs }), /^calibrate: data are \{ inputs, labels \}/],
    [() => session.calibrate(data, { unknowns: true }), /unknowns/],
    [() => session.calibrate(data, { unknown: { missed: 1 } }), /missed is a share from 0 up and below 1, not 1/],
    [
      () => session.predict(data.inputs, { labels: true, threshold: 2 }),
      /threshold is a probability from 0 to 1, or true, not 2/,
    ],
    [() => session.predict(data.inputs, { labels: true, threshold: true }), /no threshold was chosen/],
  ])
    await assert.rejects(asked(), { code: 'invalid-argument', message });
});
