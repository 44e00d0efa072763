// Writes the networks of layers.json into a folder, for check_layers.py:
//
//   node tests/golden/scripts/write_layers.js FOLDER

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { golden, networkOf } from '../../support/layers.js';

for (const [name, spec] of Object.entries(golden.cases))
  writeFileSync(path.join(process.argv[2], `${name}.onnx`), await networkOf(spec));
