// SPDX-License-Identifier: MIT
// launches.cpp - launches that a failure does not need.

#include <algorithm>

#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

using Outcome = Seen::Outcome;
using Role = TensorSpec::Role;

/// The buffers of a launch that it may write: all but inputs.
std::set<std::string> written_by(const Plan& plan, const Launch& launch) {
  std::set<std::string> names;
  for (const Arg& arg : launch.args) {
    const auto* buffer = std::get_if<BufferArg>(&arg);
    if (!buffer) continue;
    const TensorSpec* tensor = plan.tensor(buffer->name);
    if (!tensor || tensor->role == Role::output) names.insert(buffer->name);
  }
  return names;
}

/// What the value of `tensor` hangs on: launches that share a buffer with it, or with one of those
/// behind them.
Parts behind(const Plan& plan, const std::string& tensor) {
  std::set<std::string> names{tensor};
  Parts launches;
  const auto all = launches_of(plan);
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::set<std::string> own = written_by(plan, *all[i]);
    const auto shared = [&](const std::string& name) { return names.count(name) > 0; };
    if (std::none_of(own.begin(), own.end(), shared)) continue;
    names.insert(own.begin(), own.end());
    launches.insert(launches.begin(), i);
  }
  return launches;
}

/// Only what the launches of the plan name: tensors without them would be wrong for another reason.
void drop_unused(Bundle& bundle) {
  Plan& plan = *bundle.plan;
  std::set<std::string> used, files;
  for (const Launch* launch : launches_of(plan)) {
    files.insert(launch->file);
    for (const Arg& arg : launch->args) {
      if (const auto* buffer = std::get_if<BufferArg>(&arg)) used.insert(buffer->name);
    }
  }
  for (const TensorSpec& spec : plan.tensors) {
    if (used.count(spec.name) > 0 && !spec.may_be.empty()) used.insert(spec.may_be);
  }
  const auto is_unused = [&](const auto& spec) { return used.count(spec.name) == 0; };
  const auto drop = [&](auto& specs) {
    specs.erase(std::remove_if(specs.begin(), specs.end(), is_unused), specs.end());
  };
  drop(plan.tensors), drop(plan.buffers);
  const auto keep = [](auto& all, const std::set<std::string>& names) {
    for (auto each = all.begin(); each != all.end();) {
      each = names.count(each->first) ? std::next(each) : all.erase(each);
    }
  };
  keep(bundle.kernels, files);
  keep(bundle.inputs, used), keep(bundle.expected, used), keep(bundle.bounds, used);
}

Bundle with_launches(const Bundle& bundle, const Parts& kept) {
  Bundle less = bundle;
  less.plan->pack.clear();
  less.plan->launches.clear();
  const auto all = launches_of(*bundle.plan);
  for (const std::size_t i : kept) {
    const bool packs = i < bundle.plan->pack.size();
    (packs ? less.plan->pack : less.plan->launches).push_back(*all[i]);
  }
  // A plan has a launch beside those that pack.
  if (less.plan->launches.empty()) std::swap(less.plan->launches, less.plan->pack);
  drop_unused(less);
  for (const auto& [name, expected] : bundle.expected) {
    const Parts needs = behind(*bundle.plan, name);
    if (std::includes(kept.begin(), kept.end(), needs.begin(), needs.end())) continue;
    less.expected.erase(name);
    less.bounds.erase(name);
  }
  return less;
}

/// Whether one of these launches has a buffer that one before it, which is not kept, may write: an
/// index in it would be any number, and what then fails is the kernel.
bool lacks_any(const Plan& plan, const Parts& kept) {
  std::set<std::string> missing;
  const auto all = launches_of(plan);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::set<std::string> own = written_by(plan, *all[i]);
    const auto is_missing = [&](const std::string& name) { return missing.count(name) > 0; };
    if (!std::binary_search(kept.begin(), kept.end(), i)) {
      missing.insert(own.begin(), own.end());
    } else if (std::any_of(own.begin(), own.end(), is_missing)) {
      return true;
    }
  }
  return false;
}

bool take_launches(Shrinking& shrinking, const Bundle& whole, const Parts& kept) {
  if (shrinking.over() || lacks_any(*whole.plan, kept)) return false;
  const Bundle less = with_launches(whole, kept);
  if (less.plan->launches.empty()) return false;
  return shrinking.take(less, "launches",
                        std::to_string(launches_of(*shrinking.smallest().plan).size()),
                        std::to_string(kept.size()));
}

}  // namespace

bool shrink_to_build(Shrinking& shrinking) {
  if (shrinking.smallest().build_only() || shrinking.outcome() == Outcome::wrong) return false;
  const Bundle whole = shrinking.smallest();
  for (const Build& build : builds_of(whole)) {
    if (shrinking.over()) return false;
    Bundle less = whole;
    less.plan.reset();
    less.file = build.file;
    less.options = build.options;
    less.problem = "build of " + build.file;
    less.variant.clear(), less.data_set.clear();
    less.inputs.clear(), less.expected.clear(), less.bounds.clear();
    less.kernels = {{build.file, whole.kernels.at(build.file)}};
    if (shrinking.take(less, "the case", "a plan", less.problem)) return true;
  }
  return false;
}

bool shrink_launches(Shrinking& shrinking) {
  const Bundle whole = shrinking.smallest();
  const std::size_t count = launches_of(*whole.plan).size();
  if (count < 2) return false;
  if (whole.seen.outcome == Outcome::wrong) {
    // Without a launch that a wrong tensor hangs on, it would be wrong for that.
    if (!whole.seen.first_wrong) return false;
    const Parts kept = behind(*whole.plan, whole.seen.first_wrong->tensor);
    return kept.size() < count && take_launches(shrinking, whole, kept);
  }
  const Parts kept =
      needed(count, [&](const Parts& some) { return take_launches(shrinking, whole, some); });
  return kept.size() < count;
}

}  // namespace clam
