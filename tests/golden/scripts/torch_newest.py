"""What PyTorch gives for the operators that ONNX's opsets 24 to 28 have added, from their descriptions."""
import torch
from torch.nn import functional as F

from torch_transformer import attend, given, heads, tokens


def swish(x, a):
    return x * torch.sigmoid(a.get("alpha", 1.0) * x)


def cum_prod(x, a):
    axis = int(x[1])
    y = x[0].flip(axis) if a.get("reverse", 0) else x[0]
    if a.get("exclusive", 0):
        y = torch.cat([torch.ones_like(y.narrow(axis, 0, 1)), y.narrow(axis, 0, y.shape[axis] - 1)], axis)
    y = y.cumprod(axis)
    return [(y.flip(axis) if a.get("reverse", 0) else y).to(x[0].dtype)]


def causal_conv_with_state(x, a):
    kept = x[1].shape[2] - 1
    past = x[0].new_zeros(*x[0].shape[:2], kept) if given(x, 3) is None else x[3]
    seen = torch.cat([past, x[0]], 2)
    y = F.conv1d(seen, x[1], given(x, 2), groups=x[1].shape[0])
    return [F.silu(y) if a.get("activation", "none") in ("silu", "swish") else y, seen[:, :, seen.shape[2] - kept:]]


def linear_attention(x, a):
    rule, count = a.get("update_rule", "gated_delta"), a["kv_num_heads"]
    q, k, v = heads(x[0], a["q_num_heads"]), heads(x[1], count), heads(x[2], count)
    served = a["q_num_heads"] // count
    state = x[0].new_zeros(k.shape[0], count, k.shape[-1], v.shape[-1]) if given(x, 3) is None else x[3]
    decay = heads(x[4], count).exp() if "gated" in rule else None  # of each row of the state, or one for all
    rate = x[5] if "delta" in rule else None  # (B, T, heads), or one for all heads
    outputs = []
    for t in range(q.shape[2]):
        if decay is not None:
            state = state * decay[:, :, t, :, None]
        change = v[:, :, t]
        if rate is not None:
            change = rate[:, t, :, None] * (change - torch.einsum("bhij,bhi->bhj", state, k[:, :, t]))
        state = state + torch.einsum("bhi,bhj->bhij", k[:, :, t], change)
        outputs.append(torch.einsum("bhi,bhij->bhj", q[:, :, t], state.repeat_interleave(served, 1)))
    return [tokens(torch.stack(outputs, 2)) * (a.get("scale", 0) or k.shape[-1] ** -0.5), state]


def tensor_scatter(x, a):
    axis, y = a.get("axis", -2) % x[0].dim(), x[0].clone()
    for b in range(len(y)):
        first = 0 if given(x, 2) is None else int(x[2][b])
        for t in range(x[1].shape[axis]):
            y[b].select(axis - 1, (first + t) % y.shape[axis])[...] = x[1][b].select(axis - 1, t)
    return [y]


NEWEST = {
    "Swish": lambda x, a: [swish(x[0], a)], "SwiGLU": lambda x, a: [swish(x[0], a) * x[1]], "CumProd": cum_prod,
    "CausalConvWithState": causal_conv_with_state, "LinearAttention": linear_attention, "TensorScatter": tensor_scatter,
    "FlexAttention": lambda x, a: [attend(*x[:3], a.get("scale", 0))[0]],
}
