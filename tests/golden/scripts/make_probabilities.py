"""Writes probabilities.json: models that end in probabilities, whatever stands between their last activation and the
loss, and what PyTorch computes in float64 for the negative logarithm of these probabilities (cross-entropy) or for
their binary cross-entropy: the losses of steps of gradient descent and the probabilities after them. With --all FILE
also every activation with every path, which is too much to be kept.

  python3 tests/golden/scripts/make_probabilities.py
"""
import base64
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.nn import functional as F

HERE = Path(__file__).resolve().parents[1] / "data"
ROWS, FEATURES, CLASSES, PLACES = 4, 2, 3, 2
LR, STEPS = 0.5, 3
LOW, HIGH = 0.2, 0.7  # bounds of a Clip that some of the probabilities meet
WEIGHTS = [0.5, 2.0, 1.0]


class Build:
    """A graph that is written as it is computed: each operator gives its ONNX nodes and its torch value."""

    def __init__(self, opset):
        self.opset, self.nodes, self.count, self.outputs = opset, [], 0, []

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, array):
        return self.add("Constant", [], value=numpy_helper.from_array(array))

    def add(self, op, inputs, domain="", **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], domain=domain, **attributes))
        return out


ints = lambda *dims: np.array(dims, dtype=np.int64)
number = lambda x: np.array(x, dtype=np.float32)


# ---- activations: (build, name, value) → (name, value); classes along axis 1 unless `axis` says otherwise ----

def softmax(b, x, v, axis=1):
    return b.add("Softmax", [x], axis=axis), v.softmax(axis)


def sigmoid(b, x, v):
    return b.add("Sigmoid", [x]), v.sigmoid()


def pieces(b, x, v):
    most = b.add("ReduceMax", [x], axes=[1]) if b.opset < 18 else b.add("ReduceMax", [x, b.constant(ints(1))])
    e = b.add("Exp", [b.add("Sub", [x, most])])
    return b.add("Div", [e, b.add("ReduceSum", [e, b.constant(ints(1))])]), v.softmax(1)


def shares(b, x, v):
    """Sigmoids divided by their sum, as one-versus-rest classifiers have it."""
    x, v = sigmoid(b, x, v)
    return b.add("Div", [x, b.add("ReduceSum", [x, b.constant(ints(1))])]), v / v.sum(1, keepdim=True)


def normalized(b, x, v):
    """The same by scikit-learn's Normalizer."""
    x, v = sigmoid(b, x, v)
    return b.add("Normalizer", [x], "ai.onnx.ml", norm="L1"), v / v.sum(1, keepdim=True)


def softmax_normalized(b, x, v):
    x, v = softmax(b, x, v)
    return b.add("Normalizer", [x], "ai.onnx.ml", norm="L1"), v


def pair(b, x, v):
    """1 - p and p, as binary classifiers have it: of the first column alone."""
    x = b.add("Slice", [x, b.constant(ints(0)), b.constant(ints(1)), b.constant(ints(1))])
    p, v = sigmoid(b, x, v[:, :1])
    return b.add("Concat", [b.add("Sub", [b.constant(number(1)), p]), p], axis=1), torch.cat([1 - v, v], 1)


def pair_turned(b, x, v):
    x = b.add("Slice", [x, b.constant(ints(0)), b.constant(ints(1)), b.constant(ints(1))])
    p, v = sigmoid(b, x, v[:, :1])
    return b.add("Concat", [p, b.add("Sub", [b.constant(number(1)), p])], axis=1), torch.cat([v, 1 - v], 1)


def complement(b, x, v):
    p, v = sigmoid(b, x, v)
    return b.add("Sub", [b.constant(number(1)), p]), 1 - v


def heads(b, x, v):
    """Two sigmoids side by side."""
    first, second = b.add("Sigmoid", [x]), b.add("Sigmoid", [b.add("Neg", [x])])
    return b.add("Concat", [first, second], axis=1), torch.cat([v.sigmoid(), (-v).sigmoid()], 1)


def softmax_last(b, x, v):
    """Over channels that are last, before they come first again."""
    order = [0, *range(2, v.dim()), 1]
    back = [0, v.dim() - 1, *range(1, v.dim() - 1)]
    x, y = softmax(b, b.add("Transpose", [x], perm=order), v.permute(order), v.dim() - 1)
    return b.add("Transpose", [x], perm=back), y.permute(back)


# ---- what stands behind ----

def nothing(b, x, v):
    return x, v


def identity(b, x, v):
    return b.add("Identity", [b.add("Identity", [x])]), v


def clip(b, x, v, low=LOW, high=HIGH):
    return b.add("Clip", [x, b.constant(number(low)), b.constant(number(high))]), v.clip(low, high)


def clip_low(b, x, v):
    return b.add("Clip", [x, b.constant(number(LOW))]), v.clip(min=LOW)


def clip_tiny(b, x, v):
    return clip(b, x, v, 1e-7, 1 - 1e-7)


def clip_wide(b, x, v):
    return clip(b, x, v, 0, 1)


def cast(b, x, v):
    return b.add("Cast", [b.add("Cast", [x], to=TensorProto.DOUBLE)], to=TensorProto.FLOAT), v


def reshape(b, x, v):
    shape = ints(-1, *v.shape[1:]) if v.dim() == 2 else ints(0, v.shape[1], -1)
    return b.add("Reshape", [x, b.constant(shape)]), v.flatten(2) if v.dim() > 2 else v


def reshape_rows(b, x, v):
    return b.add("Reshape", [b.add("Reshape", [x, b.constant(ints(-1, 1, v.shape[1]))]),
                             b.constant(ints(-1, v.shape[1]))]), v


def flatten(b, x, v):
    return b.add("Flatten", [x], axis=1), v


def squeeze(b, x, v):
    return b.add("Squeeze", [b.add("Unsqueeze", [x, b.constant(ints(2))]), b.constant(ints(2))]), v


def transpose(b, x, v):
    return b.add("Transpose", [b.add("Transpose", [x], perm=[1, 0])], perm=[1, 0]), v


def rows_of_batch(b, x, v):
    return b.add("Slice", [x, b.constant(ints(0)), b.constant(ints(2**31)), b.constant(ints(0))]), v


def branch(b, x, v):
    b.outputs.append((b.add("ArgMax", [x], axis=1, keepdims=0), TensorProto.INT64, ["N"]))
    b.outputs.append((b.add("Mul", [x, b.constant(number(100))]), TensorProto.FLOAT, ["N", v.shape[1]]))
    return b.add("Identity", [x]), v


def zip_map(b, x, v):
    return b.add("ZipMap", [x], "ai.onnx.ml", classlabels_int64s=list(range(v.shape[1]))), v


def many(b, x, v):
    for step in (identity, clip, squeeze, cast, transpose, reshape):
        x, v = step(b, x, v)
    return x, v


def column(b, x, v):
    return b.add("Gather", [x, b.constant(ints(1))], axis=1), v[:, 1:2]


def log(b, x, v):
    return b.add("Log", [x]), v.log()


# ---- losses: of v as torch has it, `log v` where the model gives that ----

def likelihood(v, y, weight=None, ignore=-100, reduction="mean", smoothing=0.0, logs=False):
    lp = (v if logs else v.log()).contiguous()
    nll = F.nll_loss(lp, y, weight=weight, ignore_index=ignore, reduction=reduction)
    return nll if not smoothing else (1 - smoothing) * nll + smoothing * -lp.mean()


def weighted(v, y, w):
    return (F.nll_loss(v.log(), y, reduction="none") * w).sum() / w.sum()


class Case:
    def __init__(self, make, loss, want, images=False, opset=17, sample_weights=False, ignored=False):
        self.make, self.loss, self.want, self.images, self.opset = make, loss, want, images, opset
        self.sample_weights, self.ignored = sample_weights, ignored
        self.is_bce = loss == "bce-with-logits"


def case_of(c):
    generator = torch.Generator().manual_seed(7)
    draw = lambda *dims: (torch.rand(dims, generator=generator, dtype=torch.float64) * 256 - 128).round() / 64
    x = draw(ROWS, FEATURES, PLACES, PLACES) if c.images else draw(ROWS, FEATURES)
    w = draw(CLASSES, FEATURES, 1, 1) if c.images else draw(CLASSES, FEATURES)
    bias = draw(CLASSES)
    b = Build(c.opset)
    initial = [numpy_helper.from_array(t.float().numpy(), n) for t, n in ((w, "weight"), (bias, "bias"))]
    scores = b.add("Conv" if c.images else "Gemm", ["x", "weight", "bias"], **({} if c.images else {"transB": 1}))
    w, bias = w.requires_grad_(), bias.requires_grad_()

    def forward(build):
        return c.make(build, scores, F.conv2d(x, w, bias) if c.images else F.linear(x, w, bias))

    out, v = forward(b)
    target = draw(*v.shape) / 4 + 0.5 if c.is_bce else torch.randint(
        0, v.shape[1], (v.shape[0], *v.shape[2:]), generator=generator)
    if c.ignored:
        target.view(-1)[::3] = -1
    weights = (draw(ROWS) + 2.5) if c.sample_weights else None
    optimizer, losses = torch.optim.SGD([w, bias], lr=LR), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = c.want(forward(Build(c.opset))[1], target, *([weights] if c.sample_weights else []))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    after = forward(Build(c.opset))[1].detach()
    info = helper.make_tensor_value_info
    dims = ["N", *x.shape[1:]]
    graph = helper.make_graph(
        b.nodes, "probabilities", [info("x", TensorProto.FLOAT, dims)],
        [info(out, TensorProto.FLOAT, ["N", *after.shape[1:]]), *(info(*o) for o in b.outputs)],
        initial)
    file = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", c.opset), helper.make_opsetid("ai.onnx.ml", 3)])
    rounded = lambda t: [float(f"{f:.6g}") for f in t.flatten().tolist()]
    note = {"model": base64.b64encode(file.SerializeToString()).decode(), "loss": c.loss,
            "x": {"dims": list(x.shape), "data": rounded(x)},
            "target": {"dims": list(target.shape), "data": rounded(target) if target.is_floating_point()
                       else target.flatten().tolist()},
            "losses": rounded(torch.tensor(losses, dtype=torch.float64)), "after": rounded(after)}
    if c.sample_weights:
        note["weights"] = rounded(weights)
    return note


def chain(*steps):
    def make(b, x, v):
        for step in steps:
            x, v = step(b, x, v)
        return x, v
    return make


def cases(all_paths):
    all_cases = {}
    some = [nothing, clip, zip_map, many]
    paths = [nothing, identity, clip, clip_low, clip_tiny, clip_wide, cast, reshape, reshape_rows, flatten, squeeze,
             transpose, rows_of_batch, branch, zip_map, many]
    for activation in (softmax, pieces, shares, normalized, softmax_normalized, pair, pair_turned, softmax_last):
        for path in paths if all_paths or activation == softmax else some:
            all_cases[f"{activation.__name__}, {path.__name__}: cross-entropy"] = Case(
                chain(activation, path), "cross-entropy", likelihood)
    for activation in (sigmoid, complement, pair, heads):
        for path in paths + [column] if all_paths or activation == sigmoid else some:
            all_cases[f"{activation.__name__}, {path.__name__}: bce"] = Case(
                chain(activation, path), "bce-with-logits", F.binary_cross_entropy)
    for activation in (softmax, pieces, softmax_last):
        for path in (nothing, clip, reshape):
            all_cases[f"{activation.__name__}, {path.__name__}, images: cross-entropy"] = Case(
                chain(activation, path), "cross-entropy", likelihood, images=True)
    for activation, opset in ((softmax, 11), (softmax, 13), (pieces, 21), (softmax, 21)):
        all_cases[f"{activation.__name__}, opset {opset}"] = Case(
            chain(activation, identity), "cross-entropy", likelihood, opset=opset)
    weight = torch.tensor(WEIGHTS, dtype=torch.float64)
    losses = {
        "label smoothing": ({"labelSmoothing": 0.1}, lambda v, y: likelihood(v, y, smoothing=0.1)),
        "class weights": ({"weights": WEIGHTS}, lambda v, y: likelihood(v, y, weight=weight)),
        "ignored labels": ({"ignoreIndex": -1}, lambda v, y: likelihood(v, y, ignore=-1)),
        "a sum": ({"reduction": "sum"}, lambda v, y: likelihood(v, y, reduction="sum")),
        "sample weights": ({"sampleWeights": True}, weighted),
    }
    for path in (nothing, clip):
        for name, (options, want) in losses.items():
            all_cases[f"softmax, {path.__name__}: {name}"] = Case(
                chain(softmax, path), {"type": "cross-entropy", **options}, want, ignored="ignored" in name,
                sample_weights="sample" in name)
    for steps in ((softmax, log), (softmax, clip_tiny, log)):
        all_cases[", ".join(s.__name__ for s in steps) + ": cross-entropy, twice is once"] = Case(
            chain(*steps), "cross-entropy", lambda v, y: likelihood(v, y, logs=True))
    return all_cases


def write(file, all_paths):
    notes = {name: case_of(c) for name, c in cases(all_paths).items()}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(note, allow_nan=False)}" for name, note in notes.items())
    file.write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    write(HERE / "probabilities.json", False)
    if sys.argv[1:2] == ["--all"]:
        write(Path(sys.argv[2]), True)
