"""Models with ONNX's training_info, by onnx.helper, and ten losses of each in float64 by the formulas of ONNX's
operators; and ONNX's own cases of its training operators (Debian's libonnx-testdata). Run: python3
make_training_info.py [folder of the cases]"""
import base64
import glob
import json
import os
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from make_w import batch_bits, batch_units

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'data')
CASES = sys.argv[1] if len(sys.argv) > 1 else '/usr/share/libonnx-testdata/data'
DOMAIN = 'ai.onnx.preview.training'
BATCH, INPUTS, HIDDEN, CLASSES, STEPS = 8, 6, 9, 4, 10


def unit(seed, shape):
    return batch_units(seed, int(np.prod(shape))).astype(np.float32).reshape(shape)


def labels(seed):
    return (batch_bits(seed, BATCH) % np.uint64(CLASSES)).astype(np.int64)


SHAPES = {'w1': (INPUTS, HIDDEN), 'b1': (HIDDEN,), 'w2': (HIDDEN, CLASSES), 'b2': (CLASSES,)}
VALUES = {name: (unit(k + 1, shape) - 0.5).astype(np.float32) for k, (name, shape) in enumerate(SHAPES.items())}


def tensor(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def info_value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def inference():
    nodes = [helper.make_node('Gemm', ['x', 'w1', 'b1'], ['h'], 'fc1'), helper.make_node('Tanh', ['h'], ['a'], 'tanh'),
             helper.make_node('Gemm', ['a', 'w2', 'b2'], ['scores'], 'fc2')]
    return helper.make_graph(nodes, 'mlp', [info_value('x', ['N', INPUTS])], [info_value('scores', ['N', CLASSES])],
                             [tensor(name, value) for name, value in VALUES.items()])


def loss_and_gradient():
    grads = [f'd_{name}' for name in SHAPES]
    return [helper.make_node('SoftmaxCrossEntropyLoss', ['scores', 'labels'], ['loss'], 'loss', reduction='mean'),
            helper.make_node('Gradient', [*SHAPES, 'x', 'labels'], grads, 'gradient', domain=DOMAIN, xs=list(SHAPES),
                             zs=['x', 'labels'], y='loss')]


def training(nodes, initializers, updates, initialization=None, initial=()):
    outputs = [info_value('loss', [])] + [helper.make_empty_tensor_value_info(value) for _, value in updates]
    algorithm = helper.make_graph(loss_and_gradient() + nodes, 'algorithm',
                                  [info_value('labels', ['N'], TensorProto.INT64)], outputs,
                                  [tensor(name, value) for name, value in initializers.items()])
    info = helper.make_training_info(algorithm, list(updates), initialization, list(initial) or None)
    opsets = [helper.make_opsetid('', 14), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(inference(), opset_imports=opsets, producer_name='onnx.helper', ir_version=7)
    model.training_info.append(info)
    onnx.checker.check_model(model)
    return model


def zeros(tail):
    return {f'{name}_{tail}': np.zeros(shape, np.float32) for name, shape in SHAPES.items()}


def counter(after):
    """T and the name to read it by: the initializer, or what the step makes of it."""
    add = helper.make_node('Add', ['T', 'one'], ['T_new'], 'count')
    return [add], {'T': np.int64(0), 'one': np.int64(1)}, [('T', 'T_new')], 'T_new' if after else 'T'


def adam():
    """One node for all tensors; T counts from 1."""
    add, initializers, updates, t = counter(after=True)
    names = list(SHAPES)
    states = [f'{name}_{tail}' for tail in ('v', 'h') for name in names]
    outs = [f'{name}_new' for name in names + states]
    node = helper.make_node('Adam', ['R', t, *names, *(f'd_{name}' for name in names), *states], outs, 'adam',
                            domain=DOMAIN,
                            alpha=0.8, beta=0.95, epsilon=1e-3, norm_coefficient_post=0.002)
    updates += [(name, f'{name}_new') for name in names + states]
    return training(add + [node], {**initializers, 'R': np.float32(0.05), **zeros('v'), **zeros('h')}, updates)


def adam_zero():
    """A node for each tensor; T counts from 0, the decay is part of the gradient."""
    add, initializers, updates, t = counter(after=False)
    nodes = []
    for name in SHAPES:
        outs = [f'{name}_new', f'{name}_v_new', f'{name}_h_new']
        nodes.append(helper.make_node('Adam', ['R', t, name, f'd_{name}', f'{name}_v', f'{name}_h'], outs,
                                      f'adam_{name}', domain=DOMAIN,
                                      epsilon=1e-2, norm_coefficient=0.01))
        updates += zip([name, f'{name}_v', f'{name}_h'], outs)
    return training(nodes + add, {**initializers, 'R': np.float32(0.02), **zeros('v'), **zeros('h')}, updates)


def momentum(mode, beta, norm):
    add, initializers, updates, t = counter(after=False)
    nodes = []
    for name in SHAPES:
        outs = [f'{name}_new', f'{name}_v_new']
        nodes.append(helper.make_node('Momentum', ['R', t, name, f'd_{name}', f'{name}_v'], outs, f'momentum_{name}',
                                      domain=DOMAIN,
                                      alpha=0.9, beta=beta, norm_coefficient=norm, mode=mode))
        updates += zip([name, f'{name}_v'], outs)
    return training(nodes + add, {**initializers, 'R': np.float32(0.1), **zeros('v')}, updates)


def adagrad():
    add, initializers, updates, t = counter(after=False)
    names = list(SHAPES)
    outs = [f'{name}_new' for name in names] + [f'{name}_h_new' for name in names]
    node = helper.make_node('Adagrad', ['R', t, *names, *(f'd_{name}' for name in names),
                                        *(f'{name}_h' for name in names)], outs, 'adagrad',
                            domain=DOMAIN, decay_factor=0.1, epsilon=1e-4, norm_coefficient=0.01)
    updates += [(name, f'{name}_new') for name in names] + [(f'{name}_h', f'{name}_h_new') for name in names]
    return training(add + [node], {**initializers, 'R': np.float32(0.1), **zeros('h')}, updates)


def sgd():
    """Plain arithmetic; the initialization halves the weights of w1."""
    nodes, updates = [], []
    for name in SHAPES:
        nodes += [helper.make_node('Mul', ['R', f'd_{name}'], [f'{name}_step'], f'mul_{name}'),
                  helper.make_node('Sub', [name, f'{name}_step'], [f'{name}_new'], f'sub_{name}')]
        updates.append((name, f'{name}_new'))
    halve = [helper.make_node('Mul', ['w1_start', 'half'], ['w1_init'], 'halve')]
    initialization = helper.make_graph(halve, 'initialization', [], [info_value('w1_init', SHAPES['w1'])],
                                       [tensor('w1_start', VALUES['w1']), tensor('half', np.float32(0.5))])
    return training(nodes, {'R': np.float32(0.5)}, updates, initialization, [('w1', 'w1_init')])


def random_start():
    """The initialization draws the weights."""
    model = sgd()
    draws = [helper.make_node('RandomNormal', [], ['w1_init'], 'draw_w1', shape=SHAPES['w1'], mean=1.0, scale=0.1),
             helper.make_node('RandomUniform', [], ['b1_init'], 'draw_b1', shape=SHAPES['b1'], low=2.0, high=3.0),
             helper.make_node('RandomUniformLike', ['like'], ['w2_init'], 'draw_w2', low=-0.5, high=0.5),
             helper.make_node('RandomNormalLike', ['like'], ['again'], 'draw_again', seed=7.0),
             helper.make_node('ReduceMean', ['again'], ['b2_init'], 'mean', axes=[0], keepdims=0)]
    outputs = [info_value(f'{name}_init', shape) for name, shape in SHAPES.items()]
    graph = helper.make_graph(draws, 'initialization', [], outputs, [tensor('like', VALUES['w2'])])
    info = model.training_info[0]
    info.initialization.CopyFrom(graph)
    del info.initialization_binding[:]
    for name in SHAPES:
        info.initialization_binding.add(key=name, value=f'{name}_init')
    return model


# ---- what we do not train by ----

def node_of(model, name):
    return next(node for node in model.training_info[0].algorithm.node if node.name == name)


def refused():
    """A model, and words of the sentence that it is refused with."""
    def changed(make, change):
        model = make()
        change(model, model.training_info[0], model.training_info[0].algorithm)
        return base64.b64encode(model.SerializeToString()).decode()

    def another_entry(model, info, algorithm):
        model.training_info.add().CopyFrom(info)

    def another_loss(model, info, algorithm):
        grads = helper.make_node('Gradient', ['w1'], ['d_other'], 'other', domain=DOMAIN, xs=['w1'], y='scores')
        algorithm.node.append(grads)

    def no_gradient(model, info, algorithm):
        algorithm.node.remove(node_of(model, 'gradient'))
        algorithm.input.extend(info_value(f'd_{name}', shape) for name, shape in SHAPES.items())

    def fed_rate(model, info, algorithm):
        algorithm.initializer.remove(next(t for t in algorithm.initializer if t.name == 'R'))
        algorithm.input.append(info_value('R', []))

    def unknown_arithmetic(model, info, algorithm):
        node_of(model, 'mul_w2').op_type = 'Div'

    def ascent(model, info, algorithm):
        node_of(model, 'sub_b2').op_type = 'Add'

    def other_gradient(model, info, algorithm):
        node_of(model, 'adam_b2').input[3] = 'b2'

    def other_setting(model, info, algorithm):
        next(a for a in node_of(model, 'momentum_b2').attribute if a.name == 'alpha').f = 0.5

    def counts_by_two(model, info, algorithm):
        two = next(t for t in algorithm.initializer if t.name == 'one')
        two.CopyFrom(tensor('one', np.int64(2)))

    def forgets_state(model, info, algorithm):
        info.update_binding.remove(next(b for b in info.update_binding if b.key == 'w1_v'))

    def no_initializer(model, info, algorithm):
        info.update_binding.add(key='x', value='w1_new')

    def twice(model, info, algorithm):
        info.update_binding.add(key='w1', value='w1_new')

    def nothing(model, info, algorithm):
        info.update_binding[0].value = 'nowhere'

    def other_shape(model, info, algorithm):
        info.update_binding[0].value = 'b1_new'

    def penalty(model, info, algorithm):
        algorithm.node.extend([helper.make_node('Gradient', ['w1'], ['d2'], 'second', domain=DOMAIN, xs=['w1'],
                                                y='penalty')])
        algorithm.node.insert(2, helper.make_node('ReduceSum', ['d_w1'], ['penalty'], 'penalty', keepdims=0))
        node_of(model, 'gradient').output[0] = 'd_w1'

    def at_another_value(model, info, algorithm):
        node_of(model, 'gradient').input[0] = 'w1_v'

    def updates_more(model, info, algorithm):
        algorithm.node.append(helper.make_node('Mul', ['R', 'R'], ['R2'], 'square'))
        algorithm.initializer.append(tensor('kept', np.float32(1)))
        info.update_binding.add(key='kept', value='R2')

    def missing_operator(model, info, algorithm):
        node_of(model, 'mul_w1').op_type = 'Mull'

    def no_algorithm(model, info, algorithm):
        info.ClearField('algorithm')

    found = [(sgd, another_entry, 'entries of training_info'),
             (sgd, another_loss, "'other' is of 'scores', Gradient 'gradient' of 'loss'"),
             (sgd, no_gradient, 'no Gradient node'), (adam_zero, fed_rate, "adam_w1.*learning rate 'R'"),
             (sgd, unknown_arithmetic, "'w2' by Sub 'sub_w2': wanted Adam"),
             (sgd, ascent, "'b2' by Add 'sub_b2': wanted Adam"),
             (adam_zero, other_gradient, "'b2' by Adam 'adam_b2'"),
             (lambda: momentum('standard', 1.0, 0.0), other_setting, "momentum_b2.*other settings than 'momentum_w1'"),
             (adam_zero, counts_by_two, "update count 'T'"), (adam_zero, forgets_state, "adam_w1.*state 'w1_v'"),
             (sgd, no_initializer, "'x', which is no initializer"), (sgd, twice, "'w1' twice"),
             (sgd, nothing, "'nowhere', which nothing makes"),
             (sgd, other_shape, 'another type or shape'), (sgd, penalty, "'penalty'"),
             (adam_zero, at_another_value, "'w1' at the value of 'w1_v'"),
             (sgd, updates_more, "'kept' by Mul 'square'"), (sgd, missing_operator, 'an operator we lack: Mull'),
             (sgd, no_algorithm, 'has no algorithm')]
    return [{'name': change.__name__, 'model': changed(make, change), 'words': words} for make, change, words in found]


# ---- what each does, in float64 ----

def decayed(x, g, norm):
    return g + norm * x


def step_adam(x, g, s, t, r, alpha=0.9, beta=0.999, epsilon=1e-6, norm=0.0, post=0.0):
    g = decayed(x, g, norm)
    s['v'] = alpha * s.get('v', 0) + (1 - alpha) * g
    s['h'] = beta * s.get('h', 0) + (1 - beta) * g * g
    adjusted = r * np.sqrt(1 - beta ** t) / (1 - alpha ** t) if t > 0 else r
    return (1 - post) * (x - adjusted * s['v'] / (np.sqrt(s['h']) + epsilon))


def step_momentum(x, g, s, t, r, mode, beta, norm):
    g = decayed(x, g, norm)
    s['v'] = 0.9 * s.get('v', 0) + (beta if t > 0 else 1) * g
    return x - r * (g + 0.9 * s['v'] if mode == 'nesterov' else s['v'])


def step_adagrad(x, g, s, t, r):
    g = decayed(x, g, 0.01)
    s['h'] = s.get('h', 0) + g * g
    return x - r / (1 + t * 0.1) * g / (np.sqrt(s['h']) + 1e-4)


f32 = lambda x: float(np.float32(x))
RUNS = {
    'adam': (adam, lambda x, g, s, t: step_adam(x, g, s, t + 1, f32(0.05), f32(0.8), f32(0.95), f32(1e-3), 0.0,
                                                f32(0.002))),
    'adam_zero': (adam_zero, lambda x, g, s, t: step_adam(x, g, s, t, f32(0.02), f32(0.9), f32(0.999), f32(1e-2),
                                                          f32(0.01))),
    'nesterov': (lambda: momentum('nesterov', 1.0, 0.0), lambda x, g, s, t: step_momentum(x, g, s, t, 0.1, 'nesterov',
        1.0, 0.0)),
    'momentum': (lambda: momentum('standard', 0.6, 0.01), lambda x, g, s, t: step_momentum(x, g, s, t, 0.1, 'standard',
        0.6, 0.01)),
    'adagrad': (adagrad, lambda x, g, s, t: step_adagrad(x, g, s, t, 0.1)),
    'sgd': (sgd, lambda x, g, s, t: x - 0.5 * g),
}


def losses(name, step):
    """PyTorch's gradients, the formulas' updates."""
    values = {k: v.astype(np.float64) for k, v in VALUES.items()}
    if name == 'sgd':
        values['w1'] *= 0.5
    states, out = {k: {} for k in values}, []
    for t in range(STEPS):
        leaves = {k: torch.tensor(v, requires_grad=True) for k, v in values.items()}
        x = torch.tensor((unit(100 + t, (BATCH, INPUTS)) * 2 - 1).astype(np.float64))
        scores = torch.tanh(x @ leaves['w1'] + leaves['b1']) @ leaves['w2'] + leaves['b2']
        loss = torch.nn.functional.cross_entropy(scores, torch.tensor(labels(200 + t)))
        loss.backward()
        out.append(loss.item())
        values = {k: step(v, leaves[k].grad.numpy(), states[k], t) for k, v in values.items()}
    return out


# ---- ONNX's own cases ----

def case_tensor(file):
    t = TensorProto()
    with open(file, 'rb') as f:
        t.ParseFromString(f.read())
    value = numpy_helper.to_array(t)
    return {'name': t.name, 'type': str(value.dtype), 'dims': list(value.shape), 'data': value.reshape(-1).tolist()}


def cases():
    found = []
    for pattern in ('test_ada*', 'test_momentum*', 'test_nesterov*', 'test_gradient_of*'):
        for folder in sorted(glob.glob(f'{CASES}/*/{pattern}')):
            model, data = onnx.load(f'{folder}/model.onnx'), f'{folder}/test_data_set_0'
            if folder.endswith('test_adam_multiple'):  # its numbers are of an epsilon that its node forgot
                model.graph.node[0].attribute.append(helper.make_attribute('epsilon', 1e-2))
            found.append({'name': os.path.basename(folder),
                          'model': base64.b64encode(model.SerializeToString()).decode(),
                          'inputs': [case_tensor(p) for p in sorted(glob.glob(f'{data}/input_*.pb'))],
                          'outputs': [case_tensor(p) for p in sorted(glob.glob(f'{data}/output_*.pb'))]})
    return found


def main():
    folder = f'{HERE}/training_info'
    os.makedirs(folder, exist_ok=True)
    golden = {}
    for name, (make, step) in RUNS.items():
        onnx.save(make(), f'{folder}/{name}.onnx')
        golden[name] = losses(name, step)
    with open(f'{folder}/losses.json', 'w') as f:
        json.dump(golden, f, indent=1)
        f.write('\n')
    onnx.save(random_start(), f'{folder}/random.onnx')
    for name, entries in (('onnx-cases', cases()), ('refused', refused())):
        with open(f'{folder}/{name}.json', 'w') as f:
            f.write('[\n' + ',\n'.join(json.dumps(entry) for entry in entries) + '\n]\n')


main()
