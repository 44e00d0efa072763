// The card that trains: progress and charts while it runs, stop and go on, results, export and save.

import { Chart } from '../demo/chart.js';
import { $, say } from './dom.js';
import { adviceFor } from './model.js';
import { chosenRecipe } from './recipe-form.js';
import { showResults } from './show-results.js';
import { Training } from './training.js';
import { counted, numberText, timeText } from './words.js';

/**
 * @typedef {import('./data.js').Data} Data
 * @typedef {import('./model.js').Model} Model
 * @typedef {[step: number, value: number][]} Points
 */

/** Points of a line; of more every second is left out. */
const MOST_POINTS = 400;

const lossChart = new Chart($('#loss-chart'), {
  series: [
    { key: 'own', name: 'loss' },
    { key: 'held', name: 'loss of what is held out' },
  ],
  format: (loss) => Number(loss.toPrecision(2)).toString(),
  bounds: (low, high) => [0, Math.max(high, low + 1e-6)],
});
const accuracyChart = new Chart($('#accuracy-chart'), {
  series: [{ key: 'held', name: 'accuracy' }],
  format: (share) => `${Math.round(100 * share)} %`,
  bounds: () => [0, 1],
});

export class TrainCard {
  /** @type {Training | undefined} */
  #training;
  /** @type {AbortController | undefined} */
  #stopping;
  /** Counts resets, so that a training which one has overtaken changes nothing. */
  #resets = 0;
  #steps = 0;
  /** Steps of the fits that were completed; one that is gone on with counts from its own start. */
  #before = 0;
  /** @type {{ own: Points, held: Points, accuracy: Points }} */
  #lines = { own: [], held: [], accuracy: [] };
  /** @type {() => { model: Model, data: Data } | undefined} */
  #given;

  /** @param {() => { model: Model, data: Data } | undefined} given the model and data to train, when it is pressed */
  constructor(given) {
    this.#given = given;
    $('#go').addEventListener('click', () => this.#begin());
    $('#more').addEventListener('click', () => this.#run());
    $('#stop').addEventListener('click', () => this.#stopping?.abort());
    $('#export').addEventListener('click', () => this.#export());
    $('#save').addEventListener('click', () => this.#save());
  }

  /** Forgets a training whose model, data or recipe is another now. */
  async reset() {
    this.#stopping?.abort();
    const before = this.#training;
    this.#training = undefined;
    this.#resets++;
    this.#busy(false);
    for (const id of ['#charts', '#results', '#keep']) $(id).hidden = true;
    say($('#train-status'), '');
    say($('#kept'), '');
    await before?.release();
  }

  async #begin() {
    const given = this.#given();
    if (!given) return;
    await this.reset();
    const mine = this.#resets;
    try {
      const recipe = chosenRecipe();
      this.#busy(true);
      say($('#train-status'), 'Making the training graph …');
      this.#lines = { own: [], held: [], accuracy: [] };
      this.#steps = this.#before = 0;
      const training = await Training.open(given.model, recipe, given.data);
      if (mine !== this.#resets) return await training.release();
      this.#training = training;
    } catch (error) {
      if (mine !== this.#resets) return;
      this.#busy(false);
      say($('#train-status'), '');
      return say($('#train-words'), adviceFor(error));
    }
    await this.#run();
  }

  /** Trains, or goes on where it was stopped. */
  async #run() {
    const training = this.#training;
    const given = this.#given();
    if (!training || !given) return;
    this.#busy(true);
    this.#stopping = new AbortController();
    const begun = performance.now();
    const warnings = /** @type {string[]} */ ([]);
    $('#accuracy-figure').hidden = given.data.task !== 'classes';
    $('#charts').hidden = false;
    let ended = 'Done';
    try {
      await training.fit({
        signal: this.#stopping.signal,
        onBatch: (event) => this.#showBatch(event),
        onEpoch: (event) => this.#showEpoch(event),
        onWarning: (warning) => void warnings.push(warning),
      });
      this.#before = this.#steps;
    } catch (error) {
      if (training !== this.#training) return; // another has begun
      if (error.code === 'aborted') ended = 'Stopped';
      else return await this.#fail(error);
    }
    const time = timeText(performance.now() - begun);
    say($('#train-status'), `${ended} after ${counted(this.#steps, 'step')}, ${time}. Judging …`);
    try {
      const judgement = await training.judge();
      if (training !== this.#training) return;
      showResults($('#results'), judgement, given.data);
      say($('#train-status'), [`${ended} after ${counted(this.#steps, 'step')}, ${time}.`, ...warnings].join(' '));
      $('#keep').hidden = false;
      this.#busy(false);
    } catch (error) {
      if (training === this.#training) await this.#fail(error);
    }
  }

  /** @param {any} error */
  async #fail(error) {
    this.#busy(false);
    say($('#train-words'), adviceFor(error));
    say($('#train-status'), '');
    if (error.code !== 'worker-died' && error.code !== 'released') return;
    this.#training = undefined;
    $('#more').hidden = $('#keep').hidden = true;
  }

  /** @param {boolean} isBusy */
  #busy(isBusy) {
    $('#go').disabled = isBusy;
    $('#stop').hidden = !isBusy;
    $('#more').hidden = isBusy || !this.#training;
    $('#progress').hidden = !isBusy;
    if (isBusy) $('#progress').value = 0;
    for (const field of $('#recipe').elements) field.disabled = isBusy;
    say($('#train-words'));
  }

  /** @param {import('../js/types.js').BatchEvent} event */
  #showBatch({ step, steps, loss, samplesPerSecond, etaMs, epoch, epochs }) {
    this.#steps = this.#before + step;
    this.#lines.own = thinned([...this.#lines.own, [this.#steps, loss]]);
    $('#progress').value = steps ? step / steps : 0;
    const left = etaMs ? `, ${timeText(etaMs)} left` : '';
    const rate = `${Math.round(samplesPerSecond).toLocaleString('en')} examples a second`;
    say($('#train-status'), `Epoch ${epoch + 1} of ${epochs}, loss ${numberText(loss)}, ${rate}${left}.`);
    this.#draw();
  }

  /** @param {import('../js/types.js').EpochEvent<any>} event */
  #showEpoch({ step, metrics }) {
    const place = this.#before + step;
    const { val_loss: loss, val_accuracy: accuracy } = metrics;
    if (loss !== undefined) this.#lines.held.push([place, loss]);
    if (accuracy !== undefined) this.#lines.accuracy.push([place, accuracy]);
    $('#accuracy-figure').hidden = !this.#lines.accuracy.length;
    this.#draw();
  }

  #draw() {
    lossChart.set({ own: this.#lines.own, held: this.#lines.held }, this.#steps);
    accuracyChart.set({ held: this.#lines.accuracy }, this.#steps);
  }

  async #export() {
    const given = this.#given();
    if (!this.#training || !given) return;
    try {
      const bytes = await this.#training.session.exportModel();
      download(`${given.model.name.replace(/\.onnx$/i, '')}-trained.onnx`, bytes);
      say($('#kept'), 'The model with its new weights is among your downloads: plain ONNX, for any runtime.');
    } catch (error) {
      say($('#train-words'), adviceFor(error));
    }
  }

  async #save() {
    const given = this.#given();
    if (!this.#training || !given) return;
    const name = given.model.name.replace(/\.onnx$/i, '');
    try {
      const { columns } = given.data.read;
      await this.#training.session.save(name, columns && { preprocessing: { columns } });
      say($('#kept'), `Saved in this browser: TrainingSession.load('${name}') opens it in a page of this site.`);
    } catch (error) {
      say($('#train-words'), adviceFor(error));
    }
  }
}

/** @param {Points} points @returns {Points} */
const thinned = (points) => (points.length > MOST_POINTS ? points.filter((_, i) => i % 2 === 1) : points);

/** @param {string} name @param {BlobPart} part */
export function download(name, part) {
  const url = URL.createObjectURL(new Blob([part]));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
