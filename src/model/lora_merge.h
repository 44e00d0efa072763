/* LoRA in models that are written: the adapters in the weights, or as inputs of the graph. */
#pragma once
#include "graph/graph.h"

/* Of a graph whose parameters are constants: each adapter goes into the weight beside it (W + s · B A), which others
 * that read it do not see; nothing is left of the branches. unsupported-op where a weight is no float32 constant, as
 * one of fewer bits. */
Status lora_merge(Graph *g);

/* The matrices become inputs of the graph, under their names. */
Status lora_to_inputs(Graph *g);
