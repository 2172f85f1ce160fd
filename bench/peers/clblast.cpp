// SPDX-License-Identifier: MIT
// clblast.cpp - clam-bench-peers: clam's dense beside CLBlast's Gemm, in turns, in one run.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "clam.hpp"
#include "workload.hpp"

// After clam.hpp, which says which version of OpenCL the headers speak.
#include <clblast.h>

namespace {

using namespace clam;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 7;
constexpr double kTurnSeconds = 0.05;
constexpr int kMostCalls = 200;
constexpr int kInFlight = 16;  // calls between two waits, the same for both
constexpr std::uint64_t kSeed = 1;

/// A Problem with its inputs on the device, and the result that both sides must reach.
struct Task {
  Task(Runtime& runtime, const Problem& problem)
      : runtime(runtime),
        problem(problem),
        set(find_data_set(problem.op(), "zero_mean")),
        inputs(make_inputs(problem, set, kSeed)),
        reference(problem.op().reference(problem, inputs,
                                         reference_options(set.check, runtime.device()))),
        trial(runtime, problem),
        peer_y(runtime, *trial.plan().tensor("y")) {
    trial.upload(inputs);
  }

  Runtime& runtime;
  Problem problem;
  const DataSet& set;
  Tensors inputs;
  Reference reference;
  Trial trial;
  GuardedBuffer peer_y;
};

/// One of the two: how to start a call, wait for it, and get its output.
class Side {
 public:
  explicit Side(Task& task) : task_(task) {}
  virtual ~Side() = default;

  /// Wall time of `calls` calls, waited for.
  double seconds(int calls) {
    const Clock::time_point start = Clock::now();
    for (int i = 1; i <= calls; ++i) {
      call();
      if (i % kInFlight == 0 || i == calls) wait();
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  /// Times a turn and checks what it left in full. Throws Error with what is wrong.
  void take_turn(int turn, int calls) {
    poison(turn);
    us_.push_back(seconds(calls) / calls * 1e6);
    const HostTensor y = output();
    if (const Reason reason = trespass()) throw Error(*reason);
    const Verdict verdict = compare(y, task_.reference.at("y"), turn);
    if (!verdict.pass) throw Error(verdict.reason);
  }
  double median_us() const {
    std::vector<double> sorted = us_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }

 protected:
  virtual void call() = 0;
  virtual void wait() = 0;
  virtual void poison(int turn) = 0;
  virtual HostTensor output() = 0;
  virtual Reason trespass() const = 0;
  Task& task_;

 private:
  std::vector<double> us_;
};

class Clam : public Side {
 public:
  using Side::Side;

 private:
  void call() override { task_.trial.enqueue(); }
  void wait() override { task_.runtime.finish(); }
  void poison(int turn) override { task_.trial.poison(turn); }
  HostTensor output() override { return task_.trial.download().at("y"); }
  Reason trespass() const override { return task_.trial.trespass(); }
};

class ClBlast : public Side {
 public:
  explicit ClBlast(Task& task) : Side(task), bindings_(task.trial.bindings()) {}

 private:
  void call() override {
    const auto extent = [&](const char* name) {
      return static_cast<std::size_t>(task_.problem.integer(name));
    };
    const std::size_t m = extent("m"), n = extent("n"), k = extent("k");
    cl_command_queue queue = task_.runtime.queue()();
    const clblast::StatusCode status = clblast::Gemm<float>(
        clblast::Layout::kRowMajor, clblast::Transpose::kNo, clblast::Transpose::kYes, m, n, k,
        1.0f, bindings_.at("x")(), 0, k, bindings_.at("w")(), 0, k, 0.0f, task_.peer_y.buffer()(),
        0, n, &queue);
    if (status != clblast::StatusCode::kSuccess) {
      throw DeviceError(fmt::format("Gemm ended with status {}", static_cast<int>(status)));
    }
  }
  void wait() override { task_.runtime.queue().finish(); }
  void poison(int turn) override { task_.peer_y.poison(turn); }
  HostTensor output() override { return task_.peer_y.download(); }
  Reason trespass() const override { return task_.peer_y.trespass(); }

  Bindings bindings_;
};

/// A B A B, so that a change of clock or load meets both alike.
void take_turns(Clam& clam, ClBlast& peer) {
  clam.seconds(1), peer.seconds(1);  // builds, first touch
  const double slower = std::max(clam.seconds(1), peer.seconds(1));
  const int calls = std::clamp(static_cast<int>(kTurnSeconds / slower), 1, kMostCalls);
  for (int turn = 1; turn <= kTurns; ++turn) {
    clam.take_turn(turn, calls);
    peer.take_turn(turn, calls);
  }
}

/// Prints a line; returns CLBlast's time over clam's.
double compare_sides(Runtime& runtime, const std::string& node, const Problem& problem) {
  Task task(runtime, problem);
  Clam clam(task);
  ClBlast peer(task);
  take_turns(clam, peer);
  const double ours = clam.median_us(), theirs = peer.median_us();
  const double flops = problem.op().flops(problem);
  fmt::print("{:<10} {:>10.1f} {:>8.2f} {:>10.1f} {:>8.2f} {:>7.2f}  {}, {}\n", node, ours,
             flops / ours * 1e-3, theirs, flops / theirs * 1e-3, theirs / ours, problem.text(),
             task.trial.plan().variant);
  std::fflush(stdout);
  return theirs / ours;
}

void print_head(const DeviceInfo& device) {
  fmt::print("device: {} ({}, driver {}; {}, {} compute units)\n", device.name, device.platform,
             device.driver_version, device.type, device.compute_units);
  if (device.type == "cpu") fmt::print("This is a CPU: its times say nothing about a GPU.\n");
  fmt::print(
      "y = x w^T alone; wall time a call, median of {} turns of each, A B A B, every turn "
      "checked.\n"
      "clam packs constant weights once, outside of the time; CLBlast as installed.\n\n",
      kTurns);
  fmt::print("{:<10} {:>10} {:>8} {:>10} {:>8} {:>7}  problem, clam's variant\n", "node", "clam us",
             "GFLOP/s", "CLBlast us", "GFLOP/s", "ratio");
}

/// Gemm knows no bias, residual or activation: both sides do without.
Problem bare(const Problem& problem) {
  return problem.with("bias", "0").with("residual", "0").with("act", "none");
}

int run(const std::string& device) {
  const DeviceEntry entry = select_device(device);
  const cl::Context context(entry.device);
  Runtime runtime(context, cl::CommandQueue(context, entry.device, CL_QUEUE_PROFILING_ENABLE));
  print_head(runtime.device());
  std::vector<double> ratios;
  int faults = 0;
  for (const Workload::Node& node : read_workload("lightglue-192").nodes) {
    if (!node.problem || node.op != "dense") continue;
    const Problem problem = bare(*node.problem);
    try {
      ratios.push_back(compare_sides(runtime, node.name, problem));
    } catch (const DeviceError&) {
      throw;
    } catch (const Error& error) {
      fmt::print("{:<10} INVALID {}: {}\n", node.name, problem.text(), error.what());
      ++faults;
    }
  }
  double logs = 0;
  for (const double ratio : ratios) logs += std::log(ratio);
  fmt::print("\nCLBlast's time / clam's, geometric mean of {}: {:.2f} (above 1: clam is faster)\n",
             ratios.size(), std::exp(logs / static_cast<double>(ratios.size())));
  return faults > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (argc > 2 || (!word.empty() && word[0] == '-')) {
    fmt::print(word == "--help" ? stdout : stderr,
               "usage: clam-bench-peers [DEVICE]\n"
               "Times clam's dense beside CLBlast's Gemm on the shapes of lightglue-192.\n");
    return word == "--help" ? 0 : 2;
  }
  try {
    return run(word);
  } catch (const std::exception& error) {
    fmt::print(stderr, "clam-bench-peers: {}\n", error.what());
    return dynamic_cast<const NoDevice*>(&error) ? 77 : 3;
  }
}
