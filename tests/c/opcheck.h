/* Opcheck: what the harness holds every operator to, case by case. */
#pragma once
#include <stdio.h>

#include "machine.h"
#include "opcase.h"

enum { OUTPUTS_MAX = 8 };

/* Copies of a run's outputs; absent ones have data NULL. */
typedef struct CaseResult {
  int count;
  DType type[OUTPUTS_MAX];
  Shape shape[OUTPUTS_MAX];
  void *data[OUTPUTS_MAX];
  size_t bytes[OUTPUTS_MAX];
} CaseResult;
void case_result_free(CaseResult *r);

/* Writes the case's inputs into the graph's input values. */
void case_feed(const OpCase *c, Graph *g, Machine *m);

/* Outputs typed and shaped by infer; the same bits in clean and in dirty memory, in place, and through a symbolic graph
 * that was cloned with numbers; nothing written past an end or over an input. `result` gets the outputs; false when it
 * has none. */
bool check_forward(const OpCase *c, CaseResult *result);

/* The gradient towards every fed float input against central differences, alone and together, in numbers and in
 * symbols. With grads: those of output 0 for the golden file, by input (malloc'ed; NULL where none flows). */
void check_gradient(const OpCase *c, float *grads[OPCASE_INPUTS]);
/* dy of output `output`, element i. */
float case_dy(int output, size_t i);

/* Golden numbers of PyTorch: tests/golden/data/ops.txt. */
typedef struct Golden Golden;
Golden *golden_read(const char *path); /* NULL when it cannot be read */
bool golden_has(const Golden *golden, const char *key);
/* Holds outputs and gradients to the lines of this case; marks them used. */
void golden_check(Golden *golden, const OpCase *c, const CaseResult *r, float *const grads[OPCASE_INPUTS]);
/* The number of cases in the file that no operator has any more; names one in `key`. */
int golden_unused(const Golden *golden, const char **key);
void golden_free(Golden *golden);

/* One case as a JSON object, for tests/golden/scripts/make_ops.py. */
void golden_dump(FILE *file, const OpCase *c, const CaseResult *r);
