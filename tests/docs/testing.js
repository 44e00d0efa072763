/** Prints docs/measured/testing.md: what the tests of this repository are, counted in its files. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../../tools/programs.mjs';

const read = (file) => readFileSync(path.join(root, file), 'utf8');
const filesIn = (folder, ends) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => ends.test(file) && !file.includes('node_modules'))
    .map((file) => `${folder}/${file.split(path.sep).join('/')}`);
const number = (value) => value.toLocaleString('en');
const count = (files, pattern) => files.reduce((sum, file) => sum + (read(file).match(pattern)?.length ?? 0), 0);

/** Calls of test() in these files; one in a loop counts once. */
const tests = (files) =>
  `${number(files.length)} files, ${number(count(files, /^\s*(?:await )?(?:test|it)\(/gm))} tests`;

/** Numbers of a table's row that ends a page. */
function allModels() {
  const row = /^\| \*\*all\*\* \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| \d+ \| (\d+) \|/m.exec(
    read('docs/measured/models.md'),
  );
  const [architectures, exports, wrong, still, trained] = row.slice(1).map(Number);
  return { architectures, exports, trained, trainable: exports - wrong - still };
}

/** Kills of `npm run crash` by kind. */
function kills() {
  const [, list] = /const usual = \{ (.*) \};/.exec(read('tests/crash/run.js'));
  return Object.fromEntries(list.split(', ').map((pair) => [pair.split(': ')[0], Number(pair.split(': ')[1])]));
}

const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

export function testingPage() {
  const c = filesIn('tests/c', /\.c$/).filter((file) => /^int main/m.test(read(file)));
  const js = filesIn('tests/js', /\.test\.js$/);
  const browser = filesIn('tests/browser', /\.test\.js$/);
  const fuzz = filesIn('tests/fuzz', /\.c$/).filter((file) => /^int LLVMFuzzerTestOneInput\(.*\{/m.test(read(file)));
  const found = filesIn('tests/fuzz/found', /./).filter((file) => !/\/found\/\w+$/.test(file));
  const cases = count(['tests/golden/data/ops.txt'], /^case /gm);
  const operators = count(['src/ops/ops.def'], /^OP\(/gm);
  const equivalent = Object.values(JSON.parse(read('tests/mutants/equivalent.json'))).flat().length;
  const leftOut = Object.values(JSON.parse(read('tests/onnx/left-out.json'))).flat().length;
  const rows = filesIn('tests/bench/operator_rows', /\.js$/).length;
  const models = allModels();
  const killed = kills();
  const all = Object.values(killed).reduce((sum, n) => sum + n);
  const held = table(
    ['', 'how many', 'what they hold'],
    [
      [
        'C tests',
        `${c.length} programs`,
        'kernels beside loops in double, passes, formats, sessions, under the sanitizers of addresses and behaviour',
      ],
      [
        'cases of operators',
        `${number(operators)} operators`,
        'each case: shapes, dirty memory, in place, symbols; the gradient beside central differences, and ' +
          `PyTorch's numbers of ${number(cases)} cases`,
      ],
      ['JavaScript tests', tests(js), 'the package in Node, and rules of the repository'],
      [
        'browser tests',
        tests(browser),
        'Chromium, and Firefox where it may differ: both train to the same bits as Node',
      ],
      [
        'golden files',
        number(filesIn('tests/golden/data', /\.(json|txt)$/).length),
        'numbers of PyTorch, Keras, scikit-learn, PEFT, ONNX Runtime and others, none of which a test needs',
      ],
      ["ONNX's own cases", `all but ${leftOut}`, 'those are named in `tests/onnx/left-out.json`, each with its reason'],
      ['earlier finds of the fuzzers', `${found.length} inputs`, 'each is read again'],
    ],
  );
  const kinds = Object.entries(killed).map(([kind, n]) => `${kind} ${n}`);
  const asked = table(
    ['', 'how many', 'command'],
    [
      [
        "models of today's exporters",
        `${models.trained} of ${models.trainable} exports of ${models.architectures} architectures train with their ` +
          'losses ([models](models.md))',
        '`npm run models`',
      ],
      ['fuzz targets', String(fuzz.length), '`npm run fuzz`'],
      ['kills during saves', `${all}: ${kinds.join(', ')}`, '`npm run crash`'],
      [
        'mutants of gradients, of readers and savers',
        `at least 95 % must be killed; ${equivalent} lines are listed as changing no result`,
        '`npm run mutants`, `npm run mutants:files`',
      ],
      ['damaged files by the thousand', 'arrays, tables, samples, features, adapters', '`npm run hostile`'],
      ['programs cut at random saves', 'resume to the bit', '`npm run resumes`'],
      ['aborts of long runs', '200 of each kind', '`npm run aborts`'],
      [
        'operators beside onnxruntime-web, for speed',
        `${rows} files of rows (\`docs/measured/operator-speed.md\`)`,
        '`npm run bench -- --operators`',
      ],
      ['the site', 'every page, its links, its landing', '`npm run site:test`'],
      ['lines that the C tests reach', 'the figures are not kept here', '`npm run coverage`'],
    ],
  );
  return `# Testing

\`npm run docs:testing\` writes this page from the files of the repository; a test fails when its counts are old.

## What \`npm test\` runs
${held}

## What runs on demand
${asked}

## What is not tested
- **Phones and tablets.** No Android or iOS device has run a test; narrow and low screens are tested in Chromium alone.
- **Safari.** WebKit (GTK) gave the same bits when tried by hand; Safari itself has not run.
- **Real GPUs.** \`npm test\` trains on a GPU that Chromium's SwiftShader computes; [one real GPU](webgpu.md) was
  measured once.
- **Windows and macOS.** The tests run on Linux (x86-64). Processors of ARM have run none of them.
- **Models above 4 GB**, and batteries, sleep and storage limits of real devices, which tests only imitate.
- **People.** The pages are checked by axe and by keyboard, not with users of screen readers.
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(testingPage());
