"""Makes computed/: networks of whose parameters PyTorch's exporter by dynamo computes constants, as it does by default:
a tied weight transposed, rows of embeddings, a class token repeated. computed.json has losses of five steps in PyTorch.
Run as todays_export.py says.
"""

import json
import pathlib
import warnings

import torch
from torch import nn

from todays_export import export, losses, noted

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data"
STEPS, LR = 5, 0.1
KEPT = ("pkg.torch.export.graph_signature.InputSpec.kind", "pkg.onnxscript.optimizer.folded_from")


class Words(nn.Module):
    """Learned places, one kind of all words as BERT has two, a mask, and the embedding again as the last layer."""

    def __init__(self):
        super().__init__()
        self.word, self.place, self.kind = nn.Embedding(9, 8), nn.Embedding(7, 8), nn.Embedding(2, 8)
        self.mix, self.last = nn.Linear(8, 8), nn.Linear(8, 9, bias=False)
        self.last.weight = self.word.weight
        self.register_buffer("kinds", torch.zeros(1, 1100, dtype=torch.long))  # too large to be computed with
        self.register_buffer("wave", torch.sin(torch.arange(40.0).reshape(5, 8)))

    def forward(self, ids):
        batch, length = ids.shape
        kinds = self.kinds.expand(batch, -1).gather(1, torch.arange(length).expand(batch, -1))
        places = self.place(torch.arange(length).expand(batch, -1))
        x = self.word(ids) + self.kind(kinds) + places + 0.1 * self.wave
        mask = torch.triu(torch.full((length, length), -9.0), 1).expand(batch, -1, -1)
        x = x + ((x @ x.transpose(1, 2) + mask).softmax(-1) @ torch.tanh(self.mix(x)))
        return self.last(x)


class Patches(nn.Module):
    """A class token before the patches of each picture."""

    def __init__(self):
        super().__init__()
        self.patch, self.last = nn.Conv2d(1, 8, 3, stride=3), nn.Linear(8, 3)
        self.token, self.place = nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 5, 8))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.place
        return self.last((x @ x.transpose(1, 2)).softmax(-1) @ x)[:, 0]


def main():
    warnings.simplefilter("ignore")
    (FOLDER / "computed").mkdir(exist_ok=True)
    numbers = {"lr": LR}
    networks = (("words", Words, torch.randint(0, 9, (3, 5))), ("patches", Patches, torch.randn(3, 1, 6, 6)))
    for name, network, x in networks:
        torch.manual_seed(1)
        net = network().eval()
        for batch in (1, 2):
            export(net, x[:batch], FOLDER / f"computed/{name}_{batch}.onnx", KEPT, external_data=False)
        target = torch.randn_like(net(x))
        numbers[name] = noted(x, target, losses=losses(net, x, target, STEPS, LR))
    (FOLDER / "computed.json").write_text(json.dumps(numbers) + "\n")


main()
