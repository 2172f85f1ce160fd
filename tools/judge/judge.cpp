// SPDX-License-Identifier: MIT
#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "bundle/case.hpp"
#include "check/model.hpp"

namespace clam {
namespace {

using Role = TensorSpec::Role;

// ---- how far rounding alone may take the outputs of right drivers apart ----

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// About every second place, in an order that looks like none (splitmix64).
bool is_chosen(std::uint64_t place, int turn) {
  std::uint64_t x = place + static_cast<std::uint64_t>(turn) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return ((x >> 31) & 1) != 0;
}

/// The value one step farther from zero. A whole number, or one that has no further, stays.
void nudge(HostTensor& tensor, std::int64_t i) {
  const double value = tensor.get(i);
  if (!std::isfinite(value) || value == std::nearbyint(value)) return;
  const std::uint32_t before = tensor.bits(i);
  tensor.set_bits(i, before + 1);
  if (!std::isfinite(tensor.get(i))) tensor.set_bits(i, before);
}

/// Half a step of the dtype at 1.
double half_step(Dtype dtype) { return dtype == Dtype::f16 ? 0x1p-11 : 0x1p-24; }

double lower_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of the sizes of what is neither 0 nor infinite; outliers do not move it.
double median_size(const HostTensor& tensor) {
  std::vector<double> sizes;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double size = std::fabs(tensor.get(i));
    if (std::isfinite(size) && size > 0) sizes.push_back(size);
  }
  return lower_median(std::move(sizes));
}

/// What nudges change of an element on one driver.
double change(const Answer& answer, const std::string& name, std::int64_t i) {
  const HostTensor& first = answer.runs[0].at(name);
  double most = 0;
  for (std::size_t run = 1; run < answer.runs.size(); ++run) {
    if (answer.runs[run].count(name) == 0) continue;
    const HostTensor& other = answer.runs[run].at(name);
    if (first.bits(i) == other.bits(i)) continue;
    if (first.dtype() == Dtype::i32) return kInfinity;
    const double a = first.get(i), b = other.get(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return kInfinity;
    most = std::max(most, std::fabs(a - b));
  }
  return most;
}

bool asks_for_less(const Bundle& bundle) {
  for (const auto& [file, text] : bundle.kernels) {
    if (text.find("native_") != text.npos || text.find("half_") != text.npos) return true;
  }
  const std::vector<Build> builds = builds_of(bundle);
  return std::any_of(builds.begin(), builds.end(), [](const Build& build) {
    return build.options.find("-cl-fast-relaxed-math") != build.options.npos ||
           build.options.find("-cl-unsafe-math-optimizations") != build.options.npos;
  });
}

using Answers = std::vector<const Answer*>;

/// Whether no driver changed the element from what was in memory before.
bool is_untouched(const HostTensor& before, const Answers& answers, const std::string& name,
                  std::int64_t i) {
  return std::all_of(answers.begin(), answers.end(), [&](const Answer* answer) {
    return answer->runs[0].at(name).bits(i) == before.bits(i);
  });
}

HostTensor tolerance(const TensorSpec& spec, const std::optional<HostTensor>& before,
                     const Answers& all, double roundings) {
  HostTensor result(Dtype::f32, spec.shape);
  std::vector<double> medians;
  for (const Answer* answer : all) medians.push_back(median_size(answer->runs[0].at(spec.name)));
  const double median = lower_median(medians), step = half_step(spec.dtype);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    if (before && is_untouched(*before, all, spec.name, i)) continue;
    std::vector<double> changes, sizes;
    for (const Answer* answer : all) {
      if (answer->runs.size() > 1) changes.push_back(change(*answer, spec.name, i));
      const double size = std::fabs(answer->runs[0].at(spec.name).get(i));
      if (std::isfinite(size)) sizes.push_back(size);
    }
    const double least =
        spec.dtype == Dtype::i32 ? 0 : step * std::max(lower_median(sizes), median);
    result.set(i, roundings * std::max(lower_median(changes), least));
  }
  return result;
}

// ---- what most of them agree upon ----

bool is_exact(const HostTensor& bound) {
  for (std::int64_t i = 0; i < bound.size(); ++i) {
    if (bound.get(i) != 0) return false;
  }
  return true;
}

/// A case in which these outputs are right, within the bounds.
Bundle expecting(const Bundle& bundle, const Tensors& outputs, const Tensors& bounds) {
  Bundle other;
  other.plan = bundle.plan;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    if (spec.role != Role::output || outputs.count(spec.name) == 0) continue;
    const HostTensor& bound = bounds.at(spec.name);
    const bool exact = spec.dtype == Dtype::i32 && is_exact(bound);
    // As a bundle has it: values of floats in f32, the gaps of a tensor with strides as they are.
    const HostTensor dense = converted(outputs.at(spec.name), held_as(spec.dtype));
    other.expected[spec.name] = in_buffer(spec, dense, 0);
    if (!exact) other.bounds[spec.name] = in_buffer(spec, bound, 0);
  }
  return other;
}

/// Widened by how far those who agree are from the expected value.
void widen(const std::vector<Answer>& answers, const std::vector<std::size_t>& agreeing,
           const Tensors& outputs, Tensors& bounds) {
  for (auto& [name, bound] : bounds) {
    const HostTensor& expected = outputs.at(name);
    if (expected.dtype() == Dtype::i32) continue;
    for (std::int64_t i = 0; i < bound.size(); ++i) {
      double farthest = 0;
      for (const std::size_t each : agreeing) {
        const double distance = std::fabs(answers[each].runs[0].at(name).get(i) - expected.get(i));
        if (std::isfinite(distance)) farthest = std::max(farthest, distance);
      }
      bound.set(i, bound.get(i) + farthest);
    }
  }
}

std::size_t voices(const std::vector<Answer>& answers, const std::vector<std::size_t>& some) {
  std::set<std::string> platforms;
  for (const std::size_t each : some) {
    const std::string& platform = answers[each].device.platform;
    if (!platform.empty()) platforms.insert(platform);  // of an unknown one nobody knows the kin
  }
  return platforms.size();
}

std::string names_of(const std::vector<Answer>& answers, const std::vector<std::size_t>& some) {
  std::set<std::string> names;
  for (const std::size_t each : some) {
    const DeviceInfo& device = answers[each].device;
    names.insert(device.name + " (" + device.platform + ")");
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Which answers agree with each, itself among them.
using Groups = std::vector<std::vector<std::size_t>>;

Groups groups_of(const Bundle& bundle, const std::vector<Answer>& answers, const Tensors& bounds) {
  Groups groups(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].has_outputs()) continue;
    const Bundle wanted = expecting(bundle, answers[i].runs[0], bounds);
    for (std::size_t j = 0; j < answers.size(); ++j) {
      if (answers[j].has_outputs() && hold_outputs(wanted, answers[j].runs[0]).right()) {
        groups[i].push_back(j);
      }
    }
  }
  return groups;
}

bool disjoint(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  return std::none_of(a.begin(), a.end(), [&](std::size_t each) {
    return std::binary_search(b.begin(), b.end(), each);
  });
}

/// The largest group, and the most voices of one that shares no driver with it.
struct Vote {
  std::size_t centre = 0, of = 0, against = 0;
};

Vote count_voices(const std::vector<Answer>& answers, const Groups& groups) {
  Vote vote;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t own = voices(answers, groups[i]);
    if (own > vote.of) vote.centre = i, vote.of = own;
  }
  for (const auto& group : groups) {
    if (disjoint(group, groups[vote.centre])) {
      vote.against = std::max(vote.against, voices(answers, group));
    }
  }
  return vote;
}

std::vector<Seen> hold_all(const std::vector<Answer>& answers, const Bundle& wanted) {
  std::vector<Seen> seen;
  for (const Answer& answer : answers) {
    seen.push_back(answer.has_outputs() ? hold_outputs(wanted, answer.runs[0]) : answer.seen);
  }
  return seen;
}

std::string bound_text(const Tensors& bounds) {
  std::int64_t loose = 0, all = 0;
  for (const auto& [name, bound] : bounds) {
    for (std::int64_t i = 0; i < bound.size(); ++i, ++all) loose += std::isinf(bound.get(i));
  }
  std::string text =
      "The bound of an element of floats is an estimate: many times what one rounding of the "
      "inputs changes, and how far the drivers are apart.";
  if (loose > 0) {
    text += fmt::format(" {} of {} elements hang on a rounding, and are not compared.", loose, all);
  }
  return text;
}

/// Nobody knows what is right: the answers are held against what `wanted` expects.
Judgement undecided(const std::vector<Answer>& answers, const Bundle& wanted,
                    const std::string& basis) {
  return {false, hold_all(answers, wanted), {}, {}, basis};
}

/// These outputs are right.
Judgement decided(const Bundle& bundle, const std::vector<Answer>& answers, const Tensors& outputs,
                  const Tensors& bounds, const std::string& basis) {
  const Bundle wanted = expecting(bundle, outputs, bounds);
  return {true, hold_all(answers, wanted), wanted.expected, wanted.bounds,
          basis + " " + bound_text(bounds)};
}

/// An output of words that drivers differ in, and nobody can say how far; empty: there is none.
std::string differing_words(const Bundle& bundle, const std::vector<Answer>& answers) {
  for (const std::string& name : bundle.opaque) {
    const HostTensor* first = nullptr;
    for (const Answer& answer : answers) {
      if (!answer.has_outputs()) continue;
      const HostTensor& output = answer.runs[0].at(name);
      if (first && !(output == *first)) return name;
      first = &output;
    }
  }
  return "";
}

std::string why_not(const std::vector<Answer>& answers, const Vote& vote) {
  if (vote.of == 0) return "No driver has a result";
  if (vote.of == 1 && vote.against == 0) {
    return fmt::format("One driver alone has a result, {}", names_of(answers, {vote.centre}));
  }
  return fmt::format("The drivers disagree, {} against {}", vote.of, vote.against);
}

}  // namespace

Bundle nudged(const Bundle& bundle, int turn) {
  Bundle other = bundle;
  std::uint64_t place = 0;
  for (auto& [name, tensor] : other.inputs) {
    if (tensor.dtype() == Dtype::i32) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (is_chosen(++place, turn)) nudge(tensor, i);
    }
  }
  for (Launch* launch : launches_of(*other.plan)) {
    for (Arg& arg : launch->args) {
      auto* const real = std::get_if<float>(&arg);
      if (!real || !is_chosen(++place, turn)) continue;
      HostTensor one(Dtype::f32, {1});
      one.set(0, *real);
      nudge(one, 0);
      *real = static_cast<float>(one.get(0));
    }
  }
  return other;
}

Tensors tolerances(const Bundle& bundle, const std::vector<Answer>& answers) {
  Answers all;
  for (const Answer& answer : answers) {
    if (answer.has_outputs()) all.push_back(&answer);
  }
  Tensors result;
  const double roundings = asks_for_less(bundle) ? kRoundingsOfNative : kRoundings;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    if (spec.role != Role::output || all.empty()) continue;
    const auto held = bundle.inputs.find(spec.name);
    std::optional<HostTensor> before;
    if (held != bundle.inputs.end()) before = from_buffer(spec, held->second);
    result[spec.name] = tolerance(spec, before, all, roundings);
  }
  return result;
}

Judgement judge(const Bundle& bundle, const std::vector<Answer>& answers,
                const Tensors& reference) {
  Tensors bounds = tolerances(bundle, answers);
  if (!reference.empty()) {
    if (!bounds.empty()) {
      return decided(bundle, answers, reference, bounds, "What is right was given.");
    }
    return undecided(answers, bundle,
                     "No driver has a result that could be held against what is right");
  }
  const Groups groups = groups_of(bundle, answers, bounds);
  const Vote vote = count_voices(answers, groups);
  if (vote.of == 0) return undecided(answers, bundle, why_not(answers, vote));
  const std::string words = differing_words(bundle, answers);
  if (vote.of < 2 || vote.of <= vote.against || !words.empty()) {
    const auto first = std::find_if(answers.begin(), answers.end(),
                                    [](const Answer& answer) { return answer.has_outputs(); });
    return undecided(
        answers, expecting(bundle, first->runs[0], bounds),
        words.empty() ? why_not(answers, vote)
                      : "The drivers differ in " + words +
                            ", whose doubles or structures clam cannot tell apart from a rounding");
  }
  const std::vector<std::size_t>& agreeing = groups[vote.centre];
  const Tensors& outputs = answers[vote.centre].runs[0];
  widen(answers, agreeing, outputs, bounds);
  return decided(bundle, answers, outputs, bounds,
                 "What is right is what " + names_of(answers, agreeing) + " agree upon.");
}

}  // namespace clam
