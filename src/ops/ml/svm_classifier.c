/* SVMClassifier: a decision for each pair of classes, and the class that wins most of them. With prob_a and prob_b, the
 * probabilities that fit the pairs' best; without support vectors, a linear score for each class. As in LIBSVM, with
 * ONNX Runtime's rules for two classes. */
#include <math.h>

#include "graph/expansion.h"
#include "graph/work.h"
#include "ops/ml/class_labels.h"
#include "ops/ml/post_transform.h"
#include "ops/ml/support_vectors.h"
#include "threads.h"

enum { CLASSES_MAX = 4096, ROUNDS = 100 };

typedef struct Classifier {
  SupportVectors vectors;
  ClassLabels labels;
  PostTransform how;
  SvmFloats coefficients, rho, prob_a, prob_b;
  size_t *first; /* support vector of each class and the end; NULL: linear */
  size_t pairs, columns;
  bool positive; /* no coefficient is below 0 */
} Classifier;

static Status read_pairs(Node *n, Classifier *p) {
  int count;
  size_t classes = p->labels.count, vectors = 0;
  const int64_t *per_class = node_ints(n, "vectors_per_class", &count);
  if (!(p->first = ARENA_ARRAY(n->graph->arena, size_t, classes + 1))) return STATUS_OUT_OF_MEMORY;
  if ((size_t)count != classes)
    return node_invalid(n, "vectors_per_class has %d numbers for %zu classes", count, classes);
  for (int i = 0; i < count; i++) {
    if (per_class[i] < 0 || per_class[i] > INT32_MAX)
      return node_invalid(n, "vectors_per_class has %lld", (long long)per_class[i]);
    p->first[i + 1] = vectors += (size_t)per_class[i];
  }
  TRY(svm_read(n, vectors, svm_floats(n, "support_vectors"), &p->vectors));
  if (p->coefficients.count / (classes > 1 ? classes - 1 : 1) < vectors || p->rho.count < p->pairs)
    return node_invalid(n, "%zu coefficients and %zu rho are too few for %zu classes and %zu support vectors",
                        p->coefficients.count, p->rho.count, classes, vectors);
  if (p->prob_a.count != p->prob_b.count || (p->prob_a.count && p->prob_a.count < p->pairs))
    return node_invalid(n, "it has %zu prob_a and %zu prob_b for %zu pairs of classes", p->prob_a.count,
                        p->prob_b.count, p->pairs);
  p->columns = p->prob_a.count || classes == 2 ? classes : p->pairs;
  return STATUS_OK;
}

static bool has_vectors(const Node *n) {
  int count;
  const int64_t *per_class = node_ints(n, "vectors_per_class", &count);
  for (int i = 0; i < count; i++)
    if (per_class[i]) return true;
  return false;
}

/* Kernels, decisions, votes, and of the probabilities r, Q and Qp. */
static size_t row_floats(const Classifier *p) {
  size_t classes = p->labels.count;
  return p->vectors.count + p->pairs + 2 * classes + 2 * classes * classes;
}

static Status svm_classifier_infer(Node *n) {
  Classifier *p = NODE_PARAMS(n, Classifier);
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(class_labels_read(n, "classlabels_ints", "classlabels_strings", &p->labels));
  TRY(post_transform_read(n, &p->how));
  size_t classes = p->labels.count;
  if (classes > CLASSES_MAX || classes < 2) return node_invalid(n, "it has %zu class labels", classes);
  p->pairs = classes * (classes - 1) / 2;
  p->coefficients = svm_floats(n, "coefficients");
  p->rho = svm_floats(n, "rho");
  p->prob_a = svm_floats(n, "prob_a");
  p->prob_b = svm_floats(n, "prob_b");
  p->columns = classes;
  p->positive = true;
  for (size_t i = 0; i < p->coefficients.count; i++) p->positive &= p->coefficients.items[i] >= 0;
  if (has_vectors(n)) TRY(read_pairs(n, p));
  else {
    TRY(svm_read(n, classes, p->coefficients, &p->vectors));
    if (!p->rho.count) return node_invalid(n, "its attribute 'rho' must be there");
    p->vectors.kernel = SVM_LINEAR;
  }
  if (!size_multiply(row_floats(p) * sizeof(float), (size_t)threads_count(), &n->scratch_bytes))
    return STATUS_OUT_OF_MEMORY;
  Dim rows = n->in[0]->shape.rank == 1 ? 1 : n->in[0]->shape.dim[0];
  Shape y = SHAPE(rows), z = SHAPE(rows, (Dim)p->columns);
  TRY(node_output(n, 0, p->labels.type, &y));
  return node_output(n, 1, DTYPE_FLOAT32, &z);
}

/* ---- running ---- */

/* Class i against class j: the vectors of i by row j - 1 of the coefficients, those of j by row i. */
static float decision(const Classifier *p, const float *kernels, size_t i, size_t j, size_t pair) {
  const float *of_i = p->coefficients.items + (j - 1) * p->vectors.count,
              *of_j = p->coefficients.items + i * p->vectors.count;
  double sum = 0;
  for (size_t k = p->first[i]; k < p->first[i + 1]; k++) sum += (double)(of_i[k] * kernels[k]);
  for (size_t k = p->first[j]; k < p->first[j + 1]; k++) sum += (double)(of_j[k] * kernels[k]);
  return (float)(sum + (double)p->rho.items[pair]);
}

static void decide(const Classifier *p, const float *kernels, float *decisions, float *votes) {
  size_t classes = p->labels.count, pair = 0;
  for (size_t i = 0; i < classes; i++) votes[i] = 0;
  for (size_t i = 0; i + 1 < classes; i++)
    for (size_t j = i + 1; j < classes; j++, pair++) {
      decisions[pair] = decision(p, kernels, i, j, pair);
      votes[decisions[pair] > 0 ? i : j]++;
    }
}

/* The probability that a pair gives to its first class. */
static float probability(const Classifier *p, const float *decisions, size_t pair) {
  float q = 1 - post_transform_logistic(decisions[pair] * p->prob_a.items[pair] + p->prob_b.items[pair]);
  return q < 1e-7f ? 1e-7f : q > 1 - 1e-7f ? 1 - 1e-7f : q;
}

/* Probabilities of the classes that fit those of the pairs best, by Wu, Lin and Weng's second method. */
static void couple(size_t classes, const float *r, float *q, float *qp, float *p) {
  for (size_t i = 0; i < classes; i++) {
    p[i] = 1 / (float)classes;
    q[i * classes + i] = 0;
    for (size_t j = 0; j < classes; j++) {
      if (j == i) continue;
      q[i * classes + i] += r[j * classes + i] * r[j * classes + i];
      q[i * classes + j] = -r[j * classes + i] * r[i * classes + j];
    }
  }
  for (int round = 0; round < ROUNDS; round++) {
    float pqp = 0, error = 0;
    for (size_t i = 0; i < classes; i++) {
      qp[i] = 0;
      for (size_t j = 0; j < classes; j++) qp[i] += q[i * classes + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (size_t i = 0; i < classes; i++) {
      float off = fabsf(qp[i] - pqp);
      if (off > error) error = off;
    }
    if (error < 0.005f / (float)classes) return;
    for (size_t i = 0; i < classes; i++) {
      float diff = (pqp - qp[i]) / q[i * classes + i];
      p[i] += diff;
      pqp = (pqp + diff * (diff * q[i * classes + i] + 2 * qp[i])) / (1 + diff) / (1 + diff);
      for (size_t j = 0; j < classes; j++) {
        qp[j] = (qp[j] + diff * q[i * classes + j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }
}

static void probabilities(const Classifier *p, const float *decisions, float *room, float *z) {
  size_t classes = p->labels.count, pair = 0;
  float *r = room + classes, *q = r + classes * classes;
  for (size_t i = 0; i + 1 < classes; i++)
    for (size_t j = i + 1; j < classes; j++, pair++) {
      r[i * classes + j] = probability(p, decisions, pair);
      r[j * classes + i] = 1 - r[i * classes + j];
    }
  couple(classes, r, q, room, z);
  post_transform_row(p->how, z, classes);
}

static size_t largest(const float *x, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (x[i] > x[best]) best = i;
  return best;
}

/* Writes the decisions; two classes have one decision and its opposite. */
static void put_decisions(const Classifier *p, const float *decisions, float *z) {
  float d = decisions[0];
  if (p->pairs > 1) {
    memcpy(z, decisions, p->pairs * sizeof *z);
    post_transform_row(p->how, z, p->pairs);
  } else if (p->how == POST_PROBIT) {
    post_transform_row(p->how, &d, 1);
    z[0] = d, z[1] = 0;
  } else z[0] = p->how == POST_NONE ? -d : 1 - d, z[1] = d;
}

static size_t run_linear(const Classifier *p, float *kernels, float *z) {
  size_t classes = p->labels.count;
  for (size_t i = 0; i < classes; i++) kernels[i] += p->rho.items[0];
  size_t best = largest(kernels, classes);
  if (classes == 2 && kernels[best] >= 0.5f && p->positive) best = 1;
  else if (classes == 2 && kernels[best] > 0 && !p->positive) best = 1;
  if (!z) return best;
  memcpy(z, kernels, classes * sizeof *z);
  post_transform_row(p->how, z, classes);
  return best;
}

static void run_row(void *context, size_t row, int thread) {
  const Node *n = context;
  const Classifier *p = n->params;
  size_t classes = p->labels.count, best;
  float *kernels = (float *)n->scratch + (size_t)thread * row_floats(p), *decisions = kernels + p->vectors.count,
        *votes = decisions + p->pairs, *z = has_out(n, 1) ? out_f32(n, 1) + row * p->columns : NULL;
  svm_kernels(&p->vectors, in_f32(n, 0) + row * p->vectors.features, kernels);
  if (!p->first) best = run_linear(p, kernels, z);
  else {
    decide(p, kernels, decisions, votes);
    best = largest(votes, classes);
    if (z && p->prob_a.count) probabilities(p, decisions, votes + classes, z);
    else if (z) put_decisions(p, decisions, z);
  }
  if (has_out(n, 0)) class_labels_put(&p->labels, n->out[0]->data, row, best);
}

static void svm_classifier_run(const Node *n) {
  threads_run(n->in[0]->shape.rank == 1 ? 1 : (size_t)n->in[0]->shape.dim[0], run_row, (void *)(uintptr_t)n);
}

static double svm_classifier_work(const Node *n) {
  const Classifier *p = n->params;
  double classes = (double)p->labels.count, rows = n->in[0]->shape.rank == 1 ? 1 : (double)n->in[0]->shape.dim[0];
  return svm_work(n, &p->vectors) +
         rows * ((double)p->vectors.count * classes + (p->prob_a.count ? 2 * ROUNDS * classes * classes : 0));
}

/* Other numbers are computed in float32. */
static bool svm_classifier_expands(const Added *a) {
  return a->in_count && a->in[0] && a->in[0]->type != DTYPE_FLOAT32;
}

static Status svm_classifier_expand(Expansion *c) {
  const Node *n = c->node;
  Value *x = expand_cast(c, n->in[0], DTYPE_FLOAT32);
  Node *same = emit_node(c->graph, "ai.onnx.ml.SVMClassifier", (AttrList){n->attrs, n->attr_count}, &x, 1, n->out_count,
                         NULL);
  for (int i = 0; same && i < n->out_count; i++) c->out[i] = same->out[i];
  return c->graph->error->status;
}

OPERATOR(svm_classifier) = {
    .name = "SVMClassifier",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .outputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = svm_classifier_infer,
    .run = svm_classifier_run,
    .expands = svm_classifier_expands,
    .expand = svm_classifier_expand,
    .work = svm_classifier_work,
    .cases = CASES({"f32[5,2]",
                    "vectors_per_class=[1,1] support_vectors=[0.5,1.0,-1.0,0.25] coefficients=[2.0,-1.0] rho=[0.5] "
                    "kernel_type=RBF kernel_params=[0.5,0.0,3.0] classlabels_ints=[3,4]",
                    .outputs = 2},
                   {"f32[5,2]",
                    "vectors_per_class=[1,1,1] support_vectors=[0.5,1.0,-1.0,0.25,1.0,1.0] "
                    "coefficients=[2.0,-1.0,0.5,1.0,-2.0,-1.5] rho=[0.5,0.25,0.1] prob_a=[-1.0,-2.0,-1.5] "
                    "prob_b=[0.1,0.2,0.3] kernel_type=POLY kernel_params=[0.5,1.0,2.0] classlabels_ints=[3,4,5]",
                    .outputs = 2},
                   {"f32[5,2]", "coefficients=[2.0,-1.0,0.5,1.0] rho=[0.5] classlabels_ints=[3,4]", .outputs = 2}),
};
