"""Writes ml/*.onnx and ml.json: models of scikit-learn, LightGBM and XGBoost as skl2onnx and onnxmltools export them by
default, small ones, and what the framework itself answers for a few examples. With --all FOLDER also those that are too
many or too large to be kept. Run by hand:
  python3 -m venv build/venv
  build/venv/bin/pip install scikit-learn skl2onnx onnxmltools lightgbm xgboost onnxruntime
  build/venv/bin/python tests/golden/scripts/make_ml.py
"""
import copy
import json
import sys
from pathlib import Path

import lightgbm
import numpy as np
import onnxruntime
import xgboost
from onnx import helper
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as ToolsFloat
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (DictionaryType, DoubleTensorType, FloatTensorType, Int64TensorType,
                                        StringTensorType)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import (AdaBoostClassifier, ExtraTreesRegressor, GradientBoostingClassifier,
                              GradientBoostingRegressor, HistGradientBoostingClassifier,
                              HistGradientBoostingRegressor, IsolationForest, RandomForestClassifier,
                              RandomForestRegressor, VotingClassifier)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (Binarizer, KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder,
                                   OrdinalEncoder, PolynomialFeatures, RobustScaler, StandardScaler)
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

HERE = Path(__file__).resolve().parents[1] / "data"
ROWS = 6


def data(load):
    x, y = load(return_X_y=True)
    return x.astype(np.float32), y


IRIS, CANCER, DIGITS, DIABETES = data(load_iris), data(load_breast_cancer), data(load_digits), data(load_diabetes)
IRIS_NAMES = (IRIS[0], load_iris().target_names[IRIS[1]].astype(object))
HOLES = IRIS[0].copy()
HOLES[::7, 1] = np.nan
HOLES[3::11, 2] = np.nan
MIXED = np.array([[["red", "green", "blue"][i % 3], ["s", "m", "l", "xl"][i * 7 % 4]] for i in range(60)], dtype=object)
MIXED_Y = (np.arange(60) * 5 % 7 > 2).astype(np.int64)


def picked(x):
    return x[:: max(1, len(x) // ROWS)][:ROWS]


def answers(model, x):
    """What the framework says: labels or numbers, and probabilities or decisions."""
    if not hasattr(model, "predict"):
        y = model.transform(x)
        return dict(out=y.toarray() if hasattr(y, "toarray") else y)
    out = dict(label=model.predict(x))
    scores = getattr(model, "predict_proba", None) or getattr(model, "decision_function", None)
    if scores:
        y = scores(x)
        if y.ndim > 1 or not hasattr(model, "classes_"):  # of two classes ONNX has two decisions
            out["scores"] = y
    return out


def sk(model, data, x=None, types=None, **options):
    def make():
        model.fit(*data) if data[1] is not None else model.fit(data[0])
        some = picked(data[0]) if x is None else x
        kinds = types or [("x", FloatTensorType([None, some.shape[1]]))]
        onnx = to_onnx(model, initial_types=kinds, target_opset={"": 17, "ai.onnx.ml": 3}, **options)
        return onnx, {"x": some}, answers(model, some)
    return make


def columns():
    x = np.column_stack([np.arange(60) % 9, np.arange(60) * 3 % 11]).astype(np.float32)
    table = {"a": x[:, :1], "b": x[:, 1:], "c": MIXED[:, :1], "d": MIXED[:, 1:]}
    whole = np.concatenate([x.astype(object), MIXED], axis=1)
    model = make_pipeline(
        ColumnTransformer([("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
                           ("words", OneHotEncoder(handle_unknown="ignore"), [2, 3])]), LogisticRegression())
    model.fit(whole, MIXED_Y)
    kinds = [(name, StringTensorType([None, 1]) if name in "cd" else FloatTensorType([None, 1])) for name in table]
    onnx = to_onnx(model, initial_types=kinds, target_opset={"": 17, "ai.onnx.ml": 3})
    return onnx, {name: value[:ROWS] for name, value in table.items()}, answers(model, whole[:ROWS])


def dictionary():
    rows = [{"height": 1.0 + i % 4, "weight": i * 2.0 % 5, "age": float(i % 3)} for i in range(30)]
    model = make_pipeline(DictVectorizer(sparse=False), LogisticRegression()).fit(rows, np.arange(30) % 4 > 1)
    onnx = to_onnx(model, initial_types=[("x", DictionaryType(StringTensorType([1]), FloatTensorType([])))],
                   target_opset={"": 17, "ai.onnx.ml": 3})
    return onnx, {"x": rows[2]}, answers(model, rows[2:3])


TEXTS = ["the cat sat on the mat", "dogs bark at the moon", "one cat and one dog", "the moon is bright tonight",
         "birds sing in the morning", "Cats sleep all day long", "the dog chased the cat", "bright stars and the moon",
         "morning birds and evening bats", "sleepy dogs on the mat"]
TOPICS = [0, 1, 0, 1, 2, 0, 0, 1, 2, 1]


def text(*steps):
    """Of texts, one for each row."""
    def make():
        model = make_pipeline(*steps).fit(TEXTS, TOPICS)
        onnx = to_onnx(model, initial_types=[("x", StringTensorType([None]))])
        return onnx, {"x": np.array(TEXTS[:ROWS], dtype=object)}, answers(model, TEXTS[:ROWS])
    return make


def lgbm(model, data):
    def make():
        model.fit(*data)
        some = picked(data[0])
        onnx = convert_lightgbm(model, initial_types=[("x", ToolsFloat([None, some.shape[1]]))], target_opset=15)
        return onnx, {"x": some}, answers(model, some)
    return make


def xgb(model, data):
    def make():
        model.fit(*data)
        some = picked(data[0])
        onnx = convert_xgboost(model, initial_types=[("x", ToolsFloat([None, some.shape[1]]))], target_opset=15)
        return onnx, {"x": some}, answers(model, some)
    return make


WORDS = [("x", StringTensorType([None, 2]))]
SEED = dict(random_state=3)
BINARY = (CANCER[0], CANCER[1] * 4 + 3)  # labels 3 and 7
LGBM = dict(n_estimators=6, num_leaves=7, verbose=-1)
XGB = dict(n_estimators=6, max_depth=3)
MODELS = {
    "logistic": sk(LogisticRegression(max_iter=500), IRIS),
    "logistic_names": sk(make_pipeline(StandardScaler(), LogisticRegression()), IRIS_NAMES),
    "logistic_binary": sk(make_pipeline(StandardScaler(), LogisticRegression()), BINARY),
    "linear": sk(LinearRegression(), DIABETES),
    "ridge_two": sk(Ridge(), (DIABETES[0], np.stack([DIABETES[1], -DIABETES[1]], 1))),
    "elastic": sk(ElasticNet(0.1), DIABETES),
    "ovr": sk(OneVsRestClassifier(LogisticRegression()), IRIS),
    "sgd": sk(make_pipeline(StandardScaler(), SGDClassifier(**SEED)), IRIS),
    "scaled": sk(make_pipeline(MinMaxScaler(), Normalizer(), Ridge()), DIABETES),
    "imputed": sk(make_pipeline(SimpleImputer(strategy="median"), RobustScaler(), LogisticRegression()),
                  (HOLES, IRIS[1]), HOLES[[0, 3, 7, 14, 60, 147]]),
    "normalized_l1": sk(make_pipeline(Normalizer("l1"), LogisticRegression()), IRIS),
    "normalized_max": sk(make_pipeline(MaxAbsScaler(), Normalizer("max"), LogisticRegression()), IRIS),
    "binarized": sk(make_pipeline(Binarizer(threshold=3.0), LogisticRegression()), IRIS),
    "polynomial": sk(make_pipeline(PolynomialFeatures(2), Ridge()), (IRIS[0], IRIS[1].astype(float))),
    "bins": sk(make_pipeline(KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
                             LogisticRegression()), IRIS),
    "pca": sk(make_pipeline(StandardScaler(), PCA(2), LogisticRegression()), IRIS),
    "one_hot": sk(OneHotEncoder(handle_unknown="ignore"), (MIXED, None),
                  np.array([["red", "xl"], ["blue", "s"], ["grey", "m"]], dtype=object), WORDS),
    "ordinal": sk(make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=3, **SEED)), (MIXED, MIXED_Y),
                  MIXED[:ROWS], WORDS),
    "columns": columns,
    "dictionary": dictionary,
    "tree": sk(DecisionTreeClassifier(max_depth=4, **SEED), IRIS_NAMES),
    "tree_binary": sk(DecisionTreeClassifier(max_depth=4, **SEED), BINARY),
    "tree_regressor": sk(DecisionTreeRegressor(max_depth=4, **SEED), DIABETES),
    "tree_two": sk(DecisionTreeRegressor(max_depth=4, **SEED),
                   (DIABETES[0], np.stack([DIABETES[1], -DIABETES[1]], 1))),
    "forest": sk(RandomForestClassifier(5, max_depth=4, **SEED), IRIS),
    "forest_binary": sk(RandomForestClassifier(6, max_depth=3, **SEED), CANCER),
    "forest_regressor": sk(RandomForestRegressor(5, max_depth=4, **SEED), DIABETES),
    "forest_double": sk(RandomForestRegressor(5, max_depth=4, **SEED), DIABETES,
                        picked(DIABETES[0]).astype(np.float64), [("x", DoubleTensorType([None, 10]))]),
    "forest_digits": sk(RandomForestClassifier(20, **SEED), DIGITS),
    "extra": sk(ExtraTreesRegressor(5, max_depth=5, **SEED), DIABETES),
    "boosted": sk(GradientBoostingClassifier(n_estimators=5, **SEED), IRIS),
    "boosted_binary": sk(GradientBoostingClassifier(n_estimators=5, **SEED), CANCER),
    "boosted_regressor": sk(GradientBoostingRegressor(n_estimators=5, **SEED), DIABETES),
    "histogram": sk(HistGradientBoostingClassifier(max_iter=5, **SEED), (HOLES, IRIS[1]),
                    HOLES[[0, 3, 7, 14, 60, 147]]),
    "histogram_binary": sk(HistGradientBoostingClassifier(max_iter=5, **SEED), CANCER),
    "histogram_regressor": sk(HistGradientBoostingRegressor(max_iter=5, **SEED), DIABETES),
    "ada": sk(AdaBoostClassifier(n_estimators=4, **SEED), IRIS),
    "isolation": sk(IsolationForest(n_estimators=3, max_samples=16, **SEED), (IRIS[0], None)),
    "voting": sk(VotingClassifier([("a", LogisticRegression(max_iter=500)),
                                   ("b", DecisionTreeClassifier(max_depth=3, **SEED))], voting="soft"), IRIS),
    "calibrated": sk(CalibratedClassifierCV(LinearSVC(**SEED), cv=2), IRIS),
    "svc": sk(SVC(), (IRIS[0][::3], IRIS[1][::3]), picked(IRIS[0])),
    "svc_probability": sk(SVC(probability=True, **SEED), (IRIS[0][::3], IRIS_NAMES[1][::3]), picked(IRIS[0])),
    "svc_binary": sk(SVC(kernel="poly", degree=2), (IRIS[0][50::3], IRIS[1][50::3]), IRIS[0][50::17]),
    "svc_binary_probability": sk(SVC(probability=True, kernel="linear", **SEED),
                                 (IRIS[0][50::3], IRIS[1][50::3]), IRIS[0][50::17]),
    "svc_sigmoid": sk(make_pipeline(StandardScaler(), SVC(kernel="sigmoid")), (IRIS[0][::3], IRIS[1][::3]),
                      picked(IRIS[0])),
    "nu_svc": sk(NuSVC(), (IRIS[0][::3], IRIS[1][::3]), picked(IRIS[0])),
    "linear_svc": sk(LinearSVC(**SEED), IRIS),
    "svr": sk(SVR(C=100), (DIABETES[0][::20], DIABETES[1][::20]), picked(DIABETES[0])),
    "svr_linear": sk(SVR(kernel="linear", C=10), (DIABETES[0][::20], DIABETES[1][::20]), picked(DIABETES[0])),
    "one_class": sk(OneClassSVM(), (IRIS[0][::5], None), picked(IRIS[0])),
    "mlp": sk(make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=800, **SEED)), IRIS),
    "mlp_regressor": sk(MLPRegressor((6,), max_iter=200, **SEED), DIABETES),
    "neighbours": sk(KNeighborsClassifier(3), (IRIS[0][::5], IRIS[1][::5]), picked(IRIS[0])),
    "neighbours_cdist": sk(KNeighborsClassifier(3), (IRIS[0][::5], IRIS[1][::5]), picked(IRIS[0]),
                           options={KNeighborsClassifier: {"optim": "cdist"}}),
    "bayes": sk(GaussianNB(), IRIS),
    "text_counts": text(CountVectorizer(), LogisticRegression()),
    "text_tfidf": text(TfidfVectorizer(), LogisticRegression()),
    "text_bigrams": text(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression()),
    "text_few": text(CountVectorizer(max_features=8), LogisticRegression()),
    "text_bayes": text(TfidfVectorizer(), MultinomialNB()),
    "text_bernoulli": text(CountVectorizer(binary=True), BernoulliNB()),
    "text_svd": text(TfidfVectorizer(), TruncatedSVD(3, **SEED), LogisticRegression()),
    "text_sgd": text(TfidfVectorizer(), SGDClassifier(loss="log_loss", **SEED)),
    "text_stop_words": text(TfidfVectorizer(stop_words="english", sublinear_tf=True), LogisticRegression()),
    "text_forest": text(CountVectorizer(lowercase=False), RandomForestClassifier(5, **SEED)),
    "lightgbm": lgbm(lightgbm.LGBMClassifier(**LGBM), (HOLES, IRIS[1])),
    "lightgbm_binary": lgbm(lightgbm.LGBMClassifier(**LGBM), CANCER),
    "lightgbm_regressor": lgbm(lightgbm.LGBMRegressor(**LGBM), DIABETES),
    "lightgbm_category": lgbm(lightgbm.LGBMClassifier(**LGBM), (HOLES, IRIS[1])),
    "xgboost": xgb(xgboost.XGBClassifier(**XGB), (HOLES, IRIS[1])),
    "xgboost_binary": xgb(xgboost.XGBClassifier(**XGB), CANCER),
    "xgboost_regressor": xgb(xgboost.XGBRegressor(**XGB), DIABETES),
}
del MODELS["lightgbm_category"]
KEPT = ["logistic_names", "linear", "imputed", "columns", "dictionary", "tree", "forest", "isolation",
        "svc_probability", "svr", "mlp", "neighbours", "text_bigrams", "text_few", "lightgbm", "xgboost_binary",
        "boosted_regressor"]


def tensor(x):
    if isinstance(x, dict):
        return dict(map=x)
    x = np.asarray(x)
    kind = "string" if x.dtype.kind in "OU" else "bool" if x.dtype.kind == "b" else str(x.dtype)
    data = [None if isinstance(v, float) and np.isnan(v) else v for v in x.reshape(-1).tolist()]
    return dict(type=kind, dims=list(x.shape), data=data)


def runtime(onnx, feeds):
    """What ONNX Runtime says, where it runs here: of a map the values in the order of its keys."""
    for node in onnx.graph.node:
        if node.op_type == "StringNormalizer":  # its default, en_US, may not be installed
            node.attribute.append(helper.make_attribute("locale", "C"))
    session = onnxruntime.InferenceSession(onnx.SerializeToString())
    flat = lambda y: np.array([[row[k] for k in sorted(row)] for row in y]) if isinstance(y, list) else y
    return {o.name: flat(y) for o, y in zip(session.get_outputs(), session.run(None, feeds))}


def main():
    every = Path(sys.argv[2]) if sys.argv[1:2] == ["--all"] else None
    kept, cases = {}, {}
    for name, make in MODELS.items():
        if not every and name not in KEPT:
            continue
        try:
            onnx, feeds, wanted = make()
        except Exception as error:
            print(name, "is not exported:", str(error).split("\n")[0][:150])
            continue
        case = dict(inputs={k: tensor(v) for k, v in feeds.items()}, answers={k: tensor(v) for k, v in wanted.items()})
        try:
            case["runtime"] = {k: tensor(v) for k, v in runtime(copy.deepcopy(onnx), feeds).items()}
        except Exception as error:
            print(name, "does not run in ONNX Runtime:", str(error).split("\n")[0][:150])
        for folder in ([every] if every else []) + ([HERE / "ml"] if name in KEPT else []):
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.onnx").write_bytes(onnx.SerializeToString())
        cases[name] = case
        if name in KEPT:
            kept[name] = case
        print(name, onnx.ByteSize())
    (HERE / "ml.json").write_text(json.dumps(kept, allow_nan=False) + "\n")
    if every:
        (every / "all.json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
