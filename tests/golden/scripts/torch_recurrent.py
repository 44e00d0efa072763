"""LSTM, GRU and RNN of ONNX in PyTorch: its own layers where they mean the same, else ONNX's formulas step by step,
with autograd."""
import torch
from torch.nn import functional as F

ALPHA = {"Affine": 1.0, "LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "ScaledTanh": 1.0, "HardSigmoid": 0.2, "Elu": 1.0}
BETA = {"Affine": 0.0, "ScaledTanh": 1.0, "HardSigmoid": 0.5}
FUNCTIONS = {
    "Sigmoid": lambda x, a, b: torch.sigmoid(x), "Tanh": lambda x, a, b: torch.tanh(x),
    "Relu": lambda x, a, b: torch.relu(x),
    "Affine": lambda x, a, b: a * x + b, "LeakyRelu": lambda x, a, b: F.leaky_relu(x, a),
    "ThresholdedRelu": lambda x, a, b: torch.where(x > a, x, 0 * x),
    "ScaledTanh": lambda x, a, b: a * torch.tanh(b * x),
    "HardSigmoid": lambda x, a, b: torch.clamp(a * x + b, 0, 1), "Elu": lambda x, a, b: F.elu(x, a),
    "Softsign": lambda x, a, b: F.softsign(x), "Softplus": lambda x, a, b: F.softplus(x),
}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
ORDER = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}  # PyTorch's gates: i f g o; r z n


def activations(op, a, directions):
    names = a.get("activations", DEFAULTS[op] * directions)
    alphas, betas = iter(a.get("activation_alpha", [])), iter(a.get("activation_beta", []))
    numbers = [(next(alphas, ALPHA[k]) if k in ALPHA else 0, next(betas, BETA[k]) if k in BETA else 0) for k in names]
    functions = [lambda x, k=k, p=p: FUNCTIONS[k](x, *p) for k, p in zip(names, numbers)]
    each = len(DEFAULTS[op])
    return [functions[d * each:(d + 1) * each] for d in range(directions)]


def lstm_cell(gates, r, br, h, c, p, f, clip, a):
    i, o, forget, g = (gates + h @ r.T + br).chunk(4, -1)
    pi, po, pf = p.chunk(3, -1)
    i = f[0](clip(i + pi * c))
    forget = 1 - i if a.get("input_forget", 0) else f[0](clip(forget + pf * c))
    c = forget * c + i * f[1](clip(g))
    return f[0](clip(o + po * c)) * f[2](c), c


def gru_cell(gates, r, br, h, c, p, f, clip, a):
    (z, reset, n), (rz, rr, rn), (bz, breset, bn) = gates.chunk(3, -1), r.chunk(3, 0), br.chunk(3, -1)
    z, reset = f[0](clip(z + h @ rz.T + bz)), f[0](clip(reset + h @ rr.T + breset))
    linear = reset * (h @ rn.T + bn) if a.get("linear_before_reset", 0) else (reset * h) @ rn.T + bn
    return (1 - z) * f[1](clip(n + linear)) + z * h, c


def rnn_cell(gates, r, br, h, c, p, f, clip, a):
    return f[0](clip(gates + h @ r.T + br)), c


CELLS = {"LSTM": lstm_cell, "GRU": gru_cell, "RNN": rnn_cell}


def by_steps(op, x, w, r, b, lengths, h0, c0, p, a):
    steps, batch = x.shape[:2]
    directions, hidden = r.shape[0], r.shape[2]
    functions, bound = activations(op, a, directions), a.get("clip", 0)
    clip = (lambda v: v.clamp(-bound, bound)) if bound else (lambda v: v)
    ys, hs, cs = [], [], []
    for d in range(directions):
        back = d == 1 or a.get("direction") == "reverse"
        bw, br = b[d].chunk(2)
        gates, h, c, y = x @ w[d].T + bw, h0[d], c0[d], [None] * steps
        for t in reversed(range(steps)) if back else range(steps):
            nh, nc = CELLS[op](gates[t], r[d], br, h, c, p[d], functions[d], clip, a)
            there = (t < lengths)[:, None]
            h, c, y[t] = torch.where(there, nh, h), torch.where(there, nc, c), torch.where(there, nh, 0 * nh)
        ys.append(torch.stack(y) if steps else x.new_zeros(0, batch, hidden))
        hs.append(h)
        cs.append(c)
    return [torch.stack(ys, 1), torch.stack(hs), torch.stack(cs)]


def by_pytorch(op, x, w, r, b, h0, c0, a):
    """PyTorch's own layer on the same numbers."""
    directions, hidden = r.shape[0], r.shape[2]
    def turn(v):
        return torch.cat([v.chunk(len(ORDER[op]))[k] for k in ORDER[op]])
    weights = []
    for d in range(directions):
        bw, br = b[d].chunk(2)
        weights += [turn(w[d]), turn(r[d]), turn(bw), turn(br)]
    back = a.get("direction") == "reverse"
    more = (weights, True, 1, 0.0, False, directions == 2, False)
    out = {"LSTM": lambda x: torch.lstm(x, (h0, c0), *more), "GRU": lambda x: torch.gru(x, h0, *more),
           "RNN": lambda x: torch.rnn_tanh(x, h0, *more)}[op](x.flip(0) if back else x)
    y = out[0].flip(0) if back else out[0]
    return [y.reshape(*y.shape[:2], directions, hidden).transpose(1, 2), *out[1:]]


def recurrent(op):
    def f(x, a, outputs):
        x = list(x) + [None] * (8 - len(x))
        turned = a.get("layout", 0) == 1
        data, w, r, b, lengths, h0, c0, p = x
        directions, hidden = r.shape[0], r.shape[2]
        data = data.transpose(0, 1) if turned else data
        zero = data.new_zeros(directions, data.shape[1], hidden)
        h0, c0 = [zero if v is None else v.transpose(0, 1) if turned else v for v in (h0, c0)]
        b = data.new_zeros(directions, 2 * w.shape[1]) if b is None else b
        plain = lengths is None and p is None and data.shape[0] and not a.keys() & {"activations", "clip",
            "input_forget"}
        if plain and (op != "GRU" or a.get("linear_before_reset", 0)):
            y = by_pytorch(op, data, w, r, b, h0, c0, a)
        else:
            lengths = torch.full((data.shape[1],), data.shape[0]) if lengths is None else lengths
            y = by_steps(op, data, w, r, b, lengths, h0, c0,
                         data.new_zeros(directions, 3 * hidden) if p is None else p, a)
        if turned:
            y = [y[0].permute(2, 0, 1, 3)] + [v.transpose(0, 1) for v in y[1:]]
        return y[:outputs]
    return f
