/* Checkpoint: the state that a session saves and loads, in no file format. Every pointer belongs to the reader's arena
 * or to the session being saved. */
#pragma once
#include "arena.h"
#include "external.h"
#include "shape.h"
#include "status.h"

typedef struct CheckpointTensor {
  const char *name;
  DType type;
  Shape shape; /* numbers only */
  const void *data;
  size_t bytes;
} CheckpointTensor;

typedef struct CheckpointMoments {
  const char *parameter;
  CheckpointTensor moment[2]; /* "momentum0", "momentum1" */
  int count;
  int64_t steps; /* updates that the parameter has had: fewer than the optimizer's where it was frozen for a while */
} CheckpointMoments;

/* The bounds that an optimizer step keeps a parameter's values in. */
typedef struct CheckpointBounds {
  const char *parameter;
  float least, most;
} CheckpointBounds;

/* The settings of an optimizer step that differ for one parameter. */
typedef struct CheckpointGroup {
  const char *parameter;
  float lr_scale, weight_decay, anchor;
} CheckpointGroup;

/* An adapter beside the one in use, of which only the name is here. */
typedef struct CheckpointAdapter {
  const char *name;
  CheckpointTensor *tensors;
  CheckpointMoments *moments;
  int count, moment_count;
} CheckpointAdapter;

typedef enum PropertyKind { PROPERTY_INT, PROPERTY_FLOAT, PROPERTY_STRING } PropertyKind;
typedef struct Property {
  const char *name;
  PropertyKind kind;
  int64_t i;
  float f;
  const char *s;
} Property;

enum { POSITION_COUNT = 5 }; /* epoch, batches done in it, shuffle seed, examples in the data set, batch size */

typedef struct Checkpoint {
  bool only_plans; /* nominal for good: its sessions plan and never run */
  bool nominal;    /* parameters are names and types: no shapes, no data */
  CheckpointTensor *trainable, *frozen;
  int trainable_count, frozen_count;
  bool has_optimizer;    /* the fields below it are set */
  const char *optimizer; /* its name, as "adamw"; "" or NULL: not known */
  int64_t step;          /* optimizer steps done */
  float initial_learning_rate, learning_rate;
  CheckpointMoments *moments;
  int moment_count;
  Property *properties;
  int property_count;
  uint64_t rng_seed, rng_step;
  int64_t position[POSITION_COUNT];
  const char *fit;        /* the state of a fit, as text in its own format; NULL: none */
  CheckpointTensor *best; /* the trained values at the fit's best */
  int best_count;
  CheckpointBounds *bounds;
  int bound_count;
  CheckpointGroup *groups;
  int group_count;
  CheckpointTensor *averages; /* means of the trained values over the steps */
  int average_count;
  CheckpointTensor *bases; /* targets of parameters with an anchor */
  int base_count;
  CheckpointAdapter *adapters;
  int adapter_count;
  const char *adapter;     /* the one in use; "": none, NULL: the only one */
  CheckpointTensor *start; /* the values of adapters before one trained */
  int start_count;
  bool alone; /* it holds only adapters, for parameters with this hash */
  uint32_t base;
} Checkpoint;

/* The one rule for readers and writers: a checkpoint is refused if two parameters, sets of moments, properties or best
 * parameters have the same name, or one has none. */
Status checkpoint_check_names(const Checkpoint *c, Arena *arena, Error *error);

/* The most bytes of UTF-8 that a property may have when it is set. Larger ones in a file are read, and written again.
 */
enum { PROPERTY_NAME_MAX = 1 << 10, PROPERTY_TEXT_MAX = 16 << 20 };
/* Refuses a name that is empty, and a name or value (NULL: it is a number) that is too long or not UTF-8. */
Status property_check(const char *name, const char *value, Error *error);

/* True if a group's numbers are finite and at least 0. */
bool checkpoint_group_is_good(const CheckpointGroup *g);
bool checkpoint_rate_is_good(float learning_rate); /* true if a session could save it again */

/* Trainlet's own format (schema/checkpoint.proto). checkpoint-corrupt with a sentence for damaged bytes; the bytes may
 * be freed when it returns. */
bool trainlet_checkpoint_is(const uint8_t *bytes, size_t count); /* begins like one */
Status trainlet_checkpoint_read(const uint8_t *bytes, size_t count, Arena *arena, Error *error, Checkpoint *out);
/* Written bytes go to `out`, their number to `out_bytes`. */
Status trainlet_checkpoint_write(const Checkpoint *checkpoint, Error *error, Block *out, size_t *out_bytes);

/* ONNX Runtime's format. Version 1 is read by ONNX Runtime 1.16 and 1.17, version 2 by 1.18 and later. It cannot hold
 * data position, random state and the state of a fit. A large one has its tensors in a second file, whose location is
 * always the same here; what is read then points into that file. */
#define ORT_CHECKPOINT_DATA "checkpoint.data"
enum { ORT_CHECKPOINT_NEWEST = 2 };
bool ort_checkpoint_is(const uint8_t *bytes, size_t count); /* has its identifier */
Status ort_checkpoint_read(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error,
                           Checkpoint *out);
Status ort_checkpoint_write(const Checkpoint *checkpoint, int version, Error *error, Block *out, size_t *out_bytes);
