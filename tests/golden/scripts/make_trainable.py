"""Writes trainable/*.json: what PyTorch does where other parameters train after a while. Run by hand after make_w.py,
whose networks and batches these are.

A phase says which parameters train (globs) and for how many steps. In PyTorch that is requires_grad, with one optimizer
of all parameters, which leaves those without a gradient as they are, and their state; a BatchNorm whose weight and bias
are both frozen is in eval mode, as in Keras. What the JSON holds: the recipe, the loss of each step in float64, and the
parameters' changes over all of them, as in make_w.py.
input_gradients.json: of the loss of step 0 towards the input, Σ g · u(i) and Σ |g| · |u(i)|, in training and in eval
mode.
"""
import copy
import fnmatch
import json
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import torch

from make_w import batch_tensor, batch_units, loss_of, make_optimizer, use_onnx_running_variance
from models import MODELS, RUNS

HERE = Path(__file__).resolve().parents[1] / "data"
PHASES = {
    "transformer": [(["head.*"], 100), (["block1.*", "block2.*"], 100), (["head.*", "block2.*"], 20)],
    "cnn_bn": [(["fc.*"], 20), (["*"], 20), (["fc.*", "bn2.*"], 20)],
}


def load(name):
    """The network with the numbers of its file."""
    net = MODELS[name]["net"]()
    file = onnx.load(str(HERE / f"{name}.onnx"))
    values = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in file.graph.initializer}
    with torch.no_grad():
        for key, value in net.state_dict().items():
            if value.is_floating_point():
                value.copy_(values[key])
    return net


def choose(net, globs):
    for name, parameter in net.named_parameters():
        parameter.requires_grad_(any(fnmatch.fnmatchcase(name, glob) for glob in globs))
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.train(module.weight.requires_grad or module.bias.requires_grad)


def train(net, model, run, phases):
    net = copy.deepcopy(net).double().train()
    use_onnx_running_variance(net)
    start = {name: value.detach().clone() for name, value in net.state_dict().items()}
    optimizer, losses = make_optimizer(run["optimizer"], list(net.parameters())), []
    for globs, steps in phases:
        choose(net, globs)
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(run["loss"], net(batch_tensor(model["input"], run["batch"], len(losses), torch.float64)),
                           batch_tensor(run["label"], run["batch"], len(losses), torch.float64))
            loss.backward()
            losses.append(loss.item())
            optimizer.step()
    changes = {}
    for name, value in net.state_dict().items():
        if value.is_floating_point():
            change = (value - start[name]).reshape(-1).numpy()
            u = 2 * batch_units(7, change.size) - 1
            changes[name] = [float((change * u).sum()), float(np.abs(change * u).sum())]
    return losses, changes


def input_gradient(name, training):
    net, model, run = load(name).double().train(training), MODELS[name], RUNS[name]
    use_onnx_running_variance(net)
    x = batch_tensor(model["input"], run["batch"], 0, torch.float64).requires_grad_()
    loss_of(run["loss"], net(x), batch_tensor(run["label"], run["batch"], 0, torch.float64)).backward()
    g = x.grad.reshape(-1).numpy()
    u = 2 * batch_units(7, g.size) - 1
    return [float((g * u).sum()), float(np.abs(g * u).sum())]


def main():
    torch.set_num_threads(1)
    for name, phases in PHASES.items():
        run = {key: RUNS[name][key] for key in ("batch", "loss", "label", "optimizer")}
        losses, changes = train(load(name), MODELS[name], run, phases)
        record = dict(run, input=MODELS[name]["input"], model=f"{name}.onnx",
                      phases=[dict(trainable=globs, steps=steps) for globs, steps in phases],
                      torch=dict(losses64=losses, changes64=changes))
        (HERE / "trainable" / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: {losses[0]:.6f} → {losses[-1]:.6f}")
    gradients = {name: dict(train=input_gradient(name, True), eval=input_gradient(name, False))
                 for name in ("conv1d", "cnn_bn")}
    (HERE / "trainable" / "input_gradients.json").write_text(json.dumps(gradients, indent=1) + "\n")


if __name__ == "__main__":
    main()
