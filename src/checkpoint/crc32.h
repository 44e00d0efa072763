/* CRC-32 as in zip and PNG: tells a torn or damaged file from an intact one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const uint8_t *bytes, size_t count);
