// SPDX-License-Identifier: MIT
// conv2d_vectors.cl - DO for each vector of pixels of a tile, and for each sum. Needs EACH_CHANNEL.

#if CONV2D_VECTORS == 1
#define EACH_VECTOR(DO, a) DO(0, a)
#define EACH_SUM(DO) EACH_CHANNEL(DO, 0)
#else
#define EACH_VECTOR(DO, a) DO(0, a) DO(1, a)
#define EACH_SUM(DO) EACH_CHANNEL(DO, 0) EACH_CHANNEL(DO, 1)
#endif
