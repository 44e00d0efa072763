// A small line chart in SVG: a few series over training steps, two grid lines, labels at the axes, a sentence for those
// who cannot see it.

const NS = 'http://www.w3.org/2000/svg';
const HEIGHT = 120,
  LEFT = 48,
  RIGHT = 10,
  TOP = 8,
  BOTTOM = 22;

/** @typedef {{ key: string, name: string }} Series   `key` is also the class that style.css colours
 *  @typedef {[step: number, value: number][]} Points */

export class Chart {
  #svg;
  #options;
  #data = {};
  #last = 0;
  #scheduled = false;

  /** @param {SVGSVGElement} svg
   * @param {{ series: Series[], format: (value: number) => string, bounds: (low: number, high: number) => [number,
   * number], unit?: string }} options  what is counted to the right is a `unit`, by default a step */
  constructor(svg, options) {
    this.#svg = svg;
    this.#options = options;
    new ResizeObserver(() => this.#schedule()).observe(svg);
  }

  /**
   * @param {Record<string, Points>} data  one list a series
   * @param {number} last  the step at the right edge; 0 while unknown
   */
  set(data, last) {
    this.#data = data;
    this.#last = last;
    this.#schedule();
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#draw();
    });
  }

  #draw() {
    const { series, format, bounds, unit = 'step' } = this.#options;
    const lines = series.map((s) => this.#data[s.key] ?? []);
    const values = lines.flat().map((p) => p[1]),
      last = this.#last;
    const [low, high] = values.length ? bounds(Math.min(...values), Math.max(...values)) : bounds(0, 1);
    const width = this.#svg.clientWidth || 300;
    const x = (step) => LEFT + (step / Math.max(1, last)) * (width - LEFT - RIGHT);
    const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);

    this.#svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    this.#svg.replaceChildren(
      ...[low, (low + high) / 2, high].flatMap((value) => [
        make('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
        make('text', { class: 'label', x: LEFT - 8, y: y(value) + 4, 'text-anchor': 'end' }, format(value)),
      ]),
      make('text', { class: 'label', x: LEFT, y: HEIGHT - 4 }, '0'),
      make(
        'text',
        { class: 'label', x: width - RIGHT, y: HEIGHT - 4, 'text-anchor': 'end' },
        last ? `${unit} ${last}` : `${unit}s`,
      ),
      ...lines.flatMap((points, i) =>
        drawSeries(
          series[i].key,
          points.map(([s, v]) => [x(s), y(v)]),
        ),
      ),
    );
    this.#svg.setAttribute('aria-label', this.#sentence(lines));
  }

  #sentence(lines) {
    const { series, format, unit = 'step' } = this.#options;
    const told = lines.flatMap((points, i) =>
      points.length
        ? [
            `${series[i].name} went from ${format(points[0][1])} to ${format(points.at(-1)[1])} ` +
              `over ${points.at(-1)[0]} ${unit}s`,
          ]
        : [],
    );
    return told.length ? `Line chart. ${told.join('. ')}.` : 'Line chart, empty until it learns.';
  }
}

function drawSeries(key, points) {
  if (!points.length) return [];
  const [x, y] = points.at(-1);
  return [
    make('polyline', { class: `line ${key}`, points: points.map((p) => p.map((v) => v.toFixed(1)).join()).join(' ') }),
    make('circle', { class: `end ${key}`, cx: x, cy: y, r: 3.5 }),
  ];
}

function make(name, attributes, text = '') {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}
