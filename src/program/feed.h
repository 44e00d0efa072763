/* Feed: what was fed for one input of a model: a tensor, or the tensors of a sequence. Its buffers are used again by
 * the next feed of that name.
 *
 *   Feed ─▶ block   the tensor's bytes; strings come as text and become pointers into it
 *        ─▶ items   of a sequence, a Feed each
 */
#pragma once
#include "graph/graph.h"

typedef struct Feed {
  Value *input; /* an input of the unbound graph; an item's value belongs to no graph and has the shape fed */
  Shape shape;
  bool fed;  /* since the last run */
  bool kept; /* a decode keeps it for the next one (session/decode.c) */
  Block block;
  Block text; /* strings, each with a zero byte at its end */
  size_t text_bytes;
  struct Feed *items;
  int items_made, item_capacity;
  int item_count, came; /* announced for the next run, and fed so far */
} Feed;

/* Returns the place to write the tensor's bytes to (for strings `text_bytes` of text); NULL with a sentence. */
void *feed_tensor(Feed *f, DType type, const Shape *shape, size_t text_bytes, Error *error);
/* The next `count` tensors fed are the sequence's. Their names and list are in memory of `arena`. */
Status feed_sequence(Feed *f, Graph *g, int count, Arena *arena, Error *error);
/* Checks that all that was announced has come and that text holds as many strings as announced; turns it into
 * pointers. */
Status feed_check(Feed *f, Error *error);
void feed_forget(Feed *f);
size_t feed_bytes(const Feed *f); /* bytes of its buffers */
void feed_free(Feed *f);

/* The numbers that tell one shape of a feed from another; returns how many there are, at most feed_key_size. */
size_t feed_key_size(const Feed *f);
size_t feed_key(const Feed *f, int64_t *key);
/* The pin of an input that may be a sequence or an optional, or of a value that was fed, for graphs in which it is
 * bound (Value.pin). NULL if memory is out. */
const Value *feed_pin(const Feed *f, Arena *arena);
/* Points the graph's inputs at the buffers; returns whether one has moved. */
bool feed_attach(const Feed *f, Graph *bound);
