/** A user's program that needs neither a page nor Node. */

import type { Dataset, InferenceSession } from 'trainlet';
import { CheckpointStore, generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(_: T) => {};

export async function train(data: Dataset) {
  const network = await sequential([input([13]), dense(64, { activation: 'relu' }), dense(1)], { seed: 7 });
  const session = await TrainingSession.create(await generateArtifacts(network, { loss: 'mse' }));
  const { epochs } = await session.fit(data, { metrics: ['r2'], validation: 0.2 });
  holds<Same<typeof epochs[0]['metrics']['val_r2'], number>>(true);
  const scores = await session.evaluate(data, { metrics: ['r2', 'confusion-matrix'] });
  holds<Same<typeof scores, { loss: number; r2: number; 'confusion-matrix': number[][] }>>(true);
  // @ts-expect-error a misspelt metric
  await session.evaluate(data, { metrics: ['r3'] });
  // @ts-expect-error a misspelt option
  await session.fit(data, { epoch: 1 });
  const bytes: Uint8Array = await session.saveCheckpoint();
  // @ts-expect-error bytes are no string
  const text: string = await session.exportModel();
  await session.release();
  return [bytes, text, (await (await CheckpointStore.open()).load('mine'))?.bytes.length];
}

export async function run(session: InferenceSession) {
  const x = new Tensor('float32', [1, 2, 3], [3]);
  holds<Same<typeof x.data, Float32Array>>(true);
  // @ts-expect-error the data of float32 are a Float32Array
  new Tensor('float32', new Float64Array(1));
  // @ts-expect-error floats are no integers
  new Tensor<Float32Array>('int32', [1]);
  const { present: [{ key }] } = await session.run({ x }, { present: [{ key: 'present.0.key' }] });
  return key.dims;
}
