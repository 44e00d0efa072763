// Shows a run: its state in a sentence, charts of what it plots, its console with pictures, files that it offers.

import { Chart } from '../demo/chart.js';
import { makePad } from './pad.js';
import { run } from './run.js';

const POINTS_MOST = 600;

/** @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {Record<string, any>} [properties] */
const make = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);

export class Output {
  #root;
  #status = make('p', { className: 'status' });
  #charts = make('div', { className: 'charts' });
  #console = make('div', { className: 'console', tabIndex: 0 });
  #files = make('div', { className: 'tools' });
  /** @type {Map<string, { names: string[], points: number[][][], count: number, every: number, chart: Chart }>} */
  #plots = new Map();
  #addresses = [];
  #isShown = true;
  /** @type {ReturnType<typeof run> | undefined} */
  #running;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    this.#status.setAttribute('role', 'status');
    this.#console.setAttribute('role', 'log');
    this.#console.setAttribute('aria-label', 'Console');
    root.append(this.#status, this.#charts, this.#console, this.#files);
    this.#console.hidden = true;
  }

  /**
   * Runs blocks of code; of those before the last nothing is shown but errors.
   * @param {string[]} blocks
   * @param {{ files?: File[], ended?: (event: any) => void }} [options] `ended` is told when it no longer runs
   */
  start(blocks, { files, ended = () => {} } = {}) {
    this.stop();
    this.clear();
    this.#isShown = blocks.length === 1;
    this.#say(this.#isShown ? 'Running …' : 'Running the blocks above first …');
    this.#root.setAttribute('aria-busy', 'true');
    let isOver = false;
    this.#running = run(
      blocks,
      (event) => {
        this.#hear(event, blocks.length);
        if (isOver || !['ended', 'failed', 'stopped'].includes(event.type)) return;
        isOver = true;
        this.#root.setAttribute('aria-busy', 'false');
        ended(event);
      },
      files,
    );
  }

  /** Ends the worker, whether it computes or waits. */
  stop() {
    this.#running?.stop();
    this.#running = undefined;
  }

  clear() {
    for (const address of this.#addresses.splice(0)) URL.revokeObjectURL(address);
    this.#plots.clear();
    for (const part of [this.#charts, this.#console, this.#files]) part.replaceChildren();
    this.#console.hidden = true;
    this.#say('');
  }

  #say(text, isWrong = false) {
    this.#status.textContent = text;
    this.#status.classList.toggle('wrong', isWrong);
  }

  #hear(event, count) {
    if (event.type === 'block') {
      this.#isShown = event.block === count - 1;
      if (this.#isShown) this.#say('Running …');
    } else if (event.type === 'ended') this.#say(`Done in ${(event.ms / 1000).toFixed(event.ms < 995 ? 2 : 1)} s.`);
    else if (event.type === 'stopped') this.#say('Stopped, with all that it had started.');
    else if (event.type === 'failed') this.#fail(event, count);
    else if (this.#isShown || event.type === 'draw') this.#show(event);
  }

  #fail({ text, code, line, block }, count) {
    const where = line ? ` in line ${line}${block < count - 1 ? ' of a block above' : ''}` : '';
    this.#say(`It ended with an error${where}.`, true);
    this.#print('error', code ? `${text} (${code})` : text);
  }

  #show(event) {
    if (event.type === 'print') this.#print(event.level, event.text);
    if (event.type === 'plot') this.#plot(event.values);
    if (event.type === 'show') this.#picture(event);
    if (event.type === 'draw') this.#line(makePad(event, event.answer));
    if (event.type === 'download') this.#offer(event);
  }

  #line(element) {
    this.#console.hidden = false;
    const isAtEnd = this.#console.scrollHeight - this.#console.scrollTop - this.#console.clientHeight < 40;
    this.#console.append(element);
    if (isAtEnd) this.#console.scrollTop = this.#console.scrollHeight;
  }

  #print(level, text) {
    this.#line(make('pre', { className: level, textContent: text }));
  }

  #picture({ width, height, pixels, caption }) {
    const canvas = make('canvas', { width, height });
    canvas.getContext('2d').putImageData(new ImageData(pixels, width, height), 0, 0);
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', caption || `a picture of ${width} by ${height} pixels`);
    if (width < 64) canvas.style.width = '64px';
    const figure = make('figure');
    figure.append(canvas, make('figcaption', { textContent: caption }));
    this.#line(figure);
  }

  #offer({ name, blob }) {
    const href = URL.createObjectURL(blob);
    this.#addresses.push(href);
    const size = blob.size < 1000 ? `${blob.size} bytes` : `${Math.round(blob.size / 1000).toLocaleString('en')} KB`;
    this.#files.append(make('a', { className: 'file', href, download: name, textContent: `Save ${name} (${size})` }));
  }

  /** Numbers that one call names are lines of one chart; when there are many points, every second one goes. */
  #plot(values) {
    const names = Object.keys(values);
    const key = names.join('\n');
    if (!this.#plots.has(key)) this.#plots.set(key, this.#newPlot(names));
    const plot = this.#plots.get(key);
    const at = ++plot.count;
    if (at % plot.every) return;
    names.forEach((name, i) => Number.isFinite(values[name]) && plot.points[i].push([at, values[name]]));
    if (plot.points[0].length > POINTS_MOST) {
      plot.points = plot.points.map((line) => line.filter((_, i) => i % 2));
      plot.every *= 2;
    }
    plot.chart.set(Object.fromEntries(plot.points.map((line, i) => [`s${i}`, line])), at);
  }

  #newPlot(names) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('role', 'img');
    const caption = make('figcaption');
    names.forEach((name, i) => caption.append(make('span', { className: `key s${i}`, textContent: name })));
    const figure = make('figure');
    figure.append(caption, svg);
    this.#charts.append(figure);
    const chart = new Chart(/** @type {SVGSVGElement} */ (svg), {
      series: names.map((name, i) => ({ key: `s${i}`, name })),
      format: (value) => Number(value.toPrecision(3)).toString(),
      bounds: (low, high) => [low >= 0 && low < high / 2 ? 0 : low, high > low ? high : low + 1],
      unit: 'point',
    });
    return { names, points: names.map(() => []), count: 0, every: 1, chart };
  }
}
