// SPDX-License-Identifier: MIT
// storage.cl - how a tensor stores an element, T, where halves are loaded without an extension.

#ifdef CLAM_F16
typedef half T;
#define LOAD(p, i) vload_half(i, p)
#else
typedef float T;
#define LOAD(p, i) (p)[i]
#endif
