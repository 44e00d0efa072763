/* ExternalLoss: forward runs that stop at the training graph's YieldOp, and backward runs that go on with gradients
 * from outside.
 *
 *   feeds ─▶ forward ─▶ outputs ┄┄ the caller's loss ┄┄▶ gradients ─▶ backward ─▶ the state's gradients
 *               │                                                      ▲     └──▶ gradients towards inputs
 *               └── OpenRun: the feeds, an arena of its own, the program ┘
 */
#pragma once
#include "session/session.h"

/* A forward run whose backward has not come yet. */
typedef struct OpenRun {
  Arena memory; /* itself, and what is as old */
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
/* The value whose gradient an output of the graph is: of "<name>_grad" that of <name>. NULL where it is none, or memory
 * is out. */
Value *external_loss_graded(const Graph *g, const Value *output, Arena *scratch);
bool external_loss_is_input(const Graph *g, const Value *v); /* one that takes gradients */
/* Finds a training graph's YieldOp, and what comes of it; nothing where there is none. The gradients that a graph of
 * ORTModule's gives as outputs, `<parameter>_grad`, get an accumulator each. */
Status external_loss_prepare(TrainletSession *s, Graph *train);
/* Drops the forward runs that are open. */
void external_loss_close(TrainletSession *s);
