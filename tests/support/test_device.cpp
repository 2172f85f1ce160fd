// SPDX-License-Identifier: MIT
#include "test_device.hpp"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "check/ops/shared/random.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::test {
namespace {

struct Opened {
  std::string reason;
  cl::Device device;
  cl::Context context;
  std::unique_ptr<Runtime> runtime;

  Opened() {
    try {
      device = select_device().device;
      context = cl::Context(device);
      runtime = make(RuntimeOptions::from_environment());
    } catch (const Error& error) {
      reason = error.what();
    }
  }

  std::unique_ptr<Runtime> make(RuntimeOptions options) const {
    return std::make_unique<Runtime>(
        context, cl::CommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE), std::move(options));
  }
};

// Never destroyed: some drivers fault when programs are released by static destructors.
Opened& opened() {
  static Opened* const opened = new Opened;
  return *opened;
}

}  // namespace

const std::string& no_device_reason() { return opened().reason; }

Runtime& runtime() { return *opened().runtime; }

std::unique_ptr<Runtime> fresh_runtime(RuntimeOptions options) {
  return opened().make(std::move(options));
}

std::uint64_t seed() {
  const char* variable = std::getenv("CLAM_TEST_SEED");
  return variable ? std::strtoull(variable, nullptr, 10) : 20190605;
}

bool is_weekly() { return std::getenv("CLAM_TEST_WEEKLY") != nullptr; }

bool launches_new_kernel(const Plan& plan, std::set<std::string>& seen, const std::string& where) {
  bool is_new = false;
  for (const auto* launches : {&plan.pack, &plan.launches}) {
    for (const Launch& launch : *launches) is_new |= seen.insert(where + launch.kernel).second;
  }
  return is_new;
}

std::vector<std::size_t> indices_of_this_run(std::size_t count) {
  std::vector<std::size_t> indices;
  Random random(seed());
  // A second driver compiles for minutes, and has every kernel in f16 in tests of its own.
  const std::size_t step = is_weekly() ? 1 : std::getenv("CLAM_TEST_AGAIN") ? 15 : 5;
  for (std::size_t first = 0; first < count; first += step) {
    const std::size_t last = std::min(first + step, count) - 1;
    indices.push_back(first +
                      static_cast<std::size_t>(random.integer(0, static_cast<int>(last - first))));
  }
  return indices;
}

int random_problems_of_this_run(int all) { return is_weekly() ? all : (all + 4) / 5; }

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "clam-test-XXXXXX").string();
  if (!::mkdtemp(path_.data())) throw std::runtime_error("cannot make a temporary folder");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void expect_in_a_kernel(const std::string& text) {
  for (const std::string& file : embedded_files()) {
    if (KernelFiles().get(file).text.find(text) != text.npos) return;
  }
  throw std::logic_error("no kernel has '" + text + "' to break");
}

void break_kernel(const TemporaryFolder& folder, const std::string& file, const std::string& from,
                  const std::string& to) {
  std::string text = KernelFiles().get(file).text;
  std::size_t at = text.find(from);
  if (at == text.npos) throw std::logic_error(file + " has no '" + from + "' to break");
  for (; at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  write_file(folder.file(file), text);
}

std::unique_ptr<Runtime> runtime_with_kernels(const TemporaryFolder& folder) {
  RuntimeOptions options;
  options.files = KernelFiles(folder.path());
  return fresh_runtime(std::move(options));
}

}  // namespace clam::test
