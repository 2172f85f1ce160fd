// SPDX-License-Identifier: MIT
// seen.cpp - what came of a case, as text and JSON.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bundle.hpp"
#include "clam/error.hpp"

namespace clam {
namespace {

using nlohmann::json;
using Outcome = Seen::Outcome;

constexpr std::array kOutcomes{Outcome::right,   Outcome::wrong, Outcome::build_failed,
                               Outcome::crashed, Outcome::hung,  Outcome::device_error};

/// JSON has no word for inf and nan.
json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_from(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

/// A sentence, not a log; and where it ends, no character of several bytes is cut in two.
std::string shortened(const std::string& reason) {
  constexpr std::size_t kMost = 4096;
  std::size_t end = std::min(reason.size(), kMost);
  while (end > 0 && end < reason.size() && (reason[end] & 0xc0) == 0x80) --end;
  return reason.substr(0, end);
}

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::right:
      return "right";
    case Outcome::wrong:
      return "wrong";
    case Outcome::build_failed:
      return "build failed";
    case Outcome::crashed:
      return "crashed";
    case Outcome::hung:
      return "hung";
    case Outcome::device_error:
      return "device error";
  }
  throw std::logic_error("unknown outcome");
}

std::string Seen::text() const {
  return reason.empty() ? name(outcome) : fmt::format("{}: {}", name(outcome), reason);
}

json to_json(const Seen& seen) {
  json written{{"outcome", name(seen.outcome)},
               {"reason", seen.reason},
               {"first_wrong", nullptr},
               {"worst_ratio", number_json(seen.worst_ratio)}};
  if (seen.first_wrong) {
    written["first_wrong"] = {{"tensor", seen.first_wrong->tensor},
                              {"index", seen.first_wrong->index},
                              {"value", number_json(seen.first_wrong->value)},
                              {"expected", number_json(seen.first_wrong->expected)}};
  }
  return written;
}

Seen seen_from_json(const json& from) {
  try {
    Seen seen;
    const std::string outcome = from.at("outcome").get<std::string>();
    bool known = false;
    for (const Outcome each : kOutcomes) {
      if (outcome != name(each)) continue;
      seen.outcome = each;
      known = true;
    }
    if (!known) throw BadArgument(fmt::format("{} is no outcome", in_quotes(outcome)));
    seen.reason = shortened(from.at("reason").get<std::string>());
    seen.worst_ratio = number_from(from.at("worst_ratio"));
    const json& first = from.at("first_wrong");
    if (first.is_null()) return seen;
    seen.first_wrong = {first.at("tensor").get<std::string>(),
                        first.at("index").get<std::int64_t>(), number_from(first.at("value")),
                        number_from(first.at("expected"))};
    return seen;
  } catch (const std::exception& error) {  // nlohmann's, and stod's
    throw BadArgument(fmt::format("case: \"seen\" is damaged: {}", error.what()));
  }
}

bool same_failure(const Seen& a, const Seen& b) {
  if (a.outcome != b.outcome) return false;
  // Logs change with the driver, and the time waited with --limit.
  if (a.outcome == Outcome::build_failed || a.outcome == Outcome::hung) return true;
  if (!a.first_wrong || !b.first_wrong) {
    // Either may have been written down by a clam that knew fewer names.
    return !a.first_wrong && !b.first_wrong && anonymous(a.reason) == anonymous(b.reason);
  }
  return a.first_wrong->tensor == b.first_wrong->tensor &&
         a.first_wrong->index == b.first_wrong->index &&
         same_value(a.first_wrong->value, b.first_wrong->value);
}

}  // namespace clam
