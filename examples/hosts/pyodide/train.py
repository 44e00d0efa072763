"""Trains an exclusive or; keyword arguments become the options of JavaScript."""

from js import Object
from pyodide.ffi import to_js
from trainlet import TrainingSession, generateArtifacts, tensor
from trainlet_layers import dense, input, sequential


def js(value):
    return to_js(value, dict_converter=Object.fromEntries)


data = js({
    "inputs": tensor(js([[0, 0], [0, 1], [1, 0], [1, 1]])),
    "labels": tensor(js([0, 1, 1, 0]), "int64"),
})
network = await sequential(js([input(js([2])), dense(8, activation="tanh"), dense(2)]))
artifacts = await generateArtifacts(network, loss="cross-entropy", optimizer=js({"type": "adam", "lr": 0.05}))
session = await TrainingSession.create(artifacts)
before = await session.evaluate(data)
await session.fit(data, epochs=200)
after = await session.evaluate(data)
await session.release()
f"loss {before.loss:.4f} → {after.loss:.4f}"
