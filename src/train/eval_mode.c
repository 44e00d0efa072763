/* Eval mode: a forward walk that finds for each value which of its parameters were learned and which train. */
#include "train/eval_mode.h"

#include <string.h>

#include "graph/notes.h"
#include "ops/ops.h"
#include "train/mode.h"

typedef struct Past {
  bool learned, trains; /* a parameter is in it; one that trains */
} Past;

static Past joined(Past a, Past b) { return (Past){a.learned || b.learned, a.trains || b.trains}; }

/* An adapter's own drops what comes of frozen weights. */
static bool is_adapters(const Node *n) {
  size_t length = strlen(n->name), end = strlen(LORA_DROPOUT);
  return length > end && strcmp(n->name + length - end, LORA_DROPOUT) == 0;
}

static bool is_in_eval_mode(const Past *past, const Node *n, bool batch_norm) {
  Past x = past[n->in[0]->index];
  if (n->out[0] && notes_find(n->graph, EVAL_KEY, n->out[0]->name)) return true;
  if (n->op == &op_dropout) return x.learned && !x.trains && !is_adapters(n);
  if ((n->op != &op_batch_normalization && n->op != &op_batch_norm_internal) || !batch_norm) return false;
  Past own = joined(past[n->in[1]->index], past[n->in[2]->index]);
  if (!own.learned) own = x;
  return own.learned && !own.trains;
}

Status eval_mode_find(const Graph *m, const bool *trained, bool batch_norm, Arena *arena, bool *eval_mode) {
  Past *past = ARENA_ARRAY(arena, Past, m->value_count);
  if (!past) return error_memory(m->error, "for the training graph");
  for (int i = 0; i < m->value_count; i++) {
    const Value *v = m->values[i];
    past[i] = (Past){(mode_is_parameter(v) || v->kind == VALUE_STATE) && !v->statistic, trained[i]};
  }
  for (int i = 0; i < m->node_count; i++) {
    const Node *n = m->nodes[i];
    Past all = {0};
    for (int k = 0; k < n->in_count; k++)
      if (n->in[k]) all = joined(all, past[n->in[k]->index]);
    for (int k = 0; k < n->out_count; k++)
      if (n->out[k]) past[n->out[k]->index] = all;
    eval_mode[i] = n->in_count && n->in[0] && is_in_eval_mode(past, n, batch_norm);
  }
  return STATUS_OK;
}
