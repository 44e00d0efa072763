/* Trains a network of 784-128-10 on a machine without threads and heap: all memory is fixed beforehand. Its argument is
 * a file that `npx trainlet artifacts --format compact` has made of such a network (docs/guides/native.md). */
#include <stdio.h>

#include <trainlet.h>

enum { PIXELS = 784, CLASSES = 10, BATCH = 16, STEPS = 100 };

static _Alignas(64) unsigned char memory[1077 * 1024]; /* all that the engine ever has */

/* The network's file: on a microcontroller it lies in flash. */
static unsigned char file[512 * 1024];

static size_t read_file(const char *path) {
  FILE *from = fopen(path, "rb");
  size_t bytes = from ? fread(file, 1, sizeof file, from) : 0;
  if (from) fclose(from);
  else perror(path);
  return bytes;
}

/* Pictures of stripes, as far apart as their label says. */
static void draw(int step, float *pixels, int64_t *labels) {
  for (int i = 0; i < BATCH; i++) {
    labels[i] = (step + 7 * i) % CLASSES;
    for (int k = 0; k < PIXELS; k++) pixels[i * PIXELS + k] = (k + step) % (2 + labels[i]) == 0;
  }
}

static Status train(TrainletTrainer *t, int step, float *pixels, int64_t *labels) {
  draw(step, pixels, labels);
  Status status = trainlet_trainer_step(t);
  if (!status && step % 10 == 9) printf("step %d: loss %.6f\n", step + 1, trainlet_trainer_loss(t));
  return status;
}

int main(int count, char **arguments) {
  size_t bytes = read_file(count > 1 ? arguments[1] : "mlp.trainlet"), pixel_bytes, label_bytes;
  trainlet_use_memory(memory, sizeof memory);
  TrainletTrainer *t = trainlet_trainer_new();
  Status status = trainlet_trainer_dim(t, "N", BATCH);
  if (!status) status = trainlet_trainer_load(t, file, bytes);
  if (status) return fprintf(stderr, "%s\n", trainlet_trainer_error(t)->text), 1;
  float *pixels = trainlet_trainer_data(t, "x", &pixel_bytes);
  int64_t *labels = trainlet_trainer_data(t, "labels", &label_bytes);
  if (pixel_bytes != BATCH * PIXELS * sizeof *pixels || label_bytes != BATCH * sizeof *labels)
    return fprintf(stderr, "the network is not of 784 pixels\n"), 1;
  for (int step = 0; !status && step < STEPS; step++) status = train(t, step, pixels, labels);
  if (status) return fprintf(stderr, "%s\n", trainlet_trainer_error(t)->text), 1;
  printf("%zu bytes of %zu\n", trainlet_memory_used(), sizeof memory);
  return 0;
}
