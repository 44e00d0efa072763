"""PyTorch's gradients of single operators on one thread: a line of JSON asks, a line answers.

{"open": FILE, …}   reads a row and what arrives at its outputs from FILE, writes the gradients beside it
                      (views of what arrives are copied, for ours are numbers in order, too)
{"times": N, "without": bool}   ms of the processor for a backward pass, or for one that computes nothing
"""
import inspect
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[2] / "golden/scripts"))
from torch_ops import OPS, average_pool, conv, conv_transpose, gather, pad_op, resize  # noqa: E402
from torch_recurrent import by_pytorch  # noqa: E402
from torch_transformer import TRANSFORMER, heads, tokens  # noqa: E402

TYPES = {"float32": np.float32, "int64": np.int64, "int32": np.int32, "uint8": np.uint8, "int8": np.int8,
         "bool": np.bool_}


def ints(t):
    return [int(v) for v in t.reshape(-1)]


def symmetric(a, n):
    pads = a.get("pads", [0] * 2 * n)
    return pads[:n] if pads[:n] == pads[n:] and a.get("auto_pad", "NOTSET") == "NOTSET" else None


def fast_conv(x, a):
    n = x[1].dim() - 2
    pads = symmetric(a, n)
    if pads is None:
        return conv(x, a)
    f = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[n]
    return [f(x[0], x[1], x[2] if len(x) > 2 else None, a.get("strides", [1] * n), pads, a.get("dilations", [1] * n),
              a.get("group", 1))]


def fast_conv_transpose(x, a):
    n = x[1].dim() - 2
    pads = symmetric(a, n)
    if pads is None or "output_shape" in a:
        return conv_transpose(x, a)
    f = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[n]
    bias = x[2] if len(x) > 2 else None
    return [f(x[0], x[1], bias, a.get("strides", [1] * n), pads, a.get("output_padding", 0), a.get("group", 1),
              a.get("dilations", 1))]


def max_pool(x, a):
    kernel = a["kernel_shape"]
    f = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[len(kernel)]
    return [f(x[0], kernel, a.get("strides"), symmetric(a, len(kernel)), a.get("dilations", 1),
              bool(a.get("ceil_mode", 0)))]


def mean_pool(x, a):
    kernel = a["kernel_shape"]
    pads = symmetric(a, len(kernel))
    if pads is None:
        return average_pool(x, a)
    f = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[len(kernel)]
    return [f(x[0], kernel, a.get("strides"), pads, bool(a.get("ceil_mode", 0)), bool(a.get("count_include_pad", 0)))]


def slice_(x, a):
    starts, ends, axes, steps = (ints(t) for t in x[1:])
    if min(steps) < 0:
        return OPS["Slice"](x, a)
    y = x[0]
    for start, end, axis, step in zip(starts, ends, axes, steps):
        y = y[(slice(None),) * (axis % y.dim()) + (slice(start, end, step),)]
    return [y]


def fast_pad(x, a):
    mode, rank = a.get("mode", "constant"), x[0].dim()
    widths = ints(x[1])
    pairs = [p for i in reversed(range(rank)) for p in (widths[i], widths[rank + i])]
    if mode == "constant":
        return [F.pad(x[0], pairs)]
    if rank == 4 and pairs[4:] == [0] * 4:
        return [F.pad(x[0], pairs[:4], {"reflect": "reflect", "edge": "replicate"}[mode])]
    return pad_op(x, a)


def fast_gather(x, a):
    return [F.embedding(x[1], x[0])] if a.get("axis", 0) == 0 and x[0].dim() == 2 else gather(x, a)


def expand(x, a):
    return [x[0].expand(torch.broadcast_shapes(x[0].shape, ints(x[1])))]


def gather_grad(x, a):
    return [x[2].new_zeros(ints(x[0])).index_add(0, x[1], x[2])] if a.get("axis",
        0) == 0 and x[1].dim() == 1 else [None]


def attend(q, k, v, **more):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=q.shape[1] != k.shape[1], **more)


def attention_contrib(x, a):
    q, k, v = (heads(t, a["num_heads"]) for t in (x[0] @ x[1] + x[2]).chunk(3, 2))
    return [tokens(attend(q, k, v))]


def attention_ours(x, a):
    return [attend(*x[:3], scale=a.get("scale", 1.0))]


def multi_head_attention(x, a):
    return [tokens(attend(*(heads(t, a["num_heads"]) for t in x[:3])))]


def group_query_attention(x, a):
    q, k, v = heads(x[0], a["num_heads"]), heads(x[1], a["kv_num_heads"]), heads(x[2], a["kv_num_heads"])
    return [tokens(attend(q, k, v, is_causal=True))]


def gru(x, a, outputs):
    if not a.get("linear_before_reset", 0):
        return [None]  # PyTorch has the other one
    return recurrent("GRU")(x, a, outputs)


def recurrent(op):
    def run(x, a, outputs):
        zero = x[0].new_zeros(x[2].shape[0], x[0].shape[1], x[2].shape[2])
        return by_pytorch(op, *x[:4], zero, zero, a)[:outputs]
    return run


def rms_norm(x, a, outputs):
    return [F.rms_norm(x[0], x[1].shape, x[1], a.get("epsilon", 1e-5))]


def skip_rms_norm(x, a):
    return [F.rms_norm(x[0] + x[1], x[2].shape, x[2], a.get("epsilon", 1e-12))]


def depth_to_space(x, a):
    if a.get("mode", "DCR") == "CRD":
        return [F.pixel_shuffle(x[0], a["blocksize"])]
    (n, c, h, w), b = x[0].shape, a["blocksize"]
    return [x[0].reshape(n, b, b, c // b // b, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b // b, h * b, w * b)]


def space_to_depth(x, a):
    (n, c, h, w), b = x[0].shape, a["blocksize"]
    return [x[0].reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)]


def batch_norm(x, a, outputs):
    training = bool(a.get("training_mode", 0))
    return [F.batch_norm(x[0], x[3].detach().clone(), x[4].detach().clone(), x[1], x[2], training, 0.1,
                         a.get("epsilon", 1e-5))]


def lp_normalization(x, a):
    axis = a.get("axis", -1)
    return [x[0] / x[0].norm(2, axis, keepdim=True)]


def mean_variance(x, a):
    axes = a.get("axes", [0, 2, 3])
    middle = x[0] - x[0].mean(axes, keepdim=True)
    return [middle / (middle.square().mean(axes, keepdim=True).sqrt() + 1e-9)]


def prelu(x, a):
    slope = x[1].reshape(-1)
    return [F.prelu(x[0], slope)]


def dropout(x, a):
    training = len(x) > 2 and bool(x[2])
    return [F.dropout(x[0], float(x[1]), True) if training else x[0] * 1]


def reduce_product(x, a):
    axes = ints(x[1])
    return [x[0].prod(axes[0], bool(a.get("keepdims", 1)))] if len(axes) == 1 else [None]


def top_k(x, a):
    return [torch.topk(x[0], int(x[1]), a.get("axis", -1), bool(a.get("largest", 1)))[0]]


def reverse_sequence(x, a):
    """The time axis first, the batch second."""
    time, lengths = torch.arange(x[0].shape[0])[:, None], x[1][None]
    index = torch.where(time < lengths, lengths - 1 - time, time)
    return [x[0].gather(0, index[..., None].expand(x[0].shape))]


def clamp(x, a):
    return [x[0].clamp(float(x[1]), float(x[2]))]


def upsample(x, a, opset):
    return [F.interpolate(x[0], scale_factor=2)] if a.get("mode", "nearest") == "nearest" else [None]


def lp_pool(x, a):
    return [F.lp_pool2d(x[0], float(a.get("p", 2)), a["kernel_shape"], a["strides"][0])]


def fused_conv(x, a):
    return [torch.relu(fast_conv(x, a)[0])]


def cross_entropy(x, a):
    ignored = int(x[3]) if len(x) > 3 and x[3] is not None else -100
    return [F.cross_entropy(x[0], x[1], x[2] if len(x) > 2 else None, ignore_index=ignored,
                            reduction=a.get("reduction", "mean"))]


# Where the golden rules would take PyTorch another way than who writes for speed, or are none.
RULES = {
    ":Conv": fast_conv, ":ConvTranspose": fast_conv_transpose, ":MaxPool": max_pool, ":AveragePool": mean_pool,
    ":Slice": slice_,
    ":Pad": fast_pad, ":Gather": fast_gather, ":Expand": expand, ":LSTM": recurrent("LSTM"), ":RNN": recurrent("RNN"),
    ":GRU": gru,
    ":Attention": lambda x, a: [attend(*x[:3], is_causal=bool(a.get("is_causal", 0)))],
    "ai.onnx.preview:FlexAttention": lambda x, a: [attend(*x[:3])],
    "com.microsoft:Attention": attention_contrib, "com.microsoft:MultiHeadAttention": multi_head_attention,
    "com.microsoft:GroupQueryAttention": group_query_attention, "com.microsoft:FusedConv": fused_conv,
    ":RMSNormalization": rms_norm, ":SimplifiedLayerNormalization": rms_norm,
    "com.microsoft:SkipSimplifiedLayerNormalization": skip_rms_norm,
    ":LayerNormalization": lambda x, a: [F.layer_norm(x[0], x[1].shape, x[1], x[2], a.get("epsilon", 1e-5))],
    ":GroupNormalization": lambda x, a: [F.group_norm(x[0], a["num_groups"], x[1], x[2], a.get("epsilon", 1e-5))],
    ":BatchNormalization": batch_norm, ":LpNormalization": lp_normalization,
    ":MeanVarianceNormalization": mean_variance,
    ":DepthToSpace": depth_to_space, ":SpaceToDepth": space_to_depth, ":PRelu": prelu, ":Dropout": dropout,
    ":ReduceProd": reduce_product,
    ":Shrink": lambda x, a: [F.softshrink(x[0], a["lambd"])], ":Swish": lambda x, a: [F.silu(x[0])],
    ":SwiGLU": lambda x, a: [F.silu(x[0]) * x[1]], ":Mod": lambda x, a: [torch.fmod(x[0], x[1])], ":TopK": top_k,
    ":ReverseSequence": reverse_sequence, ":Clip": clamp, ":Upsample": upsample, ":LpPool": lp_pool,
    ":GlobalLpPool": lambda x, a: [x[0].norm(2, (2, 3), keepdim=True)],
    ":GlobalMaxPool": lambda x, a: [F.max_pool2d(x[0], x[0].shape[2:])],
    ":MaxUnpool": lambda x, a: [F.max_unpool2d(x[0], x[1] % (4 * x[0].shape[2] * x[0].shape[3]), a["kernel_shape"],
                                               a["strides"])],
    ":Scatter": OPS["ScatterElements"], ":SoftmaxCrossEntropyLoss": cross_entropy,
    "com.microsoft:SoftmaxCrossEntropyLossInternal": cross_entropy,
    "com.trainlet:Attention": attention_ours, "org.pytorch.aten:ATen": lambda x, a: [F.embedding(x[1], x[0])],
    "com.microsoft:GatherGrad": gather_grad,
    "com.microsoft:ConcatTraining": lambda x, a: [torch.cat(x, a.get("axis", 0))],
    ":DeformConv": None, ":RoiAlign": None, ":MaxRoiPool": None, ":LinearAttention": None, ":TensorScatter": None,
    "com.microsoft:MatMulNBits": None,
}


def rule_of(domain, op):
    key = f"{domain}:{op}"
    return RULES[key] if key in RULES else TRANSFORMER.get(key) or OPS.get(op)


class Row:
    def __init__(self, asked):
        f = rule_of(asked["domain"], asked["operator"])
        if f is None:
            raise NotImplementedError(f"PyTorch has no {asked['operator']}")
        blob, at = Path(asked["open"]).read_bytes(), 0

        def read(entry):
            nonlocal at
            if entry is None:
                return None
            count = math.prod(entry["dims"])
            values = np.frombuffer(blob, TYPES[entry["type"]], count, at).copy()
            at += values.nbytes
            return torch.from_numpy(values).reshape(entry["dims"])

        x = [read(entry) for entry in asked["inputs"]]
        self.wanted = [x[i].requires_grad_(True) for i in asked["towards"]]
        self.arriving = [read(entry) for entry in asked["arriving"]]
        more = {"opset": asked["opset"], "outputs": asked["outputs"]}
        y = f(x, asked["attributes"], **{name: more[name] for name in inspect.signature(f).parameters if name in more})
        self.y = y[: len(self.arriving)]
        if any(t is None for t in self.y):
            raise NotImplementedError(f"PyTorch means something else by {asked['operator']}")
        self.nothing = [t.view_as(t) for t in self.wanted]
        gradients = self.backward()
        with open(f"{asked['open']}.gradients", "wb") as out:
            for t in gradients:
                out.write(t.numpy().tobytes())
        self.sizes = [t.numel() for t in gradients]

    def backward(self):
        return [t.contiguous() for t in torch.autograd.grad(self.y, self.wanted, self.arriving, retain_graph=True)]

    def without(self):
        return torch.autograd.grad(self.nothing, self.wanted, self.wanted, retain_graph=True)


def main():
    torch.set_num_threads(1)
    row = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if "open" in asked:
                row = Row(asked)
                answer = {"sizes": row.sizes}
            else:
                run = row.without if asked["without"] else row.backward
                start = time.process_time()
                for _ in range(asked["times"]):
                    run()
                answer = {"ms": (time.process_time() - start) * 1e3 / asked["times"]}
        except (NotImplementedError, RuntimeError, KeyError, IndexError, TypeError, ValueError) as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), flush=True)


main()
