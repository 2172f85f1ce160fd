// SPDX-License-Identifier: MIT
// op_proof.hpp - what shows that an op's kernels are right: its reference, its data sets and its
// cases.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "clam/device.hpp"
#include "clam/op.hpp"
#include "clam/problem.hpp"
#include "clam/tensor.hpp"

namespace clam {

/// How results are compared with the reference (see compare.hpp).
enum class Check {
  exact,      ///< bit for bit
  zero_mean,  ///< statistical bound for zero-mean data: 6*u*sqrt(sum p_k^2)
  hard,       ///< worst-case bound u*sum|p_k|, for any data, also a user's own
};

/// A named way to fill an op's inputs.
struct DataSet {
  using Fill = std::function<void(const Problem&, std::uint64_t seed, Tensors& inputs)>;

  std::string name;  ///< "exact", "zero_mean", "positive", ...
  Check check;
  std::string about;  ///< which faults the data provokes
  Fill fill;
};

/// A number, and how far from it a device may be.
struct Bounded {
  double value = 0, error = 0;
};

/// The expected value of one output: either exact bits, or a value and a bound per element.
struct Expected {
  HostTensor exact = {};           ///< set when the check is bit for bit
  std::vector<double> value = {};  ///< else: the result in double precision
  std::vector<double> bound = {};  ///< else: the largest error allowed, for each element

  /// A second right value of an element, where rounding decides on which side of a threshold it
  /// falls. NaN: the element has none. Empty: no element has one.
  std::vector<double> other = {};
  /// Number of adjacent elements that form a unit, such as the id and score of a row. Of those with
  /// a second value, either all have their first value or all have their second.
  std::size_t together = 1;
  /// Further right values of an element, such as indices of equally large elements. Each element
  /// is checked alone. Empty: no element has any.
  std::vector<std::vector<double>> also = {};

  /// With room for `size` values and bounds of 0.
  static Expected of_size(std::int64_t size);
  void set(std::int64_t at, Bounded element);
  bool bit_exact() const { return value.empty(); }
};
using Reference = std::map<std::string, Expected>;

struct ReferenceOptions {
  Check check = Check::hard;
  bool denormals = true;       ///< the device keeps f32 denormals (DeviceInfo::denormals_f32)
  double native_exp2_ulp = 0;  ///< DeviceInfo::native_exp2_ulp, for ops whose plans use it
  std::string variant = {};    ///< that computed the results; it matters where it has_own_bound
};

/// The options for results of this device.
ReferenceOptions reference_options(Check check, const DeviceInfo& device,
                                   const std::string& variant = {});

/// The proof of an op: data and pure functions, no state.
struct OpProof {
  using ReferenceOf = Reference (*)(const Problem&, const Tensors& inputs, const ReferenceOptions&);
  using BadInputs = Reason (*)(const Problem&, const Tensors&);

  std::string op;  ///< its name
  std::vector<DataSet> data_sets;
  /// Expected outputs by name. Inputs are already rounded to their dtype. It uses all host cores.
  ReferenceOf reference;
  /// Problems that are tested on every device, without dtype. They reach the edges of every tile.
  std::vector<std::string> cases;
  /// As `cases`, but small enough for a simulator: at most two tiles and one element in each
  /// extent. With all variants they launch every kernel of the op.
  std::vector<std::string> small_cases;
  /// Variants whose results have bounds of their own. Those of the others are the same.
  std::vector<std::string> own_bounds;
  /// Returns the reason if values of the inputs are invalid, such as an index out of range. Null:
  /// all values are valid.
  BadInputs bad_inputs;

  /// As case_lines() takes cases.
  OpProof(std::string op, std::vector<DataSet> data_sets, ReferenceOf reference,
          const std::vector<std::string>& cases, const std::vector<std::string>& small_cases,
          BadInputs bad_inputs = nullptr, std::vector<std::string> own_bounds = {});
};

/// The proofs of all ops, in the order of CLAM_OPS in CMakeLists.txt.
const std::vector<OpProof>& all_proofs();
const OpProof& proof_of(const Schema& op);
const OpProof& proof_of(const Problem& problem);
/// Zero-mean data where the op has it: what a model's tensors look like most.
const DataSet& usual_data_set(const Problem& problem);
/// Throws BadArgument naming the data sets that exist.
const DataSet& find_data_set(const Schema& op, const std::string& name);
const DataSet& find_data_set(const Problem& problem, const std::string& name);

bool has_own_bound(const Problem& problem, const std::string& variant);

/// The expected outputs of a problem.
Reference reference_of(const Problem& problem, const Tensors& inputs,
                       const ReferenceOptions& options);

/// Problem lines of cases that are given without the op's name; "n={1,2}" stands for "n=1" and
/// "n=2".
std::vector<std::string> case_lines(const std::string& op, const std::vector<std::string>& cases);

/// An op's cases as problems of a dtype. Half accumulators (acc=chunk, acc=f16) need f16, so their
/// cases are left out of f32.
std::vector<Problem> problems_of(const std::vector<std::string>& cases, const std::string& dtype);

/// Throws BadArgument with the op's reason when the inputs have no result. It needs the inputs on
/// the host.
void refuse_bad_inputs(const Problem& problem, const Tensors& inputs);

/// The inputs of a Problem, filled by one of its op's data sets and rounded to their dtype.
Tensors make_inputs(const Problem& problem, const DataSet& set, std::uint64_t seed);

}  // namespace clam
