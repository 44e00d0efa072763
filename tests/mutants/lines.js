// Lines of the engine that compute gradients: they run in the harness, but not when it leaves the gradients out.

import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../../tools/programs.mjs';

const COUNTED = /^src\/(?:ops|kernels)\/|^src\/graph\/(?:backward|compose|dims|emit|second_output|strings)\.c$/;

/**
 * @param {string} build a build folder whose objects count lines (gcc --coverage)
 * @returns {Map<string, Map<number, boolean>>} by file, every line that has code: whether it runs for gradients alone
 */
export function gradientLines(build) {
  const forward = linesRun(build, ['--forward']);
  const all = linesRun(build, []);
  const found = new Map();
  for (const [file, lines] of all) {
    const before = forward.get(file);
    found.set(file, new Map([...lines].map(([line, count]) => [line, count > 0 && !(before?.get(line) > 0)])));
  }
  return found;
}

/** Runs of each line, by file and line. */
function linesRun(build, args) {
  const counts = () =>
    readdirSync(build, { recursive: true })
      .filter((name) => name.endsWith('.gcda'))
      .map((name) => join(build, name));
  for (const file of counts()) rmSync(file);
  execFileSync(join(build, 'test_harness'), args, { cwd: root, stdio: 'ignore' });
  const text = execFileSync('gcov', ['--json-format', '--stdout', ...counts()], {
    cwd: build,
    maxBuffer: 1 << 30,
    encoding: 'utf8',
  });
  /** @type {Map<string, Map<number, number>>} */
  const found = new Map();
  for (const unit of text.split('\n').filter(Boolean)) {
    for (const { file, lines } of JSON.parse(unit).files) {
      const name = relative(root, file);
      if (!COUNTED.test(name)) continue;
      const of = found.get(name) ?? new Map();
      for (const { line_number: line, count } of lines) of.set(line, (of.get(line) ?? 0) + count);
      found.set(name, of);
    }
  }
  return found;
}
