"""Writes lora_targets.json: which modules PEFT adapts where target_modules is a regular expression, of the models of
make_lora.py.

Run by hand, in the environment of make_lora.py: build/venv/bin/python tests/golden/scripts/make_lora_targets.py
"""
import json

from peft import LoraConfig, get_peft_model

from make_lora import HERE, RUNS

PATTERNS = {
    "gpt2": [r".*\.(c_attn|c_fc)", r"transformer\.h\.[0-9]+\.mlp\.c_(fc|proj)", r".*\.h\.1\..*c_\w+",
             r"(?!.*attn).*c_proj"],
    "llama": [r".*\.(q|v)_proj", r"model\.layers\.1\.self\_attn\.[qk]_proj", r".*(?P<half>gate|up)_proj$",
              r"^.*mlp\..*_proj$"],
}


def chosen(name, pattern):
    config = LoraConfig(target_modules=pattern)
    return {"pattern": pattern, "modules": sorted(get_peft_model(RUNS[name][0](),
                                                                 config).base_model.targeted_module_names)}


made = {name: [chosen(name, pattern) for pattern in patterns] for name, patterns in PATTERNS.items()}
(HERE / "lora_targets.json").write_text(json.dumps(made, indent=1) + "\n")
