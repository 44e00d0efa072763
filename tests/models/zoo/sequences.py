"""Networks of signals and series, and those of no other kind: recurrent, convolutions over time, policies, graphs."""

import torch
from torch import nn
from torch.nn import functional as F

from .case import Case


def series(length, channels):
    return lambda batch: (torch.randn(batch, length, channels),)


class Recurrent(nn.Module):
    """Two layers of PyTorch's recurrent kinds, both directions, and a linear layer on the last step."""

    def __init__(self, kind):
        super().__init__()
        self.layers, self.last = kind(6, 16, 2, batch_first=True, bidirectional=True), nn.Linear(32, 5)

    def forward(self, x):
        return self.last(self.layers(x)[0][:, -1])


class Temporal(nn.Module):
    """A TCN: causal convolutions, dilated, with residuals and weight normalization (Bai and others, 2018)."""

    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.convs = nn.ModuleList(norm(nn.Conv1d(6 if i == 0 else 16, 16, 3, dilation=2 ** i)) for i in range(3))
        self.skip, self.last = nn.Conv1d(6, 16, 1), nn.Linear(16, 5)

    def forward(self, x):
        x = x.transpose(1, 2)
        for i, conv in enumerate(self.convs):
            y = F.relu(conv(F.pad(x, (2 * 2 ** i, 0))))
            x = y + (self.skip(x) if i == 0 else x)
        return self.last(x[:, :, -1])


class Sensors(nn.Module):
    """Convolutions over time and an LSTM, as wrist bands and wake words have them."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv1d(6, 16, 5), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
                                   nn.Conv1d(16, 16, 3), nn.BatchNorm1d(16), nn.ReLU())
        self.lstm, self.last = nn.LSTM(16, 16, batch_first=True), nn.Linear(16, 5)

    def forward(self, x):
        x = self.convs(x.transpose(1, 2)).transpose(1, 2)
        return self.last(self.lstm(x)[1][0][-1])


class Policy(nn.Module):
    """An actor and a critic, their outputs side by side."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, x):
        x = self.shared(x)
        return torch.cat([F.log_softmax(self.actor(x), -1), self.critic(x)], -1)


class GraphNetwork(nn.Module):
    """Two rounds of messages along edges, each summed where it arrives by a scatter."""

    def __init__(self):
        super().__init__()
        self.messages = nn.ModuleList([nn.Linear(16, 8), nn.Linear(16, 8)])
        self.last = nn.Linear(8, 3)

    def forward(self, nodes, edges):
        for message in self.messages:
            taken = torch.relu(message(torch.cat([nodes[edges[0]], nodes[edges[1]]], -1)))
            nodes = nodes + torch.zeros_like(nodes).scatter_add(0, edges[1][:, None].expand(-1, 8), taken)
        return self.last(nodes)


class Experts(nn.Module):
    """A mixture of four experts, of which each token takes its best two (Shazeer and others, 2017)."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.up, self.down = nn.Parameter(torch.randn(4, 16, 32) / 4), nn.Parameter(torch.randn(4, 32, 16) / 6)
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        best, which = self.gate(x).topk(2, -1)
        share = torch.zeros_like(self.gate(x)).scatter(-1, which, best.softmax(-1))
        y = torch.einsum("bsef,efd->bsed", F.gelu(torch.einsum("bsd,edf->bsef", x, self.up)), self.down)
        return self.last(x + (share[..., None] * y).sum(2))


class Encoder(nn.Module):
    """PyTorch's own transformer layers, over a series."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 32), nn.Linear(32, 5)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.last(self.layers(self.first(x)).mean(1))


class Translator(nn.Module):
    """nn.Transformer whole: encoder and decoder, with a causal mask."""

    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(40, 32)
        self.layers = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.last = nn.Linear(32, 40)

    def forward(self, source, target):
        mask = torch.triu(torch.full((target.shape[1],) * 2, float("-inf")), 1)
        return self.last(self.layers(self.word(source), self.word(target), tgt_mask=mask))


class Mlp(nn.Module):
    """Columns of a table, with an embedding for one of them."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.layers = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.SiLU(),
                                    nn.LayerNorm(32), nn.Linear(32, 1))

    def forward(self, numbers, kind):
        return self.layers(torch.cat([numbers, self.embed(kind)], -1))


class Forecast(nn.Module):
    """N-BEATS (Oreshkin and others, 2020): blocks that take away what they explain."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 32)) for _ in range(3))

    def forward(self, x):
        sum_ = 0
        for block in self.blocks:
            back, ahead = block(x).split([24, 8], -1)
            x, sum_ = x - back, sum_ + ahead
        return sum_


def words_of_two(batch):
    return torch.randint(0, 40, (batch, 7)), torch.randint(0, 40, (batch, 5))


def graph(_batch):
    return torch.randn(9, 8), torch.randint(0, 9, (2, 20))


scores = {"loss": "cross-entropy"}
lstm = Case(lambda: Recurrent(nn.LSTM), series(10, 6), **scores)
gru = Case(lambda: Recurrent(nn.GRU), series(10, 6), **scores)
encoder = Case(Encoder, series(12, 6), **scores)
sensors = Case(Sensors, series(24, 6), **scores)
rnn = Case(lambda: Recurrent(nn.RNN), series(10, 6), **scores)
tcn = Case(Temporal, series(20, 6), **scores)

MODELS = {
    "LSTM, two layers both ways": lstm,
    "LSTM, script": lstm.scripted(batch=1),
    "GRU, two layers both ways": gru,
    "GRU, script": gru.scripted(batch=1),
    "RNN, two layers both ways": rnn,
    "RNN, optimize=False": rnn.plain(),
    "RNN, script": rnn.scripted(batch=1),
    "TCN with weight norm": tcn,
    "TCN with weight norm, optimize=False": tcn.plain(),
    "Sensors: CNN and LSTM": sensors,
    "Sensors, script": sensors.scripted(batch=1),
    "Sensors, script, training mode": sensors.scripted(training=True),
    "nn.TransformerEncoder": encoder,
    "nn.TransformerEncoder, script": encoder.scripted(),
    "nn.Transformer, script": Case(Translator, words_of_two, **scores, exporter="script"),
    "Policy and value": Case(Policy, lambda batch: (torch.randn(batch, 8),)),
    "Graph network": Case(GraphNetwork, graph),
    "Mixture of experts": Case(Experts, series(6, 16), **scores),
    "Table with an embedding": Case(Mlp, lambda batch: (torch.randn(batch, 8), torch.randint(0, 7, (batch,)))),
    "N-BEATS": Case(Forecast, lambda batch: (torch.randn(batch, 24),)),
}
