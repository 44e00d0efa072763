"""mlp_small.onnx with its weights in files of their own, by onnx.save_model: all in one, and one a tensor. Run: python3
make_external.py"""
import glob
import os

import onnx
from onnx.external_data_helper import uses_external_data

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'data')
FOLDER = os.path.join(HERE, 'external')


def save(name, **options):
    model = onnx.load(os.path.join(HERE, 'mlp_small.onnx'))
    path = os.path.join(FOLDER, name)
    onnx.save_model(model, path, save_as_external_data=True, size_threshold=0, **options)
    onnx.checker.check_model(path)
    tensors = onnx.load(path, load_external_data=False).graph.initializer
    assert tensors and all(uses_external_data(t) for t in tensors)
    print(name, {t.name: {e.key: e.value for e in t.external_data} for t in tensors})


os.makedirs(FOLDER, exist_ok=True)
for old in glob.glob(os.path.join(FOLDER, '*')):
    os.remove(old)
save('one_file.onnx', all_tensors_to_one_file=True, location='one_file.onnx.data')
save('file_each.onnx', all_tensors_to_one_file=False)
