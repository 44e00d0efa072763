/* Fuzzes computing: a random valid network gives the plain interpreter's numbers, and trains two steps, with passes and
 * without them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

enum { BATCHES = 3, MOST_BATCH = 3, STEPS = 2 };
static const int batches[BATCHES] = {3, 0, 1};

typedef struct Case {
  Net net;
  uint8_t *model;
  size_t bytes;
  const char *loss;
  uint32_t seed;
  float *inputs[2];
  int64_t classes[MOST_BATCH];
  float targets[MOST_BATCH * NET_CLASSES];
} Case;

/* Numbers other than 0 and 1, of both signs. */
static float number(const Case *c, size_t i) {
  return (float)((i * 2654435761u + c->seed * 97) % 3989) / 1500.0f - 1.3f;
}

static void make_feeds(Case *c) {
  for (int k = 0; k < c->net.input_count; k++) {
    size_t count = net_count(&c->net.values[k], MOST_BATCH);
    c->inputs[k] = ARENA_ARRAY(&c->net.arena, float, count);
    for (size_t i = 0; i < count; i++) c->inputs[k][i] = number(c, i + 1000 * (size_t)k);
  }
  for (int i = 0; i < MOST_BATCH; i++) c->classes[i] = (int64_t)((c->seed >> 2 * i) % NET_CLASSES);
  for (int i = 0; i < MOST_BATCH * NET_CLASSES; i++) c->targets[i] = number(c, (size_t)i + 77);
}

static void feed(const Case *c, TrainletSession *s, TrainletPart part, int batch) {
  const Graph *g = s->models[part == TRAINLET_MODEL   ? MODEL_INFERENCE
                             : part == TRAINLET_TRAIN ? MODEL_TRAIN
                                                      : MODEL_EVAL]
                       .graph;
  for (int i = 0; i < g->input_count; i++) {
    const Value *v = g->inputs[i];
    const void *data = v->type == DTYPE_INT64 ? (const void *)c->classes : c->targets;
    int64_t dims[NET_RANK];
    size_t count = 1;
    for (int k = 0; k < c->net.input_count; k++)
      if (strcmp(v->name, c->net.values[k].name) == 0) data = c->inputs[k];
    for (int k = 0; k < v->shape.rank; k++)
      dims[k] = dim_is_symbol(v->shape.dim[k]) ? batch : v->shape.dim[k], count *= (size_t)dims[k];
    void *to = trainlet_session_feed(s, part, v->name, (int)v->type, v->shape.rank, dims);
    hold(to != NULL);
    if (count) memcpy(to, data, count * dtype_bytes(v->type));
  }
}

static bool near_to(double a, double b, double allowed) {
  return fabs(a - b) <= allowed || (!isfinite(a) && !isfinite(b));
}

static void hold_near(double got, double want, double allowed, const char *what, size_t i) {
  if (!near_to(got, want, allowed))
    fprintf(stderr, "%s %zu is %.9g, wanted %.9g, allowed %.3g\n", what, i, got, want, allowed);
  hold(near_to(got, want, allowed));
}

/* ---- inference against the plain interpreter ---- */

/* Allowed rounding: a part of the largest number met and, where that is not enough, the effect of nudging the inputs by
 * 1e-6, and of roundings. */
static double rounding_of(const Plain *p) { return 3e-5 * (1 + p->largest); }

static double nudge_of(const Plain *p, const Plain *nudged, size_t i) {
  int at = p->net->steps[p->net->step_count - 1].out;
  return 60 * fabs(p->x[at][i] - nudged->x[at][i]);
}

static void nudged_run(Plain *nudged, const Plain *p, float *const *inputs) {
  plain_run(nudged, p->net, p->batch, p->training, inputs, 1e-6);
}

static void hold_scores(const Case *c, const Plain *p, const TrainletTensor *t) {
  const double *want = p->x[p->net->steps[p->net->step_count - 1].out];
  const float *got = t->data;
  size_t i = 0;
  hold(t->rank == 2 && t->dims[0] == p->batch && t->dims[1] == NET_CLASSES);
  while (i < t->count && near_to((double)got[i], want[i], rounding_of(p))) i++;
  if (i == t->count || p->largest >= 1e4) return;
  Plain nudged;
  nudged_run(&nudged, p, c->inputs);
  for (; i < t->count; i++) hold_near((double)got[i], want[i], rounding_of(p) + nudge_of(p, &nudged, i), "score", i);
  arena_free(&nudged.arena);
}

/* A valid network is not refused. */
static void hold_ok(TrainletSession *s, Status status) {
  if (status != STATUS_OK) fprintf(stderr, "%s\n", trainlet_session_error(s)->text);
  hold(status == STATUS_OK);
}

static TrainletSession *open_inference(const Case *c, unsigned passes) {
  TrainletSession *s = trainlet_session_new();
  trainlet_session_set_passes(s, passes);
  hold_ok(s, trainlet_session_load(s, TRAINLET_MODEL, c->model, c->bytes));
  hold_ok(s, trainlet_session_ready(s));
  return s;
}

static void infer(const Case *c) {
  TrainletSession *sessions[] = {open_inference(c, ~0u), open_inference(c, 0)};
  for (int i = 0; i < BATCHES; i++) {
    Plain p;
    plain_run(&p, &c->net, batches[i], false, c->inputs, 0);
    for (int k = 0; k < 2; k++) {
      feed(c, sessions[k], TRAINLET_MODEL, batches[i]);
      hold_ok(sessions[k], trainlet_session_run(sessions[k], TRAINLET_MODEL, NULL));
      hold_scores(c, &p, trainlet_session_output(sessions[k], 0));
    }
    arena_free(&p.arena);
  }
  for (int k = 0; k < 2; k++) trainlet_session_free(sessions[k]);
}

/* ---- training, with passes and without ---- */

static TrainletSession *open_session(const Case *c, bool passes) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  TrainletSession *s = trainlet_session_new();
  hold(trainlet_artifacts_load(a, c->model, c->bytes) == STATUS_OK &&
       trainlet_artifacts_set(a, "loss.type", c->loss) == STATUS_OK &&
       trainlet_artifacts_set(a, "optimizer.type", "sgd") == STATUS_OK &&
       trainlet_artifacts_set(a, "optimizer.lr", "0.01") == STATUS_OK && trainlet_artifacts_parameters(a) &&
       trainlet_artifacts_set(a, "requiresGrad", "*") == STATUS_OK); /* a random network may have no layer */
  if (!passes && !c->net.random)
    hold(trainlet_artifacts_set(a, "passes", "") == STATUS_OK); /* a pass less, and a Dropout draws other numbers */
  Status status = trainlet_artifacts_build(a);
  if (status != STATUS_OK) fprintf(stderr, "%s\n", trainlet_artifacts_error(a)->text);
  hold(status == STATUS_OK);
  if (!passes) trainlet_session_set_passes(s, 0);
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
    if (part == TRAINLET_EVAL) continue; /* nothing here evaluates */
    size_t bytes;
    const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &bytes);
    hold(trainlet_session_load(s, (TrainletPart)part, data, bytes) == STATUS_OK);
  }
  hold(trainlet_session_ready(s) == STATUS_OK);
  trainlet_artifacts_free(a);
  return s;
}

/* The parameters as they are now go to the plain network. */
static void take_parameters(Case *c, TrainletSession *s) {
  for (int i = 0; i < trainlet_session_parameter_count(s); i++) {
    TrainletTensor t = trainlet_session_parameter(s, i);
    for (int k = 0; k < c->net.value_count; k++)
      if (c->net.values[k].data && strcmp(c->net.values[k].name, t.name) == 0)
        memcpy(c->net.values[k].data, t.data, t.bytes);
  }
}

/* The largest change of a parameter since `c` took them; the two sessions' changes are the same. */
static double hold_parameters(const Case *c, TrainletSession *on, TrainletSession *off) {
  double most = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < trainlet_session_parameter_count(on); i++) {
      TrainletTensor p = trainlet_session_parameter(on, i), q = trainlet_session_parameter(off, i);
      hold(strcmp(p.name, q.name) == 0 && p.bytes == q.bytes);
      for (int k = 0; k < c->net.value_count; k++) {
        if (!c->net.values[k].data || strcmp(c->net.values[k].name, p.name) != 0) continue;
        for (size_t e = 0; e < p.count; e++) {
          double x = (double)((const float *)p.data)[e], y = (double)((const float *)q.data)[e];
          if (pass == 0) most = fmax(most, fabs(y - (double)c->net.values[k].data[e]));
          else hold_near(x, y, 1e-5 * (1 + fabs(y)) + 2e-3 * most, p.name, e);
        }
      }
    }
  return most;
}

/* The loss, with a share of what the nudge does to the scores, as in the loss that may cancel. */
static void hold_loss(const Case *c, const Plain *p, double got, const char *what, int step) {
  const int64_t *classes = strcmp(c->loss, "mse") ? c->classes : NULL;
  double want = plain_loss(p, classes, c->targets), allowed = rounding_of(p) + 3e-5 * want, moved = 0;
  if (near_to(got, want, allowed)) return;
  Plain nudged;
  nudged_run(&nudged, p, c->inputs);
  for (size_t i = 0; i < (size_t)p->batch * NET_CLASSES; i++) moved = fmax(moved, nudge_of(p, &nudged, i));
  allowed += 60 * fabs(want - plain_loss(&nudged, classes, c->targets)) + (1 + sqrt(fabs(want))) * moved / 3;
  hold_near(got, want, allowed, what, (size_t)step);
  arena_free(&nudged.arena);
}

static void train(Case *c, int batch) {
  TrainletSession *on = open_session(c, true), *off = open_session(c, false);
  bool kinks = c->net.random; /* the plain interpreter does not know what a Dropout leaves */
  for (int step = 0; step < STEPS; step++) {
    Plain p;
    plain_run(&p, &c->net, batch, true, c->inputs, 0);
    feed(c, on, TRAINLET_TRAIN, batch);
    feed(c, off, TRAINLET_TRAIN, batch);
    Status first = trainlet_session_step(on), second = trainlet_session_step(off);
    hold_sentence(trainlet_session_error(on));
    hold_sentence(trainlet_session_error(off));
    bool tame = batch > 0 && !p.single && p.largest < 1e3, random = c->net.random;
    if (tame && !random) {
      hold_ok(on, first);
      hold_ok(off, second);
      hold_loss(c, &p, trainlet_session_loss(off), "loss without passes", step);
      hold_loss(c, &p, trainlet_session_loss(on), "loss with passes", step);
    }
    kinks |= p.kink;
    arena_free(&p.arena);
    if (!tame || first != STATUS_OK || second != STATUS_OK) break; /* Dropouts may make a loss of NaN */
    if (kinks || hold_parameters(c, on, off) > 0.3) break;         /* the next step would tell of rounding */
    take_parameters(c, off);
  }
  trainlet_session_free(on);
  trainlet_session_free(off);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static Case c;
  Input in = {bytes, bytes + count};
  c.seed = 1 + (uint32_t)input_byte(&in);
  c.loss = input_below(&in, 2) ? "mse" : "cross-entropy";
  int batch = batches[input_below(&in, BATCHES)];
  net_decode(&c.net, &in);
  make_feeds(&c);
  c.model = net_write(&c.net, &c.bytes);
  infer(&c);
  train(&c, batch);
  free(c.model);
  arena_free(&c.net.arena);
  return 0;
}
