/* MatMulNBits (com.microsoft): y = A · Wᵀ + bias, W (N, K) of 2, 4 or 8 bits a number, frozen.  dA = dY · W by
 * MatMulNBitsGrad, dbias is dY's sum. */
#include "ops/quantize/block_quantized.h"
#include "graph/dims.h"
#include "graph/work.h"

static size_t lines_of(const Node *n) { return shape_span(&n->in[0]->shape, 0, n->in[0]->shape.rank - 1); }

/* True if few rows are multiplied by the quantized numbers directly. */
static bool is_weight_only(const Node *n, WeightOnly *w) {
  return lines_of(n) <= WEIGHT_ONLY_ROWS && block_quantized_weight_only(n, w) && weight_only_fits(w);
}

static Status mat_mul_n_bits_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 1, RANK_MAX));
  TRY(node_want_float(n, 5));
  TRY(block_quantized_infer(n));
  const BlockQuantized *p = n->params;
  Shape y = n->in[0]->shape;
  Dim *last = &y.dim[y.rank - 1];
  if (dim_is_number(*last) && (size_t)*last != p->depth)
    return node_invalid(n, "A has %lld columns, K is %zu", (long long)*last, p->depth);
  if (has_in(n, 5) && (n->in[5]->shape.rank != 1 || !dims_meet(n->in[5]->shape.dim[0], (Dim)p->rows)))
    return node_invalid(n, "the bias must have %zu numbers", p->rows);
  *last = (Dim)p->rows;
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  WeightOnly weight;
  if (!node_is_concrete(n)) return STATUS_OK;
  if (is_weight_only(n, &weight))
    return weight_only_bytes(&weight, lines_of(n), &n->scratch_bytes) ? STATUS_OK : STATUS_OUT_OF_MEMORY;
  Gemm g = block_quantized_gemm(n, false);
  n->scratch_bytes = gemm_bytes(&g);
  return STATUS_OK;
}

static void mat_mul_n_bits_run(const Node *n) {
  const float *bias = has_in(n, 5) ? in_f32(n, 5) : NULL;
  WeightOnly weight;
  if (is_weight_only(n, &weight)) weight_only_run(&weight, lines_of(n), in_f32(n, 0), bias, out_f32(n, 0), n->scratch);
  else block_quantized_run(n, false, bias);
}

static Status mat_mul_n_bits_gradient(Grad *g) {
  const Node *n = g->node;
  AttrList attrs = {n->attrs, n->attr_count};
  Value *in[] = {g->dy[0], n->in[1], n->in[2], has_in(n, 3) ? n->in[3] : EMIT_ABSENT};
  if (g->want[0]) g->dx[0] = emit_first(g->graph, "MatMulNBitsGrad", attrs, in, 4);
  if (has_in(n, 5) && g->want[5]) g->dx[5] = g->dy[0];
  return STATUS_OK;
}

OPERATOR(mat_mul_n_bits) = {
    .name = "MatMulNBits",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 6},
    .biases = 1 << 5,
    .flags = OP_ANY_TYPE | OP_COSTLY,
    .infer = mat_mul_n_bits_infer,
    .run = mat_mul_n_bits_run,
    .grad = GRADIENT(mat_mul_n_bits_gradient),
    .work = work_product,
    .cases =
        CASES({"f32[2,3,40] u8[5,3,8]:0..256 f32[15]=0.1,0.2,0.15,0.3*", "K=40 N=5 block_size=16"},
              {"f32[3,32] u8[140,2,8]:0..256 f32[280]=0.1,0.2,0.3,0.15* u8[140]:0..256 - f32[140]",
               "K=32 N=140 block_size=16 bits=4"},
              {"f32[3,40] u8[4,3,16]:0..256 f32[4,3]=0.01,0.03,0.02* u8[4,3]:0..256", "K=40 N=4 block_size=16 bits=8"},
              {"f32[2,48] u8[6,3,8]:0..256 f32[18]=0.1,0.3,0.2* f32[18]=5,9,6.5*", "K=48 N=6 block_size=16 bits=4"},
              {"f32[2,48] u8[6,3,4]:0..256 f32[18]=0.1,0.3,0.2* u8[6]:0..64", "K=48 N=6 block_size=16 bits=2"},
              {"f32[2,64] u8[6,2,16]:0..256 f32[12]=0.1,0.3,0.2* u8[6]:0..256", "K=64 N=6 block_size=32"},
              {"f32[1,64] u8[6,1,64]:0..256 f32[6]=0.01,0.03,0.02*", "K=64 N=6 block_size=64 bits=8"},
              {"f32[85,32] u8[140,2,8]:0..256 f32[280]=0.1,0.2,0.3,0.15*", "K=32 N=140 block_size=16 bits=4"}),
};
