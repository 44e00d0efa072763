// Embeddings of transformers.js teach a small network, which transformers.js then loads and runs.

import { mkdirSync, writeFileSync } from 'node:fs';
import { AutoModel, env, pipeline } from '@huggingface/transformers';
import { generateArtifacts, Tensor, TrainingSession, tensor } from 'trainlet';
import { dense, dropout, input, sequential } from 'trainlet/layers';
import { DEPARTMENTS, SENTENCES } from './sentences.js';

env.allowRemoteModels = false;
env.localModelPath = './models/';

// embeddings, (12, 384)
const embed = await pipeline('feature-extraction', 'encoder', { dtype: 'fp32' });
const texts = SENTENCES.map(([text]) => text);
const { data, dims } = await embed(texts, { pooling: 'mean', normalize: true });

// a network of 0.4 MB learns the departments
const network = await sequential([
  input([dims[1]], { name: 'embedding' }),
  dense(256, { activation: 'relu' }),
  dropout(0.2),
  dense(DEPARTMENTS.length, { name: 'logits' }),
]);
const options = { loss: 'cross-entropy', optimizer: { type: 'adamw', lr: 0.003 } };
const session = await TrainingSession.create(await generateArtifacts(network, options));
const classes = SENTENCES.map(([, department]) => DEPARTMENTS.indexOf(department));
const examples = { inputs: new Tensor('float32', data, dims), labels: tensor(classes, 'int64') };
const before = await session.evaluate(examples);
await session.fit(examples, { epochs: 60 });
const after = await session.evaluate(examples);
const model = await session.exportModel();
await session.release();
console.log(`loss ${before.loss.toFixed(4)} → ${after.loss.toFixed(4)}; the model has ${model.length} bytes`);

// transformers.js loads it as any model of the Hub: config.json and onnx/model.onnx
mkdirSync('models/departments/onnx', { recursive: true });
writeFileSync('models/departments/config.json', JSON.stringify({ model_type: 'departments' }));
writeFileSync('models/departments/onnx/model.onnx', model);
const head = await AutoModel.from_pretrained('departments', { dtype: 'fp32' });

const news = ['My card was charged twice!', 'Has the parcel arrived at the door?', 'I want to return the shoes'];
const embedding = await embed(news, { pooling: 'mean', normalize: true });
const { logits } = await head({ embedding });
for (const [i, scores] of logits.tolist().entries())
  console.log(`${news[i]} → ${DEPARTMENTS[scores.indexOf(Math.max(...scores))]}`);
