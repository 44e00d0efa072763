/* NonMaxSuppression: keeps only the best of boxes that overlap, class by class. Computed ahead, since its shape depends
 * on them. */
#include "graph/expansion.h"
#include "kernels/select.h"
#include "graph/work.h"

enum { COMPARISON = 64, OVERLAP = 8 }; /* multiply-adds that take as long */

typedef struct Rule {
  bool centers, by_score; /* boxes are (center, size); boxes of a lower score are left out */
  float overlap, score;
  int64_t most;
} Rule;

typedef struct Box {
  float low[2], high[2], area;
} Box;

static Status number_at(const Node *n, int input, DType type, const void **data) {
  *data = NULL;
  if (!has_in(n, input)) return STATUS_OK;
  TRY(node_want_type(n, input, type));
  TRY(node_contents(n, input, data));
  return shape_elements(&n->in[input]->shape) == 1 ? STATUS_OK : node_invalid(n, "input %d must be one number", input);
}

static Status read_rule(const Node *n, Rule *r) {
  const void *most, *overlap, *score;
  TRY(number_at(n, 2, DTYPE_INT64, &most));
  TRY(number_at(n, 3, DTYPE_FLOAT32, &overlap));
  TRY(number_at(n, 4, DTYPE_FLOAT32, &score));
  *r = (Rule){.centers = node_int(n, "center_point_box", 0) != 0,
              .by_score = score != NULL,
              .overlap = overlap ? *(const float *)overlap : 0,
              .score = score ? *(const float *)score : 0,
              .most = most ? *(const int64_t *)most : 0};
  return STATUS_OK;
}

static Box box_of(const float *at, bool centers) {
  Box b;
  for (int a = 0; a < 2; a++) {
    float first = at[a], second = at[a + 2];
    if (centers) b.low[a] = first - second / 2, b.high[a] = first + second / 2;
    else b.low[a] = first < second ? first : second, b.high[a] = first < second ? second : first;
  }
  b.area = (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
  return b;
}

/* The length that both boxes share along a dim. */
static inline float shared(const Box *a, const Box *b, int dim) {
  float low = a->low[dim] > b->low[dim] ? a->low[dim] : b->low[dim];
  return (a->high[dim] < b->high[dim] ? a->high[dim] : b->high[dim]) - low;
}

/* intersection / union > threshold */
static bool overlap(const Box *a, const Box *b, float threshold) {
  float height = shared(a, b, 0), width = shared(a, b, 1), common = height * width;
  if (!(height > 0) || !(width > 0)) return false;
  return a->area > 0 && b->area > 0 && common / (a->area + b->area - common) > threshold;
}

/* True if box a comes after box b: best scores first, of equal ones the first box; NaN last. */
static bool behind(const void *context, size_t a, size_t b) {
  float x = ((const float *)context)[a], y = ((const float *)context)[b];
  if (y > x || (y == y && x != x)) return true;
  return !(x > y || (x == x && y != y)) && b < a;
}

/* The boxes kept of one class, into `kept`; their number. Of the rest, `order` finds the best as long as one is wanted.
 */
static size_t keep(const Rule *r, const Box *boxes, const float *scores, size_t count, size_t *order, size_t *kept) {
  size_t found = 0;
  select_heap(order, count, behind, scores);
  for (; count && (int64_t)found < r->most; count--) {
    size_t best = select_take(order, count, behind, scores);
    if (r->by_score && !(scores[best] > r->score)) break;
    bool stays = true;
    for (size_t k = 0; k < found && stays; k++) stays = !overlap(&boxes[best], &boxes[kept[k]], r->overlap);
    if (stays) kept[found++] = best;
  }
  return found;
}

/* Each box is compared with those that are kept, of which there may be `most`. */
static double work_of_boxes(double count, double most) {
  return count * select_levels(count) * COMPARISON + most * (count - most / 2) * OVERLAP;
}

static Status suppress(Expansion *c, const Rule *r, const float *boxes, const float *scores, Value **y) {
  const Shape *s = expand_shape(c, 1);
  size_t count = (size_t)s->dim[2], classes = count ? (size_t)(s->dim[0] * s->dim[1]) : 0, found = 0;
  size_t most = r->most < 0 ? 0 : r->most < s->dim[2] ? (size_t)r->most : count;
  Arena *arena = c->graph->arena;
  TRY(work_expand(c->node, (double)classes * work_of_boxes((double)count, (double)most)));
  size_t *order = arena_alloc_array(arena, count, sizeof *order), *kept = ARENA_ARRAY(arena, size_t, most);
  int64_t *rows = arena_alloc_array(arena, classes, 3 * sizeof *rows * most + 1);
  Box *box = arena_alloc_array(arena, count, sizeof *box);
  const char *name = graph_fresh_name(c->graph, "const");
  if (!order || !kept || !rows || !box || !name) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0; i < classes; i++) {
    size_t batch = i / (size_t)s->dim[1];
    for (size_t k = 0; k < count && i % (size_t)s->dim[1] == 0; k++)
      box[k] = box_of(boxes + (batch * count + k) * 4, r->centers);
    size_t kept_count = keep(r, box, scores + i * count, count, order, kept);
    for (size_t k = 0; k < kept_count; k++, found++) {
      rows[3 * found] = (int64_t)batch;
      rows[3 * found + 1] = (int64_t)i % s->dim[1];
      rows[3 * found + 2] = (int64_t)kept[k];
    }
  }
  Shape shape = SHAPE((Dim)found, 3);
  *y = graph_constant(c->graph, name, DTYPE_INT64, &shape, rows);
  return c->graph->error->status;
}

static Status non_max_suppression_expand(Expansion *c) {
  Node *n = c->node;
  const void *boxes, *scores;
  const Shape *b = expand_shape(c, 0), *s = expand_shape(c, 1);
  Rule rule;
  char tb[SHAPE_TEXT], ts[SHAPE_TEXT];
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(node_want_rank(n, 0, 3, 3));
  TRY(node_want_rank(n, 1, 3, 3));
  if (expand_is_early(c)) return expand_deferred(c);
  TRY(node_contents(n, 0, &boxes));
  TRY(node_contents(n, 1, &scores));
  TRY(read_rule(n, &rule));
  if (b->dim[2] != 4 || b->dim[0] != s->dim[0] || b->dim[1] != s->dim[2])
    return node_invalid(n, "boxes are %s and scores %s, which do not fit", shape_print(b, tb), shape_print(s, ts));
  return suppress(c, &rule, boxes, scores, &c->out[0]);
}

static Status non_max_suppression_infer(Node *n) {
  Shape y = SHAPE(0, 3);
  TRY(node_deferred_dim(n, &y.dim[0]));
  return node_output(n, 0, DTYPE_INT64, &y);
}

OPERATOR(non_max_suppression) = {
    .name = "NonMaxSuppression",
    .since = {10, 11},
    .inputs = {2, 5},
    .infer = non_max_suppression_infer,
    .expand = non_max_suppression_expand,
    .cases = CASES({"f32[1,6,4]=0,0,1,1,0,0.1,1,1.1,0,-0.1,1,0.9,0,10,1,11,0,10.1,1,11.1,0,100,1,101 "
                    "f32[1,1,6]=0.9,0.75,0.6,0.95,0.5,0.3 i64[1]=3 f32[1]=0.5 f32[1]=0.4",
                    "", .no_grad = "places"},
                   {"f32[1,3,4]=1,1,0,0,0.5,0.6,1,1,0.5,0.5,1,1 f32[1,2,3]=0.5,0.5,0.9,0.1,0.2,0.3 i64[]=2",
                    "center_point_box=1", .no_grad = "places"},
                   {"f32[1,2,4]=0,0,1,1,2,2,3,3 f32[1,1,2]=0.5,0.6", "", .no_grad = "places"}),
};
