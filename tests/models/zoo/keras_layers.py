"""More layers of Keras 3, each in a small network with its exporter's defaults."""

from keras import Model, Input, layers as L

from .case import Case
from .keras3 import network, numbers, sorts, words

SGD = {"optimizer": "sgd"}


def attention(layer, causal=False):
    """Words, one layer of attention, a score for each."""
    def build():
        ids = Input((12,), dtype="int32")
        x = L.Embedding(40, 16)(ids)
        x = L.LayerNormalization()(x + layer()(x, x, use_causal_mask=causal))
        return Model(ids, L.Dense(5)(L.GlobalAveragePooling1D()(x)))
    return build


def xception():
    """Separable convolutions around a residual (Chollet, 2017)."""
    x = image = Input((24, 24, 3))
    x = y = L.Conv2D(8, 3, activation="relu")(x)
    y = L.SeparableConv2D(16, 3, padding="same", activation="relu")(y)
    y = L.MaxPooling2D(3, 2, padding="same")(L.SeparableConv2D(16, 3, padding="same")(y))
    return Model(image, L.Dense(5)(L.GlobalAveragePooling2D()(y + L.Conv2D(16, 1, 2, "same")(x))))


def squeezed():
    """Channels weighed by what they hold (Hu and others, 2018)."""
    x = image = Input((16, 16, 3))
    x = L.Conv2D(8, 3, activation="relu")(x)
    weights = L.Dense(8, activation="sigmoid")(L.Dense(4, activation="relu")(L.GlobalAveragePooling2D()(x)))
    return Model(image, L.Dense(5)(L.Flatten()(x * L.Reshape((1, 1, 8))(weights))))


def two_heads():
    """One trunk, two outputs side by side."""
    x = rows = Input((12,))
    x = L.Dense(16, activation="gelu")(x)
    return Model(rows, L.Concatenate()([L.Dense(3)(x), L.Dense(2)(x)]))


normed = network((16, 16, 3), lambda: L.Conv2D(8, 3), lambda: L.GroupNormalization(4), L.ReLU,
                 lambda: L.Conv2D(8, 3), L.GlobalMaxPooling2D, lambda: L.Dense(5))
rms = network((12,), lambda: L.Dense(16), L.RMSNormalization, L.PReLU, lambda: L.Dense(3))
dense = network((6, 8), lambda: L.EinsumDense("btd,df->btf", (None, 12), bias_axes="f", activation="relu"),
                lambda: L.EinsumDense("btf,fd->btd", (None, 8)), L.GlobalAveragePooling1D, lambda: L.Dense(3))
upwards = network((6, 6, 4), lambda: L.Conv2DTranspose(8, 3, 2, "same", activation="relu"),
                  lambda: L.UpSampling2D(2), lambda: L.Conv2D(3, 3, padding="same", activation="tanh"))
volumes = network((8, 8, 8, 2), lambda: L.Conv3D(4, 3, activation="relu"), lambda: L.MaxPooling3D(2), L.Flatten,
                  lambda: L.Dense(5))
deep = network((20, 4), lambda: L.DepthwiseConv1D(3, depth_multiplier=2, activation="relu"),
               lambda: L.AveragePooling1D(2), lambda: L.Conv1D(8, 3, dilation_rate=2), L.Flatten, lambda: L.Dense(5))
stacked = network((10, 6), lambda: L.GRU(8, return_sequences=True), L.LayerNormalization,
                  lambda: L.SimpleRNN(8), lambda: L.Dense(5))

MODELS = {
    "Keras: GroupNormalization": sorts(normed, numbers(16, 16, 3), **SGD),
    "Keras: RMSNormalization, PReLU": sorts(rms, numbers(12)),
    "Keras: EinsumDense": sorts(dense, numbers(6, 8)),
    "Keras: Xception's blocks": sorts(xception, numbers(24, 24, 3), **SGD),
    "Keras: squeeze and excitation": sorts(squeezed, numbers(16, 16, 3), **SGD),
    "Keras: attention": sorts(attention(lambda: L.MultiHeadAttention(2, 8)), words),
    "Keras: causal attention": sorts(attention(lambda: L.MultiHeadAttention(2, 8), True), words),
    "Keras: grouped attention": sorts(attention(lambda: L.GroupQueryAttention(8, 4, 2)), words),
    "Keras: GRU, LayerNormalization, SimpleRNN": sorts(stacked, numbers(10, 6)),
    "Keras: transposed convolutions": Case(upwards, numbers(6, 6, 4), exporter="keras", **SGD),
    "Keras: volumes by Conv3D": sorts(volumes, numbers(8, 8, 8, 2), **SGD),
    "Keras: DepthwiseConv1D, dilation": sorts(deep, numbers(20, 4)),
    "Keras: two heads": Case(two_heads, numbers(12), exporter="keras"),
}
