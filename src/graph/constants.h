/* Constants: inputs of a model that are bound once and for all, before anything is made of it. */
#pragma once
#include "graph/graph.h"

typedef struct BoundInput {
  Value value; /* VALUE_CONSTANT that belongs to no graph */
  bool used;   /* a model has an input of that name */
  struct BoundInput *next;
} BoundInput;

typedef struct Constants {
  BoundInput *first;
} Constants;

/* Returns the place to write the bytes of a constant to; NULL with a sentence. */
void *constants_add(Constants *c, const char *name, int type, int rank, const int64_t *dims, Arena *arena,
                    Error *error);
/* The graph with constants for the inputs of their names: what they decide, as the condition of an If, is decided in
 * it. `g` itself where it has none of them; NULL with a sentence. */
Graph *constants_bind(Constants *c, Graph *g, Arena *arena, Error *error);
/* The graph if none of its nodes is deferred and all its values are tensors of numbers; otherwise NULL, with the
 * sentence of a deferred node. */
Graph *constants_complete(Graph *g, Arena *arena, Error *error);
/* Refuses one whose name no model's input had. */
Status constants_check_used(const Constants *c, Error *error);
