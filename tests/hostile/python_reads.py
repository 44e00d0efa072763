"""Whether NumPy, safetensors and onnxruntime read each damaged file that Trainlet read, too:
python3 tests/hostile/python_reads.py FOLDER [FOLDER …], each of `npm run hostile -- --accepted FOLDER`."""
import json
import pathlib
import sys
import warnings

import numpy
import onnxruntime
import safetensors

warnings.simplefilter("ignore")


def arrays(file):
    found = numpy.load(file)
    if file.suffix == ".npz":
        for name in found.files:
            found[name]


def tensors(file):
    for name, tensor in safetensors.deserialize(file.read_bytes()):
        assert tensor["dtype"] in ("F32", "F16", "BF16", "F64"), f"{name} is {tensor['dtype']}"


def config(file):
    found = json.loads(file.read_text("utf-8"))
    assert isinstance(found, dict) and found["peft_type"] == "LORA" and found["r"] > 0


READERS = {".npy": arrays, ".npz": arrays, ".safetensors": tensors, ".json": config,
           ".onnx_adapter": lambda file: onnxruntime.AdapterFormat.read_adapter(str(file)).get_parameters()}
files = [file for folder in sys.argv[1:] for file in pathlib.Path(folder).iterdir() if file.suffix in READERS]
refused = {}
for file in files:
    try:
        READERS[file.suffix](file)
    except Exception as error:
        refused.setdefault(file.suffix, []).append(f"{file}: {error!r}"[:300])
for suffix, lines in refused.items():
    print(*lines[:40], sep="\n")
for suffix in READERS:
    count = sum(file.suffix == suffix for file in files)
    print(f"{suffix}: {count} read by Trainlet, {len(refused.get(suffix, []))} of these refused by Python")
sys.exit(bool(refused))
