"""Networks of Keras 3 on its PyTorch backend, exported by `model.export(file, format="onnx")` and its defaults."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch
from keras import layers as L

from .case import Case


@keras.saving.register_keras_serializable()
class Folded(L.Layer):
    """What the exporter writes for a BatchNormalization: numbers taken away, a factor, numbers added."""

    def build(self, shape):
        self.mean, self.factor, self.offset = (self.add_weight(shape=(shape[-1],), name=name)
                                               for name in ("mean", "factor", "offset"))

    def call(self, x, mask=None):
        return (x - self.mean) * self.factor + self.offset

    def take(self, norm):
        factor = norm.gamma * keras.ops.rsqrt(norm.moving_variance + norm.epsilon)
        self.set_weights([norm.moving_mean, factor, norm.beta])


def is_norm(layer):
    return isinstance(layer, L.BatchNormalization)


def twin(net):
    """What the file says: a copy with each BatchNormalization folded."""
    copy = keras.models.clone_model(net, clone_function=lambda layer: Folded(name=layer.name) if is_norm(layer) else
                                    layer.__class__.from_config(layer.get_config()))
    for mine, theirs in zip(copy.layers, net.layers):
        mine.take(theirs) if is_norm(theirs) else mine.set_weights(theirs.get_weights())
    return copy


def settle(net):
    """Statistics as of a network that has learned something."""
    for layer in filter(is_norm, net.layers):
        layer.moving_variance.assign(1 + 0.2 * torch.rand(layer.moving_variance.shape))


def export(net, inputs, file, exporter):
    """With a free batch; that of the inputs where all dims are told, for which Keras takes PyTorch's newer exporter."""
    net(list(inputs) if len(inputs) > 1 else inputs[0])  # one that was never called is refused
    fixed = [keras.InputSpec(shape=tuple(x.shape), dtype=str(x.dtype).removeprefix("torch."), name=f"x{i}")
             for i, x in enumerate(inputs)]
    net.export(str(file), format="onnx", verbose=False, input_signature=None if exporter == "keras" else fixed)


def network(shape, *layers, dtype="float32"):
    return lambda: keras.Sequential([keras.Input(shape, dtype=dtype), *(make() for make in layers)])


def numbers(*shape):
    return lambda batch: (torch.randn(batch, *shape),)


def residual():
    """A ResNet of two blocks, functional."""
    x = image = keras.Input((32, 32, 3))
    for width, stride in (8, 1), (16, 2):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, stride, "same", use_bias=False)(x)))
        y = L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(y))
        x = L.ReLU()(L.Add()([y, L.Conv2D(width, 1, stride)(x)]))
    return keras.Model(image, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


def transformer():
    """An encoder over words: embedding, attention and feed-forward with residuals and LayerNormalization."""
    words = keras.Input((12,), dtype="int32")
    x = L.Embedding(40, 16)(words)
    for _ in range(2):
        x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 8)(x, x)]))
        x = L.LayerNormalization()(L.Add()([x, L.Dense(16)(L.Dense(32, activation="gelu")(x))]))
    return keras.Model(words, L.Dense(5)(L.GlobalAveragePooling1D()(x)))


def table():
    """Numbers and a kind, which has an embedding."""
    columns, kind = keras.Input((8,)), keras.Input((1,), dtype="int32")
    x = L.Concatenate()([columns, L.Flatten()(L.Embedding(7, 4)(kind))])
    return keras.Model([columns, kind], L.Dense(1)(L.Dense(16, activation="swish")(L.Dense(32, activation="relu")(x))))


def unet():
    x = image = keras.Input((16, 16, 3))
    whole = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    half = L.Conv2D(16, 3, padding="same", activation="relu")(L.MaxPooling2D()(whole))
    x = L.Concatenate()([whole, L.Conv2DTranspose(8, 2, 2)(half)])
    return keras.Model(image, L.Conv2D(4, 1)(L.Conv2D(8, 3, padding="same", activation="relu")(x)))


def application(name, **more):
    return lambda: getattr(keras.applications, name)(input_shape=(32, 32, 3), weights=None, classes=10,
                                                     classifier_activation=None, **more)


def sorts(build, inputs, **more):
    return Case(build, inputs, loss="cross-entropy", exporter="keras", **more)


steady = {"optimizer": "sgd"}
picture = numbers(32, 32, 3)
words = lambda batch: (torch.randint(0, 40, (batch, 12), dtype=torch.int32),)
cnn = network((16, 16, 3), lambda: L.Conv2D(8, 3, use_bias=False), L.BatchNormalization, L.ReLU, L.MaxPooling2D,
              lambda: L.Conv2D(16, 3, activation="relu"), L.Flatten, lambda: L.Dense(10))
mlp = network((12,), lambda: L.Dense(32, activation="relu"), lambda: L.Dropout(0.2),
              lambda: L.Dense(16, activation="tanh"),
              lambda: L.Dense(3))
lstm = network((10, 6), lambda: L.LSTM(16), lambda: L.Dense(5))
both = network((10, 6), lambda: L.Bidirectional(L.LSTM(8, return_sequences=True)), lambda: L.GRU(8), lambda: L.Dense(5))
signal = network((40, 3), lambda: L.Conv1D(8, 5, activation="relu"), L.MaxPooling1D,
                 lambda: L.SeparableConv1D(16, 3, activation="relu"), L.GlobalAveragePooling1D, lambda: L.Dense(4))
autoencoder = network((24,), lambda: L.Dense(12, activation="elu"), lambda: L.Dense(4),
                      lambda: L.Dense(12, activation="elu"),
                      lambda: L.Dense(24))

MODELS = {
    "Keras: MLP": sorts(mlp, numbers(12)),
    "Keras: CNN": sorts(cnn, numbers(16, 16, 3), **steady),
    "Keras: CNN, fixed shapes": Case(cnn, numbers(16, 16, 3), "cross-entropy", exporter="keras, dynamo", **steady),
    "Keras: signals by Conv1D": sorts(signal, numbers(40, 3)),
    "Keras: residual blocks": sorts(residual, picture, **steady),
    "Keras: U-Net": Case(unet, numbers(16, 16, 3), exporter="keras"),
    "Keras: table with an embedding": Case(table, lambda batch: (
        torch.randn(batch, 8), torch.randint(0, 7, (batch, 1), dtype=torch.int32)), exporter="keras"),
    "Keras: autoencoder": Case(autoencoder, numbers(24), exporter="keras"),
    "Keras: LSTM": sorts(lstm, numbers(10, 6)),
    "Keras: bidirectional LSTM and GRU": sorts(both, numbers(10, 6)),
    "Keras: transformer, fixed shapes": Case(transformer, words, "cross-entropy", exporter="keras, dynamo"),
    "Keras: MobileNet": sorts(application("MobileNet", alpha=0.25, dropout=0.0), picture, **steady),
    "Keras: MobileNetV2": sorts(application("MobileNetV2", alpha=0.35), picture, **steady),
    "Keras: MobileNetV3 small": sorts(application("MobileNetV3Small", alpha=0.35, dropout_rate=0.0), picture, **steady),
    "Keras: EfficientNetV2-B0": sorts(application("EfficientNetV2B0"), picture, **steady),
}
