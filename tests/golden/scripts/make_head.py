"""Writes head.json: mlp_small.onnx with a new last layer for three classes, as PyTorch trains it and as scikit-learn's
NearestCentroid answers on its features.

Run by hand: python3 -m venv build/venv && build/venv/bin/pip install torch onnx scikit-learn && build/venv/bin/python
tests/golden/scripts/make_head.py
"""
import json
import math
from pathlib import Path

import numpy
import onnx
import torch
from onnx import numpy_helper
from sklearn.neighbors import NearestCentroid
from torch.nn import functional as F

HERE = Path(__file__).resolve().parents[1] / "data"
CLASSES, STEPS, LR = 3, 20, 0.1


def noise(i):
    x = math.sin(12.9898 * i) * 43758.5453
    return x - math.floor(x)


def noises(first, *dims):
    return numpy.array([2 * noise(first + i) - 1 for i in range(math.prod(dims))], dtype=numpy.float32).reshape(dims)


def features(x):
    model = onnx.load(HERE / "mlp_small.onnx")
    w = {it.name: torch.from_numpy(numpy_helper.to_array(it).copy()) for it in model.graph.initializer}
    x = torch.relu(F.linear(torch.from_numpy(x), w["fc1.weight"], w["fc1.bias"]))
    return torch.relu(F.linear(x, w["fc2.weight"], w["fc2.bias"]))


def trained(rows, labels):
    head = torch.nn.Linear(rows.shape[1], CLASSES)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    optimizer = torch.optim.SGD(head.parameters(), LR)
    losses = []
    for _ in range(STEPS):
        loss = F.cross_entropy(head(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, head.weight.detach().reshape(-1).tolist()


def main():
    labels = numpy.array([i % CLASSES for i in range(18)])
    shift = noises(5000, CLASSES, 20)
    taught = features(noises(0, 18, 20) + shift[labels])
    asked = features(noises(1000, 30, 20) + shift[numpy.arange(30) % CLASSES])
    losses, weight = trained(taught, torch.from_numpy(labels))
    nearest = NearestCentroid().fit(taught.numpy(), labels).predict(asked.numpy())
    (HERE / "head.json").write_text(json.dumps({"lr": LR, "losses": losses, "weight": weight,
                                                "nearest": nearest.tolist()}) + "\n")


main()
