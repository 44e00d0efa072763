"""Writes tuning.json: twenty steps in PyTorch of what fine-tuning is made of: label smoothing, weights of classes and
examples, parameter groups, anchors, an exponential moving average, clipping by value, one-cycle and reduce-on-plateau.
Run by hand after make_w.py, whose networks these are, with PyTorch 2 (2.15 was used).

The data of a run are `steps` batches, one after another: batch i of a tensor is that of step i by make_w.py's formula.
What the JSON holds for a run: what Trainlet is told, and in PyTorch, in float64, the loss of each step, its learning
rate where there is a schedule, the parameters' changes as in make_w.py, and, with `ema`, the averages' changes.
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

HERE = Path(__file__).resolve().parents[1] / "data"
STEPS = 20
SAMPLES = floats("sample_weight", [], 5, 0, 2)
LABELS = integers("labels", [], 2, 5)
WEIGHTS = [1, 2, 0.5, 3, 0]
MLP = dict(model="mlp_small", batch=16, label=LABELS)
SGD = dict(type="sgd", lr=0.125, momentum=0.75)
ADAMW = dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.125)
ADAM = dict(type="adam", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.03125)
GROUPS = [dict(params=["*"], weightDecay=0), dict(params=["fc1.*"], lrScale=0.25),
          dict(params=["*.bias"], lrScale=2, weightDecay=0.0625)]
ANCHORS = [dict(params=["*"], anchor=0.5), dict(params=["fc1.*"], anchor=4, lrScale=0.5), dict(params=["*.bias"])]


PLAIN = dict(type="cross-entropy")


def smoothing(**loss):
    return dict(type="cross-entropy", labelSmoothing=0.1, **loss)


RUNS = {
    "smoothing": dict(MLP, loss=smoothing(), optimizer=SGD),
    "smoothing_weights": dict(MLP, loss=smoothing(weights=WEIGHTS), optimizer=SGD),
    "smoothing_ignored": dict(MLP, loss=smoothing(ignoreIndex=2), optimizer=SGD),
    "smoothing_weights_ignored": dict(MLP, loss=smoothing(weights=WEIGHTS, ignoreIndex=2), optimizer=SGD),
    "smoothing_sum": dict(MLP, loss=smoothing(weights=WEIGHTS, reduction="sum"), optimizer=dict(type="sgd", lr=0.01)),
    "smoothing_pixels": dict(model="unet", batch=3, label=integers("labels", [16, 16], 2, 5),
                             loss=smoothing(weights=WEIGHTS, ignoreIndex=1),
                             optimizer=dict(type="sgd", lr=0.0625)),
    "samples": dict(MLP, loss=dict(type="cross-entropy", sampleWeights=True), sampleWeight=SAMPLES, optimizer=SGD),
    "samples_smoothing_ignored": dict(MLP, loss=smoothing(sampleWeights=True, ignoreIndex=3), sampleWeight=SAMPLES,
                                      optimizer=SGD),
    "samples_numbers": dict(model="regression", batch=8, label=floats("target", [3], 2),
                            loss=dict(type="mse", sampleWeights=True),
                            sampleWeight=SAMPLES, optimizer=SGD),
    "classes": dict(MLP, loss=dict(type="cross-entropy", sampleWeights=True), classWeight=WEIGHTS, optimizer=SGD),
    "classes_balanced": dict(MLP, loss=dict(type="cross-entropy", sampleWeights=True, ignoreIndex=1),
                             classWeight="balanced", sampleWeight=SAMPLES,
                             optimizer=SGD),
    "classes_pixels": dict(model="unet", batch=3, label=integers("labels", [16, 16], 2, 5),
                           loss=dict(type="cross-entropy", sampleWeights=True),
                           classWeight=WEIGHTS, sampleWeight=SAMPLES, optimizer=dict(type="sgd", lr=0.0625)),
    "groups": dict(MLP, loss=PLAIN, optimizer=ADAMW, groups=GROUPS),
    "groups_adam": dict(MLP, loss=PLAIN, optimizer=ADAM, groups=GROUPS),
    "groups_schedule": dict(MLP, loss=PLAIN, optimizer=dict(SGD, weightDecay=0.03125), groups=GROUPS,
                            schedule=dict(type="linear", lr=0.25)),
    "anchor": dict(MLP, loss=PLAIN, optimizer=SGD, groups=ANCHORS),
    "anchor_adamw": dict(MLP, loss=PLAIN, optimizer=ADAMW, groups=ANCHORS),
    "anchor_clipped": dict(MLP, loss=PLAIN, optimizer=dict(SGD, clipGradNorm=0.25), groups=ANCHORS),
    "ema": dict(MLP, loss=PLAIN, optimizer=SGD, ema=dict(decay=0.875)),
    "clip_value": dict(MLP, loss=PLAIN, optimizer=dict(SGD, clipGradValue=0.015625)),
    "clip_value_adamw": dict(MLP, loss=PLAIN, optimizer=dict(ADAMW, clipGradValue=0.015625)),
    "one_cycle": dict(MLP, loss=PLAIN, optimizer=SGD, schedule=dict(type="one-cycle", lr=0.25)),
    "one_cycle_linear": dict(MLP, loss=PLAIN, optimizer=dict(ADAMW, lr=1e-3), schedule=dict(
        type="one-cycle", lr=0.02, pctStart=0.4, divFactor=10, finalDivFactor=100, annealStrategy="linear")),
}
PLATEAUS = [
    dict(lr=0.1, factor=0.5, patience=2, minDelta=0),
    dict(lr=0.1, factor=0.1, patience=0, cooldown=2, minLr=1e-3),
    dict(lr=1, factor=0.25, patience=1, minDelta=0.125, cooldown=1),
]


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
    options = dict(weight=weights, label_smoothing=loss.get("labelSmoothing", 0),
                   ignore_index=loss.get("ignoreIndex", -100))
    return F.cross_entropy(scores, labels, reduction="none", **options)


def loss_of(run, step, scores, labels):
    loss = run["loss"]
    weights = torch.tensor(loss["weights"], dtype=scores.dtype) if "weights" in loss else None
    if not loss.get("sampleWeights"):
        options = dict(weight=weights, label_smoothing=loss.get("labelSmoothing", 0),
                       ignore_index=loss.get("ignoreIndex", -100))
        return F.cross_entropy(scores, labels, reduction=loss.get("reduction", "mean"), **options)
    each = each_loss(run, scores, labels, None)
    counts = torch.ones_like(each)
    if "sampleWeight" in run:
        counts = counts * batch_tensor(run["sampleWeight"], run["batch"], step,
                                       torch.float64).reshape([-1] + [1] * (each.dim() - 1))
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


def group_of(run, name):
    """Of several groups that match, the last counts."""
    own = [g for g in run.get("groups", []) if any(fnmatch.fnmatchcase(name, glob) for glob in g["params"])]
    return own[-1] if own else {}


def groups_of(run, net):
    lr, decay = run["optimizer"]["lr"], run["optimizer"].get("weightDecay", 0)
    found = []
    for name, parameter in net.named_parameters():
        group = group_of(run, name)
        found.append(dict(params=[parameter], lr=lr * group.get("lrScale", 1),
                          weight_decay=group.get("weightDecay", decay)))
    return found


def penalty_of(run, net, start):
    """L2-SP: half the squared distance from where a parameter began, times its group's anchor."""
    return sum(group_of(run, name).get("anchor", 0) / 2 * ((p - start[name]) ** 2).sum()
               for name, p in net.named_parameters())


def schedule_of(run, optimizer):
    """Where a Trainlet's schedule says a rate, PyTorch's says the groups' share of it."""
    schedule = run.get("schedule", dict(type="none"))
    lr, kind = run["optimizer"]["lr"], schedule["type"]
    if kind == "linear":
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: schedule["lr"] / lr * (1 - step / STEPS))
    if kind == "one-cycle":
        names = dict(pctStart="pct_start", divFactor="div_factor", finalDivFactor="final_div_factor",
                     annealStrategy="anneal_strategy")
        options = {names[key]: value for key, value in schedule.items() if key in names}
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, schedule["lr"], STEPS, cycle_momentum=False, **options)
    return None


def train(run):
    model = MODELS[run["model"]]
    net = load(run["model"]).double().train()
    start = {name: value.detach().clone() for name, value in net.state_dict().items()}
    optimizer, losses, rates = make_optimizer(run["optimizer"], groups_of(run, net)), [], []
    schedule = schedule_of(run, optimizer)
    average = (swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(run["ema"]["decay"]))
               if "ema" in run else None)
    clip = run["optimizer"].get("clipGradValue")
    for step in range(STEPS):
        optimizer.zero_grad()
        scores = net(batch_tensor(model["input"], run["batch"], step, torch.float64))
        loss = loss_of(run, step, scores, batch_tensor(run["label"], run["batch"], step, torch.float64))
        (loss + penalty_of(run, net, start)).backward()
        losses.append(loss.item())
        rates.append(optimizer.param_groups[0]["lr"])
        if clip:
            torch.nn.utils.clip_grad_value_(net.parameters(), clip)
        if "clipGradNorm" in run["optimizer"]:
            torch.nn.utils.clip_grad_norm_(net.parameters(), run["optimizer"]["clipGradNorm"])
        optimizer.step()
        if schedule and step < STEPS - 1:
            schedule.step()
        if average:
            average.update_parameters(net)
    found = dict(losses=losses, changes=changes_of(start, net.state_dict()))
    if run.get("schedule", {}).get("type") == "one-cycle":
        found["rates"] = rates
    if average:
        found["averages"] = changes_of(start, average.module.state_dict())
    return found


def plateau(options):
    """The rate of each epoch, and the losses that they saw; ReduceLROnPlateau with an absolute threshold."""
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], options["lr"])
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=options["factor"], patience=options["patience"], threshold=options.get("minDelta", 1e-4),
        threshold_mode="abs",
        cooldown=options.get("cooldown", 0), min_lr=options.get("minLr", 0), eps=0)
    values = [round(x, 6) for x in 1 / (1 + np.arange(24) / 3) + 0.25 * batch_units(3, 24)]
    rates = []
    for value in values:
        rates.append(optimizer.param_groups[0]["lr"])
        schedule.step(value)
    return dict(options=options, values=values, rates=rates)


def main():
    torch.set_num_threads(1)
    runs = {name: dict(run, model=f"{run['model']}.onnx", input=MODELS[run["model"]]["input"], torch=train(run))
            for name, run in RUNS.items()}
    (HERE / "tuning.json").write_text(json.dumps(dict(steps=STEPS, runs=runs,
                                                      plateaus=[plateau(options) for options in PLATEAUS]),
                                                      indent=1) + "\n")
    for name, run in runs.items():
        print(name, run["torch"]["losses"][0], "→", run["torch"]["losses"][-1])


if __name__ == "__main__":
    main()
