"""Models of scikit-learn by skl2onnx, of LightGBM and XGBoost by onnxmltools, as these export them by default."""

from dataclasses import dataclass
from typing import Callable, Optional

import lightgbm
import numpy as np
import onnx
import torch
import xgboost
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as ToolsFloat
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, IsolationForest, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier
from torch import nn
from torch.nn import functional as F

from . import note

ROWS = 12
TREE, VECTORS = "does not train: a tree", "does not train: support vectors"
NO_WEIGHTS = "does not train: it has no weights"


@dataclass
class Fitted:
    """A model fitted to `data`, x and y; `twin` gives what trains of it in PyTorch, else `untrained` says why not."""

    model: object
    data: tuple
    twin: Optional[Callable] = None
    untrained: str = ""
    tool: str = "skl2onnx"
    types: Optional[list] = None  # of inputs that are columns
    opset: Optional[dict] = None  # where the newest is refused by the exporter
    rows: Optional[Callable] = None  # what is fed of x

    def make(self, name, folder):
        x, y = self.data
        self.model.fit(x, y)
        some = x[:: max(1, len(x) // ROWS)][:ROWS]
        file = self.exported(some)
        feeds = self.rows(some) if self.rows else {file.graph.input[0].name: some}
        noted = {"name": name, "exporter": self.tool, "opset": note.opsets(file), "within": 1e-4,
                 "inputs": {k: note.packed(v) for k, v in feeds.items()},
                 "outputs": {o.name: note.packed(v) for o, v in zip(file.graph.output, self.answers(some))}}
        noted |= {"untrained": self.untrained} if self.untrained else self.learned(file, some)
        note.save(folder, file, noted)

    def exported(self, some):
        if self.tool == "skl2onnx":
            first = [] if self.types else [some[:1]]
            return to_onnx(self.model, *first, initial_types=self.types, target_opset=self.opset)
        convert = convert_lightgbm if self.tool == "onnxmltools, LightGBM" else convert_xgboost
        return convert(self.model, initial_types=[("x", ToolsFloat([None, some.shape[1]]))])

    def answers(self, some):
        """In the order of the outputs: labels and probabilities, or numbers."""
        last = self.model[-1] if hasattr(self.model, "steps") else self.model
        scores = next((s for s in ("predict_proba", "decision_function", "transform") if hasattr(last, s)), None)
        predicted = self.model.predict(some)
        if last.__class__ in (KMeans,):
            return [predicted.astype(np.int64), self.model.transform(some).astype(np.float32)]
        if not scores:
            return [predicted.astype(np.float32).reshape(len(some), -1)]
        labels = predicted if predicted.dtype.kind in "OU" else predicted.astype(np.int64)
        return [labels, getattr(self.model, scores)(some).astype(np.float32)]

    def learned(self, file, some):
        """Five steps of gradient descent: of the scores towards other labels, or of numbers towards others."""
        torch.manual_seed(2)
        before = self.model[:-1] if hasattr(self.model, "steps") else None
        x = before.transform(some) if before else some
        x = torch.from_numpy(np.asarray(x.todense() if hasattr(x, "todense") else x, dtype=np.float32))
        last = self.model[-1] if before else self.model
        classes = getattr(last, "classes_", None)
        y = self.twin(file, last)(x)
        target = torch.randint(0, len(classes), (len(x),)) if classes is not None else y.detach() + torch.randn_like(y)
        loss = log_loss if classes is not None else F.mse_loss

        def steps(lr):
            net, losses = self.twin(file, last), []
            optimizer = torch.optim.SGD(net.parameters(), lr=lr)
            for _ in range(note.STEPS):
                optimizer.zero_grad()
                step = loss(net(x), target)
                step.backward()
                optimizer.step()
                losses.append(step.item())
            return losses, None

        lr, losses, *_ = note.with_best_rate(steps)
        return {"loss": "mse" if classes is None else "cross-entropy", "target": note.packed(target), "losses": losses,
                "optimizer": {"type": "sgd", "lr": lr},
                **({} if classes is None else {"lossInputs": [file.graph.output[1].name]})}


def log_loss(probabilities, target):
    return F.nll_loss(probabilities.log(), target)


class Linear(nn.Module):
    """LinearRegressor or LinearClassifier of a file, and what it makes of its scores; two classes have one row."""

    def __init__(self, file, last):
        super().__init__()
        node = next(n for n in file.graph.node if n.op_type in ("LinearRegressor", "LinearClassifier"))
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        b = torch.tensor(given["intercepts"])
        w = torch.tensor(given["coefficients"]).reshape(len(b), -1)
        two = given.get("post_transform") == b"LOGISTIC" and len(b) == 2
        self.w, self.b = nn.Parameter(w[1:] if two else w), nn.Parameter(b[1:] if two else b)
        self.ends = [given.get("post_transform", b"NONE").decode()] + [n.op_type for n in file.graph.node]

    def forward(self, x):
        y = x @ self.w.T + self.b
        y = y.softmax(-1) if self.ends[0] == "SOFTMAX" else y.sigmoid() if self.ends[0] == "LOGISTIC" else y
        y = torch.cat([1 - y, y], 1) if self.ends[0] == "LOGISTIC" and y.shape[1] == 1 else y
        return y / y.abs().sum(-1, keepdim=True) if self.ends[-2:] == ["Normalizer", "ZipMap"] else y


def layered(_, last):
    """The layers of an MLPClassifier or MLPRegressor."""
    layers = []
    for w, b in zip(last.coefs_, last.intercepts_):
        layer = nn.Linear(*w.shape)
        layer.weight.data, layer.bias.data = torch.tensor(w.T.copy()).float(), torch.tensor(b).float()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1], *([nn.Softmax(-1)] if hasattr(last, "classes_") else []))


def data(load):
    x, y = load(return_X_y=True)
    return x.astype(np.float32), y


IRIS, CANCER, DIABETES = data(load_iris), data(load_breast_cancer), data(load_diabetes)
HOLES = DIABETES[0].copy()
HOLES[::7, 1] = np.nan
TWO = np.stack([DIABETES[1], -DIABETES[1]], 1)
NAMES = load_iris().target_names[IRIS[1]].astype(object)
WORDS = np.array([["red", "green", "blue"][i % 3] + " " + ["small", "large", "wide", "long"][i * 7 % 4]
                  for i in range(60)], dtype=object)
MIXED = np.concatenate([IRIS[0][:60, :2].astype(object), np.array([w.split() for w in WORDS], dtype=object)], 1)
KINDS = (np.arange(60) * 5 % 7 > 2).astype(np.int64)
COLUMNS = [("a", FloatTensorType([None, 2])), ("b", StringTensorType([None, 2]))]
SEED, BOOSTED = {"random_state": 3}, {"n_estimators": 20}

mixed = make_pipeline(ColumnTransformer([
    ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
    ("words", OneHotEncoder(handle_unknown="ignore"), [2, 3])]), LogisticRegression())

MODELS = {
    "LinearRegression": Fitted(LinearRegression(), DIABETES, Linear),
    "ElasticNet": Fitted(ElasticNet(0.1), DIABETES, Linear),
    "imputer, scaler, Ridge of two targets": Fitted(
        make_pipeline(SimpleImputer(), StandardScaler(), Ridge()), (HOLES, TWO), Linear),
    "scaler, normalizer, LinearRegression": Fitted(
        make_pipeline(MinMaxScaler(), Normalizer(), LinearRegression()), DIABETES, Linear),
    "LogisticRegression": Fitted(LogisticRegression(max_iter=500), IRIS, Linear),
    "scaler, LogisticRegression of two classes": Fitted(
        make_pipeline(StandardScaler(), LogisticRegression()), CANCER, Linear),
    "columns: numbers, words, LogisticRegression": Fitted(
        mixed, (MIXED, KINDS), untrained="does not train: an input of words", types=COLUMNS,
        rows=lambda x: {"a": x[:, :2].astype(np.float32), "b": x[:, 2:]}),
    "MLPClassifier": Fitted(MLPClassifier((16,), max_iter=300, **SEED), IRIS, layered),
    "scaler, MLPRegressor": Fitted(
        make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(16, 8), max_iter=200, **SEED)),
        DIABETES, layered),
    "LogisticRegression of names": Fitted(
        make_pipeline(StandardScaler(), LogisticRegression()), (IRIS[0], NAMES),
        untrained="does not train: its labels are words"),
    "PCA, SVC": Fitted(make_pipeline(PCA(2), SVC()), IRIS, untrained=VECTORS),
    "SVR": Fitted(SVR(), DIABETES, untrained=VECTORS),
    "RandomForestClassifier": Fitted(RandomForestClassifier(**BOOSTED, **SEED), IRIS, untrained=TREE),
    "GradientBoostingRegressor": Fitted(GradientBoostingRegressor(**BOOSTED), DIABETES, untrained=TREE),
    "DecisionTreeClassifier": Fitted(DecisionTreeClassifier(max_depth=5, **SEED), CANCER, untrained=TREE),
    "IsolationForest": Fitted(IsolationForest(n_estimators=10, **SEED), IRIS, untrained=TREE,
                              opset={"": 17, "ai.onnx.ml": 3}),
    "KNeighborsClassifier": Fitted(KNeighborsClassifier(), IRIS, untrained=NO_WEIGHTS),
    "KMeans": Fitted(KMeans(4, n_init=3, **SEED), IRIS, untrained=NO_WEIGHTS),
    "GaussianNB": Fitted(GaussianNB(), IRIS, untrained="does not train: its numbers are statistics"),
    "LightGBM classifier": Fitted(lightgbm.LGBMClassifier(**BOOSTED, verbose=-1), IRIS, untrained=TREE,
                                  tool="onnxmltools, LightGBM"),
    "LightGBM regressor": Fitted(lightgbm.LGBMRegressor(**BOOSTED, verbose=-1), DIABETES, untrained=TREE,
                                 tool="onnxmltools, LightGBM"),
    "XGBoost classifier": Fitted(xgboost.XGBClassifier(**BOOSTED, max_depth=4), IRIS, untrained=TREE,
                                 tool="onnxmltools, XGBoost"),
    "XGBoost regressor": Fitted(xgboost.XGBRegressor(**BOOSTED, max_depth=4), DIABETES, untrained=TREE,
                                tool="onnxmltools, XGBoost"),
}
