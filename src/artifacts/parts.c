/* The four parts that a build made. */
#include "artifacts/artifacts.h"

void artifacts_forget_parts(TrainletArtifacts *a) {
  for (int i = 0; i < 4; i++) {
    block_free(&a->bytes[i]);
    a->lengths[i] = 0;
  }
  a->quantizer = NULL;
  a->prepared = false;
  a->warnings = NULL;
  a->warned = a->warned_capacity = 0;
  arena_free(&a->building);
}

const void *trainlet_artifacts_bytes(const TrainletArtifacts *a, TrainletPart part, size_t *bytes) {
  *bytes = part <= TRAINLET_CHECKPOINT ? a->lengths[part] : 0;
  return part <= TRAINLET_CHECKPOINT ? a->bytes[part].data : NULL;
}
