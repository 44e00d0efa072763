/* Master: weights of float16 and bfloat16 train as float32, as in PyTorch's mixed training.
 *
 *   w (float16) ─▶ nodes        w (float32) ─ Cast ─▶ 'w.float16' ─▶ nodes
 *
 * The exported model has w in its own type again.
 */
#pragma once
#include "graph/graph.h"

bool master_wanted(const Value *v); /* an initializer of float16 or bfloat16 */
Status master_make(Graph *m, Value *v);
Status master_undo(Graph *g); /* in a graph whose parameters are initializers */
