/* A step over all parameters: gradients begin at zero, updates go range by range, bounds hold. */
#include <math.h>
#include <string.h>

#include "state/state.h"

void state_zero_gradients(State *s) {
  if (s->gradient_count) memset(s->gradients.data, 0, s->gradient_count * sizeof(float));
}

void state_clamp(State *s) {
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    float *x = p->data, least = p->least, most = p->most;
    if (!p->trainable || (isinf(least) && isinf(most))) continue;
    for (size_t k = 0; k < p->bytes / sizeof *x; k++) x[k] = x[k] < least ? least : x[k] > most ? most : x[k];
  }
}

/* True if b begins at the end of a, apart from the gap. */
static bool is_next(const Parameter *a, const Parameter *b) {
  size_t bytes = parameter_padded_bytes(a);
  bool next = (char *)a->data + bytes == b->data && (char *)a->grad + bytes == (char *)b->grad &&
              a->steps == b->steps && a->lr_scale == b->lr_scale && a->weight_decay == b->weight_decay;
  for (int k = 0; k < 2 && a->moment[k]; k++) next &= (char *)a->moment[k] + bytes == (char *)b->moment[k];
  return next;
}

int state_next_range(const State *s, int i, StateRange *out) {
  while (i < s->count && !s->parameters[i].trainable) i++;
  if (i >= s->count) return 0;
  const Parameter *last = &s->parameters[i];
  *out = (StateRange){last->data,     last->grad,        {last->moment[0], last->moment[1]}, 0, last->steps,
                      last->lr_scale, last->weight_decay};
  for (i++; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    if (p->trainable && !is_next(last, p)) break;
    if (p->trainable) last = p;
  }
  out->count = (size_t)((float *)last->data - out->values) + last->bytes / sizeof(float);
  return i;
}
