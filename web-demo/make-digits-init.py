"""Writes digits-init.onnx, the untrained network of the demo: 28×28 greys in, ten digits and two spare classes out."""
from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn

CLASSES = 12

torch.manual_seed(7)
network = nn.Sequential(OrderedDict(
    conv1=nn.Conv2d(1, 16, 3, padding=1), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2),
    conv2=nn.Conv2d(16, 32, 3, padding=1), relu2=nn.ReLU(), pool2=nn.MaxPool2d(2),
    flatten=nn.Flatten(), fc1=nn.Linear(32 * 7 * 7, 56), relu3=nn.ReLU(),
    fc2=nn.Linear(56, CLASSES),
))
torch.onnx.export(
    network, torch.zeros(1, 1, 28, 28), str(Path(__file__).with_name("digits-init.onnx")),
    input_names=["input"], output_names=["logits"],
    dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}}, opset_version=13,
)
