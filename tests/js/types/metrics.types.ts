/** Types of metrics, checked by the compiler alone: a result has what was asked for, and a misspelt name is refused. */

import type { CustomMetric, Dataset, EvaluateOptions, FitOptions, History, Metric } from '../../../js/types.js';
import type { TrainingSession } from '../../../js/types.js';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(_: T) => {};
const mine = { name: 'mine' as const, updateState() {}, result: () => 1, resetState() {} };

export async function evaluated(session: TrainingSession, data: Dataset, own: CustomMetric) {
  const literal = await session.evaluate(data, { metrics: ['accuracy', 'f1'] });
  holds<Same<typeof literal, { loss: number; accuracy: number; f1: number }>>(true);
  const arrays = await session.evaluate(data, { metrics: ['top-3-accuracy', 'confusion-matrix', 'f1-per-class'] });
  type Arrays = { loss: number; 'top-3-accuracy': number; 'confusion-matrix': number[][]; 'f1-per-class': number[] };
  holds<Same<typeof arrays, Arrays>>(true);
  const LIST = ['loss', 'auc'] as const;
  const listed = await session.evaluate(data, { metrics: LIST });
  holds<Same<typeof listed, { loss: number; auc: number }>>(true);
  const OPTIONS = { batchSize: 8, metrics: ['r2'] } as const;
  const ofOptions = await session.evaluate(data, OPTIONS);
  holds<Same<typeof ofOptions, { loss: number; r2: number }>>(true);
  const { mine: named, other, 'confusion-matrix': matrix } = await session.evaluate(data, {
    metrics: [mine, 'confusion-matrix', own],
  });
  holds<Same<[typeof named, typeof other, typeof matrix], [number, number, number[][]]>>(true);
  // @ts-expect-error it was not asked for
  literal.auc;
  // @ts-expect-error misspelt
  await session.evaluate(data, { metrics: ['acuracy', 'f1'] });
  // @ts-expect-error misspelt
  await session.evaluate(data, { metrics: ['acuracy'] as const });
  // @ts-expect-error a misspelt option
  await session.evaluate(data, { metric: ['accuracy'] });
}

export async function open(session: TrainingSession, data: Dataset, names: string[], few: Metric[]) {
  const { loss, accuracy } = await session.evaluate(data);
  holds<Same<[typeof loss, typeof accuracy], [number, number]>>(true);
  const ofNames = await session.evaluate(data, { metrics: names });
  holds<Same<(typeof ofNames)['any'], number | number[] | number[][]>>(true);
  const ofMetrics = await session.evaluate(data, { metrics: few });
  holds<Same<(typeof ofMetrics)['f1'], number>>(true);
  const options: EvaluateOptions = { metrics: ['confusion-matrix'] };
  return (await session.evaluate(data, options)).loss;
}

export async function fitted(session: TrainingSession, data: Dataset, names: string[], given: FitOptions) {
  const onEpoch = ({ metrics }: { metrics: { val_f1: number } }) => metrics.val_f1.toFixed(2);
  const history = await session.fit(data, { metrics: ['f1'], validation: 0.2, onEpoch });
  const [{ metrics }] = history.epochs;
  holds<Same<[typeof metrics.loss, typeof metrics.f1], [number, number | undefined]>>(true);
  holds<Same<[typeof metrics.val_loss, typeof metrics.val_f1], [number, number]>>(true);
  const plain: History = history;
  // @ts-expect-error misspelt
  metrics.val_fl;
  const alone = await session.fit(data, { metrics: ['f1'], onEpoch: (event) => event.metrics.f1 });
  // @ts-expect-error there is no validation
  alone.epochs[0].metrics.val_f1;
  const usual = await session.fit(data, { validation: data, onEpoch: (event) => event.metrics.val_accuracy.toFixed() });
  holds<Same<(typeof usual.epochs)[0]['metrics']['val_loss'], number>>(true);
  // @ts-expect-error misspelt
  await session.fit(data, { metrics: ['fl'] });
  // @ts-expect-error evaluate alone gives it
  await session.fit(data, { metrics: ['confusion-matrix'] });
  // @ts-expect-error a misspelt option
  await session.fit(data, { epoch: 3 });
  return [plain, await session.fit(data, given), await session.fit(data, { metrics: names })];
}

export async function disposed(session: TrainingSession) {
  await using ended = session;
  return ended.warnings;
}
