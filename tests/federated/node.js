/** A node in a process of its own: node.js FOLDER INDEX URL; it prints its events, a line of JSON each. */

import { join } from 'node:path';
import { SuperNode } from '../../js/federated/index.js';
import { dataOf, sessionIn } from './model.js';

const [folder, index, url] = process.argv.slice(2);
const print = (event) => console.log(JSON.stringify(event));

const session = await sessionIn(folder);
const node = await SuperNode.connect(url, {
  session,
  data: dataOf(Number(index)),
  pollMs: 200,
  heartbeat: 10,
  identity: join(folder, `node-${index}.pem`),
  onRound: ({ type, round, metrics, ms, bytes }) => print({ type, round, metrics, ms, bytes }),
  onProgress: ({ round, step }) => print({ type: 'step', round, step }),
  onError: ({ error }) => print({ type: 'error', message: error.message }),
});
print({ type: 'joined', id: node.id });
process.on('SIGTERM', async () => {
  await node.leave();
  await session.release();
  process.exit();
});
