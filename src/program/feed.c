/* Feeds: checked against what the model declares, kept in buffers, bound to inputs. */
#include "program/feed.h"

#include <string.h>

#include "graph/sequence.h"

/* Or a map, which comes as a sequence of its keys and its values. */
static bool is_sequence(const Feed *f) {
  return f->input->declared && (f->input->declared->sequence || f->input->declared->map);
}

static DType type_of_item(const Declared *d, int i) { return d->map && i == 0 ? d->map : d->type; }

/* ---- taking ---- */

static bool dims_fit(const Shape *came, const Shape *wanted) {
  if (wanted->rank >= 0 && came->rank != wanted->rank) return false;
  for (int i = 0; i < came->rank; i++)
    if (came->dim[i] < 0 || (wanted->rank >= 0 && dim_is_number(wanted->dim[i]) && came->dim[i] != wanted->dim[i]))
      return false;
  return true;
}

static Status check(const Feed *f, DType type, const Shape *shape, Error *error) {
  const Declared *d = f->input->declared;
  const Shape *wanted_shape = d ? &d->shape : &f->input->shape;
  DType wanted_type = d ? type_of_item(d, f->came) : f->input->type;
  const char *name = f->input->name;
  char wanted[SHAPE_TEXT], came[SHAPE_TEXT];
  if (type != wanted_type)
    return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' wants %s, %s came", name,
                     dtype_name(wanted_type), dtype_name(type));
  if (dims_fit(shape, wanted_shape)) return STATUS_OK;
  return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' wants shape %s, %s came", name,
                   shape_print(wanted_shape, wanted), shape_print(shape, came));
}

/* The item for the next tensor of the sequence; NULL when it was not announced. */
static Feed *next_item(Feed *f, Error *error) {
  if (f->fed && f->came < f->item_count) return &f->items[f->came];
  error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' is a sequence, and %s", f->input->name,
            f->fed ? "more tensors came for it than were announced"
                   : "how many tensors it has must be said before they come");
  return NULL;
}

void *feed_tensor(Feed *f, DType type, const Shape *shape, size_t text_bytes, Error *error) {
  Feed *sequence = is_sequence(f) ? f : NULL;
  if (check(f, type, shape, error) != STATUS_OK || (sequence && !(f = next_item(f, error)))) return NULL;
  size_t count, bytes, whole;
  bool strings = type == DTYPE_STRING;
  if (!shape_count(shape, &count) || !size_multiply(count, dtype_bytes(type), &bytes) ||
      !size_add(bytes, text_bytes, &whole) || whole > PTRDIFF_MAX || !block_reserve(&f->block, bytes) ||
      (strings && !block_reserve(&f->text, text_bytes))) {
    ERROR_MEMORY(error, "for input '%.100s'", f->input->name);
    return NULL;
  }
  f->shape = *shape;
  f->fed = true;
  f->kept = false;
  f->text_bytes = text_bytes;
  if (sequence) sequence->came++;
  return strings ? f->text.data : f->block.data;
}

static bool make_item(Feed *f, Graph *g, Arena *arena) {
  const char *stem = arena_print(arena, "%s[%d]", f->input->name, f->items_made),
             *name = stem ? graph_fresh_name(g, stem) : NULL;
  Value *input = ARENA_NEW(arena, Value);
  Feed *items = arena_list_grow(arena, f->items, f->items_made, &f->item_capacity, sizeof *items);
  if (items) f->items = items;
  if (!name || !input || !items) return false;
  *input = (Value){.name = name, .type = type_of_item(f->input->declared, f->items_made), .kind = VALUE_INPUT};
  f->items[f->items_made++] = (Feed){.input = input};
  return true;
}

Status feed_sequence(Feed *f, Graph *g, int count, Arena *arena, Error *error) {
  const char *name = f->input->name;
  if (!is_sequence(f))
    return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' is a tensor, it cannot be fed with a sequence",
                     name);
  if (f->input->declared->map && count != 2)
    return error_set(error, STATUS_INVALID_FEED, NULL,
                     "input '%.100s' is a map: its keys and its values must come, %d tensors were announced", name,
                     count);
  if (count < 0 || count > SEQUENCE_MAX)
    return error_set(error, STATUS_INVALID_FEED, NULL,
                     "input '%.100s': a sequence of %d tensors came, we take up to %d", name, count, SEQUENCE_MAX);
  while (f->items_made < count)
    if (!make_item(f, g, arena)) return ERROR_MEMORY(error, "for input '%.100s'", name);
  f->item_count = count;
  f->came = 0;
  f->fed = true;
  return STATUS_OK;
}

/* Pointers to the strings of the text. */
static Status check_text(Feed *f, Error *error) {
  const char **strings = f->block.data, *at = f->text.data, *end = at + f->text_bytes;
  size_t count = shape_elements(&f->shape), found = 0;
  if (f->text_bytes && end[-1])
    return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s': its text has no end", f->input->name);
  for (; at < end; at += strlen(at) + 1, found++)
    if (found < count) strings[found] = at;
  if (found == count) return STATUS_OK;
  return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' has %zu elements, its text %zu strings",
                   f->input->name, count, found);
}

Status feed_check(Feed *f, Error *error) {
  if (!f->fed) return STATUS_OK;
  if (!is_sequence(f))
    return (f->input->declared ? f->input->declared->type : f->input->type) == DTYPE_STRING ? check_text(f, error)
                                                                                            : STATUS_OK;
  if (f->came < f->item_count)
    return error_set(error, STATUS_INVALID_FEED, NULL, "input '%.100s' was to be a sequence of %d tensors, %d came",
                     f->input->name, f->item_count, f->came);
  for (int i = 0; i < f->item_count; i++) TRY(feed_check(&f->items[i], error));
  return STATUS_OK;
}

void feed_forget(Feed *f) {
  f->fed = false;
  for (int i = 0; i < f->items_made; i++) f->items[i].fed = false;
}

size_t feed_bytes(const Feed *f) {
  size_t bytes = f->block.capacity + f->text.capacity;
  for (int i = 0; i < f->items_made; i++) bytes += feed_bytes(&f->items[i]);
  return bytes;
}

void feed_free(Feed *f) {
  block_free(&f->block);
  block_free(&f->text);
  for (int i = 0; i < f->items_made; i++) feed_free(&f->items[i]);
}

/* ---- binding ---- */

size_t feed_key_size(const Feed *f) { return 1 + RANK_MAX + (f->fed ? (size_t)f->item_count * (1 + RANK_MAX) : 0); }

size_t feed_key(const Feed *f, int64_t *key) {
  size_t n = 0;
  key[n++] = !f->fed ? -1 : is_sequence(f) ? f->item_count : f->shape.rank;
  for (int k = 0; f->fed && k < f->shape.rank; k++) key[n++] = f->shape.dim[k];
  for (int i = 0; f->fed && i < f->item_count; i++) n += feed_key(&f->items[i], key + n);
  return n;
}

const Value *feed_pin(const Feed *f, Arena *arena) {
  Value *pin = ARENA_NEW(arena, Value);
  if (!pin) return NULL;
  const Declared *declared = f->input->declared;
  DType type = declared ? declared->type : f->input->type;
  *pin = (Value){.name = f->input->name, .type = type, .kind = VALUE_SEQUENCE, .absent = !f->fed};
  if (!f->fed) return pin;
  if (!is_sequence(f)) return pin->kind = VALUE_INPUT, pin->shape = f->shape, pin;
  if (!(pin->items = ARENA_ARRAY(arena, Value *, f->item_count))) return NULL;
  pin->item_count = f->item_count;
  for (int i = 0; i < f->item_count; i++) {
    pin->items[i] = f->items[i].input;
    pin->items[i]->shape = f->items[i].shape;
  }
  return pin;
}

bool feed_attach(const Feed *f, Graph *bound) {
  bool moved = false;
  Value *v = f->fed && !is_sequence(f) ? graph_find(bound, f->input->name) : NULL;
  if (v && v->kind == VALUE_INPUT && v->data != f->block.data) v->data = f->block.data, moved = true;
  for (int i = 0; f->fed && i < f->item_count; i++) moved |= feed_attach(&f->items[i], bound);
  return moved;
}
