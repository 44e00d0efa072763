// Download sizes of each contender: its JavaScript minified by one bundler, and its wasm file, each compressed by
// brotli.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { root } from '../../tools/programs.mjs';
import { loadedAtFirst } from '../sizes/javascript.js';

const modules = (path) => join(root, 'tests/bench/node_modules', path);

const PAGE =
  "import { generateArtifacts, Tensor, TrainingSession } from 'trainlet'; " +
  'globalThis.used = [generateArtifacts, Tensor, TrainingSession];';

/**
 * page: code of one, of which is counted what it loads at first; scripts: entries to bundle, all counted;
 * wasm: the file the measured page loads.
 */
const FILES = {
  trainlet: { page: PAGE, scripts: [join(root, 'dist/worker.js')], wasm: join(root, 'dist/trainlet.wasm') },
  'ort-graph': {
    scripts: [
      modules('onnxruntime-web/dist/ort.wasm.min.mjs'),
      modules('onnxruntime-web/dist/ort-wasm-simd-threaded.mjs'),
    ],
    wasm: modules('onnxruntime-web/dist/ort-wasm-simd-threaded.wasm'),
  },
  'ort-training': {
    scripts: [
      modules('onnxruntime-web-training/dist/ort.training.wasm.min.mjs'),
      modules('onnxruntime-web-training/dist/ort-training-wasm-simd-threaded.mjs'),
    ],
    wasm: modules('onnxruntime-web-training/dist/ort-training-wasm-simd-threaded.wasm'),
  },
  'jax-js': { scripts: [modules('@jax-js/jax/dist/index.js')] },
  'tfjs-wasm': {
    scripts: [join(root, 'build/bench/tfjs.js')],
    wasm: modules('@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm'),
  },
};

/**
 * Brotli at its best takes half a minute for 14 MB, so what was once compressed is remembered by its place and length.
 */
function remembered() {
  const path = join(root, 'build/bench/sizes.json');
  const known = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  return {
    compressed(name, bytes) {
      const key = `${name} ${bytes.length}`;
      known[key] ??= brotliCompressSync(bytes).length;
      return known[key];
    },
    save: () => writeFileSync(path, JSON.stringify(known)),
  };
}

async function minified(build, entry) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    write: false,
    logLevel: 'silent',
    external: ['node:*', 'module', 'fs', 'path', 'worker_threads', 'perf_hooks', 'os', 'url', 'util', 'crypto'],
  });
  return outputFiles[0].contents;
}

/** contender → { js, wasm, total } in bytes. */
export async function downloadSizes() {
  const { build } = await import('esbuild');
  const memory = remembered();
  const sizes = {};
  for (const [name, { page, scripts, wasm }] of Object.entries(FILES)) {
    const parts = await Promise.all(
      scripts.map(async (script) => memory.compressed(script, await minified(build, script))),
    );
    if (page) for (const bytes of (await loadedAtFirst(page)).files) parts.push(memory.compressed(name, bytes));
    const js = parts.reduce((a, b) => a + b, 0);
    const binary = wasm ? memory.compressed(wasm, readFileSync(wasm)) : 0;
    sizes[name] = { js, wasm: binary, total: js + binary };
  }
  memory.save();
  return sizes;
}
