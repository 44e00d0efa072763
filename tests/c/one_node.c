/* One node: added, run, compared. */
#include "one_node.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "machine.h"

void room_open(Room *r, int version) {
  *r = (Room){0};
  r->g = graph_new(&r->arena, &r->error);
  graph_import(r->g, "", 21);
  graph_import(r->g, "ai.onnx.ml", version ? version : 1);
  graph_import(r->g, "com.microsoft", 1);
}

Value *room_constant(Room *r, const Data *d) {
  Shape shape = d->rows ? SHAPE(d->rows, d->count / d->rows) : SHAPE(d->count);
  return graph_constant(r->g, graph_fresh_name(r->g, "x"), d->type, &shape, d->items);
}

void room_add(Room *r, const char *op, AttrList attrs, Value *const *in, int in_count, int out_count) {
  static const char *const names[] = {"y", "z", "w"};
  const Op *found = op_find(op);
  if (!check(found != NULL, "there is no %s", op)) return;
  r->status = graph_add(r->g, &(Added){found, "tested", in, in_count, names, out_count, attrs.items, attrs.count});
}

void room_expect_refused(Room *r, const char *op, const char *words) {
  check(r->status != STATUS_OK && strstr(r->error.text, words), "%s, which is to be refused for '%s', says: %s", op,
        words, r->status == STATUS_OK ? "nothing" : r->error.text);
}

static bool same_item(const Data *want, const Value *y, int i) {
  size_t bytes = dtype_bytes(want->type);
  if (want->type == DTYPE_STRING) {
    const char *text = ((const char *const *)y->data)[i];
    return strcmp(((const char *const *)want->items)[i], text ? text : "") == 0;
  }
  if (want->type == DTYPE_FLOAT32) return fabsf(((const float *)want->items)[i] - ((const float *)y->data)[i]) < 1e-6f;
  return memcmp((const char *)want->items + (size_t)i * bytes, (const char *)y->data + (size_t)i * bytes, bytes) == 0;
}

static void expect(const char *what, const Value *y, const Data *want) {
  if (!check(y && y->data && y->type == want->type && (int)shape_elements(&y->shape) == want->count,
             "%s gives %d elements of %s, not %d of %s", what, y ? (int)shape_elements(&y->shape) : -1,
             y ? dtype_name(y->type) : "nothing", want->count, dtype_name(want->type)))
    return;
  for (int i = 0; i < want->count; i++) check(same_item(want, y, i), "%s: element %d is another one", what, i);
}

void room_run(Room *r, const char *what, const char *out, const Data *want) {
  Machine m;
  char problem[160];
  if (!check(machine_new(&m, r->g, 0xFF, problem), "%s: %s", what, problem)) return;
  machine_run(&m);
  check(!*machine_overrun(&m), "%s writes past an end", what);
  expect(what, graph_find(r->g, out), want);
  machine_free(&m);
}

static void check_row(const Row *row) {
  Room r;
  room_open(&r, row->version);
  Value *x = room_constant(&r, &row->x);
  room_add(&r, row->op, row->attrs, &x, 1, row->z.count ? 2 : 1);
  if (row->words) room_expect_refused(&r, row->op, row->words);
  else if (check(r.status == STATUS_OK, "%s: %s", row->op, r.error.text)) {
    room_run(&r, row->op, "y", &row->y);
    if (row->z.count) room_run(&r, row->op, "z", &row->z);
  }
  arena_free(&r.arena);
}

void check_rows(const Row *rows, size_t count) {
  for (const Row *row = rows; row < rows + count; row++) check_row(row);
  test_note("%zu nodes", count);
}
