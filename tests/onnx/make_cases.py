"""Writes every backend case of the installed onnx package, as files: make_cases.py FOLDER."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.case import model as model_cases
from onnx.backend.test.runner import Runner

USUAL = (1e-3, 1e-7)  # the tolerances that data.json need not tell


def value_bytes(value, info):
    """What a .pb file holds of an input or output."""
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name).SerializeToString()
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name).SerializeToString()
    if info.type.HasField("map_type"):
        return numpy_helper.from_dict(value, info.name).SerializeToString()
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString()
    return numpy_helper.from_array(np.asarray(value), info.name).SerializeToString()


def write_case(folder, model, data_sets, tolerances):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    if tolerances != USUAL:
        (folder / "data.json").write_text(json.dumps(dict(zip(("rtol", "atol"), tolerances))))
    for number, (inputs, outputs) in enumerate(data_sets):
        files = folder / f"test_data_set_{number}"
        files.mkdir()
        for kind, values, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
            for i, (value, info) in enumerate(zip(values, infos)):
                (files / f"{kind}_{i}.pb").write_bytes(value_bytes(value, info))


def made_cases():
    """Those that the package computes."""
    for case in loader.load_node_model_tests() + model_cases.collect_testcases():
        if case.kind != "real":
            yield case.kind, case


def copy_folder(case, folder):
    """A case that the package has as files: some of PyTorch's operators."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for file in Path(case.model_dir).rglob("*"):
        if file.suffix in (".onnx", ".pb"):
            to = folder / file.relative_to(case.model_dir)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(file.read_bytes())


def write_light(root, out):
    """Whole networks with weights that are all alike: their inputs are the runner's, made of the model's."""
    for path in sorted((root / "light").glob("*.onnx")):
        model = onnx.load(path)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [Runner.generate_dummy_data(info) for info in model.graph.input if info.name not in constants]
        wanted = onnx.load_tensor(path.with_name(path.stem + "_output_0.pb"))
        write_case(out / "light" / path.stem, model, [(inputs, [wanted])], USUAL)


def main(out):
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    count = 0
    for kind, case in made_cases():
        write_case(out / kind / case.name, case.model, case.data_sets, (case.rtol, case.atol))
        count += 1
    for kind in ("pytorch-converted", "pytorch-operator"):
        for case in loader.load_model_tests(kind=kind):
            copy_folder(case, out / kind / case.name)
            count += 1
    write_light(Path(loader.DATA_DIR), out)
    print(f"{count} cases of onnx {onnx.__version__}, and {len(list((out / 'light').iterdir()))} light networks")


main(Path(sys.argv[1]))
