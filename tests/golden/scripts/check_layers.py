"""Checks the networks of layers.json: onnx.checker with shape inference, and Keras' outputs in onnxruntime.

Run by hand: build/models-venv/bin/python tests/golden/scripts/check_layers.py
"""
import base64
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from make_metrics import units

HERE = Path(__file__).resolve().parent
golden = json.loads((HERE.parent / "data" / "layers.json").read_text())

with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["node", HERE / "write_layers.js", folder], check=True)
    for name, case in golden["cases"].items():
        file = Path(folder) / f"{name}.onnx"
        model = onnx.load(file)
        onnx.checker.check_model(model, full_check=True)
        session = onnxruntime.InferenceSession(file)
        feeds = {}
        for value, spec in zip(session.get_inputs(), case["inputs"]):
            count = int(np.prod(spec["shape"]))
            data = (spec["low"] + (spec["high"] - spec["low"]) * units(spec["seed"], count)).reshape(spec["shape"])
            feeds[value.name] = data.astype(np.int32 if "int32" in value.type else np.float32)
        (output,) = session.run(None, feeds)
        expected = np.frombuffer(base64.b64decode(case["output"]), dtype="<f4").reshape(case["shape"])
        assert np.abs(output - expected).max() < 1e-5, name
    print(f"{len(golden['cases'])} networks pass")
