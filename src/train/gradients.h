/* Gradients: what makes a graph with a loss a training graph. */
#pragma once
#include "graph/graph.h"

/* Appends the gradients of the loss by each of `wrt`, NULL where it does not depend on one. */
Status gradients_append(Graph *g, Value *loss, Value *const *wrt, int count, Value **grads);
#define GRADIENT_BUFFER "_grad.accumulation.buffer"
/* The value to which a name of the form "<value><tail>" belongs, or "<value><tail>_1" where the file had that name;
 * NULL: it has another form. */
const char *gradients_owner(const char *name, const char *tail, Arena *arena);
/* Appends the node that adds a parameter's gradient to its buffer, in[0], or overwrites that where `reset` says so;
 * both have ONNX Runtime's names, with a number where the model has these. NULL on failure. */
Node *gradients_accumulate(Graph *g, Value *parameter, Value *grad, Value *reset);
