/* Compact files: a train and an eval graph, an optimizer and a checkpoint as the engine has them, in one file that is
 * read without ONNX's reader. docs/guides/compact.md describes the layout.
 *
 *   ┌ 0D │ T L C P │ version │ 0 0 │ CRC-32, 4 │ optimizer's name, 12 ┬ texts ┬ settings ┬ graphs ┬ checkpoint ┐
 */
#pragma once
#include "checkpoint/checkpoint.h"
#include "graph/graph.h"
#include "train/optimizer.h"
#include "trainlet.h"

typedef struct Compact {
  Graph *train, *eval; /* eval may be NULL */
  Optimizer optimizer; /* OPTIMIZER_NONE: there is none */
  Checkpoint checkpoint;
} Compact;

enum { COMPACT_VERSION = 1, COMPACT_NAME_BYTES = 12 };
typedef struct CompactHead {
  uint8_t magic[5], version, zeros[2];
  uint32_t checksum; /* covers all bytes after it */
  char optimizer[COMPACT_NAME_BYTES];
} CompactHead;
_Static_assert(sizeof(CompactHead) == 24, "the head has no gaps");
enum { COMPACT_CHECKED = 12 }; /* the first byte that the checksum is of */
extern const uint8_t compact_magic[5];

/* The encodings of a tensor's numbers. */
typedef enum CompactCoding {
  CODING_NONE,  /* not at all: an input's, a nominal checkpoint's */
  CODING_EXACT, /* unchanged; strings as fields of kind FIELD_TEXT */
  CODING_HALF,  /* float32 as float16 */
  CODING_INT8,  /* float32: a scale for each channel of the first dim, then int8s */
} CompactCoding;

/* Settings of a read for a trainer (session/trainer.c), which makes the train graph only. */
typedef struct CompactFixed {
  struct FixedDim {
    const char *name;
    int64_t size;
    bool used; /* set by reading */
  } *dims;     /* sizes of the inputs' dims, in place of symbols of these names */
  int dim_count;
  Arena *frame; /* holds everything that no run of the graph reads */
} CompactFixed;

/* All memory that graphs and checkpoint need comes from the arena, but the checkpoint's tensors point into the bytes
 * where these stay. STATUS_INVALID_MODEL, STATUS_UNSUPPORTED_OP, STATUS_CHECKPOINT_CORRUPT (names that come twice). */
Status compact_read(const uint8_t *bytes, size_t count, bool stays, Arena *arena, Error *error, Compact *out);
/* The same where the bytes stay. STATUS_INVALID_ARGUMENT for a dim without a number. */
Status compact_read_fixed(const uint8_t *bytes, size_t count, const CompactFixed *fixed, Arena *arena, Error *error,
                          Compact *out);
/* `weights`: how float32 parameters of two or more dims are written; one that float16 or int8 cannot hold stays exact.
 * STATUS_INVALID_ARGUMENT for a graph that is not made of plain nodes. */
Status compact_write(const Compact *from, TrainletWeights weights, Error *error, Block *out, size_t *out_bytes);
