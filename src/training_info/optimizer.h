/* Training optimizer: reads the nodes by which a training_info updates its parameters as one of our optimizers. */
#pragma once
#include "training_info/info.h"

/* Sets optimizer, steps and the parameters' moments. Every update binding must be understood. */
Status training_optimizer_read(const OnnxTraining *t, TrainingInfo *info, Arena *arena, Error *error);
