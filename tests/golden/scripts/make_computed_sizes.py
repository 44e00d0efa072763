"""Writes cases/sizes-*: models in which sizes depend on what is fed (masks, distinct ids, self loops, counts), and
PyTorch's losses of five steps, each of other sizes.

Run by hand: build/models-venv/bin/python tests/golden/scripts/make_computed_sizes.py
"""
import base64
import json
from pathlib import Path

import onnx
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

FOLDER = Path(__file__).resolve().parents[1] / "data" / "cases"
ROWS, IDS, EDGES = 6, 9, 9


class Net(nn.Module):
    """Layers, a normalization and an embedding table; `use` calls some of them."""

    def __init__(self, use):
        super().__init__()
        self.first, self.last, self.table, self.norm = nn.Linear(4, 5), nn.Linear(5, 3), nn.Embedding(IDS,
            5), nn.BatchNorm1d(5)
        self.use = use

    def forward(self, *inputs):
        return self.use(self, *inputs)


def rows():
    return torch.randn(ROWS, 4)


def mask():
    return torch.randperm(ROWS) < torch.randint(1, ROWS, ())


def ids():
    return torch.randint(0, IDS, (7,))


def boxes():
    return torch.cat((torch.rand(ROWS, 2), 1 + torch.rand(ROWS, 2)), 1)


def masked(net, x, kept):
    return net.last(torch.tanh(net.first(x))[kept])


def masked_select(net, x, kept):
    return torch.masked_select(net.last(torch.tanh(net.first(x))), kept[:, None])


def masked_by_learned(net, x):
    h = torch.tanh(net.first(x))
    return net.last(h[h[:, 0] > -0.5]).mean(0)


def masked_by_normed(net, x):
    h = net.norm(net.first(x))
    return net.last(h[h[:, 0] > -0.5]).mean(0)


def distinct(net, i):
    values, inverse, counts = torch.unique(i, return_inverse=True, return_counts=True)
    return (net.last(net.table(values)) / counts[:, None])[inverse]


def distinct_in_a_row(net, i):
    return net.last(net.table(torch.unique_consecutive(i))).mean(0)


def without_self_loops(net, x, edges):
    """As PyTorch Geometric's GCNConv: self loops are removed, and one is added to each node."""
    source, target = edges[:, edges[0] != edges[1]]
    source, target = (torch.cat((one, torch.arange(ROWS))) for one in (source, target))
    h = net.first(x)
    return net.last(torch.zeros_like(h).index_add(0, target, h[source]))


def not_overlapping(net, x, corners, scores):
    return net.last(net.first(x)[torchvision.ops.nms(corners, scores, 0.3)]).mean(0)


def up_to(net, count):
    return net.last(net.table(torch.arange(count.item()))).mean(0)


def repeated(net, x, times):
    return net.last(torch.repeat_interleave(net.first(x), times, 0)).mean(0)


def stretched(net, a, b, c):
    """Two free dims, of which the first turns out to be 1."""
    x = a * net.first(c).mean()
    return (x * (x + b)).sum(1)


CASES = {
    "mask-dynamo": (masked, rows, mask),
    "mask-free-rows-readme-options": (masked, rows, mask),
    "masked-select-script": (masked_select, rows, mask),
    "learned-mask-script": (masked_by_learned, rows),
    "normed-mask-readme-options": (masked_by_normed, rows),
    "unique-script": (distinct, ids),
    "unique-consecutive-dynamo": (distinct_in_a_row, ids),
    "self-loops-dynamo": (without_self_loops, rows, lambda: torch.randint(0, ROWS, (2, EDGES))),
    "nms-script": (not_overlapping, rows, boxes, lambda: torch.rand(ROWS)),
    "range-dynamo": (up_to, lambda: torch.randint(1, IDS, ())),
    "stretched-script": (stretched, lambda: torch.randn(2, 1), lambda: torch.randn(2, 4), rows),
    "repeats-script": (repeated, rows, lambda: torch.randint(1, 4, (ROWS,))),
}


def export(name, net, inputs, file):
    names = {"input_names": [f"x{i}" for i in range(len(inputs))], "output_names": ["y"]}
    if name.endswith("script"):
        axes = {"x0": {1: "d"}, "x1": {1: "e"}} if "stretched" in name else None
        torch.onnx.export(net.eval(), inputs, str(file), dynamo=False, dynamic_axes=axes, **names)
    elif name.endswith("options"):
        free = tuple({0: "rows"} for _ in inputs)
        torch.onnx.export(net.train(), inputs, str(file), optimize=False, dynamic_shapes=(free,), **names)
    else:
        torch.onnx.export(net.eval(), inputs, str(file), **names)
    model = onnx.load(file)
    for node in model.graph.node:  # where the exporter ran
        del node.metadata_props[:]
    onnx.save_model(model, file)
    file.with_suffix(".onnx.data").unlink(missing_ok=True)


def packed(tensor):
    data = base64.b64encode(tensor.contiguous().numpy().tobytes()).decode()
    return {"type": str(tensor.dtype).removeprefix("torch."), "dims": list(tensor.shape), "data": data}


def fed(inputs):
    return {f"x{i}": packed(one) for i, one in enumerate(inputs)}


def make(name, use, *feeds):
    torch.manual_seed(3)
    net, folder = Net(use), FOLDER / f"sizes-{name}"
    folder.mkdir(exist_ok=True)
    export(name, net, tuple(feed() for feed in feeds), folder / "model.onnx")
    net.train()
    optimizer, steps, losses = torch.optim.SGD(net.parameters(), 0.05), [], []
    for _ in range(5):
        inputs = tuple(feed() for feed in feeds)
        output = net(*inputs)
        target = torch.randn_like(output)
        loss = F.mse_loss(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps.append(fed(inputs) | {"target": packed(target)})
        losses.append(loss.item())
    inputs = tuple(feed() for feed in feeds)
    with torch.no_grad():
        want = {"losses": losses, "after": packed(net.eval()(*inputs))}
    if "normed" in name:  # the running variance of ONNX is another than PyTorch's
        want = {"losses": losses, "running_mean": net.norm.running_mean.tolist()}
    note = {"loss": "mse", "optimizer": {"type": "sgd", "lr": 0.05}, "steps": steps, "test": fed(inputs), "want": want}
    (folder / "case.json").write_text(json.dumps(note) + "\n")


if __name__ == "__main__":
    for name, case in CASES.items():
        make(name, *case)
