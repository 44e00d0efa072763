"""PyTorch on one thread, without a browser: the yardstick. Answers as native.c does: a line of steps in, ms a step and
the loss out.

python3 pytorch.py FOLDER THREADS      reads FOLDER/network.json, weights.bin and the inputs' .bin
"""
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

TYPES = {"float32": np.float32, "int64": np.int64, "bool": np.bool_}


def constant(value):
    numbers = [float(v) for v in value["values"]]
    return torch.from_numpy(np.array(numbers).astype(TYPES[value["type"]]).reshape(value["dims"]))


def conv(i, a):
    function = {1: F.conv1d, 2: F.conv2d}[len(a["strides"])]
    bias = i[2] if len(i) > 2 else None
    return function(i[0], i[1], bias, a["strides"], a["pads"][: len(a["strides"])], 1, a["group"])


def pool(functions, x, a, **more):
    pads = a.get("pads", [0])[: len(a["strides"])]
    function = functions[len(a["strides"])]
    return function(x, a["kernel_shape"], a["strides"], pads, ceil_mode=bool(a.get("ceil_mode")), **more)


RULES = {
    "Gemm": lambda i, a: F.linear(*i),
    "MatMul": lambda i, a: i[0] @ i[1],
    "Add": lambda i, a: i[0] + i[1],
    "Mul": lambda i, a: i[0] * i[1],
    "Relu": lambda i, a: F.relu(i[0]),
    "Clip": lambda i, a: F.relu6(i[0]),
    "Conv": conv,
    "MaxPool": lambda i, a: pool({1: F.max_pool1d, 2: F.max_pool2d}, i[0], a),
    "AveragePool": lambda i, a: pool({1: F.avg_pool1d, 2: F.avg_pool2d}, i[0], a, count_include_pad=False),
    "BatchNormalization": lambda i, a: F.batch_norm(i[0], i[3], i[4], i[1], i[2], training=i[1].requires_grad),
    "LRN": lambda i, a: F.local_response_norm(i[0], a["size"], a["alpha"]["float"], a["beta"]["float"]),
    "Concat": lambda i, a: torch.cat(i, a["axis"]),
    "GlobalAveragePool": lambda i, a: i[0].mean(tuple(range(2, i[0].dim())), keepdim=True),
    "Flatten": lambda i, a: i[0].flatten(1),
    "Reshape": lambda i, a: i[0].reshape(i[1].tolist()),
    "Transpose": lambda i, a: i[0].permute(a["perm"]),
    "Split": lambda i, a: i[0].split(i[1].tolist(), a["axis"]),
    "Softmax": lambda i, a: i[0].softmax(-1),
    "Where": lambda i, a: i[2].masked_fill(i[0], float("-inf")),
    "LayerNormalization": lambda i, a: F.layer_norm(i[0], i[1].shape, i[1], i[2], 1e-5),
    "Gather": lambda i, a: F.embedding(i[1], i[0]),
}


class Network:
    def __init__(self, folder):
        self.nodes = (description := json.loads((folder / "network.json").read_text()))["nodes"]
        self.description, self.values = description, {}
        blob, at = np.fromfile(folder / "weights.bin", np.float32), 0
        for weight in description["weights"]:
            count = int(np.prod(weight["dims"]))
            tensor = torch.from_numpy(blob[at : at + count].copy().reshape(weight["dims"]))
            self.values[weight["name"]] = tensor.requires_grad_(weight["trains"])
            at += count
        for node in self.nodes:
            if node["op"] == "Constant":
                self.values[node["outputs"][0]] = constant(node["attributes"]["value"])
        for feed in description["feeds"]:
            self.values[feed["name"]] = torch.from_numpy(np.fromfile(folder / f"{feed['name']}.bin",
                                                                     TYPES[feed["type"]]).reshape(feed["dims"]))

    def forward(self):
        values = dict(self.values)
        for node in self.nodes:
            if node["op"] == "Constant":
                continue
            out = RULES[node["op"]]([values[name] for name in node["inputs"]], node["attributes"])
            values.update(zip(node["outputs"], out if isinstance(out, tuple) else (out,)))
        return values["logits"]

    def optimizer(self):
        o = self.description["optimizer"]
        trained = [self.values[w["name"]] for w in self.description["weights"] if w["trains"]]
        if o["type"] == "sgd":
            return torch.optim.SGD(trained, o["lr"])
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[o["type"]]
        return kind(trained, o["lr"], tuple(o["betas"]), o["eps"], o.get("weightDecay", 0))


def main():
    torch.set_num_threads(int(sys.argv[2]))
    network = Network(Path(sys.argv[1]))
    optimizer = None if network.description["forward"] else network.optimizer()

    def step():
        if optimizer is None:
            with torch.no_grad():
                return network.forward().flatten()[0].item()
        optimizer.zero_grad()
        loss = F.cross_entropy(network.forward(), network.values["labels"])
        loss.backward()
        optimizer.step()
        return loss.item()

    for line in sys.stdin:
        steps, start = int(line), time.perf_counter()
        for _ in range(steps):
            loss = step()
        print((time.perf_counter() - start) * 1e3 / steps, loss, flush=True)


main()
