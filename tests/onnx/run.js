/**
 * All backend cases of the newest onnx package, in wasm and natively: npm run onnx-cases [-- --take]
 * The package and the cases go to build/; --take packs those that Debian does not have into cases.br.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { casesIn, runCases } from './cases.js';
import { pack } from './packed.js';

const ONNX = 'onnx==1.23.2';
const DEBIAN = '/usr/share/libonnx-testdata/data';
const place = (name) => fileURLToPath(new URL(name, import.meta.url));
const [venv, folder] = ['../../build/onnx-venv', '../../build/onnx-cases'].map(place);
const run = (...command) => execFileSync(command[0], command.slice(1), { cwd: place('../..'), stdio: 'inherit' });

function makeCases() {
  if (!existsSync(venv)) {
    run('python3', '-m', 'venv', venv);
    run(`${venv}/bin/pip`, 'install', '--quiet', ONNX);
  }
  rmSync(folder, { recursive: true, force: true });
  run(`${venv}/bin/python`, place('make_cases.py'), folder);
}

/** Cases that do not belong in this list: the page decodes pictures. */
const isAside = (name) => name.includes('image_decoder');

async function judge() {
  const leftOut = JSON.parse(readFileSync(place('left-out.json'), 'utf8'));
  const cases = casesIn(folder);
  const names = new Set(cases.map(({ name }) => name));
  const strangers = Object.values(leftOut)
    .flat()
    .filter((name) => !names.has(name));
  const { passed, wrong } = await runCases(cases, leftOut);
  const counted = cases.filter(({ name }) => !isAside(name)).length;
  console.log(`in wasm: ${passed} of ${counted} pass (${((100 * passed) / counted).toFixed(1)} %), ImageDecoder aside`);
  return [...wrong, ...strangers.map((name) => `${name} is on the list, but no case`)];
}

makeCases();
if (process.argv.includes('--take')) pack(folder, DEBIAN);
const wrong = await judge();
for (const line of wrong) console.log(line);
run('build/test/test_onnx_cases', folder, 'tests/onnx/left-out.json');
process.exitCode = wrong.length ? 1 : 0;
