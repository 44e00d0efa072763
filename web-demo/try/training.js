// Training: a session for a model, a recipe and data, its fit, and what it reads right and wrong.

import { generateArtifacts, Tensor, TrainingSession } from '../js/index.js';
import { optionsFor, Refusal } from './model.js';

/**
 * @typedef {import('./data.js').Data} Data
 * @typedef {import('./model.js').Model} Model
 * @typedef {import('./recipe.js').Recipe} Recipe
 * @typedef {{ place: number, truth: string, read: string, error: number }} Reading error: how far off, 0 where right
 * @typedef {{ loss: number, metrics: Record<string, number>, confusion?: number[][], readings: Reading[],
 *   count: number, isHeldOut: boolean }} Judgement
 */

const BATCH = 64;

export class Training {
  /** @type {TrainingSession} */
  session;
  #data;
  #recipe;

  /** @param {TrainingSession} session @param {Data} data @param {Recipe} recipe */
  constructor(session, data, recipe) {
    this.session = session;
    this.#data = data;
    this.#recipe = recipe;
  }

  /** @param {Model} model @param {Recipe} recipe @param {Data} data */
  static async open(model, recipe, data) {
    checkLabels(model, recipe, data);
    const artifacts = await generateArtifacts(model.source, optionsFor(model, recipe, data.classes ?? []));
    const session = await TrainingSession.create(artifacts);
    const training = new Training(session, data, recipe);
    if (recipe.trains === 'head') await session.initializeHead(data.learned);
    return training;
  }

  /** @param {Pick<import('../js/types.js').FitOptions, 'signal' | 'onBatch' | 'onEpoch' | 'onWarning'>} listeners */
  fit(listeners) {
    const { epochs, batchSize } = this.#recipe;
    const { learned, heldOut } = this.#data;
    const validation = heldOut && this.#prepared(heldOut);
    return this.session.fit(this.#prepared(learned), {
      epochs,
      batchSize,
      ...(validation && { validation }),
      ...listeners,
    });
  }

  /** With labels as the loss takes them. @param {import('./data.js').Examples} examples */
  #prepared({ inputs, labels }) {
    if (this.#recipe.loss === 'cross-entropy' || labels.type === 'float32') return { inputs, labels };
    const target = Float32Array.from(/** @type {any} */ (labels.data), Number);
    return { inputs, labels: new Tensor('float32', target, [labels.dims[0], 1]) };
  }

  /** Loss and metrics of what is held out, and a reading of each example. @returns {Promise<Judgement>} */
  async judge() {
    const { classes, learned, heldOut, judged: places } = this.#data;
    const { inputs, labels } = heldOut ?? learned;
    const isScored = this.#recipe.loss === 'cross-entropy';
    const metrics = /** @type {any} */ (isScored ? ['accuracy'] : classes ? [] : ['mae', 'r2']);
    const { loss, ...others } = await this.session.evaluate(this.#prepared({ inputs, labels }), {
      metrics,
      batchSize: BATCH,
    });
    const [output] = Object.values(await this.session.predict(inputs, { batchSize: BATCH }));
    const known = { loss, count: places.length, isHeldOut: Boolean(heldOut), metrics: /** @type {any} */ (others) };
    if (!classes) return { ...known, readings: numbersRead(output, labels, places) };
    if (output.dims.length !== 2 || labels.dims.length > 1) return { ...known, readings: [] };
    const readings = await this.#classesRead(output, labels, places, classes);
    const confusion = classes.map(() => classes.map(() => 0));
    for (const { truth, read } of readings)
      if (classes.includes(read)) confusion[classes.indexOf(truth)][classes.indexOf(read)]++;
    const right = readings.filter(({ error }) => error === 0).length / readings.length;
    return { ...known, metrics: { accuracy: right }, confusion, readings };
  }

  /** @param {Tensor} output @param {Tensor} labels @param {number[]} places @param {readonly string[]} classes */
  async #classesRead(output, labels, places, classes) {
    const [, width] = output.dims;
    const data = /** @type {Float32Array} */ (output.data);
    const threshold = this.#recipe.loss === 'bce-with-logits' && data.some((n) => n < 0 || n > 1) ? 0 : 0.5;
    return places.map((place, row) => {
      const scores = [...data.subarray(row * width, (row + 1) * width)];
      const read = width === 1 ? Number(scores[0] > threshold) : scores.indexOf(Math.max(...scores));
      const truth = Number(labels.data[row]);
      const sure = width === 1 ? Math.abs(scores[0] - threshold) : scores[read] - scores[truth];
      return {
        place,
        truth: classes[truth],
        read: classes[read] ?? `output ${read}`,
        error: read === truth ? 0 : 1e-9 + sure,
      };
    });
  }

  async release() {
    await this.session.release();
  }
}

/** @param {Tensor} output @param {Tensor} labels @param {number[]} places @returns {Reading[]} */
function numbersRead(output, labels, places) {
  const [read, wanted] = [/** @type {Float32Array} */ (output.data), /** @type {Float32Array} */ (labels.data)];
  const width = read.length / places.length;
  return places.map((place, row) => {
    const pairs = Array.from({ length: width }, (_, c) => [wanted[row * width + c], read[row * width + c]]);
    const error = Math.max(...pairs.map(([a, b]) => Math.abs(a - b)));
    const text = (/** @type {number} */ which) => pairs.map((pair) => Number(pair[which].toPrecision(4))).join(', ');
    return { place, truth: text(0), read: text(1), error };
  });
}

/** Refuses labels that the outputs cannot be. @param {Model} model @param {Recipe} recipe @param {Data} data */
function checkLabels({ onnx }, { loss, trains }, { task, classes, learned: { labels } }) {
  const width = onnx.outputs[0]?.dims.length === 2 ? onnx.outputs[0].dims[1] : undefined;
  if (loss === 'cross-entropy' && task === 'numbers')
    throw new Refusal('The target is a number, and cross-entropy wants classes: choose mean squared error.');
  if (loss !== 'cross-entropy' && loss !== 'bce-with-logits' && task === 'classes')
    throw new Refusal('The labels are classes: choose cross-entropy, or a target of numbers.');
  if (loss === 'bce-with-logits' && (classes?.length ?? 0) > 2)
    throw new Refusal(
      `Binary cross-entropy tells two classes apart, and there are ${classes?.length}: choose cross-entropy.`,
    );
  if (trains === 'all' && loss === 'cross-entropy' && typeof width === 'number' && (classes?.length ?? 0) > width)
    throw new Refusal(
      `There are ${classes?.length} classes, and the model has ${width} outputs, for labels from 0 to ${width - 1}: ` +
        'choose a new last layer.',
    );
  if (task === 'numbers' && typeof width === 'number' && (labels.dims[1] ?? 1) !== width)
    throw new Refusal(
      `The target has ${labels.dims[1] ?? 1} numbers, and the model gives ${width}: choose another target.`,
    );
}
