/* Known: contents that depend only on constants and shapes. They are computed while a graph is built, so that shapes,
 * conditions and numbers of iterations may depend on them. */
#pragma once
#include "graph/graph.h"

/* The contents as dims (Value.known), computed now if necessary and possible; NULL when they cannot be known before a
 * run.
 */
const Dim *known_of(Value *v);
/* The same where nothing depends on them yet: not computed from arrays of floats, which may train. */
const Dim *known_at_hand(Value *v);
/* The same as bytes, of any type, up to a limit of size; constants on which they depend must stay as they are
 * (Value.shape_constant). */
const void *known_data(Value *v);
/* Writes the dims to v->data. */
void known_write(Value *v);
