"""Networks of flax, exported by jax2onnx and its defaults; the losses are those of JAX's own gradients."""

import os
from dataclasses import dataclass
from typing import Callable

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from flax import nnx
from jax import numpy as jnp
from jax2onnx import to_onnx

from . import note


class Perceptron(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(6, 16, rngs=rngs), nnx.gelu, nnx.Linear(16, 16, rngs=rngs), nnx.tanh,
                                     nnx.Linear(16, 3, rngs=rngs))

    def __call__(self, x):
        return self.layers(x)


class Pictures(nnx.Module):
    """Convolutions with GroupNorm, channels last."""

    def __init__(self, rngs):
        self.first = nnx.Conv(3, 8, (3, 3), rngs=rngs)
        self.norm = nnx.GroupNorm(8, num_groups=2, rngs=rngs)
        self.second = nnx.Conv(8, 16, (3, 3), strides=2, rngs=rngs)
        self.last = nnx.Linear(16, 5, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.norm(self.first(x))), window_shape=(2, 2), strides=(2, 2))
        return self.last(nnx.relu(self.second(x)).mean((1, 2)))


class Separable(nnx.Module):
    """Depthwise and pointwise convolutions."""

    def __init__(self, rngs):
        self.deep = nnx.Conv(4, 4, (3, 3), feature_group_count=4, rngs=rngs)
        self.wide = nnx.Conv(4, 8, (1, 1), rngs=rngs)
        self.last = nnx.Linear(8, 5, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.silu(self.wide(self.deep(x))).mean((1, 2)))


class Block(nnx.Module):
    """Attention and feed-forward, normalized before."""

    def __init__(self, width, rngs):
        self.norms = nnx.List([nnx.LayerNorm(width, rngs=rngs) for _ in range(2)])
        self.attention = nnx.MultiHeadAttention(2, width, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(width, 2 * width, rngs=rngs), nnx.Linear(2 * width, width, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.down(nnx.gelu(self.up(self.norms[1](x))))


class Words(nnx.Module):
    """A transformer over words with learned places."""

    def __init__(self, rngs):
        self.word = nnx.Embed(40, 16, rngs=rngs)
        self.place = nnx.Param(0.1 * jax.random.normal(rngs.params(), (12, 16)))
        self.block, self.last = Block(16, rngs), nnx.Linear(16, 5, rngs=rngs)

    def __call__(self, ids):
        return self.last(self.block(self.word(ids) + self.place[...]).mean(1))


class Mixer(nnx.Module):
    """One block of an MLP-Mixer."""

    def __init__(self, rngs):
        self.norms = nnx.List([nnx.LayerNorm(8, rngs=rngs) for _ in range(2)])
        self.across = nnx.Sequential(nnx.Linear(12, 16, rngs=rngs), nnx.gelu, nnx.Linear(16, 12, rngs=rngs))
        self.within = nnx.Sequential(nnx.Linear(8, 16, rngs=rngs), nnx.gelu, nnx.Linear(16, 8, rngs=rngs))
        self.last = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        x = x + self.across(self.norms[0](x).swapaxes(1, 2)).swapaxes(1, 2)
        return self.last((x + self.within(self.norms[1](x))).mean(1))


class Gated(nnx.Module):
    """RMSNorm and a gated feed-forward by einsum, as language models have them."""

    def __init__(self, rngs):
        self.norm = nnx.RMSNorm(8, rngs=rngs)
        self.gate, self.up, self.down = (nnx.Einsum(rule, shape, rngs=rngs) for rule, shape in (
            ("btd,df->btf", (8, 16)), ("btd,df->btf", (8, 16)), ("btf,fd->btd", (16, 8))))

    def __call__(self, x):
        y = self.norm(x)
        return x + self.down(nnx.silu(self.gate(y)) * self.up(y))


class Autoencoder(nnx.Module):
    def __init__(self, rngs):
        self.encode = nnx.Sequential(nnx.Linear(12, 8, rngs=rngs), nnx.elu, nnx.Linear(8, 3, rngs=rngs))
        self.decode = nnx.Sequential(nnx.Linear(3, 8, rngs=rngs), nnx.elu, nnx.Linear(8, 12, rngs=rngs), nnx.sigmoid)

    def __call__(self, x):
        return self.decode(self.encode(x))


def loss_of(kind, output, target):
    if kind == "mse":
        return jnp.square(output - target).mean()
    return -jnp.take_along_axis(jax.nn.log_softmax(output), target[:, None], 1).mean()


@dataclass
class Flax:
    """`shape` is that of the input, with its batch free by name: numbers, or words where `words` tells how many."""

    build: Callable
    shape: tuple
    loss: str = "cross-entropy"
    words: int = 0

    def make(self, name, folder):
        net, draw = self.build(nnx.Rngs(1)), np.random.default_rng(1)
        shape = (4, *self.shape[1:])
        x = draw.integers(0, self.words, shape).astype("int32") if self.words else draw.normal(size=shape).astype("f")
        output = np.asarray(net(x))
        target = draw.normal(size=output.shape).astype("f") if self.loss == "mse" else draw.integers(
            0, output.shape[-1], output.shape[:-1])
        asked = jax.ShapeDtypeStruct(shape, x.dtype) if self.words else self.shape
        model = to_onnx(net, [asked])
        graph, parameters, rest = nnx.split(net, nnx.Param, ...)
        value = jax.value_and_grad(lambda given: loss_of(self.loss, nnx.merge(graph, given, rest)(x), target))

        def steps(lr):
            now, losses = parameters, []
            for _ in range(note.STEPS):
                loss, grads = value(now)
                now = jax.tree.map(lambda p, g: p - lr * g, now, grads)
                losses.append(float(loss))
            return losses, np.asarray(nnx.merge(graph, now, rest)(x))

        lr, losses, after, _ = note.with_best_rate(steps)
        note.save(folder, model, {
            "name": name, "exporter": "jax2onnx", "loss": self.loss, "axis": -1, "optimizer": {"type": "sgd", "lr": lr},
            "opset": note.opsets(model), "inputs": {model.graph.input[0].name: note.packed(x)},
            "output": note.packed(output), "target": note.packed(target), "losses": losses,
            "after": note.packed(after)})


MODELS = {
    "flax: MLP": Flax(Perceptron, ("B", 6)),
    "flax: CNN with GroupNorm": Flax(Pictures, ("B", 12, 12, 3)),
    "flax: separable convolutions": Flax(Separable, ("B", 10, 10, 4)),
    "flax: transformer": Flax(Words, ("B", 12), words=40),
    "flax: MLP-Mixer": Flax(Mixer, ("B", 12, 8)),
    "flax: gated feed-forward": Flax(Gated, ("B", 6, 8), "mse"),
    "flax: autoencoder": Flax(Autoencoder, ("B", 12), "mse"),
}
