"""Writes metrics.json: what scikit-learn (1.9.1) says of predictions, and Keras (3.15.1) of the area under the ROC
curve: `python3 make_metrics.py` where both are installed.

Scores (N, 5) and labels are formulas, those of make_w.py: element i is hash(seed, i). Labels agree with the largest
score now and then, class 4 is no label, and class 3 is never predicted. The expected calibration error is by its
definition (Guo et al. 2017, 15 bins).
"""
import json
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
from sklearn import metrics
from sklearn.utils.class_weight import compute_class_weight

N, CLASSES = 203, 5


def bits(seed, count):
    x = (np.arange(count, dtype=np.uint64) + seed * 0x9E3779B9) & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x ^= x >> np.uint64(shift)
        x = (x * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return x ^ (x >> np.uint64(16))


def units(seed, count):
    return (bits(seed, count) >> np.uint64(8)).astype(np.float64) / 2**24


def data():
    scores = (4 * units(1, N * CLASSES) - 2).reshape(N, CLASSES)
    scores[:, 3] = -3
    found = scores.argmax(1)
    labels = np.where(units(2, N) < 0.4, found % 4, (bits(3, N) % np.uint64(4)).astype(np.int64))
    return scores.astype(np.float32).astype(np.float64), labels


def calibration_error(scores, labels, bins=15):
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    confidence, right = probabilities.max(1), scores.argmax(1) == labels
    error = 0
    for low in np.arange(bins) / bins:
        inside = (confidence > low) & (confidence <= low + 1 / bins)
        if inside.any():
            error += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return error


def told(scores, labels):
    found, every = scores.argmax(1), list(range(CLASSES))
    result = {"accuracy": metrics.accuracy_score(labels, found)}
    for k in (2, 3):
        result[f"top-{k}-accuracy"] = metrics.top_k_accuracy_score(labels, scores, k=k, labels=every)
    for name, score in (("precision", metrics.precision_score), ("recall", metrics.recall_score),
                        ("f1", metrics.f1_score)):
        result[name] = score(labels, found, average="macro", zero_division=0)
        result[f"{name}-per-class"] = score(labels, found, average=None, labels=every, zero_division=0).tolist()
    result["confusion-matrix"] = metrics.confusion_matrix(labels, found, labels=every).tolist()
    result["calibration-error"] = calibration_error(scores, labels)
    result["auc"] = area_under_curve(scores, labels)
    return result


def area_under_curve(scores, labels):
    """Each class against the others, the mean over those that are a label."""
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    areas = []
    for label in np.unique(labels):
        area = keras.metrics.AUC(num_thresholds=200, dtype="float64")
        area.update_state(labels == label, probabilities[:, label])
        areas.append(float(area.result()))
    return float(np.mean(areas))


def main():
    scores, labels = data()
    counts = labels != 1  # as with ignoreIndex: 1
    present = np.unique(labels)
    balanced = compute_class_weight("balanced", classes=present, y=labels)
    targets = 2 * units(4, N * CLASSES) - 1
    record = dict(n=N, classes=CLASSES, labels=labels.tolist(), all=told(scores, labels),
                  ignoring1=told(scores[counts], labels[counts]),
                  balanced=dict(zip(present.tolist(), balanced.tolist())),
                  mae=metrics.mean_absolute_error(targets, scores.reshape(-1)),
                  mape=metrics.mean_absolute_percentage_error(targets, scores.reshape(-1)),
                  r2=metrics.r2_score(targets.reshape(N, CLASSES), scores))
    (Path(__file__).resolve().parents[1] / "data" / "metrics.json").write_text(json.dumps(record) + "\n")
    print(record["all"], record["mae"])


if __name__ == "__main__":
    main()
