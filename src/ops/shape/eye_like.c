/* EyeLike: 1 on the k-th diagonal, else 0, in the shape of x. */
#include <string.h>

#include "graph/op.h"
#include "kernels/copy.h"
#include "kernels/number.h"

static Status eye_like_infer(Node *n) {
  const Value *x = n->in[0];
  DType type = (DType)node_int(n, "dtype", x->type);
  int64_t *k = NODE_PARAMS(n, int64_t);
  if (!k) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_rank(n, 0, 2, 2));
  if (!dtype_is_number(type) && type != DTYPE_BOOL)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its output is of type %s, which has no 1", dtype_name(type));
  *k = node_int(n, "k", 0);
  return node_output(n, 0, type, &x->shape);
}

static void eye_like_run(const Node *n) {
  int64_t k = *(const int64_t *)n->params, rows = n->out[0]->shape.dim[0], columns = n->out[0]->shape.dim[1];
  DType type = n->out[0]->type;
  size_t item = dtype_bytes(type);
  double one; /* bytes of a 1 of any type */
  char *y = n->out[0]->data;
  numbers_store_ints(&(Numbers){.ints = {1}}, &one, type, 0, 1);
  if (out_count(n, 0)) memset(y, 0, out_count(n, 0) * item);
  if (k <= -rows) return;
  for (int64_t i = k < 0 ? -k : 0; i < rows && k < columns - i; i++)
    copy_element(y + (size_t)(i * columns + i + k) * item, &one, item);
}

static bool eye_like_reads(const Node *n, int input) { return false; }

OPERATOR(eye_like) = {
    .name = "EyeLike",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .infer = eye_like_infer,
    .run = eye_like_run,
    .reads = eye_like_reads,
    .cases = CASES({"f32[3,4]", "k=1", .no_grad = "constant"}, {"i64[2,2]", .no_grad = "constant"},
                   {"f32[3,2]", "k=-1 dtype=11", .no_grad = "constant"}, {"f32[2,3]", "k=3", .no_grad = "constant"},
                   {"f32[3,2]", "k=-3 dtype=9", .no_grad = "constant"}),
};
