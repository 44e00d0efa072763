"""Prints rows of js/formats/ort-operators.js: by what ONNX Runtime finds its kernels. Run by hand, first where
onnxruntime is, then where onnxruntime-training 1.19.2 is, which tells of the operators that only it has:

    build/test/test_harness --dump cases.json
    python3 tests/golden/scripts/make_ort_operators.py cases.json > inference.txt
    python3 tests/golden/scripts/make_ort_operators.py cases.json inference.txt > training.txt

onnxruntime knows its operators' schemas. onnxruntime-training does not tell them: it writes a model of each operator in
its own format, whose resolver and nodes show the same.
"""
import json
import re
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import AttributeProto, TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as native
from onnxruntime.tools import ort_format_model

sys.path.append(str(Path(ort_format_model.__file__).parent))
import ort_flatbuffers_py.fbs as fbs  # noqa: E402

OPSET_MIN, OPSET_MAX = 13, 24  # of what Trainlet writes
DOMAINS = ("", "com.microsoft")
NAMES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64,
         "int32": TensorProto.INT32,
         "bool": TensorProto.BOOL, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8}
# Operators that the harness has no case for, or none that ONNX Runtime takes: inputs, attributes, outputs.
WITHOUT_CASE = [
    ("", "MaxPoolGrad", 9, ["f[1,1,2,2]", "i[1,1,2,2]"], {"kernel_shape": [2, 2]}, ["f[1,1,4,4]"]),
    ("", "AveragePoolGrad", 9, ["f[1,1,2,2]"], {"kernel_shape": [2, 2]}, ["f[1,1,4,4]"]),
    ("com.microsoft", "BatchNormalizationGrad", 1, ["f[2,3,4]", "f[2,3,4]", "f[3]", "f[3]", "f[3]"], {"epsilon": 1e-5},
     ["f[2,3,4]", "f[3]", "f[3]"]),
    ("com.microsoft", "AdamWOptimizer", 1, ["f[1]", "i[1]", "s", "s", "s", "s"], {}, ["b[1]"]),
    ("com.microsoft", "SGDOptimizerV2", 1, ["f[1]", "s", "s"], {}, ["b[1]"]),
    ("com.microsoft", "InplaceClipGradNorm", 1, ["s"], {}, ["s"]),
]


def is_written(domain, name):
    """Operators that are made of others are in no file of ours, only those others."""
    for file in Path("src/ops").glob("*/*.c"):
        text = file.read_text()
        found = f'.name = "{name}"' in text and (f'.domain = "{domain}"' in text) == (domain != "")
        if found and (".compose =" not in text or ".composes =" in text):
            return True
    return (domain, name) in {(row[0], row[1]) for row in WITHOUT_CASE}


def text_of(value):
    if isinstance(value, float):
        return str(np.float32(value))
    if isinstance(value, (list, tuple)):
        return f"[{';'.join(text_of(entry) for entry in value)}]"
    return value.decode() if isinstance(value, bytes) else str(value)


def row(versions, name, signature, defaults):
    given = ", ".join(f"{key}={text_of(value)}" for key, value in sorted(defaults.items()))
    return signature, f"{name}@{','.join(map(str, versions))}{f'({given})' if given else ''}"


# ── from schemas ──

def signature_of(schema):
    constraints = {entry.type_param_str for entry in schema.type_constraints}
    variadic = lambda formal: "*" if "Variadic" in str(formal.option) else ""
    names = lambda formals, mark: ",".join(
        (formal.typeStr if formal.typeStr in constraints else formal.name) + (variadic(formal) if mark else "")
        for formal in formals)
    return f"{names(schema.inputs, True)}>{names(schema.outputs, False)}"


def defaults_of(schema):
    found = {}
    for name, attribute in schema.attributes.items():
        proto = AttributeProto.FromString(attribute._default_value)
        if proto.type:
            found[name] = helper.get_attribute_value(proto)
    return found


def kernel_versions():
    kernels = {}
    for kernel in native.get_all_opkernel_def():
        kernels.setdefault((kernel.domain, kernel.op_name), []).append(kernel.version_range)
    return kernels


def is_run(ranges, version):
    """As the runtime compares: a kernel without a last version is only of its first."""
    return any(low == version or (high < 2**31 - 1 and low <= version <= high) for low, high in ranges)


def from_schemas(wanted):
    kernels = kernel_versions()
    schemas = {}
    for schema in native.get_all_operator_schema():
        if (schema.domain, schema.name) in wanted and not (schema.domain == "" and schema.since_version > OPSET_MAX):
            schemas.setdefault((schema.domain, schema.name), []).append(schema)
    for (domain, name), versions in sorted(schemas.items()):
        versions.sort(key=lambda schema: schema.since_version)
        newest_old = max((i for i, schema in enumerate(versions) if schema.since_version <= OPSET_MIN), default=0)
        versions = versions[newest_old:] if domain == "" else versions[-1:]
        if not any(is_run(kernels.get((domain, name), []), schema.since_version) for schema in versions):
            continue
        same = {}
        for schema in versions:
            runs = is_run(kernels[domain, name], schema.since_version)
            key = (signature_of(schema), tuple(sorted((k, text_of(v))
                                                      for k, v in defaults_of(schema).items()))) if runs else ("-", ())
            same.setdefault(key, []).append(schema.since_version)
        for (signature, defaults), since in same.items():
            yield domain, row(since, name, signature, dict(defaults))


# ── from what it writes ──

def converted(model):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/one.ort"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.optimized_model_filepath = path
        options.log_severity_level = 4
        options.add_session_config_entry("session.save_model_format", "ORT")
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return fbs.InferenceSession.InferenceSession.GetRootAs(Path(path).read_bytes(), 0)


def read_row(session, name, given):
    graph = session.Model().Graph()
    nodes = [graph.Nodes(i) for i in range(graph.NodesLength())]
    node = next(node for node in nodes if node.OpType().decode() == name)
    op_id = f"{node.Domain().decode()}:{name}:{node.SinceVersion()}"
    resolver = session.KernelTypeStrResolver()
    entries = [resolver.OpKernelTypeStrArgs(i) for i in range(resolver.OpKernelTypeStrArgsLength())]
    entry = next(entry for entry in entries if entry.OpId().decode() == op_id)
    sides = {}, {}
    for i in range(entry.KernelTypeStrArgsLength()):
        constraint = entry.KernelTypeStrArgs(i)
        for k in range(constraint.ArgsLength()):
            arg = constraint.Args(k)
            sides[arg.ArgType()][arg.Index()] = constraint.KernelTypeStr().decode()
    counts = [node.InputArgCounts(i) for i in range(node.InputArgCountsLength())]
    inputs = ",".join(sides[0][i] + ("*" if count > 1 else "") for i, count in enumerate(counts))
    outputs = ",".join(sides[1][i] for i in range(len(sides[1])))
    defaults = {}
    for i in range(node.AttributesLength()):
        a = node.Attributes(i)
        if a.Name().decode() not in given:
            defaults[a.Name().decode()] = {1: a.F, 2: a.I, 3: a.S}[a.Type()]()
    return row([node.SinceVersion()], name, f"{inputs}>{outputs}", defaults)


def model_of(domain, name, version, inputs, outputs, attrs, constants=()):
    node = helper.make_node(name, [x.name if x else "" for x in inputs], [y.name for y in outputs], domain=domain,
                            **attrs)
    fed = [x for x in inputs if x and x.name not in {c.name for c in constants}]
    graph = helper.make_graph([node], "one", fed, outputs, initializer=list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                   helper.make_opsetid("com.microsoft", 1)])


def value(name, entry):
    return helper.make_tensor_value_info(name, NAMES[entry["type"]], entry["dims"])


def of_case(case):
    inputs = [entry and value(f"x{i}", entry) for i, entry in enumerate(case["in"])]
    constants = [helper.make_tensor(f"x{i}", NAMES[entry["type"]], entry["dims"], entry["data"])
                 for i, entry in enumerate(case["in"]) if entry and case["constant"][i]]
    outputs = [value(f"y{i}", entry) for i, entry in enumerate(case["out"])]
    return model_of(case["domain"], case["op"], 1, inputs, outputs, case["attrs"], constants)


def short(name, text):
    kinds = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}
    if text == "s":
        return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)
    return helper.make_tensor_value_info(name, kinds[text[0]], json.loads(text[1:]))


def from_files(cases, known):
    tried = {}
    for case in cases:
        loss = case["op"] in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
        if (case["domain"] == "com.microsoft" or loss) and case["op"] not in known and is_written(case["domain"],
            case["op"]):
            tried.setdefault((case["domain"], case["op"]), []).append((case, case["attrs"]))
    for domain, name, version, inputs, attrs, outputs in WITHOUT_CASE:
        model = model_of(domain, name, version, [short(f"x{i}", x) for i, x in enumerate(inputs)],
                         [short(f"y{i}", y) for i, y in enumerate(outputs)], attrs)
        tried[domain, name] = [(model, attrs)]
    for (domain, name), models in tried.items():
        found, reason = None, ""
        for model, attrs in models:
            try:
                found = read_row(converted(of_case(model) if isinstance(model, dict) else model), name, attrs)
                break
            except Exception as error:
                reason = str(error)[:200] or "it has no kernel"
        if found:
            yield domain, found
        else:
            print(f"{domain}:{name}: {reason}", file=sys.stderr)


# ── the table ──

def print_rows(rows):
    for domain in DOMAINS:
        groups = {}
        for of, (signature, text) in rows:
            if of == domain:
                groups.setdefault(signature, []).append(text)
        print(f"[{domain}]")
        for signature, texts in sorted(groups.items()):
            line = f"{signature}: {' '.join(sorted(texts))}"
            print(textwrap.fill(line, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    cases = json.loads(Path(sys.argv[1]).read_text())
    if len(sys.argv) > 2:
        known = set(re.findall(r" (\w+)@", Path(sys.argv[2]).read_text()))
        print_rows(list(from_files(cases, known)))
    else:
        ours = {(case["domain"], case["op"]) for case in cases if is_written(case["domain"], case["op"])}
        print_rows(list(from_schemas(ours)))
