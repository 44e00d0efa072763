// docs/measured/models.md, from what check.js found of each model.

import { writeFileSync } from 'node:fs';
import { wrapped } from '../../tools/exports.mjs';
import { architectureOf, CLOSE, outcomeOf } from './outcome.js';
import { isFolded, isWarned, reasonOf } from './reasons.js';

const COLUMNS = ['model', 'exporter', 'opset', 'forward', '3 losses', '5 losses', 'export', 'batch', 'forward, ms'];
COLUMNS.push('step, ms', 'why not');
const power = (number) => (number === undefined || number === null ? '–' : number.toExponential(0));
const time = (ms) => (ms === undefined ? '–' : ms < 10 ? ms.toFixed(2) : ms.toFixed(0));

function batchOf({ warnings = [] }) {
  if (warnings.some((text) => text.includes('fixed batch, which is free now'))) return 'freed';
  return warnings.some((text) => text.includes('with a fixed batch')) ? 'fixed' : 'free';
}

function lossesOf({ early, loss, falls }) {
  return falls === undefined ? [power(early), power(loss)] : ['', falls ? 'falls' : 'does not fall'];
}

function cellsOf(name, found) {
  const { forward, export: exported, forwardMs, peerMs, stepMs, exporter, opset } = found;
  const reason = reasonOf(name, found) ?? found.untrained ?? '';
  if (forward === undefined) return [name, exporter, ...Array(COLUMNS.length - 3).fill(''), reason];
  return [
    name,
    exporter,
    opset?.['ai.onnx'],
    power(forward),
    ...lossesOf(found),
    power(exported),
    found.warnings ? batchOf(found) : '',
    `${time(forwardMs)} / ${time(peerMs)}`,
    time(stepMs),
    reason,
  ];
}

const row = (cells) => `| ${cells.join(' | ')} |`;

const COUNTS = [
  'family',
  'architectures',
  'exports',
  'written wrong',
  'nothing to train',
  'all passes',
  '3 losses',
  '%',
];
COUNTS.push('not, with a warning', 'not, for folded parameters', '% of the others');

/** Counts of a family of models, `models` by name. */
function countsOf(family, models) {
  const all = Object.values(models);
  const outcomes = all.map(outcomeOf);
  const count = (outcome) => outcomes.filter((one) => one === outcome).length;
  const trained = count('whole') + count('early');
  const wanted = trained + count('apart');
  const warned = all.filter((found, i) => outcomes[i] === 'apart' && isWarned(found)).length;
  const folded = all.filter((found, i) => outcomes[i] === 'apart' && isFolded(found)).length;
  const percent = (among) => (among ? ((100 * trained) / among).toFixed(1) : '–');
  const architectures = new Set(Object.keys(models).map(architectureOf)).size;
  const cells = [family, architectures, all.length, count('miswritten'), count('run'), count('whole'), trained];
  return row([...cells, percent(wanted), `${warned} of ${count('apart')}`, folded, percent(wanted - folded)]);
}

/** Numbers, names and shapes in a reason. */
const VARYING = /\d(\.\d+)?e[-+]?\d+|'[^']*'|[([][^)\]]*[)\]]|%\d+.*| it: .*/g;

/** Numbers of models that do not pass whole, by reason, the most frequent first. */
function reasonsOf(models) {
  const counts = new Map();
  for (const [name, found] of Object.entries(models)) {
    const reason = reasonOf(name, found)?.replace(VARYING, '…');
    if (reason) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([reason, count]) => wrapped(`- ${count}: ${reason}`));
}

const LEGEND = `
- **written wrong**: the exporter fails, or onnxruntime-web 1.30 computes the same wrong outputs from its file.
- **nothing to train**: trees, neighbours, weights that are all int8. Their outputs are compared.
- **all passes**: outputs, the losses of five steps and the exported model differ by less than ${CLOSE}.
- **3 losses**: outputs and the losses of the first three steps do. **%** is the share of these models among all that
  the exporter wrote right and that have something to train.
- **not, with a warning**: how many of those that do not pass have a warning that says what the exporter changed.
- **not, for folded parameters**: how many of them have a file without some of the parameters, because the exporter
  wrote what it had computed from these in their place; the warning names it. **% of the others** leaves these out.

Differences are relative to the largest number. Outputs are compared with those of the framework, losses (AdamW, or
SGD) with those of PyTorch or JAX, the exported model in onnxruntime-web 1.30 with the session that exported it.
Int8 models may differ by 0.05 and float16 models by 0.01; the loss of an int8 model only has to fall. The outputs of a
model in training mode are those of \`predict\`. Batch: the exporter fixes it to that of its example; *freed* means that
\`generateArtifacts\` made it free again. Times are the least CPU time of some runs on one thread in Node: a forward
pass beside that of onnxruntime-web 1.30, and a step.

The models that do not pass whole, by reason:
`;

/** The models by the way in which they were exported, as their names say. */
function byWay(models) {
  const ways = {};
  for (const [name, found] of Object.entries(models)) {
    const way = /README's options|script/.exec(name)?.[0] ?? 'defaults and others';
    ways[`*${way}*`] = { ...ways[`*${way}*`], [name]: found };
  }
  return ways;
}

function headOf(kinds, versions) {
  const all = Object.assign({}, ...Object.values(kinds));
  return [
    "# Models as today's exporters write them",
    '',
    wrapped(`Made by \`npm run models\` (tests/models/) with ${versions}.`),
    'The models have random weights. Each is exported by the defaults of its framework, or as its name says: *script*',
    "is the exporter through TorchScript, *README's options* are `optimize=False`, training mode and a free batch.",
    '',
    row(COUNTS),
    row(COUNTS.map(() => '---')),
    ...Object.entries({ ...kinds, ...byWay(all) }).map(([kind, models]) => countsOf(kind, models)),
    countsOf('**all**', all),
    LEGEND,
    ...reasonsOf(all),
  ];
}

/** `kinds` has, by kind, what was found of each model by its name. */
export function writePage(file, kinds, versions) {
  const lines = headOf(kinds, versions);
  for (const [kind, models] of Object.entries(kinds)) {
    lines.push('', `## ${kind}`, '', row(COLUMNS), row(COLUMNS.map(() => '---')));
    for (const [name, found] of Object.entries(models)) lines.push(row(cellsOf(name, found)));
  }
  writeFileSync(file, `${lines.join('\n')}\n`);
}
