/**
 * Fine-tuning in one call: a person's few examples on a pretrained model, with defaults that work, and a gate that lets
 * nothing through that is worse than before.
 */

import { checkKeys, checkObject, checkSignal, checkWhole, invalid } from './errors.js';
import { scoresOf, take, weightsOf } from './gate.js';
import { classesOf, examplesOf, fed, join, ownClasses, replayOf, split } from './person.js';
import { TrainingSession } from './session.js';
import { readSource } from './source.js';

/**
 * @import { EpochEvent, FineTuned, FineTuneData, FineTuneOptions, FineTunePhase, FitOptions, Source }
 * from './types.js'
 */
/** @import { Examples } from './person.js' */
/** @typedef {Pick<typeof import('./artifacts.js'), 'generateArtifacts' | 'parametersOf'>} Makers */
/** @typedef {{ name: FineTunePhase['name'], trains: string[], lr: number, epochs: number }} Plan */

const KEYS = /** @type {const} */ ([
  'classes',
  'head',
  'lastLayers',
  'epochs',
  'lr',
  'batchSize',
  'labelSmoothing',
  'validation',
  'patience',
  'replay',
  'accept',
  'seed',
  'engine',
  'onProgress',
  'signal',
]);
/** Layers below the head learn at this share of its rate. */
const LOWER_RATE = 0.1;
/** Epochs of the layers below the head, as a share of the head's. */
const LOWER_EPOCHS = 0.25;

/**
 * @param {Makers} makers handed over, so that a page that trains alone does not load them
 * @param {Source} model @param {FineTuneData} data @param {FineTuneOptions} [options]
 * @returns {Promise<FineTuned>}
 */
export async function fineTune(makers, model, data, options = {}) {
  check(options);
  const begun = performance.now();
  const bytes = await readSource('model', model, options.engine ?? {});
  const named = options.head === false ? options.classes : classesOf(data, options.classes);
  const session = await sessionOf(makers, bytes, named, options);
  try {
    const { report, rollback } = await tune(
      makers,
      session,
      bytes,
      data,
      options.head === false ? ownClasses(session, named) : /** @type {string[]} */ (named),
      options,
    );
    return { session, report: { ...report, ms: performance.now() - begun }, rollback };
  } catch (error) {
    await session.release().catch(() => {});
    throw error;
  }
}

/**
 * @param {Makers} makers @param {TrainingSession} session @param {Source} model @param {FineTuneData} data
 * @param {readonly string[]} classes @param {FineTuneOptions} options
 */
async function tune(makers, session, model, data, classes, options) {
  const { seed = 0, validation = 0.2, head } = options;
  const all = examplesOf('fineTune: data', data, classes);
  checkBatch(session, all);
  const [train, heldOut] = split(all, classes.length, validation, seed);
  const replay = options.replay && replayOf(options, classes, train, seed);
  if (head !== false) await session.initializeHead(fed(train));
  const judged = { heldOut, replay: replay?.judged };
  const [before, kept] = [await scoresOf(session, judged), await weightsOf(session)];
  const rollback = () => session.loadParametersBuffer(kept, false);
  const whole = replay ? join(train, replay.learned) : train;
  const phases = [];
  for (const plan of await plansOf(makers, session, model, options))
    phases.push(await run(session, plan, whole, heldOut, options));
  const { after, share, reason } = await take(session, kept, before, judged, {
    classes: classes.length,
    accept: options.accept,
  });
  const examples = { trained: train.labels.length, heldOut: heldOut?.labels.length ?? 0 };
  return { report: { accepted: share > 0, share, reason, classes, examples, before, after, phases }, rollback };
}

/**
 * Exporters fix the batch unless they are told otherwise. @param {TrainingSession} session @param {Examples} examples
 */
function checkBatch({ trainingInputs }, { inputs }) {
  const fixed = trainingInputs.find(({ name, dims }) => inputs[name] && typeof dims[0] === 'number');
  if (fixed)
    throw invalid(
      `fineTune: input '${fixed.name}' takes ${fixed.dims[0]} at a time, for so it was exported: export the model with a dynamic first dim (dynamic_shapes or dynamic_axes of torch.onnx.export)`,
    );
}

/** @param {FineTuneOptions} options */
function check(options) {
  checkObject('fineTune: options', options);
  checkKeys('fineTune', options, KEYS);
  checkKeys('fineTune: replay', options.replay, ['inputs', 'labels', 'ratio']);
  checkKeys('fineTune: accept', options.accept, ['lossRise', 'replayDrop']);
  const { epochs = 1, batchSize = 16, lastLayers = 1, patience = 8, validation = 0, lr = 1 } = options;
  checkWhole('fineTune: epochs', epochs, 1);
  checkWhole('fineTune: batchSize', batchSize, 1);
  checkWhole('fineTune: lastLayers', lastLayers, options.head === false ? 1 : 0);
  checkWhole('fineTune: patience', patience, 1);
  if (!(validation >= 0 && validation < 1)) throw invalid(`fineTune: validation is a share below 1, not ${validation}`);
  if (!(lr > 0 && lr < Infinity)) throw invalid(`fineTune: lr is a number above 0, not ${lr}`);
}

/**
 * @param {Makers} makers @param {Source} model @param {readonly string[] | undefined} classes @param {FineTuneOptions}
 * options
 */
async function sessionOf(makers, model, classes, { head = {}, lr = 1e-3, labelSmoothing = 0.1, engine = {}, signal }) {
  const artifacts = await makers.generateArtifacts(model, {
    ...engine,
    signal,
    loss: { type: 'cross-entropy', labelSmoothing, sampleWeights: true },
    optimizer: { type: 'adamw', lr, weightDecay: 1e-4 },
    ...(classes && head !== false && { head: { classes, ...head } }),
  });
  return await TrainingSession.create(artifacts, { ...engine, signal });
}

/**
 * Names of the parameters of each layer, the last layer first.
 * @param {Makers} makers @param {Source} model @param {FineTuneOptions['engine']} engine
 */
async function layersOf(makers, model, engine) {
  const layers = new Map();
  for (const { name, trainable, readers } of await makers.parametersOf(model, engine)) {
    if (!trainable) continue;
    const layer = readers[0].node;
    layers.set(layer, [...(layers.get(layer) ?? []), name]);
  }
  return /** @type {string[][]} */ ([...layers.values()]).reverse();
}

/**
 * A new head first, for it would send the layers below astray; a model that keeps its outputs learns as a whole.
 * @param {Makers} makers @param {TrainingSession} session @param {Source} model @param {FineTuneOptions} options
 * @returns {Promise<Plan[]>}
 */
async function plansOf(makers, session, model, { head, epochs, lr = 1e-3, lastLayers, engine }) {
  const there = new Set(session.parameters.map(({ name }) => name));
  const count = lastLayers ?? (head === false ? Infinity : 0);
  const all = count ? await layersOf(makers, model, engine) : [];
  const last = all
    .map((names) => names.filter((name) => there.has(name)))
    .filter((names) => names.length)
    .slice(0, count);
  if (head === false) return [{ name: 'layers', trains: last.flat(), lr, epochs: epochs ?? 20 }];
  const top = session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name);
  /** @type {Plan} */
  const first = { name: 'head', trains: top, lr, epochs: epochs ?? 40 };
  const lower = { lr: lr * LOWER_RATE, epochs: Math.ceil(first.epochs * LOWER_EPOCHS) };
  return last.length ? [first, { name: 'layers', trains: [...top, ...last.flat()], ...lower }] : [first];
}

/**
 * @param {TrainingSession} session @param {Plan} plan @param {Examples} train @param {Examples | undefined} heldOut
 * @param {FineTuneOptions} options
 * @returns {Promise<FineTunePhase>}
 */
async function run(session, { name, trains, lr, epochs }, train, heldOut, options) {
  const { batchSize = 16, patience = 8, seed = 0, signal, onProgress } = options;
  checkSignal(signal);
  const begun = performance.now();
  await session.setTrainable(trains);
  const [kept, first] = [await weightsOf(session), await scoresOf(session, { heldOut })];
  const steps = epochs * Math.ceil(train.labels.length / batchSize);
  /** @type {FitOptions} */
  const fit = {
    epochs,
    batchSize,
    seed,
    signal,
    resume: false,
    classWeight: 'balanced',
    schedule: { type: 'cosine', lr, warmup: Math.ceil(steps / 20) },
    ...(heldOut && {
      validation: fed(heldOut),
      earlyStopping: { patience, monitor: 'val_loss', restoreBest: true },
    }),
    onFeatures: ({ done, examples }) => onProgress?.({ phase: 'features', done, of: examples }),
    onEpoch: (/** @type {EpochEvent} */ { epoch, metrics }) =>
      onProgress?.({ phase: name, done: epoch + 1, of: epochs, metrics }),
  };
  const history = await session.fit(fed(train), fit);
  const last = await scoresOf(session, { heldOut });
  const improved = !heldOut || Number(last.heldOut?.loss) <= Number(first.heldOut?.loss);
  if (!improved) await session.loadParametersBuffer(kept, false);
  return { name, improved, history, ms: performance.now() - begun };
}
