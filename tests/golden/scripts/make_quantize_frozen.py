"""Writes quantize_frozen.json: weights as onnxruntime.quantization quantizes them, and how PEFT trains adapters of
make_lora.py's models over a base whose weights were quantized and widened again.

Run by hand: python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript onnxruntime transformers
peft && build/venv/bin/python tests/golden/scripts/make_quantize_frozen.py
"""
import json

import numpy as np
import torch
from onnx import TensorProto
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, DefaultWeightOnlyQuantizer
from onnxruntime.quantization.quant_utils import quantize_data
from peft import PeftModel
from transformers.pytorch_utils import Conv1D

import make_lora

DEPTH, COLUMNS = 80, 6


def weight():
    """A formula that the test repeats; with a block of zeros and a column without negative numbers."""
    w = np.array([((i * i * 7 + 3 * i) % 1013) / 500 - 1 for i in range(DEPTH * COLUMNS)], np.float32).reshape(DEPTH,
        COLUMNS)
    w[32:64, 1] = 0
    w[:, 2] = np.abs(w[:, 2])
    return w


def int4_of(w):
    """Of (depth, columns): numbers, scales and zero points."""
    return DefaultWeightOnlyQuantizer(DefaultWeightOnlyQuantConfig(block_size=32)).qbits_block_quant(w)


def int8_of(w, axis):
    lines = [quantize_data(line, TensorProto.INT8, True) for line in np.moveaxis(w, axis, 0)]
    return np.moveaxis(np.stack([line[2] for line in lines]), 0, axis), np.array([line[1] for line in lines],
        np.float32)


def through_int8(w, axis):
    q, scale = int8_of(w, axis)
    return q.astype(np.float32) * (scale if axis else scale[:, None])


def through_int4(w):
    """Of (depth, columns)."""
    q, scales, points = int4_of(w)
    columns, blocks, _ = q.shape
    numbers = np.stack([q & 15, q >> 4], -1).reshape(columns, blocks, 32).astype(np.float32)
    zeros = np.stack([points & 15, points >> 4], -1).reshape(columns, -1)[:, :blocks].astype(np.float32)
    return ((numbers - zeros[..., None]) * scales[..., None]).reshape(columns, -1)[:, :len(w)].T


def quantize(model, kind):
    """The linear layers and embeddings, in place; what is a table too is of int8 even where the rest is of int4."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    done = set()
    for module in model.modules():
        p = getattr(module, "weight", None)
        if not isinstance(module, (torch.nn.Linear, torch.nn.Embedding, Conv1D)) or id(p) in done:
            continue
        done.add(id(p))
        w = p.detach().numpy()
        if kind == "float16":
            wide = w.astype(np.float16).astype(np.float32)
        elif kind == "int8" or id(p) in tables:
            wide = through_int8(w, 1 if isinstance(module, Conv1D) else 0)
        else:
            wide = through_int4(w) if isinstance(module, Conv1D) else through_int4(np.ascontiguousarray(w.T)).T
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.ascontiguousarray(wide)))


def run(name, kind):
    torch.manual_seed(7)
    base = make_lora.RUNS[name][0]()
    make_lora.spread(base)
    if kind:
        quantize(base, kind)
    ids, labels = make_lora.batch(name)
    model = PeftModel.from_pretrained(base, make_lora.FOLDER / name / "first", is_trainable=True)
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=make_lora.LR,
                                  weight_decay=0.01)
    losses = []
    for _ in range(8):
        loss = make_lora.loss_of(make_lora.answers(model, ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    w = weight()
    q4, scales, points = int4_of(w)
    by_column, by_row = int8_of(w, 1), int8_of(w, 0)
    known = json.loads((make_lora.HERE / "lora.json").read_text())["runs"]
    for name in ("gpt2", "llama"):  # that these are the models which were exported
        assert np.allclose(run(name, None), known[name]["losses"][:8], atol=1e-5), name
    made = {
        "int4": {"q": q4.tobytes().hex(), "scales": scales.ravel().tolist(), "points": points.tobytes().hex()},
        "int8": {"q": by_column[0].tobytes().hex(), "scales": by_column[1].tolist()},
        "rows": {"q": by_row[0].tobytes().hex(), "scales": by_row[1].tolist()},
        "losses": {name: {kind: run(name, kind) for kind in ("int8", "int4", "float16")} for name in ("gpt2", "llama")},
    }
    (make_lora.HERE / "quantize_frozen.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
