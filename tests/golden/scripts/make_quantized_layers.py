"""Writes quantized_layers.json: models that onnxruntime.quantization makes of torch's LSTM and Linear (onnxruntime
1.32), and what onnxruntime computes: of each, and of the same LSTM in float32 with the weights that the integers stand
for.

    python3 tests/golden/scripts/make_quantized_layers.py
"""
import base64, json, pathlib, tempfile
import numpy as np, onnx, onnxruntime, torch
from onnx import helper, numpy_helper as nh
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

DIMS = dict(hidden=6, inputs=5, steps=4, batch=3)


def lstm(directions, bias=True, peepholes=False, lengths=False):
    rng = np.random.default_rng(directions)
    h, i = DIMS["hidden"], DIMS["inputs"]
    shapes = {"W": (directions, 4 * h, i), "R": (directions, 4 * h, h), "B": (directions, 8 * h),
              "P": (directions, 3 * h)}
    if not bias: del shapes["B"]
    if not peepholes: del shapes["P"]
    weights = {k: rng.uniform(-0.7, 0.7, s).astype(np.float32) for k, s in shapes.items()}
    if lengths: weights["L"] = np.array([4, 1, 3], np.int32)
    names = ["X", "W", "R", "B" if bias else "", "L" if lengths else "", "", "", "P" if peepholes else ""]
    node = helper.make_node("LSTM", names, ["Y", "Y_h", "Y_c"], hidden_size=h,
                            direction="bidirectional" if directions == 2 else "forward")
    return node, weights


def save(node, weights, path, opset=17):
    float_info = lambda name, dims: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
    graph = helper.make_graph([node], "lstm", [float_info("X", [DIMS["steps"], "batch", DIMS["inputs"]])],
                              [float_info(o, None) for o in node.output],
                              [nh.from_array(w, k) for k, w in weights.items()])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]), path)


def run(path, feeds):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return {o.name: v for o, v in zip(session.get_outputs(), session.run(None, feeds))}


def tensor(x):
    return dict(type=str(x.dtype), dims=list(x.shape), data=[round(float(v), 7) for v in x.ravel()])


def dequantized(model, node):
    """The weights that the integers stand for, as LSTM has them."""
    stored = {t.name: nh.to_array(t) for t in model.graph.initializer}
    quantized = next(n for n in model.graph.node if n.op_type == "DynamicQuantizeLSTM")
    out = {}
    for name, at in (("W", 1), ("R", 2)):
        q, scale, point = (stored[quantized.input[k]] for k in (at, 6 + 2 * at, 7 + 2 * at))
        wide = lambda x: x.astype(np.float32).reshape(q.shape[0], 1, -1)
        out[name] = np.ascontiguousarray(((q.astype(np.float32) - wide(point)) * wide(scale)).transpose(0, 2, 1))
    return out


def encoded(path): return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def lstms(folder):
    rng = np.random.default_rng(7)
    for directions in (1, 2):
        kind = (QuantType.QInt8, QuantType.QUInt8)[directions - 1]
        for per_channel in (False, True):
            node, weights = lstm(directions, bias=directions == 2, peepholes=per_channel, lengths=directions == 2)
            paths = [f"{folder}/{n}.onnx" for n in ("float", "quantized", "again")]
            save(node, weights, paths[0])
            quantize_dynamic(paths[0], paths[1], weight_type=kind, per_channel=per_channel)
            save(node, weights | dequantized(onnx.load(paths[1]), node), paths[2])
            x = rng.uniform(-1, 1, (DIMS["steps"], DIMS["batch"], DIMS["inputs"])).astype(np.float32)
            theirs, same = (run(p, {"X": x}) for p in paths[1:])
            yield (f"LSTM, {directions} direction(s), {kind.name}{', per channel' if per_channel else ''}",
                   dict(model=encoded(paths[1]), feeds={"X": tensor(x)},
                        theirs={k: tensor(v) for k, v in theirs.items()},
                        same={k: tensor(v) for k, v in same.items()}))


class Reader(CalibrationDataReader):
    def __init__(self, x): self.rest = iter([{"x": x}])
    def get_next(self): return next(self.rest, None)


def gemms(folder):
    torch.manual_seed(3)
    x = torch.randn(3, 6)
    for per_channel in (False, True):
        net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 4, bias=not per_channel))
        paths = [f"{folder}/{n}.onnx" for n in ("gemm", "q")]
        torch.onnx.export(net, (x,), paths[0], input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
        quantize_static(paths[0], paths[1], Reader(x.numpy()), quant_format=QuantFormat.QOperator,
                        per_channel=per_channel,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        assert any(n.op_type == "QGemm" for n in onnx.load(paths[1]).graph.node)
        yield (f"Linear{', per channel' if per_channel else ''}",
               dict(model=encoded(paths[1]), feeds={"x": tensor(x.numpy())},
                    same={k: tensor(v) for k, v in run(paths[1], {"x": x.numpy()}).items()}))


with tempfile.TemporaryDirectory() as folder:
    cases = dict([*lstms(folder), *gemms(folder)])
text = json.dumps(cases, separators=(",", ":")).replace('"LSTM', '\n"LSTM').replace('"Linear', '\n"Linear')
(pathlib.Path(__file__).resolve().parents[1] / "data/quantized_layers.json").write_text(text + "\n")
