"""What a model of the zoo is: how it is built, what it is fed, how it is exported and what it learns by."""

from dataclasses import dataclass, replace
from typing import Callable

import torch
from torch import nn


@dataclass
class Case:
    """`build` gives the module, `inputs` its arguments for so many examples; both draw from PyTorch's generator."""

    build: Callable[[], nn.Module]
    inputs: Callable[[int], tuple]
    loss: str = "mse"  # or cross-entropy: of the scores' last axis, or of axis 1 where `axis` is 1
    axis: int = -1
    exporter: str = "dynamo"  # or script; keras, or "keras, dynamo" where all shapes are fixed
    training: bool = False  # exported in training mode
    batch: int = 2
    optimizer: str = "adamw"  # or sgd: networks of many layers and random weights turn the last bit of an Adam into any
    optimize: bool = True  # False: torch.onnx.export(…, optimize=False), which computes nothing that the network learns
    frozen: tuple = ()  # parameters, with *, that the module reads under no_grad; only advised exports keep their names
    free: bool = False  # the first dim of every input is exported as free, under the name "batch"

    def plain(self):
        """The same with nothing computed when it is exported."""
        return replace(self, optimize=False)

    def advised(self):
        """With the options that the README gives."""
        return replace(self, optimize=False, training=True, free=True)

    def scripted(self, **changes):
        """The same by the exporter through TorchScript."""
        return replace(self, exporter="script", **changes)


class Taking(nn.Module):
    """One tensor of what a module gives: a field of it, or what a function picks; called by keyword where named."""

    def __init__(self, module, pick="logits", names=(), **fixed):
        super().__init__()
        self.module, self.pick, self.names, self.fixed = module, pick, names, fixed

    def forward(self, *inputs):
        if self.names:
            given = self.module(**dict(zip(self.names, inputs)), **self.fixed)
        else:
            given = self.module(*inputs, **self.fixed)
        return getattr(given, self.pick) if isinstance(self.pick, str) else self.pick(given)


def each_way(cases, scriptless=()):
    """By the exporter's defaults, by the README's options and, where it is able to, through TorchScript."""
    scripted = {f"{name}, script": case.scripted() for name, case in cases.items() if name not in scriptless}
    return cases | {f"{name}, README's options": case.advised() for name, case in cases.items()} | scripted


def pictures(channels, size):
    return lambda batch: (torch.randn(batch, channels, size, size),)


def tokens(length, vocabulary):
    return lambda batch: (torch.randint(1, vocabulary, (batch, length)),)
