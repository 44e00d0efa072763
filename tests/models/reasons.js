// Why a model of the zoo does not pass whole: what its exporter has changed, so that what trains is not what trains in
// PyTorch, or what makes its steps no yardstick.

const LEFT_OUT = 'the exporter does not say what is learned: `warnings` names what does not train';
const computed = (what, from) =>
  `the exporter computed ${what} from ${from}, which trains as it is; \`optimize=False\` keeps the parameter`;

const UNSTEADY =
  'with random weights and two pictures a batch its steps are unsteady: in PyTorch too, a change of the last bit grows';
const TRAINING_MODE =
  'in training mode an inference session normalizes by the batch too, as in onnxruntime-web; the steps are the same';

const OWN_LSTM =
  "the quantizer writes an operator of ONNX Runtime's own, DynamicQuantizeLSTM; static quantization keeps LSTM";

export const REASONS = {
  'LSTM, two layers both ways, int8, dynamic': OWN_LSTM,
  'Sensors: CNN and LSTM, int8, dynamic': OWN_LSTM,
  'GPT-2, int8, dynamic': 'no gradient goes through rounded activations, and what is left of it lets its loss rise',
  'ResNet-18, script, training mode': TRAINING_MODE,
  'Sensors, script, training mode': TRAINING_MODE,
  ...Object.fromEntries(
    [
      'ResNet-50',
      'ResNeXt-50',
      'MobileNetV2',
      'MobileNetV2, script',
      'EfficientNetV2-S',
      'DenseNet-121',
      'MNASNet',
      'RegNet',
      'GoogLeNet',
      'DeepLabV3',
      'FCN',
    ].flatMap((name) => [name, `${name}, optimize=False`].map((one) => [one, UNSTEADY])),
  ),
  CLIP: computed('the scale of the scores', 'its logarithm'),
  Mamba: computed('A', 'A_log'),
  RWKV: computed('each decay', 'its logarithm'),
  T5: 'the exporter looked learned distances up for all pairs of positions; with `optimize=False` they stay one',
  'TCN with weight norm': computed('the weights', 'their directions and lengths'),
  'wav2vec 2.0': computed('the weights of the positional convolution', 'their directions and lengths'),
  'RNN, two layers both ways':
    'the exporter split a bias for the first step, which trains apart; `optimize=False` keeps it',
  'ViT, script': LEFT_OUT,
};
