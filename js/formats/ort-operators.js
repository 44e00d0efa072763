/**
 * The keys by which ONNX Runtime finds its kernels: for each operator that our files may have, the versions at which it
 * changed, the names of its inputs and outputs (by their type's constraint or, without one, by name), and the
 * defaults of its attributes, which a file of this format must spell out. make_ort_operators.py prints it.
 *
 *   T,Tind>T: Gather@13(axis=0)   inputs > outputs: operators@versions(defaults); * any number; - no kernel
 */

const ONNX = `
-: MaxRoiPool@22 RandomNormal@22 RandomNormalLike@22 RandomUniform@22 RandomUniformLike@22 RoiAlign@22
>T: RandomNormal@1(dtype=1, mean=0.0, scale=1.0) RandomUniform@1(dtype=1, high=1.0, low=0.0)
B,T,T>T: Where@9,16
T*>T: Concat@13 Max@13 Min@13 Sum@13
T,K>T,I: TopK@11,24(axis=-1, largest=1, sorted=1)
T,T,T,T,T1,T,T,T>T,T,T: LSTM@14,22(direction=forward, input_forget=0, layout=0) LSTM@7(direction=forward,
  input_forget=0)
T,T,T,T,T1,T>T,T: GRU@14,22(direction=forward, layout=0, linear_before_reset=0) GRU@7(direction=forward,
  linear_before_reset=0) RNN@14,22(activations=[Tanh;Tanh], direction=forward, layout=0)
  RNN@7(activations=[Tanh;Tanh], direction=forward)
T,T,T,T,T>T,T,T,T,T: BatchNormalization@9(epsilon=1e-05, momentum=0.9)
T,T,T,U,U>T,U,U: BatchNormalization@14(epsilon=1e-05, momentum=0.9, training_mode=0)
T,T,T>T: Clip@13 Conv@11,22(auto_pad=NOTSET, group=1) ConvTranspose@11,22(auto_pad=NOTSET, group=1) Gemm@13(alpha=1.0,
  beta=1.0, transA=0, transB=0) Range@11
T,T,T>T,U,U: LayerNormalization@17(axis=-1, epsilon=1e-05, stash_type=1)
T,T1,T1,T2,T2>T,T2,T2: BatchNormalization@15(epsilon=1e-05, momentum=0.9, training_mode=0)
T,T1,T2>T,T2: Dropout@13,22
T,T1>T: Pow@13,15 Tile@13
T,T2>T: CumSum@11,14(exclusive=0, reverse=0)
T,T>T: Add@13,14 BitShift@11 BitwiseAnd@18 BitwiseOr@18 BitwiseXor@18 Div@13,14 MatMul@13
  MaxRoiPool@1(spatial_scale=1.0) Mod@13(fmod=0) Mul@13,14 PRelu@9,16 Sub@13,14
T,T>T1: And@7 Equal@13,19 Greater@13 GreaterOrEqual@12,16 Less@13 LessOrEqual@12,16 Or@7
T,Tind,T>T: ScatterElements@13(axis=0) ScatterElements@16,18(axis=0, reduction=none)
T,Tind,Tind,Tind,Tind>T: Slice@13
T,Tind>T: Gather@13(axis=0) GatherElements@13(axis=0)
T,V,V>V,U,U: LayerNormalization@1(axis=-1, epsilon=1e-05, stash_type=1)
T,V>V: RMSNormalization@23(axis=-1, epsilon=1e-05, stash_type=1)
T,V>V,U: SimplifiedLayerNormalization@1(axis=-1, epsilon=1e-05, stash_type=1)
T,axes>T: ReduceL2@18(keepdims=1, noop_with_empty_axes=0) ReduceLogSumExp@18(keepdims=1, noop_with_empty_axes=0)
  ReduceMax@18,20(keepdims=1, noop_with_empty_axes=0) ReduceMean@18(keepdims=1, noop_with_empty_axes=0)
  ReduceMin@18,20(keepdims=1, noop_with_empty_axes=0) ReduceProd@18(keepdims=1, noop_with_empty_axes=0)
  ReduceSum@13(keepdims=1, noop_with_empty_axes=0) Squeeze@13,21,23,24 Unsqueeze@13,21,23,24
T,indices,T>T: ScatterND@13 ScatterND@16,18(reduction=none)
T,indices>T: GatherND@13(batch_dims=0)
T,k>T: Trilu@14(upper=1)
T,pads,T,Tind>T: Pad@18,19,21,23,24(mode=constant)
T,pads,T>T: Pad@13(mode=constant)
T,sequence_lens>T: ReverseSequence@10(batch_axis=1, time_axis=0)
T,shape>T: Expand@13 Reshape@13 Reshape@14,19,21,23,24(allowzero=0)
T,split>T: Split@13,18(axis=0)
T,x_scale,T>y: DequantizeLinear@13(axis=1)
T1,T1,T2,U,T1,T2,nonpad_kv_seqlen>T1,T1,T2,T1: Attention@24(is_causal=0, qk_matmul_output_mode=0, softcap=0.0)
T1,T1,T2,U,T1,T2>T1,T1,T2,T1: Attention@23(is_causal=0, qk_matmul_output_mode=0, softcap=0.0)
T1,T1,T2>T1: RoiAlign@10(mode=avg, output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0)
  RoiAlign@16(coordinate_transformation_mode=half_pixel, mode=avg, output_height=1, output_width=1, sampling_ratio=0,
  spatial_scale=1.0)
T1,T1,T2>T2: QuantizeLinear@19(axis=1, saturate=1) QuantizeLinear@21(axis=1, block_size=0, output_dtype=0, saturate=1)
T1,T2,T1>T2: DequantizeLinear@19(axis=1) DequantizeLinear@21(axis=1, block_size=0)
T1,T2,T1>T3: DequantizeLinear@23,24(axis=1, block_size=0, output_dtype=0)
T1,T2,T3>T3: OneHot@11(axis=-1) QuantizeLinear@23,24(axis=1, block_size=0, output_dtype=0, precision=0, saturate=1)
T1,T2,axis>T1: DFT@20(inverse=0, onesided=0)
T1,T2,scales,sizes>T1: Resize@13(coordinate_transformation_mode=half_pixel, cubic_coeff_a=-0.75, exclude_outside=0,
  extrapolation_value=0.0, mode=nearest, nearest_mode=round_prefer_floor) Resize@18,19(antialias=0,
  coordinate_transformation_mode=half_pixel, cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0,
  keep_aspect_ratio_policy=stretch, mode=nearest, nearest_mode=round_prefer_floor)
T1,T2>T1: DFT@17(axis=1, inverse=0, onesided=0) GridSample@16(align_corners=0, mode=bilinear, padding_mode=zeros)
  GridSample@20,22(align_corners=0, mode=linear, padding_mode=zeros)
T1,y_scale,T2>T2: QuantizeLinear@13(axis=1)
T1>T2: Cast@13 Cast@19,21,23(saturate=1) Cast@24(round_mode=up, saturate=1) ConstantOfShape@9,20,21,23,24
  RandomNormalLike@1(mean=0.0, scale=1.0) RandomUniformLike@1(high=1.0, low=0.0)
T>T: Abs@13 Atan@7,22 AveragePool@11,19,22(auto_pad=NOTSET, ceil_mode=0, count_include_pad=0) BitwiseNot@18 Ceil@13
  Celu@12(alpha=1.0) Cos@7,22 Det@11,22 Elu@6,22(alpha=1.0) Erf@13 Exp@13 Flatten@13,21,23,24(axis=1) Floor@13
  Gelu@20(approximate=none) GlobalAveragePool@1,22 GlobalMaxPool@1,22 HardSigmoid@6,22(alpha=0.2, beta=0.5)
  Identity@13 LeakyRelu@6,16(alpha=0.01) Log@13 LogSoftmax@13(axis=-1) Neg@13 Not@1 Reciprocal@13
  ReduceL2@13(keepdims=1) ReduceLogSumExp@13(keepdims=1) ReduceMax@13(keepdims=1) ReduceMean@13(keepdims=1)
  ReduceMin@13(keepdims=1) ReduceProd@13(keepdims=1) Relu@13,14 Round@11,22 Selu@6,22(alpha=1.6732632, gamma=1.050701)
  Sigmoid@13 Sign@13 Sin@7,22 Softmax@13(axis=-1) Softplus@1,22 Sqrt@13 Tanh@13 Transpose@13,21,23,24
T>T,I: MaxPool@12,22(auto_pad=NOTSET, ceil_mode=0, storage_order=0)
T>T1: Shape@13 Shape@15,19,21,23,24(start=0) Size@13,19,21,23,24 TfIdfVectorizer@9
T>reduced: ArgMax@13(axis=0, keepdims=1, select_last_index=0)
V>V: Identity@14,16,19,21,23,24
`;

/** Operators of onnxruntime-training, and of onnxruntime-web up to 1.19.2. */
const ONNX_TRAINING = `
T,I>T: MaxPoolGrad@9
T,Tind,T>T,T: SoftmaxCrossEntropyLoss@13(reduction=mean)
T>T: AveragePoolGrad@9(auto_pad=NOTSET, count_include_pad=0)
`;

const MICROSOFT = `
T,T>T: BiasGelu@1 FastGelu@1 FusedMatMul@1(alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0)
T1,T2,T1,T3,T4,T1>T1: MatMulNBits@1(accuracy_level=0, bits=4, weight_prepacked=0)
T>T: Gelu@1 Inverse@1 QuickGelu@1(alpha=1.702)
`;

const MICROSOFT_TRAINING = `
I,Tind,T>T: GatherGrad@1(axis=0)
S_GRAD>S_GRAD: InplaceClipGradNorm@1(max_norm=1.0, norm_type=fro)
T*>T: PassThrough@1
T*>T,Tint: ConcatTraining@1
T,I,Tind,Tind,Tind,Tind>T: SliceGrad@1
T,I,Tind>T: GatherElementsGrad@1(axis=0)
T,ScaleT>T: Scale@1(scale_down=0)
T,T,T1,T2,T2>T,T1,T1: BatchNormalizationGrad@1
T,T,T>T: BiasFastGeluGrad_dX@1 BiasGeluGrad_dX@1
T,T,T>T,T,T: ConvGrad@1
T,T,T>T,T_BOOL: FakeQuant@1(quant_max=255, quant_min=0)
T,T,Tind,T,I,TOut>TOut: SoftmaxCrossEntropyLossInternalGrad@1(reduction=mean)
T,T,Tind,T>T: SoftmaxCrossEntropyLossGrad@1(reduction=mean)
T,T1,T1,T2,T2>T,T2,T2,T2,T2: BatchNormInternal@1(training_mode=1)
T,T2,T1,T2>T: DropoutGrad@1
T,T>T: FastGeluGrad@1 GeluGrad@1 LeakyReluGrad@1 LogSoftmaxGrad_13@1(axis=-1) QuickGeluGrad@1 ReluGrad@1 SigmoidGrad@1
  SoftmaxGrad_13@1(axis=-1) TanhGrad@1
T,T>T,T: BroadcastGradientArgs@1
T,T_GRAD,T_BOOL>T_BOOL,T: InPlaceAccumulatorV2@1
T,Tind,T,I>TOut,TOut: SoftmaxCrossEntropyLossInternal@1(reduction=mean)
T,axes>T: ReduceSumTraining@1(keepdims=1, noop_with_empty_axes=0)
T,split>T: SplitTraining@1(axis=0)
T1,S_WEIGHT,S_GRAD,T_BOOL>T_BOOL,S_WEIGHT: SGDOptimizerV2@1
T1,T2,S_WEIGHT,S_GRAD,S_MOMENT,S_MOMENT,T_BOOL>T_BOOL,S_WEIGHT,S_MOMENT,S_MOMENT: AdamWOptimizer@1(adam_mode=0,
  alpha=0.9, beta=0.999, correct_bias=1, epsilon=1e-08, weight_decay=0.01)
T1,Tind,T>T: GatherNDGrad@1(batch_dims=0)
V,T,V,U,U>T,V,V: LayerNormalizationGrad@1(axis=-1)
V,T,V,U>T,V: SimplifiedLayerNormalizationGrad@1(axis=-1)
`;

/**
 * @typedef {object} Operator
 * @property {number} since
 * @property {string[]} inputs
 * @property {string[]} outputs
 * @property {boolean} takesAny whether its last input may be given several times
 * @property {Map<string, string>} defaults
 */

/** A signature, or an operator with its versions and defaults. */
const TOKENS = /([\w*,>-]+):|(\w+)@([\d,]+)(?:\(([^)]*)\))?/g;

/** @type {Map<string, Operator[]> | undefined} */
let operators;

/**
 * An operator at a version of its domain's opset; undefined if there is no kernel.
 * @param {string} domain @param {string} name @param {number} version
 */
export function operatorOf(domain, name, version) {
  operators ??= readAll();
  const forms = (operators.get(`${domain}:${name}`) ?? []).filter(({ since }) => since <= version);
  const form = forms.reduce((newest, form) => (form.since > newest.since ? form : newest), forms[0]);
  return form?.outputs.length ? form : undefined;
}

function readAll() {
  const all = new Map();
  for (const rows of [ONNX, ONNX_TRAINING]) readRows('', rows, all);
  for (const rows of [MICROSOFT, MICROSOFT_TRAINING]) readRows('com.microsoft', rows, all);
  return all;
}

/** @param {string} domain @param {string} rows @param {Map<string, Operator[]>} to */
function readRows(domain, rows, to) {
  let [inputs, outputs] = [[''], ['']];
  for (const [, signature, name, versions, defaults = ''] of rows.matchAll(TOKENS)) {
    if (signature) [inputs, outputs = []] = signature.split('>').map((names) => (names ? names.split(',') : []));
    else to.set(`${domain}:${name}`, [...(to.get(`${domain}:${name}`) ?? []), ...formsOf(versions, defaults)]);
  }

  /** @param {string} versions @param {string} defaults @returns {Operator[]} */
  function formsOf(versions, defaults) {
    const pairs = defaults.split(/,\s+/).filter(Boolean);
    return versions.split(',').map((since) => ({
      since: Number(since),
      inputs: inputs.map((input) => input.replace('*', '')),
      outputs,
      takesAny: inputs.at(-1)?.endsWith('*') ?? false,
      defaults: new Map(pairs.map((pair) => /** @type {[string, string]} */ (pair.split('=')))),
    }));
  }
}
