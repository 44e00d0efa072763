/* Work: what operators are said to take is never far below the time that they do take. */
#include <math.h>
#include <time.h>

#include "check.h"
#include "machine.h"
#include "opcase.h"
#include "graph/work.h"
#include "ops/ops.h"

/* Multiply-adds that a second holds, at most: what is measured must have been said to be more than a tenth of a slow,
 * sanitized machine's. */
static const double SLOWEST = 2e6;
enum { ENOUGH_MS = 2 }; /* less cannot be told from what every node costs */

static double total_work(const Graph *g) {
  double work = 0;
  for (int i = 0; i < g->node_count; i++) work += work_of(g->nodes[i]);
  return work;
}

static double cpu_seconds(Machine *m) {
  clock_t start = clock();
  machine_run(m);
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Runs the case; gives what its nodes are said to take, 0 where it cannot be run. */
static double check_case(const OpCase *c, double *seconds) {
  Arena arena = {0};
  Error error = {0};
  Machine m;
  char problem[160];
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  double work = 0;
  *seconds = 0;
  if (g && machine_new(&m, g, 0, problem)) {
    for (int i = 0; i < c->in_count; i++) {
      Value *v = c->in[i].absent || c->in[i].constant ? NULL : opcase_value(g, i);
      if (v) machine_set(&m, v, c->in[i].data, c->in[i].bytes);
    }
    work = total_work(g);
    *seconds = cpu_seconds(&m);
    check(isfinite(work) && work >= 0, "%s is said to take %g", c->key, work);
    check(*seconds < ENOUGH_MS * 1e-3 || work >= *seconds * SLOWEST, "%s took %g s and is said to be %g multiply-adds",
          c->key, *seconds, work);
    machine_free(&m);
  }
  check(error.status == STATUS_OK || error.status == STATUS_UNSUPPORTED_OP || error.status == STATUS_INVALID_MODEL,
        "%s: %s", c->key, error.text);
  arena_free(&arena);
  return work;
}

static void every_case_is_counted(const void *argument) {
  int counted = 0;
  for (int i = 0; op_at(i); i++)
    for (const Case *text = op_at(i)->cases; text && text->in; text++) {
      OpCase c;
      double seconds;
      if (check(opcase_parse(op_at(i), text, &c), "%s: %s", c.key, c.problem)) counted += check_case(&c, &seconds) > 0;
      opcase_free(&c);
    }
  test_note("%d cases", counted);
  check(counted > 900, "only %d cases were counted", counted);
}

/* Each does far more than it reads and writes: at least so many multiply-adds, counted by hand. */
static const struct {
  const char *op;
  Case text;
  double least;
} large[] = {
    {"MatMul", {"f32[120,130] f32[130,140]"}, 120. * 130 * 140},
    {"MatMul", {"f32[6,40,50] f32[6,50,60]"}, 6. * 40 * 50 * 60},
    {"Gemm", {"f32[130,120] f32[130,140]", "transA=1"}, 120. * 130 * 140},
    {"Gemm", {"f32[120,130] f32[140,130]", "transB=1"}, 120. * 130 * 140},
    {"Conv", {"f32[2,8,30,30] f32[16,8,5,5]"}, 2. * 16 * 26 * 26 * 8 * 25},
    {"Conv", {"f32[1,16,20,20] f32[16,1,7,7]", "group=16"}, 16. * 14 * 14 * 49},
    {"ConvTranspose", {"f32[2,8,20,20] f32[8,16,5,5]", "strides=[2,2]"}, 2. * 8 * 400 * 16 * 25},
    {"MaxPool", {"f32[1,2,60,60]", "kernel_shape=[40,40]"}, 2. * 21 * 21 * 1600},
    {"AveragePool", {"f32[1,2,60,60]", "kernel_shape=[40,40]"}, 2. * 21 * 21 * 1600},
    {"LpPool", {"f32[1,2,60,60]", "kernel_shape=[40,40]"}, 2. * 21 * 21 * 1600},
    {"MaxRoiPool", {"f32[1,4,50,50] f32[2,5]=0,0,0,49,49,0,0,0,49,49", "pooled_shape=[1,1]"}, 2. * 4 * 2500},
    {"RoiAlign",
     {"f32[1,2,8,8] f32[1,4]=0,0,7,7 i64[1]=0", "output_height=2 output_width=2 sampling_ratio=200", 16},
     4. * 40000},
    {"RoiAlign",
     {"f32[1,2,80,80] f32[1,4]=-9e8,-9e8,9e8,9e8 i64[1]=0", "output_height=2 output_width=2", 16},
     4. * 160 * 160},
    {"DFT", {"f32[4,4096,2]", "axis=1"}, 4. * 4096 * 12},
    {"DFT", {"f32[4,4093,2]", "axis=1"}, 4. * 4096 * 12},
    {"STFT", {"f32[1,20000,1] i64[]=16 f32[1021]"}, 1187. * 1021 * 10},
    {"Det", {"f32[120,120]"}, 120. * 120 * 120 / 3},
    {"LSTM", {"f32[40,4,30] f32[1,120,30] f32[1,120,30]", "hidden_size=30"}, 160. * 120 * 60},
    {"GRU", {"f32[40,4,30] f32[2,90,30] f32[2,90,30]", "hidden_size=30 direction=bidirectional"}, 2. * 160 * 90 * 60},
    {"RNN", {"f32[40,4,30] f32[1,30,30] f32[1,30,30]", "hidden_size=30"}, 160. * 30 * 60},
    {"Einsum", {"f32[60,70] f32[70,80]", "equation=ij,jk->ik"}, 60. * 70 * 80},
    {"Attention", {"f32[2,4,90,16] f32[2,4,90,16] f32[2,4,90,16]", NULL, 23}, 2. * 4 * 90 * 90 * 32},
    {"Resize", {"f32[1,1,64,64] - - i64[4]=1,1,640,640", "mode=cubic"}, 640. * 640 * 4},
    {"Resize", {"f32[1,1,640,64] - - i64[4]=1,1,2,64", "mode=linear antialias=1", 18}, 640. * 64},
    {"GridSample", {"f32[1,4,30,30] f32[1,90,90,2]", "mode=cubic", 16}, 4. * 8100 * 16},
    {"TfIdfVectorizer",
     {"v:i64[12]=1,1,3,3,3,7,8,6,7,5,6,8", "mode=TF max_gram_length=2 min_gram_length=2 max_skip_count=5 "
                                           "ngram_counts=[0,0] ngram_indexes=[0,1,2] pool_int64s=[5,6,1,2,2,3]"},
     12. * 3 * 6},
    {"DeformConv", {"f32[1,4,20,20] f32[8,4,3,3] f32[1,18,18,18]", NULL, 19}, 8. * 18 * 18 * 36},
    {"Multinomial", {"f32[2,500]", "sample_size=300"}, 2. * 300 * 500},
    {"TopK", {"f32[4,3000] i64[1]=2000", NULL, 0, 2}, 4. * 3000 * 11},
};

static void large_ones_are_counted(const void *argument) {
  for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
    OpCase c;
    double seconds, work;
    const Op *op = op_find_in("", large[i].op);
    if (!check(op != NULL, "there is no %s", large[i].op)) continue;
    if (check(opcase_parse(op, &large[i].text, &c), "%s: %s", c.key, c.problem)) {
      work = check_case(&c, &seconds);
      check(work >= large[i].least, "%s is said to take %g, it is %g at least", c.key, work, large[i].least);
      check(work <= 1e4 * large[i].least, "%s is said to take %g, which is far more than %g", c.key, work,
            large[i].least);
      test_note("%s %.1e in %.1f ms; ", large[i].op, work, seconds * 1e3);
    }
    opcase_free(&c);
  }
}

int main(void) {
  TEST(every_case_is_counted);
  TEST(large_ones_are_counted);
  return test_finish();
}
