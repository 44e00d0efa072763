/** The Python environment of the newest frameworks, from PyPI: build/models-venv; tests/onnx/exports.js shares it. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, root, say } from '../../tools/programs.mjs';

const here = join(root, 'tests/models');
export const python = join(root, 'build/models-venv/bin/python');
const TOOL = 'onnxruntime-training-cpu==1.19.2';

export function run(program, args, options = {}) {
  const done = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  if (done.error) throw new Failure(`${program}: ${done.error.message}`);
  return done;
}

/** ONNX Runtime's tool of 1.19, the last, in a folder of its own; there is none for the newest Pythons. */
function setUpTool() {
  const args = ['install', '--quiet', '--upgrade', '--no-deps', '--target', join(root, 'build/models-ort'), TOOL];
  const pip = run(python, ['-m', 'pip', ...args]);
  if (pip.status !== 0) say(`${TOOL} cannot be installed, so its artifacts are left out:\n${pip.stderr.slice(-500)}`);
}

/** The installed requirements, one a line. */
export function setUp() {
  const wanted = readFileSync(join(here, 'requirements.txt'), 'utf8');
  const mark = join(root, 'build/models-venv/installed.txt');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return wanted;
  say('Installing PyTorch and others from PyPI into build/models-venv …');
  const venv = run('python3', ['-m', 'venv', join(root, 'build/models-venv')]);
  if (venv.status !== 0)
    throw new Failure(`python3 -m venv failed (on Debian: apt-get install python3-venv):\n${venv.stderr}`);
  const pip = run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', join(here, 'requirements.txt')]);
  if (pip.status !== 0) throw new Failure(`pip install failed:\n${pip.stderr.slice(-2000)}`);
  setUpTool();
  writeFileSync(mark, wanted);
  return wanted;
}
