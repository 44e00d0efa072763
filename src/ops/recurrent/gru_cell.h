/* GRU's cells, which GRU and GRUGrad share: its two ways of the reset gate. */
#pragma once
#include "ops/recurrent/recurrent.h"

/* The cell for the node's linear_before_reset. */
const RecurrentCell *gru_cell(const Node *n);
