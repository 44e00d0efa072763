"""Writes lora_attention/: small models in which several weights belong to one module, or one weight to several
layers, as both of PyTorch's exporters and Keras' write them, and how PEFT trains adapters of those that it can adapt.

lora_attention.json has of each model the exports, the inputs, and for PEFT's: the options, and the losses of three
steps. first/ and last/ are PEFT's folders before and after them.

Run by hand, in the environment of make_lora.py with keras beside it:
build/venv/bin/python tests/golden/scripts/make_lora_attention.py
"""
import json
import os
import shutil
import warnings
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import onnx
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F

from make_lora import spread

FOLDER = Path(__file__).resolve().parents[1] / "data" / "lora_attention"
KEPT = ("pkg.torch.export.graph_signature.InputSpec.kind", "pkg.onnxscript.optimizer.folded_from",
        "pkg.torch.onnx.name_scopes",
        "pkg.torch.onnx.fx_node", "pkg.onnxscript.rewriter.rule_name")
STEPS, LR, WIDTH = 3, 0.02, 8
warnings.filterwarnings("ignore")


def attention(**options):
    return nn.MultiheadAttention(WIDTH, 2, batch_first=True, **options)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 2, 12, 0.0, batch_first=True), 2)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


class Cross(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attn, self.head = attention(**options), nn.Linear(WIDTH, 3)

    def forward(self, x, y):
        return self.head(self.attn(x, y, y, need_weights=False)[0].mean(1))


class Parameters(nn.Module):
    """Weights that are no module's."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(0.4 * torch.randn(WIDTH, WIDTH)) for _ in range(3))

    def forward(self, x):
        for weight in self.weights:
            x = torch.tanh(F.linear(x, weight))
        return x.mean(1)


class Turned(nn.Module):
    """One weight there and back."""

    def __init__(self, hidden):
        super().__init__()
        self.weight, self.head = nn.Parameter(0.4 * torch.randn(hidden, WIDTH)), nn.Linear(WIDTH, 3)

    def forward(self, x):
        return self.head(F.linear(torch.tanh(F.linear(x, self.weight)), self.weight.t()).mean(1))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x):
        return self.head(self.layer(torch.relu(self.layer(x))).mean(1))


def keras_attention():
    x = keras.Input((5, WIDTH), name="x")
    y = keras.layers.MultiHeadAttention(2, 4, name="attention")(x, x)
    y = keras.layers.Dense(WIDTH, name="hidden")(y)
    return keras.Model(x, keras.layers.Dense(3, name="head")(keras.layers.GlobalAveragePooling1D()(y)))


def numbers(*dims, by=7):
    count = torch.Size(dims).numel()
    return torch.tensor([((k * k * by + 3 * k) % 101) / 50 - 1 for k in range(count)],
                        dtype=torch.float32).reshape(dims)


X, Y = numbers(4, 5, WIDTH), numbers(4, 6, WIDTH, by=5)
TARGET = numbers(4, 3, by=11)
PEFT_OPTIONS = {"encoder": ["linear1", "linear2", "self_attn"], "cross": ["attn"]}
MODELS = {
    "encoder": (Encoder, (X,), ["default", "script"]),
    "cross": (Cross, (X, Y), ["default", "readme", "script_train", "script"]),
    "sizes": (lambda: Cross(kdim=6, vdim=6), (X, numbers(4, 6, 6)), ["default", "script"]),
    "parameters": (Parameters, (X,), ["default", "script", "bare"]),
    "turned": (lambda: Turned(5), (X,), ["default", "script"]),
    "square": (lambda: Turned(WIDTH), (X,), ["default", "script"]),
    "twice": (Twice, (X,), ["readme", "script"]),
    "keras": (keras_attention, (X,), ["keras"]),
}


def export(model, inputs, how, path):
    training = {"training": torch.onnx.TrainingMode.TRAINING} if how in ("readme", "script_train") else {}
    options = {"input_names": ["x", "y"][:len(inputs)], "output_names": ["out"], "verbose": False, **training}
    model.train(bool(training))
    if how == "keras":
        model(*inputs)
        model.export(path, format="onnx", verbose=False)
    elif how.startswith("script"):
        torch.onnx.export(model, inputs, path, dynamo=False, do_constant_folding=how == "script", **options)
    else:
        torch.onnx.export(model, inputs, path, dynamo=True, external_data=False, optimize=how != "readme", **options)
    made = onnx.load(path)
    for value in [*made.graph.node, *made.graph.value_info, *made.graph.input, *made.graph.output]:
        notes = [(note.key, note.value) for note in value.metadata_props if note.key in KEPT and how != "bare"]
        del value.metadata_props[:]
        for key, text in notes:
            value.metadata_props.add(key=key, value=text)
        value.doc_string = ""
        if how == "bare" and isinstance(value, onnx.NodeProto):
            value.name = ""
    onnx.save(made, path)


def taught(name, base, inputs):
    options = {"r": 2, "lora_alpha": 6, "target_modules": PEFT_OPTIONS[name]}
    model = get_peft_model(base, LoraConfig(**options)).train()
    with torch.no_grad():
        for i, (key, p) in enumerate(model.named_parameters()):
            if "lora_B" in key:
                p.copy_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(100 + i)))
    model.save_pretrained(FOLDER / name / "first")
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=LR, weight_decay=0.01)
    losses = []
    for _ in range(STEPS):
        loss = F.mse_loss(model(*inputs), TARGET)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.save_pretrained(FOLDER / name / "last")
    for readme in (FOLDER / name).glob("*/README.md"):
        readme.unlink()
    return {"options": options, "losses": losses}


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    found = {}
    for name, (make, inputs, exports) in MODELS.items():
        torch.manual_seed(7)
        model = make()
        if name != "encoder":
            spread(model)
        for how in exports:
            export(model, inputs, how, str(FOLDER / f"{name}-{how}.onnx"))
        found[name] = {"exports": exports, "dims": [list(x.shape) for x in inputs],
                       **(taught(name, model, inputs) if name in PEFT_OPTIONS else {})}
    (FOLDER / "models.json").write_text(json.dumps({"lr": LR, "weight_decay": 0.01, "models": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
