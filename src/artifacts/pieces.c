/* Artifacts of a model whose external data comes in pieces, so that large weights are never there all at once.
 *
 *   pieces ─▶ the small ones ─ load ─▶ model on filler ─ prepare ─▶ each of the late: quantized, or kept ─▶ build
 */
#include <string.h>

#include "text_builder.h"
#include "artifacts/artifacts.h"

static const char *pieces_text(TrainletArtifacts *a) {
  const External *x = &a->external;
  TextBuilder p = text_new(&a->building);
  text_put(&p, "[");
  for (int i = 0; i < x->piece_count; i++) {
    const ExternalPiece *piece = &x->pieces[i];
    text_put(&p, i ? ",{" : "{"), text_key(&p, "location");
    text_string(&p, x->files[piece->file].location);
    text_put(&p, ","), text_key(&p, "name"), text_string(&p, piece->name);
    text_print(&p, ",\"offset\":%zu,\"bytes\":%zu,\"late\":%s}", piece->offset, piece->bytes,
               piece->late ? "true" : "false");
  }
  text_put(&p, "]");
  return p.text;
}

const char *trainlet_artifacts_pieces(TrainletArtifacts *a, const void *model, size_t bytes) {
  artifacts_enter(a);
  artifacts_forget_parts(a);
  a->given = false;
  bool done = onnx_external_pieces(model, bytes, &a->external, &a->arena, &a->error) == STATUS_OK;
  a->listed = model;
  a->listed_bytes = bytes;
  const char *text = done ? pieces_text(a) : NULL;
  return artifacts_leave(a, text) == STATUS_OK ? text : NULL;
}

/* All values that stood on its filler become quantized, or have memory of their own, one for all. */
static Status settle(TrainletArtifacts *a, const ExternalPiece *piece) {
  void *filler = external_piece_at(&a->external, piece), *own = NULL;
  for (int i = 0; i < a->model->value_count; i++) {
    Value *v = a->model->values[i];
    if (v->data != filler || artifacts_quantize_now(a, v)) continue;
    TRY(a->error.status);
    if (!own && (own = arena_alloc(&a->parsed, piece->bytes))) memcpy(own, filler, piece->bytes);
    if (!(v->data = own)) return ERROR_MEMORY(&a->error, "for '%.128s'", v->name);
  }
  return a->error.status;
}

Status artifacts_take_piece(TrainletArtifacts *a) {
  ExternalPiece *piece = a->coming;
  if (!piece) return STATUS_OK;
  a->coming = NULL;
  if (piece->late) TRY(settle(a, piece));
  piece->here = true;
  return STATUS_OK;
}

/* Before the first one that is late, all is done for which its values are not needed. */
static Status make_way(TrainletArtifacts *a) {
  if (a->prepared) return STATUS_OK;
  if (a->by_training_info)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "external data in pieces goes with a loss of its own: give the file whole");
  if (!a->given) TRY(artifacts_load(a, a->listed, a->listed_bytes));
  artifacts_forget_parts(a);
  TRY(artifacts_prepare(a));
  a->prepared = true;
  return STATUS_OK;
}

static ExternalPiece *begin_piece(TrainletArtifacts *a, int i) {
  ExternalPiece *piece = i >= 0 && i < a->external.piece_count ? &a->external.pieces[i] : NULL;
  if (!piece) error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "there is no piece %d of external data", i);
  if (!piece || piece == a->coming) return piece;
  if (artifacts_take_piece(a) != STATUS_OK || (piece->late && make_way(a) != STATUS_OK)) return NULL;
  return a->coming = piece;
}

void *trainlet_artifacts_piece(TrainletArtifacts *a, int i) {
  artifacts_enter(a);
  const ExternalPiece *piece = begin_piece(a, i);
  return artifacts_leave(a, piece) == STATUS_OK ? external_piece_at(&a->external, piece) : NULL;
}

/* The late piece on whose filler v stands; -1: none. */
static int piece_under(const External *x, const Value *v) {
  for (int i = 0; i < x->piece_count; i++)
    if (x->pieces[i].late && external_piece_at(x, &x->pieces[i]) == v->data) return i;
  return -1;
}

static bool stands_alone(const Graph *g, const Value *v) {
  int count = 0;
  for (int i = 0; i < g->value_count; i++) count += g->values[i]->data == v->data;
  return count == 1;
}

static void *place_for(TrainletArtifacts *a, const char *name, size_t bytes) {
  Value *v = a->model ? graph_find(a->model, name) : NULL;
  if (!v || v->kind != VALUE_CONSTANT || !v->initializer || v->shape_constant || bytes != value_bytes(v))
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "the model has no parameter '%.200s' of %zu bytes", name,
                     bytes),
           NULL;
  a->given = true;
  if (!stands_alone(a->model, v)) return v->data = arena_alloc(&a->parsed, bytes);
  int i = piece_under(&a->external, v);
  const ExternalPiece *piece = i < 0 ? NULL : begin_piece(a, i);
  return i < 0 ? v->data : piece ? external_piece_at(&a->external, piece) : NULL;
}

void *trainlet_artifacts_weight(TrainletArtifacts *a, const char *name, size_t bytes) {
  artifacts_enter(a);
  void *to = place_for(a, name, bytes);
  return artifacts_leave(a, to) == STATUS_OK ? to : NULL;
}

Status artifacts_check_pieces(TrainletArtifacts *a) {
  External *x = &a->external;
  TRY(artifacts_take_piece(a));
  for (int i = 0; i < x->piece_count; i++)
    if (!x->pieces[i].here && !a->without_weights)
      return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                       "the %zu bytes at offset %zu of '%.128s' have not come", x->pieces[i].bytes, x->pieces[i].offset,
                       x->files[x->pieces[i].file].location);
  if (!a->without_weights) block_free(&x->landing);
  return STATUS_OK;
}
