"""Makes conv_dynamo.onnx: Conv, BatchNormalization and Relu as PyTorch's exporter by dynamo writes them by default.

It needs a PyTorch newer than Debian's, from PyPI:
  python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript
  build/venv/bin/python tests/golden/scripts/make_dynamo.py
"""

import pathlib

import onnx
import torch

FILE = pathlib.Path(__file__).resolve().parents[1] / "data" / "conv_dynamo.onnx"
# The exporter notes with each node the lines of Python it comes from, with this machine's folders.
OF_THE_MACHINE = "pkg.torch.onnx.stack_trace"


def main():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, bias=False), torch.nn.BatchNorm2d(2), torch.nn.ReLU(),
                              torch.nn.Flatten(), torch.nn.Linear(18, 3))
    torch.onnx.export(net.train(), (torch.zeros(2, 1, 5, 5),), str(FILE), external_data=False, input_names=["x"],
                      output_names=["y"])
    model = onnx.load(FILE)
    for value in [*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output]:
        kept = [entry for entry in value.metadata_props if entry.key != OF_THE_MACHINE]
        del value.metadata_props[:]
        value.metadata_props.extend(kept)
    onnx.save(model, FILE)


main()
