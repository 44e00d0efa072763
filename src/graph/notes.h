/* Notes: what an exporter says of values, by their names, in a graph's metadata; clones, files and exports keep it. */
#pragma once
#include "graph/graph.h"

#define DETACHED_KEY "trainlet.detached"     /* no gradient flows back through it */
#define PADDING_KEY "trainlet.padding_idx"   /* a Gather: the row of the table that gets no gradient */
#define EVAL_KEY "trainlet.eval_batch_norms" /* a BatchNormalization that runs in inference mode while others train */
#define NOTES_KEY "trainlet.initializers"    /* Value.note as a digit, of initializers whose readers do not tell it */

/* The text behind the name on its line; NULL if there is no such line. */
const char *notes_find(const Graph *g, const char *key, const char *name);
/* A line more: the name, and `more` ("": nothing) behind a space. */
Status notes_add(Graph *g, const char *key, const char *name, const char *more);
