"""Writes cases/weights-*: models whose weights an exporter has computed, a state dict with others, and PyTorch's output
with these; or, where the file does not tell what was computed, the sentence that refuses them.

Run by hand: build/models-venv/bin/python tests/golden/scripts/make_weight_cases.py
"""
import json
from pathlib import Path

import onnx
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

FOLDER = Path(__file__).resolve().parents[1] / "data" / "cases"


class Gain(nn.Module):
    """A layer, and a parameter that its output is multiplied by, through `rule`."""

    def __init__(self, rule):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.gain = nn.Parameter(torch.ones(4))
        self.rule = rule

    def forward(self, x):
        return self.layer(x) * self.rule(self.gain)


class Norm(nn.Module):
    """As Gemma's RMSNorm: 1 + weight."""

    def __init__(self):
        super().__init__()
        self.layer, self.weight = nn.Linear(4, 4), nn.Parameter(torch.zeros(4))

    def forward(self, x):
        x = self.layer(x)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1 + self.weight)


class Masked(nn.Linear):
    def __init__(self):
        super().__init__(4, 6)
        self.register_buffer("mask", torch.ones(6, 4))

    def forward(self, x):
        return F.linear(x, self.weight * self.mask, self.bias)


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = getattr(nn, kind)(3, 3, batch_first=True, **options)

    def forward(self, x):
        return self.rnn(x)[0]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4, 6))

    def forward(self, x):
        return torch.tanh(x @ self.w) @ self.w.t()


def convolution():
    return nn.Sequential(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 2, 2, bias=False),
                         nn.BatchNorm2d(2))


COMPUTED = "^weights: .* reads what the exporter has computed from .*, and the model does not say how: export it with "
DYNAMO, README, SCRIPT = {"dynamo": True}, {"dynamo": True, "optimize": False}, {"dynamo": False}
# name: module, dims of x, exporter, whether the model's file does not tell
CASES = {
    "negated-exp": (lambda: Gain(lambda k: (-k).exp()), (5, 4), DYNAMO, False),
    "layer-scale": (lambda: Gain(lambda k: k[None, None]), (2, 3, 4), DYNAMO, False),
    "half-gain": (lambda: Gain(lambda k: 0.5 * k), (5, 4), DYNAMO, True),
    "half-gain-script": (lambda: Gain(lambda k: 0.5 * k), (5, 4), SCRIPT, True),
    "one-plus": (Norm, (5, 4), DYNAMO, True),
    "one-plus-script": (lambda: nn.Sequential(Norm()), (2, 3, 4), SCRIPT, True),
    "one-plus-readme": (Norm, (5, 4), README, False),
    "masked": (lambda: nn.Sequential(Masked()), (2, 3, 4), DYNAMO, True),
    "masked-script": (lambda: nn.Sequential(Masked()), (2, 3, 4), SCRIPT, True),
    "masked-readme": (lambda: nn.Sequential(Masked()), (5, 4), README, False),
    "norm-of-weight": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 6)), (5, 4), DYNAMO, True),
    "lstm": (lambda: Recurrent("LSTM"), (2, 4, 3), DYNAMO, False),
    "gru-script": (lambda: Recurrent("GRU", num_layers=2, bidirectional=True), (2, 4, 3), SCRIPT, False),
    "batch-norm-folded": (convolution, (2, 2, 4, 4), DYNAMO, False),
    "batch-norm-folded-script": (convolution, (2, 2, 4, 4), SCRIPT, None),
    "tied-script": (Tied, (5, 4), SCRIPT, False),
}


def spread(model):
    with torch.no_grad():
        for name, p in model.state_dict().items():
            if name.endswith("running_var"):
                p.uniform_(0.5, 1.5)
            elif name.endswith("mask"):
                p.copy_((torch.rand_like(p) > 0.5).float())
            elif p.is_floating_point():
                p.normal_(0, 0.5)


def note(tensor):
    return {"type": "float32", "dims": list(tensor.shape), "data": [round(v, 7) for v in tensor.flatten().tolist()]}


def make(name, module, dims, exporter, untold):
    torch.manual_seed(len(name))
    folder = FOLDER / f"weights-{name}"
    folder.mkdir(exist_ok=True)
    model, x = module(), torch.randn(dims).mul(1024).round().div(1024)
    spread(model)
    if exporter is README:
        model.train()
    else:
        model.eval()
    options = exporter | ({"external_data": False} if exporter["dynamo"] else {})
    torch.onnx.export(model, (x,), folder / "model.onnx", input_names=["x"], output_names=["y"], **options)
    made = onnx.load(folder / "model.onnx")
    for node in made.graph.node:
        node.doc_string = ""
        kept = [prop for prop in node.metadata_props if prop.key.endswith("name_scopes")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(made, folder / "model.onnx")
    spread(model)
    save_file({key: p.contiguous() for key, p in model.state_dict().items()}, folder / "new.safetensors")
    case = {"feeds": {"x": note(x)}}
    if untold is False:
        case["expected"] = {"y": note(model.eval()(x))}
    else:
        case["refused"] = COMPUTED if untold else "^weights: .*(none of the .* tensors|folded them into other layers)"
    (folder / "case.json").write_text(json.dumps(case) + "\n")


if __name__ == "__main__":
    for name, case in CASES.items():
        make(name, *case)
