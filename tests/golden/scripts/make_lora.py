"""Writes lora/: small transformers as PyTorch exports them, and how PEFT trains LoRA adapters of them.

Of each model: NAME.onnx, the base; NAME/first and NAME/last, folders as PEFT writes them, before
and after the steps; and in lora.json the options, the batches, the losses, the logits of the last adapter.

Run by hand: python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript transformers peft &&
build/venv/bin/python tests/golden/scripts/make_lora.py
"""
import json
import logging
import warnings
from pathlib import Path

import onnx
import torch
from peft import LoraConfig, get_peft_model
from torch.nn import functional as F
from transformers import (BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM)

HERE = Path(__file__).resolve().parents[1] / "data"
FOLDER = HERE / "lora"
STEPS, LR, VOCABULARY, BATCH, LENGTH = 20, 5e-3, 40, 3, 9
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits if not isinstance(
            self.model, BertForSequenceClassification) else self.model(input_ids=input_ids).logits


def gpt2():
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=16, n_embd=16, n_layer=2, n_head=2,
                                      resid_pdrop=0, embd_pdrop=0,
                                      attn_pdrop=0, attn_implementation="eager"))


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=28,
                                        num_hidden_layers=2,
                                        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=16,
                                        attn_implementation="eager"))


def bert():
    return BertForSequenceClassification(BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=16,
        num_labels=3, hidden_dropout_prob=0, attention_probs_dropout_prob=0, attn_implementation="eager"))


class Pictures(torch.nn.Module):
    """Exported by TorchScript, so that the modules' names are those of its paths."""

    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, stride=2, padding=1), torch.nn.ReLU(),
                                            torch.nn.Conv2d(4, 6, (3, 2)))
        self.hidden, self.classifier = torch.nn.Linear(24, 12, bias=False), torch.nn.Linear(12, 3)

    def forward(self, x):
        x = torch.relu(self.features(x)).mean(3)
        return self.classifier(torch.relu(self.hidden(x.reshape(-1, 24))))


RUNS = {
    "gpt2": (gpt2, {"r": 8, "lora_alpha": 16, "target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True}),
    "llama": (llama, {"r": 8, "lora_alpha": 8, "target_modules": "all-linear", "use_rslora": True,
                      "rank_pattern": {"down_proj": 4},
                      "alpha_pattern": {"layers.1.self_attn.q_proj": 3}}),
    "bert": (bert, {"r": 8, "lora_alpha": 8, "target_modules": ["query", "value"], "modules_to_save": ["classifier"],
                    "bias": "lora_only"}),
    "pictures": (Pictures, {"r": 2, "lora_alpha": 5, "target_modules": ["features.0", "2", "hidden"],
                            "modules_to_save": ["classifier"]}),
    "embedding": (gpt2, {"r": 4, "lora_alpha": 6, "target_modules": ["wte", "c_proj"], "fan_in_fan_out": True}),
}


TASKS = {"bert": "SEQ_CLS", "pictures": None}


def batch(task):
    """Formulas that the tests repeat."""
    if task == "pictures":
        x = torch.tensor([((k * k * 7 + 3 * k) % 101) / 50 - 1 for k in range(BATCH * 144)], dtype=torch.float32)
        return x.reshape(BATCH, 1, 12, 12), torch.tensor([0, 1, 2])
    ids = torch.tensor([[(7 * i * i + 3 * t * t + 5 * i * t + 11) % VOCABULARY for t in range(LENGTH)]
                        for i in range(BATCH)])
    labels = torch.tensor([i % 3 for i in range(BATCH)]) if task == "bert" else (3 * ids + 1) % VOCABULARY
    return ids, labels


def answers(model, x):
    return model(x) if x.dtype == torch.float32 else model(input_ids=x).logits


def loss_of(logits, labels):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def export(model, path, ids):
    """Notes have this machine's folders, but for those that tell parameters from constants, and modules."""
    if isinstance(model, Pictures):
        return torch.onnx.export(model.eval(), (ids,), path, input_names=["x"], output_names=["logits"], dynamo=False,
                                 dynamic_axes={"x": {0: "batch"}})
    dims = {"input_ids": {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=16)}}
    torch.onnx.export(Logits(model.eval()), (ids,), path, input_names=["input_ids"], output_names=["logits"],
                      dynamic_shapes=dims,
                      verbose=False, external_data=False, dynamo=True)
    kept = ("pkg.torch.export.graph_signature.InputSpec.kind", "pkg.onnxscript.optimizer.folded_from",
            "pkg.torch.onnx.name_scopes")
    made = onnx.load(path)
    for value in [*made.graph.node, *made.graph.value_info, *made.graph.input, *made.graph.output]:
        notes = [(note.key, note.value) for note in value.metadata_props if note.key in kept]
        del value.metadata_props[:]
        for key, text in notes:
            value.metadata_props.add(key=key, value=text)
        value.doc_string = ""
    onnx.save(made, path)


def spread(model):
    """Weights of all sizes, so that nothing is hidden by small numbers."""
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.add_(0.05 * torch.randn(p.shape, generator=torch.Generator().manual_seed(i)))


def run(name, make, options):
    torch.manual_seed(7)
    base = make()
    spread(base)
    ids, labels = batch(name)
    if name != "embedding":
        export(base, FOLDER / f"{name}.onnx", ids)
    model = get_peft_model(base, LoraConfig(**options, task_type=TASKS.get(name, "CAUSAL_LM")))
    model.train()
    with torch.no_grad():  # B other than zero, so that both matrices are tried from the first step on
        for i, (key, p) in enumerate(model.named_parameters()):
            if "lora_B" in key or "lora_embedding_A" in key:
                p.copy_(0.02 * torch.randn(p.shape, generator=torch.Generator().manual_seed(100 + i)))
    model.save_pretrained(FOLDER / name / "first")
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=LR, weight_decay=0.01)
    losses = []
    for _ in range(STEPS):
        loss = loss_of(answers(model, ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.save_pretrained(FOLDER / name / "last")
    for readme in (FOLDER / name).glob("*/README.md"):
        readme.unlink()
    model.eval()
    logits = answers(model, ids)
    return {"options": options, "losses": losses, "logits": [round(x, 6) for x in logits.reshape(-1)[:120].tolist()]}


def main():
    FOLDER.mkdir(exist_ok=True)
    runs = {name: run(name, make, options) for name, (make, options) in RUNS.items()}
    (HERE / "lora.json").write_text(json.dumps({"lr": LR, "weight_decay": 0.01, "runs": runs}) + "\n")


if __name__ == "__main__":
    main()
