// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <fmt/core.h>

#include <set>
#include <tuple>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "clam/tuned.hpp"
#include "process/shell_quoted.hpp"

namespace clam::cli {
namespace {

std::unique_ptr<Runtime> make_runtime(const cl::Device& device) {
  try {
    const cl::Context context(device);
    const cl::CommandQueue queue(context, device, CL_QUEUE_PROFILING_ENABLE);
    return std::make_unique<Runtime>(context, queue, RuntimeOptions::from_environment());
  } catch (const cl::Error& error) {
    throw DeviceError("cannot open the device: " + describe(error), error.err());
  }
}

}  // namespace

Session::Session(Cli& cli)
    : out_(cli.out),
      device_{select_device(cli.device), {}},
      runtime_(make_runtime(device_.entry.device)) {
  device_.facts = runtime_->device();
  for (const std::string& line : runtime_->files().overrides()) {
    out_.note("kernel file " + line);
  }
  for (const std::string& note : runtime_->tuned()->notes()) out_.note(note);
}

void Session::build(const std::vector<Plan>& plans) {
  constexpr auto kPatience = std::chrono::seconds(3), kPause = std::chrono::seconds(1);
  std::set<std::tuple<std::string, std::string, std::string>> kernels;
  std::set<std::pair<std::string, std::string>> programs, started;
  for (const Plan& plan : plans) {
    for (const Launch* launch : launches_of(plan)) {
      programs.emplace(launch->file, launch->options);
      kernels.emplace(launch->file, launch->options, launch->kernel);
    }
  }
  Clock::time_point next = Clock::now() + kPatience;
  runtime_->programs().on_build([&](const std::string& file, int) {
    if (Clock::now() < next) return;
    next = Clock::now() + kPause;
    out_.notice(fmt::format("building kernel {} of {}: {}", started.size(), programs.size(), file));
  });
  for (const auto& [file, options, kernel] : kernels) {
    started.emplace(file, options);
    try {
      runtime_->programs().kernel(runtime_->files().get(file), options, kernel);
    } catch (const Error&) {
      // Reported with its problem, when that is run.
    }
  }
  runtime_->programs().on_build({});
}

nlohmann::json Session::json() {
  return {{"device_id", device_id()},
          {"device", to_json(runtime_->device())},
          {"kernel_overrides", runtime_->files().overrides()},
          {"counters", counters_json(*runtime_)}};
}

std::string Session::repeat(const std::string& arguments) const {
  return fmt::format("{}clam {} --device {}", folder_settings(), arguments, device_id());
}

}  // namespace clam::cli
