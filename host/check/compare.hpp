// SPDX-License-Identifier: MIT
// compare.hpp - compares an output with its reference, and says how far it is off.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "clam/op.hpp"
#include "clam/tensor.hpp"
#include "op_proof.hpp"

namespace clam {

/// The bit pattern that outputs are filled with before a run, so that unwritten elements are seen.
/// It is a NaN for f32 and f16, and another one for each `iteration`.
std::uint32_t poison_bits(Dtype dtype, int iteration = 0);
void fill_poison(HostTensor& tensor, int iteration = 0);

/// |out - ref| / bound of an element; 0 when both are the same special value, infinite when only
/// one is. Within an infinite bound (a sum that may overflow on its way) lies everything, NaN too.
double error_ratio(Dtype dtype, double out, double reference, double bound);

struct Verdict {
  bool pass = false;
  bool blind = false;      ///< bounds are so wide that zeros would pass in over 10 % of elements
  std::string reason;      ///< empty if it passes; else one sentence with the worst element
  double worst_ratio = 0;  ///< largest |out - ref| / bound (bit-exact: 0 or inf)
  std::int64_t worst_index = -1;
  double worst_value = 0, worst_reference = 0, worst_bound = 0;
  double max_abs = 0, max_ulp = 0, rms = 0, snr_db = 0, bias = 0;
  double fraction_over = 0;  ///< share of elements over their bound
  std::int64_t nans = 0, infs = 0, poison = 0, elements = 0;
  double variance = 0, reference_variance = 0;
  double cosine = 0;  ///< printed because vendor tools print it; most faults do not change it
};

Verdict compare(const HostTensor& output, const Expected& expected, int iteration = 0);
/// With what another program computed, for which no bound is known: the rms of the errors must be
/// within `share` of the rms of `recorded`, or 1e-6; NaN and inf must be where they are there.
/// Whole numbers must be the same.
Verdict compare_recorded(const HostTensor& output, const HostTensor& recorded, double share,
                         int iteration = 0);
/// A number; what JSON cannot hold as "inf", "-inf" or "nan".
nlohmann::json number_json(double value);
double number_from_json(const nlohmann::json& value);

nlohmann::json to_json(const Verdict& verdict);
/// The inverse. Throws BadArgument for JSON that is no verdict.
Verdict verdict_from_json(const nlohmann::json& json);
/// All metrics, one on a line.
std::string to_text(const Verdict& verdict);

}  // namespace clam
