/**
 * Small models as today's PyTorch, Keras, scikit-learn, LightGBM and ONNX Runtime's quantizer write them: their
 * answers, and the losses of five steps, are those that the frameworks gave (tests/models/keep.js).
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { forward, train } from '../../models/compare.js';

const KEPT = JSON.parse(
  brotliDecompressSync(readFileSync(new URL('../../models/kept.br', import.meta.url))).toString('utf8'),
);

for (const note of KEPT)
  test(`${note.name} answers and learns as its framework`, async () => {
    const model = new Uint8Array(Buffer.from(note.model, 'base64'));
    const within = note.within ?? 1e-4;
    const { found: answered } = await forward(model, note);
    assert.ok(answered.forward < within, `its answers are apart by ${answered.forward}`);
    if (note.untrained) return;
    const { found } = await train({ model }, note);
    assert.ok(found.falls || found.loss < within, `its losses ${found.losses}, wanted ${note.losses}`);
    const isFolded = found.warnings.some((text) => text.includes('folded BatchNormalization'));
    assert.equal(isFolded, note.name.startsWith('Sensors'), `${found.warnings}`);
    if (note.after) assert.ok(found.after < within, `after five steps its answers are apart by ${found.after}`);
  });
