// SPDX-License-Identifier: MIT
// pad.cpp - the fields of pad, and how it is computed.
#include "pad.hpp"

#include "shared/axes.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr const char* kModes[] = {"constant", "edge", "reflect", "wrap"};  // as in pad.cl

/// The number in the dtype of the tensors; a half twice, so that it fills a word.
std::uint32_t fill_of(const Problem& problem) {
  HostTensor one(problem.dtype(), {1});
  one.set(0, static_cast<double>(problem.number("value")));
  return one.bits(0) * (problem.dtype() == Dtype::f16 ? 0x10001U : 1U);
}

/// In the last two modes, how many elements of src there are to take beyond an edge.
void check_reach(const Problem& problem, const char* field, const Shape& shape) {
  const std::string& mode = problem.choice("mode");
  if (mode != "reflect" && mode != "wrap") return;
  const std::vector<int> added = per_axis(problem, field, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t most = mode == "wrap" ? shape[i] : shape[i] - 1;
    bad_field_if(added[i] > most, problem, field, "mode={}: axis {} needs 0 to {}", mode, i, most);
  }
}

void check(const Problem& problem, Schema::Values& values) {
  const Shape shape = problem.shape("shape");
  for (const char* field : {"before", "after"}) {
    unite_axes(problem, values, field, shape.size());
    for (const int added : problem.integers(field)) {
      if (added < 0) bad_field(problem, field, "needs numbers from 0 on; a slice takes less");
    }
    check_reach(problem, field, shape);
  }
  const float value = problem.number("value");
  bad_field_if(problem.choice("mode") != "constant" && value != 0, problem, "value",
               "is for mode=constant");
  constexpr float kLimit = 2147483648.0f;
  bad_field_if(problem.dtype() == Dtype::i32 &&
                   (value != std::floor(value) || value < -kLimit || value >= kLimit),
               problem, "value", "needs a whole number of 32 bits");
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  const std::vector<int> before = per_axis(problem, "before", shape.size()),
                         after = per_axis(problem, "after", shape.size());
  Shape padded = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) padded[i] += std::int64_t{before[i]} + after[i];
  return {input("src", problem.dtype(), shape), output("dst", problem.dtype(), padded)};
}

/// Whether elements beyond an edge follow each other as in src, so that runs of them can be taken.
bool keeps_runs(const Problem& problem) {
  const std::string& mode = problem.choice("mode");
  return mode == "constant" || mode == "wrap";
}

Reason refuses(const Problem& problem, const DeviceInfo&) {
  return too_many_axes(Pad(problem).axes.size(), "are not padded");
}

Launch rows(const Request& request) {
  const Problem& problem = request.problem;
  const Pad pad(problem);
  const PadAxis& inner = pad.axes.front();
  const std::vector<PadAxis> outer = outer_axes<PadAxis>(
      {pad.axes.begin() + 1, pad.axes.end()}, [](const PadAxis& axis) { return axis.padded(); });
  const PadAxis &row = outer[0], &z = outer[1], &plane = outer[2];
  const bool in_runs = keeps_runs(problem) || inner.extent == inner.padded();
  const int unit =
      in_runs ? copy_unit({inner.extent, inner.before, inner.after}, problem.dtype()) : 1;
  std::vector<Arg> args = arg_list("src", "dst", static_cast<int>(fill_of(problem)), inner.padded(),
                                   row.padded(), plane.padded(), inner.extent, inner.before);
  for (const PadAxis& axis : outer) {
    append_args(args, axis.extent, axis.before, axis.src, axis.dst);
  }
  const auto mode = std::find(std::begin(kModes), std::end(kModes), problem.choice("mode"));
  return row_launch(request, fmt::format("-DPAD_MODE={} -DPAD_UNIT={} ", mode - kModes, unit),
                    kAcrossCopy, {inner.padded() / unit, row.padded(), z.padded()},
                    std::move(args));
}

}  // namespace

Pad::Pad(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  const std::vector<int> before = per_axis(problem, "before", shape.size()),
                         after = per_axis(problem, "after", shape.size());
  std::int64_t of_src = 1, of_dst = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    PadAxis axis{shape[i], before[i], after[i], of_src, of_dst};
    of_src *= axis.extent;
    of_dst *= axis.padded();
    if (axis.padded() == 1) continue;
    PadAxis* inner = axes.empty() ? nullptr : &axes.back();
    const bool is_padded = axis.padded() != axis.extent;
    if (inner && inner->padded() == inner->extent && (keeps_runs(problem) || !is_padded)) {
      inner->before = axis.before * inner->extent;
      inner->after = axis.after * inner->extent;
      inner->extent *= axis.extent;
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, 0, 0, 1, 1});
}

Op pad_op() {
  return {{"pad",
           "dst = src with elements before and after it along each axis",
           {shape("shape", "extents of src"),
            integers("before", "elements added before src along each axis, or one for all", "0",
                     -2147483647),
            integers("after", "and after it", "0", -2147483647),
            choice("mode", "what they are", {std::begin(kModes), std::end(kModes)}, "constant"),
            number("value", "that they are where mode=constant", "0"), moved_dtype_field()},
           check,
           tensors},
          {{"pad_rows", "the only one: in units of up to 16 bytes", refuses, planned(rows)}}};
}

}  // namespace clam
