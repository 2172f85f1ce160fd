// SPDX-License-Identifier: MIT
// parallel.hpp - a loop over [0, n) on all host cores, for references.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
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
  std::vector<std::exception_ptr> errors(
      static_cast<std::size_t>(std::max<std::int64_t>(workers, 0)));
  const auto work = [&](std::size_t worker) {
    try {
      for (std::int64_t begin; (begin = next.fetch_add(slice)) < n;) {
        for (std::int64_t i = begin; i < std::min(begin + slice, n); ++i) body(i);
      }
    } catch (...) {
      errors[worker] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t t = 1; t < workers; ++t)
    threads.emplace_back(work, static_cast<std::size_t>(t));
  if (workers > 0) work(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace clam
