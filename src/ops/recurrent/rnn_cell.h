/* RNN's cell, which RNN and RNNGrad share. Slots: h after the step, h before it. */
#pragma once
#include "ops/recurrent/recurrent.h"

extern const RecurrentCell rnn_cell;
