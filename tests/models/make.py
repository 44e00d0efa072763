"""Exports the models of the zoo as their frameworks do by default, and notes what the frameworks themselves compute.

  make.py FOLDER [NAME...]    a folder a model: model.onnx, and case.json with inputs, outputs and losses
  make.py --list              names, one a line
"""

import copy
import json
import pathlib
import sys
import time
import traceback
import warnings

import onnx
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from zoo import (backbones, classic, flax_, graphs, hub, keras3, keras_layers, language, runtime, sequences, speech,
                 tables, variants, vision)
from zoo.case import Taking
from zoo.note import STEPS, opsets, packed, slug, with_best_rate

KINDS = {"PyTorch: pictures": vision.MODELS, "timm and torchvision: more pictures": backbones.MODELS,
         "PyTorch: signals, tables and others": sequences.MODELS, "Tables, users and items": tables.MODELS,
         "Graphs, by PyTorch Geometric": graphs.MODELS, "Sounds": speech.MODELS,
         "transformers and diffusers": language.MODELS, "More of transformers": hub.MODELS,
         "JAX, by flax": flax_.MODELS, "Keras 3": keras3.MODELS, "More layers of Keras 3": keras_layers.MODELS,
         "scikit-learn, LightGBM and XGBoost": classic.MODELS, "Quantized and halved": variants.MODELS,
         "ONNX Runtime's artifacts": runtime.MODELS}


def settle(net, inputs):
    """Weights as of a network that has learned something: no zeros and ones that are equal, statistics of a batch."""
    for parameter in net.parameters():
        if parameter.is_floating_point() and (parameter.dim() < 2 or parameter.std() == 0):
            parameter.data += 0.02 * torch.randn_like(parameter)
    if isinstance(net, keras3.keras.Model):
        return keras3.settle(net)
    norms = [m for m in net.modules() if isinstance(m, NORMS)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
    with torch.no_grad():
        for _ in range(2 if norms else 0):
            net.train()(*inputs)
    for norm in norms:
        norm.momentum = 0.1


def export(case, net, inputs, file):
    net.train(case.training)
    if case.exporter.startswith("keras"):
        keras3.export(net, inputs, file, case.exporter)
    elif case.exporter == "dynamo":
        free = tuple({0: "batch"} for _ in inputs)
        shapes = (free,) if isinstance(net, Taking) else free  # those of *inputs are one argument
        torch.onnx.export(net, inputs, str(file), verbose=False, optimize=case.optimize,
                          dynamic_shapes=shapes if case.free else None)
    else:
        mode = torch.onnx.TrainingMode.TRAINING if case.training else torch.onnx.TrainingMode.EVAL
        more = {"do_constant_folding": False} if case.training else {}
        torch.onnx.export(net, inputs, str(file), dynamo=False, training=mode, **more)


def labels_of(case, output):
    """A class for each place that has scores."""
    classes = output.shape[case.axis]
    shape = [d for i, d in enumerate(output.shape) if i != case.axis % output.dim()]
    return torch.randint(0, classes, shape)


def loss_of(case, output, target):
    if case.loss == "mse":
        return F.mse_loss(output, target)
    return F.cross_entropy(output.movedim(case.axis, 1) if output.dim() > 2 else output, target)


NORMS = (nn.modules.batchnorm._BatchNorm,)
LAYERS = (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d, nn.Linear)


def folded(net, inputs, kept):
    """The network with each BatchNorm folded that comes right after a layer, but those that the file has kept."""
    kept = [net.get_submodule(name) for name in kept]
    made_by, pairs = {}, []
    hooks = [m.register_forward_hook(lambda m, _, y: made_by.update({id(y): (m, y)})) for m in net.modules()
             if isinstance(m, LAYERS)]
    hooks += [m.register_forward_pre_hook(lambda m, x: pairs.append((made_by.get(id(x[0]), (None,))[0], m)))
              for m in net.modules() if isinstance(m, NORMS)]
    with torch.no_grad():
        net.eval()(*inputs)
    for hook in hooks:
        hook.remove()
    for layer, norm in pairs:
        if layer is not None and norm not in kept:
            one = (fuse_linear_bn_eval(layer, norm) if isinstance(layer, nn.Linear) else
                   fuse_conv_bn_eval(layer, norm, isinstance(layer, nn.ConvTranspose2d)))
            replace(net, layer, one)
            replace(net, norm, getattr(norm, "act", nn.Identity()))  # timm's have their activation within
    return net


def replace(net, old, new):
    for module in net.modules():
        for name, child in module.named_children():
            if child is old:
                setattr(module, name, new)


def twin_of(case, net, model, inputs):
    """What the file says, in PyTorch: BatchNorms that the exporter folded are folded, the others learn."""
    if isinstance(net, keras3.keras.Model):
        return keras3.twin(net)
    for module in net.modules():
        if hasattr(module, "inplace"):
            module.inplace = False  # behind a folded BatchNorm it would change what the gradient reads
        if isinstance(module, nn.modules.dropout._DropoutNd) and not case.training:
            module.p = 0.0  # the file has none
    left = [node.input[1].rpartition(".")[0] for node in model.graph.node if node.op_type == "BatchNormalization"]
    norms = sum(isinstance(m, NORMS) for m in net.modules())
    twin = copy.deepcopy(net)
    twin = folded(twin, inputs, left) if len(left) < norms else twin
    still = {name for name, parameter in net.named_parameters() if not parameter.requires_grad}
    for name, parameter in twin.named_parameters():
        parameter.requires_grad_(name not in still)  # also biases that folding made
    return twin.train()


def called(net, inputs):
    """Keras takes several inputs as a list."""
    return net(list(inputs)) if isinstance(net, keras3.keras.Model) and len(inputs) > 1 else net(*inputs)


def steps(case, twin, inputs, target, lr):
    """Losses of some steps, and the output in evaluation after them."""
    rule = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[case.optimizer]
    optimizer, losses = rule(twin.parameters(), lr=lr), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(case, called(twin, inputs), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, called(twin.eval(), inputs)


def nudged(net):
    """A copy with a millionth more or less in each weight, about as far as roundings take a sum."""
    net = copy.deepcopy(net)
    with torch.no_grad():
        for weight in filter(torch.is_floating_point, net.parameters()):
            weight *= 1 + 1e-6 * torch.randn_like(weight).sign()
    return net.train()


def make(name, case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    net = case.build()
    inputs = case.inputs(case.batch)
    settle(net, inputs)
    export(case, net, inputs, folder / "model.onnx")
    model = onnx.load(folder / "model.onnx")
    onnx.save_model(model, folder / "model.onnx")  # weights beside it, as dynamo writes them, go into it
    (folder / "model.onnx.data").unlink(missing_ok=True)
    with torch.no_grad():
        # an inference session takes a file in training mode as one in evaluation, too
        output = called(net.eval(), inputs)
    target = torch.randn_like(output) if case.loss == "mse" else labels_of(case, output)
    twin = twin_of(case, net, model, inputs)
    lr, losses, after, unsteady = with_best_rate(
        lambda lr: steps(case, copy.deepcopy(twin).train(), inputs, target, lr),
        lambda lr: steps(case, nudged(twin), inputs, target, lr)[0])
    fed = [value.name for value in model.graph.input]
    by_name = dict(zip(fed, inputs)) if len(fed) == len(inputs) else None
    if by_name is None:
        raise ValueError(f"the file has the inputs {fed} for {len(inputs)} tensors")
    note = {"name": name, "exporter": case.exporter, "training": case.training, "loss": case.loss, "axis": case.axis,
            "optimizer": {"type": case.optimizer, "lr": lr}, "opset": opsets(model),
            "inputs": {k: packed(v) for k, v in by_name.items()}, "output": packed(output), "target": packed(target),
            "losses": losses, "unsteady": unsteady, "after": packed(after),
            "frozen": case.frozen if case.free else ()}
    (folder / "case.json").write_text(json.dumps(note))


ALL = {name: case for models in KINDS.values() for name, case in models.items()}


def cause(error):
    """The first line of what an exporter's errors began with."""
    while error.__cause__:
        error = error.__cause__
    return f"{type(error).__name__}: {str(error).strip()[:300]}".splitlines()[0]


def tell(name, folder):
    """Makes one and says so; what it is made of is made first."""
    case, started = ALL[name], time.time()
    base = getattr(case, "base", None)
    if base and not (folder.parent / slug(base) / "case.json").exists():
        tell(base, folder.parent / slug(base))
    try:
        case.make(name, folder) if hasattr(case, "make") else make(name, case, folder)
        (folder / "error.txt").unlink(missing_ok=True)
        print(f"{name}: {time.time() - started:.1f} s", flush=True)
    except Exception as error:  # told on the page
        folder.mkdir(parents=True, exist_ok=True)
        short = cause(error)
        (folder / "error.txt").write_text(f"{traceback.format_exc()}\n{short}\n")
        print(f"{name}: {short}", flush=True)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if sys.argv[1:] == ["--list"]:
        print(json.dumps({kind: {name: slug(name) for name in models} for kind, models in KINDS.items()}))
        return
    folder, names = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    for name in ALL:
        if not names or slug(name) in names:
            tell(name, folder / slug(name))

main()
