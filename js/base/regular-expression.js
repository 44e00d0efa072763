/**
 * Python's regular expressions (`re.fullmatch`) by a simulated automaton, for patterns that come from files: the time
 * grows with pattern times text, whatever the pattern. Groups capture nothing; back references, lookbehind, atomic
 * groups and conditions are refused.
 * Source: R. Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009).
 */

/**
 * @typedef {(letter: string) => boolean} Test
 * @typedef {(text: string[], at: number) => boolean} Place
 * @typedef {{ test: Test, next: number } | { place: Place, next: number } | { split: number[] } | { end: true }} State
 * @typedef {{ states: State[], start: number, work: { left: number } }} Automaton
 * @typedef {(next: number) => number} Part adds its states before the state `next`, and gives its first one
 */

/** States that an automaton may have, and steps that all texts may take: a second at the most. */
const MOST_STATES = 10_000;
export const MOST_STEPS = 2_000_000;

const CLASSES = /** @type {Record<string, RegExp>} */ ({
  d: /\p{Nd}/u,
  D: /\P{Nd}/u,
  s: /\s/u,
  S: /\S/u,
  w: /[\p{L}\p{N}_]/u,
  W: /[^\p{L}\p{N}_]/u,
});
const ESCAPES = /** @type {Record<string, string>} */ ({
  a: '\x07',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  0: '\0',
});

/** @type {Place} */
const isEdge = (text, at) => CLASSES.w.test(text[at - 1] ?? '') !== CLASSES.w.test(text[at] ?? '');
/** @type {Record<string, Place>} */
const PLACES = {
  '^': (_, at) => at === 0,
  $: (text, at) => at === text.length || (at === text.length - 1 && text[at] === '\n'),
  '\\A': (_, at) => at === 0,
  '\\Z': (text, at) => at === text.length,
  '\\b': isEdge,
  '\\B': (text, at) => !isEdge(text, at),
};

class Parser {
  /** @type {State[]} */
  states = [{ end: true }];
  #at = 0;
  #letters;
  #isPlace = false; // the last part matches no letter
  #ignoreCase = false;
  #dotAll = false;

  /** @param {string} pattern @param {{ left: number }} work */
  constructor(pattern, work) {
    this.work = work;
    this.#letters = [...pattern];
  }

  /** @param {string} text */
  #take(text) {
    const found = this.#letters.slice(this.#at, this.#at + text.length).join('') === text;
    if (found) this.#at += text.length;
    return found;
  }

  #next() {
    if (this.#at >= this.#letters.length) throw new Error('which ends too early');
    return this.#letters[this.#at++];
  }

  /** @param {RegExp} wanted what follows here, of the given letters */
  #read(wanted) {
    const [text] = wanted.exec(this.#letters.slice(this.#at).join('')) ?? [''];
    this.#at += [...text].length;
    return text;
  }

  /** @param {State} state */
  #add(state) {
    if (this.states.length >= MOST_STATES) throw new Error(`which has more than ${MOST_STATES} states`);
    return this.states.push(state) - 1;
  }

  whole() {
    for (const flag of this.#read(/^\(\?[ais]+\)/).slice(2, -1)) {
      if (flag === 'i') this.#ignoreCase = true;
      if (flag === 's') this.#dotAll = true;
    }
    const part = this.#choice();
    if (this.#at < this.#letters.length) throw new Error("which has a ')' without '('");
    return part;
  }

  /** @returns {Part} */
  #choice() {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return parts.length === 1 ? parts[0] : (next) => this.#add({ split: parts.map((part) => part(next)) });
  }

  /** @returns {Part} */
  #sequence() {
    /** @type {Part[]} */
    const parts = [];
    while (this.#at < this.#letters.length && !'|)'.includes(this.#letters[this.#at])) parts.push(this.#repeated());
    return (next) => parts.reduceRight((after, part) => part(after), next);
  }

  /** @returns {Part} */
  #repeated() {
    const part = this.#atom();
    const times = this.#read(/^(?:[*+?]|\{\d*,\d*\}|\{\d+\})/);
    if (!times) return part;
    if (this.#isPlace) throw new Error(`which has '${times}' behind a place`);
    if (this.#take('+')) throw new Error('which has a possessive quantifier');
    this.#take('?'); // a lazy one matches the same texts
    if (this.#read(/^(?:[*+?]|\{\d)/)) throw new Error('which repeats a repetition');
    const [least, most] = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[times] ?? boundsOf(times);
    if (least > most) throw new Error(`which repeats ${times}`);
    return repeat(part, least, most, (state) => this.#add(state), this.work);
  }

  /** @returns {Part} */
  #atom() {
    const letter = this.#next();
    this.#isPlace = false;
    if (letter === '(') return this.#group();
    if (letter === '[') return this.#oneOf(this.#set());
    if (letter === '.') return this.#oneOf((one) => this.#dotAll || one !== '\n');
    if ('*+?'.includes(letter)) throw new Error(`which has '${letter}' without anything to repeat`);
    const place = PLACES[letter === '\\' ? `\\${this.#letters[this.#at]}` : letter];
    this.#isPlace = place !== undefined;
    if (!place) return this.#oneOf(letter === '\\' ? this.#escape() : this.#same(letter));
    if (letter === '\\') this.#next();
    return (next) => this.#add({ place, next });
  }

  /** @param {Test} test @returns {Part} */
  #oneOf(test) {
    return (next) => this.#add({ test, next });
  }

  /** @param {string} letter @returns {Test} */
  #same(letter) {
    return this.#between(letter, letter);
  }

  /** @param {string} first @param {string} last @returns {Test} */
  #between(first, last) {
    const [from, to] = [first, last].map((letter) => Number(letter.codePointAt(0)));
    if (from > to) throw new Error(`which has the range ${first}-${last}`);
    const within = (/** @type {string} */ letter) => {
      const code = Number(letter.codePointAt(0));
      return code >= from && code <= to;
    };
    return this.#ignoreCase ? (letter) => casesOf(letter).some(within) : within;
  }

  /** Reads the part after a backslash. @returns {Test} */
  #escape() {
    const name = this.#next();
    if (CLASSES[name]) return (letter) => CLASSES[name].test(letter);
    return this.#same(this.#escaped(name));
  }

  /** @param {string} name @returns {string} */
  #escaped(name) {
    if (ESCAPES[name]) return ESCAPES[name];
    const digits = { x: 2, u: 4, U: 8 }[name];
    const code = digits && this.#read(new RegExp(`^[0-9a-fA-F]{${digits}}`));
    if (code && parseInt(code, 16) <= 0x10ffff) return String.fromCodePoint(parseInt(code, 16));
    if (/[a-zA-Z0-9]/.test(name)) throw new Error(`which has \\${name}`);
    return name;
  }

  /** A set in brackets. @returns {Test} */
  #set() {
    const inverted = this.#take('^');
    /** @type {Test[]} */
    const tests = [];
    do tests.push(this.#member());
    while (!this.#take(']'));
    return (letter) => tests.some((test) => test(letter)) !== inverted;
  }

  /** One letter, a class of them or a range. @returns {Test} */
  #member() {
    const first = this.#next();
    if (first === '\\' && CLASSES[this.#letters[this.#at]]) return this.#escape();
    const from = first === '\\' ? this.#inSet() : first;
    if (this.#letters[this.#at] !== '-' || this.#letters[this.#at + 1] === ']') return this.#same(from);
    this.#next();
    const last = this.#next();
    return this.#between(from, last === '\\' ? this.#inSet() : last);
  }

  #inSet() {
    const name = this.#next();
    return name === 'b' ? '\b' : this.#escaped(name);
  }

  /** @returns {Part} */
  #group() {
    const kind = this.#read(/^\?(?:P<\w+>|<?[=!]|[^<=!])?/);
    if (!/^(?:\?P<\w+>|\?[:=!])?$/.test(kind)) throw new Error(`which has (${kind}`);
    const ahead = '=!'.includes(kind.at(-1) ?? ':');
    const part = this.#choice();
    if (!this.#take(')')) throw new Error("which has a '(' without ')'");
    this.#isPlace = false;
    if (!ahead) return part;
    const wanted = kind === '?=';
    return (next) => {
      const automaton = { states: this.states, start: part(0), work: this.work };
      return this.#add({ place: memory((text, at) => runs(automaton, text, at, false) === wanted), next });
    };
  }
}

/** @param {string} times like {2,3} @returns {number[]} */
function boundsOf(times) {
  const [least, most = least] = times.slice(1, -1).split(',');
  return [Number(least || 0), most === '' ? Infinity : Number(most)];
}

/** @param {{ left: number }} work */
function spend(work) {
  if (--work.left < 0) throw new Error('which takes too many steps');
}

/** @param {string} letter */
const casesOf = (letter) =>
  [letter, letter.toLowerCase(), letter.toUpperCase()].filter((form) => [...form].length === 1);

/**
 * @param {Part} part @param {number} least @param {number} most @param {(state: State) => number} add
 * @param {{ left: number }} work
 * @returns {Part}
 */
function repeat(part, least, most, add, work) {
  return (next) => {
    let first = next;
    if (most === Infinity) {
      const loop = /** @type {{ split: number[] }} */ ({ split: [next] });
      first = add(loop);
      loop.split.unshift(part(first));
    } else for (let i = least; i < most; i++) first = add({ split: [part(first), next] });
    for (let i = 0; i < least; i++) {
      spend(work);
      first = part(first);
    }
    return first;
  };
}

/** Remembers what a lookahead found at each letter of the last text. @param {Place} place @returns {Place} */
function memory(place) {
  /** @type {string[]} */
  let known;
  /** @type {boolean[]} */
  let found;
  return (text, at) => {
    if (known !== text) [known, found] = [text, []];
    found[at] ??= place(text, at);
    return found[at];
  };
}

/**
 * Adds the states that are reached from one without a letter.
 * @param {Automaton} automaton @param {Set<number>} reached @param {number} first
 * @param {string[]} text @param {number} at
 */
function reach({ states, work }, reached, first, text, at) {
  const open = [first];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    spend(work);
    if (reached.has(index)) continue;
    reached.add(index);
    const state = states[index];
    if ('split' in state) open.push(...state.split);
    else if ('place' in state && state.place(text, at)) open.push(state.next);
  }
}

/**
 * Tells whether the automaton matches what begins at a letter: all of it, or a part.
 * @param {Automaton} automaton @param {string[]} text @param {number} at @param {boolean} whole
 */
function runs(automaton, text, at, whole) {
  /** @type {Set<number>} */
  let now = new Set();
  reach(automaton, now, automaton.start, text, at);
  for (; now.size && (whole ? at < text.length : !now.has(0)) && at < text.length; at++) {
    /** @type {Set<number>} */
    const after = new Set();
    for (const index of now) {
      const state = automaton.states[index];
      if ('test' in state && state.test(text[at])) reach(automaton, after, state.next, text, at + 1);
    }
    now = after;
  }
  return now.has(0);
}

/**
 * Reads a pattern. The function that it returns tells whether a whole text matches.
 * @param {string} pattern @param {{ left: number }} [work] the steps that are left, where others take of them too
 * @returns {(text: string) => boolean}
 * @throws {Error} whose message goes on from the pattern: "which has …"; so does the function, for too many steps
 */
export function fullMatch(pattern, work = { left: MOST_STEPS }) {
  const parser = new Parser(pattern, work);
  const part = parser.whole();
  const automaton = { states: parser.states, start: part(0), work: parser.work };
  return (text) => runs(automaton, [...text], 0, true);
}
