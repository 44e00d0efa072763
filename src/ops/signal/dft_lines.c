/* The checks of DFT, and its lines, which are extended to the transform's length, transformed, and cut to the
 * output's. */
#include "ops/signal/dft_lines.h"

#include "size.h"
#include "threads.h"

enum { LENGTH_MAX = 1 << 24, CHUNK = 4096 };

/* The transform's length where it is known, else a symbol. */
static Status read_length(Node *n, const Shape *x, int axis, int input, bool folded, Dim *out) {
  const Dim *dims;
  int count;
  Dim in = x->dim[axis];
  *out = !folded ? in : dim_is_number(in) ? 2 * (in - 1) : graph_fresh_dim(n->graph);
  if (has_in(n, input)) {
    TRY(node_known(n, input, &dims, &count));
    if (count != 1) return node_invalid(n, "dft_length must be one number");
    *out = dims[0];
  }
  if (dim_is_symbol(*out) || (*out >= 1 && *out <= LENGTH_MAX)) return STATUS_OK;
  return node_invalid(n, "the transform's length is %lld, it must be from 1 to 2^24", (long long)*out);
}

/* Parts of x and y: a onesided transform makes complex numbers of real ones, or, inverse, real ones of complex ones. */
static Status read_parts(const Node *n, const Shape *x, Dft *d) {
  Dim parts = x->dim[x->rank - 1];
  bool known = dim_is_number(parts);
  if (known && parts != 1 && parts != 2)
    return node_invalid(n, "the last dim of its input must be 1 (real) or 2 (complex)");
  d->x_parts = (int)parts;
  d->y_parts = d->inverse && d->onesided ? 1 : 2;
  if (known && d->onesided && (parts == 2) != d->inverse)
    return node_invalid(n, "onesided wants %s numbers", d->inverse ? "complex" : "real");
  return STATUS_OK;
}

Status dft_read(Node *n, const Shape *x, int axis, int length, Shape *y, Dft **out) {
  Dft d = {.inverse = node_int(n, "inverse", 0) != 0, .onesided = node_int(n, "onesided", 0) != 0};
  Dim size;
  size_t bytes;
  *out = NULL;
  TRY(read_parts(n, x, &d));
  TRY(read_length(n, x, axis, length, d.inverse && d.onesided, &size));
  *y = *x;
  y->dim[x->rank - 1] = d.y_parts;
  y->dim[axis] = !d.onesided || d.inverse ? size : dim_is_number(size) ? size / 2 + 1 : graph_fresh_dim(n->graph);
  if (!shape_is_concrete(x) || !shape_is_concrete(y)) return STATUS_OK;
  d.outer = shape_span(x, 0, axis), d.inner = shape_span(x, axis + 1, x->rank - 1);
  d.x_length = (size_t)x->dim[axis], d.y_length = (size_t)y->dim[axis];
  if (!fft_takes((size_t)size))
    return node_fail(n, STATUS_UNSUPPORTED_OP,
                     "a transform of %lld numbers, which has a prime factor above 128, is one of more than 2^21",
                     (long long)size);
  if (!(*out = NODE_PARAMS(n, Dft)) || !fft_new(&d.fft, (size_t)size, n->graph->arena)) return STATUS_OUT_OF_MEMORY;
  if (!size_multiply(2 * (size_t)size + fft_spare(&d.fft), (size_t)threads_count() * sizeof(Complex), &bytes))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its lines are too long");
  n->scratch_bytes = bytes;
  **out = d;
  return STATUS_OK;
}

/* Lines in, lines out. `turned`: the sign of the exponent is +, as in the inverse transform. */
typedef struct Lines {
  const Dft *d;
  const float *from;
  float *to;
  size_t from_length, to_length;
  int from_parts, to_parts;
  bool turned, mirrored, doubled; /* mirrored: the half that onesided leaves out is put in; doubled: its gradient is
                                     that of the other half */
  float scale;
  Complex *scratch;
} Lines;

static void load_line(const Lines *l, const float *x, Complex *to) {
  size_t n = l->d->fft.n, step = l->d->inner * (size_t)l->from_parts, given = l->mirrored ? n / 2 + 1 : n;
  float sign = l->turned ? -1 : 1; /* the transform of the conjugates is the conjugate of the other transform */
  if (given > l->from_length) given = l->from_length;
  for (size_t t = 0; t < given; t++) to[t] = (Complex){x[t * step], l->from_parts == 2 ? sign * x[t * step + 1] : 0};
  for (size_t t = given; t < n; t++) to[t] = (Complex){0, 0};
  if (!l->mirrored) return;
  to[0].im = 0;
  for (size_t t = n / 2 + 1; t < n; t++) to[t] = (Complex){to[n - t].re, -to[n - t].im};
  if (n % 2 == 0) to[n / 2].im = 0;
}

static void store_line(const Lines *l, const Complex *x, float *y) {
  size_t n = l->d->fft.n, step = l->d->inner * (size_t)l->to_parts;
  for (size_t k = 0; k < l->to_length; k++) {
    bool twice = l->doubled && k > 0 && 2 * k < n, none = k >= n || (l->doubled && 2 * k > n);
    float scale = none ? 0 : twice ? 2 * l->scale : l->scale;
    Complex at = x[none ? 0 : k];
    y[k * step] = scale * at.re;
    if (l->to_parts == 2) y[k * step + 1] = scale * (l->turned ? -at.im : at.im);
  }
}

static void run_lines(void *context, size_t chunk, int thread) {
  const Lines *l = context;
  const Dft *d = l->d;
  size_t n = d->fft.n, each = CHUNK / n + 1, lines = d->outer * d->inner;
  Complex *x = l->scratch + (2 * n + fft_spare(&d->fft)) * (size_t)thread;
  for (size_t i = chunk * each; i < lines && i < (chunk + 1) * each; i++) {
    size_t o = i / d->inner, rest = i % d->inner;
    load_line(l, l->from + (o * l->from_length * d->inner + rest) * (size_t)l->from_parts, x);
    fft_run(&d->fft, x, x + n, x + 2 * n);
    store_line(l, x + n, l->to + (o * l->to_length * d->inner + rest) * (size_t)l->to_parts);
  }
}

static void run(Lines l) {
  size_t each = CHUNK / l.d->fft.n + 1;
  l.scale = l.d->inverse ? 1 / (float)l.d->fft.n : 1;
  threads_run(ceil_div(l.d->outer * l.d->inner, each), run_lines, &l);
}

double dft_work(const Dft *d) {
  const Fft *f = &d->fft;
  double each = 64; /* a number's share of Bluestein's three transforms and of what is around them */
  for (int i = 0; !f->power && i < 40; i++) each += (double)f->factors[i];
  return (double)d->outer * (double)d->inner * (double)(f->power ? 4 * f->power->n : f->n) * each;
}

void dft_forward(const Dft *d, const float *x, float *y, void *scratch) {
  run((Lines){.d = d,
              .from = x,
              .to = y,
              .from_length = d->x_length,
              .to_length = d->y_length,
              .from_parts = d->x_parts,
              .to_parts = d->y_parts,
              .turned = d->inverse,
              .mirrored = d->inverse && d->onesided,
              .scratch = scratch});
}

/* dx = F* dy: the transform with the other sign, of the numbers that y has, to those that x has. */
void dft_gradient(const Dft *d, const float *dy, float *dx, void *scratch) {
  run((Lines){.d = d,
              .from = dy,
              .to = dx,
              .from_length = d->y_length,
              .to_length = d->x_length,
              .from_parts = d->y_parts,
              .to_parts = d->x_parts,
              .turned = !d->inverse,
              .doubled = d->inverse && d->onesided,
              .scratch = scratch});
}
