"""Networks of graphs: layers of PyTorch Geometric over nodes and edges of a fixed graph."""

from dataclasses import replace

import torch
import torch_geometric.nn as pyg
from torch import nn
from torch.nn import functional as F

from .case import Case

NODES, EDGES = 9, 20


class Rounds(nn.Module):
    """Two layers that send messages along edges, and classes of nodes."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second, self.last = first, second, nn.Linear(16, 3)

    def forward(self, nodes, edges):
        return self.last(torch.relu(self.second(torch.relu(self.first(nodes, edges)), edges)))


class Molecules(nn.Module):
    """A class for each graph of a batch: sums over its nodes."""

    def __init__(self):
        super().__init__()
        self.conv = pyg.GINConv(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16)), train_eps=True)
        self.last = nn.Linear(16, 3)

    def forward(self, nodes, edges, owner):
        return self.last(pyg.global_add_pool(F.relu(self.conv(nodes, edges)), owner, size=3))


def graph(_batch):
    return torch.randn(NODES, 8), torch.randint(0, NODES, (2, EDGES))


def molecules(batch):
    return *graph(batch), torch.arange(NODES) // 3


def layers(kind, **options):
    return lambda: Rounds(kind(8, 16, **options), kind(16, 16, **options))


def both(name, case):
    """A graph has no batch, so no dim is freed for it."""
    return {name: case, f"{name}, README's options": replace(case.plain(), training=True),
            f"{name}, script": case.scripted()}


scores = {"loss": "cross-entropy"}
CASES = {
    "GCN": Case(layers(pyg.GCNConv), graph, **scores),
    "GraphSAGE": Case(layers(pyg.SAGEConv), graph, **scores),
    "GraphSAGE by maxima": Case(layers(pyg.SAGEConv, aggr="max"), graph, **scores),
    "GAT": Case(layers(pyg.GATConv, add_self_loops=False), graph, **scores),
    "GATv2": Case(layers(pyg.GATv2Conv, add_self_loops=False), graph, **scores),
    "GIN": Case(Molecules, molecules, **scores),
    "ChebNet": Case(layers(pyg.ChebConv, K=2), graph, **scores),
    "Graph transformer": Case(layers(pyg.TransformerConv), graph, **scores),
    "Gated graph": Case(lambda: Rounds(pyg.GatedGraphConv(16, 2), pyg.GatedGraphConv(16, 2)), graph, **scores),
}
MODELS = {name: case for base, case in CASES.items() for name, case in both(base, case).items()}
