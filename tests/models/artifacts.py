"""Makes ONNX Runtime's training artifacts of a model of the zoo by its own tool, and notes what its own API learns.

  artifacts.py BASE FOLDER    in an environment in which onnxruntime is onnxruntime-training-cpu
"""

import json
import pathlib
import shutil
import sys

import numpy as np
import onnx

from onnxruntime.training import artifacts
from onnxruntime.training.api import CheckpointState, Module, Optimizer

from zoo.note import STEPS, unpacked

NEWEST_IR, NEWEST_OPSET = 10, 21  # that ONNX Runtime 1.19 reads; its tool writes what the onnx package has


def parameters(model):
    return [t.name for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT and np.prod(t.dims) > 1]


def age(file):
    model = onnx.load(file)
    model.ir_version = min(model.ir_version, NEWEST_IR)
    for opset in model.opset_import:
        opset.version = min(opset.version, NEWEST_OPSET) if opset.domain in ("", "ai.onnx") else opset.version
    onnx.save_model(model, file)


def losses(folder, noted):
    state = CheckpointState.load_checkpoint(str(folder / "checkpoint"))
    module = Module(str(folder / "training_model.onnx"), state, str(folder / "eval_model.onnx"))
    optimizer = Optimizer(str(folder / "optimizer_model.onnx"), module)
    optimizer.set_learning_rate(noted["optimizer"]["lr"])
    feeds = [unpacked(one) for one in [*noted["inputs"].values(), noted["target"]]]
    module.train()
    for _ in range(STEPS):
        yield float(module(*feeds))
        optimizer.step()
        module.lazy_reset_grad()


def main():
    base, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    noted = json.loads((base / "case.json").read_text())
    model = onnx.load(base / "model.onnx")
    loss = artifacts.LossType.MSELoss if noted["loss"] == "mse" else artifacts.LossType.CrossEntropyLoss
    rule = artifacts.OptimType.SGD if noted["optimizer"]["type"] == "sgd" else artifacts.OptimType.AdamW
    artifacts.generate_artifacts(model, requires_grad=parameters(model), loss=loss, optimizer=rule,
                                 artifact_directory=str(folder))
    for name in ("training", "eval", "optimizer"):
        age(folder / f"{name}_model.onnx")
    shutil.copy(base / "model.onnx", folder / "model.onnx")
    noted |= {"name": noted["name"] + ", ONNX Runtime's artifacts", "exporter": "onnxruntime-training 1.19.2",
              "losses": list(losses(folder, noted)), "after": None, "predicts": [model.graph.output[0].name]}
    (folder / "case.json").write_text(json.dumps(noted))


main()
