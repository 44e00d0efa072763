/* Trains a network of 784-128-10 on a machine without threads and heap: all memory is fixed beforehand. Run it in a
 * folder that `npx trainlet artifacts` has made of such a network (docs/native.md). */
#include <stdio.h>

#include <trainlet.h>

enum { PIXELS = 784, CLASSES = 10, BATCH = 16, STEPS = 100 };

static _Alignas(64) unsigned char memory[1160 * 1024]; /* all that the engine ever has */

/* Reads a file to where the session wants it; on a microcontroller it would lie in flash. */
static Status load(TrainletSession *s, TrainletPart part, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) return perror(path), STATUS_INVALID_ARGUMENT;
  size_t bytes = (size_t)ftell(file);
  void *to = trainlet_session_file(s, bytes);
  if (to) rewind(file), bytes = fread(to, 1, bytes, file);
  fclose(file);
  return to ? trainlet_session_load(s, part, to, bytes) : STATUS_OUT_OF_MEMORY;
}

/* Pictures of stripes, as far apart as their label says. */
static void draw(int step, float *pixels, int64_t *labels) {
  for (int i = 0; i < BATCH; i++) {
    labels[i] = (step + 7 * i) % CLASSES;
    for (int k = 0; k < PIXELS; k++) pixels[i * PIXELS + k] = (k + step) % (2 + labels[i]) == 0;
  }
}

static Status train(TrainletSession *s, int step) {
  float *pixels = trainlet_session_feed(s, TRAINLET_TRAIN, "x", 1, 2, (int64_t[]){BATCH, PIXELS});
  int64_t *labels = trainlet_session_feed(s, TRAINLET_TRAIN, "labels", 7, 1, (int64_t[]){BATCH});
  if (!pixels || !labels) return trainlet_session_error(s)->status;
  draw(step, pixels, labels);
  Status status = trainlet_session_step(s);
  if (!status && step % 10 == 9) printf("step %d: loss %.6f\n", step + 1, trainlet_session_loss(s));
  return status;
}

int main(void) {
  trainlet_use_memory(memory, sizeof memory);
  TrainletSession *s = trainlet_session_new();
  Status status = load(s, TRAINLET_CHECKPOINT, "checkpoint");
  if (!status) status = load(s, TRAINLET_TRAIN, "training_model.onnx");
  if (!status) status = load(s, TRAINLET_OPTIMIZER, "optimizer_model.onnx");
  if (!status) status = trainlet_session_ready(s);
  for (int step = 0; !status && step < STEPS; step++) status = train(s, step);
  if (status) return fprintf(stderr, "%s\n", trainlet_session_error(s)->text), 1;
  printf("%zu bytes of %zu\n", trainlet_memory_used(), sizeof memory);
  return 0;
}
