// JavaScript that was executed, by V8's own counts: a loop keeps the inputs that reach code that no other did.
import { readFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

const SOURCES = new URL('../../js/', import.meta.url).href;

export class Coverage {
  #session = new Session();
  /** The characters of each function that were executed, by `url from to`. @type {Map<string, Uint8Array>} */
  #functions = new Map();

  /** Before the sources are imported: it counts nothing of what was. */
  static async start() {
    const coverage = new Coverage();
    coverage.#session.connect();
    await coverage.#session.post('Profiler.enable');
    await coverage.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    return coverage;
  }

  /** True if code was executed since the last call that was not before. @param {boolean} remember it from now on */
  async isNew(remember) {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const own = result.filter(({ url }) => url.startsWith(SOURCES));
    const found = own.flatMap(({ url, functions }) => functions.map(({ ranges }) => this.#add(url, ranges, remember)));
    return found.some(Boolean);
  }

  /** @param {string} url @param {{ startOffset: number, endOffset: number, count: number }[]} ranges the whole first */
  #add(url, ranges, remember) {
    const [{ startOffset: first, endOffset: last }] = ranges;
    const key = `${url} ${first} ${last}`;
    const known = this.#functions.get(key) ?? new Uint8Array(last - first);
    const now = new Uint8Array(last - first);
    for (const { startOffset, endOffset, count } of ranges)
      now.fill(Number(count > 0), startOffset - first, endOffset - first);
    const isNew = now.some((done, i) => done > known[i]);
    if (!this.#functions.has(key) || (isNew && remember))
      this.#functions.set(key, remember ? known.map((done, i) => done | now[i]) : known);
    return isNew;
  }

  /**
   * Lines of a source, and the numbers of those with code of which nothing was executed.
   * @param {string} name in js/
   */
  async linesOf(name) {
    const url = `${SOURCES}${name}`;
    const text = await readFile(fileURLToPath(url), 'utf8');
    const done = new Uint8Array(text.length);
    const own = [...this.#functions].filter(([key]) => key.startsWith(`${url} `));
    const placed = own.map(([key, known]) => ({ from: Number(key.split(' ')[1]), known }));
    for (const { from, known } of placed.sort((a, b) => b.known.length - a.known.length)) done.set(known, from);
    const missed = [];
    let at = 0;
    const lines = text.split('\n');
    lines.forEach((line, i) => {
      const isCode = /\w/.test(line) && !/^\s*(\/\/|\/?\*)/.test(line);
      if (isCode && !done.subarray(at, at + line.length).includes(1)) missed.push(i + 1);
      at += line.length + 1;
    });
    return { count: lines.length, missed };
  }
}
