// SPDX-License-Identifier: MIT
// compare_report.cpp - what a comparison says, for people and for programs.
#include <fmt/core.h>

#include "compare.hpp"

namespace clam::bench {
namespace {

using nlohmann::json;

std::string microseconds(double us) {
  if (us <= 0) return "-";
  return fmt::format(us < 10 ? "{:.3f}" : us < 1000 ? "{:.1f}" : "{:.0f}", us);
}

}  // namespace

const char* name(Change change) {
  switch (change) {
    case Change::same:
      return "SAME";
    case Change::fast:
      return "FAST";
    case Change::slow:
      return "SLOW";
    case Change::unsure:
      return "UNSURE";
    case Change::failed:
      return "INVALID";
  }
  return "unknown";
}

std::string to_text(const Comparison& comparison) {
  std::string text = fmt::format("A: {}\nB: {}\n", comparison.a, comparison.b);
  for (const std::string& note : comparison.notes) text += note + "\n";
  text += fmt::format("\n{:>10} {:>10} {:>7} {:>15}  {:<7}  row\n", "A us", "B us", "B/A", "95 %",
                      "verdict");
  for (const ComparedRow& row : comparison.rows) {
    const Judgement& judgement = row.judgement;
    const bool timed = row.a_us > 0 && row.b_us > 0;
    const Interval& interval = judgement.ratio.interval;
    text += fmt::format(
        "{:>10} {:>10} {:>7} {:>15}  {:<7}  {}{}\n", microseconds(row.a_us), microseconds(row.b_us),
        timed ? fmt::format("{:.3f}", judgement.ratio.value) : "-",
        timed ? fmt::format("{:.3f}..{:.3f}", interval.low, interval.high) : "-",
        name(judgement.change), row.name, judgement.why.empty() ? "" : " (" + judgement.why + ")");
  }
  text += "\n";
  for (const Change change :
       {Change::slow, Change::failed, Change::fast, Change::same, Change::unsure}) {
    text += fmt::format("{}{} {}", change == Change::slow ? "" : ", ", comparison.count(change),
                        name(change));
  }
  return text + "\n";
}

json to_json(const Comparison& comparison) {
  json value = {{"clam_comparison", 1},
                {"a", comparison.a},
                {"b", comparison.b},
                {"notes", comparison.notes},
                {"regressed", comparison.regressed()},
                {"rows", json::array()}};
  for (const ComparedRow& row : comparison.rows) {
    const Judgement& judgement = row.judgement;
    json each = {{"name", row.name}, {"verdict", name(judgement.change)}};
    if (row.a_us > 0) each["a_us"] = row.a_us;
    if (row.b_us > 0) each["b_us"] = row.b_us;
    if (row.a_us > 0 && row.b_us > 0) {
      each["ratio"] = {{"value", judgement.ratio.value},
                       {"low", judgement.ratio.interval.low},
                       {"high", judgement.ratio.interval.high}};
      each["p"] = judgement.p;
    }
    if (!judgement.why.empty()) each["reason"] = judgement.why;
    value["rows"].push_back(each);
  }
  return value;
}

}  // namespace clam::bench
