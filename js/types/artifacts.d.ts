/** Artifacts: from an inference model to what a TrainingSession loads. */

import type { LoraOptions } from './adapters.js';
import type { EngineOptions, Source } from './engine.js';
import type { LossOptions, LossType, OptimizerOptions, OptimizerType, WeightedLoss } from './loss-and-optimizer.js';
import type { Bytes } from './internal/platform.js';
import type { MemoryPlan, ParameterInfo } from './inspection.js';

/** A float initializer of a model, before anything is made of it. */
export interface ModelParameter extends ParameterInfo {
  /** The number of elements. */
  readonly size: number;
  /**
   * Its possible names in PyTorch's state_dict, and so in `weights`: its own name; that of the parameter of which the
   * exporter has made it; by the modules that read it (`lm_head.weight`).
   */
  readonly names: readonly string[];
  /** True if a product reads it as (in, out), where torch.nn.Linear has (out, in). */
  readonly transposed: boolean;
  /**
   * The nodes that read it, in the model's order, 64 at most; where nodes only prepare it (a Transpose, the norm of a
   * weight), those that read their result. `weight`, `bias` and `scale` are what a layer learns, `statistic` is a
   * running mean or variance, `operand` everything else: a mask, a table of constants, a mean of the inputs.
   */
  readonly readers: readonly {
    /** The name of the node. */
    readonly node: string;
    /** Its operator, as `Conv`. */
    readonly op: string;
    /** The part that the parameter has there. */
    readonly as: 'weight' | 'bias' | 'scale' | 'statistic' | 'operand';
  }[];
  /** True if `generateArtifacts` trains it without `requiresGrad` and `frozen`, if the loss depends on it. */
  readonly trainable: boolean;
  /** Why it does not train, in words for people. */
  readonly reason?: string;
}

/**
 * The four artifacts of ONNX Runtime, as bytes. The label input has the name that it has there: `labels` for
 * cross-entropy (class indices, int64), `target` for the losses of numbers (mse, bce-with-logits …).
 */
export interface Artifacts {
  /** The training graph: the model with its loss and the gradients, an ONNX file. */
  readonly trainModel: Bytes;
  /** The graph of `evaluate` and `predict`: the model with its loss, in eval mode, an ONNX file. */
  readonly evalModel: Bytes;
  /** The optimizer and its options, an ONNX file. */
  readonly optimizerModel: Bytes;
  /** The parameters, and the optimizer state where there is one: a checkpoint. */
  readonly checkpointState: Bytes;
  /** Warnings about them, one sentence each. */
  readonly warnings: readonly string[];
}

/**
 * The model's last layer with a weight is cut off, with all that comes after it, and a linear layer takes its place,
 * whose output `scores` is the only one. Features (N, C, H, W) of a convolution are averaged over H and W; of others,
 * as (N, tokens, features), the last axis is taken.
 * ```js
 * const artifacts = await generateArtifacts(model, {
 *   loss: 'cross-entropy',
 *   head: { classes: ['cat', 'dog', 'bird'] },
 * });
 * const session = await TrainingSession.create(artifacts);
 * await session.initializeHead({ inputs: { x }, labels: { labels } });
 * const { labels: names } = await session.predict({ x }, { labels: true });
 * ```
 * Errors: `invalid-argument` (no such value, no layer to cut off, features of another type than float32 or of unknown
 * number, a name given twice).
 */
export interface HeadOptions {
  /**
   * Names of the new classes, in the order of their scores. Checkpoints and exported models keep them (`classNames`).
   */
  classes: readonly string[];
  /** The output or other value of the model that is its features. Default: what the last layer with a weight reads. */
  at?: string;
  /** Units of a layer with Relu before the last, which begins as torch.nn.Linear does. Default 0: there is none. */
  hidden?: number;
}

/** Options of `generateArtifacts`. */
export interface ArtifactOptions extends EngineOptions {
  /**
   * Default `training-info`: the model brings its training in ONNX's own training_info. Its algorithm determines the
   * loss (the y of its Gradient), what trains (the xs that it updates), and, unless `optimizer` is given, the optimizer
   * (Adam, Momentum, Adagrad, or Sub(x, Mul(lr, g))) with its learning rate, count and state. Any other loss leaves a
   * training_info unread.
   */
  loss?: LossType | LossOptions | 'training-info';
  /**
   * Several losses instead of one `loss`: their sum, each times its `weight`, is the first output, `loss`; each by
   * itself is another, `<input>_loss`, in their order. Each has a label input of its own. Default: none.
   */
  losses?: readonly WeightedLoss[];
  /** Default `adamw`, or the training_info's. */
  optimizer?: OptimizerType | OptimizerOptions;
  /** A new last layer in place of the model's own, for other classes. Default: the model's outputs stay. */
  head?: HeadOptions;
  /**
   * Adapters beside the weights, which stay as they are: the adapters train, a new `head`, and what `modulesToSave` and
   * `bias` name; `requiresGrad` goes without it. `{}` takes the defaults. Or the parsed `adapter_config.json` of an
   * adapter, which `loadAdapter` then loads. Default: there are none.
   */
  lora?: LoraOptions | Readonly<Record<string, unknown>>;
  /**
   * Tensors of safetensors files in the place of the model's own values, by the names that PyTorch gives them; of
   * several files, an array, or their index (`model.safetensors.index.json`). A tensor has the name of an initializer,
   * or where the exporter has replaced that by a number (`onnx::MatMul_9772`, `val_12`) the name of the module that
   * reads it and
   * `.weight`; `parametersOf` tells both. A prefix that all on one side have (`model.`) makes no difference. Matrices
   * that the exporter has transposed are transposed; F32, F16, BF16 and F64 become the initializer's type. What one
   * side alone has keeps its values, and is named by `warnings`. Gates of LSTM and GRU, and a BatchNormalization that
   * dynamo has folded, are computed again; what else an exporter has computed of a parameter is refused. What the
   * exporter made one because it began equal is separated as by `untie`. Files are read a tensor at a time, by ranges
   * of the server, and where all floats are there, files of `externalData` need not be. It goes with a loss of its own.
   * ```js
   * const weights = 'base/model.safetensors';
   * const artifacts = await generateArtifacts('model.onnx', { loss: 'cross-entropy', weights });
   * ```
   * `invalid-argument`: no tensor fits, one has another shape, two that differ are one parameter of the model, the
   * exporter has computed what a tensor would replace (`1 + weight`);
   * `source-unreadable`: it is no such file. Default: the model's own.
   */
  weights?: Source | readonly Source[];
  /**
   * Numbers for the free dims of the model's inputs, by their names, as `{ batch: 1, height: 224 }`; `x[2]` is dim 2 of
   * input `x` if the file gives that no name. They are set before the graph is read, so that operators train that need
   * the number (GatherND the last dim of its indices, if the file declares no rank of its output). The artifacts are
   * for these numbers alone.
   * `invalid-argument`: no input has such a dim (the error lists those that there are); not a whole number of at least
   * 1; a model in ORT format. Default: none.
   */
  freeDimensionOverrides?: Readonly<Record<string, number>>;
  /**
   * Frozen float32 weights in fewer bits, so that a large base fits: of those matrices that only products (MatMul,
   * Gemm, as they are or behind a Transpose) and look-ups (Gather, an embedding) read. Gradients go through them to
   * what trains before. `int8`: symmetric, a scale for each output, as onnxruntime.quantization has it; `int4`:
   * asymmetric in blocks of 32, as its MatMulNBitsQuantizer, embeddings as `int8`; `float16`: half of the bytes, but
   * for weights that it cannot hold. They are parameters of these types under other names (`W_quantized` and `W_scale`;
   * `W_Q4`, `W_scales` and `W_zero_points`; `W_float16`), which train no more; adapters cannot be merged into them.
   * `invalid-argument` where no such weight is frozen, with `nominal` and with a training_info. Default: they stay as
   * they are.
   */
  quantizeFrozen?: 'int8' | 'int4' | 'float16';
  /**
   * Globs over parameter names. Default, where there is a `head`: its parameters, `head.*`, alone. Else those that the
   * training_info trains; otherwise what a layer reads as its weight, its bias or its scale (`parametersOf` tells), not
   * masks, constant tables and means of the inputs, of which `warnings` names those left out. Where PyTorch's exporter
   * notes that something is a parameter, a buffer or a constant, as `torch.onnx.export` with dynamo does, that decides:
   * learned positions train, buffers and tables of sines do not. For values that it computed (rows looked up or
   * repeated, a tied weight transposed) it notes the parameter, and that decides as well; a weight times a mask keeps
   * its zeros.
   * PyTorch's exporter by TorchScript notes nothing: there other named parameters and buffers that layers read train
   * too, but those with the contents of a mask or a table of sines, and those named like a buffer (`mask`, `mean`,
   * `std`, `window`); `warnings` names them.
   * `requires_grad=False` stands in no file: such parameters need `frozen`. To train more than the default, name all of
   * it:
   * `(await parametersOf(model)).filter((p) => p.trainable).map((p) => p.name)` and the others. Running statistics
   * never train, nor does what is not finite: that is left out where a pattern with `*` or `?` matches it, and
   * `invalid-argument` by its own name.
   */
  requiresGrad?: readonly string[];
  /** Globs over parameter names; they win over `requiresGrad`. */
  frozen?: readonly string[];
  /**
   * Exporters fix the batch at that of their example, 1, unless they are told otherwise. `free` (the default): where
   * the model keeps examples apart, its batch becomes free, and a warning says so, or names the node that prevents it.
   * `fixed`: the model stays as it is.
   */
  batch?: 'free' | 'fixed';
  /**
   * For a BatchNormalization whose scale and bias do not train. `frozen` (the default): it uses its running statistics
   * and leaves them alone, as in Keras. `update`: it uses the batch's statistics and keeps moving the running ones, as
   * in PyTorch's train(). Dropout is off where there are weights before it of which none trains. The running variance
   * follows the batch's over n, as ONNX and ONNX Runtime have it, where PyTorch takes n - 1.
   */
  batchNorm?: 'frozen' | 'update';
  /**
   * Exporters merge parameters that are equal when they export, as the biases of a new model are. By default each layer
   * has its own again, under PyTorch's name, where the exporter has left a trace: both of PyTorch's do. Tied weights
   * and a module that is called several times stay one. true: also without a trace, for tensors whose elements are all
   * equal and for those of numbered copies of a layer (`layers.0`, `layers.1`); where this would separate something,
   * `warnings` says so. false: merged parameters train as one; checkpoints made when that was the default need it. true
   * is refused with a training_info.
   */
  untie?: boolean;
  /**
   * The outputs from which the loss is computed; default: the first. If these are probabilities, `cross-entropy` and
   * `bce-with-logits` use the scores before the Softmax or Sigmoid, so that no activation is applied twice; if these
   * scores are not known, a warning says so.
   */
  lossInputs?: readonly string[];
  /**
   * Outputs of the model that the train and eval graphs have besides the loss; if the predictions are among them, `fit`
   * reports the training accuracy.
   */
  additionalOutputs?: readonly string[];
  /**
   * A checkpoint with names but no values; `loadParametersBuffer(bytes, false)` must supply them before anything runs.
   * Default false.
   */
  nominal?: boolean;
  /**
   * For a training_info: parameters and state start from what its initialization computes, not from the values in the
   * file. Default true.
   */
  initialize?: boolean;
  /**
   * The three models in ONNX Runtime's own format (.ort) instead of ONNX, for its builds that read no ONNX.
   * `unsupported-op` where ONNX Runtime has no kernel for an operator of them or for the optimizer. Default false.
   */
  ortFormat?: boolean;
}

/**
 * Makes the training artifacts from an inference model, in a worker of its own. Where model and external data have at
 * most 8 MB, the worker waits a second for the next call that has the same `worker`, `workerUrl`, `wasmUrl`, `threads`
 * and
 * `reproducible`: the session, mostly, which need not start one then.
 */
export function generateArtifacts(model: Source, options?: ArtifactOptions): Promise<Artifacts>;

/** The same options as for `generateArtifacts`; what is of files and weights alone changes nothing. */
export interface PlanMemoryOptions extends ArtifactOptions {
  /** The shapes that a step is fed, by input, labels too: `{ input_ids: [1, 128], labels: [1, 128] }`. */
  readonly dims: Readonly<Record<string, readonly number[]>>;
}

/**
 * Computes how many bytes a training will take, before its weights are loaded: the engine makes artifacts and plans a
 * step of them, and of `externalData` it reads whole numbers alone, mostly nothing, so that the file need not be given.
 * Weights in the model's own file are read with it. `getMemoryPlan()` of the session says the same after its first
 * step; weights that are packed for speed are left out.
 *
 * ```js
 * const dims = { input_ids: [1, 128], labels: [1, 128] };
 * const options = { loss: 'cross-entropy', quantizeFrozen: 'int4', lora: {}, dims };
 * const { peakBytes } = await planMemory('model.onnx', options);
 * ```
 *
 * Errors: those of `generateArtifacts` and of a step's shapes; `out-of-memory` where it would take more than
 * `maxMemoryBytes`; `unsupported-op` where shapes depend on computed values.
 */
export function planMemory(model: Source, options: PlanMemoryOptions): Promise<MemoryPlan>;

/**
 * The parameters of a model in the order in which its nodes read them: who reads them, and which train by default.
 * `invalid-model`, `unsupported-op` and the like as of `generateArtifacts`.
 */
export function parametersOf(
  model: Source,
  options?: EngineOptions & Pick<ArtifactOptions, 'freeDimensionOverrides'>,
): Promise<readonly ModelParameter[]>;

/** The artifacts of a session, each as bytes or as a place to read them from. */
export interface ArtifactSources {
  /** From `generateArtifacts` or `saveCheckpoint`. */
  checkpointState: Source;
  /**
   * For artifacts with `lora`, from `saveCheckpoint({ base: false })`: what adapters have, in the place of what
   * `checkpointState` has. `checkpoint-mismatch` where it was saved over another base. Default: there is none.
   */
  adapterState?: Source;
  /** The training graph. */
  trainModel: Source;
  /** The graph of `evaluate` and `predict`, which need it. Default: none. */
  evalModel?: Source;
  /** The optimizer; without it the session takes no steps. Default: none. */
  optimizerModel?: Source;
}

/** Artifacts in one file; another given beside it, such as a later checkpoint, takes the place of its own. */
export interface CompactSource extends Partial<ArtifactSources> {
  /** From `compactArtifacts`. */
  compact: Source;
}

/** Options of `compactArtifacts`. */
export interface CompactOptions extends EngineOptions {
  /**
   * The type in which float32 parameters of two or more dims are kept: `exact` (default), as they are; `float16`; or
   * `int8`, symmetric, with a scale for each channel of the first dim. They are float32 again in a session. A parameter
   * with a value that float16 or int8 cannot hold stays exact, and so do vectors, scalars and the optimizer's moments.
   */
  weights?: 'exact' | 'float16' | 'int8';
}

/**
 * One file of artifacts, Trainlet's or ONNX Runtime's: train and eval graph, optimizer and checkpoint. It is smaller,
 * and read without ONNX's reader; a session of it trains, saves and exports the same, to the bit where weights are
 * exact.
 * ```js
 * const compact = await compactArtifacts(artifacts, { weights: 'float16' });
 * const session = await TrainingSession.create({ compact });
 * ```
 * Errors: those of `TrainingSession.create`.
 */
export function compactArtifacts(artifacts: ArtifactSources | CompactSource, options?: CompactOptions): Promise<Bytes>;
