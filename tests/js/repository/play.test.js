/** The playground: imports are rewritten and nothing else, links keep code, and each example does what it says. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { moduleOf } from '../../../web-demo/play/imports.js';
import { codeOf, hashOf } from '../../../web-demo/play/link.js';
import { PRESETS } from '../../../web-demo/play/presets.js';
import { print } from '../../../web-demo/play/print.js';
import { runInNode } from '../../support/playground.js';

const FOLDER = new URL('../../../web-demo/play/presets/', import.meta.url);
const SITE = 'http://site.test/trainlet/';

test('imports at the top get the addresses of the site, lines stay, and nothing else changes', () => {
  const body =
    "const text = \"import a from 'trainlet'\"; // import b from 'trainlet'\nimport(\"x\"); import.meta;\n/'/;";
  const top =
    '// first\nimport { a, // one\n  b as c } from \'trainlet\'; import * as l from "trainlet/layers"\n/* x */ ';
  const { code, place } = moduleOf([top + body], SITE);
  const [first, ...lines] = code.split('\n');
  assert.equal(
    first,
    `import { a, b as c } from '${SITE}js/index.js'; import * as l from '${SITE}js/layers/index.js';`,
  );
  assert.equal(lines.length, (top + body).split('\n').length);
  assert.ok(code.endsWith(body), code);
  assert.deepEqual(place(6), { block: 0, line: 5 });
  assert.equal(place(1), undefined);
  for (const text of ["import('trainlet');", 'import.meta.url;', "importer('trainlet');", '\'import x from "y"\';'])
    assert.equal(moduleOf([text], SITE).code, `\n${text}`);
});

test('blocks become one module: what two import is imported once, and a line is found in its block', () => {
  const blocks = [
    "import { Tensor } from 'trainlet';\nlet a;",
    "import { Tensor, generate } from 'trainlet';\na = 1;\nb;",
  ];
  const { code, place } = moduleOf(blocks, SITE);
  assert.match(code, /^import \{ Tensor, generate \} from '[^']+';\nstartBlock\(0\);/);
  assert.deepEqual([place(3), place(6), place(7)], [{ block: 0, line: 2 }, { block: 1, line: 3 }, undefined]);
  assert.throws(() => moduleOf(["import x from 'left-pad';"], SITE), /'left-pad' cannot be imported here/);
});

test('values are printed short', () => {
  const circle = { name: 'c' };
  circle.self = circle;
  assert.equal(print(circle), '{ name: "c", self: { name: "c", self: { name: "c", self: {…} } } }');
  assert.equal(
    print({ type: 'float32', dims: [2, 1], data: Float32Array.of(0.1, 2) }),
    'Tensor float32 [2, 1] [0.1, 2]',
  );
  assert.match(print(new Float64Array(1000)), /^Float64Array\(1000\) \[(0, ){12}… 988 more\]$/);
  assert.equal(print([1n, null, undefined, 'a', [], {}]), '[1n, null, undefined, "a", [], {}]');
  assert.equal(print('x'.repeat(1e6)).length, 2001);
});

test('a link gives its code back; a damaged or huge one is refused', async () => {
  const code = readFileSync(new URL('xor.js', FOLDER), 'utf8').replace('smallest', 'kleinste ♥');
  const hash = await hashOf(code);
  assert.match(hash, /^#code=[\w-]+$/);
  assert.equal(await codeOf(hash), code);
  assert.equal(await codeOf('#xor'), undefined);
  for (const damaged of ['#code=%%%', hash.slice(0, -20), await hashOf('x'.repeat(3e5))])
    await assert.rejects(codeOf(damaged), /The code in this link is damaged/);
});

/** The last lines that each example prints, and the files that it offers. @type {Record<string, [RegExp, string[]]>} */
const SAYS = {
  xor: [/^0 xor 0 = 0\n0 xor 1 = 1\n1 xor 0 = 1\n1 xor 1 = 0$/, []],
  line: [/^dense\/kernel .*\[(2\.9|3\.0)\d*\]\ndense\/bias .*\[(1\.9|2\.0|2)\d*\]$/, []],
  table: [/accuracy: (0\.9\d*|1)\n10 grams, red: cherry$/, []],
  digits: [/^accuracy on digits that it has not seen: 0\.9[3-9]/, []],
  pictures: [/^taken: true in \d+ ms\n\["cross", "disc"\]$/, []],
  sine: [/^$/, []],
  adapter: [
    /of the adapter: 386\nfirst .*: 0\.00\d*\nsecond .*: 0\.00\d*$/,
    ['adapter_model.safetensors', 'adapter_config.json'],
  ],
  save: [/^begins with a loss of 0\.[12]\d+\nsaved with a loss of 0\.0\d+$/, []],
  gate: [/^right labels: accepted true[\s\S]*\nwrong labels: accepted false/, []],
  export: [/^\|-0\.5\|, \|0\|, \|0\.8\| are about .*\[0\.(4[5-9]|5)\d*, -?0\.0\d*, 0\.(7[5-9]|8)/, ['absolute.onnx']],
};

test('there is a file for each example of the menu, and a line here', () => {
  const files = readdirSync(FOLDER).map((file) => file.replace(/\.js$/, ''));
  assert.deepEqual(files.sort(), Object.keys(PRESETS).sort());
  assert.deepEqual(Object.keys(SAYS), Object.keys(PRESETS));
});

for (const [name, [says, files]] of Object.entries(SAYS))
  test(`the example ${name} does what it says`, { timeout: 60_000 }, async () => {
    const done = await runInNode([readFileSync(new URL(`${name}.js`, FOLDER), 'utf8')]);
    assert.match(done.printed[0].join('\n'), says);
    assert.deepEqual(done.files, files);
    assert.ok(done.plots.length > 10 || name === 'pictures', 'a chart grows');
    const apart = done.plots
      .filter(({ wave }) => wave !== undefined)
      .map(({ wave, network }) => Math.abs(wave - network));
    assert.ok(
      apart.every((distance) => distance < 0.3),
      `${Math.max(...apart)} beside the wave`,
    );
  });
