/**
 * Types of results, checked by the compiler alone: flat fetches give a plain record, a structure of names the same
 * structure of tensors.
 */

import { Tensor, type Dataset, type Feeds, type InferenceSession, type TrainingSession } from '../../../js/types.js';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Result<P> = P extends Promise<infer R> ? R : never;
const holds = <T extends true>(_: T) => {};

export function check(inference: InferenceSession, training: TrainingSession, tensor: Tensor, names: string[]) {
  const deep = { a: { b: [[tensor]] } };
  const feeds: Feeds = { x: tensor, absent: null, past: [{ key: tensor, value: null }], deep };
  const all = inference.run(feeds);
  holds<Same<Result<typeof all>, Record<string, Tensor>>>(true);
  const listed = training.runTrainStep(feeds, ['logits', 'present.0.key']);
  holds<Same<Result<typeof listed>, Record<string, Tensor>>>(true);
  const read = training.predict(feeds, names);
  holds<Same<Result<typeof read>, Record<string, Tensor>>>(true);
  const filled = training.runEvalStep(feeds, { logits: null }, { tag: 'filled' });
  holds<Same<Result<typeof filled>, Record<string, Tensor>>>(true);
  const nested = inference.run(feeds, { logits: 'logits', present: [{ key: 'present.0.key' }] });
  const { logits, present: [{ key }] } = {} as Result<typeof nested>;
  holds<Same<typeof logits, Tensor>>(true);
  holds<Same<typeof key, Tensor>>(true);
  const sequences = inference.run<Tensor[]>(feeds);
  holds<Same<Result<typeof sequences>, Record<string, Tensor[]>>>(true);
  const texts = inference.run<Tensor<string[]>>({ list: [tensor, new Tensor('string', ['a'])], none: null }, ['texts']);
  holds<Same<Result<typeof texts>['texts']['data'], string[]>>(true);
  // @ts-expect-error a number is no output
  inference.run<number>(feeds);
  const data: Dataset = { inputs: { past: [{ key: tensor }] }, labels: { labels: tensor } };
  inference.run({ past: [{ key: 1 }], greedy: true });
  // @ts-expect-error a function is no tensor
  inference.run({ past: [{ key: () => 1 }] });
  // @ts-expect-error a name is a string
  inference.run(feeds, { present: [{ key: 1 }] });
  return [data, inference.run(feeds, [['a'], { b: 'c' }])];
}
