/**
 * Shows a training in the terminal: a bar that is drawn over, or a plain line now and then where the output is no
 * terminal.
 */

import { printable } from './terminal.js';

/** @import { BatchEvent, CheckpointEvent, EpochEvent } from '../types.js' */

const BAR_WIDTH = 24;
/** A narrower bar shows less than the speed does: that goes first. */
const BAR_LEAST = 8;
/** The width of a terminal that does not report one. */
const COLUMNS = 80;
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
    const columns = this.#out.isTTY ? (this.#out.columns || COLUMNS) - 1 : Infinity;
    const line = printable(this.#line(event, columns));
    this.#out.write(this.#out.isTTY ? `\r${line.slice(0, columns)}\x1b[K` : `${line}\n`);
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

  /**
   * The progress line, cut to the columns but always with the remaining time.
   * @param {BatchEvent} event @param {number} columns
   */
  #line({ epoch, epochs, batch, batches, samplesPerSecond, etaMs }, columns) {
    const done = batches ? `${batch}/${batches}` : `batch ${batch}`;
    const speed = `${Math.round(samplesPerSecond).toLocaleString('en')} samples/s`;
    const end = etaMs === undefined ? [] : [`ETA ${duration(etaMs)}`];
    const metrics = describe(this.#recent);
    const parts = [`epoch ${epoch + 1}/${epochs}`, done, metrics, speed, ...end];
    const room = () => columns - parts.join('  ').length - 1;
    if (room() < (batches ? BAR_LEAST : 0)) parts.splice(parts.indexOf(speed), 1);
    if (room() < -1) parts.splice(parts.indexOf(metrics), 1);
    if (batches && room() > 0) parts[1] = `${bar(batch / batches, Math.min(BAR_WIDTH, room()))} ${done}`;
    return parts.join('  ');
  }
}

/** @param {number} share @param {number} width */
const bar = (share, width) => '█'.repeat(Math.round(width * share)).padEnd(width, '░');

/** @param {Readonly<Record<string, number>>} metrics */
export const describe = (metrics) =>
  Object.entries(metrics)
    .map(([name, value]) => `${name} ${name.endsWith('accuracy') ? percent(value) : value.toFixed(4)}`)
    .join('  ');
