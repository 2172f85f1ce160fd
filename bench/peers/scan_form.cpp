// SPDX-License-Identifier: MIT
#include "scan_form.hpp"

#include <algorithm>

namespace clam::peers {
namespace {

constexpr std::int64_t kGroup = 256;

class ScanForm {
 public:
  ScanForm(const Problem& problem, const DeviceInfo& device)
      : batch_(problem.integer("batch")),
        n_(problem.integer("n")),
        e_(problem.integer("e")),
        group_(std::min(kGroup, device.max_work_group)) {
    const std::int64_t bytes = 4LL * batch_ * n_;
    plan_.problem = problem.text();
    plan_.variant = "scan_form";
    plan_.device = device;
    plan_.tensors = problem.tensors();
    plan_.buffers = {{"flags", BufferSpec::Role::scratch, bytes},
                     {"sums", BufferSpec::Role::scratch, bytes}};
    mark(problem);
    scan();
    move();
  }
  Plan take() { return std::move(plan_); }

 private:
  /// A work-item for each of `items`, in each batch item.
  void launch(const char* kernel, std::int64_t items, std::vector<Arg> args) {
    plan_.launches.push_back({"scan_form.cl",
                              kernel,
                              "",
                              {(items + group_ - 1) / group_ * group_, batch_, 1},
                              {group_, 1, 1},
                              std::move(args)});
  }
  void mark(const Problem& problem) {
    launch("scan_flags", n_,
           {BufferArg{"data"}, BufferArg{"flags"}, n_, e_, problem.integer("id_index"),
            problem.integer("score_index"), problem.number("score_threshold")});
    launch("scan_copy", n_, {BufferArg{"flags"}, BufferArg{"sums"}, n_});
  }
  void level(const char* kernel, std::int64_t width) {
    launch(kernel, (n_ + width - 1) / width,
           {BufferArg{"sums"}, n_, static_cast<std::int32_t>(width)});
  }
  void scan() {
    std::int64_t width = 2;
    for (; width / 2 < n_; width *= 2) level("scan_up", width);
    launch("scan_root", 1, {BufferArg{"sums"}, BufferArg{"count"}, n_});
    while ((width /= 2) >= 2) level("scan_down", width);
  }
  void move() {
    launch("scan_fill", n_, {BufferArg{"out"}, BufferArg{"indices"}, n_, e_});
    launch("scan_scatter", n_,
           {BufferArg{"data"}, BufferArg{"flags"}, BufferArg{"sums"}, BufferArg{"out"},
            BufferArg{"indices"}, n_, e_});
  }

  std::int32_t batch_, n_, e_;
  std::int64_t group_;
  Plan plan_;
};

}  // namespace

Plan scan_form(const Problem& problem, const DeviceInfo& device) {
  return ScanForm(problem, device).take();
}

}  // namespace clam::peers
