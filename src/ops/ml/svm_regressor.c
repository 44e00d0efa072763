/* SVMRegressor: y = Σ coefficient · K(x, support vector) + rho; of a one-class model 1 where that is above 0, else -1.
 */
#include "graph/expansion.h"
#include "kernels/rows.h"
#include "ops/ml/support_vectors.h"
#include "threads.h"

typedef struct Regressor {
  SupportVectors vectors;
  const float *coefficients; /* NULL: the vector itself is the coefficients */
  float rho;
  bool one_class;
} Regressor;

static Status svm_regressor_infer(Node *n) {
  Regressor *p = NODE_PARAMS(n, Regressor);
  if (!p) return STATUS_OUT_OF_MEMORY;
  SvmFloats coefficients = svm_floats(n, "coefficients"), rho = svm_floats(n, "rho");
  int64_t supports = node_int(n, "n_supports", 0);
  if (supports < 0) return node_invalid(n, "n_supports is %lld", (long long)supports);
  if (!rho.count) return node_invalid(n, "its attribute 'rho' must be there");
  TRY(node_want_float(n, 0));
  if (supports) TRY(svm_read(n, (size_t)supports, svm_floats(n, "support_vectors"), &p->vectors));
  else TRY(svm_read(n, 1, coefficients, &p->vectors));
  if (supports && coefficients.count < (size_t)supports)
    return node_invalid(n, "it has %zu coefficients for %lld support vectors", coefficients.count, (long long)supports);
  if (!supports) p->vectors.kernel = SVM_LINEAR;
  p->coefficients = supports ? coefficients.items : NULL;
  p->rho = rho.items[0];
  p->one_class = node_int(n, "one_class", 0) != 0;
  if (!size_multiply(p->vectors.count * sizeof(float), (size_t)threads_count(), &n->scratch_bytes))
    return STATUS_OUT_OF_MEMORY;
  Shape y = SHAPE(n->in[0]->shape.rank == 1 ? 1 : n->in[0]->shape.dim[0], 1);
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

static void run_row(void *context, size_t row, int thread) {
  const Node *n = context;
  const Regressor *p = n->params;
  const SupportVectors *v = &p->vectors;
  float *kernels = (float *)n->scratch + (size_t)thread * v->count;
  svm_kernels(v, in_f32(n, 0) + row * v->features, kernels);
  float y = (p->coefficients ? row_product(kernels, p->coefficients, v->count) : kernels[0]) + p->rho;
  out_f32(n, 0)[row] = !p->one_class ? y : y > 0 ? 1 : -1;
}

static void svm_regressor_run(const Node *n) { threads_run(out_count(n, 0), run_row, (void *)(uintptr_t)n); }

static double svm_regressor_work(const Node *n) { return svm_work(n, &((const Regressor *)n->params)->vectors); }

OPERATOR(svm_regressor) = {
    .name = "SVMRegressor",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .infer = svm_regressor_infer,
    .run = svm_regressor_run,
    .work = svm_regressor_work,
    .cases = CASES({"f32[5,2]", "n_supports=2 support_vectors=[0.5,1.0,-1.0,0.25] coefficients=[2.0,-1.0] rho=[0.5] "
                                "kernel_type=RBF kernel_params=[0.5,0.0,3.0]"},
                   {"f32[2]", "coefficients=[2.0,-1.0] rho=[0.5] one_class=1"}),
};
