// SPDX-License-Identifier: MIT
#include "transfers.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace clam::bench {
namespace {

/// A buffer, what is sent to it, and what came back.
class Transfers {
 public:
  Transfers(Runtime& runtime, const Stopwatch& watch, std::size_t size, double seconds)
      : queue_(runtime.queue()),
        watch_(watch),
        there_(runtime.context(), CL_MEM_READ_WRITE, size),
        here_(size),
        back_(size),
        ns_(seconds * 1e9) {}

  double upload() {
    return best_rate([&] {
      const double ns = timed([&] { write(); });
      read();
      return ns;
    });
  }
  double download() {
    return best_rate([&] {
      write();
      return timed([&] { read(); });
    });
  }
  double map() {
    return best_rate([&] {
      const double ns = timed([&] { write_mapped(); });
      read();
      return ns;
    });
  }

 private:
  /// `move` sends and fetches, and returns the nanoseconds of the one that counts.
  template <typename Move>
  double best_rate(const Move& move) {
    constexpr int kFewest = 3;
    constexpr double kPatience = 10;  // windows, of a machine where one takes long
    double best = 0;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kFewest || nanoseconds_since(start) < ns_; ++i) {
      if (i > 0 && nanoseconds_since(start) > kPatience * ns_) break;
      std::memset(here_.data(), ++turn_, here_.size());
      std::memset(back_.data(), 0, back_.size());
      best = std::max(best, double(here_.size()) / move());
      if (here_ != back_) throw Refused("what came back is not what was sent");
    }
    return best;
  }
  template <typename Step>
  static double timed(const Step& step) {
    const Clock::time_point start = Clock::now();
    step();
    return nanoseconds_since(start);
  }

  void write() { queue_.enqueueWriteBuffer(there_, CL_TRUE, 0, here_.size(), here_.data()); }
  void read() { queue_.enqueueReadBuffer(there_, CL_TRUE, 0, back_.size(), back_.data()); }
  void write_mapped() {
    void* mapped = queue_.enqueueMapBuffer(there_, CL_TRUE, CL_MAP_WRITE, 0, here_.size());
    std::memcpy(mapped, here_.data(), here_.size());
    cl::Event event;
    queue_.enqueueUnmapMemObject(there_, mapped, nullptr, &event);
    watch_.wait(event);
  }

  const cl::CommandQueue& queue_;
  const Stopwatch& watch_;
  cl::Buffer there_;
  std::vector<std::uint8_t> here_, back_;
  std::uint8_t turn_ = 0;
  double ns_;
};

}  // namespace

TransferRates measure_transfers(Runtime& runtime, const Stopwatch& watch, std::int64_t bytes,
                                double seconds) {
  Transfers transfers(runtime, watch, static_cast<std::size_t>(bytes), seconds);
  TransferRates rates;
  rates.upload = transfers.upload();
  rates.download = transfers.download();
  rates.map = transfers.map();
  return rates;
}

}  // namespace clam::bench
