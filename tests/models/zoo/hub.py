"""More of transformers: encoders, decoders, translators, pictures and series, small and with random weights."""

from dataclasses import replace

import torch
import transformers as hf

from .case import Case, Taking, pictures, each_way, tokens
from .language import LENGTH, SMALL, STILL, WORDS, decoder, encoder, llama, made, pairs

PLACES = {"max_position_embeddings": 64}
LABELS = {"num_labels": 3}
SINES = ("*.embed_positions.weight",)
TRANSLATOR = {"vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
              "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
              "max_position_embeddings": 64, "dropout": 0.0, "attention_dropout": 0.0, "encoder_layerdrop": 0.0,
              "decoder_layerdrop": 0.0, "pad_token_id": 0, "decoder_start_token_id": 1}
EYES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "image_size": 32, "patch_size": 8, "num_labels": 5}


def classifier(name, config, **more):
    kind = getattr(hf, f"{name}ForSequenceClassification")
    return encoder(kind, getattr(hf, f"{name}Config")(**SMALL, **STILL, **LABELS, **config), **more)


def language_model(name, **config):
    return decoder(getattr(hf, f"{name}ForCausalLM"), getattr(hf, f"{name}Config")(**config))


def gpt_like(name, **config):
    return language_model(name, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=64, resid_pdrop=0.0,
                          embd_pdrop=0.0, attn_pdrop=0.0, **config)


def llama_like(name, **more):
    return llama(getattr(hf, f"{name}ForCausalLM"), getattr(hf, f"{name}Config"), **more)


def translator(name, **config):
    kind = getattr(hf, f"{name}ForConditionalGeneration", None) or getattr(hf, f"{name}MTModel")
    return Case(made(kind, getattr(hf, f"{name}Config")(**{**TRANSLATOR, **config}),
                     names=("input_ids", "decoder_input_ids"), use_cache=False), pairs, loss="cross-entropy")


def sees(name, pick="logits", kind="ForImageClassification", size=32, **config):
    whole = getattr(hf, f"{name}Config")(**{**EYES, **config})
    return Case(made(getattr(hf, f"{name}{kind}"), whole, pick, names=("pixel_values",)), pictures(3, size),
                loss="cross-entropy" if pick == "logits" else "mse", optimizer="sgd")


def foresees(name, pick="prediction_outputs", **config):
    whole = getattr(hf, f"{name}Config")(context_length=32, prediction_length=8, num_input_channels=3, **config)
    return Case(made(getattr(hf, f"{name}ForPrediction"), whole, pick, names=("past_values",)),
                lambda batch: (torch.randn(batch, 32, 3),))


def xlnet():
    return encoder(hf.XLNetForSequenceClassification, hf.XLNetConfig(
        vocab_size=WORDS, d_model=32, n_layer=2, n_head=4, d_inner=64, dropout=0.0, summary_last_dropout=0.0,
        num_labels=3))


def funnel():
    return encoder(hf.FunnelForSequenceClassification, hf.FunnelConfig(
        vocab_size=WORDS, block_sizes=[1, 1], num_decoder_layers=1, d_model=32, n_head=4, d_head=8, d_inner=64,
        hidden_dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, num_labels=3))


def masked_series(batch):
    return (torch.randn(batch, 32, 3),)


CASES = {
    "MPNet": classifier("MPNet", PLACES),
    "ConvBERT": classifier("ConvBert", {**PLACES, "embedding_size": 32, "conv_kernel_size": 3, "head_ratio": 2,
                                        "classifier_dropout": 0.0}),
    "RoFormer": classifier("RoFormer", {**PLACES, "embedding_size": 32}),
    "MobileBERT": encoder(hf.MobileBertForSequenceClassification, hf.MobileBertConfig(
        **SMALL, **STILL, **PLACES, **LABELS, embedding_size=16, intra_bottleneck_size=16, true_hidden_size=16)),
    "SqueezeBERT": classifier("SqueezeBert", {**PLACES, "embedding_size": 32}),
    "FNet": encoder(hf.FNetForSequenceClassification, hf.FNetConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, intermediate_size=64, hidden_dropout_prob=0.0,
        max_position_embeddings=64, num_labels=3)),
    "XLNet": xlnet(),
    "Funnel": funnel(),
    "CANINE": encoder(hf.CanineForSequenceClassification, hf.CanineConfig(
        **{**SMALL, "vocab_size": None}, **STILL, **LABELS, max_position_embeddings=64, num_hash_functions=2,
        num_hash_buckets=32, downsampling_rate=4, local_transformer_stride=8, upsampling_kernel_size=3)),
    "GPT-J": gpt_like("GPTJ", rotary_dim=4),
    "CodeGen": gpt_like("CodeGen", rotary_dim=4),
    "GPT-Neo": language_model("GPTNeo", vocab_size=WORDS, hidden_size=32, num_layers=2, num_heads=4,
                              attention_types=[[["global", "local"], 1]], window_size=4, max_position_embeddings=64,
                              resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0),
    "Falcon": language_model("Falcon", vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                             hidden_dropout=0.0, attention_dropout=0.0, alibi=False),
    "MPT": language_model("Mpt", vocab_size=WORDS, d_model=32, n_heads=4, n_layers=2, max_seq_len=64),
    "Phi": llama_like("Phi", resid_pdrop=0.0, embd_pdrop=0.0),
    "StableLM": llama_like("StableLm"),
    "OLMo 2": llama_like("Olmo2"),
    "Gemma": llama_like("Gemma", head_dim=8),
    "Gemma 3": llama(hf.Gemma3ForCausalLM, hf.Gemma3TextConfig, head_dim=8, sliding_window=8),
    "Granite": llama_like("Granite"),
    "Starcoder 2": llama_like("Starcoder2", residual_dropout=0.0, embedding_dropout=0.0),
    "Cohere": llama_like("Cohere"),
    "GLM": llama_like("Glm", head_dim=8, pad_token_id=0),
    "SmolLM 3": llama_like("SmolLM3", pad_token_id=0),
    "BART": translator("Bart"),
    "Marian": replace(translator("Marian"), frozen=SINES),
    "Pegasus": replace(translator("Pegasus"), frozen=SINES),
    "M2M-100": translator("M2M100"),
    "UMT5": Case(made(hf.UMT5ForConditionalGeneration, hf.UMT5Config(
        vocab_size=WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0), names=("input_ids", "decoder_input_ids"), use_cache=False), pairs,
        loss="cross-entropy"),
    "DINOv2": sees("Dinov2", mlp_ratio=2),
    "data2vec of pictures": sees("Data2VecVision", hidden_dropout_prob=0.0, drop_path_rate=0.0),
    "SigLIP, pictures": sees("SiglipVision", "pooler_output", "Model"),
    "PatchTST": foresees("PatchTST", patch_length=4, patch_stride=4, d_model=16, num_attention_heads=2,
                         num_hidden_layers=1, ffn_dim=32, ff_dropout=0.0, head_dropout=0.0, attention_dropout=0.0,
                         positional_dropout=0.0, path_dropout=0.0, loss="mse"),
    "PatchTSMixer": foresees("PatchTSMixer", patch_length=8, patch_stride=8, d_model=16, num_layers=2, dropout=0.0,
                             head_dropout=0.0),
}
# aten::diff and fft_fftn, which it does not write; series that it writes in shapes that no runtime takes
SCRIPTLESS = ("FNet", "GPT-J", "CodeGen", "GPT-Neo", "Phi", "StableLM", "OLMo 2", "Gemma", "Gemma 3", "Granite",
              "Starcoder 2", "Cohere", "GLM", "SmolLM 3", "PatchTST", "PatchTSMixer")
MODELS = each_way(CASES, SCRIPTLESS)
