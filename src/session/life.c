/* Session: how it begins and ends. */
#include "graph/work.h"
#include "passes/passes.h"
#include "session/external_loss.h"
#include "session/session.h"

TrainletSession *trainlet_session_new(void) {
  Arena arena = {0};
  Budget budget = {0};
  Error error = {0};
  budget_enter(&budget, &error);
  TrainletSession *s = ARENA_NEW(&arena, TrainletSession);
  if (budget_leave(&budget, &error, s) != STATUS_OK) return arena_free(&arena), NULL;
  s->arena = arena;
  s->budget = budget;
  s->lr = 1e-3f;
  s->limit_work = WORK_DEFAULT;
  s->passes = PASSES_ALL;
  s->reset_gradients = true;
  return s;
}

void trainlet_session_free(TrainletSession *s) {
  if (!s) return;
  external_loss_close(s); /* its feeds go back to the models */
  for (int m = 0; m < MODEL_COUNT; m++)
    for (int i = 0; s->models[m].feeds && i < feed_count(&s->models[m]); i++) feed_free(&s->models[m].feeds[i]);
  program_cache_free(&s->program_cache);
  adapters_free(&s->adapters);
  state_free(&s->state);
  block_free(&s->result);
  block_free(&s->fit);
  block_free(&s->fetched);
  block_free(&s->read_back);
  arena_free(&s->fetch_arena);
  arena_free(&s->text);
  arena_free(&s->bag);
  for (int i = 0; i <= TRAINLET_ADAPTERS; i++) arena_free(&s->parts[i]);
  arena_free(&s->chosen);
  external_free(&s->external);
  Arena arena = s->arena; /* s itself lies in it */
  arena_free(&arena);
}
