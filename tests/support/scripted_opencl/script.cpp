// SPDX-License-Identifier: MIT
#include "script.hpp"

#include <fnmatch.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace scripted {
namespace {

using nlohmann::json;

/// An object of the script: a key that nobody takes is a mistake, and never passed over.
class Object {
 public:
  Object(const json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value.is_object()) throw std::runtime_error(where_ + " has to be an object");
  }
  template <typename Value>
  Object& take(const char* key, Value& into) {
    known_.insert(key);
    if (value_.contains(key)) value_.at(key).get_to(into);
    return *this;
  }
  /// The value of the key, or null.
  const json* part(const char* key) {
    known_.insert(key);
    return value_.contains(key) ? &value_.at(key) : nullptr;
  }
  void end() const {
    for (const auto& [key, value] : value_.items()) {
      if (!known_.count(key)) throw std::runtime_error(where_ + " has no key '" + key + "'");
    }
  }

 private:
  const json& value_;
  std::string where_;
  std::set<std::string> known_;
};

void read(Object& from, Pattern& pattern) {
  from.take("kernel", pattern.kernel).take("options", pattern.options);
  from.take("source", pattern.source);
}

Cost read_cost(const json& value) {
  Object from(value, "an entry of 'costs'");
  Cost cost;
  read(from, cost.of);
  from.take("us", cost.us).take("ns_per_item", cost.ns_per_item);
  from.take("bytes_per_item", cost.bytes_per_item).take("flops_per_item", cost.flops_per_item);
  from.take("times_argument", cost.times_argument).end();
  return cost;
}

Rate read_rate(const json& value) {
  Object from(value, "an entry of 'memory'");
  Rate rate;
  from.take("up_to_bytes", rate.up_to_bytes).take("gb_per_s", rate.gb_per_s).end();
  return rate;
}

Lie read_lie(const json& value) {
  static const std::set<std::string> known{
      "hang",    "crash", "refuse",   "print",   "leak",  "take",  // any call
      "skip",    "flip",  "fail",     "nothing", "half",  "once",
      "late",    "wrong", "never",                                       // a command
      "replace",                                                         // a program's source
      "zero",    "swap",  "constant", "length",  "scale", "halve end"};  // an event's times
  Object from(value, "an entry of 'lies'");
  Lie lie;
  read(from, lie.of);
  from.take("call", lie.call).take("does", lie.does).take("from", lie.from).take("to", lie.to);
  from.take("every", lie.every).take("last_hold", lie.last_hold).take("processes", lie.processes);
  from.take("counted", lie.counted).take("status", lie.status).take("argument", lie.argument);
  from.take("byte", lie.byte).take("bits", lie.bits).take("ns", lie.ns).take("bytes", lie.bytes);
  from.take("s", lie.s).take("factor", lie.factor).take("text", lie.text);
  from.take("becomes", lie.becomes).end();
  if (lie.call.rfind("cl", 0) != 0)
    throw std::runtime_error("no call '" + lie.call + "' to lie in");
  if (!known.count(lie.does)) throw std::runtime_error("no lie does '" + lie.does + "'");
  if (lie.every < 1 || lie.processes < 1) throw std::runtime_error("a lie happens never");
  return lie;
}

/// A file of recorded delays, two numbers an entry: of the device and of the wait for it.
void read_recorded(const std::string& path, Noise& noise) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("there is no record of noise in " + path);
  const json record = json::parse(file);
  for (const json& each : record.at("device_and_wait_us")) {
    noise.device_us.push_back(each.at(0));
    noise.wait_us.push_back(each.at(1));
  }
}

void read_noise(const json& value, Noise& noise) {
  Object from(value, "'noise'");
  std::string recorded;
  from.take("seed", noise.seed).take("spread", noise.spread).take("factors", noise.factors);
  from.take("slower_a_second", noise.slower_a_second);
  from.take("recorded", recorded).end();
  if (!recorded.empty()) read_recorded(recorded, noise);
}

/// Which keys there are is known where they are used: facts.cpp.
void read_device(const json& value, Script& script) {
  for (const auto& [key, fact] : value.items()) {
    if (fact.is_string()) {
      script.texts[key] = fact.get<std::string>();
    } else {
      script.numbers[key] = fact.is_boolean() ? fact.get<bool>() : fact.get<double>();
    }
  }
}

/// Of what the script says nothing about. The kernels that clam-bench measures the device with
/// (bench/peaks.cl) take time by their work, or it would give them ever more.
std::vector<Cost> usual_costs() {
  const auto cost = [](const char* kernel, double ns_per_item, double bytes_per_item) {
    Cost made;
    made.of.kernel = kernel;
    made.ns_per_item = ns_per_item;
    made.bytes_per_item = bytes_per_item;
    return made;
  };
  std::vector<Cost> costs{cost("peak_fma", 1e4, 0), cost("peak_write", 0, 16),
                          cost("peak_copy", 0, 32), cost("peak_read", 0, 256), cost("*", 1, 0)};
  costs.back().us = 10;
  return costs;
}

template <typename Value, typename Read>
void read_list(const json* list, std::vector<Value>& into, const Read& read) {
  if (!list) return;
  into.clear();
  for (const json& each : *list) into.push_back(read(each));
}

}  // namespace

bool Pattern::fits(const About& about) const {
  const auto fit = [](const std::string& pattern, const std::string& text) {
    return pattern == "*" || ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  return fit(kernel, about.kernel) && fit(options, about.options) &&
         fit(source, about.source ? *about.source : "");
}

Script parse_script(const std::string& text) {
  const json value = json::parse(text);
  Script script;
  Object from(value, "the script");
  if (const json* device = from.part("device")) read_device(*device, script);
  if (const json* noise = from.part("noise")) read_noise(*noise, script.noise);
  read_list(from.part("costs"), script.costs, read_cost);
  for (Cost& cost : usual_costs()) script.costs.push_back(std::move(cost));
  read_list(from.part("memory"), script.memory, read_rate);
  read_list(from.part("lies"), script.lies, read_lie);
  from.take("gflop_per_s", script.gflop_per_s).take("enqueue_us", script.enqueue_us);
  from.take("submit_us", script.submit_us).take("wait_us", script.wait_us);
  from.take("flush_us", script.flush_us).take("starts_when_flushed", script.starts_when_flushed);
  from.take("map_us", script.map_us).take("upload_gb_per_s", script.upload_gb_per_s);
  from.take("download_gb_per_s", script.download_gb_per_s).take("build_ms", script.build_ms);
  from.take("load_ms", script.load_ms).take("other_load", script.other_load);
  from.take("limit_s", script.limit_s).take("limit_is_silent", script.limit_is_silent);
  from.take("event_clock", script.event_clock).take("skips_repeats", script.skips_repeats);
  from.take("hangs_at_exit", script.hangs_at_exit);
  from.take("clock", script.clock).take("log", script.log).end();
  return script;
}

}  // namespace scripted
