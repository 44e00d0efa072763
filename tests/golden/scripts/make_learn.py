"""The ready models of the tutorials (docs/learn/from-pytorch.md, from-keras.md), each made as its page shows.

Run by hand: python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript keras &&
  build/venv/bin/python tests/golden/scripts/make_learn.py
"""

import os
import pathlib

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import onnx
import torch
from torch import nn

DEMO = pathlib.Path(__file__).resolve().parents[3] / "web-demo"
COUNT = 1000


def digits():
    """The thousand digits that the demo rehearses: labels, then pixels."""
    data = np.fromfile(DEMO / "replay.bin", dtype=np.uint8)
    pixels = data[COUNT : COUNT * 785].reshape(COUNT, 1, 28, 28)
    return torch.tensor(pixels / 255, dtype=torch.float32), torch.tensor(data[:COUNT].astype(np.int64))


def make_torch(file):
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(256, 10),
    )
    images, labels = digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(12):
        for rows in torch.randperm(COUNT).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
            optimizer.step()
    torch.onnx.export(
        model.train(), (images[:2],), str(file), optimize=False, external_data=False, verbose=False,
        dynamic_shapes=({0: "batch"},), input_names=["image"], output_names=["scores"],
    )
    return model


def waves(count, random, noise, gain):
    """Sines, squares and saws of 64 steps, of any phase and of one to three periods."""
    kinds = random.integers(0, 3, count)
    phase = random.random((count, 1)) + random.uniform(1, 3, (count, 1)) * np.arange(64) / 64
    shapes = np.stack([np.sin(2 * np.pi * phase), np.sign(np.sin(2 * np.pi * phase)), 2 * (phase % 1) - 1])
    signals = gain * shapes[kinds, np.arange(count)] + noise * random.standard_normal((count, 64))
    return signals[:, :, None].astype(np.float32), kinds


def make_keras(file):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.Input((64, 1)),
        keras.layers.Conv1D(8, 7, activation="relu"),
        keras.layers.MaxPooling1D(2),
        keras.layers.Conv1D(16, 5, activation="relu"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile(optimizer=keras.optimizers.Adam(0.005), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = waves(1000, np.random.default_rng(1), noise=0.05, gain=1)
    model.fit(x, y, epochs=30, verbose=0)
    print("keras", model.evaluate(x, y, verbose=0))
    model.export(str(file), format="onnx", verbose=False)


def tidy(file):
    """Without this machine's folders, which the exporter notes."""
    model = onnx.load(file)
    for value in [*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output]:
        notes = [(note.key, note.value) for note in value.metadata_props if "stack_trace" not in note.key]
        del value.metadata_props[:]
        for key, text in notes:
            value.metadata_props.add(key=key, value=text)
    onnx.save(model, file)
    print(file.name, file.stat().st_size, "bytes")


if __name__ == "__main__":
    folder = DEMO / "play/models"
    folder.mkdir(exist_ok=True)
    make_torch(folder / "torch.onnx")
    make_keras(folder / "keras.onnx")
    for name in ["torch.onnx", "keras.onnx"]:
        tidy(folder / name)
