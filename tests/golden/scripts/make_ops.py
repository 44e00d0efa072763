"""Writes ops.txt: what PyTorch gives in float64 for the harness's cases. Run by hand where PyTorch is:

    build/test/test_harness --dump cases.json && python3 tests/golden/scripts/make_ops.py cases.json

A tensor is kept as its largest absolute value, a weighted sum of all its elements and a few samples (see
tests/c/goldens.c).
"""
import inspect
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from make_w import batch_units
from torch_ops import EXCEPTIONS, IS_GRADIENT, OPS, UNKNOWN
from torch_transformer import TRANSFORMER

SAMPLES = 16
TYPES = {"float32": torch.float64, "float64": torch.float64, "int32": torch.int32, "int64": torch.int64,
         "bool": torch.bool,
         "uint8": torch.uint8, "int8": torch.int8, "int16": torch.int16,
         "uint64": torch.float64}  # PyTorch has no uint64


def tensor_of(entry):
    return None if entry is None else torch.tensor(entry["data"], dtype=TYPES[entry["type"]]).reshape(entry["dims"])


def tensor_line(what, index, t):
    v = t.detach().reshape(-1).double().numpy()
    finite = v[np.isfinite(v)]
    biggest = float(np.abs(finite).max()) if finite.size else 0.0
    weighted = float((v * (2 * batch_units(7, v.size) - 1)).sum())
    samples = min(SAMPLES, v.size)
    picked = " ".join(f"{v[k * v.size // samples]:.8g}" for k in range(samples))
    return f"{what} {index} {v.size} {biggest:.8g} {weighted:.8g} : {samples} {picked}"


def differs(ours, t):
    a, b = np.array(ours["data"], dtype=np.float64), t.detach().reshape(-1).double().numpy()
    if list(t.shape) != ours["dims"]:
        return f"shape {ours['dims']}, PyTorch {list(t.shape)}"
    worst, biggest = np.nanmax(np.abs(a - b), initial=0), np.abs(b).max(initial=0)
    return f"differs by {worst:.3g} of {biggest:.3g}" if worst > 1e-5 * max(biggest, 1e-30) else ""


def of_case(case):
    """A name may be in two domains."""
    return TRANSFORMER.get(f"{case['domain']}:{case['op']}") or OPS.get(case["op"])


def case_lines(case):
    f = of_case(case)
    x = [tensor_of(entry) for entry in case["in"]]
    wanted = [i for i, entry in enumerate(case["in"])
              if entry and entry["type"] == "float32" and not case["constant"][i]] if case["gradient"] else []
    for i in wanted:
        x[i].requires_grad_(True)
    more = {"opset": case["opset"], "outputs": len(case["out"])}
    try:
        y = f(x, case["attrs"], **{name: more[name] for name in inspect.signature(f).parameters if name in more})
    except (RuntimeError, IndexError) as error:
        print(f"  not {case['key']}: PyTorch refuses: {str(error).splitlines()[0]}")
        return []
    if y == [None]:
        print(f"  not {case['key']}: PyTorch means something else")
        return []
    lines = ["case " + case["key"]]
    for i, (ours, t) in enumerate(zip(case["out"], y)):
        if ours is None or t is None:
            continue
        if complaint := differs(ours, t):
            print(f"{case['key']}: output {i} {complaint}")
        lines.append(tensor_line("y", i, t))
    if wanted and case["dy"] and y[0].requires_grad:
        dy = torch.tensor(case["dy"], dtype=torch.float64).reshape(y[0].shape)
        grads = torch.autograd.grad(y[0], [x[i] for i in wanted], dy, allow_unused=True)
        lines += [tensor_line("dx", i, g) for i, g in zip(wanted, grads) if g is not None]
    return lines


def main():
    cases = json.loads(Path(sys.argv[1]).read_text())
    lines = ["# Golden numbers of operators, computed by PyTorch in float64; "
             "written by make_ops.py, read by tests/c/goldens.c."]
    left = Counter()
    for case in cases:
        if reason := EXCEPTIONS.get(case["key"]):
            print(f"  not {case['key']}: {reason}")
        elif any(entry and entry["type"] not in TYPES for entry in case["in"]):
            print(f"  not {case['key']}: a type that PyTorch lacks, or float16 as bits")
        elif of_case(case):
            lines += case_lines(case)
        else:
            left[case["op"]] += 1
    (Path(__file__).resolve().parents[1] / "data/ops.txt").write_text("\n".join(lines) + "\n")
    print(f"{sum(line.startswith('case') for line in lines)} of {len(cases)} cases have golden numbers")
    for op, count in left.items():
        reason = UNKNOWN.get(op) or ("a gradient, golden through its operator" if op.endswith(IS_GRADIENT)
                                     else "NO REASON GIVEN")
        print(f"  not {op} ({count} cases): {reason}")


if __name__ == "__main__":
    sys.exit(main())
