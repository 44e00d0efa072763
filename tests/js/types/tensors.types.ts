/** Types of tensors and of bytes, checked by the compiler alone: the type of a tensor tells the class of its data. */

import type { DataType, NumberType, TrainingSession } from '../../../js/types.js';
import { CheckpointStore, generateArtifacts, Tensor, tensor } from '../../../js/types.js';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(_: T) => {};

/** Tensors of nested arrays. */
export function nested(rows: number[][], name: string) {
  holds<Same<Tensor<'int64'>, ReturnType<typeof classes>>>(true);
  const flags = tensor([[true], [false]]);
  holds<Same<typeof flags, Tensor<'bool'>>>(true);
  const words = tensor([name, 'b']);
  holds<Same<typeof words, Tensor<'string'>>>(true);
  const whole = tensor(new Int32Array(2));
  const same: Tensor<'int32'> = whole;
  const rowed = tensor([Float64Array.of(1), [2]]);
  holds<Same<typeof rowed, Tensor<'float32'>>>(true);
  // @ts-expect-error an object is no value
  tensor([{}]);
  // @ts-expect-error there is no such type
  tensor([1], 'float');
  void same;
  return tensor([rows, [Float32Array.of(1)]]);
}
const classes = () => tensor([0, 1], 'int64');

export async function check(type: DataType, number: NumberType, session: TrainingSession) {
  const floats = new Tensor('float32', [1, 2, 3], [3]);
  holds<Same<typeof floats, Tensor<'float32'>>>(true);
  holds<Same<typeof floats.data, Float32Array>>(true);
  holds<Same<typeof floats.type, 'float32'>>(true);
  const wide = new Tensor('int64', new BigInt64Array(2));
  holds<Same<typeof wide.data, BigInt64Array>>(true);
  const texts = new Tensor('string', ['a', 'b']);
  holds<Same<typeof texts.data, string[]>>(true);
  const classed = new Tensor(new Uint8Array(4), [2, 2]);
  const bytes: Tensor<'uint8'> = classed;
  const any = new Tensor(number, [0]);
  holds<Same<typeof any, Tensor>>(true);
  holds<Same<Tensor['data'], Tensor<NumberType>['data']>>(true);
  const open: Tensor<DataType> = new Tensor(type, ['a']);
  const unknown: unknown = open;
  // code written for the parameter that named the class
  const older: Tensor<Float32Array> = new Tensor('float32', new Float32Array(3), [3]);
  const newer: Tensor<'float32'> = older;
  const general: Tensor = newer;
  const half: Tensor<Uint16Array> = new Tensor('float16', new Uint16Array(1));
  const strings: Tensor<string[]> = texts;
  const same: Tensor<'string'> = strings;
  const said = new Tensor<Float32Array>('float32', [1]);
  const flags = new Tensor([true, false]).data.length;
  holds<Same<ReturnType<typeof nested>, Tensor<'float32'>>>(true);
  // @ts-expect-error floats are no integers
  const wrong: Tensor<'int32'> = floats;
  // @ts-expect-error the data of float32 are a Float32Array
  new Tensor('float32', new Float64Array(1));
  // @ts-expect-error there is no such type
  new Tensor('float33', [1]);
  const { logits } = await session.predict<Tensor<'float32'>>({ x: floats });
  holds<Same<typeof logits.data, Float32Array>>(true);
  const all: Float32Array = (await session.getContiguousParameters()).data;
  const { trainModel } = await generateArtifacts('model.onnx');
  const stored = await (await CheckpointStore.open()).load('mine');
  const files = new Blob([await session.exportModel(), await session.saveCheckpoint(), trainModel]);
  const copy = new Blob(stored ? [stored.bytes] : []);
  if (unknown instanceof Tensor) holds<Same<typeof unknown, Tensor>>(true);
  return [bytes, texts, older, half, same, said, flags, wrong, all, files, copy, general];
}
