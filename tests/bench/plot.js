// The plots of a report as SVG: rows beside each other, or cost against batch, width, depth and size.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../tools/programs.mjs';

const PAPER = {
  style: { background: 'white', 'font-family': 'system-ui, sans-serif', 'font-size': '12px' },
  marginLeft: 90,
  marginTop: 30,
  width: 900,
};
const AXES = {
  batch: 'examples in a batch',
  width: 'width of a layer (2 hidden layers)',
  depth: 'hidden layers (of width 256)',
  size: 'parameters',
};

/** Plot makes a figure of legends and drawings; a file holds one drawing, so the legend's are put into it. */
async function draw(make) {
  const [Plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
  const { document } = parseHTML('<!doctype html><body></body>');
  const svg = make(Plot, document);
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return svg.outerHTML;
}

/** Each row: the time of every contender over ours, 1 being ours. */
function ratioPlot(Plot, document, rows) {
  const data = rows.flatMap(({ row, places }) =>
    places.flatMap(({ place, results }) =>
      results
        .filter((r) => r.timesOurs && !r.disagrees)
        .map((r) => ({
          row,
          place,
          contender: r.title,
          ratio: r.timesOurs,
          label: `${r.title} ×${r.timesOurs.toFixed(1)}`,
        })),
    ),
  );
  return Plot.plot({
    ...PAPER,
    document,
    height: 60 + 26 * data.length,
    marginRight: 330,
    x: { type: 'log', grid: true, label: 'time of a step over ours (1 = ours)', labelAnchor: 'left', tickFormat: '~g' },
    y: { axis: null },
    fy: { label: null },
    color: { domain: data.map((d) => d.contender) },
    marks: [
      Plot.ruleX([1]),
      Plot.barX(data, {
        x1: 1,
        x2: 'ratio',
        y: (d) => `${d.place} ${d.contender}`,
        fy: 'row',
        fill: 'contender',
        insetTop: 2,
        insetBottom: 2,
      }),
      Plot.text(data, {
        x: (d) => Math.max(d.ratio, 1),
        y: (d) => `${d.place} ${d.contender}`,
        fy: 'row',
        text: (d) => `${d.label}, ${d.place.split(' ')[0]}`,
        textAnchor: 'start',
        dx: 5,
      }),
    ],
  });
}

/** Milliseconds against the axis, both logarithmic, a line a contender, named at its end. */
function scalingPlot(Plot, document, axis, points) {
  const lines = Plot.line(points, { x: 'value', y: 'ms', stroke: 'contender', strokeWidth: 2 });
  return Plot.plot({
    ...PAPER,
    document,
    height: 420,
    marginRight: 260,
    x: { type: 'log', label: `${AXES[axis]} →`, labelAnchor: 'left', labelArrow: 'none', grid: true, tickFormat: '~s' },
    y: { type: 'log', label: '↑ ms a step', grid: true, tickFormat: '~g' },
    marks: [
      lines,
      Plot.dot(points, { x: 'value', y: 'ms', fill: 'contender' }),
      Plot.text(
        points,
        Plot.selectLast({
          x: 'value',
          y: 'ms',
          z: 'contender',
          text: 'contender',
          fill: 'contender',
          textAnchor: 'start',
          dx: 8,
        }),
      ),
    ],
  });
}

const save = (name, svg) => writeFileSync(join(root, 'build', name), svg);

export async function plotRows(rows) {
  if (!rows.some(({ places }) => places.some(({ results }) => results.some((r) => r.timesOurs)))) return [];
  mkdirSync(join(root, 'build'), { recursive: true });
  save('bench.svg', await draw((Plot, document) => ratioPlot(Plot, document, rows)));
  return ['build/bench.svg'];
}

/** points: { axis, value, contender, ms } */
export async function plotScaling(points) {
  const axes = [...new Set(points.map(({ axis }) => axis))];
  for (const axis of axes)
    save(
      `bench-${axis}.svg`,
      await draw((Plot, document) =>
        scalingPlot(
          Plot,
          document,
          axis,
          points.filter((p) => p.axis === axis),
        ),
      ),
    );
  return axes.map((axis) => `build/bench-${axis}.svg`);
}
