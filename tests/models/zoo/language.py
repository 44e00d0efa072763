"""Networks of transformers and diffusers, with configurations made small and weights drawn at random."""

import diffusers
import torch
import transformers as hf

from .case import Case, Taking, pictures, tokens

WORDS, LENGTH = 96, 12
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "vocab_size": WORDS}
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def made(kind, config, pick="logits", names=("input_ids",), **fixed):
    """Attention as its formula or as PyTorch's function, whatever the library's default is."""
    return lambda: Taking(kind(config), pick, names, **fixed)


def decoder(kind, config, **more):
    return Case(made(kind, config, use_cache=False), tokens(LENGTH, WORDS), loss="cross-entropy", **more)


def encoder(kind, config, **more):
    return Case(made(kind, config), tokens(LENGTH, WORDS), loss="cross-entropy", **more)


def with_mask(batch):
    """The second example is shorter, as a tokenizer's padding leaves it."""
    mask = torch.ones(batch, LENGTH, dtype=torch.int64)
    mask[1:, LENGTH - 4:] = 0
    return torch.randint(1, WORDS, (batch, LENGTH)), mask


def pairs(batch):
    return torch.randint(1, WORDS, (batch, LENGTH)), torch.randint(1, WORDS, (batch, 5))


def llama(kind, config, **more):
    return decoder(kind, config(**SMALL, num_key_value_heads=2, max_position_embeddings=64, **more))


bert_config = hf.BertConfig(**SMALL, **STILL, max_position_embeddings=64, num_labels=3)
gpt2_config = hf.GPT2Config(vocab_size=WORDS, n_positions=64, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0,
                            embd_pdrop=0.0, attn_pdrop=0.0)
t5_config = hf.T5Config(vocab_size=WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
                        decoder_start_token_id=0, attn_implementation="eager")
whisper_config = hf.WhisperConfig(vocab_size=WORDS, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=2,
                                  encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                                  decoder_ffn_dim=64, max_source_positions=20, max_target_positions=32, dropout=0.0,
                                  pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
wav2vec2_config = hf.Wav2Vec2Config(
    vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    conv_dim=(16, 16, 16), conv_stride=(5, 4, 4), conv_kernel=(10, 8, 4), num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=4, hidden_dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
    feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=0.0, mask_time_prob=0.0, mask_feature_prob=0.0)
clip_config = hf.CLIPConfig(
    text_config={**SMALL, "max_position_embeddings": 16, "eos_token_id": WORDS - 1, "projection_dim": 16},
    vision_config={"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
                   "image_size": 32, "patch_size": 8, "projection_dim": 16}, projection_dim=16)

gpt2 = decoder(hf.GPT2LMHeadModel, gpt2_config)
bert = Case(made(hf.BertForSequenceClassification, bert_config, names=("input_ids", "attention_mask")), with_mask,
            loss="cross-entropy")


def clip_inputs(batch):
    return torch.randint(1, WORDS - 1, (3, 8)), torch.randn(batch, 3, 32, 32)


def whisper_inputs(batch):
    return torch.randn(batch, 16, 40), torch.randint(1, WORDS, (batch, 5))


def diffusion_unet():
    net = diffusers.UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1,
                                block_out_channels=(16, 32), norm_num_groups=4, attention_head_dim=8,
                                down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                                up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    return Taking(net, "sample")


def conditioned_unet():
    net = diffusers.UNet2DConditionModel(sample_size=8, in_channels=4, out_channels=4, layers_per_block=1,
                                         block_out_channels=(16, 32), norm_num_groups=4, attention_head_dim=8,
                                         cross_attention_dim=24,
                                         down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                                         up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))
    return Taking(net, "sample")


def autoencoder():
    net = diffusers.AutoencoderKL(block_out_channels=(8, 16), norm_num_groups=4, sample_size=16, latent_channels=4,
                                  down_block_types=("DownEncoderBlock2D",) * 2,
                                  up_block_types=("UpDecoderBlock2D",) * 2)
    return Taking(net, "sample")


MODELS = {
    "BERT classifier": bert,
    "BERT classifier, script": bert.scripted(),
    "BERT, masked words": encoder(hf.BertForMaskedLM, bert_config),
    "DistilBERT": encoder(hf.DistilBertForSequenceClassification, hf.DistilBertConfig(
        vocab_size=WORDS, dim=32, n_layers=2, n_heads=4, hidden_dim=64, dropout=0.0, attention_dropout=0.0,
        seq_classif_dropout=0.0, max_position_embeddings=64, num_labels=3)),
    "RoBERTa": encoder(hf.RobertaForTokenClassification, hf.RobertaConfig(
        **SMALL, **STILL, max_position_embeddings=64, num_labels=4)),
    "ALBERT": encoder(hf.AlbertForSequenceClassification, hf.AlbertConfig(
        **SMALL, **STILL, embedding_size=16, max_position_embeddings=64, num_labels=3, classifier_dropout_prob=0.0)),
    "ELECTRA": encoder(hf.ElectraForSequenceClassification, hf.ElectraConfig(
        **SMALL, **STILL, embedding_size=16, max_position_embeddings=64, num_labels=3)),
    "DeBERTa v2": encoder(hf.DebertaV2ForSequenceClassification, hf.DebertaV2Config(
        **SMALL, **STILL, max_position_embeddings=64, num_labels=3, relative_attention=True, position_buckets=8,
        pos_att_type=["p2c", "c2p"], pooler_hidden_size=32, pooler_dropout=0.0)),
    "ModernBERT": encoder(hf.ModernBertForSequenceClassification, hf.ModernBertConfig(
        **SMALL, max_position_embeddings=64, num_labels=3, attention_dropout=0.0, embedding_dropout=0.0,
        mlp_dropout=0.0, classifier_dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1,
        sep_token_id=2, local_attention=8)),
    "GPT-2": gpt2,
    "GPT-NeoX": decoder(hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig(
        **SMALL, max_position_embeddings=64, hidden_dropout=0.0, attention_dropout=0.0)),
    "OPT": decoder(hf.OPTForCausalLM, hf.OPTConfig(
        vocab_size=WORDS, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=64, dropout=0.0, word_embed_proj_dim=32)),
    "BLOOM": decoder(hf.BloomForCausalLM, hf.BloomConfig(
        vocab_size=WORDS, hidden_size=32, n_layer=2, n_head=4, hidden_dropout=0.0, attention_dropout=0.0)),
    "Llama": llama(hf.LlamaForCausalLM, hf.LlamaConfig),
    "Qwen2": llama(hf.Qwen2ForCausalLM, hf.Qwen2Config),
    "Qwen3": llama(hf.Qwen3ForCausalLM, hf.Qwen3Config, head_dim=8),
    "Mistral": llama(hf.MistralForCausalLM, hf.MistralConfig, sliding_window=8),
    "Gemma 2": llama(hf.Gemma2ForCausalLM, hf.Gemma2Config, head_dim=8, sliding_window=8),
    "Phi-3": llama(hf.Phi3ForCausalLM, hf.Phi3Config, pad_token_id=0),
    "Mixtral": llama(hf.MixtralForCausalLM, hf.MixtralConfig, num_local_experts=4, num_experts_per_tok=2,
                     experts_implementation="batched_mm"),
    "Mamba": decoder(hf.MambaForCausalLM, hf.MambaConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=8, conv_kernel=4)),
    "RWKV": decoder(hf.RwkvForCausalLM, hf.RwkvConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, intermediate_size=64,
        context_length=64)),
    "T5": Case(made(hf.T5ForConditionalGeneration, t5_config, names=("input_ids", "decoder_input_ids"),
                    use_cache=False), pairs, loss="cross-entropy"),
    "Whisper": Case(made(hf.WhisperForConditionalGeneration, whisper_config,
                         names=("input_features", "decoder_input_ids"), use_cache=False), whisper_inputs,
                    loss="cross-entropy"),
    "wav2vec 2.0": Case(made(hf.Wav2Vec2ForCTC, wav2vec2_config, names=("input_values",)),
                        lambda batch: (torch.randn(batch, 1600),), loss="cross-entropy"),
    "CLIP": Case(made(hf.CLIPModel, clip_config, "logits_per_image", ("input_ids", "pixel_values")), clip_inputs,
                 loss="cross-entropy"),
    "ViT of transformers": Case(made(hf.ViTForImageClassification, hf.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, **STILL, image_size=32,
        patch_size=8, num_labels=5), names=("pixel_values",)), pictures(3, 32), loss="cross-entropy"),
    "SegFormer": Case(made(hf.SegformerForSemanticSegmentation, hf.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], decoder_hidden_size=32, num_attention_heads=[1, 2, 2, 4],
        **STILL, classifier_dropout_prob=0.0, drop_path_rate=0.0, num_labels=4), names=("pixel_values",)),
        pictures(3, 64), loss="cross-entropy", axis=1),
    "Diffusion U-Net": Case(diffusion_unet, lambda batch: (torch.randn(batch, 3, 16, 16),
                                                           torch.randint(0, 1000, (batch,)))),
    "Stable Diffusion's U-Net": Case(conditioned_unet, lambda batch: (
        torch.randn(batch, 4, 8, 8), torch.randint(0, 1000, (batch,)), torch.randn(batch, 6, 24))),
    "Stable Diffusion's VAE": Case(autoencoder, pictures(3, 16)),
}

MODELS |= {f"{name}, optimize=False": case.plain() for name, case in MODELS.items() if case.exporter == "dynamo"}
