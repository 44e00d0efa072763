"""Writes peft_config.json: what PEFT saves as adapter_config.json for the ways to make an adapter of a small network,
and whether the adapter, loaded by PEFT into a fresh base, computes y = W x + (alpha / r) · B A x with the base's own W.
And peft_patterns.json: rank and alpha of each module of make_lora.py's models, where patterns choose them.

Run by hand, in the environment of make_lora.py: build/venv/bin/python tests/golden/scripts/make_peft_config.py
"""
import json
import tempfile
import warnings
from pathlib import Path

import torch
from peft import EvaConfig, LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora.config import BdLoraConfig, KasaConfig, MontecloraConfig, VeloraConfig
from safetensors.torch import load_file

from make_lora import RUNS

HERE = Path(__file__).resolve().parents[1] / "data"
R, ALPHA = 2, 6
WAYS = {
    "usual": {},
    "gaussian": {"init_lora_weights": "gaussian"},
    "random": {"init_lora_weights": False},
    "orthogonal": {"init_lora_weights": "orthogonal"},
    "eva": {"init_lora_weights": "eva", "eva_config": EvaConfig()},
    "mica": {"init_lora_weights": "mica"},
    "velora": {"velora_config": VeloraConfig(num_groups=2)},
    "notes": {"revision": "main", "qalora_group_size": 4, "megatron_core": "megatron"},
    "pissa": {"init_lora_weights": "pissa"},
    "pissa of few steps": {"init_lora_weights": "pissa_niter_4"},
    "olora": {"init_lora_weights": "OLoRA"},
    "dora": {"use_dora": True},
    "bias": {"lora_bias": True},
    "kasa": {"kasa_config": KasaConfig()},
    "monteclora": {"monteclora_config": MontecloraConfig(num_samples=2)},
    "blocks": {"use_bdlora": BdLoraConfig(target_modules_bd_a=["fc"], nblocks=2)},
}
PATTERNS = {
    "llama": [
        {"alpha_pattern": {"q_proj": 4, r"layers\.0\.self_attn\.[kv]_proj": 5, ".*_proj": 6}},
        {"alpha_pattern": {"^model.layers.1.mlp.up_proj": 4, "up_proj": 5, "^layers.0.mlp.gate_proj": 6, "proj": 7}},
        {"rank_pattern": {"(q|k)_proj": 4}, "alpha_pattern": {"mlp.*": 2, "o_proj|v_proj": 3}},
        {"rank_pattern": {"q_proj*": 3, "mlp.up_pro?": 4}},
    ],
    "pictures": [{"rank_pattern": {"[02]": 4}, "alpha_pattern": {"features.\\d": 3, "hidden": 6}}],
}
warnings.filterwarnings("ignore")


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.fc = torch.nn.Linear(64, 64)

    def forward(self, x):
        return self.fc(x)


def made(name, way):
    config = LoraConfig(r=R, lora_alpha=ALPHA, target_modules=["fc"], **way)
    model = get_peft_model(Network(), config)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.1 * torch.randn_like(parameter)
    x = torch.randn(5, 64)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        saved = json.loads((Path(folder) / "adapter_config.json").read_text())
        tensors = load_file(Path(folder) / "adapter_model.safetensors")
        y = PeftModel.from_pretrained(Network(), folder).eval()(x)
    a, b = [tensors[f"base_model.model.fc.lora_{which}.weight"] for which in "AB"]
    is_plain = a.shape == (R, 64) and b.shape == (64, R)
    plain = is_plain and torch.allclose(y, Network()(x) + ALPHA / R * x @ a.T @ b.T, atol=1e-4)
    print(name, "is plain" if plain else "is another")
    return {"config": saved, "plain": bool(plain)}


def numbers(name, patterns):
    config = LoraConfig(r=2, lora_alpha=8, target_modules=RUNS[name][1]["target_modules"], **patterns)
    modules = get_peft_model(RUNS[name][0](), config).base_model.model.named_modules()
    found = {name: [m.r["default"], m.lora_alpha["default"]] for name, m in modules if hasattr(m, "lora_alpha")}
    return {**patterns, "modules": found}


def difference(config, usual):
    return {key: value for key, value in config.items() if usual.get(key) != value}


if __name__ == "__main__":
    ways = {name: made(name, way) for name, way in WAYS.items()}
    usual = ways["usual"]["config"]
    for name, one in ways.items():
        if name != "usual":
            one["config"] = difference(one["config"], usual)
    (HERE / "peft_config.json").write_text(json.dumps(ways, indent=1) + "\n")
    patterns = {name: [numbers(name, one) for one in all_of] for name, all_of in PATTERNS.items()}
    (HERE / "peft_patterns.json").write_text(json.dumps(patterns, indent=1) + "\n")
