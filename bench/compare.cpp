// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "atomic_file.hpp"
#include "error.hpp"

namespace clam::bench {
namespace {

using nlohmann::json;

constexpr double kEffect = 1.03;        // less of a change is none
constexpr double kBestEffect = 1.015;   // of the best times, which are single values
constexpr double kLevel = 0.01;         // of the test on samples
constexpr double kRoundLevel = 0.0025;  // of that on rounds: six against six can reach it
constexpr std::size_t kFewest = 4;      // samples, and rounds

Ratio ratio_of(const Timing& a, const Timing& b) {
  Ratio ratio = shift_ratio(a.samples_us, b.samples_us);
  if (a.rounds_us.size() < kFewest || b.rounds_us.size() < kFewest) return ratio;
  ratio.interval = shift_ratio(a.rounds_us, b.rounds_us).interval;
  ratio.interval.low = std::min(ratio.interval.low, ratio.value);
  ratio.interval.high = std::max(ratio.interval.high, ratio.value);
  return ratio;
}

/// Whether so many rounds could pass for different at all: of all ways to deal their ranks out, two
/// have the one run's below the other's.
bool rounds_can_tell(std::size_t a, std::size_t b) {
  double ways = 1;
  for (std::size_t i = 1; i <= b; ++i) ways *= double(a + i) / double(i);
  return 2 / ways < kRoundLevel;
}

/// A table has some sixty rows, so one in a hundred that differs by chance would be too many.
bool rounds_differ(const Timing& a, const Timing& b) {
  if (a.rounds_us.empty() || b.rounds_us.empty()) return true;  // the samples alone decide
  return rank_test(a.rounds_us, b.rounds_us).p < kRoundLevel;
}

/// A run that had a part of the processors only may have taken that much longer, and once more for
/// the caches that it shared.
bool beyond_load(const Ratio& ratio, const Timing& a, const Timing& b) {
  const auto left = [](const Timing& timing) {
    return (1 - timing.other_load) * (1 - timing.other_load);
  };
  return ratio.value > 1 ? ratio.value * left(b) > kEffect : ratio.value < left(a) / kEffect;
}

Judgement failed(const std::string& why) {
  Judgement judgement;
  judgement.change = Change::failed;
  judgement.why = why;
  return judgement;
}

Judgement unsure(const std::string& why) {
  Judgement judgement;
  judgement.why = why;
  return judgement;
}

std::string validity(const json& row) { return row.value("validity", std::string("skipped")); }

Timing timing_of(const json& row, bool on_cpu) {
  Timing timing;
  if (on_cpu) timing.other_load = row.value("other_load", 0.0);
  timing.samples_us = row.value("samples_us", std::vector<double>{});
  timing.rounds_us = row.value("rounds_us", std::vector<double>{});
  timing.median_us = row.at("us").at("median");
  timing.min_us = row.at("us").at("min");
  return timing;
}

ComparedRow compare_row(const json& a, bool a_on_cpu, const json& b, bool b_on_cpu) {
  ComparedRow row;
  row.name = b.at("name");
  const bool a_ok = validity(a) == "OK", b_ok = validity(b) == "OK";
  if (a_ok) row.a_us = a.at("us").at("median");
  if (b_ok) row.b_us = b.at("us").at("median");
  if (a_ok && b_ok) {
    row.judgement = judge_change(timing_of(a, a_on_cpu), timing_of(b, b_on_cpu));
  } else if (validity(b) == "INVALID" && a_ok) {
    row.judgement = failed(b.value("reason", std::string()));
  } else {
    row.judgement = unsure(fmt::format("was {}, is {}", validity(a), validity(b)));
  }
  return row;
}

/// The rows of a file, by its "clam" part.
const json& rows_of(const std::string& name, const json& document) {
  static const std::string kNone = ": it is no file of clam-bench --json";
  if (!document.is_object() || !document.contains("clam")) throw BadArgument(name + kNone);
  const json& own = document.at("clam");
  if (!own.is_object() || !own.contains("rows") || !own.at("rows").is_array()) {
    throw BadArgument(name + kNone);
  }
  bool any_time = false;
  for (const json& row : own.at("rows")) {
    any_time = any_time || row.contains("us");
    if (row.contains("samples_us")) return own.at("rows");
  }
  if (!any_time) return own.at("rows");
  throw BadArgument(name +
                    ": its rows have no samples, for an older clam-bench wrote it: measure again");
}

json device_part(const json& document) {
  const json& own = document.at("clam");
  return own.contains("device") ? own.at("device") : json::object();
}

bool is_cpu(const json& document) {
  return device_part(document).value("type", std::string()) == "cpu";
}

std::string device_of(const json& document) {
  const json device = device_part(document);
  return fmt::format("{} (driver {})", device.value("name", std::string("?")),
                     device.value("driver_version", std::string("?")));
}

const json* find_row(const json& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const json& row) { return row.at("name") == name; });
  return found == rows.end() ? nullptr : &*found;
}

void note_missing(Comparison& comparison, const std::string& file, const json& rows,
                  const json& others) {
  int count = 0;
  std::string first;
  for (const json& row : rows) {
    if (find_row(others, row.at("name"))) continue;
    if (count++ == 0) first = row.at("name");
  }
  if (count == 0) return;
  comparison.notes.push_back(fmt::format("only in {}: {}{}", file, first,
                                         count > 1 ? fmt::format(" and {} more", count - 1) : ""));
}

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

Judgement judge_change(const Timing& a, const Timing& b) {
  if (std::min(a.samples_us.size(), b.samples_us.size()) < kFewest) {
    return unsure(fmt::format("fewer than {} samples", kFewest));
  }
  Judgement judgement;
  judgement.ratio = ratio_of(a, b);
  judgement.p = rank_test(a.samples_us, b.samples_us).p;
  const auto& [value, interval] = judgement.ratio;
  const double best = a.min_us > 0 ? b.min_us / a.min_us : 1;
  if (1 / kEffect < interval.low && interval.high < kEffect) {
    judgement.change = Change::same;
  } else if (judgement.p >= kLevel || interval.has(1)) {
    judgement.why = "no change beyond the noise, which is over 3 %";
  } else if (!rounds_differ(a, b)) {
    const std::size_t in_a = a.rounds_us.size(), in_b = b.rounds_us.size();
    judgement.why =
        rounds_can_tell(in_a, in_b)
            ? "the rounds of one run differ as much"
            : fmt::format("too few rounds to tell: {} and {}, and six each can", in_a, in_b);
  } else if (1 / kEffect <= value && value <= kEffect) {
    judgement.why = "the change may be more than 3 %, or less";
  } else if (value > 1 ? best < kBestEffect : best > 1 / kBestEffect) {
    judgement.why = "the best times agree: one run was disturbed";
  } else if (!beyond_load(judgement.ratio, a, b)) {
    judgement.why = fmt::format("other programs took {:.0f} % of the processors",
                                100 * (value > 1 ? b : a).other_load);
  } else {
    judgement.change = value > 1 ? Change::slow : Change::fast;
  }
  return judgement;
}

int Comparison::count(Change change) const {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [&](const ComparedRow& row) {
    return row.judgement.change == change;
  }));
}

Comparison compare_runs(const std::string& a_name, const json& a, const std::string& b_name,
                        const json& b) {
  const json& before = rows_of(a_name, a);
  const json& after = rows_of(b_name, b);
  Comparison comparison{a_name, b_name, {}, {}};
  try {
    if (device_of(a) != device_of(b)) {
      comparison.notes.push_back(
          fmt::format("A was measured on {}, B on {}: they are compared all the same", device_of(a),
                      device_of(b)));
    }
    for (const json& row : after) {
      const json* old = find_row(before, row.at("name"));
      if (!old || (validity(*old) == "skipped" && validity(row) == "skipped")) continue;
      comparison.rows.push_back(compare_row(*old, is_cpu(a), row, is_cpu(b)));
    }
    note_missing(comparison, a_name, before, after);
    note_missing(comparison, b_name, after, before);
  } catch (const json::exception& error) {
    throw BadArgument(fmt::format("{} or {} is damaged: {}", a_name, b_name, error.what()));
  }
  return comparison;
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

Comparison compare_files(const std::string& a, const std::string& b) {
  const auto read = [](const std::string& file) {
    try {
      return json::parse(read_file(file));
    } catch (const json::exception&) {
      throw BadArgument(file + ": it is no JSON");
    }
  };
  return compare_runs(a, read(a), b, read(b));
}

}  // namespace clam::bench
