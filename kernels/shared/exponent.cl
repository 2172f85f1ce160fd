// SPDX-License-Identifier: MIT
// exponent.cl - exp of x less a maximum, by EXP2((x - maximum) * LOG2_E). Needs NATIVE.

#define LOG2_E 1.44269504f
#define LOWEST (-3.402823466e+38f)  // below every x but -inf; -inf - -inf would be NaN

#if NATIVE
#define EXP2 native_exp2
#else
#define EXP2 exp2
#endif
