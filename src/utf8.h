/* Text: how much of some bytes is valid UTF-8. */
#pragma once
#include <stddef.h>

/* The number of bytes, counted from the first, that are whole UTF-8 characters: `count` if all are. No NUL is needed at
 * the end. */
size_t utf8_whole(const void *text, size_t count);
