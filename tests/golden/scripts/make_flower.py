"""Writes flower.json: objects, messages and requests as flwr (1.42.0) makes them, and the numbers of its fields.

`pip install flwr==1.42.0`, then `python3 make_flower.py`.
"""
import base64
import importlib
import json
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.app.message.message import make_message, remove_content_from_message
from flwr.app.metadata import Metadata
from flwr.common.serde import message_to_proto
from flwr.proto import fleet_pb2, heartbeat_pb2, message_pb2, node_pb2
from flwr.supercore.differential_privacy import compute_clip_model_update
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

DATA = Path(__file__).parent.parent / "data"


def base(data):
    return base64.b64encode(bytes(data)).decode()


def values(shape):
    count = int(np.prod(shape))
    return (((np.arange(count) * 7919) % 1009 - 504) / 256).astype(np.float32).reshape(shape)


def deflated(obj):
    return {"id": obj.object_id, "bytes": base(obj.deflate())}


def fields(message):
    labels = {True: "repeated", False: "optional"}
    return {
        field.name: [
            field.number,
            field.message_type.full_name.removeprefix("flwr.proto.").replace(".", "")
            if field.message_type
            else {1: "double", 4: "uint64", 8: "bool", 9: "string", 12: "bytes", 18: "sint64"}.get(field.type, "other"),
            labels[field.is_repeated] if field.is_repeated or field.containing_oneof else None,
        ]
        for field in message.fields
    }


def descriptors():
    found = {}
    for name in ("node", "error", "recorddict", "message", "fleet", "heartbeat"):
        module = importlib.import_module(f"flwr.proto.{name}_pb2")
        todo = list(module.DESCRIPTOR.message_types_by_name.values())
        while todo:
            one = todo.pop()
            found[one.full_name.removeprefix("flwr.proto.").replace(".", "")] = fields(one)
            todo += one.nested_types
    return found


SHAPES = {"conv/kernel": (3, 3, 1, 2), "scale": (5,), "größe ☂ \"x\"": (), "empty": (0, 4)}
NODE, RUN, TASK = 17006595779187978373, 3650517147323749249, 2**64 - 5

arrays = ArrayRecord({name: Array(values(shape)) for name, shape in SHAPES.items()})
config = ConfigRecord({"lr": 0.25, "epochs": 2, "zero": 0, "none": 0.0, "yes": True, "no": False, "who": "größe",
                       "big": 2**64 - 1, "below": -3, "list": [1, 2], "bytes": b"ab"})
metrics = MetricRecord({"loss": 0.125, "num-examples": 41, "accuracy": 0.0})
asked = make_message(
    Metadata(run_id=RUN, message_id="", src_node_id=1, dst_node_id=NODE, reply_to_message_id="", group_id="3",
             created_at=1795838400.5, ttl=43200.0, message_type="train", src_task_id=TASK, dst_task_id=None),
    content=RecordDict({"arrays": arrays, "config": config}),
)
answered = Metadata(run_id=RUN, message_id="", src_node_id=NODE, dst_node_id=1, reply_to_message_id=asked.object_id,
                    group_id="3", created_at=1795838410.25, ttl=43190.25, message_type="train", src_task_id=None,
                    dst_task_id=TASK)
reply = make_message(answered, content=RecordDict({"arrays": arrays, "metrics": metrics}))
refusal = make_message(answered, error=Error(code=2, reason="this node refuses the message: no"))


asked.metadata.__dict__["_message_id"] = asked.object_id


def pushed(message):
    tree = get_object_tree(message)
    message.metadata.__dict__["_message_id"] = message.object_id
    request = fleet_pb2.PushMessagesRequest(
        node=node_pb2.Node(node_id=NODE),
        messages_list=[message_to_proto(remove_content_from_message(message))],
        message_object_trees=[tree],
        clientapp_runtime_list=[1.5],
    )
    return base(request.SerializeToString())


def clip(norm):
    start, update = [values((3, 5)), values((4,))], [values((5, 3)).T / 16, values((4,)) / 4]
    trained = [a + b for a, b in zip(start, update)]
    wanted = [array.copy() for array in trained]
    compute_clip_model_update(wanted, start, norm)
    flat = [np.concatenate([array.ravel() for array in arrays]).tolist() for arrays in (start, trained, wanted)]
    return {"norm": norm, **dict(zip(("start", "trained", "clipped"), flat))}


large = Array(values((3, 500_000)))
node = node_pb2.Node(node_id=NODE)
written = {
    "fields": descriptors(),
    "arrays": {
        name: {"shape": shape, "values": values(shape).ravel().tolist(), **deflated(arrays[name])}
        for name, shape in SHAPES.items()
    },
    "half": {"shape": (2, 3), "values": values((2, 3)).ravel().tolist(),
             **deflated(Array(values((2, 3)).astype(np.float16)))},
    "large": {"shape": (3, 500_000), "id": large.object_id, "chunks": [key for key, _ in large.slice_array()]},
    "records": {"ArrayRecord": deflated(arrays), "ConfigRecord": deflated(config), "MetricRecord": deflated(metrics),
                "RecordDict": deflated(reply.content)},
    "asked": {"id": asked.object_id,
              "contents": {key: base(obj.deflate()) for key, obj in get_all_nested_objects(asked).items()},
              "response": base(fleet_pb2.PullMessagesResponse(
                  messages_list=[message_to_proto(remove_content_from_message(asked))],
                  message_object_trees=[get_object_tree(asked)]).SerializeToString())},
    "reply": {**deflated(reply), "request": pushed(reply)},
    "refusal": {**deflated(refusal), "request": pushed(refusal)},
    "clipping": [clip(norm) for norm in (0.25, 1.5, 100.0)],
    "requests": {
        "ActivateNodeRequest": base(fleet_pb2.ActivateNodeRequest(public_key=b"key", heartbeat_interval=30)
                                    .SerializeToString()),
        "SendNodeHeartbeatRequest": base(heartbeat_pb2.SendNodeHeartbeatRequest(node=node, heartbeat_interval=12.5)
                                         .SerializeToString()),
        "PushObjectRequest": base(message_pb2.PushObjectRequest(node=node, run_id=RUN, object_id="ab",
                                                                object_content=b"\0\1", session_id="s")
                                  .SerializeToString()),
    },
}
(DATA / "flower.json").write_text(json.dumps(written, indent=1) + "\n")
