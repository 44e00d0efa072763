/* Peak: the most multiply-adds a millisecond of all threads together, in registers alone: what no kernel passes. */
#pragma once

/* Measured for some 20 ms by `now`, a clock of milliseconds; 0 where that does not move. */
double peak_measure(double (*now)(void *context), void *context);
