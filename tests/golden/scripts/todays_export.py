"""What the scripts share that export networks with a PyTorch newer than Debian's, from PyPI:

  python3 -m venv build/venv && build/venv/bin/pip install torch onnx onnxscript
  build/venv/bin/python tests/golden/scripts/make_computed.py
"""

import onnx
import torch
from torch.nn import functional as F


def export(net, x, file, kept=(), **options):
    """`kept`: keys of the exporter's notes at nodes and values that stay; others have this machine's folders."""
    torch.onnx.export(net, (x,), str(file), input_names=["x"], output_names=["y"], verbose=False, **options)
    model = onnx.load(file)
    for value in [*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output]:
        notes = [(note.key, note.value) for note in value.metadata_props if note.key in kept]
        del value.metadata_props[:]
        for key, text in notes:
            value.metadata_props.add(key=key, value=text)
        value.doc_string = ""
    if not kept:
        del model.graph.value_info[:]
    onnx.save(model, file)


def losses(net, x, target, steps, lr):
    optimizer, found = torch.optim.SGD(net.train().parameters(), lr=lr), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), target)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def noted(x, target, **more):
    return {"x": x.flatten().tolist(), "xDims": list(x.shape), "target": target.flatten().tolist(),
            "yDims": list(target.shape), **more}
