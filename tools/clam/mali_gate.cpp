// SPDX-License-Identifier: MIT
#include "mali_gate.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "atomic_file.hpp"

namespace clam::cli {
namespace {

/// How many kernels of the reports ended in each way.
struct GateSums {
  int passed = 0, failed = 0, better = 0;
};

/// Figures are held against those of the same compiler only.
void judge_all(Cli& cli, MaliReport& report, const mali::Expectations& expectations) {
  const bool same = report.compiler == expectations.compiler;
  if (!same) {
    cli.out.note(
        fmt::format("{}: the expectations are of {}, and this is {}: only spills, scratch "
                    "memory and occupancy are judged",
                    report.gpu->key, expectations.compiler, report.compiler));
  }
  for (const mali::KernelCode& code : report.kernels) {
    report.judgements.push_back(mali::judge(report.gpu->key, code, expectations, same));
  }
}

void print_judgements(Output& out, const MaliReport& report, GateSums& sums) {
  using Verdict = mali::Judgement::Verdict;
  out.text(
      fmt::format("{}: {} kernels, {}\n", report.gpu->key, report.kernels.size(), report.compiler));
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const mali::Judgement& judgement = report.judgements[i];
    judgement.fails() ? ++sums.failed : ++sums.passed;
    sums.better += judgement.verdict == Verdict::better || judgement.verdict == Verdict::mended;
    if (judgement.sentence.empty()) continue;
    const std::string word = judgement.fails() ? out.red("FAIL") : out.yellow("note");
    out.text(fmt::format("{} {} {} {}\n     {}\n", word, report.gpu->key, report.kernels[i].kernel,
                         report.kernels[i].options, judgement.sentence));
  }
}

/// The figures of the reports replace those of their GPUs; what was written by hand stays, but for
/// what is mended. A pattern replaces the lines of its kernels alone.
mali::Expectations accepted(mali::Expectations expectations, const std::vector<MaliReport>& reports,
                            const std::string& pattern) {
  for (const MaliReport& report : reports) {
    const std::string gpu = report.gpu->key;
    expectations.compiler = report.compiler;
    for (auto at = expectations.figures.begin(); at != expectations.figures.end();) {
      const bool goes =
          at->first.gpu == gpu && mali::matches(pattern, at->first.file, at->first.kernel);
      at = goes ? expectations.figures.erase(at) : std::next(at);
    }
    for (const mali::KernelCode& code : report.kernels) {
      if (code.status != mali::KernelCode::Status::compiled) continue;
      expectations.figures[{gpu, code.file, code.kernel, code.options}] =
          mali::figures_of(code.shader);
      auto& cannot = expectations.cannot;
      if (const auto* known = expectations.known_failure(gpu, code.kernel)) {
        cannot.erase(cannot.begin() + (known - cannot.data()));
      }
    }
  }
  return expectations;
}

/// The first acceptance has no file to begin with.
mali::Expectations read_expectations(const GateRequest& request) {
  if (request.accept && !std::filesystem::exists(request.expectations)) return {};
  return mali::parse_expectations(read_file(request.expectations), request.expectations);
}

}  // namespace

void check_expectations(const GateRequest& request) { read_expectations(request); }

int judge(Cli& cli, const GateRequest& request, const std::string& pattern,
          std::vector<MaliReport>& reports) {
  mali::Expectations expectations = read_expectations(request);
  if (request.accept) {
    expectations = accepted(std::move(expectations), reports, pattern);
    write_file(request.expectations, mali::to_text(expectations));
    cli.out.note(fmt::format("{} has the figures of now: read it before it is committed",
                             request.expectations));
  }
  GateSums sums;
  for (MaliReport& report : reports) {
    judge_all(cli, report, expectations);
    print_judgements(cli.out, report, sums);
  }
  if (sums.better > 0) {
    cli.out.line(
        fmt::format("{} kernels are better than expected: clam mali --accept", sums.better));
  }
  cli.out.line(fmt::format("{} passed, {} failed, 0 skipped", sums.passed, sums.failed));
  return sums.failed > 0 ? kCheckFailed : sums.passed > 0 ? kFine : kNothingRan;
}

}  // namespace clam::cli
