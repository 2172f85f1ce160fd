// SPDX-License-Identifier: MIT
// activation.cl - the functions that an option ACT may name, besides built-in ones.

//@define CLAM_ACT_ALPHA 0.2f  slope of hard_sigmoid; of leaky_relu below 0; the least of clip
//@define CLAM_ACT_BETA  0.5f  hard_sigmoid of 0; the most of clip
//@define CLAM_ACT_OF    none  {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid}  what `scaled` scales
//@define CLAM_ACT_SCALE 1.0f  the factor of `scaled`
//@define CLAM_ACT_SHIFT 0.0f  what `scaled` adds

float none(float z) { return z; }

// Written so that NaN stays NaN; fmax would swallow it.
float relu(float z) { return z < 0.0f ? 0.0f : z; }

float relu6(float z) { return z < 0.0f ? 0.0f : (z > 6.0f ? 6.0f : z); }

float clip(float z) {
  return z < CLAM_ACT_ALPHA ? CLAM_ACT_ALPHA : (z > CLAM_ACT_BETA ? CLAM_ACT_BETA : z);
}

float leaky_relu(float z) { return z < 0.0f ? CLAM_ACT_ALPHA * z : z; }

float hard_sigmoid(float z) {
  const float y = fma(CLAM_ACT_ALPHA, z, CLAM_ACT_BETA);
  return y < 0.0f ? 0.0f : (y > 1.0f ? 1.0f : y);
}

// A clamp may swallow NaN here: z is still a factor.
float hard_swish(float z) { return z * clamp(fma(z, 0.166666672f, 0.5f), 0.0f, 1.0f); }

// What follows takes exp of what is not above 0, and divides by what is in [1, 5]. A host defines
// CLAM_NATIVE where native_exp2 is within 4 ulp there, and so is a reciprocal by native_recip and a
// step of Newton.
#ifdef CLAM_NATIVE
float exp_minus(float a) { return native_exp2(a * -1.44269504f); }

float quotient(float a, float b) {
  const float r = native_recip(b);
  return a * fma(fma(-b, r, 1.0f), r, r);
}
#else
float exp_minus(float a) { return exp(-a); }

float quotient(float a, float b) { return a / b; }
#endif

// v * sigmoid(z)
float gate(float v, float z) {
  const float e = exp_minus(fabs(z));
  return quotient(z < 0.0f ? v * e : v, 1.0f + e);
}

float sigmoid(float z) { return gate(1.0f, z); }

float silu(float z) { return gate(z, z); }

// z * Phi(z), by Abramowitz and Stegun 7.1.26 for the tail of the normal distribution: within
// 2.6e-7 of the exact value. Past 16 the tail is 0 in float; the clamp keeps 0 * inf out.
float gelu(float z) {
  const float a = fmin(fabs(z), 16.0f);
  const float t = quotient(1.0f, fma(0.231641887f, a, 1.0f));
  float p = fma(1.061405429f, t, -1.453152027f);
  p = fma(p, t, 1.421413741f);
  p = fma(p, t, -0.284496736f);
  p = fma(p, t, 0.254829592f);
  return relu(z) - 0.5f * a * p * t * exp_minus(0.5f * a * a);
}

// z / 2 * (1 + tanh(u)) = z * sigmoid(2 u), u = sqrt(2 / pi) * (z + 0.044715 z^3)
float gelu_tanh(float z) { return gate(z, 1.5957691216f * fma(0.044715f * z * z, z, z)); }

// Another activation, with a factor and a term.
float scaled(float z) { return fma(CLAM_ACT_SCALE, CLAM_ACT_OF(z), CLAM_ACT_SHIFT); }
