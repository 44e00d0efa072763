"""Whether NumPy reads each .npy and .npz of a folder, too: python3 tests/hostile/numpy_reads.py FOLDER"""
import pathlib
import sys
import warnings

import numpy

warnings.simplefilter("ignore")
files = [file for file in pathlib.Path(sys.argv[1]).iterdir() if file.suffix in (".npy", ".npz")]
refused = 0
for file in files:
    try:
        found = numpy.load(file)
        if file.suffix == ".npz":
            for name in found.files:
                found[name]
    except Exception as error:
        refused += 1
        print(file, repr(error)[:200])
print(f"{len(files)} files, {refused} refused by NumPy {numpy.__version__}")
sys.exit(bool(refused))
