// Saves under one name until it is killed or fails; says so of each save when it is acknowledged: its number, and its
// version.
// node writer.js DIRECTORY NAME WHO BYTES KEEP
import { writeSync } from 'node:fs';
import { CheckpointStore } from '../../js/storage/checkpoint-store.js';

const [directory, name, who, size, keep] = process.argv.slice(2);
const store = await CheckpointStore.open({ directory, keep: Number(keep) });
try {
  for (let n = 1; ; n++) {
    const version = await store.save(name, new Uint8Array(Number(size)).fill(Number(who) + n), { who: Number(who), n });
    writeSync(1, `${JSON.stringify({ who: Number(who), n, version })}\n`);
  }
} catch (error) {
  writeSync(1, `${JSON.stringify({ who: Number(who), code: error.code, message: error.message })}\n`);
}
