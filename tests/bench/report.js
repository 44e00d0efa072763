// Reports a measured row: medians with spread, ratios, shares of the limits; as data for build/bench.json and as tables
// for the terminal.

import { WORK } from './contenders/peak.js';
import { CONTENDERS, isOurs, isPeer } from './contenders.js';
import { median, roundRatio, spread } from './statistics.js';
import { stepOf } from './tasks.js';

/**
 * A step's time on the processor, which other programs do not stretch; not known everywhere, and not asked for when
 * several threads share the work.
 */
const processorTimeOf = ({ processorMs }) =>
  processorMs.length && processorMs.every((ms) => ms > 0) ? median(processorMs) : undefined;

/** The time that ratios are of. */
const timeOf = (entrant) => processorTimeOf(entrant) ?? median(entrant.ms.filter(Boolean));

/** The limits of a place in this row's rounds, in Gflop/s and GB/s: of the fastest round, for a limit is what is
 * possible. And the memory of a worker that does no more than measure them. */
function limitsIn(entrants, place) {
  const measured = (name) => {
    const found = entrants.find((e) => e.limit && e.place === place && e.contender === name && !e.error);
    if (!found) return undefined;
    const times = processorTimeOf(found) ? found.processorMs : found.ms.filter(Boolean);
    return WORK[name] / Math.min(...times) / 1e6;
  };
  const resident = entrants.filter((e) => e.limit && e.place === place && !e.error).map((e) => e.residentBytes);
  return {
    simdGflops: measured('simd-peak'),
    relaxedGflops: measured('relaxed-peak'),
    copyGBs: measured('memory-copy'),
    emptyBytes: Math.min(...resident),
  };
}

/** Bytes that a step must move for the weights alone: a trained value is read forward; its gradient is written; the
 * update reads the gradient, and reads and writes the value and each of its moments. */
function trafficBytes({ graph, trains, optimizer }) {
  const trained = [...graph.weights]
    .filter(([name]) => trains(name))
    .reduce((sum, [, { data }]) => sum + data.length, 0);
  return trained * 4 * (1 + 1 + 1 + 2 + (optimizer.type === 'sgd' ? 0 : 4));
}

/** The fastest peer of a place among those that train the same network. */
function bestPeer(results) {
  return results.filter((r) => isPeer(r.contender) && r.ms && !r.disagrees).sort((a, b) => a.stepMs - b.stepMs)[0];
}

function resultOf(entrant, task) {
  const times = entrant.ms.filter(Boolean);
  const base = {
    contender: entrant.contender,
    title: CONTENDERS[entrant.contender].title + (entrant.note ? ` (${entrant.note})` : ''),
    place: entrant.place.name,
  };
  if (entrant.error || times.length === 0) return { ...base, error: entrant.error ?? 'no round was measured' };
  const ms = spread(times);
  const { losses, difference, disagrees, firstStepMs, residentBytes, memory, ms: rounds } = entrant;
  const stepMs = timeOf(entrant);
  return {
    ...base,
    ms,
    rounds,
    processorMs: processorTimeOf(entrant),
    stepMs,
    gflops: task.mflop / stepMs,
    firstStepMs,
    residentBytes,
    plannedPeakBytes: memory?.peakBytes,
    weightTrafficGBs: task.forward ? undefined : trafficBytes(task) / stepMs / 1e6,
    losses,
    lossDifference: difference,
    disagrees,
  };
}

/** A row as it stands in build/bench.json. */
export function rowReport(task, entrants) {
  const places = [...new Set(entrants.map((e) => e.place))].map((place) => {
    const results = entrants.filter((e) => e.place === place && !e.limit).map((e) => resultOf(e, task));
    const limits = limitsIn(entrants, place);
    const ours = results.find((r) => isOurs(r.contender) && r.ms);
    if (ours) {
      ours.shareOfPeak = limits.simdGflops && ours.gflops / limits.simdGflops;
      for (const result of results.filter((r) => r !== ours && r.ms)) {
        result.timesOurs = result.stepMs / ours.stepMs;
        result.roundTimesOurs = roundRatio(ours.rounds, result.rounds);
      }
    }
    const best = bestPeer(results);
    return { place: place.name, limits, bestPeer: best?.contender, bestPeerTimesOurs: best?.timesOurs, results };
  });
  return { row: task.name, title: task.title, mflop: task.mflop, batch: task.graph.batch, places };
}

const number = (value, digits = 1) => (value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits));
const times = (ratio) => (ratio ? `×${number(ratio, 2)}` : '');
const few = (ms) => number(ms, ms === undefined || ms < 10 ? 2 : ms < 1000 ? 1 : 0);
const mib = (bytes) => number(bytes === undefined ? undefined : bytes / 2 ** 20);

/**
 * Columns padded: the first to the left, the others to the right. A row with too few cells ends in a remark of any
 * width.
 */
export function table(rows) {
  const whole = rows.filter((row) => row.length === rows[0].length);
  const widths = rows[0].map((_, column) =>
    Math.max(...(column === 0 ? rows : whole).map((row) => row[column].length)),
  );
  const pad = (row) => (cell, i) =>
    i === 0 ? cell.padEnd(widths[0]) : whole.includes(row) ? cell.padStart(widths[i]) : cell;
  return rows.map((row) => row.map(pad(row)).join('  ')).join('\n');
}

function placeTable({ place, limits, results }) {
  const rows = [
    [
      place,
      'ms a step',
      'quartiles',
      'best',
      'cpu ms',
      'GFLOP/s',
      'of ours',
      'first step ms',
      'RSS MiB',
      'plan MiB',
      'losses',
    ],
  ];
  for (const r of results) {
    if (!r.ms) rows.push([`  ${r.title}`, r.error]);
    else {
      const agrees = r.disagrees ? `DIFFER by ${number(r.lossDifference, 4)}` : 'agree';
      rows.push([
        `  ${r.title}`,
        few(r.ms.median),
        `${few(r.ms.low)}–${few(r.ms.high)}`,
        few(r.ms.best),
        few(r.processorMs),
        number(r.gflops),
        times(r.timesOurs),
        few(r.firstStepMs),
        mib(r.residentBytes),
        mib(r.plannedPeakBytes),
        agrees,
      ]);
    }
  }
  const ours = results.find((r) => isOurs(r.contender) && r.ms);
  const share = ours?.shareOfPeak ? `; ours: ${number(100 * ours.shareOfPeak)} % of it` : '';
  const traffic =
    ours?.weightTrafficGBs > 5 ? `; weights, gradients and moments move at ${number(ours.weightTrafficGBs)} GB/s` : '';
  const limit = limits.simdGflops
    ? `\n  limits: mul + add ${number(limits.simdGflops)} GFLOP/s${share}; ` +
      `relaxed madd ${number(limits.relaxedGflops)}; copy ${number(limits.copyGBs)} GB/s${traffic}; ` +
      `RSS of a worker with these loops alone ${mib(limits.emptyBytes)} MiB`
    : '';
  return table(rows) + limit;
}

export function rowText(report) {
  const tables = report.places.map(placeTable).join('\n');
  return `\n${report.row}: ${report.title} (${number(report.mflop)} MFLOP a step)\n${tables}`;
}

/** Time of a step of ours beside the best peer's, all rows. */
export function summaryText(rows) {
  const lines = rows.flatMap(({ row, places }) =>
    places
      .filter((p) => p.bestPeer && p.bestPeerTimesOurs)
      .map((p) => {
        const [ours, best] = [
          p.results.find((r) => isOurs(r.contender)),
          p.results.find((r) => r.contender === p.bestPeer),
        ];
        return [row, p.place, few(ours.stepMs), few(best.stepMs), best.title, times(p.bestPeerTimesOurs)];
      }),
  );
  return lines.length
    ? `\n${table([['', 'where', 'ours ms', 'best peer ms', 'best peer', 'its time / ours'], ...lines])}`
    : '';
}

/** A row of two contenders as ms, ms and the ratio; of steps the other place has the other one. */
function besideCells(rows, name, peer) {
  const results = rows.find(({ row }) => row === name)?.places.flatMap((place) => place.results) ?? [];
  const [ours, other] = ['trainlet', peer].map((contender) => results.find((r) => r.contender === contender && r.ms));
  const remark = other?.disagrees ? ' DIFFERS' : '';
  return [few(ours?.stepMs), few(other?.stepMs), ours && other ? times(other.stepMs / ours.stepMs) + remark : '–'];
}

/** Networks: inference beside onnxruntime-web, a step beside PyTorch. */
export function modelsText(names, rows) {
  const head = ['', 'inference, ms', 'onnxruntime-web', 'its / ours', 'step, ms', 'PyTorch', 'its / ours'];
  const lines = names.map((name) => [
    name,
    ...besideCells(rows, name, 'ort-graph'),
    ...besideCells(rows, stepOf(name), 'pytorch'),
  ]);
  return `\n${table([head, ...lines])}`;
}

/** Microseconds of a call, each size beside the others. */
export function callsText(place, rows) {
  const sizes = [...new Set(rows.map(({ floats }) => floats))];
  const cells = (way) => {
    const of = sizes.map((floats) => rows.find((row) => row.way === way && row.floats === floats));
    return of.flatMap(({ wall, processor }) => [number(wall), number(processor)]);
  };
  const head = [`${place}, µs`, ...sizes.flatMap((floats) => [`${floats.toLocaleString('en')} floats`, 'processor'])];
  return `\n${table([head, ...[...new Set(rows.map(({ way }) => way))].map((way) => [way, ...cells(way)])])}`;
}

/** Download of a page, in KB of brotli. */
export function sizesText(sizes) {
  const kb = (bytes) => (bytes / 1000).toFixed(0);
  const rows = Object.entries(sizes).map(([name, { js, wasm, total }]) => [
    CONTENDERS[name].title,
    kb(js),
    kb(wasm),
    kb(total),
  ]);
  return `\n${table([['KB to download, brotli', 'JavaScript', 'wasm', 'together'], ...rows])}`;
}
