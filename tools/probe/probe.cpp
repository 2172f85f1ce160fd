// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "clam/error.hpp"
#include "clam/op.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/embedded.hpp"
#include "runtime/words.hpp"
#include "stage.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

using nlohmann::json;
using Verdict = ProbeResult::Verdict;

constexpr Words<5> kVerdictWords{"OK", "BUG", "SKIP", "HANG", "CRASH"};

constexpr std::string_view kDescription = "/probe.json";

Probe parse_probe(const std::string& name, const std::string& text) {
  try {
    const json description = json::parse(text);
    for (const char* key : {"symptom", "source", "reported_on", "advice"}) description.at(key);
    auto probe = description.get<Probe>();
    probe.name = name;
    probe.limit_s = description.value("limit_s", probe.limit_s);
    probe.run = description.value("run", json());
    return probe;
  } catch (const json::exception& error) {
    throw BadArgument(fmt::format("probe {}: {}", name, error.what()));
  }
}

bool keeps_half_denormals(const cl::Device& device) {
  constexpr cl_device_info kHalfConfig = 0x1033;  // CL_DEVICE_HALF_FP_CONFIG
  cl_device_fp_config config = 0;
  return ::clGetDeviceInfo(device(), kHalfConfig, sizeof config, &config, nullptr) == CL_SUCCESS &&
         config & CL_FP_DENORM;
}

/// Why the probe has nothing to look at on this device; empty where it has.
Reason lacking(const Probe& probe, const cl::Device& device, const DeviceInfo& info) {
  for (const std::string& need : probe.needs) {
    if (need == "images") {
      if (!info.images) return "device has no images";
    } else if (need == "half denormals") {
      if (!keeps_half_denormals(device)) return "device says that it has no half denormals";
    } else if (need == "compiler that links") {
      if (!device.getInfo<CL_DEVICE_LINKER_AVAILABLE>()) return "device says that it cannot link";
    } else if (!info.has_extension(need)) {
      return "device has no " + need;
    }
  }
  return {};
}

ProbeResult run_code(const Stage& stage) {
  for (const auto probes : {queue_probes, program_probes, limit_probes}) {
    for (const CodeProbe& probe : probes()) {
      if (stage.probe.name == probe.name) return probe.run(stage);
    }
  }
  throw BadArgument(fmt::format("probe {}: it has no \"run\", and no code", stage.probe.name));
}

/// The log's first line that says what is wrong; its first one where none does.
std::string essence(const std::string& log) {
  constexpr std::size_t kLongest = 300;
  const std::size_t at = log.find("error");
  const std::size_t start = at == log.npos ? 0 : log.rfind('\n', at) + 1;
  return log.substr(start, std::min(log.find('\n', start) - start, kLongest));
}

}  // namespace

const char* word(Verdict verdict) { return word_of(kVerdictWords, verdict); }

Verdict verdict_of(std::string_view text) {
  if (const auto verdict = find_word<Verdict>(kVerdictWords, text)) return *verdict;
  throw BadArgument(in_quotes(text) + " is no verdict of a probe");
}

std::vector<Probe> all_probes() {
  std::vector<Probe> probes;
  for (const EmbeddedFile& file : embedded_probes()) {
    if (!ends_with(file.name, kDescription)) continue;
    const std::string_view name = file.name.substr(0, file.name.size() - kDescription.size());
    probes.push_back(parse_probe(std::string(name), std::string(file.text)));
  }
  std::sort(probes.begin(), probes.end(),
            [](const Probe& a, const Probe& b) { return a.name < b.name; });
  return probes;
}

std::string probe_file(const std::string& probe, const std::string& file) {
  const std::string name = probe + "/" + file;
  const char* folder = std::getenv("CLAM_PROBE_DIR");
  if (folder && *folder) {
    const std::string path = std::string(folder) + "/" + name;
    if (std::filesystem::exists(path)) return read_file(path);
  }
  if (const EmbeddedFile* one = find_by_name(embedded_probes(), name))
    return std::string(one->text);
  throw BadArgument(fmt::format("probe {} has no file {}", probe, file));
}

ProbeResult run_probe(const Probe& probe, const cl::Device& device) {
  try {
    if (const Reason why = lacking(probe, device, query_device(device))) return skip(*why);
    const Stage stage(probe, device);
    return probe.run.is_null() ? run_code(stage) : run_launch(stage);
  } catch (const cl::BuildError& error) {
    const auto logs = error.getBuildLog();
    return bug(fmt::format("its kernel does not build ({}): {}", cl_status_name(error.err()),
                           logs.empty() ? "no log" : essence(logs.front().second)));
  } catch (const cl::Error& error) {
    return bug(describe(error));
  }
}

// ---- the stage ----------------------------------------------------------------------------------

Stage::Stage(const Probe& its_probe, const cl::Device& its_device)
    : probe(its_probe),
      device(its_device),
      info(query_device(device)),
      context(device),
      queue(context, device, CL_QUEUE_PROFILING_ENABLE) {}

cl::Kernel Stage::kernel(const std::string& text, const std::string& name,
                         const std::string& options) const {
  cl::Program program(context, text);
  program.build({device}, options.c_str());
  return cl::Kernel(program, name.c_str());
}

cl::Kernel Stage::own_kernel(const std::string& name) const {
  return kernel(probe_file(probe.name, "kernel.cl"), name);
}

cl::Kernel Stage::add_one(const cl::Buffer& counts) const {
  return with(kernel(kAddOne, "add_one"), counts);
}

cl::Buffer Stage::zeros(std::size_t count) const {
  const cl::Buffer buffer(context, CL_MEM_READ_WRITE, count * sizeof(cl_int));
  const std::vector<cl_int> zero(count, 0);
  queue.enqueueWriteBuffer(buffer, CL_TRUE, 0, count * sizeof(cl_int), zero.data());
  return buffer;
}

std::vector<cl_int> Stage::read(const cl::Buffer& buffer, std::size_t count) const {
  std::vector<cl_int> values(count, -1);
  queue.enqueueReadBuffer(buffer, CL_TRUE, 0, count * sizeof(cl_int), values.data());
  return values;
}

void Stage::launch(const cl::Kernel& kernel, cl::Event* event) const {
  queue.enqueueNDRangeKernel(kernel, cl::NullRange, kCounts, kCounts, nullptr, event);
}

Reason Stage::refusal(const cl::Kernel& kernel, std::size_t global, std::size_t local) const {
  try {
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local);
    queue.finish();
    return {};
  } catch (const cl::Error& error) {
    return describe(error);
  }
}

std::string Stage::run_add_one(const cl::Program& program) const {
  const cl::Buffer counts = zeros(kCounts);
  const cl::Kernel kernel = with(cl::Kernel(program, "add_one"), counts);
  launch(kernel);
  return wrong_count(read(counts, kCounts), 1);
}

bool comes(const std::function<bool()>& it, Clock::duration patience) {
  const Clock::time_point until = Clock::now() + patience;
  while (!it() && Clock::now() < until) Clock::sleep_for(std::chrono::milliseconds(1));
  return it();
}

std::string wrong_count(const std::vector<cl_int>& counts, cl_int expected) {
  const auto wrong = std::find_if(counts.begin(), counts.end(),
                                  [expected](cl_int count) { return count != expected; });
  if (wrong == counts.end()) return "";
  return fmt::format("element {} is {}, not {}", wrong - counts.begin(), *wrong, expected);
}

}  // namespace clam
