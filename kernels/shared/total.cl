// SPDX-License-Identifier: MIT
// total.cl - four floats as one.

float largest4(float4 v) { return fmax(fmax(v.x, v.y), fmax(v.z, v.w)); }

// Not v.x + v.y + ...: of that LLVM makes shuffles that end the simulator Oclgrind 21.10.
float total4(float4 v) { return dot(v, (float4)(1.0f)); }
