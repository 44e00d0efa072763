"""The golden networks and how each is trained: what make_w.py exports, trains in PyTorch and writes down."""
from collections import OrderedDict

import torch
from torch import nn


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
        self.leaky, self.average, self.global_average = nn.LeakyReLU(0.1), nn.AvgPool2d(2, count_include_pad=False), nn.AdaptiveAvgPool2d(1)
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


def regression():
    return sequential(
        fc1=nn.Linear(9, 24), tanh=nn.Tanh(), fc2=nn.Linear(24, 16), sigmoid=nn.Sigmoid(), fc3=nn.Linear(16, 3))


def floats(name, dims, seed, low=-1, high=1):
    return dict(name=name, type="float32", dims=dims, seed=seed, low=low, high=high)


def patches(name, dims, seed, block):
    """Greys that stay the same over block × block pixels. In plain noise every image looks alike after a convolution, whole
    batches cross a ReLU's zero together, and Adam makes of the last bit of float32 a difference of 1e-4 in six steps."""
    return dict(floats(name, dims, seed, 0, 1), block=block)


def integers(name, dims, seed, high):
    return dict(name=name, type="int64", dims=dims, seed=seed, low=0, high=high)


# File → the network, its input, and what the export needs beyond it.
MODELS = {
    "w1": dict(net=w1, seed=1, input=floats("input", [784], 1, 0, 1)),
    "w2": dict(net=w2, seed=2, input=patches("input", [1, 28, 28], 1, 4)),
    "mlp_small": dict(net=mlp_small, seed=3, input=floats("input", [20], 1)),
    "cnn_bn": dict(net=CnnBn, seed=4, input=floats("input", [3, 12, 12], 1)),
    # As people export a network they have finished: BatchNormalization says training_mode 0, and must train all the same.
    "cnn_bn_finished": dict(net=CnnBn, seed=8, input=floats("input", [3, 12, 12], 1), finished=True),
    "conv1d": dict(net=conv1d, seed=5, input=floats("input", [3, 32], 1)),
    "tokens": dict(net=Tokens, seed=6, input=integers("input", [7], 1, 31)),
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
                        requiresGrad=["fc.*", "bn2.*"], optimizer=dict(type="sgd", lr=0.125)),
    "cnn_bn_finished": dict(model="cnn_bn_finished", batch=6, loss="cross-entropy", label=integers("labels", [], 2, 4),
                            optimizer=dict(type="sgd", lr=0.0625)),
    "conv1d": dict(model="conv1d", batch=9, loss="cross-entropy", label=integers("labels", [], 2, 6),
                   optimizer=dict(type="sgd", lr=0.0625, momentum=0.5)),
    "tokens": dict(model="tokens", batch=10, loss="cross-entropy", label=integers("labels", [], 2, 4),
                   optimizer=dict(type="adam", lr=1e-2, betas=[0.9, 0.999], eps=1e-8)),
    "regression_mse": dict(model="regression", batch=12, loss="mse", label=floats("target", [3], 2),
                           optimizer=dict(type="adam", lr=1e-2, betas=[0.9, 0.999], eps=1e-8, weightDecay=0.0625)),
    "regression_l1": dict(model="regression", batch=12, loss="l1", label=floats("target", [3], 2),
                          optimizer=dict(type="sgd", lr=0.125, momentum=0.75)),
    "regression_bce": dict(model="regression", batch=12, loss="bce-with-logits", label=floats("target", [3], 2, 0, 1),
                           optimizer=dict(type="sgd", lr=0.5)),
}
