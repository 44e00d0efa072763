"""Writes the models of examples/ (*.onnx) and what PyTorch makes of the same programs (examples.json): 20 steps of
each.

Data are formulas, noise(i) = fract(sin(12.9898 i) 43758.5453), which the examples have too. Run by hand where PyTorch
is.
"""
import json
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).resolve().parents[1] / "data"
EXAMPLES = HERE.parents[2] / "examples"
STEPS = 20


def noise(i):
    x = math.sin(12.9898 * i) * 43758.5453
    return x - math.floor(x)


def noises(first, *dims):
    count = math.prod(dims)
    return torch.tensor([2 * noise(first + i) - 1 for i in range(count)], dtype=torch.float32).reshape(dims)


def perceptron(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def export(net, name, features, given, wanted):
    torch.onnx.export(net, torch.zeros(2, features), EXAMPLES / f"{name}.onnx", input_names=[given],
                      output_names=[wanted],
                      dynamic_axes={given: {0: "N"}, wanted: {0: "N"}}, opset_version=17)


class Encoder(nn.Module):
    """(N, 16) to unit vectors (N, 8)."""

    def __init__(self):
        super().__init__()
        self.layers = perceptron(16, 32, 8)

    def forward(self, x):
        z = self.layers(x)
        return z / torch.sqrt((z * z).sum(1, keepdim=True))


def contrastive():
    """Two views of the same thing have neighbouring embeddings, those of others do not (InfoNCE)."""
    n, temperature, losses = 16, 0.5, []
    net = Encoder()
    export(net, "encoder", 16, "x", "z")
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for step in range(STEPS):
        things = noises(10_000 * step, n, 16)
        one, two = (things + 0.3 * noises(10_000 * step + 1000 * k, n, 16) for k in (1, 2))
        scores = net(one) @ net(two).T / temperature
        loss = F.cross_entropy(scores, torch.arange(n))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def pole(state, push):
    """One step of 0.02 s of a pole on a cart (Barto, Sutton and Anderson 1983): position, speed, angle, its speed."""
    x, v, angle, spin = state
    force, total, length = (10.0 if push else -10.0), 1.1, 0.5
    pull = (force + 0.05 * spin * spin * math.sin(angle)) / total
    turn = (9.8 * math.sin(angle) - math.cos(angle) * pull) / (length * (4 / 3 - 0.1 * math.cos(angle) ** 2 / total))
    slide = pull - 0.05 * turn * math.cos(angle) / total
    return [x + 0.02 * v, v + 0.02 * slide, angle + 0.02 * spin, spin + 0.02 * turn]


def policy_gradient():
    """REINFORCE: what was done before the pole fell late is done more often."""
    returns = []
    net = perceptron(4, 16, 2)
    export(net, "policy", 4, "state", "logits")
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for episode in range(STEPS):
        state, states, actions = [0.1 * (noise(episode * 1000 + k) - 0.5) for k in range(4)], [], []
        while len(states) < 100 and abs(state[2]) < 0.21 and abs(state[0]) < 2.4:
            states.append(state)
            with torch.no_grad():
                right = torch.softmax(net(torch.tensor([state])), 1)[0, 1].item()
            actions.append(int(noise(episode * 1000 + 500 + len(states)) < right))
            state = pole(state, actions[-1])
        left = [len(states) - i for i in range(len(states))]
        mean = sum(left) / len(left)
        advantage = torch.tensor([(value - mean) / len(left) for value in left])
        chosen = torch.log_softmax(net(torch.tensor(states)), 1)[torch.arange(len(states)), actions]
        loss = -(advantage * chosen).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        returns.append([loss.item(), len(states)])
    return returns


def gan():
    """A generator whose points a discriminator cannot tell from points on a circle."""
    n, losses = 32, []
    generator, discriminator = perceptron(4, 16, 2), perceptron(2, 16, 1)
    export(generator, "generator", 4, "noise", "point")
    export(discriminator, "discriminator", 2, "point", "logit")
    optimizers = [torch.optim.Adam(net.parameters(), 0.005, (0.5, 0.999)) for net in (discriminator, generator)]
    for step in range(STEPS):
        angles = [2 * math.pi * noise(10_000 * step + i) for i in range(n)]
        real = torch.tensor([[math.cos(angle), math.sin(angle)] for angle in angles])
        fake = generator(noises(10_000 * step + 5000, n, 4))
        on_real, on_fake = discriminator(real), discriminator(fake.detach())
        told = F.softplus(-on_real).mean() + F.softplus(on_fake).mean()
        optimizers[0].zero_grad()
        told.backward()
        optimizers[0].step()
        fooled = F.softplus(-discriminator(fake)).mean()
        optimizers[1].zero_grad()
        fooled.backward()
        optimizers[1].step()
        losses.append([told.item(), fooled.item()])
    return losses


if __name__ == "__main__":
    torch.manual_seed(1)
    made = {"contrastive": contrastive(), "policyGradient": policy_gradient(), "gan": gan()}
    (HERE / "examples.json").write_text(json.dumps(made, indent=1) + "\n")
