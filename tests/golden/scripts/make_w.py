"""Writes the golden networks (*.onnx) and their losses in PyTorch (*.json). Run by hand where PyTorch is; nothing needs
it later.

A batch is a formula, so that Python, C and JavaScript make the same one: element i of a tensor at a step is hash(seed +
100 · step, i), see batch_bits. What the JSON holds for a run: the recipe, ten losses in float32 and float64, the loss
in eval mode after them, and for each parameter Σ (p − p0) · u(i) and Σ |p − p0| · |u(i)| over the ten steps in float64,
u(i) = 2 · unit(7, i) − 1.
"""
import copy
import fnmatch
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from torch.nn import functional as F

from models import MODELS, RUNS, unlike_each_other

HERE = Path(__file__).resolve().parents[1] / "data"
STEPS = 10


def batch_bits(seed, count):
    """uint32: the finaliser lowbias32 over seed · 0x9E3779B9 + i."""
    x = (np.arange(count, dtype=np.uint64) + seed * 0x9E3779B9) & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x ^= x >> np.uint64(shift)
        x = (x * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return x ^ (x >> np.uint64(16))


def batch_units(seed, count):
    """float64 in [0, 1) with 24 bits."""
    return (batch_bits(seed, count) >> np.uint64(8)).astype(np.float64) / 2**24


def batch_tensor(spec, batch, step, dtype):
    dims = [batch] + spec["dims"]
    count, seed = int(np.prod(dims)), spec["seed"] + 100 * step
    if spec["type"] == "int64":
        values = spec["low"] + (batch_bits(seed, count) % np.uint64(spec["high"] - spec["low"])).astype(np.int64)
        return torch.from_numpy(values).reshape(dims)
    block = spec.get("block", 1)  # of the last two dims
    coarse = dims if block == 1 else dims[:-2] + [dims[-2] // block, dims[-1] // block]
    values = spec["low"] + (spec["high"] - spec["low"]) * batch_units(seed, int(np.prod(coarse)))
    values = torch.from_numpy(values.astype(np.float32)).reshape(coarse).to(dtype)
    return values if block == 1 else values.repeat_interleave(block, -2).repeat_interleave(block, -1)


def loss_of(kind, scores, target):
    if kind == "cross-entropy":
        return F.cross_entropy(scores, target)
    return {"mse": F.mse_loss, "l1": F.l1_loss, "bce-with-logits": F.binary_cross_entropy_with_logits,
            "huber": F.huber_loss}[kind](scores, target)


def make_optimizer(o, parameters):
    if o["type"] == "sgd":
        return torch.optim.SGD(parameters, o["lr"], o.get("momentum", 0), 0, o.get("weightDecay", 0),
                               o.get("nesterov", False))
    if o["type"] == "rmsprop":
        return torch.optim.RMSprop(parameters, o["lr"], o.get("alpha", 0.99), o.get("eps", 1e-8),
                                   o.get("weightDecay", 0), o.get("momentum", 0))
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[o["type"]]
    return kind(parameters, o["lr"], tuple(o["betas"]), o["eps"], o.get("weightDecay", 0))


def is_trainable(run, name):
    wanted = any(fnmatch.fnmatchcase(name, glob) for glob in run.get("requiresGrad", ["*"]))
    return wanted and not any(fnmatch.fnmatchcase(name, glob) for glob in run.get("frozen", []))


def use_onnx_running_variance(net):
    """ONNX keeps the variance of the batch over n, PyTorch over n − 1; the statistics of the goldens are ONNX's."""
    def forward(bn, x):
        if bn.training:
            axes = [0] + list(range(2, x.dim()))
            for running, now in ((bn.running_mean, x.mean(axes)), (bn.running_var, x.var(axes, unbiased=False))):
                running.mul_(1 - bn.momentum).add_(bn.momentum * now.detach())
            return F.batch_norm(x, None, None, bn.weight, bn.bias, True, 0, bn.eps)
        return F.batch_norm(x, bn.running_mean, bn.running_var, bn.weight, bn.bias, False, 0, bn.eps)

    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.forward = forward.__get__(module)


def freeze_batch_norm(net, run):
    for name, module in net.named_modules():
        learned = [f"{name}.{kind}" for kind in ("weight", "bias")]
        if isinstance(module, torch.nn.BatchNorm2d) and run.get("batchNorm") != "update":
            module.train(any(is_trainable(run, parameter) for parameter in learned))


def train(net, model, run, dtype):
    net = copy.deepcopy(net).to(dtype).train()
    use_onnx_running_variance(net)
    freeze_batch_norm(net, run)
    start = {name: value.detach().clone() for name, value in net.state_dict().items()}
    for name, parameter in net.named_parameters():
        parameter.requires_grad_(is_trainable(run, name))
    trainable = [p for p in net.parameters() if p.requires_grad]
    optimizer, losses = make_optimizer(run["optimizer"], trainable), []
    clip, accumulate = run["optimizer"].get("clipGradNorm"), run.get("accumulate", 1)
    for step in range(STEPS):
        at = 0 if run.get("fixed") else step
        loss = loss_of(run["loss"], net(batch_tensor(model["input"], run["batch"], at, dtype)),
                       batch_tensor(run["label"], run["batch"], at, dtype))
        loss.backward()
        losses.append(loss.item())
        if (step + 1) % accumulate == 0:
            if clip:
                torch.nn.utils.clip_grad_norm_(trainable, clip)
            optimizer.step()
            optimizer.zero_grad()
    net.eval()
    with torch.no_grad():
        eval_loss = loss_of(run["loss"], net(batch_tensor(model["input"], run["batch"], 0, dtype)),
                            batch_tensor(run["label"], run["batch"], 0, dtype)).item()
    changes = {}
    for name, value in net.state_dict().items():
        if value.dtype != dtype or not value.isfinite().all():
            continue
        change = (value - start[name]).reshape(-1).double().numpy()
        u = 2 * batch_units(7, change.size) - 1
        changes[name] = [float((change * u).sum()), float(np.abs(change * u).sum())]
    return losses, eval_loss, changes


def export(name, model):
    torch.manual_seed(model["seed"])
    net = model["net"]()
    if model.get("finished"):
        unlike_each_other(net)
    path = HERE / f"{name}.onnx"
    if hasattr(net, "graph"):
        return write(net, path, model["opset"])
    if "by_hand" in model:
        onnx.save(model["by_hand"](net), str(path))
        return net
    example = batch_tensor(model["input"], 2, 0, torch.float32)
    finished = model.get("finished", False)
    modes = torch.onnx.TrainingMode
    # Without folding: BatchNormalization stays itself, parameters keep their names.
    torch.onnx.export(
        torch.jit.script(net.train()) if model.get("script") else net.train(not finished), example, str(path),
        opset_version=model.get("opset", 17),
        input_names=["input"], output_names=["logits"],
        dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}}, do_constant_folding=False,
        export_modules_as_functions=model.get("functions", False),
        training=modes.PRESERVE if finished else modes.TRAINING)
    if model.get("functions"):
        name_output(path)
    return net


def write(net, path, opset):
    """A network that says itself which nodes it is of; what `graph` gives back besides parameters are Constants."""
    nodes = []

    def node(op, inputs, output, **attributes):
        if op == "ConstantOfShape":
            attributes["value"] = onnx.helper.make_tensor("value", onnx.TensorProto.INT64, [1], [attributes["value"]])
        nodes.append(onnx.helper.make_node(op, inputs.split(), [output], output, **attributes))

    constants = [onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(t.numpy()))
                 for name, t in net.graph(node).items()]
    ports = [onnx.helper.make_tensor_value_info("input", onnx.TensorProto.INT64, ["N", net.TOKENS])], [
        onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["N", None, net.TOKENS])]
    weights = [onnx.numpy_helper.from_array(t.detach().numpy(), name) for name, t in net.named_parameters()]
    graph = onnx.helper.make_graph(constants + nodes, "decoder", *ports, weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8),
              str(path))
    return net


def name_output(path):
    """The exporter of functions forgets the output's name."""
    file = onnx.load(str(path))
    file.graph.output[0].name = file.graph.node[-1].output[0] = "logits"
    onnx.checker.check_model(file)
    onnx.save(file, str(path))


def main():
    torch.set_num_threads(1)
    nets = {name: export(name, model) for name, model in MODELS.items()}
    for name, run in RUNS.items():
        model, net = MODELS[run["model"]], nets[run["model"]]
        path = HERE / f"{name}.json"
        losses32, _, changes32 = train(net, model, run, torch.float32)
        losses64, eval_loss, changes64 = train(net, model, run, torch.float64)
        record = dict(run, input=model["input"], model=f"{run['model']}.onnx", steps=STEPS,
                      torch=dict(losses32=losses32, losses64=losses64, evalLoss64=eval_loss, changes64=changes64))
        path.write_text(json.dumps(record, indent=1) + "\n")
        worst = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(losses32, losses64))
        drift = max((abs(changes32[k][0] - v[0]) / v[1] for k, v in changes64.items() if v[1] > 0), default=0)
        print(f"{name}: {losses64[0]:.6f} → {losses64[-1]:.6f}, float32 differs by {worst:.1e}, changes by {drift:.1e}")


if __name__ == "__main__":
    sys.exit(main())
