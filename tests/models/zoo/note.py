"""What is noted of a model in case.json, and how it is found with which rate it learns evenly."""

import base64
import json
import re

import numpy as np
import onnx
import torch

STEPS, RATES, STEADY = 5, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 1e-5


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


def farthest(losses, wanted):
    return max(abs(a / b - 1) for a, b in zip(losses, wanted))


def with_best_rate(steps, nudged=None):
    """
    The highest rate with which the loss only falls, and not to nothing, its losses and output, and how far `nudged`,
    the same with a millionth more or less in each weight, takes the losses. Where that grows, the steadiest lower rate
    is taken with which the loss still falls by a hundredth.
    """
    best = None
    for lr in RATES:
        losses, after = steps(lr)
        if not all(a > b for a, b in zip(losses, losses[1:])) or losses[-1] < losses[0] / 4:
            continue
        if best and losses[-1] > 0.99 * losses[0]:
            break
        unsteady = farthest(nudged(lr), losses) if nudged else None
        if not best or unsteady < best[-1]:
            best = lr, losses, after, unsteady
        if not nudged or unsteady < STEADY:
            break
    if not best:
        raise ValueError(f"no rate of {RATES} makes the loss fall: {losses}")
    return best


def opsets(model):
    return {o.domain or "ai.onnx": o.version for o in model.opset_import}


def save(folder, model, note):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, folder / "model.onnx")
    (folder / "case.json").write_text(json.dumps(note))
