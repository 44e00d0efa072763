"""Writes extend.json: a linear classifier of three classes in PyTorch, after some steps of AdamW or momentum given two
more classes whose rows and state are appended, and trained on. The inputs are a formula, which
tests/js/session/extend.test.js has too.

Run by hand: python3 tests/golden/scripts/make_extend.py
"""
import json
import math
from pathlib import Path

import torch
from torch.nn import functional as F

HERE = Path(__file__).resolve().parents[1] / "data"
FEATURES, OLD, NEW, BEFORE, AFTER, ROWS = 6, 3, 2, 4, 5, 15
OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.01),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
}


def noise(i):
    x = math.sin(12.9898 * i) * 43758.5453
    return x - math.floor(x)


def noises(first, *dims):
    return torch.tensor([2 * noise(first + i) - 1 for i in range(math.prod(dims))], dtype=torch.float32).reshape(dims)


def steps(layer, optimizer, classes, count):
    x, labels = noises(0, ROWS, FEATURES), torch.tensor([i % classes for i in range(ROWS)])
    losses = []
    for _ in range(count):
        loss = F.cross_entropy(layer(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def linear(weight, bias):
    layer = torch.nn.Linear(FEATURES, len(bias))
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer


def widened(tensor, rows):
    return torch.cat([tensor, rows])


def run(make):
    layer = linear(noises(1000, OLD, FEATURES), noises(2000, OLD))
    optimizer = make(layer.parameters())
    before = steps(layer, optimizer, OLD, BEFORE)
    old = [p.detach() for p in layer.parameters()]
    mean = [p.mean(dim=0, keepdim=True).expand(NEW, *p.shape[1:]) for p in old]
    wider = linear(*[widened(p, m) for p, m in zip(old, mean)])
    other = make(wider.parameters())
    for was, now in zip(layer.parameters(), wider.parameters()):
        grows = lambda v: isinstance(v, torch.Tensor) and v.shape == was.shape
        other.state[now] = {
            k: widened(v, torch.zeros(NEW, *v.shape[1:])) if grows(v) else v for k, v in optimizer.state[was].items()
        }
    after = steps(wider, other, OLD + NEW, AFTER)
    return {"before": before, "after": after, "weight": wider.weight.flatten().tolist(), "bias": wider.bias.tolist()}


def main():
    runs = {name: run(make) for name, make in OPTIMIZERS.items()}
    (HERE / "extend.json").write_text(json.dumps(runs) + "\n")


main()
