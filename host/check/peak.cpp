// SPDX-License-Identifier: MIT
#include "peak.hpp"

#include <algorithm>

#include "clam/gpu.hpp"
#include "clam/op.hpp"

namespace clam {

std::optional<Peak> peak(const DeviceInfo& device) {
  constexpr std::int64_t kSlowest = 100, kFastest = 3000;  // MHz; some drivers say 5
  const Identity who = identify(device);
  const bool plausible = device.max_clock_mhz >= kSlowest && device.max_clock_mhz <= kFastest;
  if (!who.gpu || who.cores == 0 || !plausible) return std::nullopt;
  const double giga_clocks = double(who.cores) * device.max_clock_mhz * 1e-3;
  return Peak{2 * who.gpu->fma_f32 * giga_clocks, 2 * who.gpu->fma_f16 * giga_clocks,
              who.gpu->gb_per_s};
}

double MeasuredPeak::gb_per_s(double bytes) const {
  double largest = 0, best = 0;
  for (const Rate& rate : rates) largest = std::max(largest, rate.bytes);
  for (const Rate& rate : rates) {
    if (rate.bytes >= std::min(bytes / 4, largest)) best = std::max(best, rate.gb_per_s);
  }
  return best;
}

Peak MeasuredPeak::of(double bytes) const {
  // Halves may be summed in float, which is the faster of the two where halves are emulated.
  return {gflops_f32, std::max(gflops_f16, gflops_f32), gb_per_s(bytes)};
}

double floor_ms(const Problem& problem, const Peak& peak) {
  return floor_ms(problem, peak, flops_of(problem), bytes_of(problem));
}

double floor_ms(const Problem& problem, const Peak& peak, double flops, double bytes) {
  const double gflops = problem.dtype() == Dtype::f16 ? peak.gflops_f16 : peak.gflops_f32;
  const auto least = [](double work, double giga) { return giga > 0 ? work / giga : 0; };
  return 1e-6 * std::max(least(flops, gflops), least(bytes, peak.gb_per_s));
}

}  // namespace clam
