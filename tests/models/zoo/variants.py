"""Models of the zoo made smaller by ONNX Runtime's quantizer, dynamic and static, and with weights of float16."""

import json
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnxconverter_common.float16 import convert_float_to_float16
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from . import note

BASES = ["Tutorial CNN", "MobileNetV3 small", "ViT", "U-Net", "VAE of pictures", "LSTM, two layers both ways",
         "Sensors: CNN and LSTM", "nn.TransformerEncoder", "Table with an embedding", "BERT, classifier", "GPT-2",
         "Keras: CNN"]


class Once(CalibrationDataReader):
    """Calibrates with the example."""

    def __init__(self, feeds):
        self.left = [feeds]

    def get_next(self):
        return self.left.pop() if self.left else None


def dynamic(source, target, feeds):
    quantize_dynamic(source, target)


def static(source, target, feeds):
    quantize_static(source, target, Once(feeds))


def halved(source, target, feeds):
    onnx.save_model(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def has_weights(model):
    """Whether weights of float32 are left, as an LSTM's, which are not quantized."""
    return any(t.data_type == onnx.TensorProto.FLOAT and len(t.dims) > 1 for t in model.graph.initializer)


@dataclass
class Variant:
    """
    `base` by `way`; its answers are those of onnxruntime. The losses of float16 are those of the base, rounded; those
    of int8 are to fall: a rounded network has no autograd.
    """

    base: str
    way: object
    exporter: str
    within: float
    untrained: str

    def make(self, name, folder):
        base = folder.parent / note.slug(self.base)
        noted = json.loads((base / "case.json").read_text())
        feeds = {k: note.unpacked(v) for k, v in noted["inputs"].items()}
        prepared, made = folder / "prepared.onnx", folder / "model.onnx"
        folder.mkdir(parents=True, exist_ok=True)
        quant_pre_process(str(base / "model.onnx"), str(prepared), skip_symbolic_shape=True)
        self.way(str(prepared), str(made), feeds)
        prepared.unlink()
        options = onnxruntime.SessionOptions()  # as the file says: its optimizations change ViT's answers by a tenth
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(made), options, providers=["CPUExecutionProvider"])
        answers = session.run(None, feeds)
        losses = noted["losses"] if self.way is halved else None
        noted |= {"name": name, "exporter": self.exporter, "opset": note.opsets(onnx.load(made)), "within": self.within,
                  "output": note.packed(np.asarray(answers[0])), "losses": losses, "after": None,
                  "untrained": "" if has_weights(onnx.load(made)) else self.untrained}
        (folder / "case.json").write_text(json.dumps(noted))


# A last bit of an activation may round it to the next of 256
WAYS = {"int8, dynamic": (dynamic, "quantize_dynamic", 0.05, ""),
        "int8, static": (static, "quantize_static", 0.05, "does not train: all of its weights are int8"),
        "float16": (halved, "onnxconverter-common", 0.01, "")}
MODELS = {f"{base}, {how}": Variant(base, *way) for base in BASES for how, way in WAYS.items()}
