// SPDX-License-Identifier: MIT
#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bundle/case.hpp"

namespace clam {
namespace {

using Role = TensorSpec::Role;

/// As a bundle has it: values of floats in f32, the gaps of a tensor with strides as they are.
HostTensor expected_of(const TensorSpec& spec, const HostTensor& dense) {
  HostTensor wide(spec.dtype == Dtype::i32 ? Dtype::i32 : Dtype::f32, spec.shape);
  for (std::int64_t i = 0; i < wide.size(); ++i) {
    if (spec.dtype == Dtype::f16) {
      wide.set(i, dense.get(i));
    } else {
      wide.set_bits(i, dense.bits(i));
    }
  }
  return in_buffer(spec, wide, 0);
}

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
    other.expected[spec.name] = expected_of(spec, outputs.at(spec.name));
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
