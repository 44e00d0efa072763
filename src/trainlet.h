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

/* Makes the engine take all of its memory from these `count` bytes (static memory, for instance) and never call malloc.
 * A call that needs more fails with STATUS_OUT_OF_MEMORY. The bytes stay the caller's: once everything made in them is
 * freed, a call with NULL goes back to malloc and gives them back. All sessions and trainers must use one thread then.
 * False, with nothing changed, while a session, a trainer or artifacts exist, and for fewer than 64 bytes. */
bool trainlet_use_memory(void *bytes, size_t count);
/* The number of these bytes, counted from the first, that have been in use so far. With exactly so many bytes the same
 * calls give the same results. */
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

TrainletArtifacts *trainlet_artifacts_new(void);    /* NULL if memory is out */
void trainlet_artifacts_free(TrainletArtifacts *a); /* NULL is ignored */

/* Adds a file with external data of the model (ONNX's external_data), before the model is loaded. The model names the
 * file by its location; no other files are read. Returns the place to write the file's bytes to; NULL if memory is out.
 */
void *trainlet_artifacts_external(TrainletArtifacts *a, const char *location, size_t bytes);
/* The bytes that the model needs of files given in pieces (option inPieces, set before), as JSON: [{"location",
 * "offset", "bytes", "late": true}]. The JSON is valid until the next call; the model's bytes must stay. The caller
 * then writes all of piece i to the place that artifacts_piece(i) returns before it asks for the next piece: first the
 * pieces that are not late, then, with all options set, the late ones. Then it loads the model. NULL on failure. */
const char *trainlet_artifacts_pieces(TrainletArtifacts *a, const void *model, size_t bytes);
void *trainlet_artifacts_piece(TrainletArtifacts *a, int i);
/* Returns the place to write other values (`bytes` bytes) for the loaded model's float initializer of that name. The
 * option otherWeights must be set and the model's pieces must have been asked for before. The caller writes them before
 * it asks for the next place; initializers that lie in files given in pieces come last, among the pieces. Then it loads
 * the model once more, which keeps these values. NULL on failure. */
void *trainlet_artifacts_weight(TrainletArtifacts *a, const char *name, size_t bytes);
/* Makes the model's input of that name a constant that is not fed, before the model is loaded. `type` is ONNX's, dims
 * are `rank` numbers; a scalar also stands for an input of one element. Returns the place to write the constant's bytes
 * to; NULL on failure. */
void *trainlet_artifacts_constant(TrainletArtifacts *a, const char *name, int type, int rank, const int64_t *dims);
/* Returns the place to write a model of so many bytes to, so that it is read in place; NULL if memory is out. */
void *trainlet_artifacts_file(TrainletArtifacts *a, size_t bytes);
/* Loads the model, an ONNX file or one in ORT format; its bytes may be freed when this returns. STATUS_INVALID_MODEL,
 * STATUS_UNSUPPORTED_OP, STATUS_UNSUPPORTED_VERSION, STATUS_INVALID_ARGUMENT if one is loaded already. */
Status trainlet_artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes);
/* Sets an option as text; keys and values: wasm/README.md, "Option keys". Options that are lists are set once for each
 * entry. STATUS_INVALID_ARGUMENT for a key that does not exist or a value that it cannot have. */
Status trainlet_artifacts_set(TrainletArtifacts *a, const char *key, const char *value);
/* The values of loss.type (besides training-info) and optimizer.type; NULL past the last. */
const char *trainlet_loss_name(int i);
const char *trainlet_optimizer_name(int i);
/* The loaded model's float initializers as JSON, with the options set so far: [{"name", "type", "dims", "size",
 * "names": possible names in PyTorch, "transposed": a product reads it as (in, out), "readers": at most 64 of [{"node",
 * "op", "as": "weight", "bias", "scale", "statistic" or "operand"}], "trainable", "reason": why not}]. Valid until the
 * next call; NULL if memory is out, and if no model is loaded (STATUS_INVALID_ARGUMENT). Files made before are
 * forgotten. */
const char *trainlet_artifacts_parameters(TrainletArtifacts *a);
/* The names of the loaded model's modules, which lora.targets chooses from, as a JSON array. Validity and errors are
 * those of trainlet_artifacts_parameters. */
const char *trainlet_artifacts_modules(TrainletArtifacts *a);
/* Makes the four files. Parameters untied here or by trainlet_artifacts_parameters stay untied in the loaded model. If
 * a head or adapters could not be added, the model must be loaded again. STATUS_INVALID_MODEL, STATUS_UNSUPPORTED_OP
 * (an operator without a gradient, by name), STATUS_INVALID_ARGUMENT (options that do not fit the model). */
Status trainlet_artifacts_build(TrainletArtifacts *a);
/* A file made by build, TRAINLET_TRAIN to TRAINLET_CHECKPOINT, and its size; NULL and 0 if there is none. */
const void *trainlet_artifacts_bytes(const TrainletArtifacts *a, TrainletPart part, size_t *bytes);
const char *
trainlet_artifacts_warnings(const TrainletArtifacts *a); /* the last build's; a sentence a line, "" for none */
const Error *
trainlet_artifacts_error(const TrainletArtifacts *a); /* the last call's; its status is 0 when it succeeded */

/* ---- sessions: train, eval, optimizer and checkpoint together, an inference model, or both ---- */
typedef struct TrainletSession TrainletSession;

TrainletSession *trainlet_session_new(void);                   /* NULL if memory is out */
void trainlet_session_free(TrainletSession *s);                /* NULL is ignored */
const Error *trainlet_session_error(const TrainletSession *s); /* the last call's; its status is 0 when it succeeded */

/* Sets the most bytes of memory of all kinds that the session may take; 0, the default: no limit. A call that needs
 * more fails with STATUS_OUT_OF_MEMORY. */
void trainlet_session_limit(TrainletSession *s, double bytes);
/* Sets the most multiply-adds that a run may take, as far as the shapes tell; 0, the default: 1e13. A run that needs
 * more fails with STATUS_TOO_MUCH_WORK before it begins. */
void trainlet_session_limit_work(TrainletSession *s, double work);
/* Chooses the passes (graph rewrites that make a step faster) by a mask whose bit i stands for trainlet_pass_name(i);
 * all are on by default. For finding faults: losses are the same up to rounding with any mask. */
void trainlet_session_set_passes(TrainletSession *s, unsigned mask);
const char *trainlet_pass_name(int i); /* NULL past the last */
/* Calls `asked` while a run or step computes, between operators and within long ones, in the calling thread. Once it
 * returns true, the run fails with STATUS_ABORTED. The session is then as before the run, but accumulated gradients are
 * dropped. A step of the optimizer is never interrupted. NULL, the default: nothing is called. */
void trainlet_session_stop_when(TrainletSession *s, bool (*asked)(void *context), void *context);

/* Like trainlet_artifacts_external, before the parts that need the file. "checkpoint.data" is ONNX Runtime's second
 * file of a large checkpoint. */
void *trainlet_session_external(TrainletSession *s, const char *location, size_t bytes);
/* Like trainlet_artifacts_constant, for inputs of that name in all models, before the models are loaded. ready refuses
 * a name that no model has (STATUS_INVALID_ARGUMENT). */
void *trainlet_session_constant(TrainletSession *s, const char *name, int type, int rank, const int64_t *dims);
/* Returns the place to write the file of a part to. trainlet_session_load, given this pointer, reads the file in place,
 * so large weights are in memory once. After a failed load the place must be requested and the file written again; once
 * the file is loaded, the next such file may replace it. NULL if memory is out. */
void *trainlet_session_file(TrainletSession *s, size_t bytes);
/* Loads a part of `count` bytes, each part at most once and before ready. A part that follows a compact file, such as a
 * later checkpoint, replaces the compact file's. STATUS_INVALID_MODEL, STATUS_UNSUPPORTED_OP,
 * STATUS_CHECKPOINT_CORRUPT, STATUS_CHECKPOINT_MISMATCH, STATUS_UNSUPPORTED_VERSION, STATUS_INVALID_ARGUMENT. */
Status trainlet_session_load(TrainletSession *s, TrainletPart part, const void *bytes, size_t count);
/* Joins the parts; a session that fails here cannot be used any more. STATUS_CHECKPOINT_MISMATCH (a parameter that is
 * not in the checkpoint, or of another shape; the state of another optimizer), STATUS_INVALID_MODEL,
 * STATUS_INVALID_ARGUMENT (parts that are missing). */
Status trainlet_session_ready(TrainletSession *s);
/* Inputs, outputs, parameters, optimizer and memory as JSON; valid until the next call. NULL if memory is out. */
const char *trainlet_session_json(TrainletSession *s);

/* ---- profiling: time and memory of each node ---- */

/* The nodes of the train, eval or inference model as text, one a line with the shapes of its outputs. Once the part has
 * run, the graph is shown as it ran last: rewritten, for the shapes that were fed, with its nodes numbered in the order
 * in which they run. The shape of each output is followed by the place of its bytes in the step's arena and the numbers
 * of the first and last node that use them, `@offset+bytes [first, last]`, or by `in` and the value whose bytes it
 * shares. Before the first run, the graph is shown as it was loaded, with free dims by their names. Valid until the
 * next call; NULL if memory is out and if there is no such model (STATUS_INVALID_ARGUMENT). */
const char *trainlet_session_graph(TrainletSession *s, TrainletPart part);
/* Times every node of the runs that follow: `now` returns milliseconds since some fixed moment and is called after each
 * node, in the calling thread. Earlier times are forgotten. NULL, the default: nothing is timed, at no cost. */
void trainlet_session_time_nodes(TrainletSession *s, double (*now)(void *context), void *context);
/* The time that each node took in the part's last runs, as JSON in the order in which they run: {"runs": the number
 * of timed runs on the same shapes, "peak": the multiply-adds a millisecond of all threads in registers alone, measured
 * now for some 20 ms, "nodes": [{"name", "op", "ms": the average of a run, "work": multiply-adds, 0 for operators that
 * only move or map elements}]}. Valid until the next call; NULL if memory is out and if no run of the part was timed
 * (STATUS_INVALID_ARGUMENT). */
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
  /* The weight of this run in a mean over runs, for a graph's loss, or one of several, after a run: the labels that are
   * not ignored, each times the weight of its class, or the elements. -1 if the model does not say, and for all other
   * outputs. */
  double counted;
  bool is_sum; /* the loss is a sum over what was counted, not its mean */
} TrainletTensor;

/* Feeds an input of the part's model for its next run. Returns the place to write the tensor to, whose bytes follow
 * from the type and from the `rank` numbers `dims`. An optional that is not fed is empty. NULL for a wrong name, type
 * or shape (STATUS_INVALID_FEED) and if memory is out. */
void *trainlet_session_feed(TrainletSession *s, TrainletPart part, const char *name, int type, int rank,
                            const int64_t *dims);
/* The same for a tensor of strings: returns the place to write `bytes` bytes of text to, each string with a zero byte
 * at its end. */
void *trainlet_session_feed_text(TrainletSession *s, TrainletPart part, const char *name, int rank, const int64_t *dims,
                                 size_t bytes);
/* Makes the next `count` tensors fed for this input the items of a sequence, or, with a count of 2, the keys and values
 * of a map. STATUS_INVALID_FEED. */
Status trainlet_session_feed_sequence(TrainletSession *s, TrainletPart part, const char *name, int count);
/* Lets later runs of the train or eval model fetch `<input>_grad`, the gradient of the first output, the loss, with
 * respect to this input. It costs nothing in runs that do not fetch it. STATUS_INVALID_FEED (no such input),
 * STATUS_INVALID_ARGUMENT (not of float32, the loss does not depend on it, or the model has a value of that name),
 * STATUS_UNSUPPORTED_OP (an operator between them without a gradient). */
Status trainlet_session_input_gradient(TrainletSession *s, TrainletPart part, const char *input);
/* The features of the training model as JSON: {"features": [names], "inputs": [names], "evaluates": true or false}.
 * Features are outputs of the frozen lower layers, with a row for each example; they are the same in each step. A step
 * that is fed all features by their names needs only the `inputs` besides; with `evaluates`, so does a run of the eval
 * model. The list is empty if there are no such layers or their rows are not the examples'. The result holds until
 * trainlet_session_set_trainable. The text is valid until the next call that returns JSON; NULL on failure. */
const char *trainlet_session_features(TrainletSession *s);
/* Computes the features from the feeds of TRAINLET_TRAIN: they are the outputs of the run, in the same order. The
 * errors of run, and STATUS_INVALID_ARGUMENT if there are none or trainlet_session_features was not called. */
Status trainlet_session_run_features(TrainletSession *s);
/* Runs the train, eval or inference model on its feeds. fetches: names of outputs, one a line; NULL: the model's own. A
 * run of TRAINLET_TRAIN adds its gradients to those of the runs before. STATUS_INVALID_FEED,
 * STATUS_UNSUPPORTED_OP, STATUS_TOO_MUCH_WORK, STATUS_ABORTED. */
Status trainlet_session_run(TrainletSession *s, TrainletPart part, const char *fetches);
/* A run of the eval or inference model for a language model's next token. */
typedef struct TrainletDecode {
  const char *fetches; /* names, one a line: the scores (…, V), of which one row is the only output of the run; then
                          the model's state after the tokens so far (keys and values), which the session keeps */
  const char *past;    /* inputs, one a line, "" for none, for what is kept of the second fetch and those after it */
  int from_end;        /* the row of the scores, counted back from the last, 0 */
  int axis, length;    /* the last `length` along the axis are kept, with zeros before them if there are fewer */
  bool goes_on;        /* the `past` inputs get what the last decode kept, instead of trainlet_session_feed */
} TrainletDecode;
/* Runs a decode. The kept tensors stay until the input is fed. The errors of run, and STATUS_INVALID_ARGUMENT if
 * nothing is kept (an input was fed otherwise) or there is no such row. */
Status trainlet_session_decode(TrainletSession *s, TrainletPart part, const TrainletDecode *d);
int trainlet_session_output_count(
    const TrainletSession *s); /* outputs of the last run; the tensors of a sequence count */
const TrainletTensor *trainlet_session_output(const TrainletSession *s,
                                              int i); /* valid until the next run; NULL past the last */

/* ---- training ---- */

/* A train run on the feeds of TRAINLET_TRAIN, then optimize, then reset_grad. The errors of run, and
 * STATUS_NON_FINITE_LOSS if the loss or a gradient is NaN or infinite; then no parameter has changed. */
Status trainlet_session_step(TrainletSession *s);
double
trainlet_session_loss(const TrainletSession *s); /* loss of the last step or train run: the model's first output */
/* The L2 norm of all gradients at the last step of the optimizer, before they are clipped. */
double trainlet_session_gradient_norm(const TrainletSession *s);
/* One step of the optimizer with the accumulated gradients. STATUS_INVALID_ARGUMENT without an optimizer,
 * STATUS_NON_FINITE_LOSS if a gradient is not finite. */
Status trainlet_session_optimize(TrainletSession *s);
/* Undoes the train runs since the gradients were last overwritten: gradients, running statistics and random state are
 * as before them. */
void trainlet_session_drop_grad(TrainletSession *s);
void trainlet_session_reset_grad(
    TrainletSession *s); /* the next train run overwrites the gradients instead of adding */

/* ---- train runs that a device computes ----
 *   feed … ─▶ begin ─▶ (plan and state, where they are new) ─▶ the device computes ─▶ end
 *
 * begin finds the program of what was fed, and tells as JSON: its number, whether gradients are overwritten, the bytes
 * of inputs, and the numbers of the update. `anew`: gradients of earlier runs are dropped. NULL on failure. */
const char *trainlet_session_device_begin(TrainletSession *s, bool anew);
/* The steps of that program: operators, where their values lie, attributes. */
const char *trainlet_session_device_plan(TrainletSession *s);
/* The ranges of memory that a device needs a copy of: pairs of address and bytes, of parameters, gradients and moments.
 * A null ends them. */
const char *trainlet_session_device_state(TrainletSession *s);
/* The run is done, and its outputs lie where trainlet_session_output says. `optimize`: the device has made an update,
 * too, unless the loss or the sum of all squared gradients is not finite: STATUS_NON_FINITE_LOSS then. */
Status trainlet_session_device_end(TrainletSession *s, bool optimize, double norm_squared);

/* The first half of a train run with an external loss (artifacts of loss.type `outside`), whose training model stops at
 * a YieldOp for gradients from the caller. forward runs the feeds of TRAINLET_TRAIN up to there; the model's outputs
 * are those of a run. The run stays open under `id`, with memory of its own; several may be open at once. The errors of
 * run, and STATUS_INVALID_ARGUMENT if the training model has its own loss. */
Status trainlet_session_forward(TrainletSession *s, int *id);
/* Returns the place to write the gradient of one of the run's outputs to, in the output's type and shape. Gradients
 * that are not fed are zero. NULL if there is no such output, run or shape (STATUS_INVALID_FEED,
 * STATUS_INVALID_ARGUMENT); then the gradients fed so far are forgotten. */
void *trainlet_session_feed_gradient(TrainletSession *s, int id, const char *output, int type, int rank,
                                     const int64_t *dims);
/* The second half: adds the gradients of the parameters to the accumulated ones, as a run of TRAINLET_TRAIN does, and
 * ends the forward run. The outputs are then the gradients with respect to `inputs` (names, one a line; NULL: none),
 * under these names. STATUS_INVALID_FEED: no gradient was fed, or an input has none; the call may be repeated, also
 * after STATUS_OUT_OF_MEMORY. STATUS_INVALID_ARGUMENT: the run is not open any more, or parameters have changed since.
 * STATUS_ABORTED: all accumulated gradients are dropped. */
Status trainlet_session_backward(TrainletSession *s, int id, const char *inputs);
/* Frees a forward run that will have no backward; nothing happens if it is not open. */
void trainlet_session_drop_forward(TrainletSession *s, int id);
/* Says that the caller wrote parameters through trainlet_session_parameter: open forward runs become invalid. */
void trainlet_session_changed(TrainletSession *s);

double trainlet_session_lr(const TrainletSession *s); /* the learning rate; 0 without an optimizer */
void trainlet_session_set_lr(TrainletSession *s, double lr);
int64_t
trainlet_session_steps(const TrainletSession *s); /* steps of the optimizer, including those of earlier sessions */
void trainlet_session_set_seed(TrainletSession *s, uint64_t seed); /* seeds random operators, from the next run on */

/* ---- parameters, in the order of the train model's inputs; those that it lacks follow ---- */

int trainlet_session_parameter_count(const TrainletSession *s); /* 0 before ready */
/* Its name, shape and values, which may be written in place before the next run; all 0 past the last. */
TrainletTensor trainlet_session_parameter(TrainletSession *s, int i);
bool trainlet_session_parameter_trainable(const TrainletSession *s, int i);
/* Trains exactly the float32 parameters whose names match one of the patterns (* and ?, one a line), provided that the
 * loss depends on them and their values are finite; running statistics never train. A
 * BatchNormalization whose scale and bias are both frozen uses its running statistics and leaves them as they are.
 * Frozen parameters keep their optimizer state for when they train again; accumulated gradients are dropped, and the
 * best copy is forgotten. STATUS_INVALID_ARGUMENT (a pattern that matches none, a name on which the loss does not
 * depend, or nothing left to train), STATUS_UNSUPPORTED_OP (an operator between them without a gradient); then the
 * session is as before.
 */
Status trainlet_session_set_trainable(TrainletSession *s, const char *patterns);
/* Adapters: a model with LoRA may have several. Each has the values and optimizer state of the parameters that trained
 * when the checkpoint was saved. ADD makes an adapter of a new name that adds nothing yet. USE switches to an adapter,
 * which is then trained, saved and exported; NULL switches to the base alone, which does not train. USE drops
 * accumulated gradients, the best copy, the average and the position of a fit. LEND switches without dropping anything
 * (NULL: the base alone) until RETURN; no step may come between them. DELETE forgets an adapter that is not in use.
 * STATUS_INVALID_ARGUMENT: a model without LoRA, a name that exists already or does not exist. */
typedef enum TrainletAdapter {
  TRAINLET_ADAPTER_ADD,
  TRAINLET_ADAPTER_USE,
  TRAINLET_ADAPTER_LEND,
  TRAINLET_ADAPTER_RETURN,
  TRAINLET_ADAPTER_DELETE
} TrainletAdapter;
Status trainlet_session_adapter(TrainletSession *s, TrainletAdapter what, const char *name);
/* Clamps the float32 parameters whose names match the pattern to least … most at the end of every later step of the
 * optimizer. Both may be infinite; the last pattern that matches wins. Saved in Trainlet's format.
 * STATUS_INVALID_ARGUMENT for least > most, NaN, and a pattern that matches none. */
Status trainlet_session_bound(TrainletSession *s, const char *pattern, double least, double most);
void trainlet_session_unbound(TrainletSession *s); /* forgets the bounds, a checkpoint's too */
/* Sets the parameter groups. Float32 parameters whose names match a group's pattern are updated with the learning rate
 * times its lr_scale, and with its weight decay. A group has four lines, each with a line break: the pattern, lr_scale
 * (empty: 1), weight decay (empty: the optimizer's), anchor (empty: 0). The last pattern that matches wins; groups do
 * not change other parameters. An anchor α adds α · (p − p₀) to the gradient before a step; p₀ is the parameter's value
 * when its group first got an anchor. Saved in Trainlet's format. STATUS_INVALID_ARGUMENT for a pattern that matches
 * none and a number that is not finite or below 0; then nothing has changed. */
Status trainlet_session_set_groups(TrainletSession *s, const char *groups);
/* Keeps an exponential moving average of the parameters that train: a copy after the first step of the optimizer, then
 * decay · average + (1 − decay) · value after each. With decay 0 steps do not change it. `anew` drops it first, as
 * set_trainable does. Saved in Trainlet's format. STATUS_INVALID_ARGUMENT for a decay below 0, of 1 or above. */
Status trainlet_session_set_ema(TrainletSession *s, double decay, bool anew);
/* Swaps the parameters and their average, to evaluate or export the average, and back; no step may come between them.
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

/* ---- a checkpoint's contents besides parameters and optimizer state ---- */

/* Data position i, 0 to 4: epoch, batches done in it, shuffle seed, examples in the data set, batch size; 0 at first.
 * 5: the low 32 bits of the session's seed, to read only.
 */
int64_t trainlet_session_position(const TrainletSession *s, int i);
void trainlet_session_set_position(TrainletSession *s, int i, int64_t value);
/* The state of a fit, besides the position: any text, "" for none. STATUS_INVALID_ARGUMENT if it is not UTF-8. Saved
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
void trainlet_session_property_delete(TrainletSession *s, const char *name); /* nothing happens if there is none */
const char *
trainlet_session_properties(TrainletSession *s); /* JSON, valid until the next call; NULL if memory is out */

/* The loaded checkpoint's parameters, optimizer, properties and data position as JSON. Valid until the next call; NULL
 * if memory is out and, with STATUS_INVALID_ARGUMENT, before a checkpoint is loaded or after ready. */
const char *trainlet_session_checkpoint(TrainletSession *s);
/* The writer of a checkpoint that begins with these bytes, "Trainlet" or "ONNX Runtime"; NULL if they are no
 * checkpoint. */
const char *trainlet_checkpoint_writer(const void *bytes, size_t count);

/* ---- files out ---- */

/* ORT_1: ONNX Runtime 1.16 and 1.17; ORT_2: 1.18 and later. These cannot hold data position and random state, nor
 * adapters that are not in use. ADAPTERS: Trainlet's, for a session with LoRA, with only the parameters that train or
 * belong to an adapter; it is loaded as TRAINLET_ADAPTERS. */
typedef enum TrainletFormat {
  TRAINLET_FORMAT_TRAINLET,
  TRAINLET_FORMAT_ORT_1,
  TRAINLET_FORMAT_ORT_2,
  TRAINLET_FORMAT_ADAPTERS
} TrainletFormat;
/* Saves a checkpoint, with or without the optimizer's state. STATUS_NON_FINITE_LOSS if training has made a value
 * infinite or NaN, STATUS_INVALID_ARGUMENT if the format has no place for something. */
Status trainlet_session_save(TrainletSession *s, bool optimizer_state, TrainletFormat format);
/* TRAINING_INFO: with ONNX's description of the training, so that it can continue elsewhere. TYPES: with the type and
 * shape of every value (value_info), which converters to other formats need. MERGED or ADAPTER_INPUTS may be added to
 * one of these; without them LoRA's adapters are nodes and initializers of their own. MERGED merges them into the
 * weights (STATUS_UNSUPPORTED_OP if one is no float32 constant). ADAPTER_INPUTS makes their matrices inputs of the
 * model; not with TRAINING_INFO. */
typedef enum TrainletExport {
  TRAINLET_EXPORT_MODEL,
  TRAINLET_EXPORT_TRAINING_INFO,
  TRAINLET_EXPORT_TYPES,
  TRAINLET_EXPORT_MERGED = 4,
  TRAINLET_EXPORT_ADAPTER_INPUTS = 8
} TrainletExport;
/* Exports the inference model with the current parameters. outputs: names, one a line; NULL: the model's own.
 * STATUS_INVALID_ARGUMENT for names that do not exist and for training that ONNX cannot describe,
 * STATUS_NON_FINITE_LOSS as for save. */
Status trainlet_session_export(TrainletSession *s, const char *outputs, TrainletExport form);
/* The layer that computes an output of the eval model, as JSON: {"features": the value that it reads, "weight", "bias"
 * (absent: it has none), "classes": their number, "axis": the weight's axis of classes}. Valid until the next call;
 * NULL if memory is out and, with STATUS_INVALID_ARGUMENT, unless the output comes from a Gemm, or a MatMul with or
 * without an Add, whose weight is a parameter that nothing else reads. */
const char *trainlet_session_output_layer(TrainletSession *s, const char *output);
/* Makes the part (TRAINLET_TRAIN, _EVAL, _OPTIMIZER or _CHECKPOINT) of a session like this one whose output has `count`
 * more classes. The new classes get `weights` (count, features), `biases` (count) and moments of zero. A fit, its best
 * parameters and a calibration are forgotten; all else stays. names: of all classes, a JSON array of strings, or "".
 * STATUS_INVALID_ARGUMENT as for output_layer, and if a reader of the output does not take more classes; the errors of
 * save. */
Status trainlet_session_extend(TrainletSession *s, TrainletPart part, const char *output, const char *names, int count,
                               const float *weights, const float *biases);
/* The format of float32 parameters of two or more dims in a compact file: float32; float16; or symmetric int8 with a
 * scale for each channel of the first dim. Parameters that float16 or int8 cannot hold stay float32. */
typedef enum TrainletWeights {
  TRAINLET_WEIGHTS_EXACT,
  TRAINLET_WEIGHTS_FLOAT16,
  TRAINLET_WEIGHTS_INT8
} TrainletWeights;
/* Writes the loaded parts as one compact file (docs/guides/compact.md), before ready: a train model, a checkpoint, and
 * an eval and optimizer model if they are loaded. STATUS_INVALID_ARGUMENT if one of the first two is missing, after
 * ready, and for a model whose nodes depend on feeds. */
Status trainlet_session_compact(TrainletSession *s, TrainletWeights weights);
/* The file of the last save, export, extend or compact and its size; NULL and 0 if there is none. */
const void *trainlet_session_result(const TrainletSession *s, size_t *bytes);
void trainlet_session_result_free(TrainletSession *s);

/* ---- a trainer: steps alone, on batches of one size, in the least memory ---- */

/* A trainer takes all its memory while it loads its file, and keeps nothing that a step does not read. Its losses equal
 * those of a session with the same feeds, to the bit. It neither evaluates nor saves: callers read its parameters in
 * place, and it drops a checkpoint's properties, best parameters and averages. */
typedef struct TrainletTrainer TrainletTrainer;

TrainletTrainer *trainlet_trainer_new(void);                   /* NULL if memory is out */
void trainlet_trainer_free(TrainletTrainer *t);                /* NULL is ignored */
const Error *trainlet_trainer_error(const TrainletTrainer *t); /* the last call's; its status is 0 when it succeeded */
/* Fixes the free dim of that name (as N in `x (N, 784)`) at `size`, before the file is loaded. STATUS_INVALID_ARGUMENT
 * for a size below 0 and after the file. */
Status trainlet_trainer_dim(TrainletTrainer *t, const char *name, int64_t size);
/* Loads a compact file (docs/guides/compact.md) with an optimizer and reads it in place (for instance in flash). Its
 * bytes may be freed when this returns. A trainer that fails here cannot be used any more. STATUS_INVALID_MODEL,
 * STATUS_UNSUPPORTED_OP (strings, and shapes that depend on computed values, too), STATUS_CHECKPOINT_CORRUPT,
 * STATUS_CHECKPOINT_MISMATCH, STATUS_UNSUPPORTED_VERSION, STATUS_TOO_MUCH_WORK (more than 1e13 multiply-adds a step),
 * STATUS_INVALID_ARGUMENT (a dim that was not set or is not free, a file without optimizer or values, a second file).
 */
Status trainlet_trainer_load(TrainletTrainer *t, const void *file, size_t bytes);
/* The address of the tensor of that name, which never changes, and its size in bytes: an input, to be written before a
 * step; an output of the training model, as the last step left it; or a parameter. NULL and 0 for all others. */
void *trainlet_trainer_data(TrainletTrainer *t, const char *name, size_t *bytes);
/* One step on the current inputs. STATUS_INVALID_FEED for a label that is no class, STATUS_NON_FINITE_LOSS if the loss
 * or a gradient is NaN or infinite; then no parameter has changed. */
Status trainlet_trainer_step(TrainletTrainer *t);
double trainlet_trainer_loss(const TrainletTrainer *t); /* loss of the last step */
void trainlet_trainer_set_lr(TrainletTrainer *t, double lr);
/* The bytes of parameters, gradients, optimizer state, a step's intermediate values and its inputs. */
size_t trainlet_trainer_plan_bytes(const TrainletTrainer *t);

#ifdef __cplusplus
}
#endif
