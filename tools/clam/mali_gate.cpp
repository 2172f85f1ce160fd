// SPDX-License-Identifier: MIT
#include "mali_gate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam::cli {
namespace {

/// How many kernels of the reports ended in each way; a GPU without a compiler counts as one.
struct GateSums {
  int passed = 0, failed = 0, skipped = 0, better = 0;

  void add(const mali::Judgement& judgement) {
    using Verdict = mali::Judgement::Verdict;
    ++(judgement.fails() ? failed : judgement.is_skip() ? skipped : passed);
    better += judgement.verdict == Verdict::better || judgement.verdict == Verdict::mended;
  }
};

/// Unjudged kernels are told in one line, known failures once a reason.
void print_judgements(Output& out, const MaliReport& report, GateSums& sums) {
  using Verdict = mali::Judgement::Verdict;
  const std::string unchanged =
      report.unchanged.empty()
          ? ""
          : fmt::format(", and {} that are what was accepted, not compiled again",
                        report.unchanged.size());
  out.text(fmt::format("{}: {} kernels{}, {}\n", report.gpu->key, report.kernels.size(), unchanged,
                       report.compiler));
  sums.passed += static_cast<int>(report.unchanged.size());
  bool told_unjudged = false;
  for (const MaliKernel& kernel : report.kernels) {
    const mali::Judgement& judgement = *kernel.judgement;
    sums.add(judgement);
    const bool is_unjudged = judgement.verdict == Verdict::unjudged;
    if (judgement.sentence.empty() || (is_unjudged && told_unjudged)) continue;
    told_unjudged = told_unjudged || is_unjudged;
    const std::string word = judgement.fails()     ? out.red("FAIL")
                             : judgement.is_skip() ? out.yellow("skip")
                                                   : out.yellow("note");
    out.text(fmt::format("{} {} {}{}{}\n     {}{}\n", word, report.gpu->key, kernel.kernel,
                         kernel.options.empty() ? "" : "  ", kernel.options, judgement.sentence,
                         is_unjudged ? " (and so are the others)" : ""));
  }
}

/// Whether a line `cannot` is still needed by one of the report's kernels.
bool is_needed(const mali::Expectations::Cannot& line, const MaliReport& report) {
  mali::Expectations alone;
  alone.cannot = {line};
  alone.half = {{"*", "not the question here"}};
  for (const mali::KernelCode& code : report.kernels) {
    const auto verdict = mali::judge(report.gpu->key, report.compiler, code, alone).verdict;
    if (verdict == mali::Judgement::Verdict::known_failure) return true;
  }
  return false;
}

/// A line that an acceptance deletes: that of a kernel which no plan launches any more. With --once
/// there are not all plans, so nobody knows.
bool goes(const mali::Expectations::Key& line, const MaliReport& report, const GateRequest& request,
          const std::string& pattern) {
  const auto is_line = [&](const mali::KernelId& each) {
    return std::tie(each.file, each.kernel, each.options) ==
           std::tie(line.file, line.kernel, line.options);
  };
  return !request.once && line.gpu == report.gpu->key &&
         mali::matches(pattern, line.file, line.kernel) &&
         std::none_of(report.unchanged.begin(), report.unchanged.end(), is_line) &&
         std::none_of(report.kernels.begin(), report.kernels.end(), is_line);
}

/// The figures of the reports replace those of their GPUs; what was written by hand stays, but for
/// what is mended. Where only some kernels are asked for, their lines alone, and of the same
/// compiler.
mali::Expectations accepted(mali::Expectations expectations, const std::vector<MaliReport>& reports,
                            const GateRequest& request, const std::string& pattern) {
  using Verdict = mali::Judgement::Verdict;
  for (const MaliReport& report : reports) {
    if (report.failure) continue;
    const std::string gpu = report.gpu->key;
    std::string& compiler = expectations.compilers[gpu];
    const bool are_all = pattern.empty() && !request.has_gaps();
    throw_if(!are_all && !compiler.empty() && compiler != report.compiler,
             "the figures of {} are of {}, and this is {}: accept them all, "
             "without a pattern, --once or --changed",
             gpu, compiler, report.compiler);
    compiler = report.compiler;
    for (auto at = expectations.figures.begin(); at != expectations.figures.end();) {
      at = goes(at->first, report, request, pattern) ? expectations.figures.erase(at)
                                                     : std::next(at);
    }
    auto& cannot = expectations.cannot;
    cannot.erase(std::remove_if(cannot.begin(), cannot.end(),
                                [&](const auto& line) {
                                  return line.gpu == gpu && are_all && !is_needed(line, report);
                                }),
                 cannot.end());
    for (const mali::KernelCode& code : report.kernels) {
      if (code.status != mali::KernelCode::Status::compiled) continue;
      mali::Figures& figures = expectations.figures[{gpu, code.file, code.kernel, code.options}];
      figures = mali::figures_of(code.shader);
      const mali::Judgement judgement = mali::judge(gpu, report.compiler, code, expectations);
      if (judgement.verdict == Verdict::as_expected) figures.fingerprint = code.fingerprint;
    }
  }
  return expectations;
}

}  // namespace

mali::Expectations read_expectations(const GateRequest& request) {
  if (request.accept && !fs::exists(request.expectations)) return {};
  return mali::parse_expectations(read_file(request.expectations), request.expectations);
}

int judge(Cli& cli, const GateRequest& request, const std::string& pattern,
          mali::Expectations expectations, std::vector<MaliReport>& reports) {
  if (request.accept) {
    expectations = accepted(std::move(expectations), reports, request, pattern);
    write_file(request.expectations, mali::to_text(expectations));
    cli.out.note(fmt::format("{} has the figures of now: read it before it is committed",
                             request.expectations));
  }
  GateSums sums;
  for (MaliReport& report : reports) {
    if (report.failure) {
      cli.out.text(
          fmt::format("{} {}: {}\n", cli.out.yellow("skip"), report.gpu->key, report.failure_text));
      ++(report.cannot_run ? sums.skipped : sums.failed);
      continue;
    }
    for (MaliKernel& code : report.kernels) {
      code.judgement = mali::judge(report.gpu->key, report.compiler, code, expectations);
    }
    print_judgements(cli.out, report, sums);
  }
  if (sums.better > 0) {
    cli.out.line(
        fmt::format("{} kernels are better than expected: clam mali --accept", sums.better));
  }
  cli.out.line(
      fmt::format("{} passed, {} failed, {} skipped", sums.passed, sums.failed, sums.skipped));
  return sums.failed > 0 ? kCheckFailed : sums.passed > 0 ? kFine : kNothingRan;
}

}  // namespace clam::cli
