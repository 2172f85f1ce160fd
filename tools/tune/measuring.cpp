// SPDX-License-Identifier: MIT
#include "measuring.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "process/clean_end.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/text.hpp"

namespace clam::tune {
namespace {

using nlohmann::json;

/// A program beside this one.
std::vector<std::string> program(const char* name) {
  std::vector<std::string> words = own_command();
  words.back() = std::filesystem::path(own_program()).replace_filename(name).string();
  return words;
}

/// What came of a process.
struct Ended {
  clam::Fate fate;
  json document;                         ///< that it wrote; null: none
  std::string said = "it said nothing";  ///< the last line of its standard error
};

/// Runs a program whose last word is the file that it writes, under a limit of memory, which a
/// shell sets. What it prints on its standard error is about candidates that may fail, so it is
/// kept apart.
Ended run(std::vector<std::string> words, const MeasuringOptions& options, int limits = 1) {
  const ScratchFolder folder;
  const std::string file = folder.file("document.json");
  words.push_back(file);
  if (options.memory_mb > 0) {
    const std::string limit = fmt::format("ulimit -v {}; exec \"$@\"", options.memory_mb * 1000);
    words.insert(words.begin(), {"/bin/sh", "-c", limit, "sh"});
  }
  Ended ended;
  ended.fate = run_isolated(words, std::chrono::seconds(options.limit_s * limits), {"", true});
  for (const std::string_view line : split(ended.fate.errors, '\n')) {
    if (!line.empty()) ended.said = line;
  }
  if (std::filesystem::exists(file)) ended.document = json::parse(read_file(file), nullptr, false);
  return ended;
}

/// What `read` finds in the document. Throws NotMeasured where nothing could run: no device, or no
/// such program.
template <typename Read>
Trial trial_of(const Ended& ended, const Read& read) {
  if (const Reason misfortune = ended.fate.misfortune()) {
    return {ended.fate.hung ? Fate::hung : Fate::crashed, *misfortune};
  }
  try {
    return read(ended.document);
  } catch (const std::exception&) {  // there is none, or it is cut off
    const int code = ended.fate.code;
    if (code == 77 || code == 126 || code == 127) throw NotMeasured(ended.said);
    return {Fate::refused, fmt::format("its process ended with {}: {}", code, ended.said)};
  }
}

/// Of the rows of `clam verify`, that of the problem first.
Trial verified(const json& results) {
  for (const json& row : results) {
    const std::string status = row.at("status"), why = row.value("reason", "");
    const std::string where = row.at("problem").get<std::string>() + ": " + why;
    // Of an edge of few elements no data may tell a constant from a result.
    if (status == "pass" || (status == "BLIND" && &row != &results.front())) continue;
    if (why.rfind("its process was ended", 0) == 0) return {Fate::crashed, where};
    if (why.rfind("its process gave no result", 0) == 0) return {Fate::hung, where};
    if (status == "skip" || status == "ERROR") return {Fate::refused, where};
    return {Fate::wrong, where};
  }
  return {};
}

bool can_plan(const Problem& problem, const DeviceInfo& device, const Candidate& candidate) {
  try {
    make_plan(problem, device, candidate.options());
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// With the field's extents less one, the last one of a shape; itself where that is no problem.
Problem less_one(const Problem& problem, const Field& field) {
  try {
    if (field.kind == Field::Kind::extent) {
      return problem.with(field.name, std::to_string(problem.integer(field.name) - 1));
    }
    if (field.kind == Field::Kind::shape) {
      Shape shape = problem.shape(field.name);
      if (!shape.empty()) --shape.back();
      if (!shape.empty()) return problem.with(field.name, to_string(shape));
    }
  } catch (const BadArgument&) {
  }
  return problem;
}

const json* row_of(const json& document, const Candidate& candidate) {
  for (const json& row : document.at("clam").at("rows")) {
    if (row.value("variant", "") == candidate.variant && row.value("tile", "") == candidate.tile) {
      return &row;
    }
  }
  return nullptr;
}

bool clock_moved(const json& row) {
  for (const json& mark : row.value("marks", json::array())) {
    if (mark.get<std::string>().find("clock") != std::string::npos) return true;
  }
  return false;
}

/// What a row says of a candidate, without its times. Only condition 3 is about its results; the
/// others are about times, which may hold in another run.
Trial judged(const json* row) {
  if (!row) return {Fate::refused, "clam-bench gave no row of it"};
  const std::string outcome = row->at("outcome"), reason = row->value("reason", "");
  if (outcome == "skipped") return {Fate::refused, reason};
  if (outcome == "device error") return {Fate::crashed, reason};
  if (outcome != "fine") {
    const bool wrong = reason.find("condition 3") != std::string::npos;
    return {wrong ? Fate::wrong : Fate::unsteady, reason};
  }
  if (clock_moved(*row)) return {Fate::unsteady, "the clock moved"};
  return {};
}

/// The problem and up to three others at which tiles end somewhere else: its extents less one, as
/// far as the candidate takes them.
std::vector<Problem> edges_of(const Problem& problem, const DeviceInfo& device,
                              const Candidate& candidate) {
  constexpr std::size_t kMost = 4;
  std::vector<Problem> edges{problem};
  Problem all = problem;
  for (const Field& field : problem.schema().fields) {
    const Problem next = less_one(all, field);
    if (can_plan(next, device, candidate)) all = next;
  }
  const auto add = [&](const Problem& edge) {
    const bool is_new = std::find(edges.begin(), edges.end(), edge) == edges.end();
    if (is_new && edges.size() < kMost && can_plan(edge, device, candidate)) edges.push_back(edge);
  };
  add(all);
  for (const Field& field : problem.schema().fields) add(less_one(problem, field));
  return edges;
}

}  // namespace

nlohmann::json measure_launches(const MeasuringOptions& options) {
  std::vector<std::string> words = program("clam-bench");
  words.insert(words.end(), {"--device", options.device, "--time",
                             fmt::format("{}", options.seconds), "--only-launches"});
  const Ended ended = run(words, options);
  if (const Reason misfortune = ended.fate.misfortune()) throw DeviceError(*misfortune, 0);
  if (!ended.document.is_object()) throw DeviceError(ended.said, 0);
  return ended.document;
}

std::string launches_text(const nlohmann::json& costs) {
  const auto name_of = [](int n) { return n < 0 ? "at the end" : std::to_string(n); };
  std::string text = "us a launch, when the queue is flushed after so many:";
  for (const json& cost : costs.at("costs")) {
    text += fmt::format(" {}: {:.2f},", name_of(cost.at("launches_a_flush")),
                        cost.at("us").get<double>());
  }
  return text + " taken: " + name_of(costs.at("launches_a_flush"));
}

Measuring::Measuring(Problem problem, DeviceInfo device, MeasuringOptions options)
    : problem_(std::move(problem)), device_(std::move(device)), options_(std::move(options)) {}

Trial Measuring::operator()(const Candidate& candidate, const Candidate* rival) {
  Trial trial = verify(candidate);
  if (trial.fate == Fate::fine && !Interruption::came()) trial = time(candidate, rival);
  // The terminal ends the processes too, which says nothing of the candidate.
  if (Interruption::came()) throw NotMeasured("it was interrupted");
  return trial;
}

Trial Measuring::verify(const Candidate& candidate) const {
  const std::vector<Problem> problems = edges_of(problem_, device_, candidate);
  std::vector<std::string> words = program("clam");
  words.insert(words.end(), {"--device", options_.device, "--quiet", "verify"});
  for (const Problem& problem : problems) words.push_back(problem.text());
  words.insert(words.end(), {"--variant", candidate.variant});
  if (!candidate.tile.empty()) words.insert(words.end(), {"--tile", candidate.tile});
  const bool records = !options_.record_failures.empty();
  if (records) {  // a process outlives a crash or a hang, and records it
    words.insert(words.end(), {"--isolate", "--limit", std::to_string(options_.limit_s),
                               "--record-failures", options_.record_failures});
  } else {
    words.push_back("--no-isolate");
  }
  words.push_back("--json");
  const int limits = static_cast<int>(problems.size()) * (records ? 3 : 1);
  return trial_of(run(words, options_, limits),
                  [](const json& document) { return verified(document.at("results")); });
}

std::vector<std::string> Measuring::bench_words() const {
  std::vector<std::string> words = program("clam-bench");
  words.insert(words.end(), {"--problem", problem_.text(), "--device", options_.device, "--time",
                             fmt::format("{}", options_.seconds), "--no-isolate"});
  return words;
}

/// The peaks that rows are held against, once for all candidates.
void Measuring::measure_limits() {
  std::vector<std::string> words = bench_words();
  words.insert(words.end(), {"--quick", "--json"});
  const Ended ended = run(words, options_);
  limits_ = json::object();
  try {
    const json& document = ended.document.at("clam");
    limits_ = document.at("limits");
    for (const json& row : document.at("rows")) floor_us_ = row.value("floor_us", floor_us_);
  } catch (const std::exception&) {  // each run measures its own then
  }
}

Trial Measuring::time(const Candidate& candidate, const Candidate* rival) {
  if (limits_.is_null()) measure_limits();
  std::vector<std::string> words = bench_words();
  for (const Candidate* each : {rival, &candidate}) {
    if (!each) continue;
    words.insert(words.end(),
                 {"--variant", each->variant + (each->tile.empty() ? "" : ":") + each->tile});
  }
  if (!limits_.empty()) words.insert(words.end(), {"--limits", limits_.dump()});
  words.push_back("--json");
  return trial_of(run(words, options_), [&](const json& document) {
    document_ = document;
    const json* own = row_of(document, candidate);
    Trial trial = judged(own);
    if (trial.fate != Fate::fine) return trial;
    own->at("samples_us").get_to(trial.samples_us);
    own->at("rounds_us").get_to(trial.rounds_us);
    trial.us = own->at("us").at("median");
    if (!rival) return trial;
    const json* other = row_of(document, *rival);
    // The best so far was fine before, so what is wrong with this run is no fault of the candidate.
    const Trial rivals = judged(other);
    if (rivals.fate != Fate::fine) return Trial{Fate::unsteady, rivals.why};
    other->at("samples_us").get_to(trial.rival_samples_us);
    other->at("rounds_us").get_to(trial.rival_rounds_us);
    return trial;
  });
}

}  // namespace clam::tune
