"""Whether PEFT loads what Trainlet has written: folders of adapters, whose logits must be the same to 1e-5.

Run by hand, in the environment of make_lora.py:
node tests/golden/scripts/write_lora.js build/lora && build/venv/bin/python tests/golden/scripts/check_lora.py
build/lora
"""
import json
import sys
from pathlib import Path

import torch
from peft import PeftModel

from make_lora import RUNS, answers, batch, spread


def check(name, folder):
    torch.manual_seed(7)
    base = RUNS[name][0]()
    spread(base)
    model = PeftModel.from_pretrained(base, folder / name).eval()
    wanted = torch.tensor(json.loads((folder / name / "logits.json").read_text()))
    got = answers(model, batch(name)[0]).reshape(-1)
    return (got - wanted).abs().max().item()


far = {name: check(name, Path(sys.argv[1])) for name in RUNS}
for name, most in far.items():
    print(f"{name}: logits differ by {most:.1e} at most")
sys.exit(max(far.values()) > 1e-5)
