/* Tree targets: the forest built, and its scores written. A single target is left as it is, but for PROBIT: so does
 * ONNX Runtime. */
#include "ops/ml/tree_targets.h"

#include <string.h>

static Status build(Node *n, Arena *temporary, TreeTargets *p) {
  const TreeReader *reader = n->op->own;
  ForestSource source = {.arena = temporary};
  int64_t targets = node_int(n, "n_targets", 1);
  if (targets < 1 || targets > 1 << 20) return node_invalid(n, "n_targets is %lld", (long long)targets);
  TRY(reader->read(n, &source, p));
  return forest_build(n, &source, (size_t)targets, &p->forest);
}

Status tree_targets_infer(Node *n) {
  const TreeReader *reader = n->op->own;
  TreeTargets *p = NODE_PARAMS(n, TreeTargets);
  Arena temporary = {0};
  Shape y;
  Status status = p ? build(n, &temporary, p) : STATUS_OUT_OF_MEMORY;
  arena_free(&temporary);
  TRY(status);
  TRY(forest_shape(n, &p->forest, &y));
  return node_output(n, 0, reader->keeps_type ? n->in[0]->type : DTYPE_FLOAT32, &y);
}

static void finish(const Node *n, const Forest *f, size_t row, double *scores) {
  const TreeTargets *p = n->params;
  size_t count = f->targets, first = row * count;
  bool as_it_is = p->how == POST_NONE || (count == 1 && p->how != POST_PROBIT), wide = n->out[0]->type == DTYPE_FLOAT64;
  forest_total(f, scores);
  if (wide && as_it_is) {
    memcpy((double *)n->out[0]->data + first, scores, count * sizeof *scores);
    return;
  }
  float *y = wide ? (float *)(void *)scores : out_f32(n, 0) + first; /* scores are not read again */
  for (size_t i = 0; i < count; i++) y[i] = (float)scores[i];
  if (!as_it_is) post_transform_row(p->how, y, count);
  for (size_t i = 0; i < count && wide; i++) ((double *)n->out[0]->data)[first + i] = (double)y[i];
}

void tree_targets_run(const Node *n) { forest_run(n, &((const TreeTargets *)n->params)->forest, finish); }

double tree_targets_work(const Node *n) { return forest_work(n, &((const TreeTargets *)n->params)->forest); }
