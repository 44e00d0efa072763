/* ExternalLoss: forward runs that stop at the training graph's YieldOp, and backward runs that continue with the
 * caller's gradients.
 *
 *   feeds ─▶ forward ─▶ outputs ┄┄ the caller's loss ┄┄▶ gradients ─▶ backward ─▶ the state's gradients
 *               │                                                      ▲     └──▶ gradients towards inputs
 *               └── OpenRun: the feeds, an arena of its own, the program ┘
 */
#pragma once
#include "session/session.h"

/* A forward run that waits for its backward run. */
typedef struct OpenRun {
  Arena memory; /* holds the OpenRun itself and its lists */
  struct OpenRun *next;
  int id;
  Feed *feeds; /* one for each of the graph's inputs */
  Block arena;
  CachedProgram *program;
  bool overwrites; /* the program was planned to overwrite the gradients, not to add to them */
  bool *given;     /* outputs of the YieldOp whose gradient is there */
  Rng rng;         /* state of random numbers at its start */
  int64_t changes; /* changes of the parameters by then */
} OpenRun;

/* The graph's YieldOp; NULL where there is none. */
Node *external_loss_yield(const Graph *g);
/* The value <name> of an output "<name>_grad", which is its gradient; NULL for another output, or when memory is
 * out. */
Value *external_loss_graded(const Graph *g, const Value *output, Arena *scratch);
bool external_loss_is_input(const Graph *g, const Value *v); /* one that takes gradients */
/* Finds a training graph's YieldOp, its outputs and inputs; does nothing without one. Outputs `<parameter>_grad` of
 * ORTModule's graphs get an accumulator each. */
Status external_loss_prepare(TrainletSession *s, Graph *train);
/* Drops the forward runs that are open. */
void external_loss_close(TrainletSession *s);
