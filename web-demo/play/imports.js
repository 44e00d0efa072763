// Turns blocks of a visitor's code into one module. Import declarations at the top of a block are gathered in its first
// line, with the addresses of this site in place of 'trainlet'; every other line stays as it is.

/** Files of the site by the name under which code imports them, relative to the site's root. */
export const MODULES = {
  trainlet: 'js/index.js',
  'trainlet/layers': 'js/layers/index.js',
  'trainlet/models': 'models/index.js',
  '@huggingface/tokenizers': 'node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs',
};
/** Between tokens: spaces and comments. */
const GAP = String.raw`(?:\s|//.*|/\*[\s\S]*?\*/)`;
/** Only import declarations match: `import(` and `import.meta` have other characters behind the word. */
const DECLARATION = new RegExp(
  String.raw`${GAP}*(import\b(?:((?:[\p{ID_Continue}$,*{}]|${GAP})*)\bfrom\b)?${GAP}*(['"])([^'"\\\n]*)\3[ \t]*;?)`,
  'uy',
);

/** The import declarations at the top of a code. @param {string} code */
function declarations(code) {
  DECLARATION.lastIndex = 0;
  const found = [];
  for (let match = DECLARATION.exec(code); match; match = DECLARATION.exec(code)) {
    const [, text, clause = '', , name] = match;
    const names = clause.replace(/\/\/.*|\/\*[\s\S]*?\*\//g, '').trim();
    found.push({ text, names, name, end: DECLARATION.lastIndex });
  }
  return found;
}

/**
 * The import declarations of some blocks, each once, and the blocks with spaces in their place.
 * @param {string[]} blocks @param {(name: string) => string} addressOf
 */
function gather(blocks, addressOf) {
  /** @type {Map<string, Set<string>>} */
  const named = new Map();
  const others = new Set();
  const bodies = blocks.map((block) => {
    let body = block;
    for (const { text, names, name, end } of declarations(block)) {
      const address = addressOf(name);
      const list = /^\{([^{}]*)\}$/.exec(names)?.[1];
      if (list === undefined) others.add(`import ${names && `${names} from `}'${address}';`);
      else {
        const all = named.get(address) ?? new Set();
        for (const each of list.split(',')) if (each.trim()) all.add(each.trim().replace(/\s+/g, ' '));
        named.set(address, all);
      }
      body = body.slice(0, end - text.length) + text.replace(/[^\n]/g, ' ') + body.slice(end);
    }
    return body;
  });
  const lists = [...named].map(([address, all]) => `import { ${[...all].join(', ')} } from '${address}';`);
  return { imports: [...lists, ...others], bodies };
}

/** Blocks as one code of the playground. @param {string[]} blocks */
export function codeOfBlocks(blocks) {
  const { imports, bodies } = gather(blocks, (name) => name);
  return [imports.sort().join('\n'), ...bodies.map((body) => body.trim())].filter(Boolean).join('\n\n');
}

/**
 * The module of some blocks, of which each may use what those before it declare.
 * @param {string[]} blocks
 * @param {URL | string} base the site's root
 * @returns {{ code: string, place: (line: number) => { block: number, line: number } | undefined }} `place` tells the
 * block (from 0) and its line (from 1) for a line of the code
 */
export function moduleOf(blocks, base) {
  const { imports, bodies } = gather(blocks, (name) => addressOf(name, base));
  if (blocks.length > 1) bodies.forEach((body, i) => (bodies[i] = `startBlock(${i});${body}`));
  const starts = [];
  let line = 2;
  for (const body of bodies) {
    starts.push(line);
    line += body.split('\n').length;
  }
  return {
    code: [imports.join(' '), ...bodies].join('\n'),
    place: (at) => {
      const block = starts.findLastIndex((start) => start <= at);
      return at < line && block >= 0 ? { block, line: at - starts[block] + 1 } : undefined;
    },
  };
}

/** @param {string} name @param {URL | string} base */
function addressOf(name, base) {
  if (Object.hasOwn(MODULES, name)) return new URL(MODULES[name], base).href;
  if (/^(?:https?|blob|data|file):/.test(name)) return name;
  throw new Error(`'${name}' cannot be imported here; there are ${Object.keys(MODULES).join(', ')}`);
}
