"""Models of the zoo of which ONNX Runtime's own tool makes the training artifacts (artifacts.py)."""

import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

from . import note

# Its gradients lack LayerNormalization as PyTorch exports it, ConvTranspose, HardSwish and others
BASES = ["Tutorial CNN", "Tutorial CNN, script", "SqueezeNet 1.1", "TCN with weight norm", "Policy and value",
         "Keras: MLP", "Keras: CNN", "Keras: signals by Conv1D", "Keras: residual blocks", "Keras: MobileNet"]
TESTS = pathlib.Path(__file__).resolve().parent.parent
TOOL = TESTS.parent.parent / "build/models-ort"  # onnxruntime-training-cpu, which is not beside onnxruntime


@dataclass
class Artifacts:
    base: str

    def make(self, _name, folder):
        if not TOOL.exists():
            raise FileNotFoundError("onnxruntime-training-cpu is for Python 3.8 to 3.11")
        environment = {**os.environ, "PYTHONPATH": f"{TOOL}:{TESTS}"}
        command = [sys.executable, "-B", str(TESTS / "artifacts.py"), folder.parent / note.slug(self.base), folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1][-300:])


MODELS = {f"{base}, ONNX Runtime's artifacts": Artifacts(base) for base in BASES}
