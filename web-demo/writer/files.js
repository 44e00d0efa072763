// Files that a visitor opens or exports.

import { tokensOf } from './tokens.js';

/** @import { AdapterSources } from '../../js/types.js' */

/** @param {Uint8Array} bytes @param {string} name */
export function download(bytes, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([/** @type {BlobPart} */ (bytes)]));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const ending = (/** @type {File[]} */ files, /** @type {string} */ end) => files.find(({ name }) => name.endsWith(end));

/** ONNX Runtime's one file, or PEFT's two. @param {File[]} files @returns {AdapterSources} */
export function adapterOf(files) {
  const one = ending(files, '.onnx_adapter');
  const [weights, config] = [ending(files, '.safetensors'), ending(files, '.json')];
  if (one) return { 'adapter.onnx_adapter': one };
  if (weights && config) return { 'adapter_model.safetensors': weights, 'adapter_config.json': config };
  throw new Error(
    'An adapter is one .onnx_adapter file, or adapter_model.safetensors and adapter_config.json together.',
  );
}

/** @param {File[]} files */
export async function modelOf(files) {
  const [model, json] = [ending(files, '.onnx'), ending(files, '.json')];
  if (!model || !json) throw new Error('Choose the .onnx file and its tokenizer.json together.');
  const tokens = tokensOf(JSON.parse(await json.text()));
  const rest = files.filter((file) => file !== model && file !== json);
  const bytes = await Promise.all(
    rest.map(async (file) => /** @type {const} */ ([file.name, new Uint8Array(await file.arrayBuffer())])),
  );
  const externalData = rest.length ? Object.fromEntries(bytes) : undefined;
  return { base: { model, name: `${model.name} ${model.size}`, ...(externalData && { externalData }) }, tokens };
}

/** Calls `act` with the files that are chosen. @param {HTMLElement} input @param {(files: File[]) => unknown} act */
export const onChosen = (input, act) =>
  input.addEventListener('change', ({ target }) => {
    const field = /** @type {HTMLInputElement} */ (target);
    const files = [...(field.files ?? [])];
    field.value = '';
    if (files.length) act(files);
  });
