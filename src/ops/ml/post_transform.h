/* Post transform: what becomes of the scores of ai.onnx.ml's models: of a row, or as nodes. */
#pragma once
#include "graph/expansion.h"

/* Numbered as TreeEnsemble does. */
typedef enum PostTransform { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT } PostTransform;

Status post_transform_read(const Node *n, PostTransform *out); /* the attribute post_transform, a word */
Value *post_transform_emit(Expansion *c, PostTransform how, Value *scores);
/* Transforms one row in place. */
void post_transform_row(PostTransform how, float *scores, size_t count);
float post_transform_logistic(float x);
