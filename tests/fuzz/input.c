/* Decoding of a fuzz target's case from its bytes. */
#include <string.h>

#include "fuzz.h"

uint8_t input_byte(Input *in) { return in->at < in->end ? *in->at++ : 0; }
int input_below(Input *in, int count) { return input_byte(in) % count; }

static const char *const telling[] = {"",
                                      "a/b",
                                      "__proto__",
                                      "two\nlines",
                                      "\xFF\xFE",
                                      "\xED\xA0\x80",
                                      "\xC0\x80",
                                      "caf\xC3\xA9",
                                      "\x01\x1B[31m",
                                      "'quoted'",
                                      "%s%n",
                                      "checkpoint.data",
                                      "momentum0",
                                      "trainlet.outputs",
                                      "loss",
                                      "x",
                                      "w",
                                      "y",
                                      "lazy_reset_grad",
                                      "constructor",
                                      ".",
                                      "../up",
                                      "trainlet.checksum",
                                      " "};
enum { TELLING = sizeof telling / sizeof *telling };

const char *input_text(Input *in, char *to) {
  static const int lengths[] = {127, 128, 200, 512, 1024, 4096, 20000, INPUT_TEXT - 1};
  int kind = input_byte(in), length = 0;
  if (kind < 100) return telling[kind % TELLING];
  /* seldom the two longest: they take most of the time */
  bool longest = kind >= 254 && input_byte(in) % 16 == 0;
  if (kind >= 240) length = lengths[longest ? 6 + kind % 2 : kind % 6], memset(to, 'n', (size_t)length);
  else
    for (; length < kind % 16; length++) to[length] = (char)input_byte(in);
  to[length] = 0;
  return to;
}
