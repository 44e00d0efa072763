/* The engine without wasm, for the benchmark: trains on one batch and says how long the steps took.
 *
 *   bench_native train|model FOLDER THREADS NAME:TYPE:DIMS …
 *   TYPE: ONNX's number; DIMS: 64,784; the tensor's bytes are FOLDER/NAME.bin
 *
 * Each line on stdin is a number of steps; each answer is the ms of one step and the last loss (of a model: its first
 * output's first number). */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trainlet.h"

typedef struct Feed {
  char *name;
  int type, rank;
  int64_t dims[8];
  void *data;
  size_t bytes;
} Feed;

static const char *folder;

static int fail(const char *what, const char *why) { return fprintf(stderr, "%s: %s\n", what, why), 1; }

static void *read_file(const char *name, const char *suffix, size_t *bytes) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
  FILE *file = fopen(path, "rb");
  if (!file) exit(fail(path, "cannot be read"));
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  void *data = malloc(*bytes + 1);
  if (!data || fread(data, 1, *bytes, file) != *bytes) exit(fail(path, "cannot be read"));
  fclose(file);
  return data;
}

static Feed read_feed(char *text) {
  Feed feed = {.name = strtok(text, ":")};
  char *type = strtok(NULL, ":");
  feed.type = type ? atoi(type) : 0;
  for (char *d = strtok(NULL, ","); d && feed.rank < 8; d = strtok(NULL, ",")) feed.dims[feed.rank++] = atoll(d);
  feed.data = read_file(feed.name, ".bin", &feed.bytes);
  return feed;
}

static Status load(TrainletSession *s, TrainletPart part, const char *name) {
  size_t bytes;
  void *data = read_file(name, "", &bytes);
  Status status = trainlet_session_load(s, part, data, bytes);
  free(data);
  return status;
}

static Status load_all(TrainletSession *s, TrainletPart part) {
  Status status = part == TRAINLET_MODEL ? load(s, part, "model.onnx") : load(s, part, "train.onnx");
  if (part == TRAINLET_TRAIN && !status) status = load(s, TRAINLET_EVAL, "eval.onnx");
  if (part == TRAINLET_TRAIN && !status) status = load(s, TRAINLET_OPTIMIZER, "optimizer.onnx");
  if (part == TRAINLET_TRAIN && !status) status = load(s, TRAINLET_CHECKPOINT, "checkpoint");
  return status ? status : trainlet_session_ready(s);
}

static Status step(TrainletSession *s, TrainletPart part, const Feed *feeds, int count, double *loss) {
  for (int i = 0; i < count; i++) {
    void *to = trainlet_session_feed(s, part, feeds[i].name, feeds[i].type, feeds[i].rank, feeds[i].dims);
    if (!to) return STATUS_INVALID_FEED;
    memcpy(to, feeds[i].data, feeds[i].bytes);
  }
  Status status = part == TRAINLET_MODEL ? trainlet_session_run(s, part, NULL) : trainlet_session_step(s);
  if (!status)
    *loss = part == TRAINLET_MODEL ? (double)*(const float *)trainlet_session_output(s, 0)->data
                                   : trainlet_session_loss(s);
  return status;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int count, char **arguments) {
  if (count < 5 || count > 12)
    return fail("bench_native", "wants train or model, a folder, threads and one to eight inputs");
  TrainletPart part = strcmp(arguments[1], "model") == 0 ? TRAINLET_MODEL : TRAINLET_TRAIN;
  folder = arguments[2];
  Feed feeds[8];
  int feed_count = count - 4, threads = atoi(arguments[3]);
  for (int i = 0; i < feed_count; i++) feeds[i] = read_feed(arguments[i + 4]);
  if (threads > 1 && !trainlet_threads_start(threads)) return fail("bench_native", "no threads");
  TrainletSession *s = trainlet_session_new();
  if (!s) return fail("bench_native", "no memory for a session");
  if (load_all(s, part)) return fail("bench_native", trainlet_session_error(s)->text);
  double loss = 0;
  for (char line[40]; fgets(line, sizeof line, stdin);) {
    int steps = atoi(line) > 0 ? atoi(line) : 1;
    double start = now_ms();
    for (int i = 0; i < steps; i++)
      if (step(s, part, feeds, feed_count, &loss)) return fail("bench_native", trainlet_session_error(s)->text);
    printf("%.6f %.9g\n", (now_ms() - start) / steps, loss);
    fflush(stdout);
  }
  trainlet_session_free(s);
  return 0;
}
