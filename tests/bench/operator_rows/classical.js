// Rows of ai.onnx.ml: what scikit-learn's models, forests and their inputs are made of, and n-grams.

import { batchBits, batchUnit } from '../../support/recipe.js';
import { constant, floats, indices, lines } from './inputs.js';

const FEATURES = 32;
const rows = (n) => lines(n, FEATURES);
const list = (count, seed = 9, low = -1, high = 1) => ({
  floats: Array.from({ length: count }, (_, i) => low + (high - low) * batchUnit(seed, i)),
});
const upTo = (count) => [...Array(count).keys()];
const ml = (op, inputs, attributes, more) => (n) => [`ai.onnx.ml.${op}`, inputs(n), attributes, more];

/** Whole binary trees of `depth` splits: node i of a tree has the children 2i + 1 and 2i + 2. */
const TREES = 50;
const DEPTH = 5;
const SPLITS = 2 ** DEPTH - 1;
const LEAVES = 2 ** DEPTH;
const NODES = SPLITS + LEAVES;
const everyNode = (of) => upTo(TREES * NODES).map((i) => of(i % NODES, Math.floor(i / NODES), i));
const isLeaf = (node) => node >= SPLITS;
const nodes = {
  nodes_treeids: everyNode((_, tree) => tree),
  nodes_nodeids: everyNode((node) => node),
  nodes_featureids: everyNode((node, _, i) => (isLeaf(node) ? 0 : batchBits(5, i) % FEATURES)),
  nodes_values: { floats: everyNode((node, _, i) => (isLeaf(node) ? 0 : batchUnit(6, i) - 0.5)) },
  nodes_modes: { strings: everyNode((node) => (isLeaf(node) ? 'LEAF' : 'BRANCH_LEQ')) },
  nodes_truenodeids: everyNode((node) => (isLeaf(node) ? 0 : 2 * node + 1)),
  nodes_falsenodeids: everyNode((node) => (isLeaf(node) ? 0 : 2 * node + 2)),
};
const leaves = (prefix, targets) => ({
  [`${prefix}_treeids`]: upTo(TREES * LEAVES).map((i) => Math.floor(i / LEAVES)),
  [`${prefix}_nodeids`]: upTo(TREES * LEAVES).map((i) => SPLITS + (i % LEAVES)),
  [`${prefix}_ids`]: upTo(TREES * LEAVES).map((i) => Math.floor(i / LEAVES) % targets),
  [`${prefix}_weights`]: list(TREES * LEAVES),
});
const everySplit = (of) => upTo(TREES * SPLITS).map((i) => of(i % SPLITS, Math.floor(i / SPLITS), i));
/** Child of a split: another split, or a leaf of its tree. */
const child = (side) => (node, tree) => {
  const to = 2 * node + side;
  return isLeaf(to) ? tree * LEAVES + to - SPLITS : tree * SPLITS + to;
};
const vector = (values, type = Float32Array) => ({
  type: type === Float32Array ? 'float32' : 'uint8',
  dims: [values.length],
  data: type.from(values),
});
const ensemble = {
  n_targets: 1,
  tree_roots: upTo(TREES).map((tree) => tree * SPLITS),
  nodes_featureids: everySplit((_, __, i) => batchBits(5, i) % FEATURES),
  nodes_splits: vector(everySplit((_, __, i) => batchUnit(6, i) - 0.5)),
  nodes_modes: vector(
    everySplit(() => 0),
    Uint8Array,
  ),
  nodes_truenodeids: everySplit(child(1)),
  nodes_falsenodeids: everySplit(child(2)),
  nodes_trueleafs: everySplit((node) => Number(isLeaf(2 * node + 1))),
  nodes_falseleafs: everySplit((node) => Number(isLeaf(2 * node + 2))),
  leaf_targetids: upTo(TREES * LEAVES).map(() => 0),
  leaf_weights: vector(list(TREES * LEAVES).floats),
};

const VECTORS = 64;
const support = {
  support_vectors: list(VECTORS * FEATURES),
  kernel_type: 'RBF',
  kernel_params: { floats: [0.05, 0, 3] },
};

export const CLASSICAL = {
  'ai.onnx.ml.ArrayFeatureExtractor': ml(
    'ArrayFeatureExtractor',
    (n) => [rows(n), constant(indices([1, 8], FEATURES))],
    {},
  ),
  'ai.onnx.ml.Binarizer': ml('Binarizer', (n) => [rows(n)], { threshold: { float: 0.25 } }),
  'ai.onnx.ml.FeatureVectorizer': ml('FeatureVectorizer', (n) => [rows(n / 2), rows(n / 2)], {
    inputdimensions: [FEATURES, FEATURES],
  }),
  'ai.onnx.ml.Imputer': ml('Imputer', (n) => [rows(n)], {
    imputed_value_floats: list(FEATURES),
    replaced_value_float: { float: 0.5 },
  }),
  'ai.onnx.ml.LabelEncoder': ml(
    'LabelEncoder',
    (n) => [indices([n], 100)],
    { keys_int64s: upTo(90), values_floats: list(90), default_float: { float: -1 } },
    { ml: 2 },
  ),
  'ai.onnx.ml.LinearClassifier': ml(
    'LinearClassifier',
    (n) => [rows(n)],
    {
      coefficients: list(10 * FEATURES),
      intercepts: list(10),
      classlabels_ints: upTo(10),
      post_transform: 'SOFTMAX',
    },
    { outputs: [1, 2] },
  ),
  'ai.onnx.ml.LinearRegressor': ml('LinearRegressor', (n) => [rows(n)], {
    coefficients: list(4 * FEATURES),
    intercepts: list(4),
    targets: 4,
  }),
  'ai.onnx.ml.Normalizer': ml('Normalizer', (n) => [rows(n)], { norm: 'L2' }),
  'ai.onnx.ml.Normalizer, max': ml('Normalizer', (n) => [{ ...floats([n / FEATURES, FEATURES], 0.1, 1) }], {
    norm: 'MAX',
  }),
  'ai.onnx.ml.OneHotEncoder': ml(
    'OneHotEncoder',
    (n) => [indices([n / 64], 64)],
    { cats_int64s: upTo(64), zeros: 1 },
    { rank: 2 },
  ),
  'ai.onnx.ml.Scaler': ml('Scaler', (n) => [rows(n)], { offset: list(FEATURES), scale: list(FEATURES) }),
  'ai.onnx.ml.SVMClassifier': ml(
    'SVMClassifier',
    (n) => [rows(Math.min(n, 2 ** 19))],
    {
      ...support,
      vectors_per_class: [VECTORS / 2, VECTORS / 2],
      coefficients: list(VECTORS),
      rho: { floats: [0.25] },
      classlabels_ints: [0, 1],
    },
    { outputs: [1, 2] },
  ),
  'ai.onnx.ml.SVMRegressor': ml('SVMRegressor', (n) => [rows(Math.min(n, 2 ** 19))], {
    ...support,
    n_supports: VECTORS,
    coefficients: list(VECTORS),
    rho: { floats: [0.25] },
  }),
  'ai.onnx.ml.TreeEnsembleClassifier': ml(
    'TreeEnsembleClassifier',
    (n) => [rows(Math.min(n, 2 ** 19))],
    { ...nodes, ...leaves('class', 3), classlabels_int64s: [0, 1, 2], post_transform: 'SOFTMAX' },
    { outputs: [1, 2] },
  ),
  'ai.onnx.ml.TreeEnsembleRegressor': ml('TreeEnsembleRegressor', (n) => [rows(Math.min(n, 2 ** 19))], {
    ...nodes,
    ...leaves('target', 1),
    n_targets: 1,
  }),
  'ai.onnx.ml.TreeEnsemble': ml('TreeEnsemble', (n) => [rows(Math.min(n, 2 ** 19))], ensemble, { ml: 5 }),
  TfIdfVectorizer: (n) => [
    'TfIdfVectorizer',
    [indices([n / 1024, 1024], 50)],
    {
      mode: 'TF',
      min_gram_length: 1,
      max_gram_length: 2,
      max_skip_count: 0,
      ngram_counts: [0, 50],
      ngram_indexes: upTo(150),
      pool_int64s: [...upTo(50), ...upTo(100).flatMap((i) => [i % 50, (7 * i + Math.floor(i / 50)) % 50])],
    },
    { rank: 2 },
  ],
};
