// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest_finite(Dtype dtype) {
  return dtype == Dtype::f16 ? 65504.0 : std::numeric_limits<float>::max();
}

/// Distance from |value| to the next number of the dtype.
double ulp(Dtype dtype, double value) {
  const int digits = dtype == Dtype::f16 ? 11 : 24, lowest = dtype == Dtype::f16 ? -24 : -149;
  if (value == 0 || !std::isfinite(value)) return std::ldexp(1.0, lowest);
  return std::ldexp(1.0, std::max(std::ilogb(value) - digits + 1, lowest));
}

/// What the output is held against: the first values, but where elements of one choice have second
/// ones, those of the two that are nearer, and where elements have more, the nearest.
std::vector<double> nearer_values(const HostTensor& output, const Expected& expected) {
  const auto ratio = [&](std::size_t i, double value) {
    const double out = output.get(i);
    return error_ratio(output.dtype(), out, value, expected.bound[i]);
  };
  std::vector<double> values = expected.value;
  const std::vector<double>& other = expected.other;
  for (std::size_t begin = 0; begin < other.size(); begin += expected.together) {
    const std::size_t end = std::min(begin + expected.together, other.size());
    double worst_first = 0, worst_second = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (std::isnan(other[i])) continue;
      worst_first = std::max(worst_first, ratio(i, expected.value[i]));
      worst_second = std::max(worst_second, ratio(i, other[i]));
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (worst_second < worst_first && !std::isnan(other[i])) values[i] = other[i];
    }
  }
  for (std::size_t i = 0; i < expected.also.size(); ++i) {
    if (!expected.also[i].empty()) values[i] = expected.value[i];
    for (const double value : expected.also[i]) {
      if (ratio(i, value) < ratio(i, values[i])) values[i] = value;
    }
  }
  return values;
}

/// Sums over the finite elements, from which the statistics follow.
struct Moments {
  std::int64_t n = 0;
  double out = 0, ref = 0, out2 = 0, ref2 = 0, cross = 0, error = 0, error2 = 0;
  void add(double o, double r) {
    ++n;
    out += o, ref += r, out2 += o * o, ref2 += r * r, cross += o * r;
    error += o - r, error2 += (o - r) * (o - r);
  }
};

void fill_statistics(const Moments& sums, Verdict& verdict) {
  if (sums.n == 0) return;
  const double n = sums.n;
  verdict.rms = std::sqrt(sums.error2 / n);
  verdict.bias = sums.error / n;
  verdict.snr_db = sums.error2 > 0 ? 10 * std::log10(sums.ref2 / sums.error2) : kInfinity;
  verdict.variance = std::max(0.0, sums.out2 / n - sums.out / n * (sums.out / n));
  verdict.reference_variance = std::max(0.0, sums.ref2 / n - sums.ref / n * (sums.ref / n));
  const double norms = std::sqrt(sums.out2) * std::sqrt(sums.ref2);
  verdict.cosine = norms > 0 ? sums.cross / norms : sums.out2 == sums.ref2 ? 1 : 0;
}

/// The size that three quarters of the elements that are not 0 do not exceed: a few huge ones do
/// not move it, nor do the zeros of a relu.
double typical_size(const std::vector<double>& values) {
  std::vector<double> sizes;
  for (const double value : values) {
    if (std::isfinite(value) && value != 0) sizes.push_back(std::fabs(value));
  }
  if (sizes.empty()) return 0;
  const auto at = sizes.begin() + 3 * (sizes.size() - 1) / 4;
  std::nth_element(sizes.begin(), at, sizes.end());
  return *at;
}

/// An element is blind when zero would pass for it, and its bound is no rounding crumb beside the
/// tensor's typical size (as it is for the zeros of a relu).
bool is_blind(const Expected& expected) {
  constexpr double kCrumb = 1.0 / 1024, kShare = 0.1;
  const double crumb = kCrumb * typical_size(expected.value);
  std::int64_t blind = 0;
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    blind += expected.bound[i] >= std::fabs(expected.value[i]) && expected.bound[i] > crumb;
  }
  return blind > kShare * expected.value.size();
}

std::string failure(const Verdict& verdict, bool exact) {
  if (verdict.poison > 0) {
    return fmt::format("{} of {} elements were never written", verdict.poison, verdict.elements);
  }
  if (verdict.worst_ratio > 1 || std::isnan(verdict.worst_ratio)) {
    return fmt::format("element {} is {:.9g}, expected {:.9g}{}; {:.3g} % of the elements are off",
                       verdict.worst_index, verdict.worst_value, verdict.worst_reference,
                       exact ? " bit for bit" : fmt::format(" +- {:.3g}", verdict.worst_bound),
                       100 * verdict.fraction_over);
  }
  if (!verdict.blind) return "";
  const bool zeros = verdict.reference_variance == 0 && verdict.worst_reference == 0;
  return fmt::format(
      "this check proves nothing, because {}: use another data set",
      zeros ? "the right result is zero everywhere" : "zeros would be within the bounds");
}

/// A verdict whose fields JSON has under their names.
struct Fields : Verdict {};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Fields, pass, blind, reason, worst_ratio, worst_index,
                                   worst_value, worst_reference, worst_bound, max_abs, max_ulp, rms,
                                   snr_db, bias, fraction_over, nans, infs, poison, elements,
                                   variance, reference_variance, cosine)

}  // namespace

double error_ratio(Dtype dtype, double out, double reference, double bound) {
  if (std::isinf(bound)) return 0;
  if (std::isnan(reference) || std::isnan(out))
    return std::isnan(reference) == std::isnan(out) ? 0 : kInfinity;
  if (std::isinf(out)) {
    const bool same_side = std::signbit(out) == std::signbit(reference);
    return same_side && std::fabs(reference) + bound > largest_finite(dtype) ? 0 : kInfinity;
  }
  const double error = std::fabs(out - reference);
  if (error == 0) return 0;
  return bound > 0 ? error / bound : kInfinity;
}

std::uint32_t poison_bits(Dtype dtype, int iteration) {
  const auto salt = static_cast<std::uint32_t>(iteration);
  switch (dtype) {
    case Dtype::f32:
      return 0x7FC0DE00u + salt % 0xFFu;
    case Dtype::f16:
      return 0x7E55u + salt % 0xAAu;
    case Dtype::i32:
      return 0x7BADBAD0u + salt % 0xFFFFu;
  }
  throw std::logic_error("unknown dtype");
}

void fill_poison(HostTensor& tensor, int iteration) {
  const std::uint32_t bits = poison_bits(tensor.dtype(), iteration);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, bits);
}

Verdict compare(const HostTensor& output, const Expected& expected, int iteration) {
  const bool exact = expected.bit_exact();
  const auto wanted =
      exact ? expected.exact.size() : static_cast<std::int64_t>(expected.value.size());
  throw_if(wanted != output.size() || (exact && expected.exact.dtype() != output.dtype()),
           "an output of {} elements cannot be compared with a reference of {}", output.size(),
           wanted);
  const std::uint32_t poison = poison_bits(output.dtype(), iteration);
  const std::vector<double> values = nearer_values(output, expected);
  Verdict verdict;
  verdict.elements = output.size();
  Moments sums;
  std::int64_t over = 0;
  for (std::int64_t i = 0; i < output.size(); ++i) {
    const double out = output.get(i);
    const double reference = exact ? expected.exact.get(i) : values[i];
    const double bound = exact ? 0 : expected.bound[i];
    const bool same_bits = exact && output.bits(i) == expected.exact.bits(i);
    const bool unwritten = !same_bits && output.bits(i) == poison;
    const double ratio = exact       ? (same_bits ? 0 : kInfinity)
                         : unwritten ? kInfinity
                                     : error_ratio(output.dtype(), out, reference, bound);
    verdict.poison += unwritten;
    verdict.nans += std::isnan(out);
    verdict.infs += std::isinf(out);
    over += !(ratio <= 1);
    if (verdict.worst_index < 0 || ratio > verdict.worst_ratio) {
      verdict.worst_ratio = ratio, verdict.worst_index = i;
      verdict.worst_value = out, verdict.worst_reference = reference, verdict.worst_bound = bound;
    }
    if (!std::isfinite(out) || !std::isfinite(reference)) continue;
    sums.add(out, reference);
    verdict.max_abs = std::max(verdict.max_abs, std::fabs(out - reference));
    const double larger = std::max(std::fabs(out), std::fabs(reference));
    verdict.max_ulp =
        std::max(verdict.max_ulp, std::fabs(out - reference) / ulp(output.dtype(), larger));
  }
  fill_statistics(sums, verdict);
  verdict.fraction_over = static_cast<double>(over) / output.size();
  verdict.blind = !exact && is_blind(expected);
  verdict.pass = over == 0 && !verdict.blind;
  verdict.reason = failure(verdict, exact);
  return verdict;
}

Verdict compare_recorded(const HostTensor& output, const HostTensor& recorded, double share,
                         int iteration) {
  constexpr double kFloor = 1e-6;
  if (output.dtype() == Dtype::i32) return compare(output, {recorded}, iteration);
  Expected expected = Expected::of_size(recorded.size());
  Moments sums;
  for (std::int64_t i = 0; i < recorded.size(); ++i) {
    const double value = recorded.get(i);
    expected.value[i] = value;
    if (std::isfinite(value)) sums.add(value, value);
  }
  const double rms = sums.n > 0 ? std::sqrt(sums.ref2 / sums.n) : 0;
  const double allowed = std::max(share * rms, kFloor);
  std::fill(expected.bound.begin(), expected.bound.end(), allowed);
  Verdict verdict = compare(output, expected, iteration);
  const bool alike = !std::isinf(verdict.worst_ratio);  // NaN and inf where they should be
  verdict.blind = false;
  verdict.pass = alike && verdict.rms <= allowed;
  verdict.reason = verdict.pass ? "" : failure(verdict, false);
  if (!verdict.pass && alike) {
    verdict.reason = fmt::format(
        "the rms error is {:.3g}, {:.3g} of the recorded tensor's rms; at most {:.3g} is allowed. "
        "The worst element is {}: {:.9g}, recorded {:.9g}",
        verdict.rms, verdict.rms / rms, std::max(share, kFloor / rms), verdict.worst_index,
        verdict.worst_value, verdict.worst_reference);
  }
  return verdict;
}

nlohmann::json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_from_json(const nlohmann::json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

nlohmann::json to_json(const Verdict& verdict) {
  nlohmann::json json = Fields{verdict};
  for (nlohmann::json& value : json) {
    if (value.is_number_float()) value = number_json(value);
  }
  return json;
}

Verdict verdict_from_json(const nlohmann::json& given) {
  try {
    nlohmann::json json = given;
    const nlohmann::json fields = Fields();
    for (const auto& [key, field] : fields.items()) {
      if (field.is_number_float()) json[key] = number_from_json(json.at(key));
    }
    return json.get<Fields>();
  } catch (const std::exception& error) {  // nlohmann's, and stod's
    throw BadArgument(std::string("this is no verdict: ") + error.what());
  }
}

std::string to_text(const Verdict& v) {
  const char* word = v.pass ? "pass" : v.blind ? "BLIND" : "FAIL";
  return fmt::format(
      "{}{}\n"
      "  worst error / bound  {:.4g} at element {} ({:.9g}, expected {:.9g} +- {:.3g})\n"
      "  max abs, max ulp     {:.4g}, {:.4g}\n"
      "  rms, snr, bias       {:.4g}, {:.2f} dB, {:.4g}\n"
      "  over their bound     {:.4g} % of {} elements\n"
      "  NaN, inf, unwritten  {}, {}, {}\n"
      "  variance, reference  {:.4g}, {:.4g}\n"
      "  cosine               {:.9f} (most faults do not change it)\n",
      word, v.reason.empty() ? "" : ": " + v.reason, v.worst_ratio, v.worst_index, v.worst_value,
      v.worst_reference, v.worst_bound, v.max_abs, v.max_ulp, v.rms, v.snr_db, v.bias,
      100 * v.fraction_over, v.elements, v.nans, v.infs, v.poison, v.variance, v.reference_variance,
      v.cosine);
}

}  // namespace clam
