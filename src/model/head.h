/* Head: a new last layer in place of a model's own, for classes that the model was not made for.
 *
 *   … ─▶ features ─▶ old classifier ─▶ outputs          before
 *   … ─▶ features ─▶ [pooled] ─▶ [Gemm ─▶ Relu] ─▶ Gemm ─▶ scores
 */
#pragma once
#include "graph/graph.h"
#include "train/names.h"

typedef struct HeadOptions {
  NameList classes; /* none: the model's own outputs stay */
  const char *at;   /* the value that is its features; NULL: what the last layer with a weight reads */
  int hidden;       /* units of a layer before the last; 0: none */
} HeadOptions;

/* Metadata of a graph with such a head, JSON arrays: the names of its classes; the value that the last layer reads, its
 * weight and its bias. */
#define CLASSES_KEY "trainlet.classes"
#define HEAD_KEY "trainlet.head"
/* Also a session's property, which goes before: a JSON object of what js/session/calibration.js has found of its
 * scores. */
#define CALIBRATION_KEY "trainlet.calibration"

/* Changes the model g: the scores are its only output, what only the old outputs needed is gone. The names of the new
 * parameters, all of `head.…`, are added to `parameters`, which lies in `arena`. */
Status head_put(Graph *g, const HeadOptions *o, NameList *parameters, Arena *arena);
