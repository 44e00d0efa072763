/**
 * A keep list: what a shrunk build holds, one thing a line, to be printed, edited, merged and read back.
 *
 *   operator ai.onnx.Gemm
 *   pass fold
 *   optimizer adamw
 *   feature export
 *
 * ONNX Runtime's required_operators.config is read, too: DOMAIN;OPSET;NAME,NAME.
 */

import { TrainletError } from '../../base/errors.js';

export const KINDS = /** @type {const} */ (['operator', 'pass', 'optimizer', 'loss', 'feature']);

/** @typedef {(typeof KINDS)[number]} Kind */
/** @typedef {Record<Kind, Set<string>>} Keep */

/** @returns {Keep} */
export const keepNothing = () => /** @type {Keep} */ (Object.fromEntries(KINDS.map((kind) => [kind, new Set()])));

/** Adds what `other` keeps. @param {Keep} keep @param {Keep} other */
export function merge(keep, other) {
  for (const kind of KINDS) for (const name of other[kind]) keep[kind].add(name);
}

/** @param {Keep} keep */
export function printKeep(keep) {
  const lines = KINDS.flatMap((kind) => [...keep[kind]].sort().map((name) => `${kind} ${name}`));
  return `${lines.join('\n')}\n`;
}

/**
 * @param {string} file its name, for errors
 * @param {string} text
 * @param {Keep} known all that there is
 * @returns {Keep}
 */
export function readKeep(file, text, known) {
  const keep = keepNothing();
  text.split(/\r?\n/).forEach((line, i) => {
    const words = line.replace(/#.*/, '').trim();
    if (!words) return;
    const where = `${file}, line ${i + 1}`;
    for (const [kind, name] of words.includes(';') ? runtimeLine(where, words) : [ourLine(where, words)])
      add(where, keep, kind, name, known);
  });
  return keep;
}

/** @param {string} where @param {string} line @returns {[Kind, string]} */
function ourLine(where, line) {
  const [kind, name, ...more] = line.split(/\s+/);
  if (KINDS.some((it) => it === kind) && name && !more.length) return [/** @type {Kind} */ (kind), name];
  throw wrong(`${where}: '${line.slice(0, 80)}' is not one of ${KINDS.join(', ')} and a name`);
}

/**
 * DOMAIN;OPSET[,OPSET];NAME,NAME, where a name may be followed by JSON about its types.
 * @param {string} where @param {string} line @returns {[Kind, string][]}
 */
function runtimeLine(where, line) {
  const [domain, opsets, ...names] = line.split(';');
  if (!names.length || !/^[\d,\s]+$/.test(opsets))
    throw wrong(`${where}: '${line.slice(0, 80)}' is not DOMAIN;OPSET;NAME,NAME`);
  const list = withoutTypes(names.join(';')).split(',');
  return list.map((name) => ['operator', `${domain.trim() || 'ai.onnx'}.${name.trim()}`]);
}

/** Without what stands in braces, one within another. @param {string} text @returns {string} */
function withoutTypes(text) {
  const without = text.replace(/\{[^{}]*\}/g, '');
  return without === text ? text : withoutTypes(without);
}

/** @param {string} where @param {Keep} keep @param {Kind} kind @param {string} name @param {Keep} known */
function add(where, keep, kind, name, known) {
  if (!known[kind].has(name)) throw wrong(`${where}: there is no ${kind} ${name.slice(0, 80)}`);
  keep[kind].add(name);
}

/** @param {string} message */
const wrong = (message) => new TrainletError('invalid-argument', message);
