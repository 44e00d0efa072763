/* Trainlet's public C API: make training artifacts from an ONNX model, train, evaluate, save, export.
 *
 *   artifacts_new ─ load ─ set … ─ build ─▶ bytes ─▶ session_new ─ load … ─ ready ─▶ feed … step … ─▶ save, export
 *
 * A function that returns a Status gives STATUS_OK (0) or an error (status.h), whose sentence *_error returns until the
 * next call. The errors of each function are named with it, apart from STATUS_OUT_OF_MEMORY and STATUS_INTERNAL, which
 * any function may give. A session that reported an error stays usable, unless it could not be made ready. Nothing here
 * is thread-safe: one session, one thread. Text is UTF-8 and ends with a zero byte. Pointers that are returned belong
 * to the session or the artifacts. Tensors are dense and row-major; a shape is `rank` numbers `dims`, the slowest
 * first.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "status.h"

/* Lets `count` threads (1 to 16) share the work of every session of this process: the caller's, and count - 1 that are
 * started here and sleep between steps. May be called once, before anything else; false when it is too late or a thread
 * does not start. Every count gives the same bits. */
bool trainlet_threads_start(int count);

/* From here on the engine takes all of its memory from these `count` bytes, in static memory, say, and never calls
 * malloc; what does not fit fails with STATUS_OUT_OF_MEMORY. The bytes stay the caller's and may be used again once all
 * that was made is freed and NULL was given in their place, which goes back to malloc. All sessions and trainers then
 * belong to one thread. False, with nothing changed, while one or artifacts exist, and for fewer than 64 bytes. */
bool trainlet_use_memory(void *bytes, size_t count);
/* How many of them, from the first on, have been in use so far: if no more are given, the same calls do the same. */
size_t trainlet_memory_used(void);

/* The files of a training session, (MODEL) the one of an inference session, (COMPACT) one that stands for the four of a
 * training session, and (ADAPTERS) a checkpoint of adapters alone, which needs a CHECKPOINT or COMPACT of its base. */
typedef enum TrainletPart {
  TRAINLET_TRAIN,
  TRAINLET_EVAL,
  TRAINLET_OPTIMIZER,
  TRAINLET_CHECKPOINT,
  TRAINLET_MODEL,
  TRAINLET_COMPACT,
  TRAINLET_ADAPTERS,
} TrainletPart;

/* ---- artifacts: an inference model becomes train, eval and optimizer models and a checkpoint ---- */
typedef struct TrainletArtifacts TrainletArtifacts;

TrainletArtifacts *trainlet_artifacts_new(void);    /* NULL when memory is out */
void trainlet_artifacts_free(TrainletArtifacts *a); /* NULL is ignored */

/* To be called before the model is loaded: a file in which it keeps data (ONNX's external_data), found by the location
 * that the model gives, among these files and nowhere else. Returns where to write the file's bytes; NULL when memory
 * is out. */
void *trainlet_artifacts_external(TrainletArtifacts *a, const char *location, size_t bytes);
/* Of files that are given in pieces (options inPieces, set before), which bytes the model needs: [{"location",
 * "offset", "bytes", "late": true}], valid until the next call; the model's must stay. Then all of piece i is written
 * where artifacts_piece(i) says, before the next one is asked for: first those that are not late, then, with all
 * options set, the others. Then the model is loaded. NULL on failure. */
const char *trainlet_artifacts_pieces(TrainletArtifacts *a, const void *model, size_t bytes);
void *trainlet_artifacts_piece(TrainletArtifacts *a, int i);
/* Of the loaded model (the option otherWeights set before, its pieces asked for): where to write the `bytes` of values
 * that its float initializer of that name is to have instead of its own, before the next one is asked for; those that
 * lie in files given in pieces last, among these. Then the model is loaded once more, and keeps them. NULL on failure.
 */
void *trainlet_artifacts_weight(TrainletArtifacts *a, const char *name, size_t bytes);
/* Before the model: its input of that name is this constant, and is not fed. `type` is ONNX's, dims are `rank` numbers;
 * a scalar also stands for an input of one element. Where to write the bytes; NULL on failure. */
void *trainlet_artifacts_constant(TrainletArtifacts *a, const char *name, int type, int rank, const int64_t *dims);
/* Where to write a model of so many bytes so that it is read in place; NULL when memory is out. */
void *trainlet_artifacts_file(TrainletArtifacts *a, size_t bytes);
/* The model, an ONNX file or one in ORT format; its bytes may be freed when this returns. STATUS_INVALID_MODEL,
 * STATUS_UNSUPPORTED_OP, STATUS_UNSUPPORTED_VERSION, STATUS_INVALID_ARGUMENT when there is one already. */
Status trainlet_artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes);
/* An option, as text; keys and values: wasm/README.md, "Option keys". Options that are lists are set once for each
 * entry. STATUS_INVALID_ARGUMENT for a key that does not exist or a value that it cannot have. */
Status trainlet_artifacts_set(TrainletArtifacts *a, const char *key, const char *value);
/* What loss.type (besides training-info) and optimizer.type may be; NULL past the last. */
const char *trainlet_loss_name(int i);
const char *trainlet_optimizer_name(int i);
/* The loaded model's float initializers as JSON, as the options set so far have them:
 * [{"name", "type", "dims", "size", "names": what it may be called in PyTorch, "transposed": a product reads it as
 * (in, out), "readers": [{"node", "op", "as": "weight", "bias", "scale", "statistic" or
 * "operand"}], of which 64 at most, "trainable", "reason": why not}]. Valid until the next call; NULL when memory is
 * out, and where no model was loaded (STATUS_INVALID_ARGUMENT). What was made before is forgotten. */
const char *trainlet_artifacts_parameters(TrainletArtifacts *a);
/* The names of the loaded model's modules, which lora.targets chooses from, as a JSON array; like the above. */
const char *trainlet_artifacts_modules(TrainletArtifacts *a);
/* Makes the four files. What was untied, here or by trainlet_artifacts_parameters, stays so in the loaded model.
 * STATUS_INVALID_MODEL, STATUS_UNSUPPORTED_OP (an operator without a gradient, by name),
 * STATUS_INVALID_ARGUMENT (options that do not fit the model). Where a head or adapters could not be put on it, the
 * model must be loaded again. */
Status trainlet_artifacts_build(TrainletArtifacts *a);
/* A file made by build, TRAINLET_TRAIN to TRAINLET_CHECKPOINT, and its size; NULL and 0 when it is not there. */
const void *trainlet_artifacts_bytes(const TrainletArtifacts *a, TrainletPart part, size_t *bytes);
const char *trainlet_artifacts_warnings(const TrainletArtifacts *a); /* of build; a sentence a line, "" for none */
const Error *
trainlet_artifacts_error(const TrainletArtifacts *a); /* of the last call; its status is 0 when it went well */

/* ---- sessions: train, eval, optimizer and checkpoint together, an inference model, or both ---- */
typedef struct TrainletSession TrainletSession;

TrainletSession *trainlet_session_new(void);                   /* NULL when memory is out */
void trainlet_session_free(TrainletSession *s);                /* NULL is ignored */
const Error *trainlet_session_error(const TrainletSession *s); /* of the last call; its status is 0 when it went well */

/* The most bytes of memory of all kinds that the session takes from here on; 0, the default: no limit. What would take
 * more fails with STATUS_OUT_OF_MEMORY. */
void trainlet_session_limit(TrainletSession *s, double bytes);
/* The most multiply-adds that a run may take, as far as they are known from the shapes; 0, the default: 1e13. What
 * would take more fails with STATUS_TOO_MUCH_WORK before it begins. */
void trainlet_session_limit_work(TrainletSession *s, double work);
/* Rewrites that make a step faster, all on by default; bit i of the mask is the one trainlet_pass_name(i) names. For
 * finding faults: losses are the same up to rounding with any mask. */
void trainlet_session_set_passes(TrainletSession *s, unsigned mask);
const char *trainlet_pass_name(int i); /* NULL past the last */
/* `asked` is called while a run or step computes, between operators and within long ones, in the calling thread: once
 * it returns true, the run fails with STATUS_ABORTED, and the session is as if it had not begun, except that gradients
 * which were being accumulated are dropped. A step of the optimizer is never interrupted. NULL: nothing is called. */
void trainlet_session_stop_when(TrainletSession *s, bool (*asked)(void *context), void *context);

/* Before the parts that need it: as trainlet_artifacts_external. "checkpoint.data" is ONNX Runtime's second file of a
 * large checkpoint. */
void *trainlet_session_external(TrainletSession *s, const char *location, size_t bytes);
/* Before the models: inputs of that name are this constant, as trainlet_artifacts_constant. ready refuses one whose
 * name no model has (STATUS_INVALID_ARGUMENT). */
void *trainlet_session_constant(TrainletSession *s, const char *name, int type, int rank, const int64_t *dims);
/* Where to write the file of a part so that trainlet_session_load, given this pointer, reads it in place: large weights
 * exist once then. NULL when memory is out. After a failed load it must be requested and written again; once it is
 * loaded, the next such file may take its place. */
void *trainlet_session_file(TrainletSession *s, size_t bytes);
/* Loads a part of `count` bytes, each part at most once and before ready. A part that follows a compact file, such as a
 * later checkpoint, takes the place of the compact file's. STATUS_INVALID_MODEL, STATUS_UNSUPPORTED_OP,
 * STATUS_CHECKPOINT_CORRUPT, STATUS_CHECKPOINT_MISMATCH, STATUS_UNSUPPORTED_VERSION, STATUS_INVALID_ARGUMENT. */
Status trainlet_session_load(TrainletSession *s, TrainletPart part, const void *bytes, size_t count);
/* Joins the parts; a session that fails here is of no further use. STATUS_CHECKPOINT_MISMATCH (a parameter that is not
 * in the checkpoint, or of another shape; the state of another optimizer), STATUS_INVALID_MODEL,
 * STATUS_INVALID_ARGUMENT (parts that are missing). */
Status trainlet_session_ready(TrainletSession *s);
/* Inputs, outputs, parameters, optimizer and memory as JSON; valid until the next call. NULL when memory is out. */
const char *trainlet_session_json(TrainletSession *s);

/* ---- inside: for people who want to know where time and memory go ---- */

/* The nodes of the train, eval or inference model as text, one a line with the shapes of its outputs. Once the part has
 * run, the graph is shown as it ran last: rewritten, for the shapes that were fed, with its nodes numbered in the order
 * in which they run. The shape of each output is followed by the place of its bytes in the step's arena and the numbers
 * of the first and last node that use them, `@offset+bytes [first, last]`, or by `in` and the value whose bytes it
 * shares. Before the first run, the graph is shown as it was loaded, with free dims by their names. Valid until the
 * next call; NULL when memory is out and where there is no such model (STATUS_INVALID_ARGUMENT). */
const char *trainlet_session_graph(TrainletSession *s, TrainletPart part);
/* Times every node of the runs that follow: `now` returns milliseconds since some fixed moment and is called after each
 * node, in the calling thread. Earlier times are forgotten. NULL, the default: nothing is timed, at no cost. */
void trainlet_session_time_nodes(TrainletSession *s, double (*now)(void *context), void *context);
/* The time that each node took in the part's last runs, as JSON in the order in which they run: {"runs": how many on
 * the same shapes were timed, "peak": the multiply-adds a millisecond of all threads in registers alone, measured now
 * for some 20 ms, "nodes": [{"name", "op", "ms": of a run, on average, "work": multiply-adds, 0 for operators that only
 * move or map elements}]}. Valid until the next call; NULL when memory is out and where no run of the part was timed
 * (STATUS_INVALID_ARGUMENT).
 */
const char *trainlet_session_node_times(TrainletSession *s, TrainletPart part);

/* ---- tensors in and out ---- */

/* Ranks of outputs that are not tensors: a sequence, whose `count` tensors follow it, and an empty optional. A sequence
 * of maps, as ZipMap gives, is one of two tensors: the keys (C) of all, and the values (N, C), a row for each map. */
enum { TRAINLET_SEQUENCE = -1, TRAINLET_NOTHING = -2 };

typedef struct TrainletTensor {
  const char *name;
  int type;            /* ONNX's TensorProto.DataType: 1 float32, 7 int64, 8 string, 9 bool … */
  int rank;            /* or TRAINLET_SEQUENCE, TRAINLET_NOTHING */
  const int64_t *dims; /* rank numbers */
  const void *data;    /* `bytes` bytes; of strings: `count` pointers to text */
  size_t count, bytes; /* elements, or tensors of a sequence; bytes of data */
  /* Of a graph's loss, or of one of several, after a run: what it has counted. That is labels that are not ignored,
   * each by the weight of its class, or elements: a mean over runs weighs each by it. -1 where the model does not say,
   * and of all other outputs. */
  double counted;
  bool is_sum; /* of what was counted, not its mean */
} TrainletTensor;

/* Says what the next run of the part's model gets for an input, and where to write it: `dims` are `rank` numbers, the
 * bytes as many as the shape and type say. NULL on a wrong name, type or shape (STATUS_INVALID_FEED) and when memory is
 * out. An optional that is not fed is empty. */
void *trainlet_session_feed(TrainletSession *s, TrainletPart part, const char *name, int type, int rank,
                            const int64_t *dims);
/* The same for a tensor of strings: where to write `bytes` of text, each string with a zero byte at its end. */
void *trainlet_session_feed_text(TrainletSession *s, TrainletPart part, const char *name, int rank, const int64_t *dims,
                                 size_t bytes);
/* The next `count` tensors fed for this input, a sequence, are its items; of a map they are two, keys and values.
 * STATUS_INVALID_FEED. */
Status trainlet_session_feed_sequence(TrainletSession *s, TrainletPart part, const char *name, int count);
/* From here on runs of the train or eval model may fetch the gradient of its first output, the loss, towards this input
 * as `<input>_grad`. It costs nothing where it is not fetched. STATUS_INVALID_FEED (no such input),
 * STATUS_INVALID_ARGUMENT (not of float32, the loss does not depend on it, or the model has a value of that name),
 * STATUS_UNSUPPORTED_OP (an operator on the way that has no gradient). */
Status trainlet_session_input_gradient(TrainletSession *s, TrainletPart part, const char *input);
/* What the frozen lower layers of the training model compute of an example is the same in each step: its features,
 * values whose rows are examples. {"features": [names], "inputs": [names], "evaluates": whether}: a step may be fed
 * features by their names, all of them, and then needs no other inputs than these; so may a run of the eval model where
 * it evaluates by them. No features: there are none, or their rows are not the
 * examples'. What is found holds until trainlet_session_set_trainable. Valid until the next call that gives JSON; NULL
 * on failure. */
const char *trainlet_session_features(TrainletSession *s);
/* Computes them of what was fed to TRAINLET_TRAIN: they are the outputs of the run, in that order. The errors of run,
 * and STATUS_INVALID_ARGUMENT where there are none or they were not asked for. */
Status trainlet_session_run_features(TrainletSession *s);
/* Runs the train, eval or inference model on what was fed. fetches: names of outputs, one a line; NULL for the model's
 * own. A run of TRAINLET_TRAIN adds its gradients to those of the runs before. STATUS_INVALID_FEED,
 * STATUS_UNSUPPORTED_OP, STATUS_TOO_MUCH_WORK, STATUS_ABORTED. */
Status trainlet_session_run(TrainletSession *s, TrainletPart part, const char *fetches);
/* A run of the eval or inference model for a language model's next token. */
typedef struct TrainletDecode {
  const char *fetches; /* names, one a line: the scores (…, V), of which one row is the only output of the run; then
                          what the model has computed of the tokens so far, which stays here */
  const char
      *past;    /* inputs, one a line, "" for none: what is kept of the second fetch and those after it is for them */
  int from_end; /* which row: so many before the last */
  int axis, length; /* what is kept: the last `length` along the axis, with zeros before it where there are fewer */
  bool goes_on;     /* these inputs are fed what the last decode has kept, not by trainlet_session_feed */
} TrainletDecode;
/* The errors of run, and STATUS_INVALID_ARGUMENT where nothing is kept, since an input was fed otherwise, or there is
 * no such row. What is kept stays until the input is fed. */
Status trainlet_session_decode(TrainletSession *s, TrainletPart part, const TrainletDecode *d);
int trainlet_session_output_count(const TrainletSession *s); /* of the last run; the tensors of a sequence count */
const TrainletTensor *trainlet_session_output(const TrainletSession *s,
                                              int i); /* valid until the next run; NULL past the last */

/* ---- training ---- */

/* A train run on what was fed to TRAINLET_TRAIN, then optimize, then reset_grad. The errors of run, and
 * STATUS_NON_FINITE_LOSS where the loss or a gradient is NaN or infinite; then no parameter has been changed. */
Status trainlet_session_step(TrainletSession *s);
double trainlet_session_loss(const TrainletSession *s); /* of the last step or train run: the model's first output */
/* The L2 norm of all gradients at the last step of the optimizer, before they are clipped. */
double trainlet_session_gradient_norm(const TrainletSession *s);
/* One step of the optimizer with the gradients that have been accumulated. STATUS_INVALID_ARGUMENT without an
 * optimizer, STATUS_NON_FINITE_LOSS where a gradient is not finite. */
Status trainlet_session_optimize(TrainletSession *s);
/* Gives up the train runs since the gradients were last overwritten: gradients, running statistics and random state are
 * as before them. */
void trainlet_session_drop_grad(TrainletSession *s);
void trainlet_session_reset_grad(
    TrainletSession *s); /* the next train run overwrites the gradients instead of adding */

/* A training model that stops at a YieldOp for gradients from outside, as artifacts of loss.type `outside` do, is run
 * in two halves. forward runs what was fed to TRAINLET_TRAIN up to there; the model's outputs are those of a run.
 * Between the halves it keeps its values in memory of its own, under `id`; several may be open at once. The errors of
 * run, and STATUS_INVALID_ARGUMENT where the training model has its loss inside. */
Status trainlet_session_forward(TrainletSession *s, int *id);
/* Where to write the gradient of one of its outputs, of type and shape of that output; those that do not come are zero.
 * NULL where there is no such output, run or shape (STATUS_INVALID_FEED, STATUS_INVALID_ARGUMENT): then those that came
 * are forgotten. */
void *trainlet_session_feed_gradient(TrainletSession *s, int id, const char *output, int type, int rank,
                                     const int64_t *dims);
/* Goes on with the gradients: adds the parameters' to those that are there, as a run of TRAINLET_TRAIN does, and ends
 * the forward run. The gradients towards `inputs`, names one a line, NULL for none, are the outputs then, under these
 * names. STATUS_INVALID_FEED: no gradient came, or there is none towards an input; it may be tried again, and so it may
 * after STATUS_OUT_OF_MEMORY. STATUS_INVALID_ARGUMENT: the run is not open any more, or parameters were changed since.
 * STATUS_ABORTED: all gradients that were being added up are dropped. */
Status trainlet_session_backward(TrainletSession *s, int id, const char *inputs);
/* Frees a forward run whose backward will not come; nothing happens where it is not open. */
void trainlet_session_drop_forward(TrainletSession *s, int id);
/* Parameters were written through trainlet_session_parameter: the forward runs that are open are of no use any more. */
void trainlet_session_changed(TrainletSession *s);

double trainlet_session_lr(const TrainletSession *s); /* the learning rate; 0 without an optimizer */
void trainlet_session_set_lr(TrainletSession *s, double lr);
int64_t
trainlet_session_steps(const TrainletSession *s); /* steps of the optimizer, including those of earlier sessions */
void trainlet_session_set_seed(TrainletSession *s, uint64_t seed); /* of random operators, from the next run on */

/* ---- parameters, in the order of the train model's inputs; those that it lacks follow ---- */

int trainlet_session_parameter_count(const TrainletSession *s); /* 0 before ready */
/* Its name, shape and values, which may be written in place before the next run; all 0 past the last. */
TrainletTensor trainlet_session_parameter(TrainletSession *s, int i);
bool trainlet_session_parameter_trainable(const TrainletSession *s, int i);
/* From here on, exactly those float32 parameters train whose names match one of the patterns (* and ?, one a line),
 * provided that the loss depends on them and their values are finite; running statistics never train. A
 * BatchNormalization whose scale and bias are both frozen uses its running statistics and leaves them as they are.
 * Frozen parameters keep their optimizer state for when they train again; accumulated gradients are dropped, and the
 * best copy is forgotten. STATUS_INVALID_ARGUMENT (a pattern that matches none, a name on which the loss does not
 * depend, or nothing left to train), STATUS_UNSUPPORTED_OP (an operator on the way that has no gradient); then the
 * session is as it was before.
 */
Status trainlet_session_set_trainable(TrainletSession *s, const char *patterns);
/* Adapters: of a model with LoRA there may be several, each with the values and optimizer state of what trained when
 * the checkpoint was saved. ADD makes one that adds nothing yet, by a name of its own; USE takes one in use: it trains
 * and is saved and exported from here on, while accumulated gradients, the best copy, the average and the position of a
 * fit are dropped; with NULL the base alone is in use, which does not train. LEND puts one in its place (NULL: the base
 * alone) and drops nothing, until RETURN: no step may come in between. DELETE forgets one that is not in use.
 * STATUS_INVALID_ARGUMENT: a model without LoRA, a name that is there already or is not there. */
typedef enum TrainletAdapter {
  TRAINLET_ADAPTER_ADD,
  TRAINLET_ADAPTER_USE,
  TRAINLET_ADAPTER_LEND,
  TRAINLET_ADAPTER_RETURN,
  TRAINLET_ADAPTER_DELETE
} TrainletAdapter;
Status trainlet_session_adapter(TrainletSession *s, TrainletAdapter what, const char *name);
/* From here on the optimizer's steps end with the float32 parameters whose names match the pattern clamped to at least
 * `least` and at most `most`, which may be infinite; the last pattern that matches wins. Saved in Trainlet's format.
 * STATUS_INVALID_ARGUMENT for least > most, NaN, and a pattern that matches none. */
Status trainlet_session_bound(TrainletSession *s, const char *pattern, double least, double most);
void trainlet_session_unbound(TrainletSession *s); /* forgets the bounds, a checkpoint's too */
/* Parameter groups: from here on the float32 parameters whose names match a pattern are updated with the learning rate
 * times its lr_scale, and with its weight decay. Four lines each, every one with a line break: the pattern, lr_scale
 * (empty: 1), weight decay (empty: the optimizer's), anchor (empty: 0); the last that matches wins, and what none
 * matches is as it would be without any. An anchor α adds α · (p − p₀) to the gradient before a step, p₀ being what the
 * parameter was when its group was first given one. Saved in Trainlet's format. STATUS_INVALID_ARGUMENT for a pattern
 * that matches none and a number that is not finite or below 0; then nothing has changed. */
Status trainlet_session_set_groups(TrainletSession *s, const char *groups);
/* From here on an average of what trains is kept: a copy after the first step of the optimizer, then decay · average +
 * (1 − decay) · value after each. With decay 0 the steps leave it as it is; `anew` drops it first, as set_trainable
 * does. Saved in Trainlet's format. STATUS_INVALID_ARGUMENT: the decay is not of 0 … 1 or is 1. */
Status trainlet_session_set_ema(TrainletSession *s, double decay, bool anew);
/* Exchanges the parameters with their average, to evaluate or export that, and back; no step may come in between.
 * STATUS_INVALID_ARGUMENT: there is none. */
Status trainlet_session_swap_ema(TrainletSession *s);
/* The gradient of parameter i, in its shape: the sum over the train runs since the last reset, zeros if there was none.
 * NULL with a sentence if it is frozen (STATUS_INVALID_ARGUMENT). Valid until the next call that trains.
 */
const float *trainlet_session_gradient(TrainletSession *s, int i);
/* The number of float32 values in all parameters; in those that train; or in everything that training changes, which is
 * these and the running statistics. */
typedef enum TrainletWhich { TRAINLET_ALL, TRAINLET_TRAINABLE, TRAINLET_WITH_STATISTICS } TrainletWhich;
size_t trainlet_session_element_count(const TrainletSession *s, TrainletWhich which);
/* All these values in a row, to and from element_count floats. Copying in all of them also supplies the values of a
 * nominal checkpoint, which has only names. */
void trainlet_session_copy_out(const TrainletSession *s, TrainletWhich which, float *to);
void trainlet_session_copy_in(TrainletSession *s, TrainletWhich which, const float *from);

/* ---- what a checkpoint says beside parameters and optimizer state ---- */

/* Data position i, 0 to 4: epoch, batches done in it, shuffle seed, examples in the data set, batch size; 0 at first.
 * 5: the low 32 bits of the session's seed, to read only.
 */
int64_t trainlet_session_position(const TrainletSession *s, int i);
void trainlet_session_set_position(TrainletSession *s, int i, int64_t value);
/* The state of a fit, besides the position: any text, "" for none. STATUS_INVALID_ARGUMENT for what is not UTF-8. Saved
 * only in Trainlet's format, like the best parameters. */
const char *trainlet_session_fit(const TrainletSession *s);
Status trainlet_session_set_fit(TrainletSession *s, const char *text);
/* Forgets, makes or restores a second copy of the trainable parameters and running statistics. There is at most one
 * such copy. STATUS_INVALID_ARGUMENT before ready. */
typedef enum TrainletBest { TRAINLET_BEST_FORGET, TRAINLET_BEST_KEEP, TRAINLET_BEST_RESTORE } TrainletBest;
Status trainlet_session_best(TrainletSession *s, TrainletBest what);
/* Properties: values by name that travel with the checkpoint. STATUS_INVALID_ARGUMENT for a name that is empty, names
 * and texts that are too long or not UTF-8, and a number that a float32 cannot hold. */
Status trainlet_session_property_set_int(TrainletSession *s, const char *name, int64_t value);
Status trainlet_session_property_set_float(TrainletSession *s, const char *name, double value);
Status trainlet_session_property_set_string(TrainletSession *s, const char *name, const char *value);
void trainlet_session_property_delete(TrainletSession *s, const char *name); /* nothing happens where it is not there */
const char *
trainlet_session_properties(TrainletSession *s); /* as JSON, valid until the next call; NULL when memory is out */

/* What the loaded checkpoint says, as JSON: parameters, optimizer, properties, the place in the data. Valid until the
 * next call; NULL when memory is out and, with STATUS_INVALID_ARGUMENT, before a checkpoint is loaded or after ready.
 */
const char *trainlet_session_checkpoint(TrainletSession *s);
/* Who writes checkpoints that begin with such bytes, "Trainlet" or "ONNX Runtime"; NULL: the bytes are not a
 * checkpoint. */
const char *trainlet_checkpoint_writer(const void *bytes, size_t count);

/* ---- files out ---- */

/* ORT_1: ONNX Runtime 1.16 and 1.17; ORT_2: 1.18 and later. These cannot hold data position and random state, nor
 * adapters that are not in use. ADAPTERS: Trainlet's, of a session with LoRA, without the parameters that neither train
 * nor are an adapter's; it is loaded as TRAINLET_ADAPTERS. */
typedef enum TrainletFormat {
  TRAINLET_FORMAT_TRAINLET,
  TRAINLET_FORMAT_ORT_1,
  TRAINLET_FORMAT_ORT_2,
  TRAINLET_FORMAT_ADAPTERS
} TrainletFormat;
/* A checkpoint, with or without the optimizer's state. STATUS_NON_FINITE_LOSS where training has made a value infinite
 * or NaN, STATUS_INVALID_ARGUMENT where the format has no place for something. */
Status trainlet_session_save(TrainletSession *s, bool optimizer_state, TrainletFormat format);
/* TRAINING_INFO: with ONNX's description of the training, so that it can continue elsewhere; TYPES: with the type and
 * shape of every value (value_info), as who turns the model into another format needs them. To one of these may be
 * added what becomes of LoRA's adapters, which otherwise are nodes and initializers of their own: MERGED, they go into
 * the weights (STATUS_UNSUPPORTED_OP where one is no float32 constant); ADAPTER_INPUTS, their matrices are inputs of
 * the model, not with TRAINING_INFO. */
typedef enum TrainletExport {
  TRAINLET_EXPORT_MODEL,
  TRAINLET_EXPORT_TRAINING_INFO,
  TRAINLET_EXPORT_TYPES,
  TRAINLET_EXPORT_MERGED = 4,
  TRAINLET_EXPORT_ADAPTER_INPUTS = 8
} TrainletExport;
/* The inference model with the parameters as they are. outputs: names, one a line; NULL for the model's own.
 * STATUS_INVALID_ARGUMENT for names that do not exist and for training that ONNX cannot describe,
 * STATUS_NON_FINITE_LOSS as for save. */
Status trainlet_session_export(TrainletSession *s, const char *outputs, TrainletExport form);
/* The layer that computes an output of the eval model, as JSON: {"features": the value that it reads, "weight", "bias"
 * (absent: it has none), "classes": how many, "axis": of the weight, along which the classes are}. Valid until the next
 * call; NULL when memory is out and, with STATUS_INVALID_ARGUMENT, where the output is not given by a Gemm, or by a
 * MatMul with or without an Add, whose weight is a parameter that nothing else reads. */
const char *trainlet_session_output_layer(TrainletSession *s, const char *output);
/* The part (TRAINLET_TRAIN, _EVAL, _OPTIMIZER or _CHECKPOINT) of a session like this one whose output has `count`
 * classes more: `weights` (count, features) and `biases` (count) are theirs, moments of them are zero, and all else is
 * as it is now, but that a fit, its best parameters and a calibration are forgotten. names: of all classes, a JSON
 * array of strings, or "". STATUS_INVALID_ARGUMENT as for output_layer, and where what reads the output does not take
 * more classes; the errors of save. */
Status trainlet_session_extend(TrainletSession *s, TrainletPart part, const char *output, const char *names, int count,
                               const float *weights, const float *biases);
/* How a compact file has the float32 parameters of two or more dims: as they are; as float16; or as int8, symmetric,
 * with a scale for each channel of the first dim. What float16 or int8 cannot hold stays as it is. */
typedef enum TrainletWeights {
  TRAINLET_WEIGHTS_EXACT,
  TRAINLET_WEIGHTS_FLOAT16,
  TRAINLET_WEIGHTS_INT8
} TrainletWeights;
/* Before ready: the loaded parts as one compact file (docs/guides/compact.md): a train model, a checkpoint, and what else
 * there is of an eval and optimizer model. STATUS_INVALID_ARGUMENT if one is missing, after ready, and for a model whose
 * nodes depend on what is fed. */
Status trainlet_session_compact(TrainletSession *s, TrainletWeights weights);
/* The file of the last save, export, extend or compact and its size; NULL and 0 when there is none. */
const void *trainlet_session_result(const TrainletSession *s, size_t *bytes);
void trainlet_session_result_free(TrainletSession *s);

/* ---- a trainer: steps alone, on batches of one size, in the least memory ---- */

/* A trainer takes all memory that it ever needs while it loads its file, and keeps none that a step does not read. It
 * gives the losses of a session that is fed the same, to the bit, but neither evaluates nor saves: its parameters are
 * read where they lie, and a checkpoint's properties, best and averages are not kept. */
typedef struct TrainletTrainer TrainletTrainer;

TrainletTrainer *trainlet_trainer_new(void);                   /* NULL when memory is out */
void trainlet_trainer_free(TrainletTrainer *t);                /* NULL is ignored */
const Error *trainlet_trainer_error(const TrainletTrainer *t); /* of the last call; its status is 0 when it went well */
/* Before the file: the dim of that name, which the model leaves open (as N in `x (N, 784)`), is always `size`.
 * STATUS_INVALID_ARGUMENT for a size below 0 and after the file. */
Status trainlet_trainer_dim(TrainletTrainer *t, const char *name, int64_t size);
/* Loads a compact file (docs/guides/compact.md) with an optimizer and reads it in place (for instance in flash). Its bytes
 * may be freed when this returns. A trainer for which it fails is of no further use. STATUS_INVALID_MODEL,
 * STATUS_UNSUPPORTED_OP (strings, and shapes that depend on computed values, too), STATUS_CHECKPOINT_CORRUPT,
 * STATUS_CHECKPOINT_MISMATCH, STATUS_UNSUPPORTED_VERSION, STATUS_TOO_MUCH_WORK (more than 1e13 multiply-adds a step),
 * STATUS_INVALID_ARGUMENT (a dim that was not set or is not open, a file without optimizer or values, a second file).
 */
Status trainlet_trainer_load(TrainletTrainer *t, const void *file, size_t bytes);
/* Where the tensor of that name lies, always at the same place, and its size in bytes: an input, to be written before
 * a step; an output of the training model, as the last step left it; or a parameter. NULL and 0 for all others. */
void *trainlet_trainer_data(TrainletTrainer *t, const char *name, size_t *bytes);
/* One step on what the inputs hold. STATUS_INVALID_FEED for a label that is no class, STATUS_NON_FINITE_LOSS where the
 * loss or a gradient is NaN or infinite; then no parameter has been changed. */
Status trainlet_trainer_step(TrainletTrainer *t);
double trainlet_trainer_loss(const TrainletTrainer *t); /* of the last step */
void trainlet_trainer_set_lr(TrainletTrainer *t, double lr);
/* Bytes of the numbers alone: parameters, gradients, the optimizer's state, what a step computes, and its inputs. */
size_t trainlet_trainer_plan_bytes(const TrainletTrainer *t);

#ifdef __cplusplus
}
#endif
