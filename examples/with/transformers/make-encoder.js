// Makes models/encoder, a sentence encoder with random weights in the form in which the Hub has models. It stands for a
// real one, such as Xenova/all-MiniLM-L6-v2, which `pipeline` downloads by its name.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dense, embedding, input, sequential } from 'trainlet/layers';
import { SENTENCES } from './sentences.js';

const words = SENTENCES.flatMap(([text]) => text.toLowerCase().match(/\w+|[^\w\s]/g) ?? []);
const vocab = Object.fromEntries(['[PAD]', '[UNK]', ...new Set(words)].map((word, id) => [word, id]));
const tokenizer = {
  version: '1.0',
  added_tokens: [],
  normalizer: { type: 'Lowercase' },
  pre_tokenizer: { type: 'Whitespace' },
  post_processor: null,
  decoder: null,
  model: { type: 'WordLevel', vocab, unk_token: '[UNK]' },
};
const encoder = await sequential(
  [
    input([null], { name: 'input_ids', dtype: 'int64' }),
    embedding(Object.keys(vocab).length, 64),
    dense(384, { activation: 'tanh', name: 'last_hidden_state' }),
  ],
  { seed: 7 },
);

mkdirSync('models/encoder/onnx', { recursive: true });
writeFileSync('models/encoder/onnx/model.onnx', encoder);
writeFileSync('models/encoder/config.json', JSON.stringify({ model_type: 'bert', architectures: ['BertModel'] }));
writeFileSync('models/encoder/tokenizer.json', JSON.stringify(tokenizer));
const config = { tokenizer_class: 'PreTrainedTokenizerFast', pad_token: '[PAD]', unk_token: '[UNK]' };
writeFileSync('models/encoder/tokenizer_config.json', JSON.stringify(config));
