/* Machine: runs a graph of numbers in plain memory, every value in a guarded block of its own; what a plan would do,
 * slowly. */
#pragma once
#include "graph/graph.h"

typedef struct Machine {
  Graph *g;
  void **raw;   /* one per value, NULL for constants */
  void *shared; /* block of the input that output 0 of node 0 is written over, or NULL */
} Machine;

/* Memory for every value, filled with `fill`. Inputs and states are zero until machine_set. False with a sentence in
 * `problem` when a shape is not numbers. */
bool machine_new(Machine *m, Graph *g, int fill, char problem[160]);
void machine_set(Machine *m, Value *v, const void *data, size_t bytes);
/* Output 0 of node 0 gets the bytes of `input`. */
void machine_share(Machine *m, Value *input);
void machine_run(Machine *m);
/* The first value written past its end, "" when none. */
const char *machine_overrun(const Machine *m);
void machine_free(Machine *m);
/* True if any machine of this program ran a node of the op. */
bool machine_has_run(const Op *op);
