/* Ort: ONNX Runtime's own artifacts train here as they do in onnxruntime-web 1.19.2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ort_set.h"

static double worst_loss, worst_parameter; /* in the running set */

static void hold_loss(double got, double want, const char *what) {
  double difference = fabs(got - want) / fabs(want);
  worst_loss = fmax(worst_loss, difference);
  check(difference <= 1e-5, "%s is %.9g, ONNX Runtime's %.9g", what, got, want);
}

/* A params file: the first element of each run of `stride`, then the sum of each run. */
static void hold_parameters(OrtSet *set, TrainletSession *s, const char *file) {
  size_t bytes, count = trainlet_session_element_count(s, true), stride = (size_t)json_number(set->golden, "stride", 1);
  const float *want = ort_set_file(set, file, &bytes);
  size_t runs = (count + stride - 1) / stride;
  if (!want || !check(count == (size_t)json_number(set->golden, "parameters", 0) && bytes == 2 * runs * sizeof(float),
                      "%s is of %zu bytes for %zu parameters", file, bytes, count))
    return;
  float *got = malloc(count * sizeof(float));
  trainlet_session_copy_out(s, true, got);
  for (size_t run = 0; run < runs; run++) {
    double sum = 0, first = fabs((double)got[run * stride] - (double)want[run]);
    for (size_t i = run * stride; i < count && i < (run + 1) * stride; i++) sum += (double)got[i];
    double mean = fabs(sum - (double)want[runs + run]) / (double)stride;
    worst_parameter = fmax(worst_parameter, fmax(first, mean));
    check(first <= 1e-5, "%s: parameter %zu is %.9g, ONNX Runtime's %.9g", file, run * stride,
          (double)got[run * stride], (double)want[run]);
    check(mean <= 1e-6, "%s: the parameters from %zu on differ by %.3g on average", file, run * stride, mean);
  }
  free(got);
}

static void follow_golden(OrtSet *set, TrainletSession *s) {
  int step = 0;
  char what[40];
  for (const Json *loss = json_get(set->golden, "losses")->child; loss; loss = loss->next) {
    snprintf(what, sizeof what, "loss %d", ++step);
    hold_loss(ort_set_step(set, s), loss->number, what);
    if (step == 1) hold_parameters(set, s, "params_1.bin");
    if (step == 4) hold_parameters(set, s, "params_4.bin");
  }
  for (const Json *loss = json_get(set->golden, "accumulated")->child; loss; loss = loss->next)
    hold_loss(ort_set_run(set, s, TRAINLET_TRAIN), loss->number, "an accumulated loss");
  check(trainlet_session_optimize(s) == STATUS_OK, "%s", trainlet_session_error(s)->text);
  hold_parameters(set, s, "params_acc.bin");
  hold_loss(ort_set_run(set, s, TRAINLET_EVAL), json_number(set->golden, "evalLoss", 0), "the eval loss");
}

static void trains_as_there(const void *name) {
  OrtSet set;
  TrainletSession *s = ort_set_open(&set, name) ? ort_set_session(&set, NULL, 0) : NULL;
  worst_loss = worst_parameter = 0;
  if (s) {
    follow_golden(&set, s);
    test_note("losses differ by %.1e relative, parameters by %.1e", worst_loss, worst_parameter);
    trainlet_session_free(s);
  }
  ort_set_close(&set);
}

int main(void) {
  test_run("trains_as_there (mnist_web)", trains_as_there, "mnist_web");
  test_run("trains_as_there (ort_testdata)", trains_as_there, "ort_testdata");
  test_run("trains_as_there (ort_testdata_ortformat)", trains_as_there, "ort_testdata_ortformat");
  return test_finish();
}
