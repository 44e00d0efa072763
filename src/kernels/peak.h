/* Peak: the most multiply-adds per millisecond of all threads together, in registers alone: no kernel can be faster. */
#pragma once

/* Measured for some 20 ms by `now`, a clock of milliseconds; 0 where that does not move. */
double peak_measure(double (*now)(void *context), void *context);
