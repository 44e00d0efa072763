"""Writes layers.json: what Keras (3.15.1, on PyTorch) computes with the layers of trainlet/layers.

Run by hand: build/models-venv/bin/python tests/golden/scripts/make_layers.py

A case is a list of layers as JavaScript calls them, [name, arguments, options], each with its weights: element i is
low + (high - low) · unit(seed, i), the formula of make_w.py. Of each case: outputs for inputs by that formula, and of
each weight by how much a step of plain SGD with a rate of 1 changes it, for the mean squared error to a target. Then
the summaries that Keras prints, and mean, deviation and bounds of what its initializers draw.
"""
import base64
import json
import os
import re
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

from make_metrics import units

keras.config.set_image_data_format("channels_first")
BATCH = 3
DIMS = {"1d": "1D", "2d": "2D"}
CLASSES = {"relu": "ReLU", "leakyRelu": "LeakyReLU", "prelu": "PReLU", "elu": "ELU", "lstm": "LSTM", "gru": "GRU"}
CLASSES |= {f"{kind}{dim}Transpose": f"Conv{DIMS[dim]}Transpose" for kind in ("conv",) for dim in DIMS}
"""Options whose defaults are for channels first here."""
AXES = {"batchNormalization": 1, "groupNormalization": 1, "normalization": 1}
DEPTHWISE = (keras.layers.DepthwiseConv1D, keras.layers.DepthwiseConv2D)
OPTION = {"recurrent_kernel": "recurrentInitializer", "pointwise_kernel": "pointwiseInitializer"}
OPTION |= {"depthwise_kernel": "depthwiseInitializer", "moving_mean": "movingMeanInitializer"}
OPTION |= {"moving_variance": "movingVarianceInitializer"}


def layer(name, *arguments, **options):
    return [name, list(arguments), options]


def rnn(name, **options):
    return layer(name, 3, **options)


ACTIVATIONS = """celu elu exponential gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear log_sigmoid
log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign swish tanh tanh_shrink""".split()
"""By name: shapes of inputs, and layers; a layer follows the last, or is in a list with where its inputs are."""
CASES = {
    "dense": ([[5]], [layer("dense", 4)]),
    "dense without bias": ([[5]], [layer("dense", 4, useBias=False, activation="tanh")]),
    "dense over time": ([[4, 5]], [layer("dense", 3, activation="softmax")]),
    "embedding": ([[6]], [layer("embedding", 9, 4)]),
    **{f"activation {name}": ([[7]], [layer("dense", 5), layer("activation", name)]) for name in ACTIVATIONS},
    "relu": ([[6]], [layer("dense", 6), layer("relu", maxValue=0.5, negativeSlope=0.1)]),
    "relu with a threshold": ([[6]], [layer("dense", 6), layer("relu", threshold=0.2)]),
    "leaky relu": ([[6]], [layer("dense", 6), layer("leakyRelu")]),
    "elu": ([[6]], [layer("dense", 6), layer("elu", alpha=0.7)]),
    "prelu": ([[2, 3, 4]], [layer("conv2d", 2, 1), layer("prelu", sharedAxes=[2, 3])]),
    "softmax over channels": ([[3, 4, 4]], [layer("conv2d", 4, 1), layer("softmax", axis=1)]),
    "conv1d": ([[3, 11]], [layer("conv1d", 4, 3, strides=2, activation="relu")]),
    "conv1d same": ([[3, 11]], [layer("conv1d", 4, 4, padding="same", dilationRate=2)]),
    "conv1d causal": ([[3, 9]], [layer("conv1d", 2, 3, padding="causal", dilationRate=2)]),
    "conv1d channels last": ([[9, 3]], [layer("conv1d", 2, 3, padding="same", dataFormat="channels_last")]),
    "conv2d": ([[3, 8, 7]], [layer("conv2d", 4, [3, 2], strides=[2, 1])]),
    "conv2d same": ([[2, 8, 7]], [layer("conv2d", 3, 3, strides=2, padding="same", useBias=False)]),
    "conv2d groups": ([[4, 6, 6]], [layer("conv2d", 6, 3, groups=2, dilationRate=2)]),
    "conv2d channels last": ([[6, 5, 3]], [layer("conv2d", 2, 3, dataFormat="channels_last", activation="softmax")]),
    "depthwiseConv1d": ([[3, 9]], [layer("depthwiseConv1d", 3, depthMultiplier=2)]),
    "depthwiseConv2d": ([[3, 7, 7]], [layer("depthwiseConv2d", 3, depthMultiplier=2, padding="same")]),
    "depthwiseConv2d strides": ([[3, 7, 7]], [layer("depthwiseConv2d", 3, strides=2)]),
    "separableConv1d": ([[3, 9]], [layer("separableConv1d", 4, 3, depthMultiplier=2)]),
    "separableConv2d": ([[3, 7, 7]], [layer("separableConv2d", 4, 3, padding="same", activation="relu")]),
    "conv1dTranspose": ([[3, 6]], [layer("conv1dTranspose", 2, 3, strides=2)]),
    "conv1dTranspose same": ([[3, 6]], [layer("conv1dTranspose", 2, 4, strides=2, padding="same")]),
    "conv2dTranspose": ([[3, 4, 5]], [layer("conv2dTranspose", 2, 3, strides=[2, 1])]),
    "conv2dTranspose same": ([[3, 4, 5]], [layer("conv2dTranspose", 2, 4, strides=2, padding="same")]),
    "conv2dTranspose outputPadding": (
        [[3, 4, 5]],
        [layer("conv2dTranspose", 2, 3, strides=2, padding="same", outputPadding=1)],
    ),
    "conv2dTranspose small kernel": ([[2, 4, 4]], [layer("conv2dTranspose", 2, 2, strides=3)]),
    **{
        f"{kind}{suffix}": (shapes, [layer(f"conv{dim}", 3, 2), layer(f"{kind}{dim}", *pool, **options)])
        for kind in ("maxPooling", "averagePooling")
        for dim, shapes, pool in (("1d", [[2, 12]], [2]), ("2d", [[2, 8, 9]], [2]))
        for suffix, options in ((dim, {}), (f"{dim} same", {"padding": "same", "strides": 2}))
    },
    "maxPooling2d overlapping": ([[2, 8, 9]], [layer("conv2d", 3, 2), layer("maxPooling2d", 3, strides=2)]),
    **{
        f"{kind}{dim}": (shapes, [layer(f"conv{dim}", 3, 2), layer(f"{kind}{dim}")])
        for kind in ("globalMaxPooling", "globalAveragePooling")
        for dim, shapes in (("1d", [[2, 12]]), ("2d", [[2, 6, 5]]))
    },
    "global pooling of time": (
        [[7, 4]],
        [layer("dense", 3), layer("globalAveragePooling1d", dataFormat="channels_last", keepdims=True)],
    ),
    "flatten": ([[2, 3, 4]], [layer("conv2d", 2, 2), layer("flatten"), layer("dense", 3)]),
    "reshape and permute": (
        [[12]],
        [layer("dense", 12), layer("reshape", [3, -1]), layer("permute", [2, 1]), layer("dense", 2)],
    ),
    "dropout": ([[6]], [layer("dense", 4), layer("dropout", 0.5)]),
    "batchNormalization": ([[5]], [layer("dense", 4), layer("batchNormalization")]),
    "batchNormalization of pictures": (
        [[2, 4, 4]],
        [layer("conv2d", 3, 2), layer("batchNormalization", momentum=0.8, epsilon=1e-4)],
    ),
    "batchNormalization plain": (
        [[2, 6]],
        [layer("conv1d", 3, 2), layer("batchNormalization", center=False, scale=False)],
    ),
    "batchNormalization of time": ([[6, 4]], [layer("dense", 3), layer("batchNormalization", axis=-1)]),
    "layerNormalization": ([[4, 6]], [layer("dense", 5), layer("layerNormalization")]),
    "layerNormalization without an offset": ([[4, 3]], [layer("dense", 3), layer("layerNormalization", center=False)]),
    "layerNormalization of two axes": (
        [[4, 6]],
        [layer("dense", 5), layer("layerNormalization", axis=[-2, -1], epsilon=1e-5)],
    ),
    "groupNormalization": ([[3, 4, 4]], [layer("conv2d", 6, 2), layer("groupNormalization", groups=3)]),
    "groupNormalization of each": ([[3, 6]], [layer("conv1d", 4, 2), layer("groupNormalization", groups=-1)]),
    "groupNormalization of time": ([[6, 3]], [layer("dense", 4), layer("groupNormalization", groups=2, axis=-1)]),
    "lstm": ([[5, 4]], [rnn("lstm")]),
    "lstm sequences": ([[5, 4]], [rnn("lstm", returnSequences=True), rnn("lstm", useBias=False)]),
    "lstm activations": ([[5, 4]], [rnn("lstm", activation="relu", recurrentActivation="softsign")]),
    "gru": ([[5, 4]], [rnn("gru")]),
    "gru sequences": ([[5, 4]], [rnn("gru", returnSequences=True, activation="softsign")]),
    "gru reset before": ([[5, 4]], [rnn("gru", resetAfter=False)]),
    "lstm backwards": ([[5, 4]], [rnn("lstm", goBackwards=True)]),
    "gru backwards": ([[5, 4]], [rnn("gru", goBackwards=True, returnSequences=True), rnn("gru")]),
    "bidirectional": ([[5, 4]], [layer("bidirectional", rnn("lstm"))]),
    **{
        f"bidirectional {mode}": ([[5, 4]], [layer("bidirectional", rnn("gru", returnSequences=True), mergeMode=mode)])
        for mode in ("concat", "sum", "mul", "ave")
    },
    "multiHeadAttention": ([[5, 8]], [layer("multiHeadAttention", 2, 4)]),
    "multiHeadAttention causal": ([[5, 8]], [layer("multiHeadAttention", 2, 4, useCausalMask=True, useBias=False)]),
    "multiHeadAttention of three": ([[5, 8], [6, 8], [6, 8]], [[layer("multiHeadAttention", 2, 4), [0, 1, 2]]]),
    "multiHeadAttention of two": ([[5, 8], [6, 8]], [[layer("multiHeadAttention", 4, 2, valueDim=2), [0, 1]]]),
    "add": ([[4], [5]], [[layer("dense", 3), [0]], [layer("dense", 3), [1]], [layer("add"), [2, 3]]]),
    "multiply of three": (
        [[4], [5]],
        [[layer("dense", 3), [0]], [layer("dense", 3), [1]], [layer("multiply"), [2, 3, 2]]],
    ),
    "concatenate": ([[4], [5]], [[layer("dense", 3), [0]], [layer("concatenate"), [2, 1]], layer("dense", 2)]),
    "concatenate channels": (
        [[2, 4, 4]],
        [[layer("conv2d", 3, 1), [0]], [layer("concatenate", axis=1), [0, 1]], layer("conv2d", 1, 2)],
    ),
    "rescaling": ([[4]], [layer("rescaling", 0.5, offset=-1), layer("dense", 3)]),
    "normalization": ([[3]], [layer("normalization", mean=[0.1, 0.2, 0.3], variance=[0.5, 1, 2]), layer("dense", 2)]),
    "normalization inverted": ([[3]], [layer("dense", 3), layer("normalization", mean=2, variance=4, invert=True)]),
}


def class_of(name):
    plain = name[0].upper() + name[1:]
    return getattr(keras.layers, CLASSES.get(name) or re.sub(r"[12]d$", lambda d: DIMS[d[0]], plain))


def built(spec):
    """The layer of Keras, and what its call takes."""
    name, arguments, options = spec[:3]
    keyed = {re.sub(r"[A-Z]", lambda c: f"_{c[0].lower()}", key): value for key, value in options.items()}
    call = {"use_causal_mask": True} if keyed.pop("use_causal_mask", False) else {}
    if name in AXES:
        keyed.setdefault("axis", AXES[name])
    if name == "flatten":
        keyed["data_format"] = "channels_last"
    arguments = [built(one)[0] if isinstance(one, list) and isinstance(one[0], str) else one for one in arguments]
    return class_of(name)(*arguments, **keyed), call


class Numbers:
    """Weights and inputs, each with a seed of its own."""

    def __init__(self):
        self.seed = 0

    def next(self, shape, low=-0.5, high=0.5):
        self.seed += 1
        spec = {"shape": list(shape), "seed": self.seed, "low": low, "high": high}
        data = low + (high - low) * units(self.seed, int(np.prod(shape)))
        return spec, data.reshape(shape).astype(np.float32)


def text(array):
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()


def give(one, numbers):
    """Sets a layer's weights; what JavaScript is given, by option, each with its variables: one option has all kernels
    of an attention, which are the same numbers."""
    given, drawn_numbers, variables = {}, {}, {}
    for weight in one.weights:
        if weight.dtype != "float32":
            continue
        is_depthwise = weight.name == "kernel" and isinstance(one, DEPTHWISE)
        option = "depthwiseInitializer" if is_depthwise else OPTION.get(weight.name) or f"{weight.name}Initializer"
        if option not in given:
            low = 0.5 if weight.name in ("gamma", "moving_variance") else -0.5
            given[option], drawn_numbers[option] = numbers.next(weight.shape, low, low + 1)
        weight.assign(drawn_numbers[option].reshape(weight.shape))
        variables.setdefault(option, []).append(weight)
    return given, variables


def tell(spec, one, numbers):
    """[name, arguments, options, weights], and [weights, variables] of it and of the layers in it."""
    name, arguments, options = spec
    if name != "bidirectional":
        given, variables = give(one, numbers)
        return [name, arguments, options, given], [(given, variables)]
    told = [tell(arguments[0], inner, numbers) for inner in (one.forward_layer, one.backward_layer)]
    (forward, backward) = (spec for spec, _ in told)
    return [name, [forward], {**options, "backwardLayer": backward}, {}], [pair for _, pairs in told for pair in pairs]


def case(shapes, layers):
    numbers, is_index = Numbers(), layers[0][0] == "embedding"
    inputs = [keras.Input(shape, dtype="int32" if is_index else "float32") for shape in shapes]
    tensors, told, pairs = list(inputs), [], []
    for entry in layers:
        spec, sources = entry if isinstance(entry[0], list) else (entry, [len(tensors) - 1])
        one, call = built(spec)
        given = [tensors[i] for i in sources]
        if isinstance(one, keras.layers.MultiHeadAttention):
            tensors.append(one(*(given if len(given) > 1 else given * 2), **call))
        else:
            tensors.append(one(given if len(given) > 1 else given[0], **call))
        layer_told, layer_pairs = tell(spec, one, numbers)
        told.append([layer_told, sources])
        pairs += layer_pairs
    model = keras.Model(inputs, tensors[-1])
    high = 9 if is_index else 1
    fed = [numbers.next([BATCH, *shape], 0 if is_index else -1, high) for shape in shapes]
    values = [np.floor(data).astype(np.int32) if is_index else data for _, data in fed]
    output = model(values, training=False).detach().numpy()
    target_spec, target = numbers.next(output.shape)
    result = {"inputs": [spec for spec, _ in fed], "layers": told, "target": target_spec, "output": text(output)}
    result["shape"], result["parameters"] = list(output.shape), model.count_params()
    if not any(spec[0] == "dropout" for (spec, _) in told):
        changes(model, values, target, pairs)
    return result


def changes(model, values, target, pairs):
    before = {id(weight): weight.numpy().copy() for weight in model.weights}
    loss = ((model(values, training=True) - torch.tensor(target)) ** 2).mean()
    loss.backward()
    for given, variables in pairs:
        for option, weights in variables.items():
            change = []
            for weight in weights:
                gradient = weight.value.grad
                change.append(before[id(weight)] - weight.numpy() if gradient is None else gradient.numpy())
            given[option]["change"] = text(np.concatenate([one.ravel() for one in change]))


INITIALIZERS = {
    "random_uniform": {},
    "random_normal": {"mean": 0.5, "stddev": 0.1},
    "truncated_normal": {"mean": 0.5, "stddev": 0.1},
    **{f"{name}_{kind}": {} for name in ("glorot", "he", "lecun") for kind in ("uniform", "normal")},
    "variance_scaling": {"scale": 3, "mode": "fan_out", "distribution": "untruncated_normal"},
    "orthogonal": {"gain": 2},
}
"""The shapes of dense and convolutional kernels."""
SHAPES = [[120, 250], [3, 3, 40, 80]]


def drawn(name, options, shape):
    class_name = "".join(word.capitalize() for word in name.split("_"))
    initializer = getattr(keras.initializers, class_name)(seed=3, **options)
    data = keras.ops.convert_to_numpy(initializer(shape)).astype(np.float64)
    facts = {"mean": data.mean(), "deviation": data.std(), "least": data.min(), "most": data.max()}
    facts = {key: float(f"{value:.6g}") for key, value in facts.items()}
    return {"name": name, "options": options, "shape": shape, **facts}


def summaries():
    """Text as Keras prints it where lines have 80 columns; the networks are those of summary.test.js."""
    layers = keras.layers

    def chain():
        block = [layers.Dense(64, activation="relu"), layers.Dropout(0.5), layers.BatchNormalization(), layers.Dense(1)]
        return keras.Sequential([layers.Input((13,)), *block])

    def row():
        x = layers.Input((None, 4))
        return keras.Model(x, layers.Dense(1000000)(layers.Bidirectional(layers.LSTM(8))(x)), name="row")

    def branches():
        pictures, table = layers.Input((3, 16, 16), name="pictures"), layers.Input((5,))
        x = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3, padding="same", activation="relu")(pictures))
        shared = layers.Dense(8)
        y, z = shared(table), shared(layers.Dense(5)(table))
        both = layers.Add()([x, y, z])
        name = "a_very_long_name_that_must_be_cut_somewhere"
        joined = layers.Concatenate(name=name)([both, x])
        outputs = [layers.Dense(1, name="price")(joined), layers.Dense(3, activation="softmax", name="kind")(both)]
        return keras.Model([pictures, table], outputs)

    def adapted():
        normalization = layers.Normalization()
        normalization.adapt(np.random.rand(10, 13))
        return keras.Sequential([layers.Input((13,)), normalization, layers.Dense(2)])

    return {make.__name__: summary_of(make) for make in (chain, row, branches, adapted)}


def summary_of(make):
    keras.utils.clear_session()
    lines = []
    make().summary(print_fn=lambda line: lines.append(line), line_length=76)
    return "\n".join(lines).rstrip("\n")


golden = {
    "cases": {name: case(*spec) for name, spec in CASES.items()},
    "initializers": [drawn(name, options, shape) for name, options in INITIALIZERS.items() for shape in SHAPES],
    "summaries": summaries(),
}
REST = ("initializers", "summaries")
lines = [f'{json.dumps(name)}: {json.dumps(one)}' for name, one in golden["cases"].items()]
rest = ",\n".join(f"{json.dumps(key)}: {json.dumps(golden[key], ensure_ascii=False)}" for key in REST)
whole = '{"cases": {\n' + ",\n".join(lines) + "\n},\n" + rest + "}\n"
(Path(__file__).resolve().parents[1] / "data" / "layers.json").write_text(whole)
