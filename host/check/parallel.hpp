// SPDX-License-Identifier: MIT
// parallel.hpp - a loop over [0, n) on all host cores, for references.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <thread>
#include <vector>

namespace clam {

/// Calls body(i) once for each i in [0, n), from several threads, each of which takes a slice at a
/// time; rethrows the first exception.
template <typename Body>
void parallel_for(std::int64_t n, const Body& body, std::int64_t slice = 1) {
  const std::int64_t workers = std::min<std::int64_t>(
      (n + slice - 1) / slice, std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t begin; (begin = next.fetch_add(slice)) < n;) {
      for (std::int64_t i = begin; i < std::min(begin + slice, n); ++i) body(i);
    }
  };
  std::vector<std::future<void>> others;  // waited for also where an exception leaves
  for (std::int64_t t = 1; t < workers; ++t) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace clam
