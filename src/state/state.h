/* State: the session's parameters, gradients and optimizer moments, flat.
 *
 *   │ parameters, those first that train at the start │   │ gradients │   │ moment 0 │ moment 1 │   │ two undos │
 *
 * Every tensor starts at a multiple of 16 bytes, gaps are zero. Parameters stay where they are whatever trains; there
 * are gradients for what trains now, and moments for all that has ever trained.
 */
#pragma once
#include "checkpoint/checkpoint.h"
#include "external.h"
#include "graph/graph.h"
#include "train/optimizer.h"

typedef struct Parameter {
  const char *name;
  DType type;
  Shape shape;
  bool trainable;
  size_t bytes;
  const void *start; /* the checkpoint's values, NULL in a nominal one */
  void *data;
  float *grad;                  /* trainable only */
  float *moment[2];             /* NULL where the optimizer keeps none, or it has never trained */
  int64_t steps;                /* number of updates so far */
  float least, most;            /* range of its values after an update; ±infinity: anything */
  float lr_scale, weight_decay; /* its group's: a factor of the session's learning rate, and the weight decay */
  float anchor, *base;          /* strength of the pull to its base, a copy in `bases`; 0, NULL: none */
  bool placed;                  /* only while the order is found */
  bool accumulated;             /* a training model collects its gradient */
  bool updated;                 /* a running statistic: a train run writes it */
  bool adapted;                 /* an adapter's: each has values and moments of its own (session/adapters.h) */
  void *best;                   /* a copy of its values in `best`, NULL where there is none */
  float *average;               /* mean of its values over the steps, in `averages`; NULL: none */
  size_t non_finite[3]; /* values and moments that were not finite when they came from outside; a NaN counts twice */
} Parameter;

/* The bytes of its values, rounded up to those of whole vectors. */
static inline size_t parameter_padded_bytes(const Parameter *p) { return (p->bytes + 15) & ~(size_t)15; }
static inline size_t parameter_best_bytes(const Parameter *p) {
  return p->trainable || p->updated ? parameter_padded_bytes(p) : 0;
}

typedef struct State {
  Parameter *parameters; /* in the training graph's input order, then those it does not read */
  Parameter **by_name;   /* sorted */
  int count;
  bool only_plans; /* it never has values: a nominal checkpoint may be of any types */
  Block values, gradients, undo, best, averages, bases;
  bool averaged;   /* they have had a step: until then they hold nothing */
  float ema_decay; /* decay of the averages; 0: they stay as they are */
  Arena moments;   /* a range for all that began to train together */
  int moment_count;
  size_t total_bytes;
  size_t in_place_bytes; /* among them: of parameters that stay in the checkpoint's file */
  size_t gradient_count; /* floats in the block of gradients, gaps included */
  size_t undo_bytes;     /* needed by a run and by a group of them */
  int safe_steps;        /* the steps from here on that no overflow can reach; 0: not known (session/optimize.c) */
} State;

/* Lays out the checkpoint's parameters, first those that the training model (NULL: none) takes, in its order. Frozen
 * ones that are most of a large file among `external` (NULL: none) stay there, and the file stays. If the budget has no
 * room for the others, it fails before anything is allocated. */
Status state_create(State *s, const Checkpoint *c, Graph *train, const Optimizer *o, External *external, Arena *arena,
                    Error *error);
/* For a session that trains, in a separate step: by then the checkpoint's file has been freed, so that gradients can
 * use its memory. */
Status state_add_gradients(State *s, Error *error);
/* From here on, exactly the parameters train that `trains` marks (by index), with `train` as the training graph.
 * Gradients become zeros, moments stay with their parameters, the best so far is forgotten. If it fails, nothing has
 * changed. */
Status state_choose(State *s, const Graph *train, const bool *trains, Arena *scratch, Error *error);
Parameter *state_find(const State *s, const char *name);
/* Points the accumulators of the loaded training graph at the gradients, and their lazy_reset_grad at `reset_flag`. */
Status state_bind_accumulators(State *s, Graph *g, uint8_t *reset_flag, Error *error);
/* The parameter whose gradient the node collects. */
Parameter *state_accumulated(const State *s, const Node *accumulator, Arena *arena);
/* The same for a graph that was made from it: its buffers are not inputs. */
void state_point_accumulators(const State *s, Graph *g);
/* Points the inputs of `g` that are parameters at the state, and removes everything that is bound from g->inputs. */
Status state_bind(State *s, Graph *g, Error *error);
/* Marks the parameters of the graph that no step changes. */
void state_mark_fixed(const State *s, Graph *g);
void state_zero_gradients(State *s);
void state_clamp(State *s); /* to the parameters' bounds */
/* Trainable parameters that lie side by side, with their gradients and moments, and have had as many updates; they are
 * of one group. */
typedef struct StateRange {
  float *values, *gradients, *moment[2];
  size_t count; /* number of elements */
  int64_t steps;
  float lr_scale, weight_decay;
} StateRange;
/* The one that begins at parameter i or later; gives the parameter after it, 0 when there is none left. */
int state_next_range(const State *s, int i, StateRange *out);
/* One step of the optimizer over all of them (session/optimize.c). STATUS_NON_FINITE_LOSS where a gradient is not
 * finite, or a value or moment would no longer be; then nothing has changed. `norm` is set to that of all gradients,
 * before they are clipped. */
Status state_optimize(State *s, const Optimizer *o, float lr, double *norm, Error *error);
/* Running statistics are written during the forward pass: these keep a copy, and restore it if the loss turns out not
 * to be finite, or if the runs whose gradients were being accumulated are given up. */
typedef enum Undo { UNDO_RUN, UNDO_GROUP } Undo;
void state_keep_statistics(State *s, Undo undo);
void state_restore_statistics(State *s, Undo undo);
Status state_no_room(const State *s, Error *error); /* the error: not enough memory for what a step needs */
/* A copy of what training changes (trainable parameters and running statistics), which can be restored; there is at
 * most one. */
Status state_keep_best(State *s, Error *error);
void state_restore_best(State *s);
void state_forget_best(State *s);
/* The checkpoint's. */
Status state_take_best(State *s, const Checkpoint *c, Error *error);
/* ---- averages of what trains (state/average.c) ---- */
Status state_begin_averages(State *s, Error *error); /* makes those that are missing */
/* average = decay · average + (1 − decay) · value; a copy at first. */
void state_average(State *s, float decay);
void state_swap_averages(State *s); /* with the values */
void state_forget_averages(State *s);
Status state_take_averages(State *s, const Checkpoint *c, Error *error); /* the checkpoint's */
/* ---- anchors (state/anchor.c) ---- */
/* Sets the strengths by parameter index; 0: not anchored. The base is the current values; a parameter that was anchored
 * before keeps its base. If it fails, nothing has changed. */
Status state_anchor(State *s, const float *strengths, Error *error);
void state_draw(State *s); /* to the base: α · (p − p₀) joins the gradient */
Status state_take_anchors(State *s, const Checkpoint *c, Arena *arena, Error *error); /* the checkpoint's */
/* The values have come from outside: what is not finite in them (a mask of −∞) may be saved again. */
void state_trust(Parameter *p);
bool state_is_finite(const Parameter *p); /* looks at a float32 parameter's values */
/* Refuses (non-finite-loss) if training has made values, running statistics or moments infinite or NaN; `why` ends the
 * sentence. */
Status state_check_finite(const State *s, const char *why, Error *error);
/* The same for a run's statistics alone, which are restored then. */
Status state_check_statistics(State *s, Error *error);
void state_free(State *s);
