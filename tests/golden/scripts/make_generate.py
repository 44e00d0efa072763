"""Writes generate/ and generate.json: small language models in the forms in which they are exported, and what
transformers makes of them.

gpt2.onnx takes tokens alone; gpt2_past.onnx and llama_past.onnx have keys and values of earlier tokens as inputs and
outputs, as Optimum names them, and gpt2_merged.onnx both ways, as its merged decoders do; llama_gqa.onnx is built of
GroupQueryAttention, as ONNX Runtime's model builder does. In generate.json: the tokens that generate gives,
and what its processors make of scores.

Run by hand: python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript transformers &&
build/venv/bin/python tests/golden/scripts/make_generate.py
"""
import json
import logging
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from transformers import (DynamicCache, GenerationConfig, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM,
                          LogitsProcessorList,
                          RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

HERE = Path(__file__).resolve().parents[1] / "data"
FOLDER = HERE / "generate"
WORDS, POSITIONS, NEW = 40, 64, 45
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

PROMPTS = [[7], [3, 1, 4, 1, 5, 9, 2, 6], [(5 * i * i + i) % WORDS for i in range(17)]]
OPTIONS = [{}, {"repetition_penalty": 1.3}]
SAMPLING = [
    {"temperature": 0.7},
    {"temperature": 1.5, "top_k": 5},
    {"temperature": 1.0, "top_k": 0, "top_p": 0.8},
    {"temperature": 0.9, "top_k": 12, "top_p": 0.6, "repetition_penalty": 1.4},
    {"temperature": 2.0, "top_k": 0, "top_p": 0.05, "repetition_penalty": 0.7},
]


def gpt2():
    return GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_positions=POSITIONS, n_embd=32, n_layer=2, n_head=2,
                                      initializer_range=0.4,
                                      attn_implementation="eager"))


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                        num_attention_heads=2,
                                        num_key_value_heads=1, max_position_embeddings=POSITIONS, initializer_range=0.4,
                                        attn_implementation="eager"))


class Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


class WithPast(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, past):
        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        made = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                          past_key_values=cache, use_cache=True)
        return (made.logits, *[each for layer in made.past_key_values.layers for each in (layer.keys, layer.values)])


def shorten(path):
    """Notes have this machine's folders, but for those that tell parameters from constants, and modules."""
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


def export_plain(model, path):
    dims = {"input_ids": {0: "batch", 1: "sequence"}}
    torch.onnx.export(Plain(model), (torch.ones(2, 5, dtype=torch.int64),), path, input_names=["input_ids"],
                      output_names=["logits"],
                      dynamic_shapes=dims, verbose=False, external_data=False, dynamo=True)
    shorten(path)


def export_past(model, path, layers, heads, size):
    names = [f"{layer}.{what}" for layer in range(layers) for what in ("key", "value")]
    past = tuple(torch.zeros(2, heads, 3, size) for _ in names)
    given = (torch.ones(2, 4, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64), torch.arange(3, 7).repeat(2, 1),
             past)
    dims = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "total"},
            "position_ids": {0: "batch", 1: "sequence"}, "past": tuple({0: "batch", 2: "past"} for _ in past)}
    torch.onnx.export(WithPast(model), given, path, dynamic_shapes=dims, verbose=False, external_data=False,
                      dynamo=True,
                      input_names=["input_ids", "attention_mask", "position_ids",
                                   *[f"past_key_values.{name}" for name in names]],
                      output_names=["logits", *[f"present.{name}" for name in names]])
    shorten(path)


def export_merged(past, path):
    """One file of two decoders, as Optimum merges them: an If takes that with a past, or that without, by
    use_cache_branch."""
    model = onnx.load(past)
    graph = model.graph
    outer = {value.name for value in [*graph.input, *graph.initializer]}
    pasts = [value.name for value in graph.input if value.name.startswith("past")]

    def branch(prefix, nodes, renamed):
        for node in graph.node:
            copy = helper.make_node(node.op_type, [], [], name=prefix + node.name, domain=node.domain)
            copy.attribute.extend(node.attribute)
            copy.input.extend(renamed.get(name) or (name if not name or name in outer else prefix + name)
                              for name in node.input)
            copy.output.extend(prefix + name for name in node.output)
            nodes.append(copy)
        outputs = [helper.make_tensor_value_info(prefix + value.name, TensorProto.FLOAT, None)
                   for value in graph.output]
        return helper.make_graph(nodes, prefix + "decoder", [], outputs)

    empty = {name: f"without.{name}" for name in pasts}
    nothing = [helper.make_node("Slice", [name, "nothing", "nothing", "past_axis"], [to], name=to)
               for name, to in empty.items()]
    branches = {"then_branch": branch("with.", [], {}), "else_branch": branch("without.", nothing, empty)}
    choice = helper.make_node("If", ["use_cache_branch"], [value.name for value in graph.output], name="optimum::if",
                              **branches)
    flag = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    held = [numpy_helper.from_array(np.array([0]), "nothing"), numpy_helper.from_array(np.array([2]), "past_axis")]
    merged = helper.make_graph([choice], "merged", [*graph.input, flag], list(graph.output),
                               [*graph.initializer, *held])
    onnx.save(helper.make_model(merged, ir_version=model.ir_version, opset_imports=model.opset_import), path)


def export_gqa(model, path):
    """The operators and inputs of ONNX Runtime's model builder."""
    config = model.config
    heads, kv = config.num_attention_heads, config.num_key_value_heads
    size = config.hidden_size // heads
    weights, nodes = {}, []

    def weight(name, values):
        weights[name] = np.ascontiguousarray(values, dtype=np.asarray(values).dtype)
        return name

    def node(op, inputs, outputs, domain="", **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, name="/" + outputs[0].replace(".", "/"), domain=domain,
                                      **attributes))
        return outputs[0]

    def linear(x, name, layer):
        return node("MatMul", [x, weight(f"{name}.MatMul.weight", layer.weight.detach().numpy().T)], [f"{name}.MatMul"])

    def norm(x, name, layer):
        return node("SimplifiedLayerNormalization", [x, weight(f"{name}.weight", layer.weight.detach().numpy())],
                    [f"{name}.out"], axis=-1,
                    epsilon=config.rms_norm_eps)

    state = model.model
    angles = np.outer(np.arange(POSITIONS), 1 / 10000 ** (np.arange(0, size, 2) / size))
    cos, sin = weight("cos_cache", np.cos(angles).astype(np.float32)), weight("sin_cache",
        np.sin(angles).astype(np.float32))
    count = node("ReduceSum", ["attention_mask", weight("one", np.array([1]))], ["mask_sum"], keepdims=0)
    last = node("Cast", [node("Sub", [count, "one"], ["mask_sum_less"])], ["seqlens_k"], to=TensorProto.INT32)
    total = node("Gather", [node("Shape", ["attention_mask"], ["mask_shape"]), weight("second", np.array(1))],
                 ["total"], axis=0)
    total = node("Cast", [total], ["total_seq_len"], to=TensorProto.INT32)
    x = node("Gather", [weight("embed_tokens.weight", state.embed_tokens.weight.detach().numpy()), "input_ids"],
             ["embed"])
    for i, layer in enumerate(state.layers):
        at, own = f"model.layers.{i}", layer.self_attn
        h = norm(x, f"{at}.input_layernorm", layer.input_layernorm)
        q, k, v = [linear(h, f"{at}.attn.{name}", getattr(own, name)) for name in ("q_proj", "k_proj", "v_proj")]
        past = [f"past_key_values.{i}.key", f"past_key_values.{i}.value"]
        y = node("GroupQueryAttention", [q, k, v, *past, last, total, cos, sin],
                 [f"{at}.attn.GQA", f"present.{i}.key", f"present.{i}.value"],
                 domain="com.microsoft", num_heads=heads, kv_num_heads=kv, do_rotary=1, rotary_interleaved=0)
        x = node("Add", [x, linear(y, f"{at}.attn.o_proj", own.o_proj)], [f"{at}.attn.out"])
        h = norm(x, f"{at}.post_attention_layernorm", layer.post_attention_layernorm)
        gate, up = linear(h, f"{at}.mlp.gate_proj", layer.mlp.gate_proj), linear(h, f"{at}.mlp.up_proj",
            layer.mlp.up_proj)
        gate = node("Mul", [gate, node("Sigmoid", [gate], [f"{at}.mlp.sigmoid"])], [f"{at}.mlp.silu"])
        h = node("Mul", [gate, up], [f"{at}.mlp.product"])
        x = node("Add", [x, linear(h, f"{at}.mlp.down_proj", layer.mlp.down_proj)], [f"{at}.mlp.out"])
    h = norm(x, "model.norm", state.norm)
    node("MatMul", [h, weight("lm_head.MatMul.weight", model.lm_head.weight.detach().numpy().T)], ["logits"])
    caches = [f"{i}.{what}" for i in range(config.num_hidden_layers) for what in ("key", "value")]
    cache = lambda name, dim: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch_size", kv, dim, size])
    graph = helper.make_graph(
        nodes, "main",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"]),
         helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"]),
         *[cache(f"past_key_values.{name}", "past_sequence_length") for name in caches]],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch_size", "sequence_length", WORDS]),
         *[cache(f"present.{name}", "total_sequence_length") for name in caches]],
        [numpy_helper.from_array(values, name) for name, values in weights.items()])
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=opsets), path)


def greedy(model):
    def tokens(prompt, options):
        config = GenerationConfig(max_new_tokens=NEW, do_sample=False, pad_token_id=0, **options)
        ids = torch.tensor([prompt])
        return model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)[0,
            len(prompt):].tolist()
    return [{"prompt": prompt, "options": options, "ids": tokens(prompt, options)} for prompt in PROMPTS
            for options in OPTIONS]


def processed(scores, ids, temperature, top_k=50, top_p=1.0, repetition_penalty=1.0):
    """The order of GenerationMixin._get_logits_processor."""
    steps = LogitsProcessorList()
    if repetition_penalty != 1.0:
        steps.append(RepetitionPenaltyLogitsProcessor(penalty=repetition_penalty))
    if temperature != 1.0:
        steps.append(TemperatureLogitsWarper(temperature))
    if top_k:
        steps.append(TopKLogitsWarper(top_k=top_k))
    if top_p < 1.0:
        steps.append(TopPLogitsWarper(top_p=top_p))
    return torch.softmax(steps(torch.tensor([ids]), torch.tensor([scores])), -1)[0].tolist()


def distributions():
    scores = [round(4 * float(np.sin(1.7 * i * i + 0.3)) - 0.05 * i, 4) for i in range(70)]
    ids = [3, 17, 3, 69, 20]
    rows = [{"options": options, "probabilities": [float(f"{p:.7g}") for p in processed(scores, ids, **options)]}
            for options in SAMPLING]
    return {"scores": scores, "ids": ids, "rows": rows}


def main():
    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(11)
    made = {}
    model = gpt2().eval()
    export_plain(model, FOLDER / "gpt2.onnx")
    export_past(model, FOLDER / "gpt2_past.onnx", 2, 2, 16)
    export_merged(FOLDER / "gpt2_past.onnx", FOLDER / "gpt2_merged.onnx")
    made["gpt2"] = greedy(model)
    model = llama().eval()
    export_past(model, FOLDER / "llama_past.onnx", 2, 1, 16)
    export_gqa(model, FOLDER / "llama_gqa.onnx")
    made["llama"] = greedy(model)
    (HERE / "generate.json").write_text(json.dumps({"greedy": made, "sampling": distributions()}) + "\n")


if __name__ == "__main__":
    main()
