/**
 * Shows a training in the terminal: a bar that is drawn over, or a plain line now and then where the output is no
 * terminal.
 */

import { printable } from './terminal.js';

/** @import { BatchEvent, CheckpointEvent, EpochEvent } from '../types.js' */

const BAR_WIDTH = 24;
const PLAIN_EVERY_MS = 5000;
const DRAW_EVERY_MS = 60;
const SMOOTHING = 0.95;

/** A share as 97.12 %. @param {number} share */
export const percent = (share) => `${(100 * share).toFixed(2)} %`;

/** @param {number} ms */
export function duration(ms) {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

export class Progress {
  #out;
  #shownAt = 0;
  /** Means over the last batches, for a number that can be read. @type {Record<string, number>} */
  #recent = {};

  /** @param {NodeJS.WriteStream} out */
  constructor(out) {
    this.#out = out;
  }

  /** @param {BatchEvent} event */
  onBatch = (event) => {
    for (const [name, value] of Object.entries(event.metrics)) {
      this.#recent[name] = SMOOTHING * (this.#recent[name] ?? value) + (1 - SMOOTHING) * value;
    }
    const now = performance.now();
    const wait = this.#out.isTTY ? DRAW_EVERY_MS : PLAIN_EVERY_MS;
    if (now - this.#shownAt < wait && event.batch !== event.batches) return;
    this.#shownAt = now;
    const line = printable(this.#line(event));
    this.#out.write(this.#out.isTTY ? `\r${line.slice(0, this.#out.columns - 1)}\x1b[K` : `${line}\n`);
  };

  /** @param {EpochEvent} event */
  onEpoch = ({ epoch, epochs, metrics }) => {
    this.end();
    this.#out.write(`${printable(`epoch ${epoch + 1}/${epochs} done: ${describe(metrics)}`)}\n`);
  };

  /** @param {CheckpointEvent} event */
  onCheckpoint = ({ error, retryMs }) => {
    if (!error || !retryMs) return; // the last one's error ends the fit
    this.end();
    this.#out.write(`${printable(`not saved: ${error.message}; training goes on, and it is tried again`)}\n`);
  };

  /** Leaves the bar's line. */
  end() {
    if (this.#out.isTTY) this.#out.write('\n');
  }

  /** @param {BatchEvent} event */
  #line({ epoch, epochs, batch, batches, samplesPerSecond, etaMs }) {
    const parts = [
      `epoch ${epoch + 1}/${epochs}`,
      batches ? `${bar(batch / batches)} ${batch}/${batches}` : `batch ${batch}`,
    ];
    parts.push(describe(this.#recent), `${Math.round(samplesPerSecond).toLocaleString('en')} samples/s`);
    if (etaMs !== undefined) parts.push(`ETA ${duration(etaMs)}`);
    return parts.join('  ');
  }
}

/** @param {number} share */
const bar = (share) => '█'.repeat(Math.round(BAR_WIDTH * share)).padEnd(BAR_WIDTH, '░');

/** @param {Readonly<Record<string, number>>} metrics */
export const describe = (metrics) =>
  Object.entries(metrics)
    .map(([name, value]) => `${name} ${name.endsWith('accuracy') ? percent(value) : value.toFixed(4)}`)
    .join('  ');
