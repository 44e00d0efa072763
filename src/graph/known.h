/* Known: contents that follow from constants and shapes alone, computed while a graph is built, so that shapes,
 * conditions and numbers of iterations may be too. */
#pragma once
#include "graph/graph.h"

/* The contents as dims (Value.known), computed now if need be and can; NULL when they are not to be known before a run.
 */
const Dim *known_of(Value *v);
/* The same as bytes, of any type and size up to a limit; where constants took part they stay what they are
 * (Value.settled). */
const void *known_data(Value *v);
/* Writes the dims to v->data. */
void known_write(Value *v);
