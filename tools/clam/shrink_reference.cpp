// SPDX-License-Identifier: MIT
#include "shrink_reference.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "process/isolate.hpp"
#include "process/process.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Role = TensorSpec::Role;

constexpr const char* kQuestion = "question.json";

std::string in(const std::string& folder, const std::string& name, const char* ending = "") {
  return (fs::path(folder) / (name + ending)).string();
}

void ask(const std::string& folder, const Problem& problem, const Tensors& inputs,
         const ReferenceOptions& options, const Bundle& bundle) {
  const json question{{"problem", problem.text()},
                      {"check", options.check},
                      {"denormals", options.denormals},
                      {"native_exp2_ulp", options.native_exp2_ulp},
                      {"plan", to_json(*bundle.plan)}};
  write_file(in(folder, kQuestion), question.dump());
  for (const auto& [name, tensor] : inputs) write_npy(in(folder, name, ".npy"), tensor);
}

/// What it printed, once it has ended; whether it did before the search was over.
bool await_end(Process& process, const std::function<bool()>& over, std::string& said) {
  constexpr std::chrono::milliseconds kPause(50);
  for (std::string line;;) {
    process.wait_for_output(kPause);
    const Process::Read read = process.read_line(line, std::chrono::milliseconds(0));
    if (read == Process::Read::end) return true;
    if (over()) return false;
    if (read == Process::Read::line) said += line + "\n";
  }
}

void take_answer(const std::string& folder, Bundle& bundle) {
  bundle.expected.clear();
  bundle.bounds.clear();
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const std::string expected = in(folder, spec.name, ".expected.npy"),
                      bound = in(folder, spec.name, ".bound.npy");
    if (fs::exists(expected)) bundle.expected[spec.name] = read_npy(expected);
    if (fs::exists(bound)) bundle.bounds[spec.name] = read_npy(bound);
  }
}

Bundle answer(const std::string& folder) {
  const json question = json::parse(read_file(in(folder, kQuestion)));
  const Problem problem = Problem::parse(question.at("problem").get<std::string>());
  Tensors inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role == Role::input) inputs[spec.name] = read_npy(in(folder, spec.name, ".npy"));
  }
  ReferenceOptions options;
  options.check = question.at("check").get<Check>();
  question.at("denormals").get_to(options.denormals);
  question.at("native_exp2_ulp").get_to(options.native_exp2_ulp);
  Bundle bundle;
  bundle.plan = plan_from_json(question.at("plan"));
  expect_here(problem, inputs, options, bundle);
  return bundle;
}

}  // namespace

Expecting expect_apart(std::function<bool()> over) {
  return [over = std::move(over)](const Problem& problem, const Tensors& inputs,
                                  const ReferenceOptions& options, Bundle& bundle) {
    const ScratchFolder folder;
    ask(folder.path(), problem, inputs, options, bundle);
    std::vector<std::string> words = own_command();
    words.insert(words.end(),
                 {"--quiet", "--json", "-", "shrink", folder.path(), "--reference-only"});
    Process process(words, {}, Process::Errors::own);
    std::string said;
    if (!await_end(process, over, said)) {
      throw Unsupported("its reference takes longer than there is time");
    }
    const int code = process.wait();
    const json answered = json::parse(said, nullptr, false);
    if (!answered.is_object()) {
      throw Unsupported("its reference gave nothing, and ended with " + std::to_string(code));
    }
    if (answered.contains("refused")) {
      throw BadArgument(answered.at("refused").get<std::string>());
    }
    take_answer(folder.path(), bundle);
  };
}

int serve_reference(Cli& cli, const std::string& folder) {
  try {
    const Bundle bundle = answer(folder);
    for (const auto& [name, tensor] : bundle.expected) {
      write_npy(in(folder, name, ".expected.npy"), tensor);
    }
    for (const auto& [name, tensor] : bundle.bounds) {
      write_npy(in(folder, name, ".bound.npy"), tensor);
    }
    cli.out.json(json::object());
  } catch (const std::exception& error) {
    cli.out.json({{"refused", error.what()}});
  }
  return kFine;
}

}  // namespace clam::cli
