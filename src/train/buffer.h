/* Buffer: which initializers no layer learns, by their contents or their name, where no exporter notes it. */
#pragma once
#include "train/weights.h"

/* A table of sines and cosines, which stays even where it is a parameter: modules read such under no_grad. */
bool buffer_is_waves(const Weights *w, const Value *v);
/* Masks of two values, tables of sines and cosines, and the same filter for every channel. */
bool buffer_by_contents(const Weights *w, const Value *v);
bool buffer_is_none(const Value *v); /* its name is that of a parameter: weight or bias */
/* A module's attribute with a usual name of a buffer, such as 'attn_mask'. 'kernel' is one that is no factor. */
bool buffer_by_name(const Weights *w, const Value *v);
