/* LoRA in models that are written: the adapters in the weights, or as inputs of the graph. */
#pragma once
#include "graph/graph.h"

/* Merges each adapter of a graph whose parameters are constants into the weight beside it (W + s · B A), and removes
 * the branches. Other readers of the weight keep the old one. unsupported-op if a weight is no float32 constant, such
 * as one of fewer bits. */
Status lora_merge(Graph *g);

/* The matrices become inputs of the graph, under their names. */
Status lora_to_inputs(Graph *g);
