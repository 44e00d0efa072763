/* LSTM's cell, which LSTM and LSTMGrad share. Slots: i, o, f, c~ after their activations; c and h before the step. */
#pragma once
#include "ops/recurrent/recurrent.h"

extern const RecurrentCell lstm_cell;
