"""Writes weights/: state_dicts as safetensors and transformers write them, models exported before with other weights,
and the logits of PyTorch with the new ones (weights.json). For dynamo's exporter two of the models are those of lora/.

Run by hand: python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript transformers peft
safetensors && build/venv/bin/python tests/golden/scripts/make_weights.py
"""
import json
import shutil

import onnx
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from make_lora import BATCH, HERE, LENGTH, VOCABULARY, Logits, batch, export, gpt2, llama, spread

FOLDER = HERE / "weights"


class Masked(Logits):
    """Without a mask transformers looks for packed texts, by an operator that TorchScript's exporter does not have."""

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids), use_cache=False).logits


def tied():
    config = llama().config.to_dict() | {"tie_word_embeddings": True}
    return LlamaForCausalLM(LlamaConfig(**config, attn_implementation="eager"))


def export_script(model, path, ids):
    torch.onnx.export(Masked(model.eval()), (ids,), path, input_names=["input_ids"], output_names=["logits"],
                      dynamo=False,
                      opset_version=17, dynamic_axes={"input_ids": {0: "batch", 1: "length"}})
    made = onnx.load(path)
    for node in made.graph.node:
        node.doc_string = ""
    onnx.save(made, path)


def learned(make):
    torch.manual_seed(23)
    model = make().eval()
    spread(model)
    return model


def logits(model, ids):
    with torch.no_grad():
        return [round(x, 6) for x in model(input_ids=ids).logits.reshape(-1)[:120].tolist()]


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    ids, _ = batch("gpt2")
    torch.manual_seed(5)
    export_script(gpt2(), FOLDER / "gpt2.onnx", ids)  # new ones, whose equal tensors become one
    export_script(llama(), FOLDER / "llama.onnx", ids)
    export(tied(), FOLDER / "tied.onnx", ids)

    model = learned(gpt2)  # tied: both names are there
    save_file({name: t.detach().clone() for name, t in model.state_dict().items()}, FOLDER / "gpt2.safetensors")
    runs = {"gpt2": logits(model, ids)}

    model = learned(llama).half()
    save_file(model.state_dict(), FOLDER / "llama.safetensors")
    runs["llama"] = logits(model.float(), ids)

    model = learned(tied).bfloat16()  # in parts, the tied weight under one name
    model.save_pretrained(FOLDER, max_shard_size="6KB")
    runs["tied"] = logits(model.float(), ids)
    for name in ("config.json", "generation_config.json"):
        (FOLDER / name).unlink()
    (HERE / "weights.json").write_text(json.dumps({"dims": [BATCH, LENGTH], "vocabulary": VOCABULARY,
                                                   "logits": runs}) + "\n")


if __name__ == "__main__":
    main()
