/**
 * The command line's writes: never over files unasked, whole or not at all, one training at a time, and when a signal
 * comes.
 */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { artifactsIn, checkpointIn, writeWhole } from '../../../js/cli/files.js';
import { TrainingSession } from '../../../js/index.js';
import { clusters } from '../../support/clusters.js';

const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
const FILES = ['checkpoint', 'eval_model.onnx', 'optimizer_model.onnx', 'training_model.onnx'];
const ENDLESS = ['--epochs', '1000000'];
const posix = { skip: process.platform === 'win32' };

let folder = '',
  data = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-cli-'));
  const { inputs, labels } = clusters(40, 1);
  const files = [
    ['in.npy', '<f4', '(40, 20)', inputs.input.data],
    ['labels.npy', '<i8', '(40,)', labels.labels.data],
  ];
  data = files.map(([name]) => path.join(folder, name)).join();
  for (const [name, descr, shape, { buffer }] of files) {
    const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(118);
    await writeFile(
      path.join(folder, name),
      Buffer.concat([Buffer.from('\x93NUMPY\x01\x00v\x00', 'latin1'), Buffer.from(header), Buffer.from(buffer)]),
    );
  }
});
after(() => rm(folder, { recursive: true }));

/**
 * A command that runs; `said` waits for words on stdout, `ended` for its end.
 * @param {string[]} args
 * @param {string} [limit] what the shell is told first
 */
function start(args, limit) {
  const line = [process.execPath, CLI, ...args];
  const child = limit ? spawn('sh', ['-c', `${limit}; exec "$@"`, 'sh', ...line]) : spawn(line[0], line.slice(1));
  const told = { stdout: '', stderr: '' };
  for (const name of /** @type {const} */ (['stdout', 'stderr']))
    child[name].on('data', (text) => {
      told[name] += text;
    });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...told }));
  const said = async (/** @type {RegExp} */ words) => {
    while (!words.test(told.stdout)) {
      const rest = await Promise.race([ended, once(child.stdout, 'data')]);
      assert.ok(Array.isArray(rest), JSON.stringify(rest));
    }
  };
  return { child, ended, said };
}
/** @param {string[]} args */
const run = (...args) => start(args).ended;

/** A new training directory. @param {string} name */
async function make(name) {
  const directory = path.join(folder, name);
  const { code, stderr } = await run('artifacts', MODEL, '--loss', 'cross-entropy', '-o', directory);
  assert.deepEqual([code, stderr], [0, '']);
  return directory;
}
/** @param {string} directory */
const filesIn = async (directory) => (await readdir(directory)).sort();
/** @param {string} directory */
const checkpointOf = (directory) => readFile(path.join(directory, 'checkpoint'));
/** @param {string} directory @param {string[]} more */
const train = (directory, ...more) => start(['train', directory, '--data', data, ...more]);
/** @param {string} directory */
async function lossOf(directory) {
  const { stdout } = await run('eval', directory, '--data', data);
  return Number(/loss ([\d.]+)/.exec(stdout)?.[1]);
}

test('nothing is overwritten without --force, a trained checkpoint least of all', async () => {
  const directory = await make('kept');
  assert.equal((await train(directory).ended).code, 0);
  const trained = await checkpointOf(directory);
  const again = ['artifacts', MODEL, '--loss', 'cross-entropy', '-o', directory];
  const refused = await run(...again);
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /^trainlet: \S+kept\/checkpoint is there already; --force overwrites it\n$/);
  assert.deepEqual(await checkpointOf(directory), trained);
  const model = path.join(folder, 'kept.onnx');
  assert.equal((await run('export', directory, '-o', model)).code, 0);
  const exported = await readFile(model);
  await writeFile(model, 'mine');
  const second = await run('export', directory, '-o', model);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /^trainlet: \S+kept\.onnx is there already; --force overwrites it\n$/);
  assert.equal(await readFile(model, 'utf8'), 'mine');
  assert.equal((await run('export', directory, '-o', model, '--force')).code, 0);
  assert.deepEqual(await readFile(model), exported);
  assert.equal((await run(...again, '--force')).code, 0);
  assert.notDeepEqual(await checkpointOf(directory), trained);
  assert.deepEqual(await filesIn(directory), FILES);
});

test('what comes to a place while a file for it is written stays', async () => {
  const [first, second] = ['race-1', 'race-2'].map((name) => path.join(folder, name));
  const files = [first, second].map((file) => ({ file, bytes: new Uint8Array(9) }));
  const allow = () => writeFile(second, 'of another process');
  await assert.rejects(writeWhole(files, { allow }), /race-2 is there already/);
  assert.equal(await readFile(second, 'utf8'), 'of another process');
  assert.deepEqual(
    (await filesIn(folder)).filter((name) => /race-1|trainlet/.test(name)),
    [],
  );
});

test(
  "symbolic links are not written through: planted at a temporary's name, or in place of a file",
  posix,
  async () => {
    const directory = await make('planted');
    const victim = path.join(folder, 'victim');
    await writeFile(victim, 'precious');
    const { child, ended } = train(directory);
    for (const suffix of ['tmp', 'lock'])
      await symlink(victim, path.join(directory, `checkpoint.${child.pid}.${suffix}`));
    assert.equal((await ended).code, 0);
    assert.equal(await readFile(victim, 'utf8'), 'precious');
    await symlink(victim, path.join(folder, 'link.onnx'));
    for (const more of [[], ['--force']]) {
      const { code, stderr } = await run('export', directory, '-o', path.join(folder, 'link.onnx'), ...more);
      assert.deepEqual(
        [code, /link\.onnx is not a regular file, so nothing is written in its place/.test(stderr)],
        [1, true],
      );
    }
    await rename(path.join(directory, 'checkpoint'), path.join(folder, 'moved'));
    await symlink(path.join(folder, 'moved'), path.join(directory, 'checkpoint'));
    const refused = await train(directory).ended;
    assert.deepEqual([refused.code, /checkpoint is not a regular file/.test(refused.stderr)], [1, true]);
    assert.equal(await readFile(victim, 'utf8'), 'precious');
  },
);

test('a write that fails is a sentence, and leaves the old files and nothing else', posix, async () => {
  const directory = await make('limited');
  const before = await Promise.all(FILES.map((name) => readFile(path.join(directory, name))));
  const fresh = path.join(folder, 'fresh'),
    model = path.join(folder, 'limited.onnx');
  await mkdir(fresh);
  const commands = [
    ['artifacts', MODEL, '--loss', 'mse', '-o', directory, '--force'],
    ['artifacts', MODEL, '--loss', 'mse', '-o', fresh],
    ['export', directory, '-o', model],
    ['train', directory, '--data', data],
  ];
  for (const args of commands) {
    const { code, stderr } = await start(args, 'ulimit -f 0').ended;
    assert.equal(code, 1, args[0]);
    assert.match(stderr, /^trainlet: \S+ could not be written: EFBIG: [^\n]+\n$/);
  }
  assert.deepEqual([await filesIn(directory), await filesIn(fresh)], [FILES, []]);
  assert.deepEqual(await Promise.all(FILES.map((name) => readFile(path.join(directory, name)))), before);
  assert.deepEqual(
    (await filesIn(folder)).filter((name) => /limited\.onnx|tmp/.test(name)),
    [],
  );
});

test('a disk that is really full costs no file', {
  skip: process.platform !== 'linux' || process.getuid?.() !== 0,
}, async (t) => {
  const disk = path.join(folder, 'disk');
  await mkdir(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return t.skip('nothing can be mounted here');
  }
  try {
    const directory = await make('disk/dir');
    const before = await checkpointOf(directory);
    await writeFile(path.join(disk, 'rest'), new Uint8Array(1 << 20)).catch(() => {});
    for (const args of [
      ['train', directory, '--data', data],
      ['export', directory, '-o', path.join(disk, 'm.onnx')],
    ]) {
      const { code, stderr } = await run(...args);
      assert.equal(code, 1);
      assert.match(stderr, /^trainlet: \S+ could not be written: ENOSPC: [^\n]+\n$/);
    }
    assert.deepEqual([await filesIn(directory), await filesIn(disk)], [FILES, ['dir', 'rest']]);
    assert.deepEqual(await checkpointOf(directory), before);
    await rm(path.join(disk, 'rest'));
    assert.equal((await train(directory).ended).code, 0);
  } finally {
    execFileSync('umount', [disk]);
  }
});

for (const [signal, exitCode] of /** @type {const} */ ([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])) {
  test(
    `${signal} in the middle of a training leaves a checkpoint, from which the same command goes on`,
    posix,
    async () => {
      const directory = await make(signal);
      const before = await lossOf(directory);
      const { child, ended, said } = train(directory, ...ENDLESS);
      await said(/^epoch 3\//m);
      child.kill(signal);
      const { code, stderr } = await ended;
      assert.equal(code, exitCode);
      assert.match(stderr, /^trainlet: stopped; \S+ holds the checkpoint, and the same command continues\n$/);
      assert.deepEqual(await filesIn(directory), FILES);
      assert.ok((await lossOf(directory)) < before);
      const next = train(directory, ...ENDLESS);
      await next.said(/^epoch/);
      next.child.kill('SIGTERM');
      const { stdout } = await next.ended;
      assert.ok(Number(/^epoch (\d+)/.exec(stdout)?.[1]) >= 3, stdout.slice(0, 80));
    },
  );
}

const INTERRUPT = JSON.stringify(new URL('../../../js/cli/interrupt.js', import.meta.url).href);

/** A process with work that never listens to its signal. */
const DEAF = `import { listen, stoppable } from ${INTERRUPT};
listen();
await stoppable((signal) => new Promise(() => {
  signal.addEventListener('abort', () => console.log('asked'));
  setInterval(() => {}, 1000);
  console.log('ready');
}));`;

test('a second signal ends at once, and one that comes when nothing can be finished', posix, async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', DEAF]);
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  assert.equal(String((await once(child.stdout, 'data'))[0]), 'asked\n');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [143, null]);
  const bench = start(['bench', MODEL, '--steps', '100000000']);
  await new Promise((resolve) => {
    setTimeout(resolve, 1000);
  });
  bench.child.kill('SIGTERM');
  assert.deepEqual(await bench.ended.then(({ code, stderr }) => [code, stderr]), [143, '']);
});

test('a reader that closes the pipe ends it quietly, a training with its checkpoint', posix, async () => {
  const directory = await make('pipe');
  const before = await checkpointOf(directory);
  const { child, ended, said } = train(directory, ...ENDLESS);
  await said(/^epoch 2\//m);
  child.stdout.destroy();
  const { code, stderr } = await ended;
  assert.deepEqual([code, stderr, await filesIn(directory)], [141, '', FILES]);
  assert.notDeepEqual(await checkpointOf(directory), before);
  const inspecting = start(['inspect', directory]);
  inspecting.child.stdout.destroy();
  assert.deepEqual(await inspecting.ended.then((end) => [end.code, end.stderr]), [141, '']);
});

test(
  "one training a directory: a second one is refused, a killed one's lock is void, --force goes on",
  posix,
  async () => {
    const directory = await make('locked');
    const { child, ended, said } = train(directory, ...ENDLESS);
    await said(/^epoch/);
    const second = await train(directory).ended;
    assert.equal(second.code, 1);
    assert.match(
      second.stderr,
      new RegExp(
        `^trainlet: process ${child.pid} of ${hostname()} is training in \\S+; ` +
          'if that has ended, remove \\S+checkpoint\\.lock or give --force\\n$',
      ),
    );
    child.kill('SIGKILL');
    await ended;
    await writeFile(
      path.join(directory, `.trainlet-${child.pid}-half.tmp`),
      'as a kill in the middle of a save leaves it',
    );
    assert.ok((await filesIn(directory)).includes('checkpoint.lock'));
    assert.equal((await train(directory).ended).code, 0);
    assert.deepEqual(await filesIn(directory), FILES);
    const lock = path.join(directory, 'checkpoint.lock');
    for (const holder of ['{"process":1,"host":"elsewhere"}', 'null', 'x'.repeat(5000)]) {
      await writeFile(lock, holder);
      const { code, stderr } = await train(directory).ended;
      assert.deepEqual([code, /(process 1 of elsewhere|another process) is training in/.test(stderr)], [1, true]);
      assert.equal(await readFile(lock, 'utf8'), holder);
    }
    assert.equal((await train(directory, '--force').ended).code, 0);
    assert.deepEqual(await filesIn(directory), FILES);
  },
);

test('a checkpoint that another process has put there meanwhile is left as it is', posix, async () => {
  const directory = await make('changed');
  const other = await make('other');
  const { child, ended, said } = train(directory, ...ENDLESS);
  await said(/^epoch 2\//m);
  await rename(path.join(other, 'checkpoint'), path.join(directory, 'checkpoint'));
  child.kill('SIGINT');
  const { code, stderr } = await ended;
  assert.equal(code, 1);
  assert.match(stderr, /checkpoint was changed by another process while this one trained; it was left as it is/);
  const fresh = await make('fresh-one');
  assert.deepEqual(await checkpointOf(directory), await checkpointOf(fresh));
  assert.deepEqual(await filesIn(directory), FILES);
});

test('two writers to one checkpoint: what the first acknowledged stays', async () => {
  const directory = path.join(folder, 'two');
  await mkdir(directory);
  const file = path.join(directory, 'checkpoint');
  await writeFile(file, 'old');
  const [one, two] = await Promise.all([checkpointIn(file), checkpointIn(file)]);
  await one.store.save('', new TextEncoder().encode('one'));
  await assert.rejects(two.store.save('', new TextEncoder().encode('two')), /was changed by another process/);
  await one.store.save('', new TextEncoder().encode('one more'));
  assert.equal(String(await checkpointOf(directory)), 'one more');
  assert.deepEqual(await filesIn(directory), ['checkpoint']);
});

test('what is put there right behind a checkpoint stays, too', async () => {
  const directory = path.join(folder, 'behind');
  await mkdir(directory);
  const [file, theirs] = [path.join(directory, 'checkpoint'), path.join(directory, 'theirs')];
  await writeFile(file, 'old');
  await writeFile(theirs, 'theirs');
  const { store } = await checkpointIn(file);
  const saving = store.save('', new TextEncoder().encode('ours'));
  while (readFileSync(file, 'utf8') !== 'ours') await setImmediate();
  renameSync(theirs, file);
  await saving;
  await assert.rejects(store.save('', new TextEncoder().encode('later')), /was changed by another process/);
  assert.equal(String(await checkpointOf(directory)), 'theirs');
});

test('a checkpoint that only its owner may read stays so', posix, async () => {
  const directory = await make('private');
  await chmod(path.join(directory, 'checkpoint'), 0o600);
  assert.equal((await train(directory).ended).code, 0);
  assert.equal((await stat(path.join(directory, 'checkpoint'))).mode & 0o777, 0o600);
  await (await TrainingSession.create(artifactsIn(directory), { worker: false })).release();
});
