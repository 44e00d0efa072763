/* Golden numbers of operators: one line a tensor, compared at sampled elements and by a weighted sum; and the dump for
 * PyTorch.
 *
 *   case Relu | f32[2,3] | | 0 0
 *   y 0 6 1.2 0.173 : 0 1.2 0 …        tensor, elements, largest, Σ v·u(i), samples at i·elements/samples
 *   dx 0 6 …
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "check.h"
#include "opcheck.h"

struct Golden {
  char *text; /* the file, its lines cut by NUL */
  char **lines;
  int line_count;
  bool *used;
};

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size + 1);
  size_t got = fread(text, 1, (size_t)size, file);
  text[got] = 0;
  fclose(file);
  return text;
}

Golden *golden_read(const char *path) {
  char *text = read_text(path);
  if (!text) return NULL;
  Golden *golden = calloc(1, sizeof *golden);
  int capacity = 1;
  for (char *s = text; *s; s++) capacity += *s == '\n';
  *golden = (Golden){
      .text = text, .lines = calloc((size_t)capacity, sizeof(char *)), .used = calloc((size_t)capacity, 1)};
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    if (*line != '#') golden->lines[golden->line_count++] = line;
  return golden;
}

void golden_free(Golden *golden) {
  if (!golden) return;
  free(golden->text);
  free(golden->lines);
  free(golden->used);
  free(golden);
}

static int find_case(const Golden *golden, const char *key) {
  for (int i = 0; golden && i < golden->line_count; i++)
    if (strncmp(golden->lines[i], "case ", 5) == 0 && strcmp(golden->lines[i] + 5, key) == 0) return i;
  return -1;
}

bool golden_has(const Golden *golden, const char *key) { return find_case(golden, key) >= 0; }

int golden_unused(const Golden *golden, const char **key) {
  int count = 0;
  for (int i = 0; golden && i < golden->line_count; i++)
    if (strncmp(golden->lines[i], "case ", 5) == 0 && !golden->used[i]) count++, *key = golden->lines[i] + 5;
  return count;
}

static double element(DType type, const void *data, size_t i) {
  switch (type) {
    case DTYPE_FLOAT32: return (double)((const float *)data)[i];
    case DTYPE_FLOAT64: return ((const double *)data)[i];
    case DTYPE_INT64: return (double)((const int64_t *)data)[i];
    case DTYPE_INT32: return ((const int32_t *)data)[i];
    case DTYPE_UINT32: return ((const uint32_t *)data)[i];
    case DTYPE_UINT64: return (double)((const uint64_t *)data)[i];
    case DTYPE_INT16: return ((const int16_t *)data)[i];
    case DTYPE_UINT16:
    case DTYPE_FLOAT16: return ((const uint16_t *)data)[i];
    case DTYPE_INT8: return ((const int8_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
  }
}

static void check_tensor(const OpCase *c, const char *what, DType type, const void *data, size_t count,
                         const char *numbers) {
  char *s;
  size_t want_count = strtoull(numbers, &s, 10);
  if (!check(data != NULL && want_count == count, "%s: golden %s has %zu elements, ours %zu", c->key, what, want_count,
             data ? count : 0))
    return;
  double max = strtod(s, &s), want_sum = strtod(s, &s), sum = 0, sum_size = 0;
  for (size_t i = 0; i < count; i++) {
    double term = element(type, data, i) * batch_signed(7, i);
    sum += term;
    sum_size += fabs(term);
  }
  double allowed = 1e-5 * max + 2e-7; /* small numbers may be the difference of large ones */
  check(isnan(sum) ? isnan(want_sum) : fabs(sum - want_sum) <= 1e-5 * sum_size + allowed,
        "%s: golden %s: the weighted sum is %.8g, ours %.8g", c->key, what, want_sum, sum);
  s = strchr(s, ':') + 1;
  size_t samples = strtoull(s, &s, 10);
  for (size_t k = 0; k < samples; k++) {
    size_t i = k * count / samples;
    double want = strtod(s, &s), got = element(type, data, i);
    bool same = want == got || (isnan(want) && isnan(got)) || fabs(want - got) <= allowed;
    if (!check(same, "%s: golden %s[%zu] is %.8g, ours %.8g", c->key, what, i, want, got)) return;
  }
}

void golden_check(Golden *golden, const OpCase *c, const CaseResult *r, float *const grads[OPCASE_INPUTS]) {
  int at = find_case(golden, c->key);
  if (at < 0) return;
  golden->used[at] = true;
  for (at++; at < golden->line_count && strncmp(golden->lines[at], "case ", 5) != 0; at++) {
    char what[8];
    int index, skip;
    if (!check(sscanf(golden->lines[at], "%7s %d%n", what, &index, &skip) == 2, "%s: bad golden line", c->key)) return;
    const char *numbers = golden->lines[at] + skip;
    char name[24];
    snprintf(name, sizeof name, "%s%d", what, index);
    if (*what == 'y') check_tensor(c, name, r->type[index], r->data[index], shape_elements(&r->shape[index]), numbers);
    else if (!c->text->no_grad) check_tensor(c, name, DTYPE_FLOAT32, grads[index], c->in[index].count, numbers);
  }
}

/* ---- dump ---- */

static void dump_tensor(FILE *file, DType type, const Shape *shape, const void *data) {
  fprintf(file, "{\"type\":\"%s\",\"dims\":[", dtype_name(type));
  for (int i = 0; i < shape->rank; i++) fprintf(file, "%s%lld", i ? "," : "", (long long)shape->dim[i]);
  fprintf(file, "],\"data\":[");
  for (size_t i = 0; i < shape_elements(shape); i++) {
    double x = element(type, data, i);
    if (isnan(x)) fprintf(file, "%sNaN", i ? "," : "");
    else if (isinf(x)) fprintf(file, "%s%sInfinity", i ? "," : "", x < 0 ? "-" : "");
    else fprintf(file, "%s%.17g", i ? "," : "", x);
  }
  fprintf(file, "]}");
}

static void dump_attrs(FILE *file, const OpCase *c) {
  for (int i = 0; i < c->attr_count; i++) {
    const Attr *a = &c->attrs[i];
    fprintf(file, "%s\"%s\":", i ? "," : "", a->name);
    if (a->kind == ATTR_INT) fprintf(file, "%lld", (long long)a->i);
    else if (a->kind == ATTR_FLOAT) fprintf(file, "%.9g", (double)a->f);
    else if (a->kind == ATTR_STRING) fprintf(file, "\"%s\"", a->s);
    else {
      for (int k = 0; k < a->count; k++)
        if (a->kind == ATTR_STRINGS) fprintf(file, "%s\"%s\"", k ? "," : "[", a->strings[k]);
        else if (a->kind == ATTR_INTS) fprintf(file, "%s%lld", k ? "," : "[", (long long)a->ints[k]);
        else fprintf(file, "%s%.9g", k ? "," : "[", (double)a->floats[k]);
      fprintf(file, a->count ? "]" : "[]");
    }
  }
}

void golden_dump(FILE *file, const OpCase *c, const CaseResult *r) {
  fprintf(file, "{\"key\":\"%s\",\"domain\":\"%s\",\"op\":\"%s\",\"opset\":%d,\"gradient\":%s,\"attrs\":{", c->key,
          c->op->domain ? c->op->domain : "", c->op->name, c->text->opset,
          (c->op->grad || c->op->expand) && !c->text->no_grad ? "true" : "false");
  dump_attrs(file, c);
  fprintf(file, "},\"in\":[");
  for (int i = 0; i < c->in_count; i++) {
    if (i) fputc(',', file);
    if (c->in[i].absent) fprintf(file, "null");
    else dump_tensor(file, c->in[i].type, &c->in[i].shape, c->in[i].data);
  }
  fprintf(file, "],\"constant\":[");
  for (int i = 0; i < c->in_count; i++) fprintf(file, "%s%s", i ? "," : "", c->in[i].constant ? "true" : "false");
  fprintf(file, "],\"out\":[");
  for (int i = 0; i < r->count; i++) {
    if (i) fputc(',', file);
    if (!r->data[i]) fprintf(file, "null");
    else dump_tensor(file, r->type[i], &r->shape[i], r->data[i]);
  }
  fprintf(file, "],\"dy\":[");
  for (size_t i = 0; r->count && i < shape_elements(&r->shape[0]) && r->type[0] == DTYPE_FLOAT32; i++)
    fprintf(file, "%s%.9g", i ? "," : "", (double)case_dy(0, i));
  fprintf(file, "]}");
}
