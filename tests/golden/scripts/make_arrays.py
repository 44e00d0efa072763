# Arrays as NumPy keeps them in .npz files, packed and not.
#   /usr/bin/python3 make_arrays.py      (written with NumPy 1.24.2)
import numpy

arrays = {
    "x": numpy.arange(24, dtype=numpy.float64).reshape(4, 6) / 8,
    "more": numpy.arange(-4, 4, dtype=numpy.int16).reshape(4, 2),
    "labels": numpy.array([2, 0, 1, 2], dtype=numpy.int64),
}
numpy.savez("../data/samples/arrays.npz", **arrays)
numpy.savez_compressed("../data/samples/packed.npz", **arrays)
