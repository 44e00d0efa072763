// docs/models.md, from what check.js found of each model.

import { writeFileSync } from 'node:fs';

/** Relative, of outputs and of losses; an output that a step has changed has gone through as many roundings more. */
export const CLOSE = 1e-4;

const COLUMNS = ['model', 'exporter', 'opset', 'forward', '5 steps', 'export', 'batch', 'forward, ms', 'step, ms'];
const isClose = (number) => number !== undefined && number !== null && number < CLOSE;
const power = (number) => (number === undefined || number === null ? '–' : number.toExponential(0));
const time = (ms) => (ms === undefined ? '–' : ms < 10 ? ms.toFixed(2) : ms.toFixed(0));

export const isWhole = ({ forward, loss, export: exported }) => [forward, loss, exported].every(isClose);

function batchOf({ warnings = [] }) {
  if (warnings.some((text) => text.includes('fixed batch, which is free now'))) return 'freed';
  return warnings.some((text) => text.includes('with a fixed batch')) ? 'fixed' : 'free';
}

function cellsOf(name, found) {
  const { forward, loss, export: exported, forwardMs, peerMs, stepMs, exporter, opset, reason } = found;
  if (reason && forward === undefined) return [name, exporter, '', '', '', '', '', '', '', reason];
  return [
    name,
    exporter,
    opset?.['ai.onnx'],
    power(forward),
    power(loss),
    power(exported),
    batchOf(found),
    `${time(forwardMs)} / ${time(peerMs)}`,
    time(stepMs),
    isWhole(found) ? '' : reason,
  ];
}

const row = (cells) => `| ${cells.join(' | ')} |`;

/** `kinds` has, by kind, what was found of each model by its name. */
export function writePage(file, kinds, versions) {
  const all = Object.values(kinds).flatMap((models) => Object.values(models));
  const lines = [
    "# Models as today's exporters write them",
    '',
    `Made by \`npm run models\` (tests/models/) with ${versions}.`,
    `${all.length} models with random weights, exported as`,
    `their frameworks do by default, or as the name says; ${all.filter(isWhole).length} pass whole, the others say why not.`,
    '',
    "Differences are relative to the largest number: of the output beside the framework's, of the losses of five steps",
    `(AdamW, or SGD) beside PyTorch's own, of the exported model in onnxruntime-web 1.30 beside the session it comes from.`,
    `${CLOSE} passes. Batch: the exporter fixes it at that of its example; *freed* is what \`generateArtifacts\` made of it.`,
    "Times are the shortest of some runs on one thread in Node: a forward pass beside onnxruntime-web 1.30's, and a step.",
  ];
  for (const [kind, models] of Object.entries(kinds)) {
    lines.push('', `## ${kind}`, row([...COLUMNS, 'why not']), row([...COLUMNS, ''].map(() => '---')));
    for (const [name, found] of Object.entries(models)) lines.push(row(cellsOf(name, found)));
  }
  writeFileSync(file, `${lines.join('\n')}\n`);
}
