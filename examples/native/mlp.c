/* Trains a network of 784-128-10 on a machine without threads and heap: all memory is fixed beforehand. Its argument is
 * a file that `npx trainlet artifacts --format compact` has made of such a network (docs/native.md). */
#include <stdio.h>

#include <trainlet.h>

enum { PIXELS = 784, CLASSES = 10, BATCH = 16, STEPS = 100 };

static _Alignas(64) unsigned char memory[1140 * 1024]; /* all that the engine ever has */

/* Reads the file to where the session wants it; on a microcontroller it would lie in flash. */
static Status load(TrainletSession *s, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) return perror(path), STATUS_INVALID_ARGUMENT;
  size_t bytes = (size_t)ftell(file);
  void *to = trainlet_session_file(s, bytes);
  if (to) rewind(file), bytes = fread(to, 1, bytes, file);
  fclose(file);
  return to ? trainlet_session_load(s, TRAINLET_COMPACT, to, bytes) : STATUS_OUT_OF_MEMORY;
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

int main(int count, char **arguments) {
  trainlet_use_memory(memory, sizeof memory);
  TrainletSession *s = trainlet_session_new();
  Status status = load(s, count > 1 ? arguments[1] : "mlp.trainlet");
  if (!status) status = trainlet_session_ready(s);
  for (int step = 0; !status && step < STEPS; step++) status = train(s, step);
  if (status) return fprintf(stderr, "%s\n", trainlet_session_error(s)->text), 1;
  printf("%zu bytes of %zu\n", trainlet_memory_used(), sizeof memory);
  return 0;
}
