"""What PyTorch gives for the operators of transformers and of ONNX Runtime's optimizer, from their descriptions; by
domain and name."""
import math

import torch
from torch.nn import functional as F


def given(x, i):
    return x[i] if i < len(x) else None


def heads(x, count):
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def tokens(y):
    return y.transpose(1, 2).flatten(2)


def attend(q, k, v, scale, softcap=0.0, hidden=None, bias=None):
    """softmax(…) · V a head of K and V at a time; also the four stages of the scores."""
    group = q.shape[1] // k.shape[1]
    scores = torch.stack([q[:, i] @ k[:, i // group].transpose(1, 2) for i in range(q.shape[1])],
                         1) * (scale or q.shape[-1] ** -0.5)
    capped = softcap * torch.tanh(scores / softcap) if softcap else scores
    masked = capped if bias is None else capped + bias
    if hidden is not None:
        masked = masked.masked_fill(hidden, float("-inf"))
    blind = (masked == -math.inf).all(-1, keepdim=True)  # a query that sees no key gives 0
    shares = masked.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0)
    y = torch.stack([shares[:, i] @ v[:, i // group] for i in range(q.shape[1])], 1)
    return y, [scores, capped, masked, shares]


def later(q, k, before=0):
    return torch.arange(k.shape[2]) > torch.arange(q.shape[2])[:, None] + before


def either(a, b):
    return b if a is None else a | b


def attention_onnx(x, a):
    q, k, v = x[:3]
    flat = q.dim() == 3
    if flat:
        q, k, v = heads(q, a["q_num_heads"]), heads(k, a["kv_num_heads"]), heads(v, a["kv_num_heads"])
    if given(x, 4) is not None:
        k, v = torch.cat([x[4], k], 2), torch.cat([x[5], v], 2)
    before, hidden, mask, lengths = (0 if given(x, 4) is None else x[4].shape[2]), None, given(x, 3), given(x, 6)
    if lengths is not None:
        hidden = (torch.arange(k.shape[2]) >= lengths[:, None])[:, None, None]
        before = (lengths - q.shape[2])[:, None, None, None]
    if a.get("is_causal", 0):
        hidden = either(hidden, later(q, k, before))
    if a.get("left_window_size", -1) >= 0:
        hidden = either(hidden, ~later(q, k, before - a["left_window_size"] - 1))
    if a.get("right_window_size", -1) >= 0:
        hidden = either(hidden, later(q, k, before + a["right_window_size"]))
    if mask is not None and 1 < mask.shape[-1] < k.shape[2]:  # PyTorch repeats a single column
        mask = F.pad(mask, (0, k.shape[2] - mask.shape[-1]), value=-math.inf if mask.is_floating_point() else False)
    bias = mask if mask is not None and mask.is_floating_point() else None
    if mask is not None and bias is None:
        hidden = either(hidden, ~mask)
    y, stages = attend(q, k, v, a.get("scale", 0), a.get("softcap", 0.0), hidden, bias)
    return [tokens(y) if flat else y, k, v, stages[a.get("qk_matmul_output_mode", 0)]]


def padding(mask, keys, low):
    """Of an int32 mask: what is added to the scores."""
    if mask is None:
        return 0.0
    seen = torch.arange(keys) < mask[:, None] if mask.dim() == 1 else mask > 0
    seen = seen[:, None] if seen.dim() == 3 else seen[:, None, None]
    return torch.where(seen, 0.0, low).double()


def multi_head_attention(x, a):
    biases = x[3].split([t.shape[-1] for t in x[:3]]) if given(x, 3) is not None else x[:3]
    parts = [t if given(x, 3) is None or t.dim() == 4 else t + b for t, b in zip(x[:3], biases)]
    q, k, v = (heads(t, a["num_heads"]) if t.dim() == 3 else t for t in parts)
    before = 0
    if given(x, 6) is not None:
        before, k, v = x[6].shape[2], torch.cat([x[6], k], 2), torch.cat([x[7], v], 2)
    bias = padding(given(x, 4), k.shape[2], a.get("mask_filter_value", -10000.0)) + (0.0 if given(x, 5) is None
        else x[5])
    y, _ = attend(q, k, v, a.get("scale", 0), hidden=later(q, k, before) if a.get("unidirectional", 0) else None,
                  bias=bias)
    return [tokens(y), k, v]


def attention_contrib(x, a, outputs):
    all_parts = x[0] @ x[1] + (0.0 if given(x, 2) is None else x[2])
    q, k, v = (heads(t, a["num_heads"]) for t in all_parts.split(a.get("qkv_hidden_sizes", [x[1].shape[1] // 3] * 3),
                                                                 2))
    past, before = given(x, 4), 0
    if past is not None:
        before, k, v = past.shape[3], torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    bias = padding(given(x, 3), k.shape[2], a.get("mask_filter_value", -10000.0)) + (0.0 if given(x, 5) is None
        else x[5])
    y, _ = attend(q, k, v, a.get("scale", 0), hidden=later(q, k, before) if a.get("unidirectional", 0) else None,
                  bias=bias)
    return [tokens(y), torch.stack([k, v]) if outputs > 1 else None]


def rotate(x, cos, sin, width, interleaved):
    """x (N, H, T, D) by complex numbers; cos and sin (N, T, width/2)."""
    part, rest = x[..., :width], x[..., width:]
    pair = part.unflatten(-1, (-1, 2)) if interleaved else part.unflatten(-1, (2, -1)).transpose(-1, -2)
    turned = torch.view_as_real(torch.view_as_complex(pair.contiguous()) * torch.complex(cos, sin)[:, None])
    return torch.cat([(turned if interleaved else turned.transpose(-1, -2)).flatten(-2), rest], -1)


def rotary(x, cos, sin, count, width, interleaved):
    flat = x.dim() == 3
    y = heads(x, count) if flat else x
    y = rotate(y, cos, sin, width or y.shape[-1], interleaved)
    return [tokens(y) if flat else y]


def rotary_onnx(x, a):
    cos, sin = x[1:3] if given(x, 3) is None else (x[1][x[3].long()], x[2][x[3].long()])
    return rotary(x[0], cos, sin, a.get("num_heads", 0), a.get("rotary_embedding_dim", 0), a.get("interleaved", 0))


def rotary_contrib(x, a):
    length = x[0].shape[-2]
    places = x[1].long() if x[1].dim() == 2 else (x[1].long() + torch.arange(length))[None]
    count = a.get("num_heads", 0) or x[0].shape[-1] // (2 * x[2].shape[1])
    return rotary(x[0], x[2][places], x[3][places], count, a.get("rotary_embedding_dim", 0), a.get("interleaved", 0))


def group_query_attention(x, a):
    count, shared = a["num_heads"], a["kv_num_heads"]
    parts = x[:3]
    if given(x, 1) is None:
        size = x[0].shape[2] // (count + 2 * shared)
        parts = x[0].split([size * count, size * shared, size * shared], 2)
    q, k, v = (heads(t, n) for t, n in zip(parts, (count, shared, shared)))
    before = 0 if given(x, 3) is None else x[3].shape[2]
    room = (before + q.shape[2] - 1 - x[5].long() if before else torch.zeros_like(x[5].long()))[:, None]
    if a.get("do_rotary", 0):
        places = torch.arange(before, before + q.shape[2])[None] - room
        turned = x[7][places], x[8][places], 2 * x[7].shape[1], a.get("rotary_interleaved", 0)
        q, k = (rotate(t, *turned) for t in (q, k))
    if before:
        k, v = torch.cat([x[3], k], 2), torch.cat([x[4], v], 2)
    hidden = later(q, k, before)
    if a.get("local_window_size", -1) > 0:
        hidden = hidden | ~later(q, k, before - a["local_window_size"])
    columns = torch.arange(k.shape[2])[None] - room
    hidden = hidden | ((columns > x[5].long()[:, None]) | (columns < 0))[:, None, None]
    return [tokens(attend(q, k, v, a.get("scale", 0), a.get("softcap", 0.0), hidden)[0]), k, v]


def rms(x, scale, eps, axis=-1):
    return x * torch.rsqrt(x.square().mean(list(range(axis % x.dim(), x.dim())), keepdim=True) + eps) * scale


def skip_layer_norm(x, a):
    total = x[0] + x[1] + (0.0 if given(x, 4) is None else x[4])
    return [F.layer_norm(total, total.shape[-1:], x[2], given(x, 3), a.get("epsilon", 1e-12)), None, None, total]


def skip_rms_norm(x, a):
    total = x[0] + x[1] + (0.0 if given(x, 3) is None else x[3])
    return [rms(total, x[2], a.get("epsilon", 1e-12)), None, None, total]


def embed_layer_norm(x, a):
    places = torch.arange(x[0].shape[1])[None] if given(x, 8) is None else x[8].long()
    total = x[2][x[0].long()] + x[3][places]
    if given(x, 1) is not None:
        total = total + x[4][x[1].long()]
    ones = torch.zeros_like(x[0]) if given(x, 7) is None else x[7]
    return [F.layer_norm(total, total.shape[-1:], x[5], x[6], a.get("epsilon", 1e-12)), ones.sum(1), total]


def activation(y, a, numbers):
    kinds = {"Relu": torch.relu, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid,
             "LeakyRelu": lambda y: F.leaky_relu(y, numbers[0]),
             "Clip": lambda y: y.clamp(*numbers[:2]),
             "HardSigmoid": lambda y: (numbers[0] * y + numbers[1]).clamp(0, 1)}
    return [kinds[a["activation"]](y)]


def fused_gemm(x, a):
    y = a.get("alpha", 1.0) * ((x[0].T if a.get("transA", 0) else x[0]) @ (x[1].T if a.get("transB", 0) else x[1]))
    return activation(y if given(x, 2) is None else y + a.get("beta", 1.0) * x[2], a,
                      [a.get("activation_alpha", 0), a.get("activation_beta", 0)])


def fused_conv(x, a):
    n = x[1].dim() - 2
    pads = a.get("pads", [0] * 2 * n)
    around = [pads[i] for axis in reversed(range(n)) for i in (axis, axis + n)]
    f = {2: F.conv2d, 3: F.conv3d}[n]
    y = f(F.pad(x[0], around), x[1], given(x, 2), a.get("strides", 1), groups=a.get("group", 1))
    return activation(y if given(x, 3) is None else y + x[3], a, a.get("activation_params", []))


def unpacked(data, bits, count):
    """The last dim of bytes as so many numbers, the first in the lowest bits."""
    shifts = torch.arange(0, 8, bits)
    return (data.long()[..., None] >> shifts & (2 ** bits - 1)).flatten(-2)[..., :count].double()


def mat_mul_n_bits(x, a):
    bits, block, rows, depth = a.get("bits", 4), a["block_size"], a["N"], a["K"]
    blocks = -(-depth // block)
    q, scales, points = unpacked(x[1].reshape(rows, blocks, -1), bits, block), x[2].reshape(rows, blocks, 1), given(x,
        3)
    if points is None:
        points = torch.full((rows, blocks), 2.0 ** (bits - 1))
    elif not points.is_floating_point():
        points = unpacked(points.reshape(rows, -1), bits, blocks)
    w = ((q - points.reshape(rows, blocks, 1)) * scales).flatten(1)[:, :depth]
    return [F.linear(x[0], w, given(x, 5))]


TRANSFORMER = {
    ":Attention": attention_onnx, ":RotaryEmbedding": rotary_onnx,
    ":RMSNormalization": lambda x, a: [rms(*x, a.get("epsilon", 1e-5), a.get("axis", -1))],
    "com.microsoft:Attention": attention_contrib, "com.microsoft:MultiHeadAttention": multi_head_attention,
    "com.microsoft:GroupQueryAttention": group_query_attention, "com.microsoft:RotaryEmbedding": rotary_contrib,
    "com.microsoft:SkipLayerNormalization": skip_layer_norm,
    "com.microsoft:SkipSimplifiedLayerNormalization": skip_rms_norm,
    "com.microsoft:EmbedLayerNormalization": embed_layer_norm, "com.microsoft:FusedGemm": fused_gemm,
    "com.microsoft:FusedConv": fused_conv,
    "com.microsoft:MatMulNBits": mat_mul_n_bits, "com.trainlet:FusedGemm": fused_gemm,
    "com.trainlet:FusedConv": fused_conv,
}
