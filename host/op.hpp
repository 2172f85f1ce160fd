// SPDX-License-Identifier: MIT
// op.hpp - what an op consists of: its words, variants, data sets and reference.
//
// An op has its own kernels, plans and reference. All else works on plans and is shared by all ops.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device.hpp"
#include "plan.hpp"
#include "problem.hpp"
#include "tensor.hpp"

namespace clam {

/// Empty when something can be done; else the reason why not, as a phrase.
using Reason = std::optional<std::string>;

/// One way to compute the op. An op lists its variants in order of preference.
struct Variant {
  std::string name;   ///< "dense_packed": also the name of its main kernel
  std::string about;  ///< one phrase: when to use it
  std::function<Reason(const Problem&, const DeviceInfo&)> supports;
  /// Fills buffers, pack and launches. Problem, variant, device and tensors are set before.
  std::function<void(const Problem&, const DeviceInfo&, const PlanOptions&, Plan&)> plan;
  /// Returns the reason why a later variant that supports the problem too is predicted to be
  /// faster, else nothing. It is called for supported problems, and only if the caller names no
  /// variant. Null: never.
  std::function<Reason(const Problem&, const DeviceInfo&, const PlanOptions&)> outdone = nullptr;
};

using Tensors = std::map<std::string, HostTensor>;

/// How results are compared with the reference (see compare.hpp).
enum class Check {
  exact,      ///< bit for bit
  zero_mean,  ///< statistical bound for zero-mean data: 6*u*sqrt(sum p_k^2)
  hard,       ///< worst-case bound u*sum|p_k|, for any data, also a user's own
};

/// A named way to fill an op's inputs.
struct DataSet {
  std::string name;  ///< "exact", "zero_mean", "positive", ...
  Check check;
  std::string about;  ///< which faults the data provokes
  void (*fill)(const Problem&, std::uint64_t seed, Tensors& inputs);
};

/// The expected value of one output: either exact bits, or a value and a bound per element.
struct Expected {
  HostTensor exact;           ///< set when the check is bit for bit
  std::vector<double> value;  ///< else: the result in double precision
  std::vector<double> bound;  ///< else: the largest error allowed, for each element

  /// A second right value of an element, where rounding decides on which side of a threshold it
  /// falls. NaN: the element has none. Empty: no element has one.
  std::vector<double> other = {};
  /// Number of adjacent elements that form a unit, such as the id and score of a row. Of those with
  /// a second value, either all have their first value or all have their second.
  std::size_t together = 1;
  /// Further right values of an element, such as indices of equally large elements. Each element
  /// is checked alone. Empty: no element has any.
  std::vector<std::vector<double>> also = {};
  bool bit_exact() const { return value.empty(); }
};
using Reference = std::map<std::string, Expected>;

struct ReferenceOptions {
  Check check = Check::hard;
  bool denormals = true;       ///< the device keeps f32 denormals (DeviceInfo::denormals_f32)
  double native_exp2_ulp = 0;  ///< DeviceInfo::native_exp2_ulp, for ops whose plans use it
};

/// The options for results of this device.
ReferenceOptions reference_options(Check check, const DeviceInfo& device);

/// An op: data and pure functions, no state.
struct Op {
  std::string name;
  std::string about;  ///< the formula, one line
  std::vector<Field> fields;
  /// Checks rules over several fields, and normalises: a stride equal to its default becomes the
  /// default.
  void (*check)(const Problem&, std::map<std::string, std::string, std::less<>>& values);
  std::vector<TensorSpec> (*tensors)(const Problem&);
  std::vector<Variant> variants;
  std::vector<DataSet> data_sets;
  /// Expected outputs by name. Inputs are already rounded to their dtype. It uses all host cores.
  Reference (*reference)(const Problem&, const Tensors& inputs, const ReferenceOptions&);
  double (*flops)(const Problem&);  ///< nominal floating-point operations; 0 when none
  double (*bytes)(const Problem&);  ///< bytes moved when each tensor is moved once
  /// Problems that are tested on every device, without dtype. They reach the edges of every tile.
  std::vector<std::string> cases;
  /// As `cases`, but small enough for a simulator: at most two tiles and one element in each
  /// extent. With all variants they launch every kernel of the op.
  std::vector<std::string> small_cases;
  /// Plans use DeviceInfo::native_exp2_ulp, so a Runtime measures it before it plans.
  bool measures_native_exp2 = false;
  /// The op sums products: each two of `flops` are one multiply-add.
  bool sums_products = false;
  /// Returns the reason if values of the inputs are invalid, such as an index out of range. Null:
  /// all values are valid.
  Reason (*bad_inputs)(const Problem&, const Tensors&) = nullptr;
};

/// Every op, in the order of CLAM_OPS in CMakeLists.txt.
const std::vector<const Op*>& all_ops();
/// Throws BadArgument naming the ops that exist.
const Op& find_op(std::string_view name);
/// Throws BadArgument naming the variants that exist.
const Variant& find_variant(const Op& op, const std::string& name);
const DataSet& find_data_set(const Op& op, const std::string& name);

/// An op's cases as problems of a dtype. Half accumulators (acc=chunk, acc=f16) need f16, so their
/// cases are left out of f32.
std::vector<Problem> problems_of(const std::vector<std::string>& cases, const std::string& dtype);

/// Throws BadArgument with the op's reason when the inputs have no result. It needs the inputs on
/// the host.
void refuse_bad_inputs(const Problem& problem, const Tensors& inputs);

/// The inputs of a Problem, filled by one of its op's data sets and rounded to their dtype.
Tensors make_inputs(const Problem& problem, const DataSet& set, std::uint64_t seed);

}  // namespace clam
