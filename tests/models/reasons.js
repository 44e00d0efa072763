// Why a model of the zoo does not pass whole.

import { isNear, outcomeOf } from './outcome.js';

const computed = (what, from) =>
  `the exporter computed ${what} from ${from}, which trains as it is; \`optimize=False\` keeps the parameter`;

const DECAY = "the exporter computed 1 + w from w: AdamW's weight decay pulls that towards 0, and w less";

/** Changes by an exporter that make other parameters train than in PyTorch, by name of the model. */
export const REASONS = {
  'GPT-2, int8, dynamic': 'no gradient goes through rounded activations, and what is left of it lets its loss rise',
  RWKV: computed('each decay', 'its logarithm'),
  T5: 'the exporter looked learned distances up for all pairs of positions; with `optimize=False` they stay one',
  'TCN with weight norm': computed('the weights', 'their directions and lengths'),
  'wav2vec 2.0': computed('the weights of the positional convolution', 'their directions and lengths'),
  'RNN, two layers both ways':
    'the exporter split a bias for the first step, which trains apart; `optimize=False` keeps it',
  ...Object.fromEntries(['GIN', 'Gemma', 'Gemma 3'].map((name) => [name, DECAY])),
};

const size = (number) => number.toExponential(0);

function whyMiswritten({ notExported, peer }) {
  const [error] = notExported?.split(/, scope:| +\[Caused by| \(Caused by/) ?? [];
  if (error) return `the exporter fails: ${error.replaceAll('|', '\\|').slice(0, 160)}`;
  return `the exporter: onnxruntime-web computes the same other numbers (${size(peer)})`;
}

/** The network's own unsteadiness, or onnxruntime-web's difference. */
function whyFar({ unsteady, loss, forward, peer, within }) {
  if (!isNear(loss, within) && unsteady > 1e-5)
    return `unsteady: a millionth more or less in each weight changes PyTorch's own losses by ${size(unsteady)}`;
  if (isNear(forward, within) && !isNear(peer, within) && peer !== undefined)
    return `onnxruntime-web computes the exporter's own file with a difference of ${size(peer)}`;
  if (isNear(loss, within) && peer > 1e-5)
    return `rounding: the outputs of onnxruntime-web differ from the framework's by ${size(peer)}`;
  return undefined;
}

/** Warnings of what the exporter has changed; the batch and BatchNormalization, which the note folds too, aside. */
const warningsOf = ({ warnings = [] }) =>
  warnings.filter((text) => !/fixed batch|folded BatchNormalization/.test(text));

export const isWarned = (found) => warningsOf(found).length > 0;

/** Tells whether the file has values in the place of the parameters from which the exporter computed them. */
export const isFolded = ({ warnings = [] }) => warnings.some((text) => text.startsWith('the exporter computed'));

const warned = (found) => warningsOf(found).map((text) => `a warning: ${text.split(';')[0]}`)[0];

/** A sentence; undefined of a model that passes. */
export function reasonOf(name, found) {
  const outcome = outcomeOf(found);
  if (outcome === 'whole' || outcome === 'run') return undefined;
  if (outcome === 'miswritten') return whyMiswritten(found);
  const failed = Object.entries(found).find(([key]) => key.endsWith('Error') && key !== 'peerError');
  return REASONS[name] ?? failed?.[1] ?? warned(found) ?? whyFar(found) ?? 'the numbers differ';
}
