// Small changes of one place in C or JavaScript: an operator, a number, a condition, an operand or a statement dropped.

import { COMPARED, matching, otherNumbers } from './mutate.js';

/** @typedef {import('./mutate.js').Mutant} Mutant */

const OPPOSITE = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' };
const COMPARED_IN_JS = { ...COMPARED, '===': ['!=='], '!==': ['==='] };
const JOINED = { '&&': '||', '||': '&&', '??': '&&' };
const ASSIGNED = { '+=': ['-=', '='], '-=': ['+='], '*=': ['='], '|=': ['='], '&=': ['='], '??=': ['='] };
/** Lines that matter where memory has run out alone, which tests/c/allocations.c holds, or that are no code. */
const LEFT_ALONE = /^.*(?:out_of_memory\(|OUT_OF_MEMORY|arena->failed|^import |^#include|^#define|^#pragma).*$/gm;
const COMMENT_OR_TEXT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/;
const REGEXP = /(?<=[(,=:[!&|?{};]\s*|return )\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/;
const LITERAL = new RegExp(`${COMMENT_OR_TEXT.source}|${REGEXP.source}`, 'g');

const blank = (text) => text.replace(/[^\n]/g, ' ');
/** Two quotes stay, so that the place is an operand still. */
const emptied = (text) => (/^\/[/*]/.test(text) ? blank(text) : `"${blank(text.slice(2))}"`);

/** Text of the same length without comments, and without what literals hold. @param {string} text */
export function bareOf(text) {
  return withoutTemplates(text.replace(LITERAL, emptied)).replace(LEFT_ALONE, blank);
}

/** Sentences and names that are made of pieces. @param {string} text */
function withoutTemplates(text) {
  let bare = text;
  for (let from = bare.indexOf('`'); from >= 0; from = bare.indexOf('`', from)) {
    let end = from + 1;
    while (end < bare.length && bare[end] !== '`') {
      if (bare.startsWith('${', end)) end = templateEnd(bare, end + 1);
      else end += bare[end] === '\\' ? 2 : 1;
    }
    bare = bare.slice(0, from) + emptied(bare.slice(from, end + 1)) + bare.slice(end + 1);
  }
  return bare;
}

/** Behind the bracket that closes the one at `at`, with templates in it. @param {string} text @param {number} at */
function templateEnd(text, at) {
  let depth = 0;
  for (let i = at, inside = false; i < text.length; i++) {
    if (text[i] === '`') inside = !inside;
    else if (text[i] === '{') depth++;
    else if (text[i] === '}' && --depth === 0) return i + 1;
  }
  return text.length;
}

const BEFORE = /(?:[(,;[{?:]|&&|\|\||\?\?|=>| =|\breturn|\bawait)\s*$/;

/** Finds the beginning of the operand that ends at `end`. @param {string} bare @param {number} end */
function startOf(bare, end) {
  let depth = 0;
  for (let i = end; i > 0; i--) {
    if (depth === 0 && i < end && /[^\s.=>]/.test(bare[i]) && BEFORE.test(bare.slice(Math.max(0, i - 12), i))) return i;
    if (')]}'.includes(bare[i - 1])) depth++;
    else if ('([{'.includes(bare[i - 1])) depth--;
    if (depth < 0 || bare[i - 1] === ';') return i;
  }
  return 0;
}

/** Finds the end of the operand that begins at `at`. @param {string} bare @param {number} at */
function endOf(bare, at) {
  let depth = 0;
  for (let i = at; i < bare.length; i++) {
    if (depth === 0 && /^(?:[,;)\]}]|\s+(?:&&|\|\||\?\?|[?:]) ?)/.test(bare.slice(i, i + 30))) return i;
    if ('([{'.includes(bare[i])) depth++;
    else if (')]}'.includes(bare[i])) depth--;
  }
  return bare.length;
}

/** All changes of a file, in the order of their places. @param {string} text @returns {Mutant[]} */
export function changesOf(text) {
  const bare = bareOf(text);
  /** @type {Mutant[]} */
  const found = [];
  const add = (kind, at, length, to) => found.push({ at, length, to, kind });
  for (const change of [operators, numbers, conditions, joined, statements]) change(text, bare, add);
  const key = ({ at, length, to }) => `${at} ${length} ${to}`;
  return [...new Map(found.map((one) => [key(one), one])).values()].sort(
    (a, b) => a.at - b.at || a.to.localeCompare(b.to),
  );
}

function operators(_, bare, add) {
  for (const m of bare.matchAll(/(?<=[\w)\]] )[+\-*/%](?= [\w(\-!*&[])/g)) add('operator', m.index, 1, OPPOSITE[m[0]]);
  for (const m of bare.matchAll(/(?<= )(?:[<>]=?|[=!]==?)(?= )/g))
    for (const to of COMPARED_IN_JS[m[0]]) add('comparison', m.index, m[0].length, to);
  for (const m of bare.matchAll(/(?<= )(?:[+\-*|&]|\?\?)=(?= )/g)) {
    const head = bare.lastIndexOf('for (', m.index);
    if (head >= 0 && m.index < matching(bare, head + 4)) continue; /* another step may never end */
    for (const to of ASSIGNED[m[0]]) add('accumulation', m.index, m[0].length, to);
  }
}

function numbers(_, bare, add) {
  for (const m of bare.matchAll(/(?<![\w.\])>])(0x[\da-f]+|\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)(n|f|u)?(?![\w.])/gi)) {
    const before = bare.slice(bare.lastIndexOf('\n', m.index) + 1, m.index);
    if (/^\s*(?:static |const )*\w+ [ *]*\w+\[$|\bcase $/.test(before)) continue; /* the size of an array */
    const number = m[1].replaceAll('_', '');
    const others = /^0x/i.test(number) ? [String(Number(number) + 1)] : otherNumbers(number);
    for (const to of others) add('number', m.index, m[0].length, to + (m[2] ?? ''));
  }
  for (const m of bare.matchAll(/\b(?:true|false)\b/g))
    add('truth', m.index, m[0].length, m[0] === 'true' ? 'false' : 'true');
  for (const m of bare.matchAll(/(?<=[\s(!])!(?=[\w(.])/g)) add('truth', m.index, 1, '');
}

function conditions(text, bare, add) {
  for (const m of bare.matchAll(/\bif (?=\()/g)) {
    const [from, end] = [m.index + 4, matching(bare, m.index + 3)];
    add('condition', from, end - from, 'false');
  }
  for (const m of bare.matchAll(/\s\? /g)) {
    let from = startOf(bare, m.index);
    while (/(?:&&|\|\||\?\?)\s*$/.test(bare.slice(0, from)))
      from = startOf(bare, bare.slice(0, from).search(/\s*\S\S\s*$/));
    add('condition', from, m.index - from, `!(${text.slice(from, m.index)})`);
  }
}

/** && and the like: another, or one of the operands alone. */
function joined(_, bare, add) {
  for (const m of bare.matchAll(/(\s+)(&&|\|\||\?\?)(\s+)/g)) {
    const at = m.index + m[1].length;
    add('joined', at, 2, JOINED[m[2]]);
    const end = endOf(bare, m.index + m[0].length);
    add('operand dropped', m.index, end - m.index, '');
    const from = startOf(bare, m.index);
    add('operand dropped', from, m.index + m[0].length - from, '');
  }
  for (const m of bare.matchAll(/\?\.(?=[\w#[(])/g)) {
    const dot = /[\w#]/.test(bare[m.index + 2]);
    add('joined', m.index, 2, dot ? '.' : '');
  }
}

/** Calls and assignments in a line of their own. */
function statements(_, bare, add) {
  for (const m of bare.matchAll(/^[ \t]+((?:await )?[\w#.>*-]+(?:\([^;{}]*\)|(?:\[\w+\])? = [^;{}]+));$/gm))
    if (!/^(?:return|break|continue|const|let|throw)\b/.test(m[1]))
      add('statement dropped', m.index + m[0].length - m[1].length - 1, m[1].length, '');
}
