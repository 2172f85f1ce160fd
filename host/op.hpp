// SPDX-License-Identifier: MIT
// op.hpp - what an op tells the rest of clam. An op writes its kernels, its `plan` and its
// reference; everything else is written once, over plans.
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

/// Empty when something can be done, else the reason why not, as a phrase.
using Reason = std::optional<std::string>;

/// One way to compute the op. The order of an op's variants is the order of preference.
struct Variant {
  std::string name;   ///< "dense_packed": also the name of its main kernel
  std::string about;  ///< one phrase: when it is the right one
  Reason (*supports)(const Problem&, const DeviceInfo&);
  /// Fills buffers, pack and launches; problem, variant, device and tensors are set already.
  void (*plan)(const Problem&, const DeviceInfo&, const PlanOptions&, Plan&);
  /// Why a later variant, which supports the problem too, is predicted to be faster.
  /// Asked only of what it supports, where the caller names no variant. Null: never.
  Reason (*outdone)(const Problem&, const DeviceInfo&, const PlanOptions&) = nullptr;
};

using Tensors = std::map<std::string, HostTensor>;

/// How results are held against the reference (see compare.hpp).
enum class Check {
  exact,      ///< bit for bit
  zero_mean,  ///< statistical bound for zero-mean data: 6*u*sqrt(sum p_k^2)
  hard,       ///< worst-case bound u*sum|p_k|, for any data, a user's own included
};

/// A named way to fill an op's inputs.
struct DataSet {
  std::string name;  ///< "exact", "zero_mean", "positive", ...
  Check check;
  std::string about;  ///< what it provokes
  void (*fill)(const Problem&, std::uint64_t seed, Tensors& inputs);
};

/// The expected value of one output: either exact bits, or a value and a bound per element.
struct Expected {
  HostTensor exact;           ///< set when the check is bit for bit
  std::vector<double> value;  ///< else: the double-precision result ...
  std::vector<double> bound;  ///< ... and the largest error allowed, per element
  /// A second value that is as right, where rounding decides which side of a threshold a number
  /// falls on; NaN where there is none. Empty: nowhere.
  std::vector<double> other = {};
  /// Each so many elements are of one choice, as id and score of a row are: those that have a
  /// second value have all their first, or all their second.
  std::size_t together = 1;
  /// Further values of an element that are as right, where a choice turns on a rounding: which of
  /// the largest is the index of the largest. Each element for itself. Empty: nowhere.
  std::vector<std::vector<double>> also = {};
  bool bit_exact() const { return value.empty(); }
};
using Reference = std::map<std::string, Expected>;

struct ReferenceOptions {
  Check check = Check::hard;
  bool denormals = true;       ///< the device keeps f32 denormals (DeviceInfo::denormals_f32)
  double native_exp2_ulp = 0;  ///< DeviceInfo::native_exp2_ulp, for ops whose plans look at it
};

/// What a reference must know of the device whose results it bounds.
ReferenceOptions reference_options(Check check, const DeviceInfo& device);

/// An op: data and pure functions, no state.
struct Op {
  std::string name;
  std::string about;  ///< the formula, one line
  std::vector<Field> fields;
  /// Cross-field rules and normal form (a stride equal to its default becomes the default).
  void (*check)(const Problem&, std::map<std::string, std::string, std::less<>>& values);
  std::vector<TensorSpec> (*tensors)(const Problem&);
  std::vector<Variant> variants;
  std::vector<DataSet> data_sets;
  /// Outputs by name. Inputs are already rounded to their dtype. Threaded.
  Reference (*reference)(const Problem&, const Tensors& inputs, const ReferenceOptions&);
  double (*flops)(const Problem&);  ///< nominal floating-point operations; 0 when none
  double (*bytes)(const Problem&);  ///< each tensor moved once
  /// Problems worth testing on every device: one per line, without dtype; edges of every tile.
  std::vector<std::string> cases;
  /// As `cases`, but of at most two tiles and one more in each extent, so that a simulator is
  /// through them soon. With all variants they launch every kernel of the op.
  std::vector<std::string> small_cases;
  /// Plans look at DeviceInfo::native_exp2_ulp: a Runtime measures it before it plans.
  bool measures_native_exp2 = false;
  /// Each two of `flops` are a multiply-add of a sum of products.
  bool sums_products = false;
  /// Why inputs are none that the op gives a result for, as far as their values say: an index that
  /// names nothing. Null: any are.
  Reason (*bad_inputs)(const Problem&, const Tensors&) = nullptr;
};

/// Every op, in the order of CLAM_OPS in CMakeLists.txt.
const std::vector<const Op*>& all_ops();
/// Throws BadArgument naming the ops that exist.
const Op& find_op(std::string_view name);
/// Throws BadArgument naming the variants that exist.
const Variant& find_variant(const Op& op, const std::string& name);
const DataSet& find_data_set(const Op& op, const std::string& name);

/// An op's cases as problems of a dtype, without those that it gives no meaning: a half accumulator
/// (acc=chunk, acc=f16) is of f16 alone.
std::vector<Problem> problems_of(const std::vector<std::string>& cases, const std::string& dtype);

/// Throws BadArgument with the op's own reason. Asked where the inputs are on the host, before they
/// go to a device.
void refuse_bad_inputs(const Problem& problem, const Tensors& inputs);

/// The inputs of a Problem, filled by one of its data sets and rounded to their dtype.
Tensors make_inputs(const Problem& problem, const DataSet& set, std::uint64_t seed);

}  // namespace clam
