/* ZipMap: a sequence of maps from class labels to scores, one for each row. It is kept as its two halves, the labels
 * and the scores (N, labels), of which the page makes maps. In a graph that trains the scores are its output. */
#include "graph/sequence.h"
#include "ops/ml/class_labels.h"
#include "ops/ml/linear.h"

static Status zip_map_expand(Expansion *c) {
  ClassLabels labels;
  TRY(class_labels_read(c->node, "classlabels_int64s", "classlabels_strings", &labels));
  Value *scores = linear_rows(c);
  if (!scores) return c->graph->error->status;
  if (dim_is_number(scores->shape.dim[1]) && (size_t)scores->shape.dim[1] != labels.count)
    return node_invalid(c->node, "it has %zu class labels for %lld scores", labels.count,
                        (long long)scores->shape.dim[1]);
  if (!c->graph->deferral.allowed) return expand_done(c, scores);
  Value *keys = class_labels_constant(c, &labels);
  return expand_done(c, keys ? sequence_new(c->node, DTYPE_FLOAT32, (Value *[]){keys, scores}, 2) : NULL);
}

OPERATOR(zip_map) = {
    .name = "ZipMap",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = zip_map_expand,
};
