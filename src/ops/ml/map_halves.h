/* Map halves: a map as its keys and its values, two tensors of one dimension. */
#pragma once
#include "graph/sequence.h"
#include "graph/expansion.h"

/* True if an operator's input is still a map, not its halves. */
bool map_is_whole(const Added *a);
/* The halves of input 0; a sentence where it is none. */
Status map_halves(const Expansion *c, Value **keys, Value **values);
