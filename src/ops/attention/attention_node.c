/* Attention's shapes: where images, heads, tokens and widths are in each operand. */
#include "ops/attention/attention_node.h"
#include "graph/work.h"

typedef enum Layout { HEADS, TOKENS, TURNED } Layout; /* (N, H, T, D), (N, T, H, D), (N, H, D, T) */

typedef struct Dims {
  Dim image, head, line, d;
} Dims;

/* Layouts of q, k, v and y, in this order. */
static Status read_layouts(const Node *n, Layout layout[4]) {
  int count;
  const int64_t *ints = node_ints(n, "layout", &count);
  for (int i = 0; i < 4; i++) layout[i] = HEADS;
  if (!ints) return STATUS_OK;
  if (count != 4) return node_invalid(n, "layout has %d entries, it wants those of q, k, v and y", count);
  for (int i = 0; i < 4; i++) {
    if (ints[i] < HEADS || ints[i] > (i == 1 ? TURNED : TOKENS))
      return node_invalid(n, "layout %d is %lld: 0 is (N, H, T, D), 1 is (N, T, H, D), for k 2 is (N, H, D, T)", i,
                          (long long)ints[i]);
    layout[i] = (Layout)ints[i];
  }
  return STATUS_OK;
}

static Dims dims_of(const Shape *s, Layout layout) {
  const Dim *d = s->dim;
  if (layout == TOKENS) return (Dims){d[0], d[2], d[1], d[3]};
  if (layout == TURNED) return (Dims){d[0], d[1], d[3], d[2]};
  return (Dims){d[0], d[1], d[2], d[3]};
}

static AttentionStrides strides_of(Dims s, Layout layout) {
  size_t heads = (size_t)s.head, lines = (size_t)s.line, d = (size_t)s.d;
  if (layout == TOKENS) return (AttentionStrides){lines * heads * d, d, heads * d, 1};
  if (layout == TURNED) return (AttentionStrides){heads * lines * d, lines * d, 1, lines};
  return (AttentionStrides){heads * lines * d, lines * d, d, 1};
}

static bool differ(Dim a, Dim b) { return dim_is_number(a) && dim_is_number(b) && a != b; }

static Status check_dims(const Node *n, Dims q, Dims k, Dims v, bool causal) {
  if (differ(q.image, k.image) || differ(q.image, v.image))
    return node_invalid(n, "q, k and v have different numbers of images");
  if (differ(q.head, k.head) || differ(q.head, v.head))
    return node_invalid(n, "q, k and v have different numbers of heads");
  if (differ(q.d, k.d)) return node_invalid(n, "q has %lld floats a token, k %lld", (long long)q.d, (long long)k.d);
  if (differ(k.line, v.line)) return node_invalid(n, "k has %lld tokens, v %lld", (long long)k.line, (long long)v.line);
  if (causal && dim_is_number(q.line) && dim_is_number(k.line) && q.line > k.line)
    return node_invalid(n, "causal attention has %lld queries, more than %lld keys", (long long)q.line,
                        (long long)k.line);
  return STATUS_OK;
}

/* The mask broadcasts to (N, H, T, keys). */
static Status check_mask(const Node *n, int mask, const Shape *scores) {
  char text[SHAPE_TEXT], wanted[SHAPE_TEXT];
  const Shape *m = &n->in[mask]->shape;
  int skip = scores->rank - m->rank;
  for (int i = 0; i < m->rank; i++)
    if (m->dim[i] != 1 && differ(m->dim[i], scores->dim[skip + i]))
      return node_invalid(n, "the mask is %s, it must broadcast to %s", shape_print(m, text),
                          shape_print(scores, wanted));
  return STATUS_OK;
}

static void mask_strides(const Shape *m, Attention *a) {
  size_t stride[4] = {0}, at = 1;
  for (int i = 1; i <= m->rank; i++) {
    Dim d = m->dim[m->rank - i];
    stride[4 - i] = d == 1 ? 0 : at;
    at *= (size_t)d;
  }
  a->mask.image = stride[0];
  a->mask.head = stride[1];
  a->mask.query = stride[2];
  a->mask.key = stride[3];
}

static Shape laid_out(Dims s, Layout layout) {
  return layout == TOKENS ? SHAPE(s.image, s.line, s.head, s.d) : SHAPE(s.image, s.head, s.line, s.d);
}

Status attention_infer(Node *n, int at, int mask, Shape *y, Shape *norm) {
  Layout layout[4];
  TRY(read_layouts(n, layout));
  for (int i = at; i < at + 3; i++) {
    TRY(node_want_float(n, i));
    TRY(node_want_rank(n, i, 4, 4));
  }
  Dims q = dims_of(&n->in[at]->shape, layout[0]), k = dims_of(&n->in[at + 1]->shape, layout[1]),
       v = dims_of(&n->in[at + 2]->shape, layout[2]);
  bool causal = node_int(n, "causal", 0) != 0;
  TRY(check_dims(n, q, k, v, causal));
  if (has_in(n, mask)) {
    TRY(node_want_float(n, mask));
    TRY(node_want_rank(n, mask, 0, 4));
    Shape scores = SHAPE(q.image, q.head, q.line, k.line);
    TRY(check_mask(n, mask, &scores));
  }
  Dims out = {q.image, q.head, q.line, v.d};
  *y = laid_out(out, layout[3]);
  *norm = SHAPE(q.image, q.head, q.line);
  if (!node_is_concrete(n)) return STATUS_OK;
  Attention *a = NODE_PARAMS(n, Attention);
  if (!a) return STATUS_OUT_OF_MEMORY;
  *a = (Attention){.images = (size_t)q.image,
                   .heads = (size_t)q.head,
                   .queries = (size_t)q.line,
                   .keys = (size_t)k.line,
                   .width = (size_t)q.d,
                   .value_width = (size_t)v.d,
                   .scale = node_float(n, "scale", 1),
                   .causal = causal,
                   .q = strides_of(q, layout[0]),
                   .k = strides_of(k, layout[1]),
                   .v = strides_of(v, layout[2]),
                   .y = strides_of(out, layout[3])};
  if (has_in(n, mask)) mask_strides(&n->in[mask]->shape, a);
  return STATUS_OK;
}

double attention_work(const Node *n) {
  const Attention *a = n->params;
  double each = (double)a->width + (double)a->value_width + WORK_ELEMENT;
  return (double)a->images * (double)a->heads * (double)a->queries * (double)a->keys * each;
}
double attention_gradient_work(const Node *n) { return 3 * attention_work(n); }
