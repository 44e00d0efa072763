"""The golden networks and how each is trained: what make_w.py exports, trains in PyTorch and writes down."""
from collections import OrderedDict

import torch
from torch import nn

from by_hand import scanned


def sequential(**layers):
    return nn.Sequential(OrderedDict(layers))


def w1():
    return sequential(
        fc1=nn.Linear(784, 512), relu1=nn.ReLU(), fc2=nn.Linear(512, 256), relu2=nn.ReLU(), fc3=nn.Linear(256, 10))


def w2():
    return sequential(
        conv1=nn.Conv2d(1, 32, 3, padding=1), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2),
        conv2=nn.Conv2d(32, 64, 3, padding=1), relu2=nn.ReLU(), pool2=nn.MaxPool2d(2),
        flatten=nn.Flatten(), fc1=nn.Linear(64 * 7 * 7, 128), relu3=nn.ReLU(), fc2=nn.Linear(128, 10))


def mlp_small():
    return sequential(
        fc1=nn.Linear(20, 33), relu1=nn.ReLU(), dropout1=nn.Dropout(0.0), fc2=nn.Linear(33, 17), relu2=nn.ReLU(),
        fc3=nn.Linear(17, 5))


class CnnBn(nn.Module):
    """(N, 3, 12, 12): strided, depthwise, grouped and dilated convolutions, a residual, two branches joined."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.grouped, self.bn2 = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2, bias=False), nn.BatchNorm2d(8)
        self.pointwise = nn.Conv2d(8, 6, 1, stride=2)
        self.leaky, self.average, self.global_average = nn.LeakyReLU(0.1), nn.AvgPool2d(2,
            count_include_pad=False), nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(14, 4)

    def forward(self, x):
        x = self.leaky(self.bn1(self.conv1(x)))
        x = x + self.bn2(self.grouped(self.depthwise(x)))
        x = torch.cat([self.average(x), self.leaky(self.pointwise(x))], dim=1)
        return self.fc(torch.flatten(self.global_average(x), 1))


def conv1d():
    return sequential(
        conv1=nn.Conv1d(3, 8, 5, stride=2, padding=2), relu1=nn.ReLU(), conv2=nn.Conv1d(8, 12, 3, dilation=2),
        tanh=nn.Tanh(), pool=nn.MaxPool1d(2), flatten=nn.Flatten(), fc=nn.Linear(12 * 6, 6))


class Tokens(nn.Module):
    """(N, 7) token numbers: embedding, a dense layer on every token (MatMul of rank 3), the mean over tokens."""

    def __init__(self):
        super().__init__()
        self.embedding, self.dense, self.fc = nn.Embedding(31, 12), nn.Linear(12, 10), nn.Linear(10, 4)

    def forward(self, tokens):
        return self.fc(torch.tanh(self.dense(self.embedding(tokens))).mean(dim=1))


class Recurrent(nn.Module):
    """(N, 8) token numbers through an LSTM both ways and a GRU, whose last state is judged."""

    def __init__(self):
        super().__init__()
        self.embedding, self.fc = nn.Embedding(23, 6), nn.Linear(9, 4)
        self.lstm = nn.LSTM(6, 7, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(14, 9, batch_first=True)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        return self.fc(self.gru(states)[0][:, -1])


class Block(nn.Module):
    """Pre-LN: x + attention(norm(x)), then x + mlp(norm(x)); a token sees itself and those before it."""

    def __init__(self, width, heads, tokens):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width, eps=1e-3)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.gelu, self.down = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        self.dropout1, self.dropout2, self.dropout3 = nn.Dropout(0.0), nn.Dropout(0.0), nn.Dropout(0.0)
        self.register_buffer("hidden", torch.ones(tokens, tokens).triu(1).bool(), persistent=False)

    def attention(self, x):
        n, tokens, width = x.shape
        q, k, v = (t.reshape(n, tokens, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(2, 3)) * (width // self.heads) ** -0.5
        shares = torch.softmax(scores.masked_fill(self.hidden, float("-inf")), dim=-1)
        return self.out((self.dropout1(shares) @ v).transpose(1, 2).reshape(n, tokens, width))

    def forward(self, x):
        x = x + self.dropout2(self.attention(self.norm1(x)))
        return x + self.dropout3(self.down(self.gelu(self.up(self.norm2(x)))))


class Transformer(nn.Module):
    """(N, 9) token numbers to (N, 29, 9) scores of the next: embeddings, two blocks, a last norm, a head of its own."""

    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(29, 16), nn.Parameter(torch.randn(9, 16) * 0.5)
        self.block1, self.block2 = Block(16, 2, 9), Block(16, 4, 9)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 29, bias=False)
        unlike_each_other(self)

    def forward(self, tokens):
        x = self.block2(self.block1(self.embedding(tokens) + self.position))
        return self.head(self.norm(x)).transpose(1, 2)


class UNet(nn.Module):
    """(N, 3, 16, 16) to (N, 5, 16, 16), a class for each pixel: down twice, up by ConvTranspose and by bilinear
    Upsample, each joined with what it skipped."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8)
        self.conv2, self.norm2 = nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.GroupNorm(3, 12, eps=1e-3)
        self.conv3, self.norm3 = nn.Conv2d(12, 16, 3, padding=1), nn.GroupNorm(1, 16)
        self.up3 = nn.ConvTranspose2d(16, 12, 4, stride=2, padding=1)
        self.conv4, self.norm4 = nn.Conv2d(24, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.up4 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.conv5, self.head = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(8, 5, 1)
        self.gelu, self.silu, self.pool = nn.GELU(), nn.SiLU(), nn.MaxPool2d(2)
        unlike_each_other(self)

    def forward(self, x):
        full = self.gelu(self.norm1(self.conv1(x)))
        half = self.silu(self.norm2(self.conv2(full)))
        deep = self.gelu(self.norm3(self.conv3(self.pool(half))))
        half = self.silu(self.norm4(self.conv4(torch.cat([half, self.up3(deep)], dim=1))))
        return self.head(self.gelu(self.conv5(torch.cat([full, self.up4(half)], dim=1))))


class LoraLinear(nn.Module):
    """A dense layer with a branch of rank 3 beside it, as LoRA leaves it in a graph: x·W + b + 2·(x·A)·B."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(14, 20), nn.Linear(20, 5)
        self.lora_a, self.lora_b = nn.Parameter(torch.randn(14, 3) * 0.3), nn.Parameter(torch.zeros(3, 20))

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x) + 2.0 * (x @ self.lora_a) @ self.lora_b))


class Scripted(nn.Module):
    """(N, 6): one cell three times over, in a loop with a branch, which the exporter keeps as Loop and If: 3 is half of
    a size."""

    def __init__(self):
        super().__init__()
        self.enter, self.cell, self.leave = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        entered = self.enter(x)
        h = torch.tanh(entered)
        for i in range(x.size(1) // 2):
            if i == 1:
                h = torch.relu(self.cell(h)) + entered
            else:
                h = torch.tanh(self.cell(h) * entered)
        return self.leave(h)
class Decoder(nn.Module):
    """(N, 10) token numbers to (N, 19, 10) scores of the next, as a small language model of today: RMS norms, rotary
    positions, four heads that share two of keys and values, a gated layer. `graph` says it in the operators that opset
    23 has for that, which this PyTorch cannot export."""

    WIDTH, HEADS, SHARED, SIZE, TOKENS = 16, 4, 2, 6, 10

    def __init__(self):
        super().__init__()
        width, of_q, of_kv = self.WIDTH, self.HEADS * self.SIZE, self.SHARED * self.SIZE
        self.embedding = nn.Embedding(19, width)
        for name, (outputs, inputs) in dict(q=(of_q, width), k=(of_kv, width), v=(of_kv, width), o=(width, of_q),
                                            gate=(24, width), up=(24, width),
                                            down=(width, 24), head=(19, width)).items():
            setattr(self, name, nn.Parameter((torch.rand(inputs, outputs) * 2 - 1) * inputs ** -0.5))
        for name in ("norm1", "norm2", "norm3"):
            setattr(self, name, nn.Parameter(torch.rand(width) + 0.5))
        angles = torch.outer(torch.arange(16.0), 0.5 ** torch.arange(0, self.SIZE, 2))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rms(self, x, scale):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * scale

    def turned(self, x, heads):
        a, b = x.unflatten(-1, (heads, self.SIZE)).transpose(1, 2).chunk(2, dim=-1)
        cos, sin = self.cos[:self.TOKENS], self.sin[:self.TOKENS]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def attention(self, x):
        q, k = self.turned(x @ self.q, self.HEADS), self.turned(x @ self.k, self.SHARED)
        v = (x @ self.v).unflatten(-1, (self.SHARED, self.SIZE)).transpose(1, 2)
        k, v = (t.repeat_interleave(self.HEADS // self.SHARED, dim=1) for t in (k, v))
        hidden = torch.ones(self.TOKENS, self.TOKENS).triu(1).bool()
        shares = torch.softmax((q @ k.transpose(2, 3) * self.SIZE ** -0.5).masked_fill(hidden, float("-inf")), dim=-1)
        return (shares @ v).transpose(1, 2).flatten(2) @ self.o

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = x + self.attention(self.rms(x, self.norm1))
        m = self.rms(x, self.norm2)
        x = x + (nn.functional.silu(m @ self.gate) * (m @ self.up)) @ self.down
        return (self.rms(x, self.norm3) @ self.head).transpose(1, 2)

    def graph(self, node):
        node("Shape", "input", "shape")
        node("ConstantOfShape", "shape", "ones", value=1)
        node("CumSum", "ones one", "places", exclusive=1)
        node("Gather", "embedding.weight input", "x0")
        node("RMSNormalization", "x0 norm1", "n1", epsilon=1e-5)
        for name, heads in (("q", self.HEADS), ("k", self.SHARED)):
            node("MatMul", f"n1 {name}", f"{name}0")
            node("RotaryEmbedding", f"{name}0 cos sin places", f"{name}1", num_heads=heads)
        node("MatMul", "n1 v", "v1")
        node("Attention", "q1 k1 v1", "y", q_num_heads=self.HEADS, kv_num_heads=self.SHARED, is_causal=1)
        node("MatMul", "y o", "y1")
        node("Add", "x0 y1", "x1")
        node("RMSNormalization", "x1 norm2", "n2", epsilon=1e-5)
        node("MatMul", "n2 gate", "g0")
        node("Sigmoid", "g0", "g1")
        node("Mul", "g0 g1", "g2")
        node("MatMul", "n2 up", "u")
        node("Mul", "g2 u", "gu")
        node("MatMul", "gu down", "d")
        node("Add", "x1 d", "x2")
        node("RMSNormalization", "x2 norm3", "n3", epsilon=1e-5)
        node("MatMul", "n3 head", "scores")
        node("Transpose", "scores", "logits", perm=[0, 2, 1])
        return dict(one=torch.tensor(1), cos=self.cos, sin=self.sin)


class Causal(nn.Module):
    """(N, 12) token numbers to (N, 17, 12) scores of the next, as GPT-2 is written: places by an embedding, and a mask
    that is a tensor of zeros and −∞, which no step may change."""

    WIDTH, HEADS, TOKENS, WORDS = 16, 2, 12, 17

    def __init__(self):
        super().__init__()
        width = self.WIDTH
        self.wte, self.wpe = nn.Embedding(self.WORDS, width), nn.Embedding(self.TOKENS, width)
        self.ln_1, self.c_attn, self.c_proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln_2, self.c_fc, self.c_out = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, self.WORDS, bias=False)
        self.register_buffer("mask", torch.full((1, 1, self.TOKENS, self.TOKENS), float("-inf")).triu(1))
        unlike_each_other(self)

    def attention(self, x):
        q, k, v = (t.reshape(-1, self.TOKENS, self.HEADS, self.WIDTH // self.HEADS).transpose(1, 2)
                   for t in self.c_attn(x).split(self.WIDTH, -1))
        shares = torch.softmax(q @ k.transpose(2, 3) * (self.WIDTH // self.HEADS) ** -0.5 + self.mask, dim=-1)
        return self.c_proj((shares @ v).transpose(1, 2).flatten(2))

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(self.TOKENS))
        x = x + self.attention(self.ln_1(x))
        x = x + self.c_out(torch.tanh(self.c_fc(self.ln_2(x))))
        return self.head(self.ln_f(x)).transpose(1, 2)


class Quantized(nn.Module):
    """(N, 6): weights and activations through fake_quantize, some of them out of range, as in training for an integer
    runtime."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 16), nn.Linear(16, 4)
        self.register_buffer("scale", torch.linspace(0.0015, 0.004, 16), persistent=False)
        self.register_buffer("zero", torch.zeros(16, dtype=torch.int32), persistent=False)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.00625, 0, -128, 127)
        weight = torch.fake_quantize_per_channel_affine(self.fc1.weight, self.scale.float(), self.zero, 0, -128, 127)
        h = torch.fake_quantize_per_tensor_affine(torch.relu(nn.functional.linear(x, weight, self.fc1.bias)), 0.0035,
                                                  7, 0, 255)
        weight = torch.fake_quantize_per_tensor_affine(self.fc2.weight, 0.0015, -3, -128, 127)
        return nn.functional.linear(h, weight, self.fc2.bias)


class Residual(nn.Module):
    """x + a small network of it."""

    def __init__(self, width, slope):
        super().__init__()
        self.norm, self.up, self.leaky, self.down = nn.LayerNorm(width), nn.Linear(width,
            2 * width), nn.LeakyReLU(slope), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(self.leaky(self.up(self.norm(x))))


class Functions(nn.Module):
    """(N, 8): every module is a function of the file, called by the function of the module around it, with its
    attributes."""

    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.Sequential(Residual(8, 0.1), Residual(8, 0.3)), nn.Linear(8, 4)
        unlike_each_other(self)

    def forward(self, x):
        return self.head(self.blocks(x))


class Scanned(nn.Module):
    """(N, 5, 4): a recurrence backwards in time whose outputs are weighted by time, then a gate three times over."""

    def __init__(self):
        super().__init__()
        self.enter, self.cell, self.again, self.leave = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6,
            6), nn.Linear(12, 4)
        self.weights = nn.Parameter(torch.linspace(0.5, 1.5, 5).reshape(5, 1))

    def forward(self, x):
        h, ys = self.enter(x[:, 0]), [None] * 5
        for t in reversed(range(5)):
            kept = self.cell(h)
            h = torch.tanh(self.enter(x[:, t]) + kept)
            ys[t] = h * kept
        v, gates = (torch.stack(ys, 1) * self.weights).sum(1), []
        for _ in range(3):
            gates.append(torch.sigmoid(self.again(v)))
            v = gates[-1] * h
        return self.leave(torch.cat([v, torch.stack(gates).mean(0)], 1))


def unlike_each_other(net):
    """The exporter makes one initializer of tensors that are equal, as all scales of fresh normalizations are."""
    for module in net.modules():
        spread = []
        if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)):
            spread += [(module.weight, 0.5, 1.5), (module.bias, -0.5, 0.5)]
        if isinstance(module, nn.BatchNorm2d):
            spread += [(module.running_mean, -0.5, 0.5), (module.running_var, 0.5, 1.5)]
        for tensor, low, high in spread:
            nn.init.uniform_(tensor, low, high)


def regression():
    return sequential(
        fc1=nn.Linear(9, 24), tanh=nn.Tanh(), fc2=nn.Linear(24, 16), sigmoid=nn.Sigmoid(), fc3=nn.Linear(16, 3))


def floats(name, dims, seed, low=-1, high=1):
    return dict(name=name, type="float32", dims=dims, seed=seed, low=low, high=high)


def patches(name, dims, seed, block):
    """Greys that stay the same over block × block pixels. In plain noise every image looks alike after a convolution,
    whole batches cross a ReLU's zero together, and Adam makes of the last bit of float32 a difference of 1e-4 in six
    steps."""
    return dict(floats(name, dims, seed, 0, 1), block=block)


def integers(name, dims, seed, high):
    return dict(name=name, type="int64", dims=dims, seed=seed, low=0, high=high)


# File → the network, its input, and what the export needs beyond it.
MODELS = {
    "w1": dict(net=w1, seed=1, input=floats("input", [784], 1, 0, 1)),
    "w2": dict(net=w2, seed=2, input=patches("input", [1, 28, 28], 1, 4)),
    "mlp_small": dict(net=mlp_small, seed=3, input=floats("input", [20], 1)),
    "cnn_bn": dict(net=CnnBn, seed=4, input=floats("input", [3, 12, 12], 1)),
    # As people export a network they have finished: BatchNormalization says training_mode 0, and must train all the
    # same.
    "cnn_bn_finished": dict(net=CnnBn, seed=8, input=floats("input", [3, 12, 12], 1), finished=True),
    "conv1d": dict(net=conv1d, seed=5, input=floats("input", [3, 32], 1)),
    "tokens": dict(net=Tokens, seed=6, input=integers("input", [7], 1, 31)),
    "recurrent": dict(net=Recurrent, seed=12, input=integers("input", [8], 1, 23)),
    "transformer": dict(net=Transformer, seed=9, input=integers("input", [9], 1, 29)),
    # LayerNormalization did not exist before opset 17: it comes in pieces.
    "transformer_13": dict(net=Transformer, seed=10, input=integers("input", [9], 1, 29), opset=13),
    "causal": dict(net=Causal, seed=16, input=integers("input", [12], 1, 17)),
    "unet": dict(net=UNet, seed=14, input=floats("input", [3, 16, 16], 1)),
    "lora_linear": dict(net=LoraLinear, seed=11, input=floats("input", [14], 1)),
    "scripted": dict(net=Scripted, seed=12, input=floats("input", [6], 1), script=True),
    "decoder": dict(net=Decoder, seed=14, input=integers("input", [10], 1, 19), opset=23),
    "quantized": dict(net=Quantized, seed=15, input=floats("input", [6], 1)),
    "functions": dict(net=Functions, seed=13, input=floats("input", [8], 1), opset=15, functions=True),
    "scanned": dict(net=Scanned, seed=14, input=floats("input", [5, 4], 1), by_hand=scanned),
    "regression": dict(net=regression, seed=7, input=floats("input", [9], 1)),
}

# Run → its model, loss, label, optimizer (keys as in generateArtifacts). `fixed`: the same batch at every step.
# Two micro-steps make one step where accumulate is 2; a loss is written down for each micro-step.
RUNS = {
    "w1": dict(model="w1", fixed=True, batch=64, loss="cross-entropy", label=integers("labels", [], 2, 10),
               optimizer=dict(type="sgd", lr=0.01)),
    "w2": dict(model="w2", fixed=True, batch=64, loss="cross-entropy", label=integers("labels", [], 2, 10),
               optimizer=dict(type="adam", lr=1e-3, betas=[0.9, 0.999], eps=1e-8)),
    "mlp_momentum": dict(model="mlp_small", batch=16, loss="cross-entropy", label=integers("labels", [], 2, 5),
                         optimizer=dict(type="sgd", lr=0.125, momentum=0.75)),
    "mlp_nesterov": dict(model="mlp_small", batch=7, loss="cross-entropy", label=integers("labels", [], 2, 5),
                         optimizer=dict(type="sgd", lr=0.125, momentum=0.75, nesterov=True, weightDecay=0.03125)),
    "mlp_rmsprop": dict(model="mlp_small", batch=16, loss="cross-entropy", label=integers("labels", [], 2, 5),
                        optimizer=dict(type="rmsprop", lr=2e-3, alpha=0.875, eps=1e-3, weightDecay=0.03125,
                                       momentum=0.75)),
    "mlp_frozen": dict(model="mlp_small", batch=16, loss="cross-entropy", label=integers("labels", [], 2, 5),
                       frozen=["fc1.*", "fc3.bias"],
                       optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.98], eps=1e-8, weightDecay=0.125)),
    "mlp_clip": dict(model="mlp_small", batch=16, loss="cross-entropy", label=integers("labels", [], 2, 5),
                     optimizer=dict(type="sgd", lr=0.5, clipGradNorm=0.25)),
    "mlp_accumulate": dict(model="mlp_small", batch=5, loss="cross-entropy", label=integers("labels", [], 2, 5),
                           accumulate=2, optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-8,
                                                        weightDecay=0.01, clipGradNorm=1.0)),
    "cnn_bn": dict(model="cnn_bn", batch=6, loss="cross-entropy", label=integers("labels", [], 2, 4),
                   optimizer=dict(type="adamw", lr=1e-3, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.01)),
    "cnn_bn_head": dict(model="cnn_bn", batch=6, loss="cross-entropy", label=integers("labels", [], 2, 4),
                        requiresGrad=["fc.*", "bn2.*"], batchNorm="update", optimizer=dict(type="sgd", lr=0.125)),
    # As Keras has it: what does not train runs on its running statistics.
    "cnn_bn_frozen": dict(model="cnn_bn", batch=6, loss="cross-entropy", label=integers("labels", [], 2, 4),
                          requiresGrad=["fc.*", "bn2.*"], optimizer=dict(type="sgd", lr=0.125)),
    "cnn_bn_finished": dict(model="cnn_bn_finished", batch=6, loss="cross-entropy", label=integers("labels", [], 2, 4),
                            optimizer=dict(type="sgd", lr=0.0625)),
    "conv1d": dict(model="conv1d", batch=9, loss="cross-entropy", label=integers("labels", [], 2, 6),
                   optimizer=dict(type="sgd", lr=0.0625, momentum=0.5)),
    "tokens": dict(model="tokens", batch=10, loss="cross-entropy", label=integers("labels", [], 2, 4),
                   optimizer=dict(type="adam", lr=1e-2, betas=[0.9, 0.999], eps=1e-8)),
    "recurrent": dict(model="recurrent", batch=6, loss="cross-entropy", label=integers("labels", [], 2, 4),
                      optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.01)),
    "recurrent_sgd": dict(model="recurrent", batch=9, loss="cross-entropy", label=integers("labels", [], 2, 4),
                          optimizer=dict(type="sgd", lr=0.5, momentum=0.5, clipGradNorm=1.0)),
    "unet": dict(model="unet", batch=3, loss="cross-entropy", label=integers("labels", [16, 16], 2, 5),
                 optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-3, weightDecay=0.01)),
    "unet_sgd": dict(model="unet", batch=4, loss="cross-entropy", label=integers("labels", [16, 16], 2, 5),
                     optimizer=dict(type="sgd", lr=0.25)),
    # eps: a key's bias moves all scores of a row alike, its gradient is rounding alone, and Adam would make a step of
    # 1e-3 of it. requiresGrad: places are added as a mask would be, so they train by wish alone.
    "transformer": dict(model="transformer", batch=6, loss="cross-entropy", label=integers("labels", [9], 2, 29),
                        requiresGrad=["*"],
                        optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-3, weightDecay=0.01)),
    "transformer_13": dict(model="transformer_13", batch=5, loss="cross-entropy", label=integers("labels", [9], 2, 29),
                           requiresGrad=["*"],
                           optimizer=dict(type="sgd", lr=0.25, clipGradNorm=1.0)),
    "causal": dict(model="causal", batch=6, loss="cross-entropy", label=integers("labels", [12], 2, 17),
                   optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-3, weightDecay=0.01)),
    "scripted": dict(model="scripted", batch=8, loss="cross-entropy", label=integers("labels", [], 2, 4),
                      optimizer=dict(type="sgd", lr=0.125, momentum=0.5)),
    "decoder": dict(model="decoder", batch=5, loss="cross-entropy", label=integers("labels", [10], 2, 19),
                    optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-3, weightDecay=0.01)),
    "quantized": dict(model="quantized", batch=12, loss="cross-entropy", label=integers("labels", [], 2, 4),
                      optimizer=dict(type="sgd", lr=0.125, momentum=0.5)),
    "functions": dict(model="functions", batch=9, loss="cross-entropy", label=integers("labels", [], 2, 4),
                      optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-3, weightDecay=0.01)),
    "scanned": dict(model="scanned", batch=7, loss="cross-entropy", label=integers("labels", [], 2, 4),
                    optimizer=dict(type="sgd", lr=0.25)),
    "lora_linear": dict(model="lora_linear", batch=11, loss="cross-entropy", label=integers("labels", [], 2, 5),
                        requiresGrad=["lora_*"],
                        optimizer=dict(type="adamw", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.01)),
    "regression_mse": dict(model="regression", batch=12, loss="mse", label=floats("target", [3], 2),
                           optimizer=dict(type="adam", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.0625)),
    "regression_l1": dict(model="regression", batch=12, loss="l1", label=floats("target", [3], 2),
                          optimizer=dict(type="sgd", lr=0.125, momentum=0.75)),
    "regression_bce": dict(model="regression", batch=12, loss="bce-with-logits", label=floats("target", [3], 2, 0, 1),
                           optimizer=dict(type="sgd", lr=0.5)),
    "regression_huber": dict(model="regression", batch=12, loss="huber", label=floats("target", [3], 2, -3, 3),
                             optimizer=dict(type="rmsprop", lr=1e-3, eps=1e-3)),
}
