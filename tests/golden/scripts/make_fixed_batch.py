"""Makes fixed_batch/: networks as PyTorch's two exporters write them by default, with the batch of the example in every
shape; fixed_batch.json has the outputs of three examples, one at a time, and the losses of three steps on them
together. Run as todays_export.py says.
"""

import json
import pathlib
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from todays_export import export, losses, noted

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data"
STEPS, LR, EXAMPLES = 3, 0.1, 3


class Conv(nn.Module):
    """BatchNorm where it cannot be folded, a convolution, and `view` by the batch's size."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.last = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(1), nn.Linear(36, 3)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv(self.norm(x))), 2)
        return self.last(x.view(x.size(0), -1))


class Shuffle(nn.Module):
    """ShuffleNet's channels, GroupNorm, and squeeze and excitation."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 8, 3, groups=2)
        self.norm, self.squeeze, self.last = nn.GroupNorm(2, 8), nn.Conv2d(8, 8, 1), nn.Linear(8, 3)

    def forward(self, x):
        x = self.first(x)
        batch, channels, height, width = x.shape
        x = x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)
        x = F.hardswish(self.norm(self.second(x)))
        return self.last((x * torch.sigmoid(self.squeeze(F.adaptive_avg_pool2d(x, 1)))).mean((2, 3)))


class Upsampled(nn.Module):
    """A U-Net of one level, upsampled and concatenated."""

    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.last = nn.Conv2d(6, 2, 1)

    def forward(self, x):
        x = torch.relu(self.down(x))
        deep = torch.relu(self.deep(F.max_pool2d(x, 2)))
        return self.last(torch.cat([x, F.interpolate(deep, scale_factor=2, mode="bilinear")], 1))


class Transformer(nn.Module):
    """Patches, a class token beside those of each picture, an encoder of PyTorch's."""

    def __init__(self):
        super().__init__()
        self.patch, self.last = nn.Conv2d(1, 8, 3, stride=3), nn.Linear(8, 3)
        self.register_buffer("token", torch.randn(1, 1, 8))  # as a parameter its exported name is `expand`
        self.place = nn.Parameter(0.1 * torch.randn(1, 5, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.place
        return self.last(self.encoder(x)[:, 0])


class Words(nn.Module):
    """Embeddings, and causal attention written with `view`, `bmm` and a mask."""

    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(9, 8), nn.Parameter(torch.randn(6, 8))
        self.taken, self.given = nn.Linear(8, 24), nn.Linear(8, 8)
        self.norm, self.last = nn.LayerNorm(8), nn.Linear(8, 9)

    def forward(self, ids):
        batch, length = ids.shape
        x = self.word(ids) + self.place
        taken = self.taken(self.norm(x).view(-1, 8)).view(batch, length, 24)
        q, k, v = (part.view(batch, length, 2, 4).transpose(1, 2).reshape(batch * 2, length, 4)
                   for part in taken.split(8, -1))
        weights = (torch.bmm(q, k.transpose(1, 2)) / 2).view(batch, 2, length, length)
        weights = (weights + torch.triu(torch.full((length, length), -1e9), 1)).softmax(-1)
        y = torch.bmm(weights.view(batch * 2, length, length), v).view(batch, 2, length, 4)
        return self.last(x + self.given(y.transpose(1, 2).reshape(batch, length, 8)))


class Recurrent(nn.Module):
    """An LSTM in both directions, a GRU on it; their first states are zeros of the batch's size."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(4, 5, batch_first=True, bidirectional=True), nn.GRU(10, 5, batch_first=True)
        self.last = nn.Linear(5, 3)

    def forward(self, x):
        return self.last(self.gru(self.lstm(x)[0])[1][-1])


class Pooled(nn.Module):
    """Adaptive pools, whose windows are of several sizes or the whole picture, and a picture resized by its size."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(1, 4, 3), nn.Linear(28, 3)

    def forward(self, x):
        x = torch.relu(self.first(x))
        part = F.interpolate(F.adaptive_avg_pool2d(x, (3, 3)), size=(4, 5), mode="bilinear")
        whole = F.adaptive_avg_pool2d(part, 1)
        return self.last(torch.cat([F.adaptive_avg_pool2d(part, (3, 2)).flatten(1), whole.flatten(1)], 1))


class Masked(nn.Module):
    """Words of which 0 pads: places are counted, keys are hidden as transformers indexes their mask, and a result is
    put into zeros."""

    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(9, 8), nn.Embedding(7, 8)
        self.mix, self.last = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, ids):
        batch, length = ids.shape
        mask = ids.ne(0)
        x = self.word(ids) + self.place(mask.int().cumsum(1).long() * mask)
        seen = mask[torch.arange(batch)[:, None, None], torch.arange(length)]
        scores = (x @ x.transpose(1, 2)).masked_fill(~seen, -1e9)
        x = scores.softmax(-1) @ torch.tanh(self.mix(x))
        first = torch.zeros(batch, 2, 8)
        first[:, 0] = x.mean(1)
        first[:, 1] = x[:, -1]
        return self.last(first).sum(1)


class Together(nn.Module):
    """Not one example at a time: a softmax over the batch."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        return torch.softmax(self.last(x), 0)


NETWORKS = {"conv": (Conv, (1, 6, 6)), "shuffle": (Shuffle, (1, 6, 6)), "upsampled": (Upsampled, (1, 6, 6)),
            "transformer": (Transformer, (1, 6, 6)), "words": (Words, (6,)), "recurrent": (Recurrent, (7, 4)),
            "pooled": (Pooled, (1, 7, 7)), "masked": (Masked, (6,)), "together": (Together, (4,))}
IDS = {"words", "masked"}
KINDS = {"dynamo": {"dynamo": True, "external_data": False}, "script": {"dynamo": False},
         "plain": {"dynamo": True, "external_data": False, "optimize": False}}
OTHERS = {"pooled": "plain", "masked": "plain"}  # the older exporter has not all of their operators


def draw(network, shape, count):
    return torch.randint(0, 9, (count, *shape)) if network in IDS else torch.randn(count, *shape)


def main():
    warnings.simplefilter("ignore")
    (FOLDER / "fixed_batch").mkdir(exist_ok=True)
    numbers = {"lr": LR}
    for name, (network, shape) in NETWORKS.items():
        torch.manual_seed(1)
        net = network().eval()
        for parameter in net.parameters():  # those of zeros and ones are dropped, or made one, by an exporter
            parameter.data += 0.1 * torch.randn_like(parameter)
        for batch, kind in ((1, "dynamo"), (1, OTHERS.get(name, "script")), (2, "dynamo")):
            export(net, draw(name, shape, batch), FOLDER / f"fixed_batch/{name}_{kind}_{batch}.onnx", **KINDS[kind])
        x = draw(name, shape, EXAMPLES)
        with torch.no_grad():
            y = torch.cat([net(x[i:i + 1]) for i in range(EXAMPLES)])
        target = torch.randn_like(y)
        names = [parameter for parameter, _ in net.named_parameters()]
        numbers[name] = noted(x, target, y=y.flatten().tolist(), parameters=names,
                              losses=losses(net, x, target, STEPS, LR))
    (FOLDER / "fixed_batch.json").write_text(json.dumps(numbers) + "\n")


main()
