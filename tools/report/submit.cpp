// SPDX-License-Identifier: MIT
#include "submit.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "bundle/bundle.hpp"
#include "check/op_proof.hpp"
#include "check/workload.hpp"
#include "clam/device.hpp"
#include "clam/op.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

using nlohmann::json;

bool all_of(const std::string& text, const std::function<bool(unsigned char)>& holds) {
  return !text.empty() && std::all_of(text.begin(), text.end(), holds);
}

/// "0.1.0", "2026-11-26"
bool is_numbers(const std::string& text) {
  return all_of(text, [](unsigned char c) { return std::isdigit(c) || c == '.' || c == '-'; });
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

/// What an address, a path, a serial number or an account looks like. A driver's own version has a
/// hash in hex too, but dots in it.
bool tells_who(const std::string& word) {
  constexpr std::size_t kLongest = 200;  // no word of a driver is as long
  static const std::regex looks_like(
      R"([/\\@~]|(:.*){3}|serial|user=|host=|^\d+(\.\d+){3}$|^[\da-f]+(-[\da-f]+){4}$|)"
      R"(^(?=.*\d)[\da-f]{12,}$)",
      std::regex::icase);
  return word.size() > kLongest || std::regex_search(word, looks_like);
}

/// A driver's text, less the words that tell of a person or a machine.
std::string driver_text(const std::string& text) {
  return words_that(anonymous(text), [](const std::string& word) {
    return !tells_who(word) && word != "USER" && word != "HOST";
  });
}

/// Words that clam itself writes into results, names of its models and their nodes, and of
/// governors.
const std::set<std::string>& known_words() {
  static const std::set<std::string> words = [] {
    std::set<std::string> all = {
        // rows
        "f32", "f16", "i32", "OK", "INVALID", "fine", "not", "run", "skipped", "check", "failed",
        "bad", "input", "device", "error",
        // marks
        "launch-bound", "clock", "moved", "too", "short", "to", "judge", "no", "peak", "compare",
        "with", "as", "none", "is", "known", "others", "took", "%", "of", "the", "processors",
        // governors
        "performance", "powersave", "userspace", "ondemand", "simple_ondemand", "schedutil",
        "conservative", "dmc_ondemand", "rknpu_ondemand", "interactive",
        // peaks
        "fma", "mad", "copy", "read", "write"};
    for (const char* width : {"", "2", "4", "8", "16"}) {
      for (const char* type : {"float", "half"}) all.insert(std::string(type) + width);
    }
    for (const std::string& workload : workload_names()) {
      all.insert(workload);
      for (const Workload::Node& node : read_workload(workload).nodes) all.insert(node.name);
    }
    for (const Op* op : all_ops()) {
      all.insert(op->name);
      for (const Variant& variant : op->variants) all.insert(variant.name);
      for (const DataSet& set : proof_of(*op).data_sets) all.insert(set.name);
    }
    return all;
  }();
  return words;
}

/// "clock moved 5.2 %", "performance, schedutil", "fma float4": known words, and small numbers.
std::string phrase(const std::string& text) {
  constexpr std::size_t kSmall = 6;
  std::string bare = text;
  std::replace(bare.begin(), bare.end(), ',', ' ');
  const std::string strange = words_that(bare, [](const std::string& word) {
    return !known_words().count(word) && !(is_numbers(word) && word.size() <= kSmall);
  });
  return strange.empty() ? text : "";
}

std::string canonical(const std::string& line) {
  try {
    return Problem::parse(line).text();
  } catch (const BadArgument&) {
    return "";
  }
}

/// Of a row, or of a peak.
std::string named(const std::string& text) {
  const std::string words = phrase(text);
  return words.empty() ? canonical(text) : words;
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

std::string hash(const std::string& text) {
  constexpr std::size_t kDigits = 16;
  return all_of(text, ::isxdigit) && text.size() == kDigits ? text : "";
}

std::string numbers(const std::string& text) { return is_numbers(text) ? text : ""; }
std::string day(const std::string& text) { return numbers(text.substr(0, 10)); }

/// What may stand as a text under a key; what is empty is left out.
using Rule = std::string (*)(const std::string&);
const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> all = {
      {"problem", canonical},   {"name", named},          {"row", canonical},
      {"variant", phrase},      {"op", phrase},           {"dtype", phrase},
      {"data_set", phrase},     {"outcome", phrase},      {"validity", phrase},
      {"kernel_hash", hash},    {"marks", phrase},        {"reason", condition},
      {"gpu_governor", phrase}, {"cpu_governor", phrase}, {"unpinned", unpinned},
      {"folded_into", phrase},  {"version", numbers},     {"date", day}};
  return all;
}

/// Keys whose numbers are kept, and the objects and lists on the way to them.
const std::set<std::string>& known_keys() {
  static const std::set<std::string> keys = {
      "schema", "board", "peaks", "counters", "workloads",
      // rows
      "bytes", "floor_us", "flops", "gb_per_s", "gflop_per_s", "host_us", "iterations", "launches",
      "of_peak", "other_load", "outputs", "pack", "us", "median", "min", "mean", "cv", "high",
      "low", "rounds_us", "samples_us", "isolated", "gpu_mhz",
      // outputs
      "bias", "blind", "cosine", "elements", "fraction_over", "infs", "max_abs", "max_ulp", "nans",
      "pass", "poison", "reference_variance", "rms", "snr_db", "variance", "worst_bound",
      "worst_index", "worst_ratio", "worst_reference", "worst_value",
      // workloads
      "nodes", "calls",
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
    if (kept != before) leave_out(path == "clam.date" ? "the time of day" : path);
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

/// clam's own models; of others nothing is said.
json own_models(const json& workloads) {
  const std::vector<std::string> own = workload_names();
  json kept = json::array();
  for (const json& each : workloads) {
    const bool is_own =
        each.is_object() && std::find(own.begin(), own.end(), each.value("name", "")) != own.end();
    if (is_own) kept.push_back(each);
  }
  return kept;
}

}  // namespace

Submission without_identity(const json& document) {
  throw_if(!document.is_object() || !document.contains("clam") || !document["clam"].is_object(),
           "this is no results file: clam-bench --json writes one");
  Sieve sieve;
  for (const auto& [key, value] : document.items()) {
    if (key != "clam") sieve.leave_out(key);
  }
  json own = document["clam"], kept;
  if (own.contains("device")) kept["device"] = device_of(own["device"], sieve);
  own.erase("device");
  kept.update(sieve.keep(own, "", "clam"));
  if (kept.contains("workloads")) kept["workloads"] = own_models(kept["workloads"]);
  if (!kept.contains("rows"))
    return {{{"benchmarks", json::array()}, {"clam", kept}}, sieve.left_out};
  for (json& row : kept["rows"]) {
    if (!row.contains("problem")) continue;
    if (!row.contains("name")) row["name"] = row["problem"];
    row["command"] = "clam-bench --problem '" + row["problem"].get<std::string>() + "'";
  }
  return {{{"benchmarks", json::array()}, {"clam", kept}}, sieve.left_out};
}

}  // namespace clam
