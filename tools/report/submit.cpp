// SPDX-License-Identifier: MIT
#include "submit.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "bundle/bundle.hpp"
#include "check/op_proof.hpp"
#include "check/workload.hpp"
#include "clam/device.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"

namespace clam {
namespace {

using nlohmann::json;

bool all_of(const std::string& text, const std::function<bool(unsigned char)>& holds) {
  return !text.empty() && std::all_of(text.begin(), text.end(), holds);
}

bool is_hex(const std::string& text) { return all_of(text, ::isxdigit); }
bool is_number(const std::string& text) { return all_of(text, ::isdigit); }
/// "0.1.0", "2026-11-26"
bool is_numbers(const std::string& text) {
  return all_of(text, [](unsigned char c) { return std::isdigit(c) || c == '.' || c == '-'; });
}

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, between);) parts.push_back(part);
  return parts;
}

/// The words that hold, with one blank between; drivers put several there.
std::string words_that(const std::string& text,
                       const std::function<bool(const std::string&)>& holds) {
  std::string kept;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (holds(word)) kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

/// What an address, a path, a serial number or an account looks like.
bool tells_who(const std::string& word) {
  constexpr std::size_t kSerial = 12;  // digits; a driver's own version has a hash in hex, and dots
  if (word.find_first_of("/\\@~") != word.npos) return true;
  const std::vector<std::string> dotted = parts_of(word, '.'), colons = parts_of(word, ':'),
                                 dashes = parts_of(word, '-');
  const auto all = [](const std::vector<std::string>& parts, bool (*holds)(const std::string&)) {
    return std::all_of(parts.begin(), parts.end(), holds);
  };
  if (dotted.size() == 4 && all(dotted, is_number)) return true;
  if (colons.size() >= 4) return true;
  if (dashes.size() == 5 && all(dashes, is_hex)) return true;
  const auto digits = std::count_if(word.begin(), word.end(), ::isdigit);
  if (is_hex(word) && word.size() >= kSerial && digits > 0) return true;
  std::string low;
  for (const char c : word) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low.find("serial") != low.npos || low.find("user=") != low.npos ||
         low.find("host=") != low.npos;
}

/// A driver's text, less the words that tell of a person or a machine.
std::string driver_text(const std::string& text) {
  return words_that(anonymous(text), [](const std::string& word) {
    return !tells_who(word) && word != "USER" && word != "HOST";
  });
}

/// Words that clam itself writes into rows.
const std::set<std::string>& known_words() {
  static const std::set<std::string> words = [] {
    std::set<std::string> all = {"f32",     "f16",          "i32",       "OK",
                                 "INVALID", "launch-bound", "fine",      "not run",
                                 "skipped", "check failed", "bad input", "device error"};
    for (const Op* op : all_ops()) {
      all.insert(op->name);
      for (const Variant& variant : op->variants) all.insert(variant.name);
      for (const DataSet& set : proof_of(*op).data_sets) all.insert(set.name);
    }
    return all;
  }();
  return words;
}

std::string canonical(const std::string& line) {
  try {
    return Problem::parse(line).text();
  } catch (const BadArgument&) {
    return "";
  }
}

std::string known_word(const std::string& text) { return known_words().count(text) ? text : ""; }

/// "clock moved 5.2 %": words of a mark, and numbers.
std::string mark(const std::string& text) {
  static const std::set<std::string> words = {
      "clock", "moved",   "too",  "short", "to",         "judge",    "launch-bound", "no",
      "peak",  "compare", "with", "as",    "none",       "is",       "known",        "other",
      "load",  "%",       "the",  "of",    "processors", "programs", "took"};
  std::string bare = text;
  std::replace(bare.begin(), bare.end(), ',', ' ');
  const auto strange = [](const std::string& word) {
    return !words.count(word) && !is_numbers(word);
  };
  return words_that(bare, strange).empty() ? text : "";
}

/// "performance, schedutil"
std::string governor(const std::string& text) {
  static const std::set<std::string> words = {
      "performance", "powersave",    "userspace",    "ondemand",       "simple_ondemand",
      "schedutil",   "conservative", "dmc_ondemand", "rknpu_ondemand", "interactive"};
  for (const std::string& each : parts_of(text, ',')) {
    const std::size_t start = each.find_first_not_of(' ');
    if (start == each.npos || !words.count(each.substr(start))) return "";
  }
  return text;
}

std::string unpinned(const std::string& line) {
  for (const char* part : {"GPU", "memory", "CPU"}) {
    if (line.find(std::string("of the ") + part) != line.npos) return std::string("the ") + part;
  }
  return "";
}

/// "condition 3, right" of a reason that quotes what a driver said.
std::string condition(const std::string& reason) {
  const std::size_t end = reason.find(':');
  if (reason.rfind("condition ", 0) != 0 || end == reason.npos || end > 30) return "";
  return reason.substr(0, end) + ": the reason is not shared";
}

/// "fma float4"
std::string peak_name(const std::string& text) {
  static const std::set<std::string> words = {"fma",   "mad", "copy", "read",
                                              "write", "mul", "add",  "launch"};
  const std::size_t blank = text.find(' ');
  const std::string type = blank == text.npos ? "" : text.substr(blank + 1);
  const bool is_type = type.rfind("float", 0) == 0 || type.rfind("half", 0) == 0;
  return words.count(text.substr(0, blank)) && is_type && type.size() <= 7 ? text : "";
}

std::string hash(const std::string& text) {
  constexpr std::size_t kDigits = 16;
  return is_hex(text) && text.size() == kDigits ? text : "";
}

std::string numbers(const std::string& text) { return is_numbers(text) ? text : ""; }
std::string day(const std::string& text) { return numbers(text.substr(0, 10)); }

/// What may stand as a text under a key; what is empty is left out.
using Rule = std::string (*)(const std::string&);
const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> all = {{"problem", canonical},
                                                  {"name", canonical},
                                                  {"row", canonical},
                                                  {"variant", known_word},
                                                  {"op", known_word},
                                                  {"dtype", known_word},
                                                  {"data_set", known_word},
                                                  {"outcome", known_word},
                                                  {"validity", known_word},
                                                  {"kernel_hash", hash},
                                                  {"marks", mark},
                                                  {"reason", condition},
                                                  {"gpu_governor", governor},
                                                  {"cpu_governor", governor},
                                                  {"unpinned", unpinned}};
  return all;
}

/// Keys whose numbers are kept, and the objects and lists on the way to them.
const std::set<std::string>& known_keys() {
  static const std::set<std::string> keys = {
      // rows
      "bytes", "floor_us", "flops", "gb_per_s", "gflop_per_s", "host_us", "iterations", "launches",
      "of_peak", "other_load", "outputs", "pack", "us", "median", "min", "mean", "cv", "high",
      "low", "rounds_us", "samples_us", "isolated", "gpu_mhz",
      // outputs
      "bias", "blind", "cosine", "elements", "fraction_over", "infs", "max_abs", "max_ulp", "nans",
      "pass", "poison", "reference_variance", "rms", "snr_db", "variance", "worst_bound",
      "worst_index", "worst_ratio", "worst_reference", "worst_value",
      // board
      "before", "after", "gpu_min_mhz", "gpu_max_mhz", "memory_mhz", "gpu_celsius",
      // peaks
      "build_ms", "download_gb_per_s", "upload_gb_per_s", "gb_per_s_copy", "gb_per_s_read",
      "gb_per_s_write", "gflops_f32", "gflops_f16", "last_cache_bytes", "launch_us", "map_gb_per_s",
      "round_trip_us", "rows", "width",
      // counters
      "groups_halved", "waits", "programs", "binaries_refused", "built", "from_disk", "from_memory",
      "writes_failed"};
  return keys;
}

/// Keeps what is known of a value, and lists the rest.
class Sieve {
 public:
  json keep(const json& value, const std::string& key, const std::string& path) {
    if (value.is_object()) return keep_object(value, key, path);
    if (value.is_array()) {
      json kept = json::array();
      for (const json& each : value) {
        json item = keep(each, key, path + "[]");
        if (!item.is_null()) kept.push_back(std::move(item));
      }
      return kept;
    }
    if (value.is_string()) return keep_text(value.get<std::string>(), key, path);
    return value;
  }

  json text(const std::string& kept, const std::string& before, const std::string& path) {
    if (kept != before) leave_out(path);
    return kept.empty() ? json() : json(kept);
  }
  void leave_out(const std::string& path) {
    if (std::find(left_out.begin(), left_out.end(), path) == left_out.end())
      left_out.push_back(path);
  }

  std::vector<std::string> left_out;

 private:
  json keep_object(const json& value, const std::string& key, const std::string& path) {
    json kept = json::object();
    for (const auto& [name, each] : value.items()) {
      // Outputs have the names of tensors, which are letters of an op's contract.
      const bool tensor = key == "outputs" && name.size() <= 16 && all_of(name, ::islower);
      const std::string place = path + "." + name;
      if (!tensor && !known_keys().count(name) && !rules().count(name)) {
        leave_out(place);
        continue;
      }
      json item = keep(each, name, place);
      if (!item.is_null()) kept[name] = std::move(item);
    }
    return kept;
  }

  json keep_text(const std::string& value, const std::string& key, const std::string& path) {
    if (value.empty()) return value;
    if (path.find("peaks") != path.npos && key == "name")
      return text(peak_name(value), value, path);
    // What JSON cannot hold as a number.
    if (known_keys().count(key) && (value == "inf" || value == "-inf" || value == "nan"))
      return value;
    const auto rule = rules().find(key);
    return text(rule == rules().end() ? "" : rule->second(value), value, path);
  }
};

json device_of(const json& device, Sieve& sieve) {
  json known = to_json(device_from_json(device));
  for (const auto& [key, value] : device.items()) {
    if (!known.contains(key)) sieve.leave_out("clam.device." + key);
  }
  for (auto& [key, value] : known.items()) {
    if (!value.is_string()) continue;
    const std::string before = value.get<std::string>();
    std::string after = driver_text(before);
    if (key == "extensions") {
      after = words_that(after, [](const std::string& word) { return word.rfind("cl_", 0) == 0; });
    }
    const std::string all = words_that(before, [](const std::string&) { return true; });
    if (after != all) sieve.leave_out("clam.device." + key);
    value = after;
  }
  return known;
}

/// clam's own models with their nodes; of others nothing is said.
json workloads_of(const json& workloads, Sieve& sieve) {
  const std::vector<std::string> known = workload_names();
  json kept = json::array();
  for (const json& each : workloads) {
    const std::string name = each.value("name", "");
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      sieve.leave_out("clam.workloads[]");
      continue;
    }
    std::set<std::string> nodes;
    for (const auto& node : read_workload(name).nodes) nodes.insert(node.name);
    json own = {{"name", name}, {"nodes", json::array()}};
    for (const json& node : each.value("nodes", json::array())) {
      const std::string row = canonical(node.value("row", ""));
      if (!nodes.count(node.value("name", "")) || row.empty()) {
        sieve.leave_out("clam.workloads[].nodes[]");
        continue;
      }
      own["nodes"].push_back(
          {{"name", node["name"]}, {"row", row}, {"calls", node.value("calls", 1)}});
    }
    kept.push_back(std::move(own));
  }
  return kept;
}

}  // namespace

Submission without_identity(const json& document) {
  if (!document.is_object() || !document.contains("clam") || !document["clam"].is_object()) {
    throw BadArgument("this is no results file: clam-bench --json writes one");
  }
  const json& own = document["clam"];
  Sieve sieve;
  json kept = {{"schema", own.value("schema", 0)}};
  for (const auto& [key, value] : document.items()) {
    if (key != "clam") sieve.leave_out(key);
  }
  for (const auto& [key, value] : own.items()) {
    const std::string path = "clam." + key;
    if (key == "schema") continue;
    if (key == "version") {
      kept[key] = numbers(value.get<std::string>());
    } else if (key == "date") {
      kept[key] = day(value.get<std::string>());
      sieve.leave_out("the time of day");
    } else if (key == "device") {
      kept[key] = device_of(value, sieve);
    } else if (key == "workloads") {
      kept[key] = workloads_of(value, sieve);
    } else if (key == "board" || key == "peaks" || key == "rows" || key == "counters") {
      kept[key] = sieve.keep(value, key, path);
      if (key != "rows") continue;
      for (json& row : kept[key]) {
        if (!row.contains("problem")) continue;
        if (!row.contains("name")) row["name"] = row["problem"];
        row["command"] = "clam-bench --problem '" + row["problem"].get<std::string>() + "'";
      }
    } else {
      sieve.leave_out(path);
    }
  }
  return {{{"benchmarks", json::array()}, {"clam", kept}}, sieve.left_out};
}

}  // namespace clam
