/* Adapted: golden runs with LoRA, their adapters, and the checkpoints that hold these. */
#pragma once
#include "checkpoint/checkpoint.h"
#include "golden_run.h"

/* The recipe `name` with these options of artifacts, a key and its value by turns, NULL at the end. */
bool adapted_open(GoldenRun *run, const char *name, const char *const *options);
/* The same with adapters of rank 2 and `bias`, which says whether biases train beside them; NULL: without adapters. */
bool adapted_open_with_bias(GoldenRun *run, const char *name, const char *bias);
/* Checks that it can be done with the adapter of that name. */
bool adapted_do(TrainletSession *s, TrainletAdapter what, const char *name);
bool adapted_refuses(TrainletSession *s, Status status, const char *sentence);
/* A session whose adapter `default` has learned three steps and `work` two, which is in use. */
TrainletSession *adapted_learned(const GoldenRun *run);

/* All parameters in use; the caller frees them. */
float *adapted_values(TrainletSession *s);
void adapted_check_values(TrainletSession *s, const float *wanted, bool same, const char *what);
double adapted_eval_loss(const GoldenRun *run, TrainletSession *s, int batch);

/* Reads the checkpoint that the session saves. */
bool adapted_read_saved(TrainletSession *s, bool moments, Arena *arena, Checkpoint *out);
/* A session of the artifacts up to `last` with that checkpoint, which need not become ready. */
TrainletSession *adapted_with_checkpoint(const GoldenRun *run, const Checkpoint *c, TrainletPart last);
