"""Writes lora_sums.json: what PEFT's add_weighted_adapter with combination_type svd makes of the adapters in
lora/NAME/first and lora/NAME/last, as the logits that it gives.

Run by hand, in the environment of make_lora.py: build/venv/bin/python tests/golden/scripts/make_lora_sums.py
"""
import json

import torch
from peft import PeftModel

from make_lora import FOLDER, HERE, RUNS, answers, batch, spread

WEIGHTS = [0.7, 0.8]


def run(name):
    torch.manual_seed(7)
    base = RUNS[name][0]()
    spread(base)
    model = PeftModel.from_pretrained(base, FOLDER / name / "first", adapter_name="first")
    model.load_adapter(FOLDER / name / "last", adapter_name="last")
    model.add_weighted_adapter(["first", "last"], WEIGHTS, "sum", combination_type="svd", svd_rank=RUNS[name][1]["r"])
    model.set_adapter("sum")
    logits = answers(model.eval(), batch(name)[0])
    return {"weights": WEIGHTS, "logits": [round(x, 6) for x in logits.reshape(-1)[:120].tolist()]}


(HERE / "lora_sums.json").write_text(json.dumps({name: run(name) for name in ["gpt2"]}) + "\n")
