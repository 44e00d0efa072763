/* Artifacts: what is being made of a model, shared by the files that make it. */
#pragma once
#include "budget.h"
#include "external.h"
#include "graph/constants.h"
#include "onnx/onnx.h"
#include "model/head.h"
#include "train/loss.h"
#include "model/lora.h"
#include "train/names.h"
#include "train/optimizer.h"
#include "model/quantize.h"
#include "training_info/info.h"
#include "train/weights.h"
#include "trainlet.h"

struct TrainletArtifacts {
  Arena arena;    /* itself, and the options' text */
  Arena parsed;   /* the model */
  Arena read;     /* holds the results of its training_info */
  Arena building; /* holds the marks, lists and warnings of one build */
  Budget budget;
  External external;
  Constants constants; /* for inputs of the model */
  Error error;
  Graph *model;
  LossOptions loss;
  LossOptions *losses; /* several losses: their sum stands in the loss's place */
  int loss_count, loss_capacity;
  Optimizer optimizer;
  HeadOptions head;
  bool has_head; /* it is on the model that is loaded */
  LoraOptions lora;
  bool has_lora; /* likewise */
  QuantizeKind quantize;
  bool has_quantized; /* likewise */
  Quantizer *quantizer;
  const void *listed; /* the model of which the pieces of external data are */
  size_t listed_bytes;
  ExternalPiece *coming; /* that is being written; NULL: none */
  bool given;            /* some of its weights are others' now */
  bool prepared;         /* all that is done before the pieces of external data that are late has been done */
  bool without_weights;  /* it is for a plan alone: weights that are external data never come */
  NameList requires_grad, frozen, loss_inputs, additional_outputs;
  unsigned passes; /* a bit each: passes.h */
  bool nominal;    /* the checkpoint names the parameters without their values */
  OnnxTraining training;
  bool by_training_info; /* loss.type training-info */
  bool has_optimizer;    /* the options give its type */
  bool has_settings;     /* the options give other settings of it */
  bool initialize;       /* run the training_info's initialization */
  TrainingInfo info;
  Weights weights; /* who reads the model's parameters */
  bool untie;      /* separates parameters that an exporter merged, also where it has left no trace, if that is safe */
  bool keeps_merged;       /* keeps parameters merged although the exporter has left a trace */
  bool updates_batch_norm; /* that of frozen layers too */
  bool fixed_batch;        /* stays so (model/free_batch.h) */
  bool types;              /* the models tell the type of every value */
  Block bytes[4];
  size_t lengths[4];
  char *warnings; /* one sentence a line; NULL: none */
  int warned, warned_capacity;
};

/* Around a public call: the memory that it takes counts, and it does not fail without a sentence. */
static inline void artifacts_enter(TrainletArtifacts *a) { budget_enter(&a->budget, &a->error); }
static inline Status artifacts_leave(TrainletArtifacts *a, bool done) {
  return budget_leave(&a->budget, &a->error, done);
}

void artifacts_forget_model(TrainletArtifacts *a);
void artifacts_forget_parts(TrainletArtifacts *a); /* frees the results of the last build, with their memory */

/* The head and the adapters that the options want; what trains of them is added to requires_grad. */
Status artifacts_put_layers(TrainletArtifacts *a);
/* The frozen weights as quantizeFrozen wants them, when all is known that artifacts_choose needs: which ones; of one
 * whose values have come, whether something else has taken its place; and all that is left. */
Status artifacts_choose_quantized(TrainletArtifacts *a);
bool artifacts_quantize_now(TrainletArtifacts *a, const Value *v);
Status artifacts_quantize(TrainletArtifacts *a);

Status artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes);
/* Takes in the piece whose bytes the caller has just written completely. */
Status artifacts_take_piece(TrainletArtifacts *a);
/* All that comes before a build of a model whose weights may still be coming. */
Status artifacts_prepare(TrainletArtifacts *a);
/* Refuses to go on before all pieces of external data have come: then nothing stands on filler any more. */
Status artifacts_check_pieces(TrainletArtifacts *a);
/* Gives each layer parameters of its own where an exporter has merged them. */
Status artifacts_untie(TrainletArtifacts *a);
/* Marks running statistics, unties, and finds who reads the parameters: before all that asks which of them train. */
Status artifacts_read_weights(TrainletArtifacts *a);
/* Chooses the values of the model that train as parameters (trainable.c). */
Status artifacts_choose(TrainletArtifacts *a, bool *trained);
/* Why an initializer of floats is none of these; NULL where it is. */
const char *artifacts_frozen_because(const TrainletArtifacts *a, const Value *v);
/* Notes in the metadata of g what exporters say of them, for models that are exported and made into artifacts again. */
Status artifacts_note_exporter(const TrainletArtifacts *a, Graph *g);
const char *
artifacts_left_hint(const TrainletArtifacts *a); /* the advice after the sentence that no parameter trains */
/* Refuses a pattern of requiresGrad or frozen that matches no parameter: it must be a typing error. */
Status artifacts_check_patterns(TrainletArtifacts *a);
/* The parameter of the training_info that corresponds to v of a->model; NULL if there is none. */
const TrainedParameter *artifacts_trained_by_info(const TrainletArtifacts *a, const Value *v);

/* A sentence more among the warnings (artifact_warnings.c). */
void artifacts_warn(TrainletArtifacts *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void artifacts_warn_of_ours(TrainletArtifacts *a, const Graph *g);
void artifacts_warn_of_batch(TrainletArtifacts *a, const Node *why); /* why it stays fixed; NULL: it is free now */
void artifacts_warn_of_opset(TrainletArtifacts *a);
void artifacts_warn_of_parameters(TrainletArtifacts *a, const bool *trained);
/* Probabilities that a loss takes for scores (advice.c). */
void artifacts_warn_of_activations(TrainletArtifacts *a);
/* The model's value that the loss, or one of several, is taken of. NULL with a sentence. */
const Value *artifacts_scores(TrainletArtifacts *a);
const Value *artifacts_part_scores(TrainletArtifacts *a, const LossOptions *o);
