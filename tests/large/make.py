"""Writes a language model of SmolLM2-135M's shape with random weights, as PyTorch exports it: FOLDER/model.onnx and its
weights in FOLDER/model.onnx.data (538 MB).

python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript transformers && build/venv/bin/python
tests/large/make.py FOLDER
"""
import logging
import sys
import warnings
from pathlib import Path

import onnx
import torch
from transformers import LlamaConfig, LlamaForCausalLM

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=49152, hidden_size=576, intermediate_size=1536,
                                         num_hidden_layers=30, num_attention_heads=9,
                                         num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5,
                                         tie_word_embeddings=True,
                                         initializer_range=0.02, attn_implementation="eager"))
    ids = torch.randint(49152, (2, 16))
    dims = {"input_ids": {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=8192)}}
    torch.onnx.export(Logits(model.eval()), (ids,), folder / "model.onnx", input_names=["input_ids"],
                      output_names=["logits"],
                      dynamic_shapes=dims, verbose=False, external_data=True, dynamo=True)
    made = onnx.load(folder / "model.onnx", load_external_data=False)
    print(sum(p.numel() for p in model.parameters()), "parameters,", len(made.graph.node), "nodes,",
          len(made.graph.initializer), "initializers")


main()
