/** Schedules of the learning rate. */

interface WarmUp {
  /** The highest learning rate, from 0 up. */
  lr: number;
  /** Optimizer steps over which the rate first rises linearly to `lr`. Default 0. */
  warmup?: number;
}

interface ConstantSchedule extends WarmUp {
  /** The rate stays at `lr`. */
  type: 'constant';
}

interface DecaySchedule extends WarmUp {
  /** 'linear' falls in a line, 'cosine' along half a wave. */
  type: 'linear' | 'cosine';
  /**
   * The step at which the rate is `end`. Default: all steps of `epochs`, even those that `maxSteps` cuts off; for
   * batches that come one after another, whose number is not known, `maxSteps`.
   */
  steps?: number;
  /** The rate in the end, from 0 up. Default 0. */
  end?: number;
}

interface StepSchedule extends WarmUp {
  /** The rate falls at intervals. */
  type: 'step';
  /** Optimizer steps of an interval. */
  every: number;
  /** The factor after each interval, from 0 up. */
  factor: number;
}

/** One rise and fall of the learning rate, PyTorch's OneCycleLR. */
interface OneCycleSchedule {
  /** PyTorch's OneCycleLR: the rate rises to `lr`, then it falls to nearly nothing. */
  type: 'one-cycle';
  /** The highest learning rate, from 0 up. */
  lr: number;
  /** Optimizer steps of the cycle. Default: as of 'linear'. */
  steps?: number;
  /** The share of `steps` in which the rate rises, from 0 to 1. Default 0.3. */
  pctStart?: number;
  /** The rate begins at lr / `divFactor`; above 0. Default 25. */
  divFactor?: number;
  /** The rate ends at lr / divFactor / `finalDivFactor`; above 0. Default 1e4. */
  finalDivFactor?: number;
  /** Along half a wave ('cos') or in a line ('linear'). Default 'cos'. */
  annealStrategy?: 'cos' | 'linear';
}

interface PlateauSchedule extends WarmUp {
  /** PyTorch's ReduceLROnPlateau: the rate falls when a metric gets no better. A continued fit goes on with it. */
  type: 'plateau';
  /** The factor by which the rate falls, from 0 up and below 1. Default 0.1. */
  factor?: number;
  /** Epochs that may pass without a better one. Default 10. */
  patience?: number;
  /** A metric of the epoch. Default: `val_loss` with validation, else `loss`. */
  monitor?: string;
  /** The least by which the metric must get better, absolute. Default 1e-4. */
  minDelta?: number;
  /** Epochs after a fall that do not count. Default 0. */
  cooldown?: number;
  /** The least rate, from 0 up. Default 0. */
  minLr?: number;
}

/**
 * The learning rate of each optimizer step, counted from the start of the fit (a continued fit goes on counting): a
 * function of the step, from 0, or a schedule by its type.
 */
export type Schedule =
  | ((step: number) => number)
  | ConstantSchedule
  | DecaySchedule
  | StepSchedule
  | OneCycleSchedule
  | PlateauSchedule;
