"""What PyTorch says an ONNX operator gives: one function an operator, from inputs (None where absent) and attributes to
outputs.

An output of None is not compared. Operators that PyTorch does not have stand in UNKNOWN with the reason.
"""
import itertools
import math

import torch
from torch.nn import functional as F

from torch_newest import NEWEST
from torch_recurrent import recurrent
from torch_spatial import SPATIAL

UNKNOWN = {
    "ConcatTraining": "ONNX Runtime's Concat with lengths",
    "InPlaceAccumulatorV2": "bookkeeping of ONNX Runtime",
    "Dropout": "other random numbers",
    "ConstantOfShape": "no arithmetic", "Constant": "no arithmetic", "Size": "no arithmetic",
    "Range": "no arithmetic",
    "PassThrough": "no arithmetic",
}
UNKNOWN.update(dict.fromkeys(("FakeQuant", "MatMulNBitsGrad", "QGemm", "DynamicQuantizeLSTM"),
                             "tests/js/operators/quantization.test.js"))
UNKNOWN["WeightOnlyMatMul"] = "tests/js/operators/weight-only.test.js"
UNKNOWN.update({"Bernoulli": "other random numbers", "Multinomial": "other random numbers"})
UNKNOWN.update(dict.fromkeys("""
CastLike SpaceToDepth MeanVarianceNormalization LpNormalization GlobalLpPool LpPool GroupNormalization
DynamicQuantizeLinear QuantizeLinear DequantizeLinear Scatter EyeLike Compress NonZero BitwiseAnd BitwiseOr BitwiseXor
BitwiseNot BitShift Mod HannWindow HammingWindow BlackmanWindow MatMulInteger ConvInteger QLinearMatMul QLinearConv
ReduceProd ReverseSequence Xor IsNaN IsInf Shrink ArgMin Hardmax NonMaxSuppression MelWeightMatrix TfIdfVectorizer
""".split(), "held by ONNX's own cases (tests/js/operators/onnx-cases.test.js), gradients by differences"))
# Cases where PyTorch refuses, or means something else than ONNX.
EXCEPTIONS = {
    "MatMulNBits | f32[2,64] u8[6,2,16]:0..256 f32[12]=0.1,0.3,0.2* u8[6]:0..256 | K=64 N=6 block_size=32 | 0 0":
        "A is rounded to 16 bits",
    "LRN | f32[1,4,3] | size=2 alpha=0.9 beta=0.5 | 0 0":
        "PyTorch puts the odd neighbour of an even window on the other side",
    "Det | v:f32[3,3]=1,2,3,2,4,6,1,1,1 |  | 0 0": "singular: PyTorch gives a gradient of 0, the cofactors are not",
    "RoiAlign | f32[1,1,2,2] f32[1,4]=0,0,1,1 i64[1]=1 |  | 16 0": "a picture that is not there",
    "TopK | v:f32[5]=1,3,3,0,3 i64[1]=2 |  | 0 2": "ties, of which PyTorch takes any",
    "ReduceL2 | v:i32[2,2]=3,-4,5,5 | axes=[1] | 0 0": "a root of integers is an integer in ONNX",
    "Gather | f32[3,2] v:i64[2]=3,1 |  | 0 0": "an index out of range",
    "GatherND | f32[3,2] v:i64[2,1]=1,3 |  | 0 0": "an index out of range",
    "GatherElements | f32[3] v:i64[2]=3,1 |  | 0 0": "an index out of range",
    "ScatterND | f32[2] v:i64[1,1]=2 f32[1] |  | 0 0": "an index out of range",
    "SoftmaxCrossEntropyLoss | f32[2,3] v:i64[2]=0,3 |  | 0 0": "a label out of range",
    "SoftmaxCrossEntropyLoss | f32[2,5] v:i64[2]=7,7 | ignore_index=7 | 0 0": "0/0: PyTorch gives NaN",
    "Div | i64[3]=-7,7,7 i64[3]=2,-1,0 |  | 0 0": "an integer divided by 0",
    "Div | v:i64[3]=-7,7,7 v:i64[3]=2,-1,0 |  | 0 0": "an integer divided by 0",
    "ReduceMean | v:i32[2,2]=3,-6,5,-9 | axes=[1] | 0 0": "PyTorch has no mean of integers",
    "ReduceL2 | v:i32[2,2]=3,-4,5,5 | axes=[1] | 0 0": "nor their norm",
    "Cast | f32[6]:-100..400 | to=2 | 0 0": "numbers out of range, which C leaves open",
    "Cast | i32[4]:-300..300 | to=2 | 0 0": "numbers out of range, which C leaves open",
}
# A gradient operator has golden numbers through the operator it belongs to: its inputs there are real, here they are
# noise.
IS_GRADIENT = ("Grad", "Grad_13", "Grad_dX")


def ints(t):
    return [int(v) for v in t.reshape(-1)]


def gemm(x, a):
    left = x[0].T if a.get("transA", 0) else x[0]
    right = x[1].T if a.get("transB", 0) else x[1]
    y = a.get("alpha", 1.0) * (left @ right)
    return [y if len(x) < 3 or x[2] is None else y + a.get("beta", 1.0) * x[2]]


def fused_matmul(x, a):
    left, right = (t.movedim(0, -2) if a.get(f"transBatch{name}", 0) else t for t, name in zip(x, "AB"))
    left = left.transpose(-1, -2) if a.get("transA", 0) else left
    right = right.transpose(-1, -2) if a.get("transB", 0) else right
    return [a.get("alpha", 1.0) * (left @ right)]


def window(x, a, kernel):
    """Pads (begin, end) of each spatial dim, strides, dilations."""
    n = len(kernel)
    strides, dilations = a.get("strides", [1] * n), a.get("dilations", [1] * n)
    pads, auto = a.get("pads", [0] * 2 * n), a.get("auto_pad", "NOTSET")
    pads = [(pads[i], pads[n + i]) for i in range(n)]
    if auto.startswith("SAME"):
        pads = []
        for i in range(n):
            size, reach = x.shape[2 + i], dilations[i] * (kernel[i] - 1) + 1
            total = max((-(-size // strides[i]) - 1) * strides[i] + reach - size, 0)
            small = total // 2
            pads.append((small, total - small) if auto == "SAME_UPPER" else (total - small, small))
    elif auto == "VALID":
        pads = [(0, 0)] * n
    return pads, strides, dilations


def pad(x, pads, value):
    return F.pad(x, [p for pair in reversed(pads) for p in pair], value=value)


def conv(x, a):
    kernel = list(x[1].shape[2:])
    pads, strides, dilations = window(x[0], a, kernel)
    f = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(kernel)]
    bias = x[2] if len(x) > 2 else None
    return [f(pad(x[0], pads, 0.0), x[1], bias, strides, 0, dilations, a.get("group", 1))]


def conv_transpose(x, a):
    """All that the kernel reaches, cut or filled up to the output's size."""
    kernel = list(x[1].shape[2:])
    n = len(kernel)
    strides, dilations, more = (a.get(name, [other] * n) for name, other in (("strides", 1), ("dilations", 1),
        ("output_padding", 0)))
    f = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[n]
    y = f(x[0], x[1], None, strides, 0, 0, a.get("group", 1), dilations)
    y = pad(y, [(0, m) for m in more], 0.0)
    pads, auto = a.get("pads", [0] * 2 * n), a.get("auto_pad", "NOTSET")
    sizes = a.get("output_shape") or ([s * x[0].shape[2 + i] for i, s in enumerate(strides)]
                                      if auto.startswith("SAME") else None)
    for i in range(n):
        size, begin, end = y.shape[2 + i], pads[i], pads[n + i]
        if sizes:
            total = max(size - sizes[i], 0)
            begin = total // 2 if auto == "SAME_UPPER" else total - total // 2
            end = total - begin
        y = y.narrow(2 + i, begin, size - begin - end)
    if sizes:
        y = pad(y, [(0, sizes[i] - y.shape[2 + i]) for i in range(n)], 0.0)
    return [y if len(x) < 3 or x[2] is None else y + x[2].reshape([1, -1] + [1] * n)]


def resize(x, a, opset):
    """Where F.interpolate means the same: sizes, not scales, for it scales by what was given only if told to."""
    mode, place = a.get("mode", "nearest"), a.get("coordinate_transformation_mode",
                                                  "asymmetric" if 0 < opset < 11 else "half_pixel")
    axes = [i % x[0].dim() for i in a.get("axes", range(x[0].dim()))]
    sizes = list(x[0].shape)
    given = ints(x[3]) if len(x) > 3 else None
    if given is None:
        old = [1.0, 1.0, a["height_scale"], a["width_scale"]] if "height_scale" in a else None
        scales = a.get("scales") or old or [float(s) for s in (x[2] if len(x) > 2 else x[1])]
        given = [int(s * n) for s, n in zip(scales, sizes)]
    for axis, size in zip(axes, given):
        sizes[axis] = size
    if len(sizes) < 3 or sizes[:2] != list(x[0].shape[:2]) or a.get("nearest_mode") == "ceil":
        return [None]
    if place == "asymmetric" and mode == "nearest":
        return [F.interpolate(x[0], sizes[2:], mode="nearest")]
    if place in ("tf_crop_and_resize", "asymmetric", "half_pixel_symmetric") or "keep_aspect_ratio_policy" in a:
        return [None]
    if mode == "nearest":
        return [F.interpolate(x[0], sizes[2:], mode="nearest-exact")]
    if bool(a.get("exclude_outside")) != bool(a.get("antialias")):
        return [None]
    name = {"linear": ["linear", "bilinear", "trilinear"][len(sizes) - 3], "cubic": "bicubic"}[mode]
    return [F.interpolate(x[0], sizes[2:], mode=name, align_corners=place == "align_corners",
                          antialias=bool(a.get("antialias")))]


def windows(x, a, fill):
    """(N, C, …out, taps), padded with `fill`; beyond the end pads, which ceil_mode may reach, NaN."""
    kernel = a["kernel_shape"]
    pads, strides, dilations = window(x, a, kernel)
    taps, out = [], []
    for i, k in enumerate(kernel):
        span = x.shape[2 + i] + sum(pads[i]) - dilations[i] * (k - 1) - 1
        size = (-(-span // strides[i]) if a.get("ceil_mode", 0) else span // strides[i]) + 1
        if a.get("ceil_mode", 0) and (size - 1) * strides[i] >= x.shape[2 + i] + pads[i][0]:
            size -= 1
        out.append(size)
    padded = pad(pad(x, pads, fill), [(0, s * k) for s, k in zip(strides, kernel)], float("nan"))
    for offset in itertools.product(*[range(k) for k in kernel]):
        at = tuple(slice(o * d, o * d + (size - 1) * s + 1, s) for o, d, s, size in zip(offset, dilations, strides,
            out))
        taps.append(padded[(slice(None), slice(None)) + at])
    return torch.stack(taps, -1)


def max_pool(x, a):
    value = torch.nan_to_num(windows(x[0], a, -torch.inf), nan=-torch.inf, neginf=-torch.inf)
    y, tap = value.max(-1)
    index = torch.arange(x[0].numel(), dtype=torch.float64).reshape(x[0].shape)
    if a.get("storage_order", 0):
        return [y, None]
    return [y, windows(index, a, 0.0).gather(-1, tap.unsqueeze(-1)).squeeze(-1)]


def max_unpool(x, a):
    sizes = ints(x[2]) if len(x) > 2 else list(x[0].shape[:2]) + [
        (n - 1) * s + k for n, s, k in zip(x[0].shape[2:], a["strides"], a["kernel_shape"])]
    zeros = torch.zeros(sizes, dtype=x[0].dtype)
    return [zeros.reshape(-1).scatter(0, x[1].reshape(-1), x[0].reshape(-1)).reshape(sizes)]


def average_pool(x, a):
    taps = windows(x[0], a, 0.0)
    ones = windows(torch.ones_like(x[0]), a, 1.0 if a.get("count_include_pad", 0) else 0.0)
    return [torch.nan_to_num(taps).sum(-1) / torch.nan_to_num(ones).sum(-1)]


def batch_norm(x, a, training):
    eps, momentum = a.get("epsilon", 1e-5), a.get("momentum", 0.9)
    if not training:
        shape = [1, -1] + [1] * (x[0].dim() - 2)
        weight, bias, mean, var = (t.reshape(shape) for t in x[1:5])
        return [(x[0] - mean) / (var + eps).sqrt() * weight + bias]
    axes = [0] + list(range(2, x[0].dim()))
    mean, var = x[0].mean(axes), x[0].var(axes, unbiased=False)
    y = F.batch_norm(x[0], None, None, x[1], x[2], True, 0, eps)
    return [y, momentum * x[3] + (1 - momentum) * mean, momentum * x[4] + (1 - momentum) * var, mean,
            (var + eps).rsqrt()]


def batch_normalization(x, a, opset, outputs):
    return batch_norm(x, a, a.get("training_mode", 0) if opset >= 14 else outputs > 1)[:outputs]


def reduce(f):
    def run(x, a):
        axes = ints(x[1]) if len(x) > 1 and x[1] is not None else a.get("axes", [])
        if not axes and a.get("noop_with_empty_axes", 0):
            return [x[0]]
        axes = axes or list(range(x[0].dim()))
        return [f(x[0], axes, bool(a.get("keepdims", 1))) if x[0].dim() else x[0]]
    return run


def fold(f):
    def run(x, a):
        y = x[0]
        for other in x[1:]:
            y = f(y, other)
        return [y]
    return run


def reshape(x, a):
    dims = ints(x[1]) if len(x) > 1 else a["shape"]
    if not a.get("allowzero", 0):
        dims = [x[0].shape[i] if d == 0 else d for i, d in enumerate(dims)]
    return [x[0].reshape(dims)]


def flatten(x, a):
    axis = a.get("axis", 1)
    rows = 1
    for d in x[0].shape[:axis + x[0].dim() if axis < 0 else axis]:
        rows *= d
    return [x[0].reshape(rows, -1)]


def squeeze(x, a):
    axes = ints(x[1]) if len(x) > 1 and x[1] is not None else a.get("axes")
    axes = [i for i, d in enumerate(x[0].shape) if d == 1] if axes is None else [i % x[0].dim() for i in axes]
    return [x[0].reshape([d for i, d in enumerate(x[0].shape) if i not in axes])]


def unsqueeze(x, a):
    axes = ints(x[1]) if len(x) > 1 else a["axes"]
    rank = x[0].dim() + len(axes)
    y = x[0]
    for i in sorted(i % rank for i in axes):
        y = y.unsqueeze(i)
    return [y]


def slice_(x, a):
    starts, ends = (ints(x[1]), ints(x[2])) if len(x) > 1 else (a["starts"], a["ends"])
    axes = ints(x[3]) if len(x) > 3 and x[3] is not None else a.get("axes", list(range(len(starts))))
    steps = ints(x[4]) if len(x) > 4 and x[4] is not None else [1] * len(starts)
    y = x[0]
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = y.shape[axis]
        taken = slice(start, end if step > 0 or end >= -size else None, step)
        y = y.index_select(axis, torch.tensor(list(range(size))[taken], dtype=torch.int64))
    return [y]


def gather(x, a):
    axis = a.get("axis", 0) % x[0].dim()
    index = x[1].long() % x[0].shape[axis]
    y = x[0].index_select(axis, index.reshape(-1))
    return [y.reshape(list(x[0].shape[:axis]) + list(index.shape) + list(x[0].shape[axis + 1:]))]


def attention(x, a, opset):
    if opset:
        return [None]  # ai.onnx has another of the name
    layouts = {0: (0, 1, 2, 3), 1: (0, 2, 1, 3), 2: (0, 1, 3, 2)}
    layout = a.get("layout", [0, 0, 0, 0])
    q, k, v = (x[i].permute(layouts[layout[i]]) for i in range(3))
    scores = a.get("scale", 1.0) * (q @ k.transpose(2, 3))
    if len(x) > 3:
        scores = scores + x[3]
    if a.get("causal", 0):
        queries, keys = scores.shape[2:]
        scores = scores.masked_fill(torch.ones(queries, keys).triu(keys - queries + 1).bool(), float("-inf"))
    return [(scores.softmax(-1) @ v).permute(layouts[layout[3]]), scores.logsumexp(-1)]


def softmax(f):
    def run(x, a, opset):
        if opset and opset < 13:
            return [f(flatten(x, {"axis": a.get("axis", 1)})[0], 1).reshape(x[0].shape)]
        return [f(x[0], a.get("axis", -1))]
    return run


def cross_entropy(x, a):
    weight = x[2] if len(x) > 2 else None
    ignored = int(x[3]) if len(x) > 3 and x[3] is not None else a.get("ignore_index", -100)
    reduction = a.get("reduction", "mean")
    if reduction == "mean" and (x[1] == ignored).all():
        reduction = "sum"  # ONNX Runtime gives 0, where PyTorch divides by 0
    loss = F.cross_entropy(x[0], x[1].long(), weight, ignore_index=ignored, reduction=reduction)
    return [loss, F.log_softmax(x[0], 1)]


def clip(x, a):
    low = x[1] if len(x) > 1 and x[1] is not None else a.get("min", -torch.inf)
    high = x[2] if len(x) > 2 and x[2] is not None else a.get("max", torch.inf)
    return [torch.minimum(torch.maximum(x[0], torch.as_tensor(low, dtype=x[0].dtype)),
                          torch.as_tensor(high, dtype=x[0].dtype))]


def layer_norm(x, a):
    axis = a.get("axis", -1) % x[0].dim()
    axes, eps = list(range(axis, x[0].dim())), a.get("epsilon", 1e-5)
    mean, var = x[0].mean(axes, keepdim=True), x[0].var(axes, unbiased=False, keepdim=True)
    return [F.layer_norm(x[0], x[0].shape[axis:], x[1], x[2] if len(x) > 2 else None, eps), mean, (var + eps).rsqrt()]


def rms_norm(x, a):
    axis = a.get("axis", -1) % x[0].dim()
    inv_std = (x[0].square().mean(list(range(axis, x[0].dim())), keepdim=True) + a.get("epsilon", 1e-5)).rsqrt()
    return [x[0] * inv_std * x[1], inv_std]


def fast_gelu(x, a):
    return [F.gelu(x[0] if len(x) < 2 or x[1] is None else x[0] + x[1], approximate="tanh")]


def quick_gelu(x, a):
    return [x[0] * torch.sigmoid(a.get("alpha", 1.702) * x[0])]


def pad_op(x, a):
    widths = ints(x[1]) if len(x) > 1 else a.get("pads") or a["paddings"]
    axes = [i % x[0].dim() for i in ints(x[3])] if len(x) > 3 else list(range(x[0].dim()))
    y = x[0]
    for i, axis in enumerate(axes):
        begin, end, size = widths[i], widths[len(axes) + i], y.shape[axis]
        at = torch.arange(-begin, size + end)
        mode = a.get("mode", "constant")
        source = {"constant": at.clamp(0, size - 1), "edge": at.clamp(0, size - 1), "wrap": at % size,
                  "reflect": (size - 1) - (at.abs() - (size - 1)).abs()}[mode]
        y = y.index_select(axis, source)
        if mode == "constant":
            inside = ((at >= 0) & (at < size)).reshape([-1 if k == axis else 1 for k in range(y.dim())])
            value = x[2] if len(x) > 2 and x[2] is not None else torch.tensor(a.get("value", 0), dtype=y.dtype)
            y = torch.where(inside, y, value)
    return [y]


def cum_sum(x, a):
    axis = int(x[1])
    y = x[0].flip(axis) if a.get("reverse", 0) else x[0]
    y = y.cumsum(axis) - (y if a.get("exclusive", 0) else 0)
    return [(y.flip(axis) if a.get("reverse", 0) else y).to(x[0].dtype)]


def nd_places(data, indices, batch_dims=0):
    """The index tensors of advanced indexing that pick GatherND's slices."""
    lead = torch.meshgrid(*[torch.arange(d) for d in indices.shape[:-1]], indexing="ij") if indices.dim() > 1 else []
    return tuple(lead[:batch_dims]) + tuple(indices[..., k].long() % data.shape[batch_dims + k]
                                            for k in range(indices.shape[-1]))


def scatter_nd(x, a):
    places, reduction = nd_places(x[0], x[1]), a.get("reduction", "none")
    if reduction in ("none", "add"):
        return [x[0].index_put(places, x[2], accumulate=reduction == "add")]
    kind = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    rows = places[0].view(-1, *[1] * (x[2].dim() - 1)).expand_as(x[2])
    return [x[0].scatter_reduce(0, rows, x[2], kind)]


def scatter_elements(x, a):
    axis, reduction = a.get("axis", 0), a.get("reduction", "none")
    index = x[1].long() % x[0].shape[axis]
    if reduction == "none":
        return [x[0].scatter(axis, index, x[2])]
    return [x[0].scatter_reduce(axis, index, x[2], {"add": "sum", "mul": "prod", "max": "amax",
                                                    "min": "amin"}[reduction])]


def one_hot(x, a):
    depth, rank = int(x[1]), x[0].dim() + 1
    at = torch.arange(depth).reshape([-1] + [1] * x[0].dim())
    index = torch.where(x[0] < 0, x[0] + depth, x[0])
    return [torch.where(index.unsqueeze(0) == at, x[2][1], x[2][0]).movedim(0, a.get("axis", -1) % rank)]


def arg_max(x, a):
    axis = a.get("axis", 0)
    if a.get("select_last_index", 0):
        return [x[0].shape[axis] - 1 - x[0].flip(axis).argmax(axis, bool(a.get("keepdims", 1)))]
    return [x[0].argmax(axis, bool(a.get("keepdims", 1)))]


def split(x, a, outputs):
    axis = a.get("axis", 0)
    if len(x) == 1 and "split" not in a:
        return list(torch.split(x[0], -(-x[0].shape[axis] // outputs), axis))
    return list(torch.split(x[0], ints(x[1]) if len(x) > 1 else a["split"], axis))


def shape(x, a, opset):
    dims = list(x[0].shape)
    return [torch.tensor(dims if opset and opset < 15 else dims[a.get("start", 0):a.get("end", None)],
                         dtype=torch.int64)]


def broadcast_gradient_args(x, a):
    full = torch.broadcast_shapes(*(ints(s) for s in x))
    stretched = [[i for i in reversed(range(len(full))) if i < len(full) - len(s) or s[i - len(full)] != full[i]]
                 for s in map(ints, x)]
    return [torch.tensor(axes, dtype=torch.int64) for axes in stretched]


def scale(x, a):
    return [x[0] / x[1] if a.get("scale_down", 0) else x[0] * x[1]]


def cast(x, a):
    to = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 11: torch.float64}.get(a["to"])
    return [x[0].to(to) if to else None]  # float16 and bfloat16 are bits in the harness; unsigned types PyTorch lacks


OPS = {
    **{name: recurrent(name) for name in ("LSTM", "GRU", "RNN")},
    **SPATIAL,
    **NEWEST,
    "Gemm": gemm, "FusedMatMul": fused_matmul, "MatMul": lambda x, a: [x[0] @ x[1]],
    "Add": fold(torch.add), "Sub": fold(torch.sub), "Mul": fold(torch.mul), "Div": lambda x, a: [
        x[0] / x[1] if x[0].is_floating_point() else torch.div(x[0], x[1], rounding_mode="trunc")],
    "Sum": fold(torch.add), "Max": fold(torch.maximum), "Min": fold(torch.minimum), "Pow": fold(torch.pow),
    "Mean": lambda x, a: [sum(x[1:], x[0]) / len(x)],
    "Neg": lambda x, a: [-x[0]], "Abs": lambda x, a: [x[0].abs()], "Exp": lambda x, a: [x[0].exp()],
    "Log": lambda x, a: [x[0].log()],
    "Sqrt": lambda x, a: [x[0].sqrt()], "Erf": lambda x, a: [x[0].erf()], "Reciprocal": lambda x, a: [1 / x[0]],
    "Sin": lambda x, a: [x[0].sin()], "Cos": lambda x, a: [x[0].cos()], "Sign": lambda x, a: [x[0].sign()],
    "Floor": lambda x, a: [x[0].floor()], "Ceil": lambda x, a: [x[0].ceil()],
    "Softplus": lambda x, a: [F.softplus(x[0])],
    "Relu": lambda x, a: [x[0].relu()], "LeakyRelu": lambda x, a: [F.leaky_relu(x[0], a.get("alpha", 0.01))],
    "Sigmoid": lambda x, a: [x[0].sigmoid()], "Tanh": lambda x, a: [x[0].tanh()], "Identity": lambda x, a: [x[0]],
    "Conv": conv, "Resize": resize, "Upsample": resize, "ConvTranspose": conv_transpose, "MaxPool": max_pool,
    "MaxUnpool": max_unpool, "AveragePool": average_pool,
    "GlobalAveragePool": lambda x, a: [x[0].mean(list(range(2, x[0].dim())), keepdim=True)],
    "GlobalMaxPool": lambda x, a: [x[0].amax(list(range(2, x[0].dim())), keepdim=True) if x[0].dim() > 2
                                   else x[0].clone()],
    "BatchNormalization": batch_normalization,
    "BatchNormInternal": lambda x, a: batch_norm(x, a, True),
    "Flatten": flatten, "Reshape": reshape, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Transpose": lambda x, a: [x[0].permute(a.get("perm", list(range(x[0].dim()))[::-1]))],
    "Concat": lambda x, a: [torch.cat(x, a.get("axis", 1))], "Split": split, "Slice": slice_, "Gather": gather,
    "Expand": lambda x, a: [x[0] * torch.ones(ints(x[1]), dtype=x[0].dtype)],
    "BroadcastGradientArgs": broadcast_gradient_args,
    "ClipGrad": lambda x, a: [torch.ops.aten.hardtanh_backward(x[0], x[1], a.get("min", -3e38), a.get("max", 3e38))],
    "Shape": shape, "Cast": cast,
    "ReduceMean": reduce(lambda x, axes, keep: x.mean(axes, keep)),
    "ReduceSum": reduce(lambda x, axes, keep: x.sum(axes, keep)),
    "ReduceSumTraining": reduce(lambda x, axes, keep: x.sum(axes, keep)),
    "Attention": attention, "Softmax": softmax(torch.softmax), "LogSoftmax": softmax(torch.log_softmax),
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "SoftmaxCrossEntropyLossInternal": cross_entropy,
    "Clip": clip, "Scale": scale, "Where": lambda x, a: [torch.where(x[0].bool(), x[1], x[2])],
    "Equal": fold(torch.eq), "Less": fold(torch.lt), "Greater": fold(torch.gt), "LessOrEqual": fold(torch.le),
    "GreaterOrEqual": fold(torch.ge), "And": fold(torch.logical_and), "Or": fold(torch.logical_or),
    "Not": lambda x, a: [~x[0].bool()],
    "LayerNormalization": layer_norm, "SimplifiedLayerNormalization": rms_norm,
    "Gelu": lambda x, a: [F.gelu(x[0], approximate=a.get("approximate", "none"))], "FastGelu": fast_gelu,
    "QuickGelu": quick_gelu,
    "BiasGelu": lambda x, a: [F.gelu(x[0] + x[1])], "SplitTraining": split,
    "Tile": lambda x, a: [x[0].repeat(ints(x[1]))], "Pad": pad_op, "CumSum": cum_sum,
    "Trilu": lambda x, a: [(torch.triu if a.get("upper", 1) else torch.tril)(x[0], int(x[1]) if len(x) > 1 else 0)],
    "GatherND": lambda x, a: [x[0][nd_places(x[0], x[1], a.get("batch_dims", 0))]],
    "ScatterND": scatter_nd, "ScatterElements": scatter_elements,
    "GatherElements": lambda x, a: [x[0].gather(a.get("axis", 0), x[1].long() % x[0].shape[a.get("axis", 0)])],
    "OneHot": one_hot, "ArgMax": arg_max, "Round": lambda x, a: [x[0].round()],
    "Elu": lambda x, a: [F.elu(x[0], a.get("alpha", 1.0))], "Celu": lambda x, a: [F.celu(x[0], a.get("alpha", 1.0))],
    "Selu": lambda x, a: [a.get("gamma", 1.0507009873554805) * F.elu(x[0], a.get("alpha", 1.6732632423543772))],
    "HardSigmoid": lambda x, a: [(a.get("alpha", 0.2) * x[0] + a.get("beta", 0.5)).clamp(0, 1)],
    "ClipGrad": lambda x, a: [F.hardtanh(x[1].requires_grad_(), a.get("min", -math.inf),
                                         a.get("max", math.inf)).grad_fn(x[0])],
    "FakeQuantGrad": lambda x, a: [x[0] * x[1]],
    "HardSwish": lambda x, a: [F.hardswish(x[0])], "PRelu": lambda x, a: [torch.where(x[0] > 0, x[0], x[0] * x[1])],
    "ReduceMax": reduce(lambda x, axes, keep: x.amax(axes, keep)),
    "ReduceMin": reduce(lambda x, axes, keep: x.amin(axes, keep)),
    "Mish": lambda x, a: [F.mish(x[0])], "Softsign": lambda x, a: [F.softsign(x[0])], "Tan": lambda x, a: [x[0].tan()],
    "Asin": lambda x, a: [x[0].asin()], "Acos": lambda x, a: [x[0].acos()], "Atan": lambda x, a: [x[0].atan()],
    "Sinh": lambda x, a: [x[0].sinh()], "Cosh": lambda x, a: [x[0].cosh()], "Asinh": lambda x, a: [x[0].asinh()],
    "Acosh": lambda x, a: [x[0].acosh()], "Atanh": lambda x, a: [x[0].atanh()],
    "Einsum": lambda x, a: [torch.einsum(a["equation"], *x)],
    "LRN": lambda x, a: [F.local_response_norm(x[0], a["size"], a.get("alpha", 1e-4), a.get("beta", 0.75),
                                               a.get("bias", 1.0))],
    "InstanceNormalization": lambda x, a: [F.instance_norm(x[0], weight=x[1], bias=x[2], eps=a.get("epsilon", 1e-5))],
    "ThresholdedRelu": lambda x, a: [torch.where(x[0] > a.get("alpha", 1.0), x[0], torch.zeros_like(x[0]))],
    "DepthToSpace": lambda x, a: [F.pixel_shuffle(x[0], a["blocksize"]) if a.get("mode") == "CRD" else None],
    "TopK": lambda x, a: list(torch.topk(x[0], int(x[1]), a.get("axis", -1), bool(a.get("largest", 1)))),
    "ReduceL1": reduce(lambda x, axes, keep: x.abs().sum(axes, keep)),
    "ReduceLogSum": reduce(lambda x, axes, keep: x.sum(axes, keep).log()),
    "ReduceSumSquare": reduce(lambda x, axes, keep: x.square().sum(axes, keep)),
    "NegativeLogLikelihoodLoss": lambda x, a: [F.nll_loss(x[0], x[1], x[2].detach() if len(x) > 2 else None,
                                                          ignore_index=a.get("ignore_index", -100),
                                                          reduction=a.get("reduction", "mean"))],
    "ReduceL2": reduce(lambda x, axes, keep: torch.linalg.vector_norm(x, 2, axes, keep)),
    "ReduceLogSumExp": reduce(lambda x, axes, keep: x.logsumexp(axes, keep)),
}
