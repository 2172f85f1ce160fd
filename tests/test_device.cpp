// SPDX-License-Identifier: MIT
#include "test_device.hpp"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

#include "atomic_file.hpp"

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
      runtime = make({});
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

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "clam-test-XXXXXX").string();
  if (!::mkdtemp(path_.data())) throw std::runtime_error("cannot make a temporary folder");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
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
  options.cache_dir.clear();
  options.files = KernelFiles(folder.path());
  return fresh_runtime(std::move(options));
}

}  // namespace clam::test
