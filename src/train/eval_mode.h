/* Eval mode: nodes of a training graph that run as in inference, because what they belong to does not train. */
#pragma once
#include "graph/graph.h"

/* Ends the name of a Dropout that is an adapter's: it drops though nothing before it trains. */
#define LORA_DROPOUT ".lora_dropout"

/* eval_mode[i] of the nodes of m, a model or a training graph. A BatchNormalization whose scale and bias are parameters
 * that do not train; one without such, and a Dropout, where weights come before it of which none trains; and a
 * BatchNormalization that was in inference mode when others were exported in training. `trained`: of m's values. */
Status eval_mode_find(const Graph *m, const bool *trained, bool batch_norm, Arena *arena, bool *eval_mode);
