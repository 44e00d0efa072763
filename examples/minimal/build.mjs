// Builds the page into a folder (default: build/minimal): artifacts in one compact file, an engine shrunk for them, the
// page in one file; and says what each weighs.
//
//   node examples/minimal/build.mjs [FOLDER]

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { compactArtifacts, generateArtifacts } from 'trainlet';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../..');
const out = process.argv[2] ?? join(root, 'build/minimal');
mkdirSync(out, { recursive: true });

const artifacts = await generateArtifacts(readFileSync(join(here, '../policy.onnx')), {
  loss: 'cross-entropy',
  optimizer: { type: 'adamw', lr: 0.01 },
});
writeFileSync(join(out, 'model.trainlet'), await compactArtifacts(artifacts));

const engine = join(here, 'engine');
const shrunk = spawnSync(
  process.execPath,
  // the page calls `step`, so it needs nothing of `fit`
  [
    join(root, 'dist/cli.js'),
    'shrink',
    join(out, 'model.trainlet'),
    '--without',
    'best,feature-cache',
    '-o',
    engine,
    '--force',
  ],
  { stdio: 'inherit' },
);
if (shrunk.status !== 0) process.exit(1);

await build({
  entryPoints: [join(here, 'page.js')],
  outdir: out,
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
});
renameSync(join(engine, 'trainlet.wasm'), join(out, 'trainlet.wasm'));
rmSync(engine, { recursive: true });
copyFileSync(join(root, 'dist/worker.js'), join(out, 'worker.js'));
copyFileSync(join(here, 'index.html'), join(out, 'index.html'));

for (const file of readdirSync(out)) {
  const bytes = readFileSync(join(out, file));
  console.log(`${file.padEnd(28)} ${bytes.length} bytes, brotli ${brotliCompressSync(bytes).length}`);
}
process.exit(0);
