// SPDX-License-Identifier: MIT
// noise.cpp - what a launch and a wait take: by the script's costs, and what comes on top.
#include <cmath>
#include <cstring>
#include <numeric>

#include "clock.hpp"
#include "state.hpp"

namespace scripted {
namespace {

/// Of turn `n`, alike on every machine (splitmix64).
std::uint64_t random_of(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t value = (seed * 0x9e3779b97f4a7c15u) + n * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

double exponential(std::uint64_t seed, std::uint64_t n) {
  constexpr double kBelowOne = 1.0 / 9007199254740992.0;
  return -std::log((double(random_of(seed, n) >> 11) + 0.5) * kBelowOne);
}

double turn(const std::vector<double>& series, std::uint64_t seed, std::int64_t n, double none) {
  if (series.empty()) return none;
  const auto first = static_cast<std::size_t>(random_of(seed, ~std::uint64_t{0}) % series.size());
  return series[(first + static_cast<std::size_t>(n)) % series.size()];
}

std::int64_t noisy(std::int64_t ns, const std::vector<double>& delays_us, std::uint64_t seed,
                   std::int64_t n) {
  const auto plays = script();
  const Noise& noise = plays->noise;
  double time = double(ns) * turn(noise.factors, seed, n, 1);
  if (noise.spread > 0) time *= 1 + noise.spread * exponential(seed, static_cast<std::uint64_t>(n));
  return std::llround(time + 1e3 * turn(delays_us, seed, n, 0));
}

std::int64_t next_turn(std::int64_t State::*turns) {
  const std::lock_guard lock(mutex());
  return (state().*turns)++;
}

double argument(const KernelRecord& kernel, int index) {
  const auto found = kernel.values.find(static_cast<cl_uint>(index));
  cl_int value = 0;
  if (found == kernel.values.end() || found->second.size() != sizeof value) return 1;
  std::memcpy(&value, found->second.data(), sizeof value);
  return value;
}

}  // namespace

std::int64_t noisy_launch(std::int64_t ns) {
  const auto plays = script();
  const double slower = plays->noise.slower_a_second;  // asking for the time takes some
  if (slower > 0) ns += std::llround(double(ns) * slower * double(now()) * 1e-9);
  return noisy(ns, plays->noise.device_us, plays->noise.seed, next_turn(&State::launches));
}

std::int64_t noisy_wait(std::int64_t ns) {
  const auto plays = script();
  return noisy(ns, plays->noise.wait_us, plays->noise.seed + 1, next_turn(&State::waits));
}

double gb_per_s(double bytes) {
  const auto plays = script();
  for (const Rate& rate : plays->memory) {
    if (bytes <= rate.up_to_bytes) return rate.gb_per_s;
  }
  return plays->memory.back().gb_per_s;
}

std::int64_t cost_of(const About& about, const std::vector<std::size_t>& global,
                     const KernelRecord& kernel) {
  const auto plays = script();
  const double items = std::accumulate(global.begin(), global.end(), 1.0,
                                       [](double all, std::size_t n) { return all * double(n); });
  for (const Cost& cost : plays->costs) {
    if (!cost.of.fits(about)) continue;
    const double pass_bytes = cost.bytes_per_item * double(global[0]);
    double ns = cost.us * 1e3 + cost.ns_per_item * items;
    ns += cost.bytes_per_item * items / gb_per_s(pass_bytes);
    ns += cost.flops_per_item * items / plays->gflop_per_s;
    if (cost.times_argument >= 0) ns *= argument(kernel, cost.times_argument);
    return std::llround(ns);
  }
  return 0;  // the last entry fits everything
}

}  // namespace scripted
