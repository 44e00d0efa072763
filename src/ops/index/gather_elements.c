/* GatherElements: y = x's element at the index along an axis, in each line separately.  dx: dy added up where it came
 * from. */
#include "kernels/copy.h"
#include "ops/index/elements.h"

static Status gather_elements_infer(Node *n) {
  DType type = n->in[0]->type;
  if (dtype_bytes(type) == 0) return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not pick %s", dtype_name(type));
  TRY(elements_infer(n, &n->in[0]->shape, 1, node_int(n, "axis", 0)));
  return node_output(n, 0, type, &n->in[1]->shape);
}

static void pick(const Node *n, const ElementsRun *run) {
  size_t item = dtype_bytes(n->in[0]->type);
  char *to = (char *)n->out[0]->data + run->from * item;
  for (size_t i = 0; i < run->count; i++, to += item) {
    ptrdiff_t at = elements_at(run, i);
    if (at < 0) return elements_note(n, 1, run, i);
    copy_element(to, (const char *)n->in[0]->data + (size_t)at * item, item);
  }
}

/* True if all indices are in 0 … size - 1. */
static bool all_plain(const int64_t *k, size_t count, uint64_t size) {
  uint64_t signs = 0;
  for (size_t i = 0; i < count; i++) signs |= (uint64_t)k[i] | (size - 1 - (uint64_t)k[i]);
  return !(signs >> 63);
}

enum { BLOCK = 256 }; /* elements whose indices are looked at first, so that nothing is asked where they are used */

static void pick_floats(const Node *n, const ElementsRun *run) {
  const ElementsRun r = *run; /* that it does not change, the compiler sees of a copy alone */
  const float *x = in_f32(n, 0), *line = x + r.line;
  float *to = out_f32(n, 0) + r.from;
  for (size_t block = 0; block < r.count; block += BLOCK) {
    size_t end = r.count - block < BLOCK ? r.count : block + BLOCK, i = block;
    if (r.wide && all_plain(r.wide + block, end - block, (uint64_t)r.size)) {
      for (; i < end && r.stride == 1 && !r.step; i++) to[i] = line[(size_t)r.wide[i]];
      for (; i < end; i++) to[i] = line[i * r.step + (size_t)r.wide[i] * r.stride];
    }
    for (; i < end; i++) {
      ptrdiff_t at = elements_at(&r, i);
      if (at < 0) return elements_note(n, 1, run, i);
      to[i] = x[at];
    }
  }
}

static void gather_elements_run(const Node *n) {
  elements_each(n, &n->in[0]->shape, 1, n->in[0]->type == DTYPE_FLOAT32 ? pick_floats : pick);
}

static Status gather_elements_grad(Grad *g) {
  Node *n = g->node;
  AttrList axis = ATTRS(attr_of_int("axis", elements_axis(n)));
  g->dx[0] = emit_with(g->graph, "GatherElementsGrad", axis, g->dy[0], emit_shape(g->graph, n->in[0]), n->in[1]);
  return STATUS_OK;
}

OPERATOR(gather_elements) = {
    .name = "GatherElements",
    .since = {11, 13},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = gather_elements_infer,
    .run = gather_elements_run,
    .grad = GRADIENT(gather_elements_grad),
    .cases = CASES({"f32[3,4] v:i64[2,4]=0,1,2,0,-1,1,1,2"}, {"f32[3,4] v:i64[3,2]=0,3,2,-4,1,1", "axis=1"},
                   {"f32[2,3,2] v:i32[2,1,2]=0,2,1,1", "axis=-2"}, {"i64[4] v:i64[2]=3,0", NULL, 11}),
};
