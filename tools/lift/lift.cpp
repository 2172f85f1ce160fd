// SPDX-License-Identifier: MIT
#include "lift.hpp"

#include <fmt/format.h>

#include "bundle/case.hpp"
#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/problem.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/contracts.hpp"
#include "runtime/embedded.hpp"
#include "runtime/overlap.hpp"
#include "text.hpp"

namespace clam {
namespace {

/// The tables, and behind each argument the name that its kernel gives it.
std::string tables_of(const Bundle& bundle) {
  std::vector<std::string> names;
  for (const Launch* launch : launches_of(*bundle.plan)) {
    const FileTags tags = read_tags({launch->file, bundle.kernels.at(launch->file), "", ""});
    const KernelTags* kernel = tags.kernel(launch->kernel);
    for (std::size_t i = 0; kernel && i < launch->args.size(); ++i) {
      names.push_back((i == 0 ? launch->kernel + ": " : "") + kernel->args.at(i).name);
    }
  }
  return replay_tables(bundle, names);
}

/// How tensors lie in their buffers, a row each as in the table of buffers.
std::string layouts_of(const Plan& plan) {
  std::string rows;
  for (const TensorSpec& spec : plan.tensors) {
    rows += fmt::format("    {{{}, {{{}}}, {{{}}}, {}}},  // {}\n", spec.shape.size(),
                        fmt::join(spec.shape, ", "), fmt::join(strides_of(spec), ", "), spec.offset,
                        spec.name);
  }
  for (const BufferSpec& spec : plan.buffers) {
    const bool is_packed = spec.role == BufferSpec::Role::packed;
    rows += fmt::format("    {{0, {{0}}, {{0}}, 0}},  // {}: {}\n", spec.name,
                        is_packed ? "packed once" : "scratch");
  }
  return rows;
}

std::string header_of(const Bundle& bundle) {
  return fmt::format(R"(// SPDX-License-Identifier: MIT
// launches.h - {}
// as {} of clam {} computes it, planned for {}.
// Sizes and options are valid for the kernel files beside it alone.
#include <math.h>
#include <stddef.h>

{}
struct layout {{  // of a tensor in its buffer, in elements; rank 0: it is no tensor
  int rank;
  size_t shape[8], strides[8], offset;
}};
static const struct layout layouts[] = {{
{}}};
enum {{ PACKS = {} }};  // so many of the launches pack constant inputs, once
)",
                     bundle.problem, bundle.variant, CLAM_VERSION, bundle.plan->device.name,
                     tables_of(bundle), layouts_of(*bundle.plan), bundle.plan->pack.size());
}

}  // namespace

void lift_kernels(Bundle& bundle, bool keeps_dead) {
  const Bundle before = bundle;
  const auto launches = launches_of(*bundle.plan);
  bundle.kernels.clear();
  for (const Build& build : builds_of(before)) {
    Wanted wanted{{}, build.options, "", keeps_dead};
    wanted.note = fmt::format("//\n// Lifted from clam {}, as {} computes\n//   {}\n", CLAM_VERSION,
                              bundle.variant, bundle.problem);
    std::string file = build.file, others;
    for (int number = 2; bundle.kernels.count(file) > 0; ++number)
      file = fmt::format("{}_{}", number, build.file);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const Launch& old = *launches_of(*before.plan)[i];
      if (!(Build{old.file, old.options} == build)) continue;
      wanted.kernels.push_back(old.kernel);
      launches[i]->file = file;
    }
    try {
      bundle.kernels[file] = lifted_text(before.kernels.at(build.file), wanted, others);
    } catch (const BadArgument& error) {
      throw BadArgument(build.file + ": " + error.what());
    }
    for (Launch* launch : launches) {
      if (launch->file == file) launch->options = others;
    }
  }
}

bool take_usual_data(Bundle& bundle) {
  const Problem problem = Problem::parse(bundle.problem);
  std::int64_t bytes = 0;
  for (const TensorSpec& spec : bundle.plan->tensors) bytes += spec.bytes();
  if (bytes > kMostBytes) return false;
  const DataSet& set = usual_data_set(problem);
  const Tensors inputs = make_inputs(problem, set, bundle.seed);
  take_inputs(inputs, bundle);
  const Reference right = reference_of(
      problem, inputs, reference_options(set.check, bundle.plan->device, bundle.variant));
  for (const TensorSpec& spec : bundle.plan->tensors) {
    if (spec.role == TensorSpec::Role::input) continue;
    const Expected& expected = right.at(spec.name);
    expect(spec, expected, bundle);
    // What host.c leaves between the elements.
    if (expected.bit_exact())
      bundle.expected[spec.name] = in_buffer(spec, expected.exact, 0xFFFFFFFFu);
  }
  return true;
}

void write_lifted(const std::string& folder, const Bundle& bundle) {
  for (const auto& [file, text] : bundle.kernels) write_file(path_in(folder, file), text);
  write_file(path_in(folder, "launches.h"), header_of(bundle));
  write_file(path_in(folder, "host.c"), embedded_lift().front().text);
  write_tensors(folder, bundle);
}

}  // namespace clam
