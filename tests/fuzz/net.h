/* Net: a random valid network, decoded from bytes: written as ONNX, and evaluated by plain loops in double, which know
 * nothing of the engine.
 *
 *   Net ─▶ values[]   inputs and activations, whose first dim is the batch (-1), and parameters
 *       ─▶ steps[]    in the order of running; the last gives (batch, NET_CLASSES)
 */
#pragma once
#include "fuzz.h"

enum { NET_RANK = 5, NET_VALUES = 96, NET_STEPS = 20, NET_ELEMENTS = 200, NET_CLASSES = 3, NET_NUMBERS = 8 };

typedef enum NetOp {
  NET_UNARY,
  NET_BINARY,
  NET_MATMUL,
  NET_GEMM,
  NET_CONV,
  NET_POOL,
  NET_GLOBAL_POOL,
  NET_BATCH_NORM,
  NET_LAYER_NORM,
  NET_SOFTMAX,
  NET_DROPOUT,
  NET_VIEW,
  NET_TRANSPOSE,
  NET_CONCAT,
  NET_SLICE,
  NET_PAD,
  NET_REDUCE,
  NET_GATHER,
  NET_OPS
} NetOp;

typedef struct NetValue {
  char name[8];
  int rank, dim[NET_RANK];
  float *data; /* a parameter's; else NULL */
} NetValue;

typedef struct NetStep {
  NetOp op;
  int kind; /* variant: see the tables in net.c */
  int in[5], in_count, out;
  int p[NET_NUMBERS];
  float f;
} NetStep;

typedef struct Net {
  Arena arena;
  NetValue values[NET_VALUES];
  NetStep steps[NET_STEPS];
  int value_count, step_count, input_count; /* the inputs are the first values */
  bool random;                              /* a Dropout draws in training */
} Net;

void net_decode(Net *net, Input *in);
uint8_t *net_write(const Net *net, size_t *bytes); /* malloc'ed */
size_t net_count(const NetValue *v, int batch);

typedef struct Plain {
  Arena arena;
  const Net *net;
  int batch;
  bool training; /* BatchNormalization takes the batch's own statistics */
  double *x[NET_VALUES];
  double largest; /* absolute value */
  bool single;    /* a BatchNormalization trains on one value of a channel, which is refused */
  bool kink;      /* something stands so near a corner of its function that rounding decides on its gradient */
} Plain;

/* `nudge`: what the inputs are changed by, relatively, and each value by what rounding to float may do, to see how much
 * that matters; 0: nothing. */
void plain_run(Plain *p, const Net *net, int batch, bool training, float *const *inputs, double nudge);
double plain_loss(const Plain *p, const int64_t *classes,
                  const float *targets); /* cross-entropy with classes, else mse */

/* Tables by kind: NET_UNARY, NET_BINARY, NET_REDUCE. */
typedef struct NetUnary {
  const char *name;
  double (*f)(double x);
  double corner[2]; /* its gradient jumps here; NAN: nowhere */
} NetUnary;
extern const NetUnary net_unary[];
extern const int net_unary_count;
enum { NET_ADD, NET_SUB, NET_MUL, NET_DIV, NET_MAX, NET_MIN, NET_BINARIES };
enum { NET_SUM, NET_MEAN, NET_REDUCE_MAX, NET_SUM_SQUARE, NET_REDUCES };
enum { NET_IDENTITY, NET_RESHAPE, NET_FLATTEN, NET_UNSQUEEZE, NET_SQUEEZE, NET_VIEWS };
