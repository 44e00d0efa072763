// The models of the zoo, one after another: exported by today's frameworks in a Python environment of their own,
// checked here (check.js), told in docs/models.md (page.js).
//
//   npm run models [-- NAME...] [-- --keep]    NAME as in build/models; --keep: what is exported already is not again

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, root, runMain, say } from '../../wasm/tools.mjs';
import { python, run, setUp } from './environment.js';
import { isWhole, writePage } from './page.js';
import { REASONS } from './reasons.js';

const here = join(root, 'tests/models');
const folder = join(root, 'build/models');
const USAGE = `Usage: npm run models -- [NAME...] [--keep]
Exports the models of tests/models/zoo (all, or those named), compares what Trainlet makes of them with their
frameworks, and writes docs/models.md of what was found last of each, once all were run. It needs Python 3.10 or newer
with venv, and some gigabytes for PyTorch. --keep: models that are exported already are not exported again.`;

/** What a model of a folder came to when it was checked last; undefined: it never was. */
function lastFound(slug) {
  const file = join(folder, slug, 'found.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/** What a model of a folder comes to; why it has no numbers, where that is so. */
function check(name, slug) {
  const reason = REASONS[name];
  const at = join(folder, slug);
  if (existsSync(join(at, 'error.txt')))
    return {
      exporter: '',
      reason: reason ?? `not exported: ${readFileSync(join(at, 'error.txt'), 'utf8').trim().split('\n').at(-1)}`,
    };
  const done = run(process.execPath, [join(here, 'check.js'), at], { timeout: 300_000 });
  if (done.status !== 0) return { exporter: '', reason: `check.js failed: ${done.stderr.trim().slice(0, 300)}` };
  const found = JSON.parse(done.stdout);
  const failed = Object.entries(found).find(([key]) => key.endsWith('Error'));
  return { ...found, reason: reason ?? failed?.[1] ?? 'the numbers differ' };
}

function export_(names, keeps) {
  const wanted = names.filter((slug) => !(keeps && existsSync(join(folder, slug, 'case.json'))));
  if (!wanted.length) return;
  say(`Exporting ${wanted.length} models …`);
  const made = run(python, ['-B', join(here, 'make.py'), folder, ...wanted], { stdio: ['ignore', 'pipe', 'ignore'] });
  writeFileSync(join(folder, 'make.log'), made.stdout);
  if (made.status !== 0) throw new Failure(`make.py failed; see ${join(folder, 'make.log')}`);
}

function tell(name, found) {
  const { forward, loss, falls, export: exported, reason, untrained } = found;
  const numbers = [forward, loss, exported].map((number) => number?.toExponential(0) ?? '–').join(' ');
  const more = [falls ? 'the loss falls' : '', untrained].filter(Boolean).join(' ');
  say(isWhole(found) ? `  ${name}: ${numbers} ${more}` : `✗ ${name}: ${numbers} ${reason}`);
  return found;
}

runMain(() => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) return say(USAGE);
  const chosen = args.filter((arg) => !arg.startsWith('--'));
  const unknown = args.find((arg) => arg.startsWith('--') && arg !== '--keep');
  if (unknown) throw new Failure(`there is no option ${unknown}\n${USAGE}`);
  mkdirSync(folder, { recursive: true });
  const versions = setUp()
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join(', ')
    .replaceAll('==', ' ');
  const kinds = JSON.parse(
    run(python, ['-B', join(here, 'make.py'), '--list'], { stdio: ['ignore', 'pipe', 'ignore'] }).stdout,
  );
  const all = Object.values(kinds).flatMap((models) => Object.values(models));
  const missing = chosen.find((slug) => !all.includes(slug));
  if (missing) throw new Failure(`there is no model ${missing}; there are ${all.join(', ')}`);
  export_(chosen.length ? chosen : all, args.includes('--keep'));
  const found = {};
  let complete = true;
  for (const [kind, models] of Object.entries(kinds))
    for (const [name, slug] of Object.entries(models)) {
      const isChosen = !chosen.length || chosen.includes(slug);
      const one = isChosen ? tell(name, check(name, slug)) : lastFound(slug);
      if (isChosen) writeFileSync(join(folder, slug, 'found.json'), JSON.stringify(one));
      complete &&= one !== undefined;
      found[kind] = { ...found[kind], [name]: one };
    }
  if (complete) writePage(join(root, 'docs/models.md'), found, versions);
});
