/* The Scan of opset 8, which upgrade.c chooses: all that it takes and makes has a batch as axis 0. */
#pragma once
#include "ops/op.h"

extern const Op op_scan_8;
