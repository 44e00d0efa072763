/* Trainlet's public C API: make training artifacts from an ONNX model, train, evaluate, save, export.
 *
 *   artifacts_new ─ load ─ set … ─ build ─▶ bytes ─▶ session_new ─ load … ─ ready ─▶ feed … step … ─▶ save, export
 *
 * Status-returning functions give 0 (TRAINLET_OK) or an error whose sentence *_error returns until the next call. A session
 * that reported an error stays usable, but for one that could not be made ready. Nothing here is thread-safe: one session, one thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* Lets `count` threads (at most 16) share the work of every session of this process: the caller's and count - 1 that are started here
 * and sleep between steps. Once, before anything else; false when it is too late. Every count gives the same bits. */
bool trainlet_threads_start(int count);

typedef enum TrainletPart { TRAINLET_TRAIN, TRAINLET_EVAL, TRAINLET_OPTIMIZER, TRAINLET_CHECKPOINT, TRAINLET_MODEL } TrainletPart;

/* ---- artifacts: an inference model becomes train, eval and optimizer models and a checkpoint ---- */
typedef struct TrainletArtifacts TrainletArtifacts;
TrainletArtifacts *trainlet_artifacts_new(void); /* NULL when memory is out */
/* Before the model: a file in which it keeps data (ONNX's external_data), looked up by its location there among these files and nowhere else.
 * Where to write the file's bytes; NULL when memory is out. */
void *trainlet_artifacts_external(TrainletArtifacts *a, const char *location, size_t bytes);
void *trainlet_artifacts_file(TrainletArtifacts *a, size_t bytes); /* where to write a model so that it is read in place */
Status trainlet_artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes); /* the bytes may go when it returns */
/* Keys: wasm/README.md, "Option keys". List options are set once an entry. */
Status trainlet_artifacts_set(TrainletArtifacts *a, const char *key, const char *value);
Status trainlet_artifacts_build(TrainletArtifacts *a);
const void *trainlet_artifacts_bytes(const TrainletArtifacts *a, TrainletPart part, size_t *bytes); /* owned by a */
const char *trainlet_artifacts_warnings(const TrainletArtifacts *a);                                /* a sentence a line */
const Error *trainlet_artifacts_error(const TrainletArtifacts *a);
void trainlet_artifacts_free(TrainletArtifacts *a);

/* ---- sessions ---- */
typedef struct TrainletSession TrainletSession;

/* Outputs that are no tensors: a sequence, whose `count` tensors follow it, and an optional without an element. */
enum { TRAINLET_SEQUENCE = -1, TRAINLET_NOTHING = -2 };

typedef struct TrainletTensor {
  const char *name;
  int type; /* ONNX's TensorProto.DataType */
  int rank; /* or one of these */
  const int64_t *dims;
  const void *data; /* of strings: pointers to them */
  size_t count, bytes;
} TrainletTensor;

TrainletSession *trainlet_session_new(void);
void trainlet_session_free(TrainletSession *s);
const Error *trainlet_session_error(const TrainletSession *s);
void trainlet_session_limit(TrainletSession *s, double bytes); /* most memory to take from here on, of all kinds; 0 = no limit */
void trainlet_session_limit_work(TrainletSession *s, double work); /* most multiply-adds of a run; 0 = 1e13, the default */
/* Rewrites that make a step faster, all on by default; bit i of the mask is the one trainlet_pass_name(i) names. For finding faults. */
void trainlet_session_set_passes(TrainletSession *s, unsigned mask);
const char *trainlet_pass_name(int i); /* NULL past the last */
/* Asked while a run or step computes, between operators and within long ones, in the thread that called it: once it says yes the run fails with
 * STATUS_ABORTED, and the session is as if it had not begun, but for gradients that were being added up: these are dropped. An optimizer's
 * step is done as a whole. NULL: nobody is asked. */
void trainlet_session_stop_when(TrainletSession *s, bool (*asked)(void *context), void *context);
/* Before the parts that need it: as trainlet_artifacts_external. "checkpoint.data": ONNX Runtime's second file of a large checkpoint. */
void *trainlet_session_external(TrainletSession *s, const char *location, size_t bytes);
/* Where to write the file of a part so that trainlet_session_load, given this pointer, reads it in place: large weights exist once then. It must be
 * asked for and written again after a load that failed; once it is loaded, the next such file may take its place. */
void *trainlet_session_file(TrainletSession *s, size_t bytes);
Status trainlet_session_load(TrainletSession *s, TrainletPart part, const void *bytes, size_t count);
Status trainlet_session_ready(TrainletSession *s);
const char *trainlet_session_json(TrainletSession *s); /* what is in it; valid until the next call. NULL when memory is out */

/* Where to write the bytes of one input before the run; NULL on a wrong name, type or shape. dims: rank numbers. An optional that is not fed is
 * without an element. */
void *trainlet_session_feed(TrainletSession *s, TrainletPart part, const char *name, int type, int rank, const int64_t *dims);
/* The same for a tensor of strings: where to write `bytes` of text, each string with a zero byte at its end. */
void *trainlet_session_feed_text(TrainletSession *s, TrainletPart part, const char *name, int rank, const int64_t *dims, size_t bytes);
/* The next `count` tensors fed for this input, a sequence, are its own. */
Status trainlet_session_feed_sequence(TrainletSession *s, TrainletPart part, const char *name, int count);
/* Runs the train, eval or inference model. fetches: names, one a line; NULL for the model's own outputs. */
Status trainlet_session_run(TrainletSession *s, TrainletPart part, const char *fetches);
int trainlet_session_output_count(const TrainletSession *s);
const TrainletTensor *trainlet_session_output(const TrainletSession *s, int i); /* valid until the next run */

Status trainlet_session_step(TrainletSession *s); /* train + optimizer + reset, on the tensors fed to the train model */
double trainlet_session_loss(const TrainletSession *s);
Status trainlet_session_optimize(TrainletSession *s);
/* Gives up the train runs since the gradients were last overwritten: gradients, running statistics and random state are as before them. */
void trainlet_session_drop_grad(TrainletSession *s);
void trainlet_session_reset_grad(TrainletSession *s); /* the next train run overwrites the gradients instead of adding */

double trainlet_session_lr(const TrainletSession *s);
void trainlet_session_set_lr(TrainletSession *s, double lr);
int64_t trainlet_session_steps(const TrainletSession *s);
void trainlet_session_set_seed(TrainletSession *s, uint64_t seed);

int trainlet_session_parameter_count(const TrainletSession *s);
TrainletTensor trainlet_session_parameter(TrainletSession *s, int i); /* data may be written in place, before the next run */
bool trainlet_session_parameter_trainable(const TrainletSession *s, int i);
size_t trainlet_session_element_count(const TrainletSession *s, bool trainable_only);
void trainlet_session_copy_out(const TrainletSession *s, bool trainable_only, float *to);
/* All of them (not trainable_only) also give a nominal checkpoint, which has names alone, its values. */
void trainlet_session_copy_in(TrainletSession *s, bool trainable_only, const float *from);

int64_t trainlet_session_position(const TrainletSession *s, int i); /* data position: see checkpoint/checkpoint.h */
void trainlet_session_set_position(TrainletSession *s, int i, int64_t value);
/* What a fit says of where it stands, beside the position: any text, "" for nothing. Saved in Trainlet's format, as is this: */
const char *trainlet_session_fit(const TrainletSession *s);
Status trainlet_session_set_fit(TrainletSession *s, const char *text);
/* a second copy of trainable parameters and running statistics, of which there is one or none. */
typedef enum TrainletBest { TRAINLET_BEST_FORGET, TRAINLET_BEST_KEEP, TRAINLET_BEST_RESTORE } TrainletBest;
Status trainlet_session_best(TrainletSession *s, TrainletBest what);
Status trainlet_session_property_set_int(TrainletSession *s, const char *name, int64_t value);
Status trainlet_session_property_set_float(TrainletSession *s, const char *name, double value);
Status trainlet_session_property_set_string(TrainletSession *s, const char *name, const char *value);
void trainlet_session_property_delete(TrainletSession *s, const char *name);
const char *trainlet_session_properties(TrainletSession *s); /* JSON */

/* ORT_1: ONNX Runtime 1.16 and 1.17; ORT_2: 1.18 and later. Those have no place for data position and random state. */
typedef enum TrainletFormat { TRAINLET_FORMAT_TRAINLET, TRAINLET_FORMAT_ORT_1, TRAINLET_FORMAT_ORT_2 } TrainletFormat;
Status trainlet_session_save(TrainletSession *s, bool optimizer_state, TrainletFormat format);
/* outputs: names, one a line; NULL for the model's own. training_info: with ONNX's description of the training, to go on elsewhere. */
Status trainlet_session_export(TrainletSession *s, const char *outputs, bool training_info);
const void *trainlet_session_result(const TrainletSession *s, size_t *bytes); /* of the last save or export */
void trainlet_session_result_free(TrainletSession *s);
