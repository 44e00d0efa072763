/* ScatterElements: puts updates into data (or adds them, multiplies by them, …) at the index along an axis, in each
 * line separately.  dData = dy, 0 where it was replaced; dUpdates = dy there; of max
 * and min, the elements that are y share dy; of mul, dy times the other factors. */
#include <string.h>

#include "kernels/copy.h"
#include "ops/index/elements.h"
#include "graph/same_shape.h"
#include "ops/index/scatter_reduction.h"

static Status scatter_elements_infer(Node *n) {
  ScatterKind kind;
  TRY(scatter_infer(n, &kind));
  TRY(same_shape_want(n, 1, 2));
  TRY(elements_infer(n, &n->in[0]->shape, 1, node_int(n, "axis", 0)));
  return node_output(n, 0, n->in[0]->type, &n->in[0]->shape);
}

static void put(const Node *n, const ElementsRun *run) {
  const ElementsRun r = *run; /* that it does not change, the compiler sees of a copy alone */
  size_t item = dtype_bytes(n->in[0]->type);
  if (item == sizeof(uint32_t)) {
    const uint32_t *from = (const uint32_t *)n->in[2]->data + r.from;
    uint32_t *to = n->out[0]->data;
    bool within = r.wide && r.step == 0 && r.stride == 1; /* a line by itself, as MaxUnpool has but one */
    for (size_t i = 0; i < r.count && within; i++) {
      int64_t at = index_wrap(r.wide[i], r.size);
      if (at < 0) return elements_note(n, 1, run, i);
      to[r.line + (size_t)at] = from[i];
    }
    for (size_t i = 0; i < r.count && !within; i++) {
      ptrdiff_t at = elements_at(&r, i);
      if (at < 0) return elements_note(n, 1, run, i);
      to[at] = from[i];
    }
    return;
  }
  const char *from = (const char *)n->in[2]->data + r.from * item;
  char *to = n->out[0]->data;
  for (size_t i = 0; i < r.count; i++, from += item) {
    ptrdiff_t at = elements_at(&r, i);
    if (at < 0) return elements_note(n, 1, run, i);
    copy_element(to + (size_t)at * item, from, item);
  }
}

static void add(const Node *n, const ElementsRun *run) {
  const ElementsRun r = *run;
  const float *from = in_f32(n, 2) + r.from;
  float *to = out_f32(n, 0);
  for (size_t i = 0; i < r.count; i++) {
    ptrdiff_t at = elements_at(&r, i);
    if (at < 0) return elements_note(n, 1, run, i);
    to[at] += from[i];
  }
}

static void reduce(const Node *n, const ElementsRun *run) {
  ScatterKind kind = scatter_kind(n);
  DType type = n->in[0]->type;
  size_t item = dtype_bytes(type);
  const char *from = (const char *)n->in[2]->data + run->from * item;
  for (size_t i = 0; i < run->count; i++, from += item) {
    ptrdiff_t at = elements_at(run, i);
    if (at < 0) return elements_note(n, 1, run, i);
    scatter_row(kind, type, (char *)n->out[0]->data + (size_t)at * item, from, 1);
  }
}

static void scatter_elements_run(const Node *n) {
  size_t bytes = out_count(n, 0) * dtype_bytes(n->in[0]->type);
  if (bytes && n->out[0]->data != n->in[0]->data) memmove(n->out[0]->data, n->in[0]->data, bytes);
  ScatterKind kind = scatter_kind(n);
  bool adds = kind == SCATTER_ADD && n->in[0]->type == DTYPE_FLOAT32;
  elements_each(n, &n->in[0]->shape, 1, kind == SCATTER_NONE ? put : adds ? add : reduce);
}

static Status scatter_elements_grad(Grad *g) {
  return scatter_grad(g, "GatherElements", g->node->in[1], ATTRS(attr_of_int("axis", elements_axis(g->node))));
}

OPERATOR(scatter_elements) = {
    .name = "ScatterElements",
    .since = {11, 13, 16, 18},
    .inputs = {3, 3},
    .in_place = 1,
    .flags = OP_ANY_TYPE | OP_ATTRIBUTES | OP_ALONE,
    .expand = scatter_in_float,
    .expands = scatter_expands,
    .infer = scatter_elements_infer,
    .run = scatter_elements_run,
    .grad = GRADIENT(scatter_elements_grad),
    .cases = CASES({"f32[3,4] v:i64[2,4]=0,1,2,0,1,2,-3,2 f32[2,4]"},
                   {"f32[3,4] v:i64[3,2]=0,3,2,-4,1,0 f32[3,2]", "axis=1"},
                   {"f32[3,4] v:i64[3,2]=0,3,2,2,1,1 f32[3,2]", "axis=1 reduction=add", 16},
                   {"f32[4] v:i64[3]=3,1,3 f32[3]", "reduction=mul", 16},
                   {"v:f32[5]=2,0,0,3,0 v:i64[5]=3,1,3,2,2 v:f32[5]=2,3,0,0,4", "reduction=mul", 16},
                   {"f32[3,4] v:i64[3,2]=0,3,2,2,1,1 f32[3,2]", "axis=1 reduction=max", 18},
                   {"f32[4] v:i64[3]=3,1,3 f32[3]", "reduction=min", 18},
                   {"v:f32[4]=1,2,3,5 v:i64[6]=0,0,1,2,2,2 v:f32[6]=1,0,4,4,4,3", "reduction=max", 18, .kink = true},
                   {"v:f64[2]=1,2 v:i64[3]=0,0,1 v:f64[3]=3,2,-1", "reduction=min", 18, .no_grad = "float64"},
                   {"v:i64[3]=1,2,3 v:i64[4]=0,2,2,-3 v:i64[4]=5,-1,4,2", "reduction=add", 16},
                   {"v:i32[3]=1,2,3 v:i64[4]=0,2,2,-3 v:i32[4]=5,-1,4,2", "reduction=max", 18},
                   {"v:f16[1]=1 v:i64[5]=0,0,0,0,0 v:f16[5]=0.0004*", "reduction=add", 16, .no_grad = "float16"},
                   {"v:i64[4]=1,2,3,4 v:i32[2]=0,2 v:i64[2]=9,8", NULL, 11}),
};
