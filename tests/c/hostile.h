/* Hostile: a file's bytes changed in many ways, always the same ones, each handed to a reader. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads `count` bytes, a block of exactly that size; checks that they are refused with a sentence or make sense. Gives
 * whether they were refused. */
typedef bool HostileReader(const uint8_t *bytes, size_t count);

/* Every beginning (of the first 2,000), every one of the first 256 bytes changed in 15 ways, 1,000 random mutations. */
void hostile_try(const uint8_t *original, size_t count, HostileReader *reader);
