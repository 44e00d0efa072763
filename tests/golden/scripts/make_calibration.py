"""Writes calibration.json: scores of four sets of examples, the temperature that PyTorch's LBFGS finds for them (Guo et
al. 2017), and their calibration error before and after, over 15 bins as by torchmetrics' formula in NumPy. Run by hand,
with PyTorch 2.
"""
import json
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from make_w import batch_units

HERE = Path(__file__).resolve().parents[1] / "data"
BINS = 15
# examples, classes, how far apart the scores of the right class are, by what all are multiplied
SETS = [(200, 10, 1.5, 3), (60, 5, 2, 0.4), (30, 2, 0.5, 8), (12, 3, 1, 1)]


def temperature(scores, labels):
    log = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([log], lr=0.5, max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-15,
                                  line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = F.cross_entropy(scores / log.exp(), labels)
        value.backward()
        return value

    optimizer.step(loss)
    return float(log.exp())


def error(scores, labels, t):
    p = torch.softmax(scores / t, 1)
    confidence, found = (x.detach().numpy() for x in p.max(1))
    right = found == labels.numpy()
    bins = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    filled = [bins == b for b in range(BINS) if (bins == b).any()]
    return float(sum(abs(right[own].mean() - confidence[own].mean()) * own.mean() for own in filled))


def main():
    sets = []
    for i, (count, classes, apart, times) in enumerate(SETS):
        noise = np.array(batch_units(20 + i, count * classes)).reshape(count, classes)
        labels = (np.array(batch_units(40 + i, count)) * classes).astype(int)
        raw = times * (6 * noise + apart * np.eye(classes)[labels])
        scores = torch.tensor(np.round(raw * 64) / 64, dtype=torch.float64)
        target = torch.tensor(labels)
        t = temperature(scores, target)
        sets.append(dict(classes=classes, scores=scores.flatten().tolist(), labels=labels.tolist(), temperature=t,
                         before=error(scores, target, 1), after=error(scores, target, t)))
        print(count, classes, t, sets[-1]["before"], sets[-1]["after"])
    (HERE / "calibration.json").write_text(json.dumps(sets) + "\n")


if __name__ == "__main__":
    main()
