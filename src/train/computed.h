/* Computed: constants that an exporter computed from parameters (Value.computed_from, or with a number for a name)
 * become again what trains as the parameters do.
 *
 *   a tied weight      'val_9' (32, 96) beside 'wte.weight' (96, 32)   Transpose of 'wte.weight'
 *   two calls          'val_106', 'val_180', both of 'ffn.weight'      both read 'val_106'
 *   a repeated row     'expand' (2, 1, 32), twice the same             'expand' (1, 1, 32), broadcast where it is read
 */
#pragma once
#include "graph/graph.h"

Status computed_undo(Graph *m);
/* The node that was added last, which makes `made` of v, goes before all others, and these read what it makes. */
void computed_read_instead(Graph *m, const Value *v, Value *made);
/* Tells whether v is a matrix, or (1, rows, columns), and has the numbers of `of`, transposed. */
bool computed_is_transposed(const Value *v, const Value *of);
