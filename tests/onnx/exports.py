"""Exported models of ONNX's node cases: exports.py make FOLDER writes the cases at every opset that has them,
exports.py check FOLDER judges what exports.js has made of these (onnx.checker, and onnxruntime beside the case)."""

import base64
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test import loader
from onnx.reference import ReferenceEvaluator

OLDEST, NEWEST = 7, 25  # opsets that onnxruntime runs
IR = 10
TYPES = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16"} | {
    getattr(TensorProto, name.upper()): name
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
}
RANDOM = {"Dropout", "Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
          "Multinomial"}
TRAINING = {"AveragePoolGrad", "MaxPoolGrad", "ResizeGrad", "SimplifiedLayerNormalization"}
MOST_BYTES = 1 << 20


def text(data):
    return base64.b64encode(data).decode()


def at_opset(model, opset):
    """The model as one of another opset, or None where it is none."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    for entry in other.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = opset
    other.ir_version = min(IR, other.ir_version) if opset < 21 else IR
    try:
        onnx.checker.check_model(other, full_check=True)
    except Exception:
        return None
    return other


def with_weight(model):
    """The model beside a weight that trains."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    graph = other.graph
    graph.initializer.append(helper.make_tensor("a weight", TensorProto.FLOAT, [1], [1.0]))
    graph.input.append(helper.make_tensor_value_info("a number", TensorProto.FLOAT, [1]))
    graph.node.append(helper.make_node("Mul", ["a number", "a weight"], ["a product"]))
    graph.output.append(helper.make_tensor_value_info("a product", TensorProto.FLOAT, [1]))
    return other


def learning(model):
    """The model with a weight added to its first float32 input; None where it has none."""
    first = next((i.name for i in model.graph.input if i.type.tensor_type.elem_type == TensorProto.FLOAT), None)
    if first is None or model.graph.output[0].type.tensor_type.elem_type != TensorProto.FLOAT:
        return None
    other = onnx.ModelProto()
    other.CopyFrom(model)
    graph = other.graph
    for node in graph.node:
        node.input[:] = ["a sum" if name == first else name for name in node.input]
    graph.node.insert(0, helper.make_node("Add", [first, "a weight"], ["a sum"]))
    graph.initializer.append(helper.make_tensor("a weight", TensorProto.FLOAT, [], [1.0]))
    return other


def opset_of(model):
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)


def since(node, opset):
    try:
        return onnx.defs.get_schema(node.op_type, opset, node.domain).since_version
    except Exception:
        return None


def opsets_of(case, own):
    """Its own; with one operator, also every other from 13 on, and of those before one for each of its meanings."""
    if len(case.model.graph.node) > 1 or "_expanded" in case.name:
        return [own]
    node = case.model.graph.node[0]
    chosen = {}
    for opset in range(OLDEST, NEWEST + 1):
        chosen.setdefault(opset if opset >= 13 else (since(node, opset),), opset)
    return sorted({own, *chosen.values()})


def tensors_of(case):
    """Inputs as exports.js reads them; None where one is no tensor of plain numbers."""
    values = []
    for info, value in zip(case.model.graph.input, case.data_sets[0][0]):
        kind = info.type.tensor_type.elem_type
        if kind not in TYPES or not isinstance(value, (np.ndarray, np.generic)):
            return None
        value = np.asarray(value)
        if value.nbytes > MOST_BYTES:
            return None
        values.append({"name": info.name, "type": TYPES[kind], "dims": list(np.shape(value)),
                       "data": text(value.tobytes())})
    return values


def make(folder):
    folder.mkdir(parents=True)
    skipped, count = 0, 0
    for case in loader.load_node_model_tests():
        own = opset_of(case.model)
        inputs = tensors_of(case) if case.data_sets and own else None
        if inputs is None or own > NEWEST or len(case.model.graph.input) != len(case.data_sets[0][0]):
            skipped += 1
            continue
        models, learns = {}, {}
        for opset in opsets_of(case, own):
            other = at_opset(case.model, opset)
            if not other:
                continue
            models[opset] = text(with_weight(other).SerializeToString())
            if learner := learning(other):
                learns[opset] = text(learner.SerializeToString())
        count += len(models)
        outputs = [info.name for info in case.model.graph.output]
        note = {"own": own, "inputs": inputs, "outputs": outputs, "models": models, "learns": learns}
        (folder / f"{case.name}.json").write_text(json.dumps(note))
    print(f"{count} models of {len(list(folder.iterdir()))} cases; {skipped} cases are not of plain tensors, or newer")


def shape_of_graph(model):
    """What it computes, names aside."""
    names = {}
    number = lambda name: name and names.setdefault(name, len(names))  # noqa: E731
    return [
        (n.domain, n.op_type, [number(i) for i in n.input], [number(o) for o in n.output],
         sorted(a.SerializeToString() for a in n.attribute))
        for n in model.graph.node if n.op_type != "Constant"
    ]


def run_ort(model, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {i.name: feeds[i.name] for i in session.get_inputs()}
    return session.run(None, given)


def wanted_of(case, original, feeds, opset, own):
    """What the case gives at that opset: by onnxruntime, ONNX's own numbers, or its reference."""
    try:
        yield run_ort(original, feeds)
    except Exception:
        pass
    node = case.model.graph.node[0]
    if opset == own or since(node, opset) == since(node, own):
        yield case.data_sets[0][1]
    yield ReferenceEvaluator(original).run(None, feeds)


def same(a, b, rtol):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    rough = max(rtol, 1e-3) if a.dtype.itemsize > 2 else 2e-2
    return np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=rough, atol=1e-5, equal_nan=True)


def fault_of(model):
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return str(error).strip().splitlines()[0][:200]
    return None


def set_aside(model):
    """Operators that only training has, which ONNX Runtime calls those of ai.onnx, and recurrent layers that keep what
    their gradients read, go to a domain that the checker does not know."""
    for node in model.graph.node:
        most = {"RNN": 2, "GRU": 2, "LSTM": 3}.get(node.op_type, len(node.output))
        if not node.domain and (node.op_type in TRAINING or len(node.output) > most):
            node.domain = "com.trainlet"
    model.opset_import.append(helper.make_opsetid("com.trainlet", 1))
    return model


def judge_training(made):
    if "error" in made:
        return "no training model", ""
    fault = fault_of(set_aside(onnx.load_from_string(base64.b64decode(made["model"]))))
    return ("invalid training model", fault) if fault else ("training model", "")


def judge(case, opset, own, made, feeds):
    """(kind, sentence) of an export."""
    model = onnx.load_from_string(base64.b64decode(made))
    if fault := fault_of(model):
        return "invalid", fault
    original = at_opset(case.model, opset)
    if shape_of_graph(model) == shape_of_graph(original) and opset_of(model) == opset:
        return "the node itself", ""
    if {n.op_type for n in original.graph.node} & RANDOM:
        return "random", ""
    try:
        got = run_ort(model, feeds)
    except Exception as error:
        try:
            got = ReferenceEvaluator(model).run(None, feeds)
        except Exception:
            return "not run", str(error).splitlines()[0][:200]
    for wanted in wanted_of(case, original, feeds, opset, own):
        if all(same(a, b, case.rtol) for a, b in zip(got, wanted)):
            return "equal", ""
    return "different", ", ".join(n.op_type for n in model.graph.node)[:200]


FAULTS = ("invalid", "different", "not run", "refused", "invalid training model")


def check(folder):
    cases = {case.name: case for case in loader.load_node_model_tests()}
    found, lines = Counter(), []
    for path in sorted(folder.glob("*.out")):
        case = cases[path.stem]
        note, out = json.loads(path.with_suffix(".json").read_text()), json.loads(path.read_text())
        feeds = {i.name: np.asarray(v) for i, v in zip(case.model.graph.input, case.data_sets[0][0])}
        judged = [(opset, ("refused", made["error"]) if "error" in made else
                   judge(case, int(opset), note["own"], made["model"], feeds)) for opset, made in out["models"].items()]
        judged += [(opset, judge_training(made)) for opset, made in out["learns"].items()]
        for opset, (kind, sentence) in judged:
            found[kind] += 1
            if kind in FAULTS:
                lines.append({"kind": kind, "case": path.stem, "opset": int(opset), "sentence": sentence})
    print(json.dumps({"found": found, "lines": lines}))


{"make": make, "check": check}[sys.argv[1]](Path(sys.argv[2]))
