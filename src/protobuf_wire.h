/* Wire: protobuf bytes checked before protobuf-c sees them, then unpacked into an arena. */
#pragma once
#include "arena.h"
#include "status.h"

struct ProtobufCMessageDescriptor;

/* The message, with every part of it in `arena`. NULL with a sentence about `what` ("ONNX model") and `status` when the
 * bytes are damaged or made to exhaust the reader. */
void *wire_unpack(const struct ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count, const char *what,
                  Status status, Arena *arena, Error *error);

/* The same for a model that stays in memory at `bytes`, as the external file `location`: the raw data of its large
 * initializers becomes external data there, moved by a few bytes so that numbers are aligned. */
void *wire_unpack_file(const struct ProtobufCMessageDescriptor *type, uint8_t *bytes, size_t count,
                       const char *location, const char *what, Status status, Arena *arena, Error *error);
