/* LoRA: small matrices beside frozen weights, which train in their place (Hu et al., "LoRA: Low-rank adaptation of
 * large language models", 2021), with the meanings and defaults of PEFT.
 *
 *   linear      y = x Wᵀ + b + s · (dropout(x) Aᵀ) Bᵀ        A (r, in), B (out, r), s = α / r; rsLora: α / √r
 *   convolution y = conv(x, W) + s · conv(conv(x, A), B)     A (r, in, kernel), B (out, r, 1 …)
 *   embedding   y = W[i] + s · Aᵀ[i] Bᵀ                      A (r, rows), B (numbers, r)
 *   weight      W + s · B A before all that read W, where linear layers read parts of it, or turned, without dropout
 */
#pragma once
#include "graph/graph.h"
#include "train/names.h"

typedef enum LoraBias { LORA_BIAS_NONE, LORA_BIAS_ALL, LORA_BIAS_ONLY } LoraBias;

typedef struct LoraOptions {
  bool wanted;
  int r;
  float alpha, dropout;
  bool rs_lora, gaussian;
  LoraBias bias; /* biases that train as well: none, all, those of the modules adapted */
  /* patterns of modules (module_matches); none, or all-linear: all linear ones but the last */
  NameList targets, exclude;
  NameList ranks, alphas;   /* "pattern=number": other than r and alpha */
  NameList modules_to_save; /* patterns of modules that train whole */
  bool of_peft;             /* PEFT's options: modules to save may be missing in a model */
  NameList module_names;    /* "node or weight=module" */
} LoraOptions;

LoraOptions lora_default(void);

/* Metadata of a graph with adapters: a JSON object of the options and of every module adapted. */
#define LORA_KEY "trainlet.lora"
/* True if the name is that of an adapter's matrix; of a matrix that begins at zero, so that the branch adds nothing. */
bool lora_is_matrix(const char *name);
bool lora_is_zero_at_first(const char *name);

/* Changes the model g. The names of what trains, `MODULE.lora_A.weight` and so on, are added to `parameters`, which
 * lies in `arena`. */
Status lora_put(Graph *g, const LoraOptions *o, NameList *parameters, Arena *arena);
