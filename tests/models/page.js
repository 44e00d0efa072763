// docs/models.md, from what check.js found of each model.

import { writeFileSync } from 'node:fs';

/** Relative, of outputs and of losses; an output that a step has changed has gone through as many roundings more. */
export const CLOSE = 1e-4;

const COLUMNS = ['model', 'exporter', 'opset', 'forward', '5 steps', 'export', 'batch', 'forward, ms', 'step, ms'];
const isNear = (number, within = CLOSE) => number !== undefined && number !== null && number < within;
const power = (number) => (number === undefined || number === null ? '–' : number.toExponential(0));
const time = (ms) => (ms === undefined ? '–' : ms < 10 ? ms.toFixed(2) : ms.toFixed(0));

/**
 * Of a loss without a yardstick it is told whether it falls; of a model that has nothing to train, its answers alone.
 */
export function isWhole({ forward, loss, falls, export: exported, within, untrained }) {
  if (untrained) return isNear(forward, within);
  return isNear(forward, within) && (falls || isNear(loss, within)) && isNear(exported, within);
}

function batchOf({ warnings = [] }) {
  if (warnings.some((text) => text.includes('fixed batch, which is free now'))) return 'freed';
  return warnings.some((text) => text.includes('with a fixed batch')) ? 'fixed' : 'free';
}

function cellsOf(name, found) {
  const { forward, loss, falls, export: exported, forwardMs, peerMs, stepMs, exporter, opset, reason } = found;
  if (reason && forward === undefined) return [name, exporter, '', '', '', '', '', '', '', reason];
  return [
    name,
    exporter,
    opset?.['ai.onnx'],
    power(forward),
    falls === undefined ? power(loss) : falls ? 'falls' : 'does not fall',
    power(exported),
    found.warnings ? batchOf(found) : '',
    `${time(forwardMs)} / ${time(peerMs)}`,
    time(stepMs),
    isWhole(found) ? (found.untrained ?? '') : reason,
  ];
}

const row = (cells) => `| ${cells.join(' | ')} |`;

const isRun = (found) => isWhole(found) && found.untrained;

function headOf(all, versions) {
  const whole = all.filter(isWhole).length;
  const run = all.filter(isRun).length;
  return [
    "# Models as today's exporters write them",
    '',
    `Made by \`npm run models\` (tests/models/) with ${versions}.`,
    `${all.length} models with random weights, exported as their frameworks do by default, or as the name says.`,
    `${whole} pass whole: ${whole - run} run, train and are exported; ${run} run and have nothing that trains:`,
    `trees, neighbours, weights that are all int8 or float16. The other ${all.length - whole} say why not.`,
    '',
    'Differences are relative to the largest number: of the output beside that of the framework, of the losses of five',
    'steps (AdamW, or SGD) beside those of PyTorch itself, of the exported model in onnxruntime-web 1.30 beside the',
    `session it comes from. ${CLOSE} passes; of int8 models 0.05, of float16 0.01, beside onnxruntime, and that the`,
    'loss falls. Batch: the exporter fixes it at that of its example; *freed* is what `generateArtifacts` made of it.',
    'Times are the shortest of some runs on one thread in Node: a forward pass beside that of onnxruntime-web 1.30,',
    'and a step.',
  ];
}

/** `kinds` has, by kind, what was found of each model by its name. */
export function writePage(file, kinds, versions) {
  const lines = headOf(
    Object.values(kinds).flatMap((models) => Object.values(models)),
    versions,
  );
  for (const [kind, models] of Object.entries(kinds)) {
    lines.push('', `## ${kind}`, row([...COLUMNS, 'why not']), row([...COLUMNS, ''].map(() => '---')));
    for (const [name, found] of Object.entries(models)) lines.push(row(cellsOf(name, found)));
  }
  writeFileSync(file, `${lines.join('\n')}\n`);
}
