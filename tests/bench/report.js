// What a measured row says: medians with spread, ratios, shares of the limits; as data for build/bench.json and as tables for the terminal.

import { CONTENDERS, isOurs, isPeer } from './contenders.js';
import { WORK } from './contenders/peak.js';
import { roundRatio, spread } from './statistics.js';

/** The limits of a place in this row's rounds: Gflop/s and GB/s, from the fastest round. */
function limitsIn(entrants, place) {
  const fastest = (name) => {
    const found = entrants.find((e) => e.limit && e.place === place && e.contender === name && !e.error);
    return found ? WORK[name] / Math.min(...found.ms.filter(Boolean)) / 1e6 : undefined;
  };
  return { simdGflops: fastest('simd-peak'), relaxedGflops: fastest('relaxed-peak'), copyGBs: fastest('memory-copy') };
}

/** Bytes that a step must move for the weights alone: each trained value's weight and gradient are read and written, and so is each of its moments. */
function trafficBytes({ graph, trains, optimizer }) {
  const trained = [...graph.weights].filter(([name]) => trains(name)).reduce((sum, [, { data }]) => sum + data.length, 0);
  return trained * 4 * (2 + 2 + (optimizer.type === 'sgd' ? 0 : 4));
}

/** The best peer of a place among those that train the same network: by the ratios of the rounds, without ours by the medians. */
function bestPeer(results) {
  const peers = results.filter((r) => isPeer(r.contender) && r.ms && !r.disagrees);
  return peers.sort((a, b) => (a.timesOurs ?? a.ms.median) - (b.timesOurs ?? b.ms.median))[0];
}

function resultOf(entrant, task) {
  const times = entrant.ms.filter(Boolean);
  const base = { contender: entrant.contender, title: CONTENDERS[entrant.contender].title + (entrant.note ? ` (${entrant.note})` : ''), place: entrant.place.name };
  if (entrant.error || times.length === 0) return { ...base, error: entrant.error ?? 'no round was measured' };
  const ms = spread(times);
  const { losses, difference, disagrees, firstStepMs, residentBytes, memory, ms: rounds } = entrant;
  return {
    ...base, ms, rounds, gflops: task.mflop / ms.median, bestGflops: task.mflop / ms.best, firstStepMs, residentBytes,
    plannedPeakBytes: memory?.peakBytes, weightTrafficGBs: task.forward ? undefined : trafficBytes(task) / ms.best / 1e6, losses, lossDifference: difference, disagrees,
  };
}

/** A row as it stands in build/bench.json. */
export function rowReport(task, entrants) {
  const places = [...new Set(entrants.map((e) => e.place))].map((place) => {
    const results = entrants.filter((e) => e.place === place && !e.limit).map((e) => resultOf(e, task));
    const limits = limitsIn(entrants, place);
    const ours = results.find((r) => isOurs(r.contender) && r.ms);
    if (ours) {
      ours.shareOfPeak = limits.simdGflops && ours.bestGflops / limits.simdGflops;
      for (const result of results.filter((r) => r !== ours && r.ms)) {
        result.timesOurs = roundRatio(ours.rounds, result.rounds);
        result.bestTimesOurs = result.ms.best / ours.ms.best;
      }
    }
    const best = bestPeer(results);
    return { place: place.name, limits, bestPeer: best?.contender, bestPeerTimesOurs: best?.timesOurs, results };
  });
  return { row: task.name, title: task.title, mflop: task.mflop, batch: task.graph.batch, places };
}

const number = (value, digits = 1) => (value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits));
const few = (ms) => number(ms, ms < 10 ? 2 : ms < 1000 ? 1 : 0);
const mib = (bytes) => number(bytes === undefined ? undefined : bytes / 2 ** 20);

/** Columns padded: the first to the left, the others to the right. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : i === row.length - 1 && row.length < widths.length ? cell : cell.padStart(widths[i]))).join('  ')).join('\n');
}

function placeTable({ place, limits, results }) {
  const rows = [[place, 'ms a step', 'quartiles', 'best', 'GFLOP/s', 'of ours', 'best/best', 'first step ms', 'RSS MiB', 'plan MiB', 'losses']];
  for (const r of results) {
    if (!r.ms) rows.push([`  ${r.title}`, r.error]);
    else {
      const agrees = r.disagrees ? `DIFFER by ${number(r.lossDifference, 4)}` : 'agree';
      rows.push([`  ${r.title}`, few(r.ms.median), `${few(r.ms.low)}–${few(r.ms.high)}`, few(r.ms.best), number(r.gflops), r.timesOurs ? `×${number(r.timesOurs, 2)}` : '',
        r.bestTimesOurs ? `×${number(r.bestTimesOurs, 2)}` : '',         few(r.firstStepMs), mib(r.residentBytes), mib(r.plannedPeakBytes), agrees]);
    }
  }
  const ours = results.find((r) => isOurs(r.contender) && r.ms);
  const share = ours?.shareOfPeak ? `; our best round: ${number(100 * ours.shareOfPeak)} % of it` : '';
  const traffic = ours?.weightTrafficGBs > 5 ? `; weights, gradients and moments move at ${number(ours.weightTrafficGBs)} GB/s` : '';
  const limit = limits.simdGflops ? `\n  limits: mul + add ${number(limits.simdGflops)} GFLOP/s${share}; relaxed madd ${number(limits.relaxedGflops)}; copy ${number(limits.copyGBs)} GB/s${traffic}` : '';
  return table(rows) + limit;
}

export function rowText(report) {
  return `\n${report.row}: ${report.title} (${number(report.mflop)} MFLOP a step)\n${report.places.map(placeTable).join('\n')}`;
}

/** ms of ours beside the best peer's, all rows. */
export function summaryText(rows) {
  const lines = rows.flatMap(({ row, places }) => places.filter((p) => p.bestPeer && p.bestPeerTimesOurs).map((p) => {
    const [ours, best] = [p.results.find((r) => isOurs(r.contender)), p.results.find((r) => r.contender === p.bestPeer)];
    return [row, p.place, few(ours.ms.median), few(best.ms.median), best.title, `×${number(p.bestPeerTimesOurs, 2)}`, `×${number(best.bestTimesOurs, 2)}`];
  }));
  return lines.length ? `\n${table([['', 'where', 'ours ms', 'best peer ms', 'best peer', 'its time / ours', 'best / best'], ...lines])}` : '';
}

/** What a page downloads, in KB of brotli. */
export function sizesText(sizes) {
  const kb = (bytes) => (bytes / 1000).toFixed(0);
  const rows = Object.entries(sizes).map(([name, { js, wasm, total }]) => [CONTENDERS[name].title, kb(js), kb(wasm), kb(total)]);
  return `\n${table([['KB to download, brotli', 'JavaScript', 'wasm', 'together'], ...rows])}`;
}
