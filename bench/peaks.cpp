// SPDX-License-Identifier: MIT
#include "peaks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "check/clock.hpp"
#include "runtime/refuse.hpp"
#include "statistics.hpp"
#include "stopwatch.hpp"

namespace clam::bench {
namespace {

constexpr int kRound = 8;            // multiply-adds of a lane
constexpr int kRounds = 240;         // with a start below 128 within half's whole numbers
constexpr int kStraightRounds = 16;  // without a loop
constexpr int kStarts = 128;
constexpr std::size_t kReadPlaces = 16;  // by one item
constexpr int kBatch = 16;               // empty launches before the host waits
constexpr double kRowsInAll = 45;        // what the seconds are shared by

using Place = std::array<float, 4>;

/// The same as pattern() of peaks.cl.
float pattern(std::size_t place) { return static_cast<float>(place & 0xfffff); }

/// What the rows say together.
void summarise(Peaks& peaks) {
  const auto most = [](std::optional<double>& best, double value) {
    best = std::max(best.value_or(0), value);
  };
  for (const PeakRow& row : peaks.rows) {
    if (row.dtype == "f32") most(peaks.gflops_f32, row.giga);
    if (row.dtype == "f16") most(peaks.gflops_f16, row.giga);
    // Rows of a kind stand by growing size: the last one is of the largest.
    if (row.name == "copy") peaks.gb_per_s_copy = row.giga;
    if (row.name == "read") peaks.gb_per_s_read = row.giga;
    if (row.name == "write") peaks.gb_per_s_write = row.giga;
  }
  peaks.last_cache_bytes = last_cache_of(peaks.rows);
}

/// The arguments from `first` on.
template <typename... Args>
void set_args(cl::Kernel& kernel, cl_uint first, const Args&... args) {
  (kernel.setArg(first++, args), ...);
}

/// Whole numbers from `first` on.
template <typename Value>
std::vector<Value> numbers(const std::string& dtype, int first, int count) {
  HostTensor tensor(parse_dtype(dtype), {count});
  for (int i = 0; i < count; ++i) tensor.set(i, first + i);
  std::vector<Value> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), tensor.data(), tensor.bytes());
  return values;
}

/// All measurements of one run.
class Workbench {
 public:
  Workbench(Runtime& runtime, const PeakOptions& options, Peaks& peaks)
      : runtime_(runtime),
        options_(options),
        peaks_(peaks),
        source_(peaks_source()),
        programs_(runtime.context(), runtime.queue().getInfo<CL_QUEUE_DEVICE>(), runtime.device(),
                  ProgramCache::default_dir(), ProgramCache::limit_from_environment()),
        watch_(runtime) {
    if (!options.source.empty()) source_.text = options.source;
    if (peaks.round_trip_us) watch_.allow(*peaks.round_trip_us * 1e3);
  }

  /// Does it, unless the time is used up. What it measured and cannot be believed is `refused`.
  template <typename Measure>
  void attempt(const std::string& name, const Measure& measure) {
    // Of a device so slow that a single launch takes long.
    const double patience = 3 * options_.seconds + 5;
    const double spent_ns = nanoseconds_since(start_) - building_ns_ - watch_.building_ns();
    if (spent_ns > patience * 1e9) return;
    if (name.rfind(options_.only, 0) != 0) return;
    if (options_.progress) options_.progress(name);
    try {
      measure();
    } catch (const cl::Error& error) {
      peaks_.refused.push_back(fmt::format("{}: {}", name, describe(error)));
    } catch (const Error& error) {  // rows are measured without the peak
      peaks_.refused.push_back(fmt::format("{}: {}", name, error.what()));
    }
  }

  void launches() {
    cl::Kernel nothing = kernel("peak_nothing");
    const cl::Buffer marks = buffer(sizeof(cl_int));
    nothing.setArg(0, marks);
    cl_int token = 0;
    const auto batch = [&](int count) {
      nothing.setArg(1, ++token);
      const Clock::time_point start = Clock::now();
      cl::Event event;
      for (int i = 0; i < count; ++i) {
        runtime_.queue().enqueueNDRangeKernel(nothing, cl::NullRange, {1}, {1}, nullptr, &event);
      }
      wait_for(event, runtime_.queue());
      const double ns = nanoseconds_since(start);
      cl_int seen = 0;
      runtime_.queue().enqueueReadBuffer(marks, CL_TRUE, 0, sizeof seen, &seen);
      if (seen != token) throw Refused("an empty kernel did not run");
      return ns / count;
    };
    const auto typical = [&](int count) {
      constexpr std::size_t kLeast = 11;
      batch(count);
      std::vector<double> times;
      const Clock::time_point start = Clock::now();
      while (times.size() < kLeast || seconds_since(start) < window()) {
        times.push_back(batch(count));
      }
      return median(times) * 1e-3;
    };
    peaks_.launch_us = typical(kBatch);
    peaks_.round_trip_us = typical(1);
    watch_.allow(*peaks_.round_trip_us * 1e3);
  }

  double multiply_adds(const std::string& dtype, const std::string& function, int width) {
    return dtype == "f16" ? count<cl_half>(dtype, function, width)
                          : count<cl_float>(dtype, function, width);
  }

  /// Every width, by the quicker function: fma() is in software where the hardware has none.
  void all_multiply_adds(const std::string& dtype) {
    constexpr int kFirst = 4;
    const auto measure = [&](const std::string& function, int width) {
      double giga = 0;
      attempt(fmt::format("{} {} of {}", dtype, function, width),
              [&] { giga = multiply_adds(dtype, function, width); });
      return giga;
    };
    const double fma = measure("fma", kFirst), mad = measure("mad", kFirst);
    for (const int width : {1, 2, 8, 16}) measure(mad > 1.2 * fma ? "mad" : "fma", width);
  }

  /// Steps of four, from 16 KiB to well beyond the caches that the driver tells of.
  std::vector<std::int64_t> sizes() const {
    const DeviceInfo& device = runtime_.device();
    std::int64_t largest = options_.largest_bytes;
    if (largest == 0) largest = std::max(std::int64_t{64} << 20, 4 * device.global_cache_bytes);
    largest = std::min({largest, device.max_alloc_bytes / 4, device.global_mem_bytes / 4});
    std::vector<std::int64_t> sizes;
    for (std::int64_t bytes = 16 << 10; bytes <= largest; bytes *= 4) sizes.push_back(bytes);
    // The last step may end within the caches, and the largest lies beyond them.
    constexpr std::int64_t kWhole = 1 << 20;
    if (largest >= 2 * sizes.back()) sizes.push_back(largest / kWhole * kWhole);
    return sizes;
  }

  void memory(const std::string& kind, std::int64_t bytes) {
    if (!src_()) prepare_memory();
    const bool copies = kind == "copy", reads = kind == "read", writes = kind == "write";
    const bool together = reads && on_cpu();
    const auto places = static_cast<std::size_t>(copies ? bytes / 2 : bytes) / sizeof(Place);
    Work work;
    work.kernel = kernel("peak_" + kind, together ? "-DPEAK_TOGETHER=1" : "");
    work.items = reads ? places / kReadPlaces : places;
    work.group = group_of(work.kernel, reads ? 64 : 256, work.items);
    work.marks = writes ? 1 : 2;
    // What is written is the source of the others: after a refused write it is made anew.
    const cl::Buffer to = writes ? std::exchange(src_, {}) : dst_;
    if (!writes) work.kernel.setArg(0, src_);
    work.kernel.setArg(work.marks - 1, to);
    poison(to, static_cast<std::int64_t>(work.items * sizeof(Place)));
    const double ns = watch_.best_ns(work, window());
    const std::size_t group = work.group;
    check<Place>(to, work.items, [&](std::size_t i) {
      const std::size_t first =
          together ? i * kReadPlaces : i / group * group * kReadPlaces + i % group;
      float sum = reads ? 0 : pattern(i);
      for (std::size_t k = 0; reads && k < kReadPlaces; ++k) {
        sum += pattern(first + k * (together ? 1 : group));
      }
      return Place{sum, sum, sum, sum};
    });
    if (writes) src_ = to;
    peaks_.rows.push_back({kind, "", 0, bytes, ns * 1e-3, double(bytes) / ns});
  }

  /// By the host's clock: a driver may count no time for a buffer that both sides share.
  void transfers() {
    constexpr int kFewest = 3;
    constexpr double kPatience = 10;  // windows, of a machine where one takes long
    const cl::CommandQueue& queue = runtime_.queue();
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(sizes().back(), 16 << 20));
    const cl::Buffer there(runtime_.context(), CL_MEM_READ_WRITE, size);
    std::vector<std::uint8_t> here(size), back(size);
    std::uint8_t turn = 0;
    const auto write = [&] { queue.enqueueWriteBuffer(there, CL_TRUE, 0, size, here.data()); };
    const auto write_mapped = [&] {
      void* mapped = queue.enqueueMapBuffer(there, CL_TRUE, CL_MAP_WRITE, 0, size);
      std::memcpy(mapped, here.data(), size);
      cl::Event event;
      queue.enqueueUnmapMemObject(there, mapped, nullptr, &event);
      wait_for(event, runtime_.queue());
    };
    // Sends by `send` and fetches, and counts one of them. Returns the best of several.
    const auto best_rate = [&](const auto& send, bool counts_sending) {
      double best = 0;
      const Clock::time_point first = Clock::now();
      for (int i = 0; i < kFewest || seconds_since(first) < window(); ++i) {
        if (i > 0 && seconds_since(first) > kPatience * window()) break;
        std::memset(here.data(), ++turn, size);
        std::memset(back.data(), 0, size);
        const Clock::time_point start = Clock::now();
        send();
        const double sending_ns = nanoseconds_since(start);
        const Clock::time_point sent = Clock::now();
        queue.enqueueReadBuffer(there, CL_TRUE, 0, size, back.data());
        best =
            std::max(best, double(size) / (counts_sending ? sending_ns : nanoseconds_since(sent)));
        if (here != back) throw Refused("what came back is not what was sent");
      }
      return best;
    };
    // All of them, or none.
    const double upload = best_rate(write, true), download = best_rate(write, false);
    peaks_.map_gb_per_s = best_rate(write_mapped, true);
    peaks_.upload_gb_per_s = upload, peaks_.download_gb_per_s = download;
  }

  /// A program that nobody built before: a number of its own is in its code, which the marks show.
  void build() {
    const auto unique = Clock::now().time_since_epoch().count() & 0xffffff;
    const cl::Device device = runtime_.queue().getInfo<CL_QUEUE_DEVICE>();
    const Clock::time_point start = Clock::now();
    cl::Program program(runtime_.context(), source_.text);
    program.build({device}, fmt::format("-DPEAK_UNIQUE={}", unique).c_str());
    cl::Kernel fma(program, "peak_fma");
    const std::vector<cl_float> starts(kStarts, 0.0f);
    const cl::Buffer from = source(starts);
    const cl::Buffer to = buffer(kStarts * std::int64_t{sizeof(cl_float)}),
                     marks = buffer(sizeof(cl_int));
    set_args(fma, 0, from, to, marks, cl_int{0}, cl_int{1}, 1.0f, 1.0f);
    cl::Event event;
    runtime_.queue().enqueueNDRangeKernel(fma, cl::NullRange, {1, 1}, {1, 1}, nullptr, &event);
    wait_for(event, runtime_.queue());
    const double ns = nanoseconds_since(start);
    cl_int seen = 0;
    runtime_.queue().enqueueReadBuffer(marks, CL_TRUE, 0, sizeof seen, &seen);
    throw_if<Refused>(seen != unique + kRound,
                      "the program that ran is not the one that was built");
    peaks_.build_ms = ns * 1e-6;
  }

  /// After the last of them.
  void end() {
    if (options_.progress) options_.progress("");
    summarise(peaks_);
  }

 private:
  /// A CPU hides its latency by chains alone, a GPU by warps, which many registers make fewer.
  int chains_of(int width) const {
    if (options_.chains > 0) return options_.chains;
    return on_cpu() ? 8 : std::clamp(16 / width, 1, 8);
  }

  Work prepare(bool half, const std::string& function, int width, int chains) {
    const bool cpu = on_cpu(), straight = half && !cpu;
    Work work;
    work.kernel = kernel(
        "peak_fma", fmt::format("{}{}{}-DPEAK_WIDTH={} -DPEAK_CHAINS={}", half ? "-DCLAM_F16 " : "",
                                straight ? "-DPEAK_STRAIGHT=1 " : "",
                                function == "mad" ? "-DPEAK_MAD=1 " : "", width, chains));
    work.group = group_of(work.kernel, cpu ? 16 : 64, 64);
    const auto units = static_cast<std::size_t>(runtime_.device().compute_units);
    work.items = cpu ? 2 * work.group * units : 256 * units;
    work.items -= work.items % work.group;
    work.mark = kRound * (straight ? kStraightRounds : kRounds);  // chain 0 starts at 0
    work.marks = 2;
    return work;
  }

  /// Each lane counts from its own start. Returns GFLOP/s.
  template <typename Value>
  double count(const std::string& dtype, const std::string& function, int width) {
    const bool half = dtype == "f16";
    const int chains = chains_of(width), lanes = chains * width;  // of an item
    Work work = prepare(half, function, width, chains);
    const auto steps = static_cast<int>(work.mark);  // of a lane, in a pass
    const cl::Buffer from = source(numbers<Value>(dtype, 0, kStarts));
    const std::vector<Value> ends = numbers<Value>(dtype, steps, lanes);
    const std::size_t count = work.items * ends.size();
    const auto bytes = static_cast<std::int64_t>(count * sizeof(Value));
    const cl::Buffer to = buffer(bytes);
    poison(to, bytes);
    set_args(work.kernel, 0, from, to);
    set_args(work.kernel, 4, cl_int{kRounds}, 1.0f, 1.0f);
    const double ns = watch_.best_ns(work, window());
    check<Value>(to, count, [&](std::size_t i) { return ends[i % ends.size()]; });
    const double giga = 2.0 * double(steps) * double(count) / ns;
    const std::string name = fmt::format("{} {}{}", function, half ? "half" : "float",
                                         width > 1 ? std::to_string(width) : "");
    peaks_.rows.push_back({name, dtype, width, 0, ns * 1e-3, giga});
    return giga;
  }

  void prepare_memory() {
    const std::int64_t largest = sizes().back();
    const cl::Buffer src = buffer(largest);
    dst_ = buffer(largest / 2);
    cl::Kernel fill = kernel("peak_write");
    const std::size_t items = static_cast<std::size_t>(largest) / sizeof(Place);
    const std::size_t group = group_of(fill, 256, items);
    const cl::Buffer marks = buffer(static_cast<std::int64_t>(items / group * sizeof(cl_int)));
    set_args(fill, 0, src, marks, 0);
    cl::Event event;
    runtime_.queue().enqueueNDRangeKernel(fill, cl::NullRange, {items, 1}, {group, 1}, nullptr,
                                          &event);
    wait_for(event, runtime_.queue());
    src_ = src;
  }

  cl::Kernel kernel(const std::string& name, const std::string& options = "") {
    const Clock::time_point start = Clock::now();
    cl::Kernel built = programs_.kernel(source_, options, name);
    building_ns_ += nanoseconds_since(start);
    return built;
  }
  cl::Buffer buffer(std::int64_t bytes) {
    return {runtime_.context(), CL_MEM_READ_WRITE, static_cast<cl::size_type>(bytes)};
  }
  /// Not by iterators, for then cl::Buffer waits for an event that nobody has flushed.
  template <typename Value>
  cl::Buffer source(const std::vector<Value>& values) {
    const cl::Buffer made = buffer(static_cast<std::int64_t>(values.size() * sizeof(Value)));
    runtime_.queue().enqueueWriteBuffer(made, CL_TRUE, 0, values.size() * sizeof(Value),
                                        values.data());
    return made;
  }
  void poison(const cl::Buffer& buffer, std::int64_t bytes) {
    runtime_.queue().enqueueFillBuffer(buffer, cl_uint{0xffffffff}, 0,
                                       static_cast<cl::size_type>(bytes));
    runtime_.queue().finish();
  }

  /// Reads a part after the other, so that the host needs little memory.
  template <typename Value, typename Expect>
  void check(const cl::Buffer& buffer, std::size_t count, const Expect& expect) {
    constexpr std::size_t kPart = std::size_t{1} << 20;
    std::vector<Value> part(std::min(count, kPart));
    for (std::size_t begin = 0; begin < count; begin += part.size()) {
      const std::size_t size = std::min(part.size(), count - begin);
      runtime_.queue().enqueueReadBuffer(buffer, CL_TRUE, begin * sizeof(Value),
                                         size * sizeof(Value), part.data());
      for (std::size_t i = 0; i < size; ++i) {
        throw_if<Refused>(part[i] != expect(begin + i),
                          "element {} of {} is not what was to be computed", begin + i, count);
      }
    }
  }

  std::size_t group_of(const cl::Kernel& kernel, std::size_t wanted, std::size_t items) const {
    const cl::Device device = runtime_.queue().getInfo<CL_QUEUE_DEVICE>();
    std::size_t group = std::min(wanted, items);
    const std::size_t allowed = kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device);
    while (group > allowed) group /= 2;
    return group;
  }
  bool on_cpu() const {
    const std::string& type = options_.device_type;
    return (type.empty() ? runtime_.device().type : type) == "cpu";
  }
  double window() const { return options_.seconds / kRowsInAll; }

  Runtime& runtime_;
  const PeakOptions& options_;
  Peaks& peaks_;
  KernelSource source_;
  ProgramCache programs_;  // its own: what it builds is not in the counts of the rows' programs
  Stopwatch watch_;
  Clock::time_point start_ = Clock::now();
  double building_ns_ = 0;
  cl::Buffer src_, dst_;
};

}  // namespace

Peaks measure_peaks(Runtime& runtime, const PeakOptions& options) {
  Peaks peaks;
  Workbench bench(runtime, options, peaks);
  bench.attempt("launch", [&] { bench.launches(); });
  bench.all_multiply_adds("f32");
  if (runtime.device().fp16) bench.all_multiply_adds("f16");
  for (const char* kind : {"write", "read", "copy"}) {
    for (const std::int64_t bytes : bench.sizes()) {
      bench.attempt(fmt::format("{} of {} KiB", kind, bytes >> 10),
                    [&] { bench.memory(kind, bytes); });
    }
  }
  bench.attempt("transfers", [&] { bench.transfers(); });
  bench.attempt("build", [&] { bench.build(); });
  bench.end();
  return peaks;
}

Peaks measure_again(Runtime& runtime, const PeakOptions& options, const Peaks& before) {
  Peaks peaks;
  peaks.round_trip_us = before.round_trip_us;
  Workbench bench(runtime, options, peaks);
  for (const PeakRow& row : before.rows) {
    const bool best = row.dtype == "f32" ? row.giga == before.gflops_f32
                                         : row.dtype == "f16" && row.giga == before.gflops_f16;
    const std::string function = row.name.substr(0, 3);
    if (best) bench.attempt(row.name, [&] { bench.multiply_adds(row.dtype, function, row.width); });
    if (row.name == "copy" || row.name == "read") {
      bench.attempt(row.name, [&] { bench.memory(row.name, row.bytes); });
    }
  }
  bench.end();
  return peaks;
}

}  // namespace clam::bench
