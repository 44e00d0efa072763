// Damaged adapters and models' notes of them: what each reader begins with, and how it reads.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { generateArtifacts, TrainingSession } from '../../js/index.js';
import { mutateText } from './mutate.js';

const HERE = { worker: false, threads: 1 };
const [TENSORS, CONFIG, ONNX] = ['adapter_model.safetensors', 'adapter_config.json', 'adapter.onnx_adapter'];

/** Finds the model's notes of its adapters in the file. @param {Uint8Array} model */
function notesIn(model) {
  const text = Buffer.from(model).toString('latin1');
  const from = text.indexOf('{', text.indexOf('trainlet.lora'));
  return { from, json: Buffer.from(text.slice(from, text.indexOf('}]}', from) + 3), 'latin1') };
}

/** A file of tensors in two pieces: its header, and a function that makes it whole with another. @param {Uint8Array} file */
function headerOf(file) {
  const end = 8 + Buffer.from(file).readUInt32LE(0);
  const wrap = (header) => {
    const length = Buffer.alloc(8);
    length.writeUInt32LE(header.length, 0);
    return Buffer.concat([length, header, file.subarray(end)]);
  };
  return { seed: file.subarray(8, end), fix: wrap };
}

/** An adapter of two layers and a last one that trains whole, as PEFT and ONNX Runtime have it, and notes of it. */
export async function adapterTargets() {
  const model = await readFile(fileURLToPath(new URL('../golden/mlp_small.onnx', import.meta.url)));
  const made = async (lora) => generateArtifacts(model, { ...HERE, loss: 'cross-entropy', optimizer: 'sgd', lora });
  const [whole, plain] = [await made({ r: 2, modulesToSave: ['fc3'] }), await made({ r: 2 })];
  const [session, bare] = [await TrainingSession.create(whole, HERE), await TrainingSession.create(plain, HERE)];
  const files = await session.exportAdapter();
  const onnx = (await bare.exportAdapter({ format: 'onnx' }))[ONNX];
  const notes = notesIn(whole.evalModel);
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
  const halves = (await session.exportAdapter({ type: 'bfloat16' }))[TENSORS];
  const tensors = (bytes) => session.loadAdapter({ ...files, [TENSORS]: bytes });
  return {
    safetensors: { seed: files[TENSORS], read: tensors },
    'bfloat16.safetensors': { seed: halves, read: tensors },
    'header.safetensors': { ...headerOf(files[TENSORS]), mutate: mutateText, read: tensors },
    json: {
      seed: files[CONFIG],
      mutate: mutateText,
      read: (bytes) => session.loadAdapter({ ...files, [CONFIG]: bytes }),
    },
    onnx_adapter: { seed: onnx, read: (bytes) => bare.loadAdapter({ [ONNX]: bytes }) },
    metadata: { seed: notes.json, mutate: mutateText, read: withNotes },
  };
}
