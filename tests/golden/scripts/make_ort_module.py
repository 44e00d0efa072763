"""Writes ort_module/: a small BLOOM as PyTorch's exporter and ONNX Runtime's ORTModule write one, and how PyTorch
trains it.

forward.onnx: embedding by ATen, LayerNormalization, one causal block with distances in its mask, FastGelu, the head
tied to the embedding.
training.onnx: the same with a YieldOp, and after it the gradients in ONNX Runtime's operators, as outputs
`<parameter>_grad`; parameters are inputs. It has the gradients of ORTModule's graphs; we cannot run that here, so the
nodes are written by its documented rules.
aside.onnx: gradients that do not come from its YieldOp, which is refused.
golden.json: cross-entropy of three steps of SGD, and Σ |p − p0| of each parameter after them.
"""
import json
import math
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.nn import functional as F

from make_w import batch_bits, batch_units

HERE = Path(__file__).resolve().parents[1] / "data" / "ort_module"
N, T, D, WIDE, WORDS, STEPS, LR = 2, 5, 8, 16, 11, 3, 0.5
SHAPES = {
    "word_embeddings.weight": (WORDS, D), "ln0.weight": (D,), "ln0.bias": (D,), "ln1.weight": (D,), "ln1.bias": (D,),
    "query": (D, D),
    "key": (D, D), "value": (D, D), "dense": (D, D), "ln2.weight": (D,), "ln2.bias": (D,), "up": (D, WIDE),
    "up.bias": (WIDE,),
    "down": (WIDE, D), "ln3.weight": (D,), "ln3.bias": (D,)}


def parameters():
    made = {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        values = (2 * batch_units(50 + i, math.prod(shape)) - 1).reshape(shape) * (1.0 if name.startswith("word")
            else 0.4)
        made[name] = (values + (name.startswith("ln") and name.endswith("weight"))).astype(np.float32)
    return made


def mask():
    ahead = np.triu(np.full((T, T), -1e4, np.float32), 1)
    return (ahead - 0.5 * np.abs(np.subtract.outer(np.arange(T), np.arange(T)))).astype(np.float32)[None]


class Nodes:
    def __init__(self):
        self.nodes, self.constants = [], []

    def add(self, op, inputs, outputs, domain="", **attributes):
        names = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{names[0]}", domain=domain, **attributes))
        return names[0]

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def microsoft(self, op, inputs, outputs, **attributes):
        return self.add(op, inputs, outputs, "com.microsoft", **attributes)


def forward(g):
    for name, value in (("no_padding", np.int64(-1)), ("no", np.bool_(False)), ("mask", mask())):
        g.constant(name, value)
    norm = lambda x, k, y: g.add("LayerNormalization", [x, f"ln{k}.weight", f"ln{k}.bias"],
                                 [y, f"mean{k}", f"inverse{k}"], axis=-1)
    g.add("ATen", ["word_embeddings.weight", "ids", "no_padding", "no", "no"], "e", "org.pytorch.aten",
          operator="aten::embedding")
    norm("e", 0, "x"), norm("x", 1, "h")
    for part, weight in (("q", "query"), ("k", "key"), ("v", "value")):
        g.add("MatMul", ["h", weight], part)
    g.microsoft("FusedMatMul", ["q", "k"], "s", transB=1, alpha=1 / math.sqrt(D))
    g.add("Add", ["s", "mask"], "masked"), g.add("Softmax", ["masked"], "p", axis=-1), g.add("MatMul", ["p", "v"], "a")
    g.add("MatMul", ["a", "dense"], "o"), g.add("Add", ["x", "o"], "r"), norm("r", 2, "h2")
    g.add("MatMul", ["h2", "up"], "u"), g.add("Add", ["u", "up.bias"], "ub"), g.microsoft("FastGelu", ["ub"], "f")
    g.add("MatMul", ["f", "down"], "m"), g.add("Add", ["r", "m"], "r2"), norm("r2", 3, "hidden")
    g.add("Transpose", ["word_embeddings.weight"], "head", perm=[1, 0]), g.add("MatMul", ["hidden", "head"], "logits")


def weight_grad(g, x, x_width, dy, dy_width, to):
    rows = [g.add("Reshape", [name, g.constant(f"rows_{name}_{to}", np.array([-1, width]))], f"{name}_rows_{to}")
            for name, width in ((x, x_width), (dy, dy_width))]
    return g.add("Gemm", rows, to, transA=1)


def backward(g):
    g.microsoft("YieldOp", ["logits", "hidden"], ["logits_grad"], full_shape_outputs=[0],
                non_differentiable_outputs=[1])
    back = lambda dy, weight, dx: g.microsoft("FusedMatMul", [dy, weight], dx, transB=1)
    norm = lambda dy, x, k, dx: g.microsoft("LayerNormalizationGrad",
                                            [dy, x, f"ln{k}.weight", f"mean{k}", f"inverse{k}"],
                                            [dx, f"ln{k}.weight_grad", f"ln{k}.bias_grad"], axis=-1)
    back("logits_grad", "head", "hidden_grad"), weight_grad(g, "hidden", D, "logits_grad", WORDS, "head_grad")
    norm("hidden_grad", "r2", 3, "r2_grad")
    back("r2_grad", "down", "f_grad"), weight_grad(g, "f", WIDE, "r2_grad", D, "down_grad")
    g.microsoft("FastGeluGrad", ["f_grad", "ub"], "u_grad")
    g.add("ReduceSum", ["u_grad", g.constant("batch_axes", np.array([0, 1]))], "up.bias_grad", keepdims=0)
    back("u_grad", "up", "h2_grad"), weight_grad(g, "h2", D, "u_grad", WIDE, "up_grad"), norm("h2_grad", "r", 2,
        "r_norm_grad")
    g.add("Sum", ["r2_grad", "r_norm_grad"], "r_grad")
    back("r_grad", "dense", "a_grad"), weight_grad(g, "a", D, "r_grad", D, "dense_grad")
    back("a_grad", "v", "p_grad"), g.microsoft("FusedMatMul", ["p", "a_grad"], "v_grad", transA=1)
    g.microsoft("SoftmaxGrad_13", ["p_grad", "p"], "s_grad", axis=-1)
    g.microsoft("FusedMatMul", ["s_grad", "k"], "q_grad", alpha=1 / math.sqrt(D))
    g.microsoft("FusedMatMul", ["s_grad", "q"], "k_grad", transA=1, alpha=1 / math.sqrt(D))
    for part, weight in (("q", "query"), ("k", "key"), ("v", "value")):
        back(f"{part}_grad", weight, f"h_{part}_grad"), weight_grad(g, "h", D, f"{part}_grad", D, f"{weight}_grad")
    g.add("Sum", ["h_q_grad", "h_k_grad", "h_v_grad"], "h_grad"), norm("h_grad", "x", 1, "x_norm_grad")
    g.add("Sum", ["r_grad", "x_norm_grad"], "x_grad"), norm("x_grad", "e", 0, "e_grad")
    g.add("Shape", ["word_embeddings.weight"], "sizes"), g.add("Gather", ["sizes", g.constant("zero", np.int64(0))],
                                                               "rows", axis=0)
    g.add("ATen", ["e_grad", "ids", "rows", "no_padding", "no", "no"], "embedding_grad", "org.pytorch.aten",
          operator="aten::embedding_backward")
    g.add("Transpose", ["head_grad"], "head_grad_turned", perm=[1, 0])
    g.add("Sum", ["embedding_grad", "head_grad_turned"], "word_embeddings.weight_grad")


def save(g, name, inputs, outputs, values):
    info = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(
        g.nodes, name, [info("ids", ["N", T], TensorProto.INT64)] + [info(p, SHAPES[p]) for p in inputs],
        [info(name, shape) for name, shape in outputs],
        [numpy_helper.from_array(a, p) for p, a in values.items()] + g.constants)
    opsets = [helper.make_opsetid(*it) for it in (("", 17), ("com.microsoft", 1), ("org.pytorch.aten", 1))]
    onnx.save_model(helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="pytorch"),
                    HERE / f"{name}.onnx")


def in_torch(p, ids):
    norm = lambda x, k: F.layer_norm(x, (D,), p[f"ln{k}.weight"], p[f"ln{k}.bias"])
    x = norm(F.embedding(ids, p["word_embeddings.weight"]), 0)
    h = norm(x, 1)
    q, k, v = (h @ p[name] for name in ("query", "key", "value"))
    r = x + torch.softmax(q @ k.transpose(1, 2) / math.sqrt(D) + torch.from_numpy(mask()), -1) @ v @ p["dense"]
    u = norm(r, 2) @ p["up"] + p["up.bias"]
    gelu = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u ** 3)))
    return norm(r + gelu @ p["down"], 3) @ p["word_embeddings.weight"].T


def train(start):
    p = {name: torch.from_numpy(value.copy()).double().requires_grad_() for name, value in start.items()}
    losses = []
    for step in range(STEPS):
        words = torch.from_numpy((batch_bits(70 + step, N * (T + 1)) % np.uint64(WORDS)).astype(np.int64)).reshape(N,
            T + 1)
        loss = F.cross_entropy(in_torch(p, words[:, :-1]).reshape(-1, WORDS), words[:, 1:].reshape(-1))
        grads = torch.autograd.grad(loss, list(p.values()))
        with torch.no_grad():
            for value, grad in zip(p.values(), grads):
                value -= LR * grad
        losses.append(loss.item())
    return losses, {name: float(np.abs(value.detach().numpy() - start[name]).sum()) for name, value in p.items()}


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    start, plain, trained, aside = parameters(), Nodes(), Nodes(), Nodes()
    outputs = [("logits", ["N", T, WORDS]), ("hidden", ["N", T, D])]
    forward(plain), save(plain, "forward", [], outputs, start)
    forward(trained), backward(trained), save(trained, "training", SHAPES,
                                              [(f"{p}_grad", s) for p, s in SHAPES.items()], {})
    forward(aside), aside.microsoft("YieldOp", ["logits", "hidden"], ["logits_grad"], full_shape_outputs=[0],
                                    non_differentiable_outputs=[1])
    for p in SHAPES:
        aside.add("Identity", [p], f"{p}_grad")
    save(aside, "aside", SHAPES, [(f"{p}_grad", s) for p, s in SHAPES.items()], {})
    losses, changes = train(start)
    made = {"words": WORDS, "length": T, "batch": N, "lr": LR, "losses": losses, "changes": changes}
    (HERE / "golden.json").write_text(json.dumps(made, indent=1) + "\n")
