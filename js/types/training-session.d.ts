/** The TrainingSession: training, evaluation, parameters, checkpoints and export. */

import type {
  AdapterChoice,
  AdapterFiles,
  AdapterSources,
  Adapters,
  ExportAdapterOptions,
  OnnxAdapterFiles,
} from './adapters.js';
import type { ArtifactSources, Artifacts, CompactSource } from './artifacts.js';
import type { Dataset, WholeArrays } from './data.js';
import type { EvaluateOptions, FitOptions, History } from './fit.js';
import type { OptimizerType } from './loss-and-optimizer.js';
import type { AnyMetric, EpochMetrics, Evaluated, Metric } from './metrics.js';
import type { AbortSignal, AsyncDisposed, Bytes } from './internal/platform.js';
import type { MemoryPlan, NodeTimes, ParameterInfo, ValueInfo } from './inspection.js';
import type {
  Calibrated,
  CalibrateOptions,
  CheckpointOptions,
  ExportOptions,
  ExtendOptions,
  Forward,
  LoadSessionOptions,
  ParameterGroup,
  PredictOptions,
  Preprocessing,
  PropertyBag,
  RunOptions,
  SaveSessionOptions,
  StepOptions,
  TrainingSessionOptions,
} from './session.js';
import type { Feeds, Fetched, Fetches, FetchStructure, Tensor, TensorLike } from './tensor.js';

export interface TrainingSession extends AsyncDisposed {}

/** Trains, evaluates and predicts: the artifacts in an engine of their own. */
export class TrainingSession {
  private constructor();
  /** Loads artifacts, or a compact file, into an engine of its own. */
  static create(artifacts: ArtifactSources | CompactSource, options?: TrainingSessionOptions): Promise<TrainingSession>;
  /**
   * The session that `save` has saved under a name: its models and checkpoint, and so also its class names, optimizer
   * state and the place of a fit that was cut short.
   * ```js
   * await session.save('houses', { preprocessing: { columns } });
   * const again = await TrainingSession.load('houses');
   * const { inputs } = await readTable(rows, { columns: again.preprocessing.columns });
   * ```
   * Errors: `source-unreadable` (there is none of that name), `invalid-argument` (a checkpoint without its models),
   * those of `create` and of the store.
   */
  static load(name: string, options?: LoadSessionOptions): Promise<TrainingSession>;

  // — as in onnxruntime-web/training —
  /** `runTrainStep<Tensor<'float32'>>(…)` and the like say what type the outputs have. */
  runTrainStep<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | StepOptions,
    options?: StepOptions,
  ): Promise<Record<string, V>>;
  /** Gives the outputs in the structure of the names. */
  runTrainStep<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: StepOptions): Promise<Fetched<F>>;
  /** Runs the eval graph, which changes nothing: loss and outputs, or those named by `fetches`. */
  runEvalStep<V extends Tensor = Tensor>(
    feeds: Feeds,
    fetches?: Fetches | StepOptions,
    options?: StepOptions,
  ): Promise<Record<string, V>>;
  /** Runs the eval graph, which changes nothing: loss and outputs, or those named by `fetches`. */
  runEvalStep<const F extends FetchStructure>(feeds: Feeds, fetches: F, options?: StepOptions): Promise<Fetched<F>>;
  /**
   * A loss of one's own, for artifacts made with the loss `outside` (ONNX Runtime's ORTModule's way; its training
   * models with a `YieldOp` do as well): runs the training model up to its outputs, in training mode. What it computed
   * stays in the worker, each run in memory of its own, until its `backward` has run or it is dropped; several may be
   * open at once. Dropout draws once for both. `invalid-argument` where the loss is inside; `signal` as of any run.
   * ```js
   * const { outputs, backward } = await session.forward({ x });
   * const { x: towardsX } = await backward({ y: gradientOfMyLoss(outputs.y) }, { inputs: ['x'] });
   * await session.runOptimizerStep();
   * await session.lazyResetGrad();
   * ```
   */
  forward(feeds: Feeds, options?: RunOptions): Promise<Forward>;
  /**
   * If the loss is outside, the outputs for which `backward` takes gradients and the inputs towards which it gives
   * them; `null` where it is inside.
   */
  readonly outside: {
    /** The outputs for which `backward` takes gradients. */
    readonly outputs: readonly string[];
    /** The inputs towards which it gives them. */
    readonly inputs: readonly string[];
  } | null;
  /** An optimizer step is not stopped once it has begun. */
  runOptimizerStep(options?: RunOptions): Promise<void>;
  /** Sets the accumulated gradients to zero. */
  lazyResetGrad(): Promise<void>;
  /**
   * The number of elements: of the parameters that train (true, the default here and below), of all (false), or of
   * those that train and the running statistics (`'with-statistics'`).
   */
  getParametersSize(trainableOnly?: boolean | 'with-statistics'): Promise<number>;
  /**
   * All of them in one float32 tensor, in the order of the training graph's inputs. Running means and variances of
   * normalizations do not train: to average models, or to send one on, use `'with-statistics'`, which is everything
   * that training changes.
   */
  getContiguousParameters(trainableOnly?: boolean | 'with-statistics'): Promise<Tensor<'float32'>>;
  /** Takes the bytes of such a tensor, four for each element. */
  loadParametersBuffer(bytes: Uint8Array, trainableOnly?: boolean | 'with-statistics'): Promise<void>;
  /** The names of what `runTrainStep` is fed. */
  readonly trainingInputNames: readonly string[];
  /** The names of its outputs, the loss first. */
  readonly trainingOutputNames: readonly string[];
  /** The names of what `runEvalStep` is fed; `[]` without an eval model. */
  readonly evalInputNames: readonly string[];
  /** The names of its outputs, the loss first; `[]` without an eval model. */
  readonly evalOutputNames: readonly string[];
  /** The names of the classes of a `head`; null where there is none. */
  readonly classNames: readonly string[] | null;
  /**
   * The type of the optimizer model; `adamw-hf` and `adam-hf` add epsilon to the uncorrected root, as ONNX Runtime's
   * AdamW. null without an optimizer model.
   */
  readonly optimizer: OptimizerType | 'adamw-hf' | 'adam-hf' | null;
  /** Warnings about the artifacts, one sentence each, as `warnings` of an `InferenceSession`. */
  readonly warnings: readonly string[];
  /**
   * Ends the worker. Runs and steps that are not done are stopped, and other calls have 0.3 s to be answered, or until
   * the signal fires: all that is not answered is rejected with `released`. Await what you need before. It may be
   * called twice.
   */
  release(options?: {
    /** Ends the wait for calls that are not done. */
    signal?: AbortSignal;
  }): Promise<void>;

  // — beyond it —
  /**
   * Train, optimize and reset in one message to the worker. A loss that is not finite is an error and changes no
   * parameter.
   */
  step(
    feeds: Feeds,
    options?: RunOptions,
  ): Promise<{
    /** The loss of these examples before the step. */
    loss: number;
  }>;
  /**
   * Trains. The position in the data is kept in the session and in its checkpoints. A fit that was cut short (by a
   * kill, an error, the signal or `maxSteps`) is therefore continued to the bit by the next `fit` over whole arrays
   * with the same number of examples and the same batch size, in this session or in one made from a checkpoint of it:
   * `epochs` then includes those already done, and the remaining batches are taken in the same shuffled order. The
   * schedule, the means of the epoch and early stopping, with the parameters that `restoreBest` has found best, go on
   * from where they were: with the same options, everything is as if the fit had not been cut short. Where options
   * differ, those of the new call apply from then on; the best epoch so far counts as long as `monitor` is the same
   * and, with `restoreBest`, its parameters were kept. `resume: false` starts from the beginning. A fit that was
   * completed leaves no position behind. A `history` has the epochs that ended during its own call; so has that of an
   * `aborted` error, always.
   *
   * The `meta` of a fit's last save has `ended: true`. A program that may have been killed behind that save looks at
   * it, or calls `fit` with `resume: true`: in a session made of that save, the first such `fit` over the same data,
   * with the same `checkpoint.name`, `epochs` and `batchSize`, takes no step and gives `stopped` as it was. By default
   * it trains once more.
   */
  fit<const M extends AnyMetric = Metric, V extends FitOptions['validation'] = undefined>(
    data: Dataset,
    options?: FitOptions<M, V>,
  ): Promise<History<EpochMetrics<M, V>>>;
  /**
   * Mean loss and metrics. Batches weigh by what their loss has counted, so the numbers do not depend on `batchSize`:
   * labels that are not ignored, each by the weight of its class; of the losses of numbers, elements. A loss of
   * `reduction: 'sum'` is told as that mean too. Of several `losses` it is the weighted sum of their means. A
   * model's own (`none`) weighs by examples, but one that ends in ONNX's SoftmaxCrossEntropyLoss or
   * NegativeLogLikelihoodLoss, or in ReduceMean or ReduceSum where an input is named `target`, as those above. A loss
   * that is not finite, or labels none of which counts, are `non-finite-loss`.
   */
  evaluate<const M extends AnyMetric = Metric>(data: Dataset, options?: EvaluateOptions<M>): Promise<Evaluated<M>>;
  /**
   * Runs forward, without labels; gives the model's own outputs, or those named by `fetches`. Examples that do not fit
   * into memory at once run in batches. A tensor without a name is fed to the only input.
   * ```js
   * const onProgress = ({ done, of }) => console.log(`${done} of ${of}`);
   * const { scores } = await session.predict({ image: all }, { batchSize: 64, onProgress });
   * ```
   */
  predict<V extends Tensor = Tensor>(
    feeds: Feeds | TensorLike,
    options: PredictOptions & {
      /** Asks for `labels`. */
      readonly labels: true;
    },
  ): Promise<
    Record<string, V> & {
      /** The name of each example's class. */
      readonly labels: Tensor<'string'>;
    }
  >;
  /** Runs forward, without labels; gives the model's own outputs, or those named by `fetches`. */
  predict<V extends Tensor = Tensor>(
    feeds: Feeds | TensorLike,
    fetches?: Fetches | PredictOptions,
    options?: PredictOptions,
  ): Promise<Record<string, V>>;
  /** Gives the outputs in the structure of the names. */
  predict<const F extends FetchStructure>(
    feeds: Feeds | TensorLike,
    fetches: F,
    options?: PredictOptions,
  ): Promise<Fetched<F>>;
  /**
   * Gives the head first weights by the means of its features over each class, so that it answers before any step:
   * the score of a class is larger the nearer its mean is (nearest class mean), scaled to what the examples say. The
   * layers below stay; a class without examples stands at the mean of all. Moments and gradients are left as they are.
   * Errors: `invalid-argument` (no head, labels that are no class, inputs of other lengths).
   */
  initializeHead(data: WholeArrays): Promise<void>;
  /**
   * Gives artifacts of this session with more classes in an output: what a trained head knows stays, and the new
   * classes are learned beside it. Weights, optimizer state and properties are those of now, the old classes' scores
   * the same to the bit (but of an output of one class, whose scores may differ by 1.3e-5: for more the additions have
   * another order); the new classes' optimizer state is zero, as if their weights had never had a gradient. The session
   * itself stays as it is, until it is released.
   * ```js
   * const artifacts = await session.extendOutput('scores', ['heart', 'star'], { examples });
   * const wider = await TrainingSession.create(artifacts);
   * await wider.fit(all); // examples of old classes too: what is not learned again is forgotten
   * ```
   * The output is that of a `head`, or of any last layer that is a Gemm, or a MatMul with or without an Add. To load
   * a checkpoint of the wider session later, keep the artifacts. A `fit` that was cut short does not go on in them, and
   * a calibration is dropped, which `warnings` says.
   * Errors: `invalid-argument` (another last layer or loss, a name that a class has already, a model without names of
   * its classes where `classes` does not give them), `non-finite-loss` as of `saveCheckpoint`.
   */
  extendOutput(name: string, newClasses: readonly string[], options?: ExtendOptions): Promise<Artifacts>;
  /**
   * The adapter of artifacts made with `lora`, as the folder that PEFT reads (`PeftModel.from_pretrained`): what
   * trains, and nothing of the base. Errors: `invalid-argument` (no adapter, a prefix that a name does not begin with).
   * ```js
   * for (const [name, bytes] of Object.entries(await session.exportAdapter())) await save(name, bytes);
   * ```
   * It is the one in use. Or, with `format: 'onnx'`, ONNX Runtime's file of it; `invalid-argument` too where something
   * trains whole.
   */
  exportAdapter(
    options: ExportAdapterOptions & {
      /** ONNX Runtime's format, one file. */
      format: 'onnx';
    },
  ): Promise<OnnxAdapterFiles>;
  /** The adapter in use, as the folder that PEFT reads. */
  exportAdapter(options?: ExportAdapterOptions): Promise<AdapterFiles>;
  /**
   * Gives the adapter in use the numbers of such a folder, or of an .onnx_adapter file: of exportAdapter, or of PEFT. A
   * module is found by its name, or by one that only has more, or less, before it. Moments of the optimizer are left as
   * they are. Errors: `source-unreadable` (a damaged file), `invalid-argument` (a tensor that is missing, too many or
   * of another shape, another rank or alpha); nothing has changed then.
   */
  loadAdapter(files: AdapterSources): Promise<void>;
  /** The adapters that there are, and the one in use: it trains, and is saved and exported. */
  readonly adapters: Adapters;
  /**
   * Another adapter over the same base, with optimizer state of its own, of the ranks and alphas that the artifacts
   * were made with. It begins as theirs did, adding nothing to the base, or with the numbers of such files as
   * `loadAdapter` takes. Which is in use stays.
   * ```js
   * await session.addAdapter('work');
   * await session.useAdapter('work');
   * await session.fit(mails, { epochs: 2 });
   * await session.predict({ input_ids }, { adapter: 'default' });
   * ```
   * Errors: `invalid-argument` (no `lora`, a name that is there already or has more than 1,024 bytes), those of
   * `loadAdapter`, `out-of-memory`; then there is none more.
   */
  addAdapter(name: string, files?: AdapterSources): Promise<void>;
  /**
   * From here on this adapter trains, answers, and is saved and exported. Its moments and counts of steps are its own;
   * learning rate, parameter groups and the random numbers are the session's. A fit that was cut short, its best
   * parameters, the average that `ema` kept, and accumulated gradients are dropped.
   *
   * null takes the base alone: what trains whole is as in the `checkpointState` that the session was made with. Weights
   * by name, `{ me: 0.7, work: 0.3 }`, take a sum: to each weight W the sum of w · s · B A of the adapters is added,
   * or, where that has a higher rank than there is room for, the nearest of that rank (PEFT's add_weighted_adapter with
   * `svd`); what trains whole is moved by w times what each adapter has moved it. It is computed at the call, and
   * adapters that learn later do not change it. Neither trains: `invalid-argument`.
   *
   * Errors: `invalid-argument` (no such adapter, a weight that is not finite, a fit that is running).
   */
  useAdapter(adapter: AdapterChoice): Promise<void>;
  /** Forgets an adapter. `invalid-argument` for the one in use, and where there is none of that name. */
  deleteAdapter(name: string): Promise<void>;
  /**
   * Finds the temperature by which scores are to be divided so that their softmax tells how often they are right (Guo
   * et al. 2017), on examples that were not learned. It changes no label; `predict(feeds, { probabilities: true })`
   * applies it. Kept as the property 'trainlet.calibration', so in checkpoints, and in the metadata of exported models.
   * A session that trains on should be calibrated anew.
   * ```js
   * const { temperature, before, after } = await session.calibrate(heldOut, { unknown: true });
   * const { labels } = await session.predict({ x }, { labels: true, threshold: true });
   * ```
   * Errors: `invalid-argument` (labels that are no class, inputs of other lengths, scores that are no rows).
   */
  calibrate(data: WholeArrays, options?: CalibrateOptions): Promise<Calibrated>;
  /** Names, types and dims of what a step is fed. */
  readonly trainingInputs: readonly ValueInfo[];
  /** All parameters, and which of them train at present. */
  readonly parameters: readonly ParameterInfo[];
  /**
   * From here on, exactly those parameters train whose names match one of the patterns (`*` stands for any characters,
   * `?` for one); the others are frozen. No new artifacts are needed, and what was needed only for the gradients of
   * frozen parameters is not computed. Running statistics never train. A parameter that is not finite, or on which the
   * loss does not depend, is skipped when a pattern with `*` or `?` matches it, and refused when it is given by its own
   * name. A BatchNormalization whose scale and bias are both frozen uses its running statistics and leaves them as they
   * are, as in Keras, and Dropout is off where weights come before it of which none trains; exactly what trained when
   * the artifacts were made trains as they say. The optimizer's state stays with the parameter: once it trains again,
   * it continues with its moments and its own count of steps, as in PyTorch. Accumulated gradients are dropped, and so
   * are forward runs that are open and the best parameters of a fit that was cut short. `saveCheckpoint` saves which
   * parameters train and, in Trainlet's format, the state of frozen ones. Errors: `invalid-argument` (a pattern that
   * matches nothing that could train, nothing left to train, a fit that is running), `unsupported-op` (an operator on
   * the way without a gradient); then nothing has changed.
   */
  setTrainable(patterns: readonly string[]): Promise<void>;
  /**
   * From here on, parameters have the learning rate, weight decay and anchor of their group, as PyTorch's parameter
   * groups; of several patterns that match, the last counts, and what none matches is as it would be without groups.
   * `[]` forgets them. Saved in Trainlet's checkpoints.
   * ```js
   * await session.setParameterGroups([
   *   { params: '*', lrScale: 0.1 },
   *   { params: 'head.*' },
   *   { params: '*.bias', weightDecay: 0 },
   * ]);
   * ```
   * Errors: `invalid-argument` (a pattern that matches no float32 parameter, a number below 0); then nothing has
   * changed.
   */
  setParameterGroups(groups: readonly ParameterGroup[]): Promise<void>;
  /** The plan of the shapes run last. */
  getMemoryPlan(): Promise<MemoryPlan>;
  /** The same as in an InferenceSession; 'eval' is also the graph that `predict` runs. Default: 'train'. */
  getGraphText(graph?: 'train' | 'eval'): Promise<string>;
  /** Times each node of the runs that follow. */
  startProfiling(): Promise<void>;
  /** The time that each node of a graph took; `invalid-argument` if it did not run. Default: 'train'. */
  endProfiling(graph?: 'train' | 'eval'): Promise<NodeTimes>;
  /** The values of a parameter, of its type and dims. */
  getParameter(name: string): Promise<Tensor>;
  /** Sets the values of a parameter, of its type and dims. */
  setParameter(name: string, value: TensorLike): Promise<void>;
  /**
   * The gradient of a parameter, accumulated by `runTrainStep` or `backward` since the last `lazyResetGrad`, before
   * clipping: zeros right after that, and after `step`, which ends with a reset. `invalid-argument` for a parameter
   * that does not train.
   */
  getGradient(name: string): Promise<Tensor<'float32'>>;
  /** Sets the learning rate of the steps that follow: a number from 0 up. */
  setLearningRate(lr: number): Promise<void>;
  /** The learning rate of the next step. */
  getLearningRate(): Promise<number>;
  /** For dropout and other random operators, and for the shuffles of later fits. */
  setSeed(seed: number | bigint): Promise<void>;
  /** Small values that are saved with the checkpoint. */
  readonly properties: PropertyBag;
  /**
   * Bytes that `create` can read; if they are damaged, it finds out by a checksum (`checkpoint-corrupt`). If training
   * has made parameters, running statistics or moments infinite or NaN, nothing is saved (`non-finite-loss`). Values
   * that were not finite when they were loaded, such as a mask, are saved.
   */
  saveCheckpoint(options?: CheckpointOptions): Promise<Bytes>;
  /**
   * Saves the session as it is at the call: its models, a checkpoint and `preprocessing` as one version, which a kill
   * leaves whole or out. Resolves with the version. It reads the models anew, from the bytes, URLs or Blobs that
   * `create` was given. Errors: `integrity-mismatch` (a model has changed since `create`, as one on a server),
   * `invalid-argument` (a model that was a Response, or a compact file's bytes), those of `saveCheckpoint` and of the
   * store.
   */
  save(name: string, options?: SaveSessionOptions): Promise<number>;
  /** The preprocessing that the session was saved or loaded with; `{}` if there is none. */
  readonly preprocessing: Preprocessing;
  /** A plain inference model with the parameters as they are now; `non-finite-loss` as with `saveCheckpoint`. */
  exportModel(options?: ExportOptions): Promise<Bytes>;
}
