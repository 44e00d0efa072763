/* Passes: each rewrites a bound graph (every shape a number) into an equal, faster one, has a file of its own, and can
 * be switched off.
 *
 *   bound graph ─ fold ─ identity ─ duplicate ─ … ─▶ bound graph with fewer, larger nodes, none of them dead
 */
#pragma once
#include "graph/graph.h"

/* Bit of each pass in a mask. */
enum {
#define PASS(name) PASS_##name,
#define LATE_PASS PASS
#include "passes/passes.def"
#undef LATE_PASS
#undef PASS
  PASS_COUNT
};
enum { PASSES_ALL = (1u << PASS_COUNT) - 1 };

/* Runs the passes whose bits are in `mask`, in their order, and drops the nodes that nobody reads any more. */
Status passes_run(Graph *g, unsigned mask);
/* Runs only those that find an operator in its pieces, on a graph with symbols, before backward, so that the operator's
 * own gradient is used. The graph's outputs keep their names. */
Status passes_recognise(Graph *g, unsigned mask);
const char *passes_name(int i); /* NULL past the end */
unsigned passes_seen(void);     /* bits of those that have changed a graph since the program began */

/* BatchNormalization with given statistics becomes part of the weights before it. It runs before fold, which computes
 * the weights once if they are constants. */
Status pass_batch_norm(Graph *g);
/* Computes what depends only on constants while planning, and makes known shapes constants. */
Status pass_fold(Graph *g);
/* Drops nodes whose output is their input: Identity, Dropout that does not train, Cast to the same type; a Transpose
 * that moves no element becomes a Reshape. */
Status pass_identity(Graph *g);
/* Computes once what two nodes compute from the same inputs. */
Status pass_duplicate(Graph *g);
/* LayerNormalization in pieces becomes one node. */
Status pass_layer_norm(Graph *g);
/* Gelu in pieces becomes one node. */
Status pass_gelu(Graph *g);
/* Comparisons and Where, the gradient of Clip, become ClipGrad. */
Status pass_clip_grad(Graph *g);
/* Two Transposes become one, and a Transpose of a product's operand or result becomes part of the product. */
Status pass_transpose(Graph *g);
/* softmax(Q Kᵀ) V in pieces becomes Attention, its gradient AttentionGrad. */
Status pass_attention(Graph *g);
/* MatMul + Add becomes Gemm. */
Status pass_bias(Graph *g);
/* Products read constant and frozen weights of 8 or 16 bits as they are. */
Status pass_weight_only(Graph *g);
/* Relu or Clip after Gemm or Conv becomes FusedGemm or FusedConv. */
Status pass_activation(Graph *g);
/* A product adds to the accumulator of its gradient; not for graphs whose accumulators overwrite. */
Status pass_accumulate(Graph *g);
