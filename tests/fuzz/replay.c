/* Runs a fuzz target without libFuzzer on the files named, and on every file of the folders named: inputs that were
 * found stay tests. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int ran;

static void run_file(const char *path, FILE *file) {
  fseek(file, 0, SEEK_END);
  size_t count = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(count + !count); /* exact size: the sanitizer sees a read past the end */
  size_t got = fread(bytes, 1, count, file);
  fclose(file);
  if (getenv("TRAINLET_REPLAY_NAMES")) fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(bytes, got);
  free(bytes);
  ran++;
}

static void run(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) {
    FILE *file = fopen(path, "rb");
    if (file) run_file(path, file);
    return;
  }
  for (struct dirent *entry; (entry = readdir(folder));) {
    char inside[4096];
    snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
    if (entry->d_name[0] != '.') run(inside);
  }
  closedir(folder);
}

/* The first path must be there or its parent empty of it; nothing at all is an input too. */
int main(int argc, char **argv) {
  LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
  for (int i = 1; i < argc; i++) run(argv[i]);
  printf("%d inputs and the empty one\n", ran);
  return 0;
}
