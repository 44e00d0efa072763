"""Networks of sound: transformers', and some written as their papers have them."""

import torch
import transformers as hf
from torch import nn
from torch.nn import functional as F

from .case import Case, each_way
from .language import made

STILL = {"hidden_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "feat_proj_dropout": 0.0,
         "final_dropout": 0.0, "layerdrop": 0.0, "mask_time_prob": 0.0, "mask_feature_prob": 0.0}
EARS = {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "conv_dim": (16, 16, 16), "conv_stride": (5, 4, 4), "conv_kernel": (10, 8, 4), "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 4}


def sound(length):
    return lambda batch: (torch.randn(batch, length),)


def hears(name, **config):
    kind = getattr(hf, f"{name}ForCTC")
    return Case(made(kind, getattr(hf, f"{name}Config")(**{**EARS, **STILL, **config}), names=("input_values",)),
                sound(1600), loss="cross-entropy")


class MatchBoxBlock(nn.Module):
    """Separable convolutions over time with a residual, as keyword spotters have them (Majumdar and others, 2020)."""

    def __init__(self, width, kernel):
        super().__init__()
        self.deep = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width, bias=False)
        self.wide, self.norm = nn.Conv1d(width, width, 1, bias=False), nn.BatchNorm1d(width)
        self.skip = nn.Sequential(nn.Conv1d(width, width, 1, bias=False), nn.BatchNorm1d(width))

    def forward(self, x):
        return F.relu(self.norm(self.wide(self.deep(x))) + self.skip(x))


class MatchBoxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(16, 24, 11, stride=2, padding=5)
        self.blocks = nn.Sequential(MatchBoxBlock(24, 13), MatchBoxBlock(24, 15))
        self.last = nn.Conv1d(24, 6, 1)

    def forward(self, mel):
        return self.last(self.blocks(F.relu(self.first(mel)))).mean(-1)


class DeepSpeech(nn.Module):
    """Convolutions over a spectrogram, a GRU both ways, scores of letters for each frame (Amodei and others, 2015)."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv2d(1, 4, (11, 5), (2, 1), (5, 2)), nn.BatchNorm2d(4), nn.Hardtanh(0, 20),
                                   nn.Conv2d(4, 4, (11, 5), (2, 1), (5, 2)), nn.BatchNorm2d(4), nn.Hardtanh(0, 20))
        self.rnn = nn.GRU(16, 16, batch_first=True, bidirectional=True)
        self.norm, self.last = nn.LayerNorm(32), nn.Linear(32, 12)

    def forward(self, mel):
        x = self.convs(mel[:, None]).flatten(1, 2).transpose(1, 2)
        return self.last(self.norm(self.rnn(x)[0]))


class ConformerBlock(nn.Module):
    """Half a feed-forward, attention, a gated depthwise convolution, the other half (Gulati and others, 2020)."""

    def __init__(self, width=32):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
        self.halves = nn.ModuleList(nn.Sequential(nn.Linear(width, 64), nn.SiLU(), nn.Linear(64, width))
                                    for _ in range(2))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.gate, self.deep = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 7, padding=3, groups=width)
        self.batch, self.out = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def forward(self, x):
        x = x + 0.5 * self.halves[0](self.norms[0](x))
        y = self.norms[1](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        y = self.deep(F.glu(self.gate(self.norms[2](x).transpose(1, 2)), 1))
        x = x + self.out(F.silu(self.batch(y))).transpose(1, 2)
        return self.norms[4](x + 0.5 * self.halves[1](self.norms[3](x)))


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.block, self.last = nn.Linear(16, 32), ConformerBlock(), nn.Linear(32, 12)

    def forward(self, frames):
        return self.last(self.block(self.first(frames)))


class Spectral(nn.Module):
    """A classifier over a spectrogram that the network computes itself."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.layers = nn.Sequential(nn.Conv1d(33, 16, 3), nn.ReLU(), nn.Conv1d(16, 16, 3), nn.ReLU())
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        spectrum = torch.stft(x, 64, 32, window=self.window, return_complex=True).abs()
        return self.last(self.layers(torch.log1p(spectrum)).mean(-1))


class TasNet(nn.Module):
    """A learned basis, a mask over it, and the way back (Luo and Mesgarani, 2019)."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, 24, 16, 8, bias=False), nn.ConvTranspose1d(24, 1, 16, 8, bias=False)
        self.norm = nn.GroupNorm(1, 24)
        self.mask = nn.Sequential(nn.Conv1d(24, 16, 1), nn.Conv1d(16, 16, 3, padding=2, dilation=2, groups=16),
                                  nn.PReLU(), nn.GroupNorm(1, 16), nn.Conv1d(16, 24, 1), nn.Sigmoid())

    def forward(self, x):
        basis = F.relu(self.encode(x[:, None]))
        return self.decode(basis * self.mask(self.norm(basis)))[:, 0]


def frames(batch):
    return (torch.randn(batch, 24, 16),)


def mel(batch):
    return (torch.randn(batch, 16, 48),)


ast_config = hf.ASTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                          patch_size=8, max_length=64, num_mel_bins=16, frequency_stride=8, time_stride=8, num_labels=5)
speech2text_config = hf.Speech2TextConfig(
    vocab_size=32, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
    decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, input_feat_per_channel=16, conv_channels=16,
    max_source_positions=64, max_target_positions=32, dropout=0.0, pad_token_id=0, decoder_start_token_id=1)

CASES = {
    "HuBERT": hears("Hubert"),
    "WavLM": hears("WavLM"),
    "SEW": hears("SEW", squeeze_factor=2),
    "data2vec of sounds": hears("Data2VecAudio", conv_pos_kernel_size=5, num_conv_pos_embeddings=2),
    "UniSpeech": hears("UniSpeech"),
    "AST": Case(made(hf.ASTForAudioClassification, ast_config, names=("input_values",)),
                lambda batch: (torch.randn(batch, 64, 16),), loss="cross-entropy"),
    "Speech2Text": Case(made(hf.Speech2TextForConditionalGeneration, speech2text_config,
                             names=("input_features", "decoder_input_ids"), use_cache=False),
                        lambda batch: (torch.randn(batch, 40, 16), torch.randint(1, 32, (batch, 5))),
                        loss="cross-entropy"),
    "MatchboxNet": Case(MatchBoxNet, mel, loss="cross-entropy", batch=4),
    "DeepSpeech 2": Case(DeepSpeech, lambda batch: (torch.randn(batch, 16, 40),), loss="cross-entropy", batch=4),
    "Conformer": Case(Conformer, frames, loss="cross-entropy", batch=4),
    "Spectrogram within": Case(Spectral, sound(512), loss="cross-entropy"),
    "Conv-TasNet": Case(TasNet, sound(256)),
}
MODELS = each_way(CASES, ["Spectrogram within"])  # complex numbers, which it does not write
