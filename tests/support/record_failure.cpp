// SPDX-License-Identifier: MIT
#include "record_failure.hpp"

#include <cstdio>
#include <cstdlib>

#include "bundle/bundle.hpp"
#include "bundle/case.hpp"
#include "clam/kernels.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

/// Runs it once more, in this process, and writes what came of it.
std::string write_bundle(Bundle bundle, const std::string& target) {
  StagedFolder folder(target, true);
  bundle.device = runtime().device();
  write_case(folder.path(), bundle);
  const cl::Device device = runtime().context().getInfo<CL_CONTEXT_DEVICES>().at(0);
  bundle.seen = run_case(device, bundle, folder.path(), folder.path()).seen;
  bundle.seen.reason = anonymous(bundle.seen.reason);
  finish_case(folder.path(), bundle, false);
  folder.publish();
  return bundle.seen.text();
}

}  // namespace

void record_failure(const Plan& plan, const Tensors& inputs, const Reference& reference) {
  const char* folder = std::getenv("CLAM_TEST_RECORD_FAILURES");
  if (!folder || !*folder) return;
  try {
    Bundle bundle;
    take_plan(plan, runtime().files(), bundle);
    take_inputs(inputs, bundle);
    for (const auto& [name, expected] : reference) expect(*plan.tensor(name), expected, bundle);
    make_folder(folder);
    const std::string hash = hash_text(plan.problem + "\n" + plan.variant).substr(0, 12);
    const std::string target =
        std::string(folder) + "/" + plan.problem.substr(0, plan.problem.find(' ')) + "-" + hash;
    const std::string seen = write_bundle(std::move(bundle), target);
    std::printf("recorded in %s: %s\n", target.c_str(), seen.c_str());
  } catch (const std::exception& error) {
    std::printf("not recorded: %s\n", error.what());
  }
}

}  // namespace clam::test
