// SPDX-License-Identifier: MIT
// op.hpp - an op as a runtime needs it: its words, and the ways to compute it.
//
// An op has its own kernels and plans. All else works on plans and is shared by all ops.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device.hpp"
#include "plan.hpp"
#include "problem.hpp"

namespace clam {

/// Empty when something can be done; else the reason why not, as a phrase.
using Reason = std::optional<std::string>;

/// Predicted clocks of launches, by each bound of the model that tools/README.md describes.
struct Clocks {
  double issue = 0, latency = 0, loads = 0, dram = 0;
  double predicted = 0;
};

/// A way to divide a problem among work-items. "M0=4,N0=8": names and numbers of a kernel's
/// options.
struct Tiling {
  std::string words;
  std::string costs;  ///< the compiler for which the clocks are predicted: "Mesa 25"
  Clocks clocks;
  Reason refused;  ///< why the kernel cannot use this tiling for the problem and device
};

/// One way to compute the op. An op lists its variants in order of preference.
struct Variant {
  std::string name;   ///< "dense_packed": also the name of its main kernel
  std::string about;  ///< one phrase: when to use it
  /// Returns the reason why it cannot compute the problem on the device, else nothing.
  std::function<Reason(const Problem&, const DeviceInfo&)> refuses;
  /// Fills buffers, pack and launches of the Plan. Its problem, variant, device and tensors are
  /// already set.
  std::function<void(const Problem&, const DeviceInfo&, const PlanOptions&, Plan&)> plan;
  /// Returns the reason why a later variant that takes the problem too is predicted to be faster,
  /// else nothing. It is called for problems that are not refused, and only if the caller names no
  /// variant. Null: no later variant is faster.
  std::function<Reason(const Problem&, const DeviceInfo&, const PlanOptions&)> outdone = nullptr;
  /// The tilings of its main kernel; `plan` takes the one that is predicted to be fastest. It is
  /// called for problems that are not refused. Null: there is no choice.
  std::function<std::vector<Tiling>(const Problem&, const DeviceInfo&, const PlanOptions&)>
      tilings = nullptr;
};

/// An op: data and pure functions, no state.
struct Op : Schema {
  std::vector<Variant> variants;
  double (*flops)(const Problem&) = nullptr;  ///< nominal floating-point operations; 0 when none
  double (*bytes)(const Problem&) = nullptr;  ///< bytes moved when each tensor is moved once
  /// The operations and bytes that every kernel needs, where these are fewer than `flops` and
  /// `bytes`. An example is a convolution, whose taps on padding are not counted. Null: the same as
  /// `flops` and `bytes`.
  double (*least_flops)(const Problem&) = nullptr;
  double (*least_bytes)(const Problem&) = nullptr;
  /// Whether a plan of the problem depends on DeviceInfo::native_exp2_ulp: a Runtime measures it
  /// before it plans. Null: it never does.
  bool (*takes_native_exp2)(const Problem&) = nullptr;
  /// The op has the field acc, and two of its `flops` are one multiply-add.
  bool sums_products = false;
};

/// Every op, in the order of CLAM_OPS in CMakeLists.txt.
const std::vector<const Op*>& all_ops();
/// Throws a BadArgument that names the ops that exist.
const Op& find_op(std::string_view name);
const Op& op_of(const Problem& problem);
/// Throws a BadArgument that names the variants that exist.
const Variant& find_variant(const Op& op, const std::string& name);

/// Name, fields, and variants in order of preference.
nlohmann::json to_json(const Op& op);

/// The functions of the problem's op. An op without `least_flops` or `least_bytes` gives `flops` or
/// `bytes`.
double flops_of(const Problem& problem);
double bytes_of(const Problem& problem);
double least_flops_of(const Problem& problem);
double least_bytes_of(const Problem& problem);

}  // namespace clam
