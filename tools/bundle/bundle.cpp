// SPDX-License-Identifier: MIT
// bundle.cpp - the folder: its files written and read.
#include "bundle.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "check/compare.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"
#include "tokens/letters.hpp"
#include "tokens/tokens.hpp"

namespace clam {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Shrunk, from, steps, notes, complete)
/// What a case may have, or what it is where it has it not.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Bundle, variant, data_set, seed, recorded, noted,
                                                judged, callers, opaque, limit_s, one_in)

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Role = TensorSpec::Role;
using Outcome = Seen::Outcome;

constexpr int kVersion = 1;

/// A kernel file has a plain name of its own, unlike those of the bundle's other files.
void require_kernel_names(const Bundle& bundle) {
  for (const Build& build : builds_of(bundle)) {
    const fs::path name(build.file);
    if (name.filename() == name && name.extension() == ".cl") continue;
    refuse("{}: a bundle has its kernels in files such as kernel.cl: rename it",
           in_quotes(build.file));
  }
}

/// Names of tensors become names of files.
void require_plain_names(const Plan& plan) {
  for (const TensorSpec& spec : plan.tensors) {
    const bool plain = std::all_of(spec.name.begin(), spec.name.end(), is_plain);
    if (plain && !spec.name.empty() && spec.name[0] != '.' && spec.name.size() < 100) continue;
    refuse("tensor {}: a bundle has files of this name; use letters, digits and _",
           in_quotes(spec.name));
  }
}

json case_json(const Bundle& bundle) {
  json written{{"clam_bundle", kVersion},
               {"kind", bundle.build_only() ? "build" : "result"},
               {"problem", anonymous(bundle.problem)},
               {"variant", anonymous(bundle.variant)},
               {"data_set", bundle.data_set},
               {"seed", bundle.seed},
               {"recorded", bundle.recorded},
               {"device", to_json(bundle.device)},
               {"clam", CLAM_VERSION},
               {"seen", to_json(bundle.seen)}};
  if (bundle.limit_s > 0) written["limit_s"] = bundle.limit_s;
  if (bundle.one_in > 1) written["one_in"] = bundle.one_in;
  if (!bundle.judged) written["judged"] = false;
  if (!bundle.noted.empty()) written["noted"] = anonymous(bundle.noted);
  if (!bundle.callers.empty()) written["callers"] = bundle.callers;
  if (!bundle.opaque.empty()) written["opaque"] = bundle.opaque;
  if (bundle.build_only()) {
    written["file"] = bundle.file;
    written["options"] = bundle.options;
  }
  if (bundle.shrunk) {
    written["shrunk"] = *bundle.shrunk;
    written["shrunk"]["from"] = anonymous(bundle.shrunk->from);
  }
  return written;
}

json read_json(const std::string& path) {
  const json read = json::parse(read_file(path), nullptr, false);
  if (read.is_discarded()) throw BadArgument(path + ": this is no JSON");
  return read;
}

HostTensor read_part(const std::string& path, const TensorSpec& spec, Dtype dtype) {
  const HostTensor tensor = read_npy(path);
  if (tensor.dtype() == dtype && tensor.size() == spec.span()) return tensor;
  throw BadArgument(fmt::format("{}: {} elements of {} are needed, it has {} of {}", path,
                                spec.span(), name(dtype), tensor.size(), name(tensor.dtype())));
}

void read_case(const std::string& folder, Bundle& bundle) {
  const json read = read_json(path_in(folder, "case.json"));
  const int version = read.is_object() ? read.value("clam_bundle", 0) : 0;
  if (version > kVersion) {
    throw BadArgument(fmt::format("a newer clam wrote it ({}): this one reads version {}, not {}",
                                  read.value("clam", "of no version"), kVersion, version));
  }
  throw_if(version != kVersion, "{}: this is no case of a bundle", path_in(folder, "case.json"));
  bundle.problem = read.at("problem").get<std::string>();
  from_json(read, bundle);
  bundle.one_in = std::clamp(bundle.one_in, 1, kMostRuns);
  bundle.device = device_from_json(read.at("device"));
  bundle.seen = seen_from_json(read.at("seen"));
  if (read.contains("shrunk")) bundle.shrunk = read.at("shrunk").get<Shrunk>();
  if (read.at("kind") == "build") {
    bundle.file = read.at("file").get<std::string>();
    bundle.options = read.value("options", "");
  } else {
    bundle.plan = plan_from_json(read_json(path_in(folder, "plan.json")));
    require_plain_names(*bundle.plan);
  }
}

/// Turns half on, whatever the device has: not under an #if, as clam's own kernels do.
bool asks_for_half(const std::string& text) {
  bool asks = false;
  for (const std::string& line : directives_of(text)) {
    const auto says = [&](const char* words) { return line.find(words) != line.npos; };
    const bool is_condition = line.rfind("if", 0) == 0 || line.rfind("elif", 0) == 0;
    if (is_condition && (says("cl_khr_fp16") || says("CLAM_F16"))) return false;
    asks = asks || line.rfind("pragma OPENCL EXTENSION cl_khr_fp16 : enable", 0) == 0;
  }
  return asks;
}

constexpr Words<6> kOutcomeWords{"right",   "wrong", "build failed",
                                 "crashed", "hung",  "device error"};

/// A sentence, not a log; and where it ends, no character of several bytes is cut in two.
std::string shortened(const std::string& reason) {
  constexpr std::size_t kMost = 4096;
  std::size_t end = std::min(reason.size(), kMost);
  while (end > 0 && end < reason.size() && (reason[end] & 0xc0) == 0x80) --end;
  return reason.substr(0, end);
}

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::string Bundle::seen_text() const {
  return seen.right() && !judged ? "not judged" : name(seen.outcome);
}

bool Bundle::needs_fp16() const {
  if (plan) {
    for (const TensorSpec& spec : plan->tensors) {
      if (spec.dtype == Dtype::f16) return true;
    }
  }
  if (!device.fp16) return false;  // it could be tried there without
  const auto names_half = [](const auto& kernel) { return asks_for_half(kernel.second); };
  if (std::any_of(kernels.begin(), kernels.end(), names_half)) return true;
  const auto says_half = [](const Build& build) {
    return build.options.find("CLAM_F16") != std::string::npos;
  };
  const std::vector<Build> builds = builds_of(*this);
  return std::any_of(builds.begin(), builds.end(), says_half);
}

std::vector<Build> builds_of(const Bundle& bundle) {
  if (bundle.build_only()) return {{bundle.file, bundle.options}};
  std::vector<Build> builds;
  for (const Launch* launch : launches_of(*bundle.plan)) {
    const Build build{launch->file, launch->options};
    if (std::find(builds.begin(), builds.end(), build) == builds.end()) builds.push_back(build);
  }
  return builds;
}

void refuse_large(const std::vector<TensorSpec>& tensors) {
  std::int64_t bytes = 0;
  for (const TensorSpec& spec : tensors) {
    // What is expected of floats is stored in f32, with a bound as large.
    bytes += spec.role == Role::input || spec.dtype == Dtype::i32 ? spec.bytes() : 8 * spec.span();
  }
  throw_if(bytes > kMostBytes,
           "its tensors would take {} MiB, and a bundle may have {}: take a smaller problem that "
           "still fails (fewer rows, channels or batches)",
           (bytes + (1 << 20) - 1) >> 20, kMostBytes >> 20);
}

HostTensor in_buffer(const TensorSpec& spec, const HostTensor& dense, std::uint32_t gap) {
  if (spec.is_dense()) return dense;
  HostTensor span(dense.dtype(), {spec.span()});
  for (std::int64_t i = 0; i < span.size(); ++i) span.set_bits(i, gap);
  for (std::int64_t i = 0; i < dense.size(); ++i) span.set_bits(spec.position(i), dense.bits(i));
  return span;
}

HostTensor from_buffer(const TensorSpec& spec, const HostTensor& span) {
  HostTensor dense(span.dtype(), spec.shape);
  for (std::int64_t i = 0; i < dense.size(); ++i) dense.set_bits(i, span.bits(spec.position(i)));
  return dense;
}

void write_tensors(const std::string& folder, const Bundle& bundle) {
  const auto write = [&](const TensorFiles& files) {
    for (const auto& [name, tensor] : bundle.*files.tensors) {
      write_npy(path_in(folder, name + files.ending), tensor);
    }
  };
  for (const TensorFiles& files : kTensorsRun) write(files);
  write(kGiven);
}

void read_tensors(const std::string& folder, Bundle& bundle) {
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const auto read = [&](const TensorFiles& files, Dtype dtype, bool is_needed = false) {
      const std::string path = path_in(folder, spec.name + files.ending);
      if (!is_needed && !fs::exists(path)) return false;
      (bundle.*files.tensors)[spec.name] = read_part(path, spec, dtype);
      return true;
    };
    const auto& [inputs, expected, bounds] = kTensorsRun;
    read(inputs, spec.dtype, spec.role == Role::input);
    if (spec.role == Role::input) continue;
    read(kGiven, spec.dtype);
    const bool exact = !fs::exists(path_in(folder, spec.name + bounds.ending));
    if (read(expected, exact ? spec.dtype : held_as(spec.dtype)) && !exact) {
      read(bounds, Dtype::f32);
    }
  }
}

void write_case(const std::string& folder, const Bundle& bundle) {
  require_kernel_names(bundle);
  for (const auto& [file, text] : bundle.kernels) write_file(path_in(folder, file), text);
  if (bundle.plan) {
    require_plain_names(*bundle.plan);
    refuse_large(bundle.plan->tensors);
    Plan plan = *bundle.plan;
    plan.problem = anonymous(plan.problem);
    plan.variant = anonymous(plan.variant);
    write_file(path_in(folder, "plan.json"), json_text(to_json(plan)));
    write_tensors(folder, bundle);
  }
  std::string options;
  for (const Build& build : builds_of(bundle)) {
    options += fmt::format("{}: {}\n", build.file, build.options.empty() ? "none" : build.options);
  }
  write_file(path_in(folder, "options.txt"), options);
  write_file(path_in(folder, "case.json"), json_text(case_json(bundle)));
}

void finish_case(const std::string& folder, const Bundle& bundle, bool single_file) {
  write_file(path_in(folder, "case.json"), json_text(case_json(bundle)));
  write_file(path_in(folder, "device.txt"), device_text(bundle.device));
  write_file(path_in(folder, "replay.c"), replay_source(bundle, folder, single_file));
  write_file(path_in(folder, "README.md"), readme_text(bundle, folder, single_file));
}

bool is_single_file(const std::string& folder) {
  const std::string program = path_in(folder, "replay.c");
  return fs::exists(program) &&
         read_file(program).find("struct embedded embedded[]") != std::string::npos;
}

void write_readme(const std::string& folder, const Bundle& bundle) {
  write_file(path_in(folder, "README.md"), readme_text(bundle, folder, is_single_file(folder)));
}

Bundle read_bundle(const std::string& folder) {
  throw_if(!fs::exists(path_in(folder, "case.json")), "{} is no bundle: it has no case.json",
           folder);
  try {
    Bundle bundle;
    read_case(folder, bundle);
    require_kernel_names(bundle);
    for (const Build& build : builds_of(bundle)) {
      bundle.kernels[build.file] = read_file(path_in(folder, build.file));
    }
    if (bundle.plan) read_tensors(folder, bundle);
    return bundle;
  } catch (const json::exception& error) {
    throw BadArgument(fmt::format("{}: case.json is damaged: {}", folder, error.what()));
  }
}

const char* name(Outcome outcome) { return word_of(kOutcomeWords, outcome); }

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
    const auto known = find_word<Outcome>(kOutcomeWords, outcome);
    if (!known) throw BadArgument(fmt::format("{} is no outcome", in_quotes(outcome)));
    seen.outcome = *known;
    seen.reason = shortened(from.at("reason").get<std::string>());
    seen.worst_ratio = number_from_json(from.at("worst_ratio"));
    const json& first = from.at("first_wrong");
    if (first.is_null()) return seen;
    seen.first_wrong = {first.at("tensor").get<std::string>(),
                        first.at("index").get<std::int64_t>(), number_from_json(first.at("value")),
                        number_from_json(first.at("expected"))};
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
