// SPDX-License-Identifier: MIT
// shrinking.cpp - a case is kept where it still fails, and none is run twice.
#include "shrinking.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "clam/kernels.hpp"

namespace clam {
namespace {

/// Two cases with the same run alike.
std::string fingerprint(const Bundle& bundle) {
  std::string text = bundle.plan ? to_json(*bundle.plan).dump() : bundle.file + bundle.options;
  for (const auto& [file, source] : bundle.kernels) text += hash_text(file + source);
  for (const auto& [tensors, ending] : kTensorsRun) {
    for (const auto& [name, tensor] : bundle.*tensors) {
      const auto* bytes = reinterpret_cast<const char*>(tensor.data());
      text += name + hash_text({bytes, tensor.bytes()});
    }
  }
  return hash_text(text);
}

}  // namespace

Shrinking::Shrinking(Bundle start, StillFails still_fails, Tell tell, Over over)
    : smallest_(std::move(start)),
      run_(std::move(still_fails)),
      tell_(std::move(tell)),
      over_(std::move(over)) {}

bool Shrinking::still_fails(Bundle& bundle) {
  if (over()) return false;
  const std::string print = fingerprint(bundle);
  if (failed_not_.count(print) > 0) return false;
  if (run_(bundle)) return true;
  if (over()) return false;  // it may not have been run to its end
  failed_not_.insert(print);
  return false;
}

bool Shrinking::take(Bundle smaller, const std::string& what, const std::string& from,
                     const std::string& to) {
  if (over()) return false;
  if (fingerprint(smaller) == fingerprint(smallest_) || !still_fails(smaller)) return false;
  smallest_ = std::move(smaller);
  tell_(fmt::format("{} {} -> {}, still {}", what, from, to, name(outcome())));
  const auto same = [&](const Step& step) { return step.what == what; };
  const auto step = std::find_if(steps_.begin(), steps_.end(), same);
  if (step == steps_.end()) {
    steps_.push_back({what, from, to});
  } else {
    step->to = to;
  }
  return true;
}

void Shrinking::note(const std::string& line) {
  if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(line);
}

std::vector<std::string> Shrinking::steps() const {
  std::vector<std::string> lines;
  for (const Step& step : steps_) {
    lines.push_back(fmt::format("{} {} -> {}", step.what, step.from, step.to));
  }
  return lines;
}

}  // namespace clam
