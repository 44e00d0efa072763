/* Op: an operator is one constant of this type in one file of its own, and one line in ops.def.
 *
 *   infer ─▶ (grad emits nodes) ─▶ plan gives memory ─▶ run, run, run …
 */
#pragma once
#include "graph/graph.h"
#include "text_builder.h"

/* A test case for the harness: inputs as text, attributes as text.
 *   in:      "f32[2,3]  f32[3]:0.5..2  i64[2]=2,-1  v:i64[2]=0,1  -"
 *            - f32 is filled with distinct values in -1.5..1.5, none nearer to 0 than 0.05, or in the range given;
 *            - `=` gives the contents and makes it a constant, so that shapes and axes are known; a `*` after the last
 *              number repeats it for all elements that are left; with `v:` it is an ordinary input;
 *            - `-` is an absent optional input.
 *   attrs:   "axis=1 alpha=0.5 pads=[1,1,1,1] mode=reflect"
 *            A number with a point is a float, [..] is a list (of words, too).
 *   opset:   of the operator's own domain; 0 is the newest we have (ai.onnx 17, com.microsoft 1)
 *   outputs: how many to ask for; 0 is 1
 */
typedef struct Case {
  const char *in, *attrs;
  int opset, outputs;
  const char *no_grad; /* why the gradient is not checked by differences in this case; NULL if it is */
  bool kink;           /* the slope at x is a matter of choice: only PyTorch's numbers check the gradient */
} Case;

/* The gradient of one node, being written. */
typedef struct Grad {
  Graph *graph;
  Node *node;
  Value **dy;       /* gradient of each output; NULL where none flows */
  Value **dx;       /* to be filled where want[i]; it may have the broadcast shape, backward sums it down */
  const bool *want; /* inputs whose gradient is needed */
} Grad;

/* A node that is being replaced by others: `node` itself is in no graph; the outputs of the others go into `out`, up to
 * node->out_count. */
typedef struct Expansion {
  Graph *graph;
  Node *node;
  Value **out;
  Added rest; /* or the node that is left to do, which has the same outputs: if its `op` is set, `out` is not filled */
  const char *const *names; /* names for the outputs; NULL: any names */
  bool named;               /* the values in `out` have these names */
} Expansion;

typedef struct Upgrade Upgrade;

/* An operator that computes output 0 again from tensors that the node saved, to hold less memory in between. */
typedef struct Recompute {
  const Op *op;   /* with one output and the node's attributes */
  unsigned saved; /* bit i: its input i is the node's output i; the others are the node's inputs */
} Recompute;

/* The result of a loss's last run: the amount that it counted, and the first label that is no class. */
typedef struct Counted {
  double weight; /* the labels that are not ignored, each by the weight of its class; of a loss of numbers, elements */
  bool sum;      /* the loss is a sum over them, not a mean */
  int labels;    /* the input that they are, of scores that are input 0; 0: it is a loss of numbers */
  bool ignores;  /* labels of `ignored` do not count */
  int64_t ignored;
  int64_t stray_at; /* the element of the labels that is no class; -1: none */
  int64_t stray;    /* that label */
} Counted;

enum {
  OP_VIEW = 1 << 0,    /* output 0 is input 0's bytes in another shape: run is not called when they are shared */
  OP_RANDOM = 1 << 1,  /* draws from graph->rng: never folded */
  OP_UPDATES = 1 << 2, /* writes inputs in place as .updates says: never folded; dropped where neither output nor update
                          is wanted */
  OP_OURS = 1 << 3,    /* ONNX Runtime does not run it as we write it: generateArtifacts warns */
  OP_ALONE = 1 << 4,   /* the input that in_place overwrites must not be another input too: that is still read */
  OP_COSTLY = 1 << 5,  /* expensive: not computed a second time to save memory */
  /* Types of inputs and outputs. */
  OP_ANY_TYPE = 1 << 6, /* takes every float and int as it is: it only moves elements, or has code for each type */
  OP_FLOAT64 = 1 << 7,  /* takes float64 as it is; the others compute it in float32 */
  OP_SMALL_IN_FLOAT = 1 << 8, /* small ints are computed in float32, which holds them, not in int64 */
  OP_WIDE_OUT = 1 << 9,       /* its int64 outputs are int64 whatever the type of the inputs: positions, sizes */
  OP_STRINGS = 1 << 10,       /* it takes and gives strings as well: no other operator does */
  OP_SEQUENCES = 1 << 11,     /* it takes sequences */
  OP_SUBGRAPHS = 1 << 12, /* carries subgraphs: captured values are its last inputs, and its nodes are deferred alone */
  /* Its gradient. */
  OP_STRAIGHT_THROUGH = 1 << 13, /* its outputs carry a gradient, though they are ints */
  OP_STEPS = 1 << 14,            /* a step function: differences cannot check the gradient that it passes on */
  OP_FIRST_ALONE = 1 << 15,      /* outputs after the first carry no gradient: statistics, as in PyTorch */
  OP_PICKS = 1 << 16,            /* any output may be absent in one run and wanted in the next; computed if wanted */
  /* Roles of the learned inputs: .weights, .biases, .scales (train/weights.h). */
  OP_ALONG_AXIS = 1 << 17, /* a bias or scale only where it is a vector along one axis of what depends on a weight */
  OP_REPEATS = 1 << 18,    /* its output repeats elements, so that no weight is read through it */
  /* Data that run reads besides NODE_RUN_BYTES. */
  OP_ATTRIBUTES = 1 << 19, /* attributes, which infer has not put into params */
};

enum { SINCE_MAX = 12, UPDATES_MAX = 8 };

typedef struct OpCount {
  signed char min, max; /* max -1: any number */
} OpCount;

struct Op {
  const char *name;
  const char *domain;     /* NULL is ai.onnx */
  short since[SINCE_MAX]; /* versions of the domain's opset at which its meaning changed, ascending, 0 ends */
  OpCount inputs;         /* the first `min` must be there */
  OpCount outputs;        /* left out: one */
  unsigned flags;
  /* Bit i: output 0 may have input i's bytes when nobody reads that input later (same type and shape). */
  unsigned in_place;
  /* Bit i: input i is what a layer learns: a matrix, table or kernel; what it adds; what it multiplies by. */
  unsigned weights, biases, scales;
  signed char updates[UPDATES_MAX]; /* OP_UPDATES: output k is input updates[k]'s own bytes where updates[k] > 0 */
  /* Checks inputs and attributes; sets types and shapes of outputs, params and scratch_bytes. */
  Status (*infer)(Node *n);
  /* Computes: every shape is numbers, every data pointer is set; may not fail or allocate. */
  void (*run)(const Node *n);
  Status (*grad)(Grad *g); /* NULL: not differentiable */
  /* True if run reads the input's data; NULL: always. If not, its memory may be free by then. */
  bool (*reads)(const Node *n, int input);
  /* Instead of infer, run and grad: emits the operators that it is made of, which have gradients. */
  Status (*expand)(Expansion *c);
  bool (*expands)(const Added *a); /* true if it expands; NULL: always. If not, infer, run and grad are used */
  /* Turns a node of an opset before 13 into one of 13 (graph/upgrade.h); NULL: nothing differs. */
  Status (*upgrade)(Upgrade *u);
  Counted (*counted)(const Node *n); /* set where it may be the last node of a loss; else NULL */
  /* Multiply-adds of run besides those for reading and writing elements, rather too many than too few; NULL: none. */
  double (*work)(const Node *n);
  /* Data about this operator for an infer or run that several operators share, such as its Arithmetic. */
  const void *own;
  const Recompute *recompute; /* NULL: by the operator itself, unless its flags forbid it */
  const Case *cases;          /* ends with in == NULL */
};

/* The cases of an operator, each in braces. The wasm build leaves them out: they are text for the harness. */
#ifdef TRAINLET_NO_CASES
#define CASES(...) NULL
#else
#define CASES(...) ((const Case[]){__VA_ARGS__, {0}})
#endif

/* The value of an operator's .grad. A build from source that differentiates nothing leaves it out (wasm/keep.cmake). */
#ifdef TRAINLET_NO_GRADIENTS
#define GRADIENT(function) (0 ? function : NULL)
#else
#define GRADIENT(function) function
#endif

/* Defines an operator; its line in ops.def puts it into the table. A file that names other operators includes
 * ops/ops.h. */
#ifdef TRAINLET_LEFT_OUT /* wasm/keep.cmake: it is not in the table, and only compared with */
#define OPERATOR(stem)                                                                                                 \
  extern const Op op_##stem;                                                                                           \
  const Op op_##stem = {.name = ""};                                                                                   \
  static const Op left_out_##stem __attribute__((unused))
#else
#define OPERATOR(name)                                                                                                 \
  extern const Op op_##name;                                                                                           \
  const Op op_##name
#endif

/* In the table (src/ops/table.c). */
const Op *op_find_in(const char *domain, const char *name); /* "" is ai.onnx; NULL when we lack it */
/* Finds an operator by the name with which the engine emits it: that of ai.onnx, else that of the only domain that has
 * it; NULL when none or several do. To get one of several, add the domain: "com.trainlet.FusedConv". */
const Op *op_find(const char *name);
/* Notes that a graph had a node of it: what a build for just these graphs must keep. */
void op_see(const Op *op);
void op_print_seen(TextBuilder *p); /* prints operators noted since the program began: DOMAIN.NAME, a line each */

/* ---- for messages: a name alone may be one that only the exporter has chosen ---- */
enum { TITLE_TEXT = 400 };
/* Gemm 'node_linear_1' in 'head.fc'; of a part: MatMul 'MatMul_3' of Einsum 'node_einsum' in 'attention'. */
const char *node_title(const Node *n, char text[TITLE_TEXT]);
/* 'linear_1' (of Gemm 'node_linear_1' in 'head.fc'); of what no node computes: 'x'. */
const char *value_title(const Value *v, char text[TITLE_TEXT]);

/* ---- for infer ---- */
/* invalid-model (or another status): "Gemm 'fc1': " + the sentence. */
Status node_fail(const Node *n, Status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define node_invalid(n, ...) node_fail(n, STATUS_INVALID_MODEL, __VA_ARGS__)

const Attr *node_attr(const Node *n, const char *name, AttrKind kind); /* NULL when absent or of another kind */
int64_t node_int(const Node *n, const char *name, int64_t otherwise);
float node_float(const Node *n, const char *name, float otherwise);
const char *node_string(const Node *n, const char *name, const char *otherwise);
const int64_t *node_ints(const Node *n, const char *name, int *count); /* NULL, 0 when absent */
/* Finds the attribute's word among the choices; unsupported-op with a sentence if it is none of them. */
Status node_choice(const Node *n, const char *name, const char *otherwise, const char *const *choices, int count,
                   int *out);

Status node_want_type(const Node *n, int input, DType type); /* unsupported-op with a sentence when it has another */
#define node_want_float(n, input) node_want_type(n, input, DTYPE_FLOAT32)
Status node_want_index(const Node *n, int input); /* int32 or int64 */
Status node_want_rank(const Node *n, int input, int min, int max);
/* Fails while that dim is a symbol: a node that needs its number is put off until it has one. */
Status node_want_number(const Node *n, int input, int axis);
Status node_axis(const Node *n, int64_t axis, int rank, int *out); /* negative axes counted from the end, checked */
/* Contents of an input known before the run (shapes, axes): its dims and count. Fails with a sentence when it is not
 * known. */
Status node_known(const Node *n, int input, const Dim **dims, int *count);
/* The same for contents that are not dims, of any size. */
Status node_contents(const Node *n, int input, const void **data);
/* For a size that depends on the contents of inputs, as an infer gives it beside an expansion that knows them: a new
 * symbol, or where a session can compute the contents, STATUS_DEFERRED. */
Status node_deferred_dim(const Node *n, Dim *size);
/* When this input's contents are missing: STATUS_DEFERRED if the node can be deferred until a session has computed
 * them, else unsupported-op with the sentence. */
Status node_defer(const Node *n, int input, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* True if in[input]->known is set. Computes it now if that needs only constants and the value is a small integer. */
bool node_is_known(const Node *n, int input);
void *node_params(Node *n, size_t bytes); /* zeroed; NULL when memory is out: return STATUS_OUT_OF_MEMORY then */
#define NODE_PARAMS(n, Type) ((Type *)node_params(n, sizeof(Type)))
/* Sets output i if it is wanted; refuses a shape whose bytes overflow. */
Status node_output(Node *n, int i, DType type, const Shape *shape);
void node_output_known(Node *n, int i, const Dim *dims, int count); /* copied; ignored for more than 64 */
/* NumPy broadcasting; symbols that differ are taken to be equal and noted in n->stretches, a symbol against a number ≠
 * 1 gives the number. */
Status node_broadcast(Node *n, const Shape *a, const Shape *b, Shape *out);
bool node_is_concrete(const Node *n); /* every input shape consists of numbers, so scratch_bytes can be computed */

/* ---- for run ---- */
static inline const float *in_f32(const Node *n, int i) { return (const float *)n->in[i]->data; }
static inline float *out_f32(const Node *n, int i) { return (float *)n->out[i]->data; }
static inline bool has_in(const Node *n, int i) { return i < n->in_count && n->in[i] != NULL; }
static inline bool has_out(const Node *n, int i) { return i < n->out_count && n->out[i] != NULL; }
/* NULL where the node does not have the output. */
static inline float *out_f32_if(const Node *n, int i) { return has_out(n, i) ? out_f32(n, i) : NULL; }
static inline size_t in_count(const Node *n, int i) { return shape_elements(&n->in[i]->shape); }
static inline size_t out_count(const Node *n, int i) { return shape_elements(&n->out[i]->shape); }
