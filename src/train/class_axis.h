/* Class axis: along which axis of its scores a cross-entropy finds the classes, where nobody has said. */
#pragma once
#include "graph/graph.h"

/* True: the last one, as of a language model's (N, tokens, classes), which a product with a weight gives; false: axis
 * 1, as ONNX and PyTorch's losses have it, and a convolution's (N, classes, …). */
bool class_axis_is_last(const Value *scores);

/* True if v is a weight, or a Transpose, a Cast, a DequantizeLinear … of one. */
bool value_is_weight(const Value *v);
