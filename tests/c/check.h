/* Check: the smallest test runner; one line a test, and at the end "N passed, N failed". */
#pragma once
#include <stdbool.h>

/* Runs one test and prints its line. `test` may be called for data-driven tests: `argument` is handed through. */
void test_run(const char *name, void (*test)(const void *argument), const void *argument);
#define TEST(function) test_run(#function, function, 0)

/* Fails the running test when not ok, with a sentence; gives ok back. */
bool check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A remark on the running test's line. */
void test_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the totals; the exit code of main. A run without a single test fails. */
int test_finish(void);
