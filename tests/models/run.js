// The models of the zoo, one after another: exported by today's frameworks in a Python environment of their own,
// checked here (check.js), told in docs/measured/models.md (page.js).
//
//   npm run models [-- NAME...] [-- --keep]    NAME as in build/models; --keep: goes on with a run

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, root, runMain, say } from '../../tools/programs.mjs';
import { python, run, setUp } from './environment.js';
import { writePage } from './page.js';
import { reasonOf } from './reasons.js';

const here = join(root, 'tests/models');
const folder = join(root, 'build/models');
const USAGE = `Usage: npm run models -- [NAME...] [--keep]
Exports the models of tests/models/zoo (all, or those named), compares what Trainlet makes of them with their
frameworks, and once all were run writes what was found last of each into docs/measured/models.md. It needs Python
3.10 or newer with venv, and some gigabytes for PyTorch. --keep goes on with a run and keeps its exports and results.`;

const at = (slug, file) => join(folder, slug, file);
const read = (slug, file) => readFileSync(at(slug, file), 'utf8');

/** The findings of the last check of a model; undefined: it was never checked. */
function lastFound(slug) {
  return existsSync(at(slug, 'found.json')) ? JSON.parse(read(slug, 'found.json')) : undefined;
}

/** Tells whether it was checked after its last export. */
function isChecked(slug) {
  const changed = (file) => (existsSync(at(slug, file)) ? statSync(at(slug, file)).mtimeMs : 0);
  return changed('found.json') > Math.max(changed('case.json'), changed('error.txt'));
}

/** Checks the model of a folder. */
function check(slug) {
  if (existsSync(at(slug, 'error.txt')))
    return { exporter: '', notExported: read(slug, 'error.txt').trim().split('\n').at(-1) };
  const done = run(process.execPath, [join(here, 'check.js'), join(folder, slug)], { timeout: 300_000 });
  if (done.status !== 0) return { exporter: '', checkError: `check.js failed: ${done.stderr.trim().slice(0, 300)}` };
  return JSON.parse(done.stdout);
}

const isExported = (slug) => existsSync(at(slug, 'case.json')) || existsSync(at(slug, 'error.txt'));

function export_(names, keeps) {
  const wanted = names.filter((slug) => !(keeps && isExported(slug)));
  if (!wanted.length) return;
  say(`Exporting ${wanted.length} models …`);
  const made = run(python, ['-B', join(here, 'make.py'), folder, ...wanted], { stdio: ['ignore', 'pipe', 'ignore'] });
  writeFileSync(join(folder, 'make.log'), made.stdout);
  if (made.status !== 0) throw new Failure(`make.py failed; see ${join(folder, 'make.log')}`);
}

function tell(name, found) {
  const { forward, early, loss, falls, export: exported, untrained } = found;
  const numbers = [forward, early, loss, exported].map((number) => number?.toExponential(0) ?? '–').join(' ');
  const reason = reasonOf(name, found);
  const more = [falls ? 'the loss falls' : '', untrained].filter(Boolean).join(' ');
  say(reason ? `✗ ${name}: ${numbers} ${reason}` : `  ${name}: ${numbers} ${more}`);
}

/** Found now, or, where it is not chosen or kept, last. */
function find(name, slug, isChosen, keeps) {
  if (!isChosen || (keeps && isChecked(slug))) return lastFound(slug);
  const found = check(slug);
  tell(name, found);
  writeFileSync(at(slug, 'found.json'), JSON.stringify(found));
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
  const keeps = args.includes('--keep');
  export_(chosen.length ? chosen : all, keeps);
  const found = {};
  let complete = true;
  for (const [kind, models] of Object.entries(kinds))
    for (const [name, slug] of Object.entries(models)) {
      const one = find(name, slug, !chosen.length || chosen.includes(slug), keeps);
      complete &&= one !== undefined;
      found[kind] = { ...found[kind], [name]: one };
    }
  if (complete) writePage(join(root, 'docs/measured/models.md'), found, versions);
});
