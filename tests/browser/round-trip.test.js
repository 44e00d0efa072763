// Our artifacts in headless Chromium, run by onnxruntime-web 1.19.2 and here: the same losses, and each continues what
// the other has learned.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { FOLDERS, openSite } from './site.js';

const TOLERANCE = 1e-4;

let site;
before(async () => {
  site = await openSite();
});
after(() => site?.close());

const worst = (pairs) => Math.max(...pairs.map(([ours, theirs]) => Math.abs(ours - theirs) / Math.abs(theirs)));

/** The rate is what onnxruntime-web always has. */
const ADAMW = { optimizer: { type: 'adamw', lr: 0.001, weightDecay: 0.01 } };
/**
 * AdamW's usual 1e-8 turns first moments that are rounding alone into whole steps: two engines that add in other
 * orders part by 1e-4.
 */
const STEADY = { optimizer: { ...ADAMW.optimizer, eps: 1e-6 } };
const CLIPPED = { optimizer: { type: 'adamw', lr: 0.001, clipGradNorm: 0.1 } };
const SGD = { optimizer: { type: 'sgd', lr: 0.001 } };

const recipeOf = (name) => JSON.parse(readFileSync(path.join(FOLDERS.golden, `${name}.json`), 'utf8'));
const BATCH_NORM = { ...recipeOf('cnn_bn'), model: 'batch-norm' };

/** Name, recipe, and what is changed in its artifacts. */
const NETWORKS = [
  ['MLP', recipeOf('mlp_clip'), ADAMW],
  ['MLP, gradients clipped', recipeOf('mlp_clip'), CLIPPED],
  ['MLP, part of it frozen', recipeOf('mlp_frozen'), ADAMW],
  ['MLP, SGD', recipeOf('mlp_clip'), SGD],
  ['MLP, SGD, gradients clipped', recipeOf('mlp_clip'), { optimizer: { ...SGD.optimizer, clipGradNorm: 0.1 } }],
  ['MLP, mean squared error', recipeOf('regression_mse'), ADAMW],
  ['MLP, BCE with logits', recipeOf('regression_bce'), ADAMW],
  ['MLP, L1', recipeOf('regression_l1'), ADAMW],
  ['MLP, Huber', recipeOf('regression_huber'), ADAMW],
  ['CNN with BatchNorm', BATCH_NORM, ADAMW],
  ['CNN with BatchNorm, part of it frozen', BATCH_NORM, { ...ADAMW, frozen: ['conv1.*', 'bn1.*'] }],
  ['CNN with AveragePool', recipeOf('cnn_bn'), ADAMW],
  ['LeNet-like CNN', recipeOf('w2'), STEADY],
  ['1-D CNN', recipeOf('conv1d'), ADAMW],
  ['embedding', recipeOf('tokens'), ADAMW],
  ['transformer', recipeOf('transformer'), ADAMW],
  ['transformer of opset 13, its normalizations and Gelu in pieces', recipeOf('transformer_13'), ADAMW],
  ['Linear with LoRA branch', recipeOf('lora_linear'), ADAMW],
];

for (const [title, recipe, changes] of NETWORKS) {
  test(`${title}: our artifacts train alike in both, and each continues the other`, { timeout: 120_000 }, async (t) => {
    const { warnings, ...runs } = await site.inPage('roundTrip', recipe, changes);
    const differences = Object.entries(runs).map(([run, pairs]) => /** @type {const} */ ([run, worst(pairs)]));
    const told = differences.map(([run, d]) => `${run} ${d.toExponential(1)}`).join(', ');
    t.diagnostic(`${title}: largest relative differences of losses: ${told}`);
    assert.deepEqual(warnings, []);
    const { trained, ...continued } = runs;
    assert.notEqual(trained[0][0], trained.at(-1)[0], 'nothing was learned');
    for (const pairs of Object.values(continued))
      assert.notEqual(pairs[0][0], trained[0][0], 'nothing was handed over');
    for (const [run, difference] of differences)
      assert.ok(difference <= TOLERANCE, `${run}: ${JSON.stringify(runs[run])}`);
  });
}
