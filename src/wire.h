/* Wire: protobuf bytes checked before protobuf-c sees them, then unpacked into an arena. */
#pragma once
#include "arena.h"
#include "status.h"

struct ProtobufCMessageDescriptor;

/* The message, every part of it in `arena`, where it stays. NULL with a sentence about `what` ("ONNX model") and
 * `status` when the bytes are damaged or built to exhaust the reader. */
void *wire_unpack(const struct ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count, const char *what,
                  Status status, Arena *arena, Error *error);

/* The same of a model that stays in memory, at `bytes`, as the external file `location`: the raw data of its large
 * initializers becomes external data there, moved a little to where numbers are aligned. */
void *wire_unpack_file(const struct ProtobufCMessageDescriptor *type, uint8_t *bytes, size_t count,
                       const char *location, const char *what, Status status, Arena *arena, Error *error);
