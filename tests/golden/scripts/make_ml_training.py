"""Writes ml_training.json: classifiers of scikit-learn as skl2onnx exports them by default, scikit-learn's log loss of
some rows, and the losses of steps of gradient descent on these in PyTorch, in float64, where a twin is written here.

  build/venv/bin/python tests/golden/scripts/make_ml_training.py     (packages: make_ml.py's and torch)
"""
import base64
import json
import warnings
from pathlib import Path

import numpy as np
import torch
from skl2onnx import to_onnx
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from torch import nn

HERE = Path(__file__).resolve().parents[1] / "data"
ROWS, STEPS, LR = 12, 200, 0.05
SEED = {"random_state": 3}
LOGISTIC = {"max_iter": 500, "C": 0.05}  # far from sure, so that steps change much


def data(load, features):
    x, y = load(return_X_y=True)
    return x[:, :features].astype(np.float32), y


IRIS, CANCER = data(load_iris, 4), data(load_breast_cancer, 5)


# ---- twins: the probabilities of a last step in PyTorch, of the steps before it as they are ----

def layers(w, b):
    return nn.ParameterList([nn.Parameter(torch.tensor(np.array(v), dtype=torch.float64)) for v in (w, b)])


class Linear(nn.Module):
    def __init__(self, last, ends):
        super().__init__()
        self.last, self.ends = layers(last.coef_, last.intercept_), ends

    def forward(self, x):
        return self.ends(x @ self.last[0].T + self.last[1])


def softmax(last):
    return Linear(last, lambda z: z.softmax(1))


def sigmoid(last):
    """Of two classes."""
    return Linear(last, lambda z: torch.cat([1 - z.sigmoid(), z.sigmoid()], 1))


def shares(last):
    """Of sigmoids, one for each class."""
    return Linear(last, lambda z: z.sigmoid() / z.sigmoid().sum(1, keepdim=True))


class OneEach(nn.Module):
    def __init__(self, last):
        super().__init__()
        self.each = nn.ModuleList(Linear(one, lambda z: z.sigmoid()) for one in last.estimators_)

    def forward(self, x):
        p = torch.cat([one(x) for one in self.each], 1)
        p = torch.cat([1 - p, p], 1) if len(self.each) == 1 else p
        return p / p.sum(1, keepdim=True)


class Mean(nn.Module):
    def __init__(self, last):
        super().__init__()
        self.each = nn.ModuleList(softmax(one) for one in last.estimators_)

    def forward(self, x):
        return sum(one(x) for one in self.each) / len(self.each)


class Layered(nn.Module):
    def __init__(self, last):
        super().__init__()
        self.all = nn.ModuleList(layers(w, b) for w, b in zip(last.coefs_, last.intercepts_))

    def forward(self, x):
        for w, b in self.all[:-1]:
            x = (x @ w + b).relu()
        z = x @ self.all[-1][0] + self.all[-1][1]
        return z.softmax(1) if z.shape[1] > 1 else torch.cat([1 - z.sigmoid(), z.sigmoid()], 1)


MLP = {"max_iter": 60, **SEED}
MODELS = {
    "LogisticRegression": (LogisticRegression(**LOGISTIC), IRIS, softmax),
    "LogisticRegression of two classes": (make_pipeline(StandardScaler(), LogisticRegression(**LOGISTIC)), CANCER,
                                          sigmoid),
    "LogisticRegressionCV": (LogisticRegressionCV(max_iter=300, Cs=2), IRIS, softmax),
    "normalized, LogisticRegression": (make_pipeline(MinMaxScaler(), Normalizer(), LogisticRegression(**LOGISTIC)),
                                       IRIS, softmax),
    "LinearDiscriminantAnalysis": (LinearDiscriminantAnalysis(), IRIS, softmax),
    "SGDClassifier": (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", **SEED)), IRIS, shares),
    "SGDClassifier of two classes": (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", **SEED)), CANCER,
                                     sigmoid),
    "SGDClassifier, modified Huber": (make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber", **SEED)),
                                      IRIS, None),
    "OneVsRestClassifier": (OneVsRestClassifier(LogisticRegression(**LOGISTIC)), IRIS, OneEach),
    "OneVsRestClassifier of two classes": (
        make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression(**LOGISTIC))), CANCER, OneEach),
    "MLPClassifier": (make_pipeline(StandardScaler(), MLPClassifier((6,), **MLP)), IRIS, Layered),
    "MLPClassifier of two classes": (make_pipeline(StandardScaler(), MLPClassifier((6, 4), **MLP)), CANCER, Layered),
    "BaggingClassifier": (BaggingClassifier(LogisticRegression(**LOGISTIC), n_estimators=3, **SEED), IRIS, Mean),
    "VotingClassifier": (VotingClassifier([("a", LogisticRegression(**LOGISTIC)),
                                           ("b", DecisionTreeClassifier(max_depth=1, **SEED))], voting="soft",
                                          flatten_transform=False), IRIS, None),
    "StackingClassifier": (StackingClassifier([("a", LogisticRegression(**LOGISTIC)),
                                               ("b", DecisionTreeClassifier(max_depth=2, **SEED))]), IRIS, None),
    "CalibratedClassifierCV": (CalibratedClassifierCV(LinearSVC(**SEED), cv=2), IRIS, None),
    "MultinomialNB": (MultinomialNB(), IRIS, None),
}


def trained(model, twin, x, y):
    """Losses of the steps, the first and the last."""
    before, last = (model[:-1], model[-1]) if hasattr(model, "steps") else (None, model)
    x = torch.tensor(np.asarray(before.transform(x) if before else x, dtype=np.float64))
    net, target, losses = twin(last).double(), torch.tensor(y), []
    optimizer = torch.optim.SGD(net.parameters(), lr=LR)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(net(x).log(), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [float(f"{loss:.7g}") for loss in (*losses[:3], losses[-1])]


def accuracy(model, x, y):
    """Of the largest probability: score, but where modified Huber gives two classes the same one."""
    p = np.sort(model.predict_proba(x))
    found = accuracy_score(y, model.predict_proba(x).argmax(1))
    assert found == model.score(x, y) or (p[:, -1] == p[:, -2]).any()
    return float(f"{found:.7g}")


def calibration_error(p, y, bins=15):
    """Of Guo et al., "On calibration of modern neural networks", 2017."""
    confidence, right = p.max(1), p.argmax(1) == y
    at = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, None)
    return float(f"{sum(abs((right[at == b] - confidence[at == b]).sum()) for b in range(bins)) / len(y):.7g}")


def case_of(model, rows, twin):
    model.fit(*rows)
    step = len(rows[0]) // ROWS
    x, y = rows[0][::step][:ROWS], rows[1][::step][:ROWS]
    file = to_onnx(model, x[:1])
    note = {"model": base64.b64encode(file.SerializeToString()).decode(), "scores": file.graph.output[1].name,
            "x": [float(f"{v:.8g}") for v in x.flatten().tolist()], "labels": y.tolist(),
            "logLoss": float(f"{log_loss(y, model.predict_proba(x), labels=model.classes_):.7g}"),
            "accuracy": accuracy(model, x, y), "calibrationError": calibration_error(model.predict_proba(x), y),
            "probabilities": [round(v, 7) for v in model.predict_proba(x[:3]).flatten().tolist()]}
    return note | ({"losses": trained(model, twin, x, y)} if twin else {})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    notes = {name: case_of(*row) for name, row in MODELS.items()}
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(note, allow_nan=False)}" for name, note in notes.items())
    (HERE / "ml_training.json").write_text("{\n" + text + "\n}\n")
    for name, note in notes.items():
        print(f"{name}: {note['logLoss']:.4f} {note.get('losses')}")
