/* Session: the parts of a training or inference run, shared by the files of this folder. */
#pragma once
#include "budget.h"
#include "graph/constants.h"
#include "onnx/onnx.h"
#include "session/adapters.h"
#include "program/loss.h"
#include "state/state.h"
#include "program/program_cache.h"
#include "trainlet.h"
#include "text_builder.h"

/* One loaded model and what was fed for it. */
typedef struct Model {
  Graph *graph;
  Feed *feeds;        /* one for each of graph->inputs, then of features */
  int *feed_at;       /* number of a value's feed, + 1; by the value's index */
  int value_count;    /* the graph's values when these were made */
  bool *has_gradient; /* inputs whose gradient was appended (session/input_gradient.c) */
  bool has_gradients; /* one was */
  Value **features;   /* that may be fed in place of what gives them (session/features.c) */
  int feature_count;
  Value **outputs; /* the user's: accumulators' flags are left out */
  int output_count;
} Model;

/* The YieldOp of a training graph with an external loss, and the forward runs that are open. */
typedef struct ExternalLoss {
  Node *yield;         /* node of the unbound graph; NULL: the loss is inside */
  Value **input_grads; /* outputs of the graph that are gradients towards inputs */
  const char **inputs; /* whose */
  int input_count;
  struct OpenRun *first; /* newest first */
  int runs;              /* so many have been made: the newest one's id */
  int64_t changes;       /* counts changes of parameters: gradients of a run before the last are of no use */
} ExternalLoss;

static inline int feed_count(const Model *m) { return m->graph->input_count + m->feature_count; }

enum { MODEL_TRAIN, MODEL_EVAL, MODEL_INFERENCE, MODEL_COUNT };

struct TrainletSession {
  Arena arena;                        /* the session itself, and what lives as long as it */
  Arena parts[TRAINLET_ADAPTERS + 1]; /* the parsed models and checkpoints */
  Budget budget;
  External external;
  Constants constants; /* for inputs of the models that are loaded */
  Error error;
  Model models[MODEL_COUNT];
  Graph *loaded; /* the training model as it is in its file; if other parameters are to train, models[MODEL_TRAIN] is
                    made from it */
  Arena chosen;  /* that one */
  bool has_optimizer, has_checkpoint, ready;
  bool spent;        /* it could not be made ready, and its parts are no longer as they were */
  bool lacks_values; /* the checkpoint was nominal, and no values have come yet */
  bool only_plans;   /* nor will they: a run ends when it is planned */
  Optimizer optimizer;
  Checkpoint checkpoint, over; /* the second: of adapters alone, laid over the first */
  bool has_over;
  State state;
  Adapters adapters;
  uint32_t base; /* session_base, if that is known */
  bool base_known;
  ProgramCache program_cache;
  ExternalLoss outside;
  Program *on_device;   /* the program that a device computes (session/device.c) */
  Block read_back;      /* the outputs that came from it */
  Value **accumulators; /* outputs of the accumulator nodes */
  int accumulator_count;
  bool reset_gradients; /* the next train run overwrites them */
  bool begun;           /* the last run was, though it may have failed since */
  uint8_t reset_flag;   /* lazy_reset_grad points at it */
  Rng rng, group_rng;   /* the second: as it was before the first of the runs whose gradients are being accumulated */
  double limit_work;
  ThreadsStop stop;
  Clock clock;     /* the clock that times the nodes, if they are timed */
  unsigned passes; /* the passes that are on: passes.h */
  double loss;
  double gradient_norm; /* norm of the last step of the optimizer, before clipping */
  float lr;
  int64_t steps;
  Block fetched; /* TrainletTensors of the last run */
  int fetched_count;
  double text_bytes; /* bytes of the text fetched */
  Arena fetch_arena; /* the values that the last run named */
  Block fit;         /* the text of the checkpoint's `fit`, once it has been set here */
  Property *properties;
  int property_count, property_capacity;
  Arena bag; /* properties that were set */
  Block result;
  size_t result_bytes;
  Arena text; /* the last JSON */
};

/* Around a public call: the memory that it takes counts, and it does not fail without a sentence. */
static inline void session_enter(TrainletSession *s) { budget_enter(&s->budget, &s->error); }
static inline Status session_leave(TrainletSession *s, bool done) { return budget_leave(&s->budget, &s->error, done); }
/* Around a call that describes the session in s->text: the memory counts but is not refused, so that a session at its
 * limit can be asked why. The second returns the text, NULL when memory is out or an error was set. */
TextBuilder session_begin_text(TrainletSession *s);
const char *session_end_text(TrainletSession *s, const TextBuilder *p);
/* The model of a part of a session that is ready; NULL with a sentence where there is none. */
Model *session_model(TrainletSession *s, TrainletPart part);
int session_model_of(TrainletPart part); /* the index of its model; -1: it is none */
/* Feeds for the inputs that are left after binding, and the outputs a user sees. */
Status session_prepare_model(TrainletSession *s, Model *m, Arena *arena);
/* Finds the values that a train run of the graph must compute besides its outputs. */
void session_find_accumulators(TrainletSession *s, const Graph *g);
/* Trains what the checkpoint says, which is not what the training model has accumulators for (session/set_trainable.c).
 */
Status session_take_choice(TrainletSession *s);
/* One update of all that trains, by the accumulated gradients (session/optimize.c). */
Status session_optimize(TrainletSession *s);
/* The feed for an input; NULL with a sentence if the model has no input of that name. */
Feed *session_find_feed(TrainletSession *s, Model *m, const char *name);
/* Refuses while a nominal checkpoint's parameters have no values. */
Status session_check_values(TrainletSession *s);
/* Refuses a checkpoint whose optimizer state, if it has any, is of another optimizer. */
Status session_check_optimizer(TrainletSession *s);
Status session_out_of_memory(TrainletSession *s); /* sets the error, for callers that got NULL */
/* Names that predict and export use when none are asked for: the model's own outputs. One a line; NULL when memory is
 * out. */
const char *session_default_outputs(TrainletSession *s, Arena *arena);
/* Exporting a training_info (session/training_info_write.c): checks that ONNX can express what this session does; then
 * appends its algorithm to t->graph, which ends in the loss. */
Status session_check_training_info(TrainletSession *s);
Status session_write_algorithm(TrainletSession *s, Value *loss, OnnxTraining *t);
/* All that was announced for the model's next run has come; after the run nothing has. */
Status session_check_feeds(TrainletSession *s, Model *m);
void session_forget_feeds(Model *m);
/* A public run without its entry and exit. */
Status session_run(TrainletSession *s, TrainletPart part, const char *fetches);
/* The request for a run of a part that the session has. */
Request session_request(TrainletSession *s, TrainletPart part, Value *const *fetches, int count);
Status session_check_step(TrainletSession *s);                           /* that an optimizer may step */
Status session_refuse_yield(TrainletSession *s, const Program *p);       /* a graph that stops for gradients */
LossCount session_loss_count(const Request *r, const Program *p, int i); /* the i-th fetch, after the run */
/* Runs a model once on what was fed; its outputs are those of the request. */
Status session_run_model(TrainletSession *s, Model *m, Request *r);
/* Runs steps of a program, timed where somebody wants that. */
Status session_execute(TrainletSession *s, Program *p, StepRange range);
/* Room for so many outputs, then each of them. */
Status session_begin_outputs(TrainletSession *s, size_t count);
void session_take_tensor(TrainletSession *s, const char *name, const Value *v);
/* ---- files out (session/save.c) ---- */
/* Gathers the contents of the session's checkpoint; its tensors are the session's. */
Status session_gather(TrainletSession *s, bool optimizer_state, TrainletFormat format, Arena *arena, Checkpoint *c);
Status session_write_checkpoint(TrainletSession *s, const Checkpoint *c, TrainletFormat format); /* into its result */
/* At the end of a public call that makes a file: one that failed leaves none. */
Status session_finish_result(TrainletSession *s, Status status);
/* Values of `graph` named in `names` (one a line). */
Status session_find_values(TrainletSession *s, Graph *graph, const char *names, Arena *arena, Value ***values,
                           int *count);
