"""What is noted of a model in case.json, and how it is found with which rate it learns evenly."""

import base64
import json
import re

import numpy as np
import onnx
import torch

STEPS, RATES = 5, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def packed(tensor):
    """A tensor as JSON has it: its type, its dims, its bytes in base64, or its words."""
    array = np.ascontiguousarray(tensor.detach().numpy() if isinstance(tensor, torch.Tensor) else tensor)
    if array.dtype.kind in "OU":
        return {"type": "string", "dims": list(array.shape), "data": [str(word) for word in array.ravel()]}
    return {"type": str(array.dtype), "dims": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def unpacked(one):
    return np.frombuffer(base64.b64decode(one["data"]), one["type"]).reshape(one["dims"])


def with_best_rate(steps):
    """By the highest rate with which the loss only falls, and not to nothing: beyond it a last bit grows."""
    for lr in RATES:
        losses, after = steps(lr)
        if all(a > b for a, b in zip(losses, losses[1:])) and losses[-1] > losses[0] / 4:
            return lr, losses, after
    raise ValueError(f"no rate of {RATES} makes the loss fall: {losses}")


def opsets(model):
    return {o.domain or "ai.onnx": o.version for o in model.opset_import}


def save(folder, model, note):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, folder / "model.onnx")
    (folder / "case.json").write_text(json.dumps(note))
