"""Writes safetensors.json: files as Hugging Face's safetensors writes them, numbers as PyTorch rounds them to 16 bits,
and which files the format's own reader takes.

Run by hand: python3 -m venv build/venv && build/venv/bin/pip install torch safetensors && build/venv/bin/python
tests/golden/scripts/make_safetensors.py
"""
import base64
import json
from pathlib import Path

import safetensors
import torch
from safetensors.torch import save

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
base = torch.tensor([1.5, -2.25, 0.1, 65504.0, -6e-8, 3e38, float("inf"), -0.0, 1e-40, 1023.5])
# halfway between two numbers of 16 bits, next to that, subnormal, at the end of float16
bits = [0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0x33000000,
        0x33000001, 0x33800000,
        0x33C00000, 0x38800000, 0x387FC000, 0x387FE000, 0x387FF000, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x47800000,
        0x7F7FFFFF, 0x7F800000,
        0xFF800000, 0x00000001, 0x80000000, 0xBF801000, 0xC77FF000, 0x7FC00000, 0x7F800001, 0x42C80000, 0x3DCCCCCD,
        0x3F7FFFFF, 0x7F7F8000]
floats = torch.tensor([b - 2**32 if b >= 2**31 else b for b in bits], dtype=torch.int32).view(torch.float32)


def bits_of(tensor):
    return [x & 0xFFFF for x in tensor.view(torch.int16).tolist()]


def text_of(tensor):
    """As float32, in JSON's words."""
    return [repr(x) for x in tensor.to(torch.float32).tolist()]


def file(header, count):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(count)


def taken(data):
    try:
        safetensors.deserialize(data)
        return True
    except safetensors.SafetensorError:
        return False


T = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
WHOLE = json.dumps(T).encode()
EMPTY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
FILES = {
    "one tensor": file({"a": T}, 8), "notes": file({"__metadata__": {"format": "pt"}, "a": T}, 8),
    "notes that are null": file({"__metadata__": None, "a": T}, 8),
    "a note that is a number": file({"__metadata__": {"n": 1}, "a": T}, 8),
    "a list of notes": file({"__metadata__": [], "a": T}, 8),
    "notes that are a text": file({"__metadata__": "", "a": T}, 8),
    "another entry": file({"a": {**T, "x": 1}}, 8), "no tensor": file({}, 0),
    "a scalar": file({"a": {**T, "shape": [], "data_offsets": [0, 4]}}, 4),
    "nothing in it": file({"a": {**T, "shape": [0, 3], "data_offsets": [0, 0]}}, 0),
    "nothing before": file({"a": EMPTY, "b": T}, 8), "nothing behind": file({"a": {**EMPTY, "data_offsets": [8, 8]},
        "b": T}, 8),
    "no type": file({"a": {"shape": [2], "data_offsets": [0, 8]}}, 8),
    "no shape": file({"a": {"dtype": "F32", "data_offsets": [0, 8]}}, 8),
    "a shape that is a number": file({"a": {**T, "shape": 2}}, 8),
    "no place": file({"a": {"dtype": "F32", "shape": [2]}}, 8),
    "three offsets": file({"a": {**T, "data_offsets": [0, 8, 9]}}, 8),
    "a size below 0": file({"a": {**T, "shape": [-2]}}, 8),
    "two sizes below 0": file({"a": {**T, "shape": [-2, -1]}}, 8),
    "a size with a fraction": file({"a": {**T, "shape": [2.0]}}, 8),
    "half a size": file({"a": {**T, "shape": [0.5, 4]}}, 8),
    "an exponent": file(b'{"a":' + WHOLE.replace(b"[2]", b"[2e0]") + b"}", 8),
    "minus 0": file(b'{"a":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}}', 0),
    "a huge size": file({"a": {**T, "shape": [2**64]}}, 8),
    "an offset below 0": file({"a": {**T, "data_offsets": [-8, 0]}}, 8),
    "another size": file({"a": {**T, "shape": [3]}}, 8), "backwards": file({"a": {**T, "data_offsets": [8, 0]}}, 8),
    "too few bytes": file({"a": T}, 7), "too many bytes": file({"a": T}, 9),
    "a gap": file({"a": T, "b": {**T, "data_offsets": [9, 17]}}, 17),
    "one over another": file({"a": T, "b": {**T, "data_offsets": [4, 12]}}, 12),
    "the same place": file({"a": T, "b": T}, 8),
    "a space before": file(b' {"a":' + WHOLE + b"}", 8), "spaces behind": file(b'{"a":' + WHOLE + b"}   ", 8),
    "a byte order mark": file(b'\xef\xbb\xbf{"a":' + WHOLE + b"}", 8),
    "a zero behind": file(b'{"a":' + WHOLE + b"}\0", 8),
    "a field twice": file(b'{"a":{"dtype":"F32",' + WHOLE[1:] + b"}", 8),
    "notes twice": file(b'{"__metadata__":{},"__metadata__":{},"a":' + WHOLE + b"}", 8),
    "half a letter": file(b'{"\\ud800":' + WHOLE + b"}", 8),
    "a letter in two": file(b'{"\\ud83d\\ude00: \\"1.5\\"":' + WHOLE + b"}", 8),
    "no UTF-8": file(b'{"\xff":' + WHOLE + b"}", 8), "a list": file(b"[1]", 0), "a number": file(b"1", 0),
    "null": file(b"null", 0), "no JSON": file(b'{"a"', 0),
    "7 bytes": b"1234567", "no header": bytes(8),
    "a header longer than the file": (9).to_bytes(8, "little") + b"{}      ", "nothing": b"",
}
if __name__ == "__main__":
    out = {
        "files": {name: {"bytes": base64.b64encode(save({"b": base.to(t).reshape(2, 5), "a": torch.tensor(7.0).to(t)},
                                                        {"note": "é"})).decode(),
                         "b": text_of(base.to(t)), "a": text_of(torch.tensor([7.0]).to(t))}
                         for name, t in TYPES.items()},
        "rounded": {"float32": bits, "F16": bits_of(floats.to(torch.float16)),
                    "BF16": bits_of(floats.to(torch.bfloat16))},
        "taken": {name: [base64.b64encode(data).decode(), taken(data)] for name, data in FILES.items()},
    }
    lines = ",\n".join(f"{json.dumps(key)}: {{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}"
                                                               for k, v in rows.items()) + "\n}"
                       for key, rows in out.items())
    (Path(__file__).resolve().parents[1] / "data/safetensors.json").write_text("{\n" + lines + "\n}\n")
