/** Tensors: types of numbers, the class, and how they are fed, fetched and returned. */

import type { AudioOptions, AudioSource, ImageOptions, ImageSource } from './media.js';

/** The types of tensors of numbers. */
export type NumberType =
  | 'float32'
  | 'float64'
  | 'float16'
  | 'bfloat16'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'bool'
  | 'int4'
  | 'uint4'
  | 'int2'
  | 'uint2'
  | 'float8e4m3fn'
  | 'float8e4m3fnuz'
  | 'float8e5m2'
  | 'float8e5m2fnuz'
  | 'float8e8m0'
  | 'float4e2m1';

/** The types of tensors. */
export type DataType = NumberType | 'string';

/** The arrays that hold the values of a tensor. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/**
 * The class that holds the data of each type, as in onnxruntime-common; floats of 16 bits and fewer are held as bits.
 * Elements of 4 and 2 bits have a byte each, where onnxruntime-common packs them; of int4 and int2 that is the byte of
 * an int8.
 */
export interface DataTypeMap {
  float32: Float32Array;
  float64: Float64Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
  int8: Int8Array;
  uint8: Uint8Array;
  int16: Int16Array;
  uint16: Uint16Array;
  int32: Int32Array;
  uint32: Uint32Array;
  int64: BigInt64Array;
  uint64: BigUint64Array;
  bool: Uint8Array;
  int4: Uint8Array;
  uint4: Uint8Array;
  int2: Uint8Array;
  uint2: Uint8Array;
  float8e4m3fn: Uint8Array;
  float8e4m3fnuz: Uint8Array;
  float8e5m2: Uint8Array;
  float8e5m2fnuz: Uint8Array;
  float8e8m0: Uint8Array;
  float4e2m1: Uint8Array;
  string: string[];
}

/** The class of a tensor's data, given either a type (`'float32'`) or the class itself (`Float32Array`). */
export type DataOf<T> = T extends DataType ? DataTypeMap[T] : T;

/** The type of a tensor's elements; given a class of data, every type that may use it. */
export type TypeOf<T> = T extends DataType
  ? T
  : { [K in DataType]: T extends DataTypeMap[K] ? K : DataTypeMap[K] extends T ? K : never }[DataType];

/**
 * Typed data with a shape; the fields and data classes of onnxruntime-common's Tensor: int64 is a BigInt64Array, bool a
 * Uint8Array, float16 and bfloat16 a Uint16Array of bits, smaller floats a Uint8Array of them. A typed array is kept,
 * not copied; an array of numbers is converted, and refused where a value does not fit the type. Strings are held in an
 * array and may contain no zero characters and no lone surrogates; only an `InferenceSession` accepts them. `dims`
 * defaults to `[data.length]`.
 *
 * `Tensor<'float32'>` and `Tensor<Float32Array>` are the same; `Tensor` alone is a tensor of numbers of any type.
 */
export type Tensor<T extends DataType | TypedArray | string[] = NumberType> = TypedTensor<TypeOf<T>, DataOf<T>>;

/** Makes tensors, from values, pictures and sounds. */
export const Tensor: TensorConstructor;

/** A tensor of a typed array, which keeps its type: `tensor(Uint8Array.of(1, 2))` is uint8. */
export function tensor<D extends TypedArray>(data: D): TypedTensor<ClassType<D>, D>;
/**
 * A tensor of nested arrays, as PyTorch's `torch.tensor(data, dtype)`; the dims are read off them:
 *
 *     const points = tensor([[1, 2], [3, 4], [5, 6]]); // float32, dims [3, 2]
 *     const labels = tensor([0, 1, 1], 'int64'); // dims [3]
 *     const rate = tensor(0.5); // dims []
 *
 * Without `dtype`, numbers are float32, booleans bool, bigints int64 and strings string; the first value decides. A
 * typed array keeps its type, and may be a row. The data is copied. Refused with `invalid-feed` and the path of the
 * index (`data[1][0]`): rows of different lengths, holes, an empty array, values of several types.
 */
export function tensor(data: Nested<number | Exclude<TypedArray, BigArray>>): Tensor<'float32'>;
/** A tensor of nested arrays of bigints, which are int64: `tensor([1n, 2n])`. */
export function tensor(data: Nested<bigint | BigArray>): Tensor<'int64'>;
/** A tensor of nested arrays of booleans: `tensor([true, false])`. */
export function tensor(data: Nested<boolean>): Tensor<'bool'>;
/** A tensor of nested arrays of strings: `tensor(['a', 'b'])`. */
export function tensor(data: Nested<string>): Tensor<'string'>;
/** A tensor of nested arrays and of the type that is given: `tensor([0, 1, 1], 'int64')`. */
export function tensor<T extends DataType>(
  data: Nested<number | bigint | boolean | string | TypedArray>,
  dtype: T,
): Tensor<T>;

/** A value, or arrays of values to any depth. */
export type Nested<T> = T | readonly Nested<T>[];

/** The typed arrays of 64-bit integers. */
type BigArray = BigInt64Array | BigUint64Array;

/** A tensor whose elements have one type. */
export interface TypedTensor<Type extends DataType, Data> extends TensorLike {
  /** The type of the elements. */
  readonly type: Type;
  /** The elements in C order, the last dim fastest. */
  readonly data: Data;
  /** The size of each dim; `[]` for a scalar. */
  readonly dims: readonly number[];
  /** The number of elements. */
  readonly size: number;
}

/** The same as `NoInfer`, which TypeScript has from 5.4 on. */
type NotInferred<T> = [T][T extends unknown ? 0 : never];

/** Values of a tensor as a plain array. */
type Values = readonly number[] | readonly bigint[] | readonly boolean[] | readonly string[];

/** The type of `Tensor` as a class: its constructor and static methods. */
export interface TensorConstructor {
  new <T extends DataType>(type: T, data: DataTypeMap[T] | Values, dims?: readonly number[]): Tensor<T>;
  new <D extends TypedArray | string[]>(
    type: TypeOf<NotInferred<D>>,
    data: D | Values,
    dims?: readonly number[],
  ): Tensor<D>;
  /**
   * The same as in ONNX Runtime: the class of the data tells the type (a Uint8Array is uint8, a Uint16Array uint16).
   */
  new <D extends TypedArray>(data: D, dims?: readonly number[]): TypedTensor<ClassType<D>, D>;
  new (data: readonly boolean[], dims?: readonly number[]): Tensor<'bool'>;
  new (data: readonly string[], dims?: readonly number[]): Tensor<'string'>;
  readonly prototype: Tensor;
  /**
   * A tensor of a picture, (1, channels, height, width), or of an array of them as one batch. With `size`, `mean` and
   * `std` it has the numbers of torchvision's Resize, CenterCrop, ToTensor and Normalize on Pillow's pixels, to the bit
   * and in every browser:
   *
   *     const [mean, std] = [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]];
   *     const input = await Tensor.fromImage(photo, { size: 224, mean, std });
   *
   * It works in a page, in a worker, and with `{ data, width, height }` in Node. The source is read when the promise is
   * settled at the latest: do not close or redraw it before. Errors: `invalid-argument` (options, or what is no
   * picture), `source-unreadable` (a file that the browser cannot decode, a picture of another site that does not allow
   * its pixels to be read, a video without a frame).
   */
  fromImage<T extends 'float32' | 'uint8' = 'float32'>(
    source: ImageSource | readonly ImageSource[],
    options?: ImageOptions<T>,
  ): Promise<Tensor<T>>;
  /**
   * A tensor of a sound, or of an array of them as one batch: (sounds, samples), with `frames` (sounds, frames,
   * length), with `mel` (sounds, nMels, frames). Channels are mixed to one, their mean.
   *
   *     const mel = { nMels: 40, log: true };
   *     const input = await Tensor.fromAudio(recording, { sampleRate: 16000, length: 16000, mel });
   *
   * Samples come to another rate as by torchaudio's `resample` (a sinc of six zero crossings in a Hann window).
   * Errors: `invalid-argument` (options, or what is no sound), `source-unreadable` (a file that cannot be decoded
   * here).
   */
  fromAudio(source: AudioSource | readonly AudioSource[], options?: AudioOptions): Promise<Tensor<'float32'>>;
}

/** The type of a tensor by the class of its data. */
type ClassType<D> = Exclude<
  TypeOf<D>,
  'bool' | 'float16' | 'bfloat16' | `${'int' | 'uint'}${2 | 4}` | `float${4 | 8}e${string}`
>;

/** The objects that are accepted wherever a Tensor is, onnxruntime's own Tensor included. */
export interface TensorLike {
  /** The type of the elements, as `float32`. */
  readonly type: string;
  /** The elements in C order: a typed array, or an array of strings. */
  readonly data: unknown;
  /** The size of each dim; `[]` for a scalar. */
  readonly dims: readonly number[];
}

/**
 * Tensors by input name. The order of the keys does not matter, and null stands for an absent optional input. The
 * arrays are copied, never transferred. Nested objects and arrays are read as flat names: `{ past: [{ key }] }` feeds
 * the input `past.0.key`. An input that is a sequence takes an array of tensors, `[]` for an empty one. An input that
 * is a map takes a Map: its keys are strings, or bigints for int64, its values numbers, bigints for int64, or strings.
 * An input without dims takes a plain value: `{ temperature: 0.7, steps: 3, greedy: true }`.
 */
export type Feeds = Readonly<Record<string, Feed>>;

/** A value that is fed to an input. */
export type Feed =
  | TensorLike
  | number
  | bigint
  | boolean
  | string
  | null
  | readonly Feed[]
  | ReadonlyMap<string | bigint, number | bigint | string>
  | { readonly [key: string]: Feed };

/**
 * The outputs that are wanted; the others are not computed. Given as an object, a tensor of the output's type and dims
 * is filled and returned.
 */
export type Fetches = readonly string[] | Readonly<Record<string, TensorLike | null>>;

/**
 * Output names in a structure of your own, such as `{ present: [{ key: 'present.0.key' }] }`; the tensors are returned
 * in the same structure.
 */
export type FetchStructure = readonly FetchName[] | { readonly [key: string]: FetchName };

/** A name of an output, or a structure of them. */
export type FetchName = string | FetchStructure;

/** The tensors of the outputs that were asked for. */
export type Fetched<F> = F extends string ? Tensor : { -readonly [K in keyof F]: Fetched<F[K]> };

/**
 * An output: a tensor, a sequence of tensors, null for an empty optional, or, of ZipMap, a map from class
 * labels to scores for each example. Labels that are int64 are bigints.
 */
export type OutputValue =
  | Tensor
  | Tensor<'string'>
  | Tensor[]
  | Tensor<'string'>[]
  | Map<string, number>[]
  | Map<bigint, number>[]
  | null;
