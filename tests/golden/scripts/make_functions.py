"""Models with functions of their own, by onnx.helper, and the same written out by hand. Run: python3 make_functions.py

called.onnx has functions within functions, attributes handed down, absent inputs, outputs nobody asks for, an input
that is an output, and names that the graph has, too; written_out.onnx computes the same without any.
"""
import os

import numpy as np
from onnx import AttributeProto, TensorProto, checker, helper, numpy_helper, save

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'data', 'functions')
OPSET = [helper.make_opsetid('', 17)]
OLDER = [helper.make_opsetid('', 16)]
LOCAL = OPSET + [helper.make_opsetid('local', 1)]
node = helper.make_node


def handed_down(made, **names):
    """The node with attributes that its function's caller gives: the name here, the caller's name and the type."""
    for name, (given, kind) in names.items():
        made.attribute.append(AttributeProto(name=name, ref_attr_name=given, type=kind))
    return made


FLOAT, INT = AttributeProto.FLOAT, AttributeProto.INT
dense = helper.make_function('local', 'Dense', ['x', 'w', 'b'], ['y', 'before'], [
    handed_down(node('Constant', [], ['factor']), value_float=('factor', FLOAT)),
    handed_down(node('Gemm', ['x', 'w', 'b'], ['before']), transB=('turned', INT)),
    handed_down(node('LeakyRelu', ['before'], ['h'], name='act'), alpha=('slope', FLOAT)),
    node('Mul', ['h', 'factor'], ['y'])], OLDER, ['slope', 'factor', 'turned'])
twice = helper.make_function('local', 'Twice', ['x', 'w1', 'b1', 'w2'], ['x', 'y'], [
    handed_down(node('Dense', ['x', 'w1', 'b1'], ['h'], domain='local', turned=1, factor=0.5, name='first'),
                slope=('slope', FLOAT)),
    handed_down(node('Dense', ['h', 'w2'], ['y', 'unread'], domain='local', turned=0, name='second', factor=2.0),
                slope=('steep', FLOAT))],
    LOCAL, ['slope', 'steep'])
between = helper.make_function('local', 'Between', ['x', 'low', 'high'], ['y'],
                               [node('Clip', ['x', 'low', 'high'], ['y'])], OPSET)


def model(name, nodes, opsets, **more):
    rng = np.random.default_rng(5)
    weights = {'w1': (7, 6), 'b1': (7,), 'w2': (7, 5), 'w3': (5, 6), 'h': (5, 6)}
    tensors = [numpy_helper.from_array(rng.uniform(-0.6, 0.6, shape).astype(np.float32), w)
               for w, shape in weights.items()]
    tensors.append(numpy_helper.from_array(np.float32(0.75), 'most'))
    graph = helper.make_graph(nodes, 'graph', [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['N', 6])],
                              [helper.make_tensor_value_info('logits', TensorProto.FLOAT, ['N', 5])], tensors)
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, **more)
    checker.check_model(made)
    save(made, os.path.join(FOLDER, name))


os.makedirs(FOLDER, exist_ok=True)
model('called.onnx', [
    node('Twice', ['x', 'w1', 'b1', 'w2'], ['same', 'tower/h'], domain='local', name='tower', slope=0.25, steep=0.125),
    node('Dense', ['same', 'w3'], ['side'], domain='local', slope=0.5, factor=1.5, turned=1),  # unnamed
    node('Between', ['side', '', 'most'], ['act'], domain='local', name='tower'),
    node('Dense', ['same', 'h'], ['first'], domain='local', name='tower', slope=0.5, factor=-1.0, turned=1),
    node('Sum', ['tower/h', 'act', 'first'], ['logits'])], LOCAL, functions=[between, twice, dense])


def written_out(x, w, b, y, slope, factor, turned):
    return [node('Constant', [], [y + '.factor'], value_float=factor),
            node('Gemm', [x, w] + b, [y + '.before'], transB=turned),
            node('LeakyRelu', [y + '.before'], [y + '.h'], alpha=slope), node('Mul', [y + '.h', y + '.factor'], [y])]


model('written_out.onnx', [
    *written_out('x', 'w1', ['b1'], 'tower.h', 0.25, 0.5, 1),
    *written_out('tower.h', 'w2', [], 'tower/h', 0.125, 2.0, 0),
    *written_out('x', 'w3', [], 'side', 0.5, 1.5, 1), node('Clip', ['side', '', 'most'], ['act']),
    *written_out('x', 'h', [], 'first', 0.5, -1.0, 1), node('Sum', ['tower/h', 'act', 'first'], ['logits'])], OPSET)
