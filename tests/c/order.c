/* The order of ops.def means nothing: with the table turned round and shuffled, a name finds what it found before. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "ops/ops.h"

static const Op *ops[] = {
#define OP(name) &op_##name,
#include "ops/ops.def"
#undef OP
};
enum { OPS = sizeof ops / sizeof *ops };

/* In place of the engine's own (src/ops/table.c), which is not linked for it. */
const Op *const *op_table(int *count) { return *count = OPS, ops; }

static const char *domain_of(const Op *op) { return op->domain ? op->domain : ""; }

static void swap(int i, int k) {
  const Op *op = ops[i];
  ops[i] = ops[k];
  ops[k] = op;
}

static void turn_round(void) {
  for (int i = 0; i < OPS / 2; i++) swap(i, OPS - 1 - i);
}

static void shuffle(uint32_t seed) {
  for (int i = OPS - 1; i > 0; i--) swap(i, (int)((seed = seed * 1664525u + 1013904223u) >> 8) % (i + 1));
}

typedef struct Found {
  const Op *op, *by_name, *with_domain;
} Found;

static void look_up(Found *found) {
  for (int i = 0; i < OPS; i++) {
    char name[100];
    snprintf(name, sizeof name, "%s.%s", domain_of(ops[i]), ops[i]->name);
    found[i] = (Found){ops[i], op_find(ops[i]->name), op_find(name)};
    check(op_find_in(domain_of(ops[i]), ops[i]->name) == ops[i], "%s: another operator has its name and domain", name);
    check(found[i].with_domain == ops[i], "%s: op_find does not heed the domain", name);
  }
}

static void check_same(const Found *before, const char *order) {
  for (int i = 0; i < OPS; i++)
    check(op_find(before[i].op->name) == before[i].by_name, "%s: another one when the table is %s", before[i].op->name,
          order);
}

static void names_find_the_same_in_every_order(const void *argument) {
  Found before[OPS], after[OPS];
  (void)argument;
  look_up(before);
  turn_round();
  look_up(after);
  check_same(before, "turned round");
  for (uint32_t seed = 1; seed <= 20; seed++) shuffle(seed), check_same(before, "shuffled");
}

static void a_name_of_two_domains_is_onnx_s_or_nobody_s(const void *argument) {
  (void)argument;
  check(op_find("Gelu") == &op_gelu && op_find("Attention") == &op_attention_onnx,
        "a name that ai.onnx has is another's");
  check(!op_find("FusedConv") && !op_find("FusedGemm"), "a name of two domains is found without its domain");
  check(op_find("com.trainlet.FusedConv") == &op_fused_conv, "com.trainlet is not heeded");
  check(op_find("com.microsoft.FusedConv") == &op_fused_conv_contrib, "com.microsoft is not heeded");
  check(!op_find("com.trainlet.Relu") && !op_find_in("com.microsoft", "Relu") && !op_find("None"),
        "found what is not there");
}

int main(void) {
  TEST(names_find_the_same_in_every_order);
  TEST(a_name_of_two_domains_is_onnx_s_or_nobody_s);
  return test_finish();
}
