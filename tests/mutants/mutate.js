// Mutants of C text: each is one small change of a place (another sign, factor, axis, comparison, operator or order of
// inputs).

/** @typedef {{ at: number, length: number, to: string, kind: string }} Mutant */

/** Text of the same length without comments and, in `bare`, without the contents of strings. */
export function withoutComments(text) {
  const blank = (s) => s.replace(/[^\n]/g, ' ');
  const code = text.replace(/"(?:[^"\\\n]|\\.)*"|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (s) => (s[0] === '"' ? s : blank(s)));
  return { code, bare: code.replace(/"(?:[^"\\\n]|\\.)*"/g, (s) => `"${' '.repeat(s.length - 2)}"`) };
}

/** The bodies of functions: [start, end, name]. */
export function functionsOf(bare) {
  const found = [];
  for (const m of bare.matchAll(/^[a-zA-Z][^\n;={}]*?\b(\w+)\([^;{}=]*\)\s*\{/gm)) {
    const start = m.index + m[0].length;
    found.push({ start, end: matching(bare, start - 1), name: m[1] });
  }
  return found;
}

/** The place of the bracket that closes the one at `at`. */
export function matching(bare, at) {
  let depth = 0;
  for (let i = at; i < bare.length; i++) {
    if ('([{'.includes(bare[i])) depth++;
    else if (')]}'.includes(bare[i]) && --depth === 0) return i;
  }
  return bare.length;
}

/** The end of the operand that begins at `at`: signs and casts, a name, number or bracket, and what hangs on it. */
function operandEnd(bare, at) {
  let i = at;
  for (;;) {
    const prefix = /^(?:[-!~*&]|\((?:const )?[a-z]\w*(?: \**)?\)(?=[\w(]))/.exec(bare.slice(i, i + 40));
    if (!prefix) break;
    i += prefix[0].length;
  }
  const word = /^[\w.]+/.exec(bare.slice(i, i + 80));
  if (word) i += word[0].length;
  else if (bare[i] === '(') i = matching(bare, i) + 1;
  else return -1;
  for (;;) {
    const member = /^(?:->|\.)\w+/.exec(bare.slice(i, i + 60));
    if (member) i += member[0].length;
    else if (bare[i] === '(' || bare[i] === '[') i = matching(bare, i) + 1;
    else return i;
  }
}

/** The end of the product (a * b / c) that begins at `at`. */
function productEnd(bare, at) {
  let end = operandEnd(bare, at);
  while (end > 0 && /^ [*/] /.test(bare.slice(end, end + 3))) end = operandEnd(bare, end + 3);
  return end;
}

const OPPOSITE = { '+': '-', '-': '+', '*': '/', '/': '*' };
export const COMPARED = {
  '<': ['<=', '>='],
  '>': ['>=', '<='],
  '<=': ['<', '>'],
  '>=': ['>', '<'],
  '==': ['!='],
  '!=': ['=='],
};
const ASSIGNED = { '+=': ['-=', '='], '-=': ['+='], '*=': ['=', '/='], '/=': ['*='], '|=': ['='], '&=': ['='] };
const EMITTED = {
  Add: ['Sub'],
  Sub: ['Add'],
  Mul: ['Div'],
  Div: ['Mul'],
  Neg: ['Identity'],
  ReduceSum: ['ReduceMean'],
  ReduceMean: ['ReduceSum'],
  Sin: ['Cos'],
  Cos: ['Sin'],
  Exp: ['Identity'],
  Log: ['Identity'],
  Sqrt: ['Identity'],
  Reciprocal: ['Identity'],
  Sign: ['Identity'],
  Abs: ['Identity'],
  Sigmoid: ['Tanh'],
  Tanh: ['Sigmoid'],
  Greater: ['GreaterOrEqual', 'LessOrEqual'],
  Less: ['LessOrEqual', 'GreaterOrEqual'],
  GreaterOrEqual: ['Greater', 'Less'],
  LessOrEqual: ['Less', 'Greater'],
  ReduceMax: ['ReduceMin'],
  ReduceMin: ['ReduceMax'],
  Floor: ['Ceil'],
};
const SYMMETRIC = new Set(['Add', 'Mul', 'Sum', 'Min', 'Max', 'Equal', 'And', 'Or', 'fmaxf', 'fminf', 'max', 'min']);
/**
 * Places that no result depends on: what is refused, how work is cut for threads, sizes of scratch memory, memory that
 * is out, sentences.
 */
const NO_RESULT = new RegExp(
  [
    /if \([^;{}]*\)\s*return (?:node_await|node_fail|node_invalid|check_emitted)\b[^;]*;/,
    /threads_grain\([^;]*?\)(?=[,)])/,
    /[^\n]*\b(?:\w*bytes\w* = |scratch_take\()[^\n]*/,
    /[^\n]*STATUS_OUT_OF_MEMORY[^\n]*/,
    /if \(!\w+(?: \|\| !\w+)*\) return [^;]*;/,
    /\bnode_(?:fail|invalid)\([^;]*;/,
    /\{0\}/,
    /\bSHAPE_TEXT\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** All mutants of a file, in the order of their places. @param {string} text @returns {Mutant[]} */
export function mutantsOf(text) {
  const { code, bare: all } = withoutComments(text);
  const bare = withoutGrains(all.replace(NO_RESULT, hidden));
  /** @type {Mutant[]} */
  const mutants = [];
  const add = (kind, at, length, to) => mutants.push({ at, length, to, kind });
  for (const m of bare.matchAll(/(?<=[\w)\]] )[+\-*/](?= [\w(\-!*&])/g)) {
    add('sign or factor', m.index, 1, OPPOSITE[m[0]]);
    const product = m[0] === '*' || m[0] === '/';
    const end = product ? operandEnd(all, m.index + 2) : productEnd(all, m.index + 2);
    if (end > 0) add(product ? 'factor dropped' : 'term dropped', m.index - 1, end - m.index + 1, '');
  }
  for (const m of bare.matchAll(/(?<= )[+\-*/|&]=(?= )/g)) {
    if (inForUpdate(all, m.index)) continue;
    for (const to of ASSIGNED[m[0]] ?? []) add('accumulation', m.index, 2, to);
  }
  for (const m of bare.matchAll(/(?<= )(?:[<>]=?|[=!]=)(?= )/g))
    for (const to of COMPARED[m[0]]) add('comparison', m.index, m[0].length, to);
  for (const m of bare.matchAll(/(?<=[(,?:={] ?|return |&& |\|\| )-(?=[\w(])/g)) add('sign', m.index, 1, '');
  for (const m of bare.matchAll(/(?<![\w.\])>])(\d+(?:\.\d*)?(?:e-?\d+)?)([fu]?)(?![\w.])/g)) {
    if (isDeclared(all, m.index) || /\bcase $/.test(all.slice(0, m.index))) continue;
    const fill = /\bmemset\([^;]*, $/.test(all.slice(all.lastIndexOf('\n', m.index) + 1, m.index));
    for (const to of fill ? ['63'] : otherNumbers(m[1])) add('number', m.index, m[0].length, to + m[2]);
  }
  for (const m of bare.matchAll(/\b(?:true|false)\b/g))
    add('truth', m.index, m[0].length, m[0] === 'true' ? 'false' : 'true');
  for (const m of bare.matchAll(/&&|\|\|/g)) add('truth', m.index, 2, m[0] === '&&' ? '||' : '&&');
  for (const m of bare.matchAll(/!(?=[a-z(])/g)) add('truth', m.index, 1, '');
  for (const m of bare.matchAll(/\bif (?=\()/g)) {
    const end = matching(all, m.index + 3) + 1;
    if (!/STATUS_|NULL|return;/.test(text.slice(end, end + 30)))
      add('condition', m.index + 3, end - m.index - 3, `(!${text.slice(m.index + 3, end)})`);
  }
  for (const m of code.matchAll(/"(\w+)"/g))
    for (const to of EMITTED[m[1]] ?? []) if (bare[m.index] === '"') add('operator', m.index, m[0].length, `"${to}"`);
  callMutants(text, all, bare, add);
  return mutants.sort((a, b) => a.at - b.at || a.to.localeCompare(b.to));
}

const hidden = (text) => text.replace(/[^\n]/g, '\u0001');

/** Without the second argument of threads_split, which says how much is worth a thread's while. */
function withoutGrains(bare) {
  let text = bare;
  for (const m of bare.matchAll(/\bthreads_split\(/g)) {
    const grain = argumentsOf(bare, m.index + m[0].length - 1)[1];
    if (grain) text = text.slice(0, grain[0]) + hidden(text.slice(...grain)) + text.slice(grain[1]);
  }
  return text;
}

/** Inputs swapped, and an emitted product or sum of one operand alone. */
function callMutants(text, all, bare, add) {
  for (const m of bare.matchAll(/\b(\w+)\(/g)) {
    if (/^(?:if|for|while|switch|return|sizeof|TRY|ATTRS|CASES)$/.test(m[1])) continue;
    const args = argumentsOf(all, m.index + m[0].length - 1);
    const of = (i) => text.slice(args[i][0], args[i][1]);
    const name = /^"\w+"$/.test(args[1] ? of(1) : '') ? of(1).slice(1, -1) : m[1];
    for (let i = 0; i + 1 < args.length; i++) {
      const plain = [of(i), of(i + 1)].every(
        (a) => /^[a-z]\w*(?:->\w+|\[\w+\]|\.\w+)*$/.test(a) || (m[1] === 'emit' && i >= 2),
      );
      if (plain && of(i) !== of(i + 1) && !SYMMETRIC.has(name))
        add('inputs swapped', args[i][0], args[i + 1][1] - args[i][0], `${of(i + 1)}, ${of(i)}`);
    }
    if (m[1] !== 'emit' || args.length !== 4 || !/^(?:Add|Sub|Mul|Div)$/.test(name)) continue;
    for (const kept of [2, 3]) add('operand dropped', args[1][0], args[3][1] - args[1][0], `"Identity", ${of(kept)}`);
  }
}

/** The places of the arguments of the call whose bracket opens at `at`. */
function argumentsOf(bare, at) {
  const end = matching(bare, at);
  const args = [];
  let from = at + 1;
  for (let i = at + 1, depth = 0; i <= end; i++) {
    if (i === end || (bare[i] === ',' && depth === 0)) {
      const lead = /^\s*/.exec(bare.slice(from, i))[0].length;
      if (from + lead < i) args.push([from + lead, i]);
      from = i + 1;
    } else if ('([{'.includes(bare[i])) depth++;
    else if (')]}'.includes(bare[i])) depth--;
  }
  return args;
}

/** @param {string} number @returns {string[]} */
export function otherNumbers(number) {
  if (/^\d+$/.test(number)) return number === '0' ? ['1'] : [String(Number(number) + 1), String(Number(number) - 1)];
  const x = Number(number);
  return x === 0 ? ['1.0'] : [String(x * 2).replace(/^(\d+)$/, '$1.0'), x === 1 ? '0.5' : '1.0'];
}

/** True at the size of an array that is being declared. */
function isDeclared(bare, at) {
  const line = bare.slice(bare.lastIndexOf('\n', at) + 1, at);
  return /^\s*(?:static |const )*[a-z]\w*[ *]+(?:[^=;]*, )?\**\w+(?:\[\w+\])*\[$/.test(line) || /^\s*enum /.test(line);
}

/** True in the last part of for (…; …; …), where another step never ends. */
function inForUpdate(bare, at) {
  const head = bare.lastIndexOf('for (', at);
  if (head < 0) return false;
  const end = matching(bare, head + 4);
  return at < end && bare.slice(head, at).split(';').length === 3;
}
