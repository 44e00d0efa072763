// Takes small models of the zoo, each of another kind, into kept.br, which tests/js/models/exporters.test.js holds to.
//
//   npm run models -- NAME... && node tests/models/keep.js

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { root } from '../../tools/programs.mjs';

const KEPT = [
  'graph-network',
  'mixture-of-experts',
  'keras-autoencoder',
  'sensors-cnn-and-lstm',
  'keras-residual-blocks',
  'keras-table-with-an-embedding',
  'keras-transformer-fixed-shapes',
  'scaler-logisticregression-of-two-classes',
  'scaler-mlpregressor',
  'randomforestclassifier',
  'lightgbm-regressor',
  'table-with-an-embedding-int8-dynamic',
];

function read(slug) {
  const at = (name) => join(root, 'build/models', slug, name);
  const note = JSON.parse(readFileSync(at('case.json'), 'utf8'));
  return { ...note, model: readFileSync(at('model.onnx')).toString('base64') };
}

const text = JSON.stringify(KEPT.map(read));
const packed = brotliCompressSync(text, {
  params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
writeFileSync(join(root, 'tests/models/kept.br'), packed);
process.stdout.write(`${KEPT.length} models, ${packed.length} bytes\n`);
