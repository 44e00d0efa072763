"""Writes lora/python.onnx_adapter with Python's onnxruntime: the adapter of mlp_small.onnx with r = 2, number i of a
tensor being (i mod 7) / 8 - 0.25.

Run by hand: build/venv/bin/pip install onnxruntime && build/venv/bin/python tests/golden/scripts/make_onnx_adapter.py
"""
from pathlib import Path

import numpy as np
import onnxruntime

SHAPES = {"fc1.lora_A.weight": (2, 20), "fc1.lora_B.weight": (33, 2), "fc2.lora_A.weight": (2, 33),
          "fc2.lora_B.weight": (17, 2)}


def values(shape):
    return ((np.arange(np.prod(shape)) % 7) / 8 - 0.25).astype(np.float32).reshape(shape)


adapter = onnxruntime.AdapterFormat()
adapter.set_adapter_version(3)
adapter.set_model_version(5)
adapter.set_parameters({name: onnxruntime.OrtValue.ortvalue_from_numpy(values(shape))
                        for name, shape in SHAPES.items()})
adapter.export_adapter(str(Path(__file__).resolve().parents[1] / "data" / "lora" / "python.onnx_adapter"))
