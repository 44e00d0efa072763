"""Whether Python's onnxruntime serves an adapter that Trainlet has written as .onnx_adapter, with the model exported
with its adapters as inputs: the logits must be the same to 1e-5, and the parameters are listed as they were written.

Run by hand: node tests/golden/scripts/write_lora.js build/lora && build/venv/bin/pip install onnxruntime &&
build/venv/bin/python tests/golden/scripts/check_onnx_adapter.py build/lora
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime


def check(folder):
    feeds = {name: np.array(one["data"], dtype=one["type"]).reshape(one["dims"])
             for name, one in json.loads((folder / "feeds.json").read_text()).items()}
    wanted = np.array(json.loads((folder / "logits.json").read_text()), dtype=np.float32)
    path = str(folder / "adapter.onnx_adapter")
    read = onnxruntime.AdapterFormat.read_adapter(path).get_parameters()
    session = onnxruntime.InferenceSession(str(folder / "inputs.onnx"), providers=["CPUExecutionProvider"])
    inputs = {one.name: one.shape for one in session.get_inputs() if one.name not in feeds}
    assert {name: value.shape() for name, value in read.items()} == inputs, "the model's inputs are the parameters"
    adapter = onnxruntime.LoraAdapter()
    adapter.Load(path)
    options = onnxruntime.RunOptions()
    options.add_active_adapter(adapter)
    ways = [session.run(["logits"], {**feeds, **{name: value.numpy() for name, value in read.items()}}),
            session._sess.run(["logits"], feeds,
                              options)]  # its wrapper wants every input that is not optional as a feed
    return max(np.abs(got[0].reshape(-1) - wanted).max() for got in ways), len(read)


far = {path.parent.name: check(path.parent) for path in sorted(Path(sys.argv[1]).glob("*/adapter.onnx_adapter"))}
for name, (most, count) in far.items():
    print(f"{name}: {count} parameters, logits differ by {most:.1e} at most")
sys.exit(1 if not far or max(most for most, _ in far.values()) > 1e-5 else 0)
