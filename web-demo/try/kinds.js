// Kinds of files by their first bytes and their name: models, data, and files of other frameworks with a way to ONNX.

/**
 * @typedef {'model' | 'weights' | 'table' | 'arrays' | 'picture' | 'foreign'} Kind
 * @typedef {{ kind: Kind, words?: string, guide?: string }} Recognized words: for a foreign file, what to do with it;
 * guide: the page of the site that says more
 */

/** Bytes that are enough to tell a file. */
export const HEAD_BYTES = 64;

const TORCH = {
  words:
    'is a file of PyTorch, which holds weights or a program in Python. In Python, torch.onnx.export(model, ' +
    '(example,), "model.onnx", dynamo=True) writes the network as ONNX; drop that file here.',
  guide: 'exporting',
};
const KERAS = {
  words: 'is a file of Keras. In Python, model.export("model.onnx", format="onnx") writes it as ONNX; drop that here.',
  guide: 'exporting',
};
const PICKLE = {
  words:
    'is a Python pickle. Of scikit-learn, skl2onnx.to_onnx(model, X[:1]) makes ONNX of it; of PyTorch, ' +
    'torch.onnx.export does.',
  guide: 'scikit-learn',
};
const TFLITE = {
  words:
    'is a model of TensorFlow Lite. "python -m tf2onnx.convert --tflite model.tflite --output model.onnx" converts it.',
};
const SAVED_MODEL = {
  words:
    'is of TensorFlow. "python -m tf2onnx.convert --saved-model FOLDER --output model.onnx" makes ONNX of a ' +
    'SavedModel.',
};
const ZIP = { words: 'is a ZIP archive. Unpack it, and drop the files that are in it.' };
const GGUF = { words: 'is of llama.cpp and holds weights alone. Drop an ONNX export of the same network instead.' };

/** First bytes of files: offset, text in Latin-1, kind. @type {[number, string, Recognized][]} */
const BEGINS = [
  [0, '\x93NUMPY', { kind: 'arrays' }],
  [0, '\x89PNG', { kind: 'picture' }],
  [0, '\xff\xd8\xff', { kind: 'picture' }],
  [0, 'GIF8', { kind: 'picture' }],
  [8, 'WEBP', { kind: 'picture' }],
  [4, 'ftypavif', { kind: 'picture' }],
  [0, '\x89HDF', { kind: 'foreign', ...KERAS }],
  [4, 'TFL3', { kind: 'foreign', ...TFLITE }],
  [0, 'GGUF', { kind: 'foreign', ...GGUF }],
  [0, '\x80\x02', { kind: 'foreign', ...PICKLE }],
  [0, '\x80\x04', { kind: 'foreign', ...PICKLE }],
  [0, '\x80\x05', { kind: 'foreign', ...PICKLE }],
  [0, '\x1f\x8b', { kind: 'foreign', words: 'is compressed by gzip. Decompress it first.' }],
  [
    0,
    'version https://git-lfs',
    { kind: 'foreign', words: 'is a pointer of Git LFS, not the file itself. "git lfs pull" brings the file.' },
  ],
  [0, '\rTLCK', { kind: 'foreign', words: 'is a checkpoint of Trainlet. Drop the model that it belongs to.' }],
];

/** Ends of names, for files whose first bytes say less. @type {[RegExp, Recognized][]} */
const NAMES = [
  [/\.keras$/, { kind: 'foreign', ...KERAS }],
  [/\.(h5|hdf5)$/, { kind: 'foreign', ...KERAS }],
  [/\.(pt|pth|ckpt)$/, { kind: 'foreign', ...TORCH }],
  [/\.(pkl|pickle|joblib)$/, { kind: 'foreign', ...PICKLE }],
  [/\.tflite$/, { kind: 'foreign', ...TFLITE }],
  [/\.pb$/, { kind: 'foreign', ...SAVED_MODEL }],
  [/\.mlmodel$/, { kind: 'foreign', words: 'is of Core ML. Export the network that it was made of to ONNX.' }],
  [/\.safetensors$/, { kind: 'weights' }],
  [/\.npz$/, { kind: 'arrays' }],
  [/\.(onnx|ort)$/, { kind: 'model' }],
  [/\.(csv|tsv)$/, { kind: 'table' }],
  [/\.(png|jpe?g|webp|gif|avif|bmp)$/, { kind: 'picture' }],
];

/** @param {string} name @param {Uint8Array} head the first bytes @returns {Recognized} */
export function kindOf(name, head) {
  const text = String.fromCharCode(...head.subarray(0, HEAD_BYTES));
  const begins = BEGINS.find(([at, begin]) => text.startsWith(begin, at));
  if (begins) return begins[2];
  const lower = name.toLowerCase();
  const named = NAMES.find(([pattern]) => pattern.test(lower));
  if (text.startsWith('PK\x03\x04')) return named && named[1].kind !== 'model' ? named[1] : { kind: 'foreign', ...ZIP };
  if (/^\s*<(!doctype|html|\?xml)/i.test(text) && named?.[1].kind !== 'table')
    return { kind: 'foreign', words: 'is a web page or XML, as servers send for a file that is missing.' };
  if (named) return named[1];
  if (/\.onnx[._].*$|\.(data|bin|weight|bias|weights)$/.test(lower)) return { kind: 'weights' };
  if (/\.txt$/.test(lower) && /[,;\t|]/.test(text)) return { kind: 'table' };
  return { kind: 'foreign', words: 'is none of the files that this page reads: .onnx, .csv, pictures, .npz, .npy.' };
}
