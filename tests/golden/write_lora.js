// Writes folders of adapters that were trained here, and the logits that they give, for check_lora.py.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { batchOf, configOf, folderOf, prefixOf, runs, sessionOf } from './lora_runs.js';

const folder = process.argv[2];
if (!folder) throw new Error('node tests/golden/write_lora.js FOLDER');
for (const name of Object.keys(runs)) {
  const session = await sessionOf(name, configOf(folderOf(name, 'first')));
  const { inputs, labels } = batchOf(name);
  for (let i = 0; i < 5; i++) await session.step({ ...inputs, labels });
  const { logits } = await session.predict(inputs, ['logits']);
  mkdirSync(join(folder, name), { recursive: true });
  const files = await session.exportAdapter({ prefix: prefixOf(name) });
  for (const [file, bytes] of Object.entries(files)) writeFileSync(join(folder, name, file), bytes);
  writeFileSync(join(folder, name, 'logits.json'), JSON.stringify([...logits.data]));
  await session.release();
}
