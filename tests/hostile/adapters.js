// Damaged adapters and models' notes of them: what each reader begins with, and how it reads.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { exportAdapter, loadAdapter } from '../../js/adapters/adapter.js';
import { generateArtifacts, TrainingSession } from '../../js/index.js';
import { readSource } from '../../js/sources/source.js';
import { mutateText } from './mutate.js';
import { HERE } from '../support/engines.js';

const [TENSORS, CONFIG, ONNX] = ['adapter_model.safetensors', 'adapter_config.json', 'adapter.onnx_adapter'];

/** Finds the model's notes of its adapters in the file, and before them their length. @param {Uint8Array} model */
function notesIn(model) {
  const file = Buffer.from(model);
  const from = file.indexOf('{', file.indexOf('trainlet.lora'));
  const length = (file[from - 2] & 127) + file[from - 1] * 128;
  return { from, json: file.subarray(from, from + length) };
}

/**
 * A file of tensors in two pieces: its header, and a function that makes it whole with another.
 * @param {Uint8Array} file
 */
function headerOf(file) {
  const end = 8 + Buffer.from(file).readUInt32LE(0);
  const wrap = (header) => {
    const length = Buffer.alloc(8);
    length.writeUInt32LE(header.length, 0);
    return Buffer.concat([length, header, file.subarray(end)]);
  };
  return { seed: file.subarray(8, end), fix: wrap };
}

/** Sessions of an adapter of two layers, with a last one that trains whole and without, their files and notes. */
async function made() {
  const model = await readFile(fileURLToPath(new URL('../golden/data/mlp_small.onnx', import.meta.url)));
  const artifactsOf = (lora) => generateArtifacts(model, { ...HERE, loss: 'cross-entropy', optimizer: 'sgd', lora });
  const [whole, plain] = [await artifactsOf({ r: 2, modulesToSave: ['fc3'] }), await artifactsOf({ r: 2 })];
  const [session, bare] = [await TrainingSession.create(whole, HERE), await TrainingSession.create(plain, HERE)];
  return {
    ...{ whole, session, bare },
    files: await session.exportAdapter(),
    halves: (await session.exportAdapter({ type: 'bfloat16' }))[TENSORS],
    onnx: (await bare.exportAdapter({ format: 'onnx' }))[ONNX],
    notes: notesIn(whole.evalModel),
    bareNotes: notesIn(plain.evalModel).json,
  };
}

/** The parameters that an adapter has. @param {TrainingSession} session */
async function trainedIn(session) {
  const names = session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name);
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await session.getParameter(name)])));
}

/** An adapter of two layers and a last one that trains whole, as PEFT and ONNX Runtime have it, and notes of it. */
export async function adapterTargets() {
  const { whole, session, bare, files, halves, onnx, notes } = await made();
  const withNotes = async (bytes) => {
    const evalModel = Uint8Array.from(whole.evalModel);
    evalModel.fill(0x20, notes.from, notes.from + notes.json.length);
    evalModel.set(bytes.subarray(0, notes.json.length), notes.from);
    const damaged = await TrainingSession.create({ ...whole, evalModel }, HERE);
    try {
      await damaged.exportAdapter();
      await damaged.loadAdapter(files);
    } finally {
      await damaged.release();
    }
  };
  const tensors = async (bytes) => {
    await session.loadAdapter({ ...files, [TENSORS]: bytes });
    return { inputs: await trainedIn(session) };
  };
  return {
    safetensors: { seed: files[TENSORS], read: tensors },
    'bfloat16.safetensors': { seed: halves, read: tensors },
    'header.safetensors': { ...headerOf(files[TENSORS]), mutate: mutateText, read: tensors },
    json: {
      seed: files[CONFIG],
      mutate: mutateText,
      read: (bytes) => session.loadAdapter({ ...files, [CONFIG]: bytes }),
    },
    onnx_adapter: {
      seed: onnx,
      read: async (bytes) => {
        await bare.loadAdapter({ [ONNX]: bytes });
        return { inputs: await trainedIn(bare) };
      },
    },
    metadata: { seed: notes.json, mutate: mutateText, read: withNotes },
  };
}

/** A session's parameters without its engine: what is written to them goes nowhere. @param {TrainingSession} session */
async function withoutEngine(session) {
  const { parameters } = session;
  const values = new Map();
  for (const { name } of parameters) values.set(name, await session.getParameter(name));
  return { parameters, getParameter: async (name) => values.get(name), setParameter: async () => {} };
}

/** A configuration that says each module's rank and alpha for itself. @param {Uint8Array} config */
function patternsIn(config) {
  const changed = { r: 4, rank_pattern: { fc1: 2, fc2: 2 }, lora_alpha: 1, alpha_pattern: { fc1: 8, fc2: 8 } };
  return Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(config)), ...changed }));
}

/** The same in this process alone: js/adapters/adapter.js with what a session hands to it. */
export async function adapterParsers() {
  const { session, bare, files, halves, onnx, notes, bareNotes } = await made();
  const [whole, plain] = [await withoutEngine(session), await withoutEngine(bare)];
  const insideOf = (json) => ({ lora: Buffer.from(json).toString(), readSource });
  const load = (changed) => loadAdapter(whole, insideOf(notes.json), { ...files, ...changed });
  const tensors = (bytes) => load({ [TENSORS]: bytes });
  const { seed: header, fix } = headerOf(files[TENSORS]);
  return {
    safetensors: { seeds: [files[TENSORS], halves], read: tensors },
    'header.safetensors': { seeds: [header], fix, mutate: mutateText, read: tensors },
    json: {
      seeds: [files[CONFIG], patternsIn(files[CONFIG])],
      mutate: mutateText,
      read: (bytes) => load({ [CONFIG]: bytes }),
    },
    onnx_adapter: {
      seeds: [onnx],
      read: (bytes) => loadAdapter(plain, insideOf(bareNotes), { [ONNX]: bytes }),
    },
    metadata: {
      seeds: [notes.json],
      mutate: mutateText,
      read: async (bytes) => {
        await exportAdapter(whole, insideOf(bytes));
        await loadAdapter(whole, insideOf(bytes), files);
      },
    },
  };
}
