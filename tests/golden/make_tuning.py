"""Writes tuning.json: twenty steps in PyTorch of what fine-tuning is made of: label smoothing, weights of classes and examples, parameter
groups, an exponential moving average, clipping by value, one-cycle and reduce-on-plateau. Run by hand after make_w.py, whose networks these
are.

The data of a run are `steps` batches, one after another: batch i of a tensor is that of step i by make_w.py's formula. What the JSON holds
for a run: what Trainlet is told, and in PyTorch, in float64, the loss of each step, its learning rate where there is a schedule, the
parameters' changes as in make_w.py, and, with `ema`, the averages' changes.
"""
import copy
import fnmatch
import json
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from torch.optim import swa_utils

from make_trainable import load
from make_w import batch_tensor, batch_units, make_optimizer
from models import MODELS, floats, integers

HERE = Path(__file__).resolve().parent
STEPS = 20
SAMPLES = floats("sample_weight", [], 5, 0, 2)
LABELS = integers("labels", [], 2, 5)
WEIGHTS = [1, 2, 0.5, 3, 0]
MLP = dict(model="mlp_small", batch=16, label=LABELS)
SGD = dict(type="sgd", lr=0.125, momentum=0.75)
ADAMW = dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.125)
ADAM = dict(type="adam", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.03125)
GROUPS = [dict(params=["*"], weightDecay=0), dict(params=["fc1.*"], lrScale=0.25), dict(params=["*.bias"], lrScale=2, weightDecay=0.0625)]


def smoothing(**loss):
    return dict(type="cross-entropy", labelSmoothing=0.1, **loss)


RUNS = {
    "smoothing": dict(MLP, loss=smoothing(), optimizer=SGD),
    "smoothing_weights": dict(MLP, loss=smoothing(weights=WEIGHTS), optimizer=SGD),
    "smoothing_ignored": dict(MLP, loss=smoothing(ignoreIndex=2), optimizer=SGD),
    "smoothing_weights_ignored": dict(MLP, loss=smoothing(weights=WEIGHTS, ignoreIndex=2), optimizer=SGD),
    "smoothing_sum": dict(MLP, loss=smoothing(weights=WEIGHTS, reduction="sum"), optimizer=dict(type="sgd", lr=0.01)),
    "smoothing_pixels": dict(model="unet", batch=3, label=integers("labels", [16, 16], 2, 5), loss=smoothing(weights=WEIGHTS, ignoreIndex=1),
                             optimizer=dict(type="sgd", lr=0.0625)),
    "samples": dict(MLP, loss=dict(type="cross-entropy", sampleWeights=True), sampleWeight=SAMPLES, optimizer=SGD),
    "samples_smoothing_ignored": dict(MLP, loss=smoothing(sampleWeights=True, ignoreIndex=3), sampleWeight=SAMPLES, optimizer=SGD),
    "samples_numbers": dict(model="regression", batch=8, label=floats("target", [3], 2), loss=dict(type="mse", sampleWeights=True),
                            sampleWeight=SAMPLES, optimizer=SGD),
    "classes": dict(MLP, loss=dict(type="cross-entropy", sampleWeights=True), classWeight=WEIGHTS, optimizer=SGD),
    "classes_balanced": dict(MLP, loss=dict(type="cross-entropy", sampleWeights=True, ignoreIndex=1), classWeight="balanced", sampleWeight=SAMPLES,
                             optimizer=SGD),
    "classes_pixels": dict(model="unet", batch=3, label=integers("labels", [16, 16], 2, 5), loss=dict(type="cross-entropy", sampleWeights=True),
                           classWeight=WEIGHTS, sampleWeight=SAMPLES, optimizer=dict(type="sgd", lr=0.0625)),
}


def class_weights(run):
    if run.get("classWeight") != "balanced":
        return torch.tensor(run["classWeight"], dtype=torch.float64)
    labels = torch.cat([batch_tensor(run["label"], run["batch"], step, None).reshape(-1) for step in range(STEPS)])
    labels = labels[labels != run["loss"].get("ignoreIndex")]
    counts = torch.bincount(labels, minlength=5).double()
    return len(labels) / ((counts > 0).sum() * counts)  # of a class that is not there it is infinite, and never taken


def each_loss(run, scores, labels, weights):
    if run["loss"]["type"] == "mse":
        return F.mse_loss(scores, labels, reduction="none").flatten(1).mean(1)
    loss = run["loss"]
    options = dict(weight=weights, label_smoothing=loss.get("labelSmoothing", 0), ignore_index=loss.get("ignoreIndex", -100))
    return F.cross_entropy(scores, labels, reduction="none", **options)


def loss_of(run, step, scores, labels):
    loss = run["loss"]
    weights = torch.tensor(loss["weights"], dtype=scores.dtype) if "weights" in loss else None
    if not loss.get("sampleWeights"):
        options = dict(weight=weights, label_smoothing=loss.get("labelSmoothing", 0), ignore_index=loss.get("ignoreIndex", -100))
        return F.cross_entropy(scores, labels, reduction=loss.get("reduction", "mean"), **options)
    each = each_loss(run, scores, labels, None)
    counts = torch.ones_like(each)
    if "sampleWeight" in run:
        counts = counts * batch_tensor(run["sampleWeight"], run["batch"], step, torch.float64).reshape([-1] + [1] * (each.dim() - 1))
    if "classWeight" in run:
        counts = counts * class_weights(run)[labels]
    if "ignoreIndex" in loss:
        counts = torch.where(labels == loss["ignoreIndex"], torch.zeros(()).double(), counts)
    return (each * counts).sum() / counts.sum()


def changes_of(start, now):
    changes = {}
    for name, value in now.items():
        if value.is_floating_point():
            change = (value.detach() - start[name]).reshape(-1).numpy()
            u = 2 * batch_units(7, change.size) - 1
            changes[name] = [float((change * u).sum()), float(np.abs(change * u).sum())]
    return changes


def train(run):
    model = MODELS[run["model"]]
    net = load(run["model"]).double().train()
    start = {name: value.detach().clone() for name, value in net.state_dict().items()}
    optimizer, losses = make_optimizer(run["optimizer"], list(net.parameters())), []
    for step in range(STEPS):
        optimizer.zero_grad()
        scores = net(batch_tensor(model["input"], run["batch"], step, torch.float64))
        loss = loss_of(run, step, scores, batch_tensor(run["label"], run["batch"], step, torch.float64))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return dict(losses=losses, changes=changes_of(start, net.state_dict()))


def main():
    torch.set_num_threads(1)
    runs = {name: dict(run, model=f"{run['model']}.onnx", input=MODELS[run["model"]]["input"], torch=train(run)) for name, run in RUNS.items()}
    (HERE / "tuning.json").write_text(json.dumps(dict(steps=STEPS, runs=runs), indent=1) + "\n")
    for name, run in runs.items():
        print(name, run["torch"]["losses"][0], "→", run["torch"]["losses"][-1])


if __name__ == "__main__":
    main()
