// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "clam/error.hpp"
#include "results_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

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

std::string text_of(const json& of, const char* key) { return of.value(key, ""); }

/// Without figures.
Judgement judged(Change change, const std::string& why) { return {change, {}, 1, why}; }

/// One of the two files.
struct Run {
  struct Row {
    std::string name;
    Part said;
  };
  std::string file, device;
  bool on_cpu = false;
  std::vector<Row> rows;  ///< those that were asked for
};

std::string validity(const Part& row) {
  const std::string word = row.text("validity");
  return word.empty() ? "skipped" : word;
}

Timing timing_of(const Part& row, const Run& run) {
  const Part us = row.object("us");
  Timing timing{row.figures("samples_us"), row.figures("rounds_us"), us.needed_figure("median"),
                us.needed_figure("min")};
  if (run.on_cpu) timing.other_load = row.figure("other_load").value_or(0);
  const auto is_time = [](double us) { return us > 0; };
  const std::vector<double>& samples = timing.samples_us;
  if (!std::all_of(samples.begin(), samples.end(), is_time) || !is_time(timing.median_us) ||
      !is_time(timing.min_us)) {
    row.wrong("us", "above 0 everywhere, nor is samples_us");
  }
  return timing;
}

json compare_row(const std::string& name, const Part& a, const Run& run_a, const Part& b,
                 const Run& run_b) {
  const std::string was = validity(a), is = validity(b);
  const Timing before = was == "OK" ? timing_of(a, run_a) : Timing{};
  const Timing after = is == "OK" ? timing_of(b, run_b) : Timing{};
  json row = {{"name", name}};
  if (was == "OK") row["a_us"] = before.median_us;
  if (is == "OK") row["b_us"] = after.median_us;
  Judgement judgement;
  if (was == "OK" && is == "OK") {
    judgement = judge_change(before, after);
    const auto& [value, interval] = judgement.ratio;
    row["ratio"] = {{"value", value}, {"low", interval.low}, {"high", interval.high}};
    row["p"] = judgement.p;
  } else if (is == "INVALID" && was == "OK") {
    judgement = judged(Change::failed, b.text("reason"));
  } else {
    judgement = judged(Change::unsure, fmt::format("was {}, is {}", was, is));
  }
  row["verdict"] = bench::name(judgement.change);
  if (!judgement.why.empty()) row["reason"] = judgement.why;
  return row;
}

Run run_of(const std::string& file, const json& document) {
  const Part own = own_part(document, file), device = own.object("device");
  Run run{file,
          fmt::format("{} (driver {})", device.text("name"), device.text("driver_version")),
          device.text("type") == "cpu",
          {}};
  for (const Part& row : own.objects("rows")) {
    if (row.text("outcome") != "not run") run.rows.push_back({row.needed_text("name"), row});
  }
  return run;
}

const json* find_row(const json& comparison, const json& name) {
  for (const json& row : comparison["rows"]) {
    if (row["name"] == name) return &row;
  }
  return nullptr;
}

int count(const json& comparison, const char* verdict) {
  const json& rows = comparison["rows"];
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [&](const json& row) { return row["verdict"] == verdict; }));
}

void note_missing(json& comparison, const Run& run, const Run& other) {
  int missing = 0;
  std::string first;
  for (const Run::Row& row : run.rows) {
    if (find_by_name(other.rows, row.name)) continue;
    if (missing++ == 0) first = row.name;
  }
  if (missing == 0) return;
  comparison["notes"].push_back(
      fmt::format("only in {}: {}{}", run.file, first,
                  missing > 1 ? fmt::format(" and {} more", missing - 1) : ""));
}

/// INVALID, with the file where it is.
json failed_in(const json& run, json row) {
  row["reason"] = text_of(row, "reason") + ", in " + text_of(run, "b");
  return row;
}

/// What becomes of a row of the last run, for what an earlier one says of it.
void agree(json& row, const json& earlier) {
  const json* before = find_row(earlier, row["name"]);
  const std::string is = row["verdict"], was = before ? (*before)["verdict"] : json("UNSURE");
  if (is == was || is == "INVALID") return;
  if (was == "INVALID") {
    row = failed_in(earlier, *before);
  } else if (is != "UNSURE" && (is != "SAME" || was != "UNSURE")) {
    row["verdict"] = "UNSURE";
    row["reason"] =
        fmt::format("{}, but {} in {}", is, before ? was : "not measured", text_of(earlier, "b"));
  }
}

void note_once(json& comparison, const json& note) {
  json& notes = comparison["notes"];
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

constexpr Words<5> kChangeWords{"SAME", "FAST", "SLOW", "UNSURE", "INVALID"};

std::string microseconds(double us) {
  if (us <= 0) return "-";
  return fmt::format(us < 10 ? "{:.3f}" : us < 1000 ? "{:.1f}" : "{:.0f}", us);
}

/// Rows that a filter left out are as if not there.
json compare_runs(const std::string& a_name, const json& a, const std::string& b_name,
                  const json& b) {
  const Run before = run_of(a_name, a), after = run_of(b_name, b);
  json comparison = {{"clam_comparison", 1},
                     {"a", a_name},
                     {"b", b_name},
                     {"notes", json::array()},
                     {"rows", json::array()}};
  if (before.device != after.device) {
    comparison["notes"].push_back(
        fmt::format("A was measured on {}, B on {}: they are compared all the same", before.device,
                    after.device));
  }
  for (const auto& [name, row] : after.rows) {
    const Run::Row* old = find_by_name(before.rows, name);
    if (!old || (validity(old->said) == "skipped" && validity(row) == "skipped")) continue;
    comparison["rows"].push_back(compare_row(name, old->said, before, row, after));
  }
  throw_if(comparison["rows"].empty(),
           "{} and {} have no measured row in common; measure the same problems in both runs",
           a_name, b_name);
  note_missing(comparison, before, after);
  note_missing(comparison, after, before);
  return comparison;
}

/// The last of several runs against the same A: in it only rows are FAST or SLOW that are so in
/// each, and none is SAME that is FAST or SLOW in another; but one that is INVALID in any of them
/// is that.
json agreed(const std::vector<json>& runs) {
  if (runs.empty()) throw BadArgument("there is no run to compare");
  json last = runs.back();
  for (auto earlier = runs.begin(); earlier + 1 != runs.end(); ++earlier) {
    for (const json& note : (*earlier)["notes"]) note_once(last, note);
    note_once(last, fmt::format("verdicts are those of {}; where {} disagrees, they are UNSURE",
                                text_of(last, "b"), text_of(*earlier, "b")));
    for (json& row : last["rows"]) agree(row, *earlier);
    for (const json& row : (*earlier)["rows"]) {
      if (row["verdict"] != "INVALID" || find_row(last, row["name"])) continue;
      last["rows"].push_back(failed_in(*earlier, row));
    }
  }
  return last;
}

}  // namespace

Timing Timing::of(const std::vector<double>& samples_us, const std::vector<double>& rounds_us) {
  const auto least = std::min_element(samples_us.begin(), samples_us.end());
  return {samples_us, rounds_us, median(samples_us), least == samples_us.end() ? 0 : *least};
}

Judgement judge_change(const Timing& a, const Timing& b) {
  if (std::min(a.samples_us.size(), b.samples_us.size()) < kFewest) {
    return judged(Change::unsure, fmt::format("fewer than {} samples", kFewest));
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

json compare_files(const std::vector<std::string>& files) {
  const auto read = [](const std::string& file) {
    return parse_json_file(file, "clam-bench --json");
  };
  const json a = read(files.at(0));
  std::vector<json> runs;
  for (auto b = files.begin() + 1; b != files.end(); ++b) {
    runs.push_back(compare_runs(files[0], a, *b, read(*b)));
  }
  json comparison = agreed(runs);
  comparison["regressed"] = count(comparison, "SLOW") + count(comparison, "INVALID") > 0;
  return comparison;
}

const char* name(Change change) { return word_of(kChangeWords, change); }

std::string comparison_text(const json& comparison) {
  std::string text =
      fmt::format("A: {}\nB: {}\n", text_of(comparison, "a"), text_of(comparison, "b"));
  for (const json& note : comparison["notes"]) text += note.get<std::string>() + "\n";
  text += fmt::format("\n{:>10} {:>10} {:>7} {:>15}  {:<7}  row\n", "A us", "B us", "B/A", "95 %",
                      "verdict");
  for (const json& row : comparison["rows"]) {
    std::string ratio = "-", interval = "-";
    if (row.contains("ratio")) {
      const auto figure = [&](const char* key) { return row["ratio"][key].get<double>(); };
      ratio = fmt::format("{:.3f}", figure("value"));
      interval = fmt::format("{:.3f}..{:.3f}", figure("low"), figure("high"));
    }
    text += fmt::format("{:>10} {:>10} {:>7} {:>15}  {:<7}  {}{}\n",
                        microseconds(row.value("a_us", 0.0)), microseconds(row.value("b_us", 0.0)),
                        ratio, interval, text_of(row, "verdict"), text_of(row, "name"),
                        row.contains("reason") ? " (" + text_of(row, "reason") + ")" : "");
  }
  const char* separator = "\n";
  for (const char* verdict : {"SLOW", "INVALID", "FAST", "SAME", "UNSURE"}) {
    text += fmt::format("{}{} {}", separator, count(comparison, verdict), verdict);
    separator = ", ";
  }
  return text + "\n";
}

}  // namespace clam::bench
