"""Checks that NumPy, Python's csv and json, safetensors, PEFT and onnxruntime read each damaged file that Trainlet
read, with the same numbers: python3 tests/hostile/python_reads.py FOLDER [FOLDER …], each of
`npm run hostile -- --accepted FOLDER`.

Needs numpy, onnxruntime, safetensors, torch and peft of PyPI."""
import csv
import json
import pathlib
import shutil
import sys
import tempfile
import warnings

import numpy
import onnxruntime
import peft
import safetensors
import safetensors.torch
import torch

warnings.simplefilter("ignore")
# Names that CSV takes for labels, and alpha / r of the adapter.
LABELS, SCALING = ("labels", "class", "label"), 4


def told(file):
    """The numbers that Trainlet read, by name."""
    numbers = json.loads(pathlib.Path(f"{file}.numbers").read_text())
    return {name: numpy.array(one["data"], dtype="float64").reshape(one["dims"]) for name, one in numbers.items()}


def same(name, ours, theirs):
    theirs = numpy.asarray(theirs)
    theirs = theirs.reshape(ours.shape) if theirs.size == ours.size else theirs
    with numpy.errstate(all="ignore"):
        cast = theirs.astype("float32" if name == "x" else "float64").astype("float64")
    assert numpy.array_equal(ours, cast, equal_nan=True), f"{name} is {theirs.tolist()}, not {ours.tolist()}"


def array(file):
    scale = 255 if (found := numpy.load(file)).dtype == numpy.uint8 and found.ndim > 1 else 1
    same("x", told(file)["x"], found / scale if scale > 1 else found)


def archive(file):
    found = numpy.load(file)
    for name, ours in told(file).items():
        same(name, ours, found[name])
    for name in found.files:
        found[name]


def indices(values):
    """Names of classes as their places in the alphabet."""
    classes = sorted(set(values), key=lambda name: name.encode("utf-16-be"))
    return [classes.index(value) for value in values]


def table(file):
    ours = told(file)
    text = file.read_text("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    rows = [row for row in csv.reader(text.split("\n"), strict=True) if row and row != [""]]
    names, *rows = [[cell.strip() for cell in row] for row in rows]
    assert all(len(row) == len(names) for row in rows), "rows of other lengths"
    assert len(rows) == len(ours["labels"]), f"{len(rows)} rows"
    numbers = [cell for row in rows for name, cell in zip(names, row) if name.lower() not in LABELS]
    same("x", ours["x"], [float(cell) for cell in numbers])


def lines(file):
    examples = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]
    ours, labels = told(file), [example["labels"] for example in examples]
    same("x", ours["x"], [example["x"] for example in examples])
    same("labels", ours["labels"], indices(labels) if isinstance(labels[0], str) else labels)


class Network(torch.nn.Module):
    """That of tests/golden/data/mlp_small.onnx."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (torch.nn.Linear(*size) for size in ((20, 33), (33, 17), (17, 5)))


def undamaged(suffix):
    """The first file of a kind in the first folder that has one."""
    kinds = ([file for file in files if file.suffix == suffix and str(file.parent) == folder] for folder in folders)
    return min(next(filter(None, kinds)), key=lambda file: int(file.name.split(".")[0]))


def with_peft(tensors, config):
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        shutil.copy(tensors, folder / "adapter_model.safetensors")
        shutil.copy(config, folder / "adapter_config.json")
        model = peft.PeftModel.from_pretrained(Network(), folder)
        layers = [layer for layer in model.base_model.model.children() if hasattr(layer, "scaling")]
        assert layers and all(layer.r["default"] == 2 and layer.scaling["default"] == SCALING for layer in layers)
    finally:
        shutil.rmtree(folder)


def tensors(file):
    for name, tensor in safetensors.deserialize(file.read_bytes()):
        assert tensor["dtype"] in ("F32", "F16", "BF16", "F64"), f"{name} is {tensor['dtype']}"
    found = safetensors.torch.load(file.read_bytes())
    for name, ours in told(file).items():
        theirs = [tensor for key, tensor in found.items() if f".{key}".endswith(f".{name}") or name.endswith(f".{key}")]
        same(name, ours, theirs[0].float().numpy())
    with_peft(file, undamaged(".json"))


def config(file):
    with_peft(undamaged(".safetensors"), file)


def onnx_adapter(file):
    found = onnxruntime.AdapterFormat.read_adapter(str(file)).get_parameters()
    for name, ours in told(file).items():
        same(name, ours, found[name].numpy())


READERS = {".npy": array, ".npz": archive, ".csv": table, ".jsonl": lines, ".safetensors": tensors, ".json": config,
           ".onnx_adapter": onnx_adapter}
folders = [str(pathlib.Path(folder)) for folder in sys.argv[1:]]
files = [file for folder in folders for file in pathlib.Path(folder).iterdir() if file.suffix in READERS]
refused = {}
for file in files:
    try:
        READERS[file.suffix](file)
    except Exception as error:
        refused.setdefault(file.suffix, []).append(f"{file}: {error!r}"[:300])
for suffix, errors in refused.items():
    print(*errors[:40], sep="\n")
for suffix in READERS:
    count = sum(file.suffix == suffix for file in files)
    others = len(refused.get(suffix, []))
    print(f"{suffix}: {count} read by Trainlet, {others} of these refused or read otherwise by Python")
sys.exit(bool(refused))
