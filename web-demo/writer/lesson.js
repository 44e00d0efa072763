// All that this page asks of Trainlet: an adapter on a language model, a lesson, and how a text goes on.
import { generate, generateArtifacts, TrainingSession } from '../../js/index.js';

export const RATE = 3e-3;
const LOSS = { type: 'cross-entropy', axis: -1, ignoreIndex: -100 };
const DRAW = { maxTokens: 20, temperature: 0.5, topP: 0.9, repetitionPenalty: 1.05, seed: 1 };

export async function withAdapter(model, adapterState, options) {
  const recipe = { loss: LOSS, optimizer: { type: 'adamw', lr: RATE }, lora: { r: 4, alpha: 8 } };
  const artifacts = await generateArtifacts(model, { ...recipe, additionalOutputs: ['logits'], ...options });
  return TrainingSession.create({ ...artifacts, ...(adapterState && { adapterState }) });
}

export const learn = (session, text, options) => session.fit(text, { resume: false, ...options });

export const goOn = (session, ids, options) => generate(session, ids, { ...DRAW, ...options });
