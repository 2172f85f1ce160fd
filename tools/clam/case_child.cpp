// SPDX-License-Identifier: MIT
#include "case_child.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bundle/last_words.hpp"
#include "check/npy.hpp"
#include "clam/planner.hpp"
#include "judge/judge.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "session.hpp"

namespace clam::cli {
namespace {

using Outcome = Seen::Outcome;

/// With it Mesa's Mali compilers print their listings.
constexpr const char* kListings = "BIFROST_MESA_DEBUG";

void write_outputs(const std::string& folder, int run, const Tensors& outputs) {
  for (const auto& [name, tensor] : outputs) {
    write_npy(fmt::format("{}/{}.{}.npy", folder, run, name), tensor);
  }
}

Seen misfortune_of(const Fate& fate, const std::string& errors) {
  const std::string cause = fate.hung ? "" : cause_of(errors);
  return failed(fate.hung ? Outcome::hung : Outcome::crashed,
                *fate.misfortune() + (cause.empty() ? "" : "; " + cause));
}

}  // namespace

std::vector<std::string> child_words(const std::string& device,
                                     const std::vector<std::string>& command,
                                     const std::string& json) {
  std::vector<std::string> words = own_command();
  if (!device.empty()) words.insert(words.end(), {"--device", device});
  words.insert(words.end(), {"--quiet", "--json", json});
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string LocalDevice::id() const { return fmt::format("{}:{}", entry.platform, entry.index); }

std::string LocalDevice::title() const {
  return fmt::format("{} {} ({}, driver {})", id(), facts.name, facts.platform,
                     facts.driver_version);
}

LocalDevice chosen_device(const Cli& cli) {
  const DeviceEntry entry = select_device(cli.device);
  return {entry, query_device(entry.device)};
}

CaseRun try_case(const std::string& device, const std::string& folder, int limit_s,
                 const CaseWishes& wishes) {
  const ScratchFolder scratch;  // compilers that crash leave files where they are
  std::vector<std::string> words =
      child_words(device, {"replay", fs::absolute(folder).string(), "--here"});
  const std::string& keep = wishes.keep;
  words.insert(words.begin(), wishes.through.begin(), wishes.through.end());
  if (!keep.empty()) words.insert(words.end(), {"--keep", fs::absolute(keep).string()});
  if (!wishes.outputs.empty()) {
    words.insert(words.end(), {"--outputs", fs::absolute(wishes.outputs).string(), "--nudges",
                               std::to_string(wishes.nudges)});
  }
  Surroundings around{scratch.path(), true};
  if (!wishes.through.empty()) around.folder.clear();  // its name may be relative
  if (!keep.empty() && !std::getenv(kListings)) {
    around.environment.push_back(std::string(kListings) + "=shaders");
  }
  const Fate fate = run_isolated(words, std::chrono::seconds(limit_s), around);
  const std::string errors = steady(fate.errors);
  if (!keep.empty() && !errors.empty()) write_file(path_in(keep, "driver.log"), errors);
  if (fate.misfortune()) return {misfortune_of(fate, errors), {}};
  const json answer = fate.answer();
  if (answer.contains("error")) throw BadArgument(answer.at("error").get<std::string>());
  if (answer.contains("cannot")) return {{}, answer.at("cannot").get<std::string>()};
  if (answer.contains("seen")) {
    CaseRun run{seen_from_json(answer.at("seen")), {}};
    run.seen.reason = anonymous(run.seen.reason);  // as it is compared, and passed on
    return run;
  }
  constexpr int kNotStarted = 126;  // or 127: no fault of a driver
  throw_if<IoError>(fate.code == kNotStarted || fate.code == kNotStarted + 1,
                    "cannot start this program again: {}", words[0]);
  // A driver that ends the process with exit() is one that crashes it.
  return {failed(Outcome::crashed,
                 fmt::format("its process ended with exit code {} and gave no result", fate.code)),
          {}};
}

int serve(Cli& cli, const std::function<json()>& answer) {
  try {
    cli.out.json(answer());
  } catch (const Unsupported& error) {
    cli.out.json({{"cannot", error.what()}});
  } catch (const std::exception& error) {
    cli.out.json({{"error", error.what()}});
  }
  return kFine;
}

int serve_case(Cli& cli, const std::string& folder, const CaseWishes& wishes) {
  return serve(cli, [&]() -> json {
    Bundle bundle = read_bundle(folder);
    if (!wishes.outputs.empty()) bundle.expected.clear();  // whoever asks for outputs compares
    const cl::Device device = select_device(cli.device).device;
    if (!wishes.outputs.empty()) {  // before the driver may crash
      write_file(wishes.outputs + "/device.json", to_json(query_device(device)).dump());
    }
    Tensors outputs;
    const CaseRun run = run_case(device, bundle, folder, wishes.keep, &outputs);
    if (!wishes.outputs.empty()) {
      write_file(wishes.outputs + "/seen.json", to_json(run.seen).dump());
      write_outputs(wishes.outputs, 0, outputs);
      for (int i = 1; !outputs.empty() && i <= wishes.nudges; ++i) {
        Tensors nudged_outputs;
        run_case(device, nudged(bundle, i), folder, "", &nudged_outputs);
        write_outputs(wishes.outputs, i, nudged_outputs);
      }
    }
    if (run.cannot) return {{"cannot", *run.cannot}};
    return {{"seen", to_json(run.seen)}};
  });
}

Plan plan_in_child(const LocalDevice& device, const Problem& problem, const PlanOptions& options,
                   int limit_s) {
  std::vector<std::string> words =
      child_words(device.id(), {"record", problem.text(), "--plan-only"});
  if (!options.variant.empty()) words.insert(words.end(), {"--variant", options.variant});
  if (!options.tile.empty()) words.insert(words.end(), {"--tile", options.tile});
  const Fate fate = run_isolated(words, std::chrono::seconds(limit_s));
  const json answer = fate.misfortune() ? json() : fate.answer();
  if (answer.contains("plan")) return plan_from_json(answer.at("plan"));
  if (answer.contains("cannot")) throw Unsupported(answer.at("cannot").get<std::string>());
  PlanOptions here = options;
  here.tuned = Tuned::from_environment();
  return make_plan(problem, device.facts, here);
}

int serve_plan(Cli& cli, const Problem& problem, const PlanOptions& options) {
  return serve(cli, [&]() -> json {
    Session session(cli);
    return {{"plan", to_json(session.runtime().prepare(problem, options).plan())}};
  });
}

}  // namespace clam::cli
