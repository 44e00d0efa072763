/* Batch axis: the operators by how they treat the dims of their operands. */
#include "train/batch_axis.h"

#include <string.h>

#include "graph/known.h"
#include "graph/op.h"

/* Operators by name, between spaces: these keep examples apart wherever the batch is, as their shapes show, */
static const char anywhere[] =
    " Abs Acos Acosh Add And Asin Asinh Atan Atanh BiasGelu BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast "
    "CastLike Ceil Celu Clip Cos Cosh Div Dropout Elu Equal Erf Exp Expand FastGelu Floor FusedMatMul Gelu Gemm "
    "Greater "
    "GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log MatMul Max Mean Min Mish "
    "Mod Mul Neg Not Or PRelu Pow QuickGelu Reciprocal ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum Relu Reshape Round Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softplus Softsign Sqrt "
    "Squeeze Sub Sum Tan Tanh Tile Transpose Unsqueeze Where Xor ";
/* these where it is the first dim, */
static const char first[] = " Attention AveragePool BatchNormalization Conv ConvTranspose GlobalAveragePool "
                            "GlobalMaxPool MatMulNBits MaxPool Pad Resize ";
/* these where it is another dim than their axis, */
static const char off_axis[] = " ArgMax ArgMin Concat DequantizeLinear Gather GatherElements Hardmax LogSoftmax "
                               "QuantizeLinear ScatterElements Softmax Split TopK ";
/* these where it is before their axis. */
static const char before_axis[] = " Flatten LayerNormalization RMSNormalization SimplifiedLayerNormalization ";

bool batch_among(const Node *n, const char *names) {
  size_t length = strlen(n->op->name);
  for (const char *at = names; (at = strstr(at, n->op->name)); at++)
    if (at[-1] == ' ' && at[length] == ' ') return true;
  return false;
}

int batch_axis(const Value *v) {
  int axis = NO_AXIS;
  for (int i = 0; i < v->shape.rank; i++)
    if (dim_is_symbol(v->shape.dim[i])) axis = axis == NO_AXIS ? i : SEVERAL;
  return axis;
}

Value *batch_carrier(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && batch_axis(n->in[i]) != NO_AXIS) return n->in[i];
  return NULL;
}

bool batch_is_recurrent(const Node *n) { return batch_among(n, " LSTM GRU RNN "); }
int batch_axis_of_layer(const Node *n) { return node_int(n, "layout", 0) ? 0 : 1; }

/* The axis of a CumSum is an input; -1 while it is not known. */
static int running_axis(const Node *n, int rank) {
  const Dim *axis = known_of(n->in[1]);
  return !axis || dim_is_symbol(*axis) ? -1 : (int)(*axis < 0 ? *axis + rank : *axis);
}

int batch_own_axis(const Node *n, int rank) {
  bool from_0 = batch_among(n, " ArgMax ArgMin Gather GatherElements ScatterElements Split ");
  bool from_1 = batch_among(n, " DequantizeLinear Flatten QuantizeLinear ");
  int64_t axis = node_int(n, "axis", from_0 ? 0 : from_1 ? 1 : -1);
  return (int)(axis < 0 ? axis + rank : axis);
}

static bool all_have_it_at(const Node *n, int axis) {
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && batch_axis(n->in[i]) != NO_AXIS && batch_axis(n->in[i]) != axis) return false;
  return true;
}

bool batch_keeps_apart(const Node *n, const Value *v) {
  int axis = batch_axis(v);
  if (axis == SEVERAL) return false;
  if (batch_among(n, anywhere)) return true;
  if (batch_among(n, first)) return axis == 0;
  if (batch_is_recurrent(n)) return v == n->in[0] && axis == batch_axis_of_layer(n) && !has_in(n, 4);
  if (batch_among(n, " CumProd CumSum "))
    return running_axis(n, v->shape.rank) >= 0 && axis != running_axis(n, v->shape.rank);
  if (batch_among(n, " GatherND ") && v == n->in[0])
    return batch_axis(n->in[1]) == NO_AXIS; /* adapt looks at the indices */
  if (batch_among(n, " GatherND ")) return !node_int(n, "batch_dims", 0) && axis < v->shape.rank - 1;
  if (batch_among(n, " GatherElements ScatterElements ") && !all_have_it_at(n, axis)) return false;
  if (batch_among(n, " Gather ") && v != n->in[0]) return true; /* a lookup in a table by the examples' indices */
  if (batch_among(n, " Gather ") && n->in[1] && batch_axis(n->in[1]) != NO_AXIS) return false;
  if (batch_among(n, " Gather ") && axis == batch_own_axis(n, v->shape.rank))
    return axis == 0; /* adapt wants all, in order */
  if (batch_among(n, off_axis)) return axis != batch_own_axis(n, v->shape.rank);
  return batch_among(n, before_axis) && axis < batch_own_axis(n, v->shape.rank);
}

static const char elementwise[] = " Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less "
                                  "LessOrEqual Max Mean Min Mod Mul Or PRelu Pow Sub Sum Where Xor ";

bool batch_is_elementwise(const Node *n) { return batch_among(n, elementwise); }
