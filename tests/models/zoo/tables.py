"""Networks of tables and of users and items, written as their papers have them."""

import torch
from torch import nn
from torch.nn import functional as F

from .case import Case, each_way

KINDS = (5, 7, 9)  # of three columns of words


def row(batch):
    kinds = torch.stack([torch.randint(0, count, (batch,)) for count in KINDS], 1)
    return torch.randn(batch, 6), kinds


def ratings(batch):
    return torch.randint(0, 20, (batch,)), torch.randint(0, 30, (batch,))


class Columns(nn.Module):
    """An embedding for each column of words, (N, 3, width)."""

    def __init__(self, width):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(count, width) for count in KINDS)

    def forward(self, kinds):
        return torch.stack([table(kinds[:, i]) for i, table in enumerate(self.tables)], 1)


class FTTransformer(nn.Module):
    """Each column is a token, numbers too (Gorishniy and others, 2021)."""

    def __init__(self):
        super().__init__()
        self.scale, self.offset = nn.Parameter(torch.randn(6, 16)), nn.Parameter(torch.randn(6, 16))
        self.columns, self.cls = Columns(16), nn.Parameter(torch.randn(1, 1, 16))
        self.layers = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True), 2,
            enable_nested_tensor=False)
        self.last = nn.Sequential(nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, numbers, kinds):
        tokens = torch.cat([self.cls.expand(numbers.shape[0], -1, -1), numbers[..., None] * self.scale + self.offset,
                            self.columns(kinds)], 1)
        return self.last(self.layers(tokens)[:, 0])


class TabTransformer(nn.Module):
    """Attention among columns of words alone (Huang and others, 2020)."""

    def __init__(self):
        super().__init__()
        self.columns = Columns(16)
        self.attention, self.norm = nn.MultiheadAttention(16, 2, batch_first=True), nn.LayerNorm(16)
        self.numbers = nn.LayerNorm(6)
        self.last = nn.Sequential(nn.Linear(54, 32), nn.SELU(), nn.Linear(32, 3))

    def forward(self, numbers, kinds):
        x = self.columns(kinds)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return self.last(torch.cat([x.flatten(1), self.numbers(numbers)], 1))


class TabNet(nn.Module):
    """Steps that look at some columns each, by a learned mask (Arik and Pfister, 2019), with softmax for sparsemax."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.masks = nn.ModuleList(nn.Linear(8, 6) for _ in range(3))
        self.shared = nn.Linear(6, 32)
        self.own = nn.ModuleList(nn.Linear(16, 32) for _ in range(3))
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        x = self.norm(x)
        prior, known, given = torch.ones_like(x), x.new_zeros(x.shape[0], 8), 0
        for mask, own in zip(self.masks, self.own):
            share = (mask(known) * prior).softmax(-1)
            prior = prior * (1.3 - share)
            y = F.glu(own(F.glu(self.shared(x * share))))
            decision, known = y.split(8, -1)
            given = given + F.relu(decision)
        return self.last(given)


class DeepFM(nn.Module):
    """A factorization machine beside a deep network over the same embeddings (Guo and others, 2017)."""

    def __init__(self):
        super().__init__()
        self.first, self.columns = Columns(1), Columns(8)
        self.deep = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, numbers, kinds):
        x = self.columns(kinds)
        pairs = 0.5 * (x.sum(1).square() - x.square().sum(1)).sum(1, keepdim=True)
        return self.first(kinds).sum(1) + pairs + self.deep(torch.cat([x.flatten(1), numbers], 1))


class CrossNetwork(nn.Module):
    """DCN v2 (Wang and others, 2020): products of features with themselves, beside a deep network."""

    def __init__(self):
        super().__init__()
        self.columns = Columns(4)
        self.crosses = nn.ModuleList(nn.Linear(18, 18) for _ in range(2))
        self.deep = nn.Sequential(nn.Linear(18, 16), nn.ReLU())
        self.last = nn.Linear(34, 1)

    def forward(self, numbers, kinds):
        x = first = torch.cat([self.columns(kinds).flatten(1), numbers], 1)
        for cross in self.crosses:
            x = first * cross(x) + x
        return self.last(torch.cat([x, self.deep(first)], 1))


class WideAndDeep(nn.Module):
    """A linear model over columns beside a deep network (Cheng and others, 2016)."""

    def __init__(self):
        super().__init__()
        self.wide, self.columns = Columns(1), Columns(8)
        self.deep = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 1))

    def forward(self, numbers, kinds):
        return self.wide(kinds).sum(1) + self.deep(torch.cat([self.columns(kinds).flatten(1), numbers], 1))


class TableResNet(nn.Module):
    """Residual blocks with BatchNorm (Gorishniy and others, 2021)."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.blocks = nn.ModuleList(nn.Sequential(nn.BatchNorm1d(16), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
                                    for _ in range(2))
        self.last = nn.Sequential(nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


class Node(nn.Module):
    """Soft oblivious trees (Popov and others, 2019): thresholds of features, and an answer for each leaf."""

    def __init__(self, trees=4, depth=3):
        super().__init__()
        self.choose = nn.Parameter(torch.randn(6, trees, depth))
        self.threshold, self.slope = nn.Parameter(torch.randn(trees, depth)), nn.Parameter(torch.zeros(trees, depth))
        self.answer = nn.Parameter(torch.randn(trees, 2 ** depth, 3))

    def forward(self, x):
        side = torch.sigmoid((torch.einsum("bf,ftd->btd", x, self.choose.softmax(0)) - self.threshold)
                             * torch.exp(-self.slope))
        leaf = torch.stack([side[..., 0], 1 - side[..., 0]], -1)
        for i in range(1, side.shape[-1]):
            bit = torch.stack([side[..., i], 1 - side[..., i]], -1)
            leaf = (leaf[..., :, None] * bit[..., None, :]).flatten(-2)
        return torch.einsum("btl,tlc->bc", leaf, self.answer)


class MatrixFactorization(nn.Module):
    """Users times items, with a bias of each (Koren and others, 2009)."""

    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(20, 8), nn.Embedding(30, 8)
        self.user_bias, self.item_bias = nn.Embedding(20, 1), nn.Embedding(30, 1)

    def forward(self, user, item):
        biases = self.user_bias(user) + self.item_bias(item)
        return (self.user(user) * self.item(item)).sum(1) + biases[:, 0]


class NeuralFiltering(nn.Module):
    """Two embeddings each: one multiplied, one for a deep network (He and others, 2017)."""

    def __init__(self):
        super().__init__()
        self.users = nn.ModuleList([nn.Embedding(20, 8), nn.Embedding(20, 8)])
        self.items = nn.ModuleList([nn.Embedding(30, 8), nn.Embedding(30, 8)])
        self.deep = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.last = nn.Linear(16, 1)

    def forward(self, user, item):
        product = self.users[0](user) * self.items[0](item)
        deep = self.deep(torch.cat([self.users[1](user), self.items[1](item)], 1))
        return self.last(torch.cat([product, deep], 1))


class TwoTowers(nn.Module):
    """Users and items by their histories and words, compared by their cosine."""

    def __init__(self):
        super().__init__()
        self.item, self.tower = nn.Embedding(30, 8, padding_idx=0), nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.temperature = nn.Parameter(torch.tensor(2.0))

    def forward(self, history, item):
        seen = (history > 0)[..., None].float()
        user = (self.item(history) * seen).sum(1) / seen.sum(1).clamp(min=1)
        return F.cosine_similarity(self.tower(user), self.tower(self.item(item))) * self.temperature


def histories(batch):
    return torch.randint(0, 30, (batch, 5)), torch.randint(1, 30, (batch,))


def numbers(batch):
    return (torch.randn(batch, 6),)


scores = {"loss": "cross-entropy", "batch": 8}
CASES = {
    "FT-Transformer": Case(FTTransformer, row, **scores),
    "TabTransformer": Case(TabTransformer, row, **scores),
    "TabNet": Case(TabNet, numbers, **scores),
    "DeepFM": Case(DeepFM, row, batch=8),
    "DCN v2": Case(CrossNetwork, row, batch=8),
    "Wide and deep": Case(WideAndDeep, row, batch=8),
    "ResNet of tables": Case(TableResNet, numbers, **scores),
    "NODE": Case(Node, numbers, **scores),
    "Matrix factorization": Case(MatrixFactorization, ratings, batch=8),
    "Neural collaborative filtering": Case(NeuralFiltering, ratings, batch=8),
    "Two towers": Case(TwoTowers, histories, batch=8),
}
MODELS = each_way(CASES)
