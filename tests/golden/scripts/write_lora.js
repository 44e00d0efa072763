// Writes folders of adapters that were trained here, and the logits that they give, for check_lora.py; and, where
// nothing trains whole, for check_onnx_adapter.py.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { batchOf, configOf, folderOf, prefixOf, runs, sessionOf } from '../../support/lora-runs.js';

const folder = process.argv[2];
if (!folder) throw new Error('node tests/golden/scripts/write_lora.js FOLDER');
for (const name of Object.keys(runs)) {
  const session = await sessionOf(name, configOf(folderOf(name, 'first')));
  const { inputs, labels } = batchOf(name);
  for (let i = 0; i < 5; i++) await session.step({ ...inputs, labels });
  const { logits } = await session.predict(inputs, ['logits']);
  mkdirSync(join(folder, name), { recursive: true });
  const files = await session.exportAdapter({ prefix: prefixOf(name) });
  for (const [file, bytes] of Object.entries(files)) writeFileSync(join(folder, name, file), bytes);
  writeFileSync(join(folder, name, 'logits.json'), JSON.stringify([...logits.data]));
  if (!['bert', 'pictures'].includes(name)) {
    const more = await session.exportAdapter({ format: 'onnx' });
    const feeds = Object.entries(inputs).map(([input, { type, data, dims }]) => [
      input,
      { type, data: [...data].map(Number), dims },
    ]);
    writeFileSync(join(folder, name, 'inputs.onnx'), await session.exportModel({ adapters: 'inputs' }));
    writeFileSync(join(folder, name, 'feeds.json'), JSON.stringify(Object.fromEntries(feeds)));
    for (const [file, bytes] of Object.entries(more)) writeFileSync(join(folder, name, file), bytes);
  }
  await session.release();
}
