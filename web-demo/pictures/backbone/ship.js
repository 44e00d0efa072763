// Writes the backbone as the package ships it, from the last checkpoint of train.js.
//
//   node web-demo/pictures/backbone/ship.js     writes models/pictures.onnx

import { writeFileSync } from 'node:fs';
import { toShip } from './network.js';
import { open } from './train.js';

const TO = new URL('../../../models/pictures.onnx', import.meta.url);

const { session, step, glyphs } = await open();
const values = new Map();
for (const { name } of session.parameters) values.set(name, (await session.getParameter(name)).data);
await session.release();
const bytes = toShip((name) => values.get(name));
writeFileSync(TO, bytes);
console.log(`${bytes.length} bytes, after ${step} steps on ${glyphs.length} classes`);
