// Why a model of the zoo does not pass whole.

import { isNear, outcomeOf } from './outcome.js';

const computed = (what, from) =>
  `the exporter computed ${what} from ${from}, which trains as it is; \`optimize=False\` keeps the parameter`;

const OWN_LSTM =
  "the quantizer writes an operator of ONNX Runtime's own, DynamicQuantizeLSTM; static quantization keeps LSTM";

/** By name, what an exporter has changed so that what trains is not what trains in PyTorch. */
export const REASONS = {
  'LSTM, two layers both ways, int8, dynamic': OWN_LSTM,
  'Sensors: CNN and LSTM, int8, dynamic': OWN_LSTM,
  'GPT-2, int8, dynamic': 'no gradient goes through rounded activations, and what is left of it lets its loss rise',
  CLIP: computed('the scale of the scores', 'its logarithm'),
  Mamba: computed('A', 'A_log'),
  RWKV: computed('each decay', 'its logarithm'),
  T5: 'the exporter looked learned distances up for all pairs of positions; with `optimize=False` they stay one',
  'TCN with weight norm': computed('the weights', 'their directions and lengths'),
  'wav2vec 2.0': computed('the weights of the positional convolution', 'their directions and lengths'),
  'RNN, two layers both ways':
    'the exporter split a bias for the first step, which trains apart; `optimize=False` keeps it',
};

const size = (number) => number.toExponential(0);

function whyMiswritten({ notExported, peer }) {
  if (notExported) return `the exporter fails: ${notExported.replaceAll('|', '\\|').slice(0, 160)}`;
  return `the exporter: onnxruntime-web computes the same other numbers (${size(peer)})`;
}

/** The network's own unsteadiness, or onnxruntime-web's difference. */
function whyFar({ unsteady, loss, forward, peer, within }) {
  if (!isNear(loss, within) && unsteady > 1e-5)
    return `unsteady: another last bit in each weight changes PyTorch's own losses by ${size(unsteady)}`;
  if (isNear(forward, within) && !isNear(peer, within) && peer !== undefined)
    return `onnxruntime-web computes the exporter's own file with a difference of ${size(peer)}`;
  return undefined;
}

/** Warnings of what the exporter has changed; the batch and BatchNormalization, which the note folds too, aside. */
export const warningsOf = ({ warnings = [] }) =>
  warnings.filter((text) => !/fixed batch|folded BatchNormalization/.test(text));

const warned = (found) => warningsOf(found).map((text) => `a warning says that ${text.split(';')[0]}`)[0];

/** A sentence; undefined of a model that passes. */
export function reasonOf(name, found) {
  const outcome = outcomeOf(found);
  if (outcome === 'whole' || outcome === 'run') return undefined;
  if (outcome === 'miswritten') return whyMiswritten(found);
  const failed = Object.entries(found).find(([key]) => key.endsWith('Error'));
  return REASONS[name] ?? failed?.[1] ?? warned(found) ?? whyFar(found) ?? 'the numbers differ';
}
