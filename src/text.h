/* Text: what of some bytes is UTF-8. */
#pragma once
#include <stddef.h>

/* How many bytes from the first are whole characters of UTF-8: `count` where all are. No NUL is needed after them. */
size_t text_whole(const void *text, size_t count);
