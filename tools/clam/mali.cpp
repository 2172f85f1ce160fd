// SPDX-License-Identifier: MIT
// mali.cpp - `clam mali`: kernels through the real Mali compilers, on any machine. Nothing runs.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "clam/planner.hpp"
#include "cli.hpp"
#include "mali/costs.hpp"
#include "mali/figures.hpp"
#include "mali/gate.hpp"
#include "mali_gate.hpp"
#include "mali_report.hpp"
#include "process/clean_end.hpp"
#include "process/isolate.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/text.hpp"

namespace clam::cli {
namespace {

struct MaliRequest {
  std::vector<std::string> words;
  std::optional<std::string> gpus;
  std::string workload, dtype, acc, asm_dir, figures, costs, models, measured, mesa = "debian13";
  bool judges_all = false;
  GateRequest gate;

  bool judges() const { return judges_all || gate.accept; }
};

/// What the words of the command line ask for: kernels by a pattern, or problems.
struct Asked {
  std::string pattern;  ///< of kernels; empty: all
  std::vector<MaliProblem> problems;
  std::optional<Workload> workload;
  mali::Expectations expectations;  ///< of a gate
};

// ---- what is asked for ----

std::vector<const Gpu*> chosen_gpus(const MaliRequest& request) {
  if (!request.gpus && request.judges()) return mali::gate_gpus();
  if (!request.gpus) return {&find_gpu("g610")};
  std::vector<const Gpu*> gpus;
  if (*request.gpus == "all") {
    for (const Gpu& gpu : all_gpus()) {
      if (gpu.mesa_id != 0) gpus.push_back(&gpu);
    }
    return gpus;
  }
  for (const auto key : split(*request.gpus, ',')) gpus.push_back(&gpu_named(std::string(key)));
  return gpus;
}

/// The problem in the dtype and with the accumulator asked for, where it has one.
Problem as_asked(const Problem& problem, const MaliRequest& request) {
  const Problem typed = problem.in_float(request.dtype);
  if (request.acc.empty() || !op_of(problem).sums_products) return typed;
  return typed.with("acc", request.acc);
}

std::vector<MaliProblem> problems_of(const Workload& workload, const MaliRequest& request) {
  std::vector<MaliProblem> problems;
  for (const Workload::Node& node : workload.nodes) {
    if (!node.problem || !node.folded_into.empty()) continue;
    const double calls = node.calls > 0 ? static_cast<double>(node.calls) : 1;
    problems.push_back({as_asked(*node.problem, request), node.name, calls});
  }
  return problems;
}

Asked read_words(const MaliRequest& request) {
  Asked asked;
  throw_if(request.judges() && !(request.workload + request.dtype + request.acc).empty(),
           "a gate has its own plans: no --workload, no --dtype and no --acc");
  throw_if(request.gate.has_gaps() && !request.judges(),
           "--once and --changed go with --gate or --accept");
  // A bad file is refused before long work.
  if (request.judges()) asked.expectations = read_expectations(request.gate);
  if (!request.dtype.empty()) parse_dtype(request.dtype);
  if (!request.workload.empty()) {
    asked.workload = read_workload(request.workload);
    asked.problems = problems_of(*asked.workload, request);
  }
  const auto is_problem = [](const std::string& word) { return word.find('=') != word.npos; };
  if (std::any_of(request.words.begin(), request.words.end(), is_problem)) {
    if (request.judges()) throw BadArgument("a gate takes a pattern of kernels, not problems");
    if (asked.workload) throw BadArgument("give problems or --workload, one of the two");
    for (const std::string& line : problem_lines(request.words)) {
      asked.problems.push_back({as_asked(parse_as(line, request.dtype), request), "", 1});
    }
  } else if (request.words.size() == 1) {
    asked.pattern = request.words[0];
  } else if (!request.words.empty()) {
    refuse("'{}': one pattern at a time, such as 'dense*'", request.words[1]);
  }
  return asked;
}

// ---- one GPU ----

/// Says how far the compilers are: always on a terminal, else now and then.
class Progress {
 public:
  explicit Progress(Output& out) : out_(out) {}

  void report(const std::string& gpu, int done, int total) {
    const std::lock_guard<std::mutex> lock(mutex_);
    counts_[gpu] = fmt::format("{} {}/{}", gpu, done, total);
    std::string line = "compiled";
    for (const auto& [key, text] : counts_) line += " " + text;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return out_.progress(line);
    if (done < total) out_.notice(line);
    next_ = now + std::chrono::seconds(20);
  }

 private:
  Output& out_;
  std::mutex mutex_;
  std::map<std::string, std::string> counts_;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() +
      std::chrono::seconds(3);  // what is soon done needs no word
};

class OneGpu {
 public:
  OneGpu(const Gpu& gpu, const KernelFiles& files, const MaliRequest& request, const Asked& asked)
      : files_(files), request_(request), asked_(asked), device_(gpu_device(gpu)) {
    report_.gpu = &gpu;
  }

  MaliReport compile(mali::CompilerOptions options, Progress& progress) {
    const std::string key = report_.gpu->key;
    options.progress = [&](int done, int total) { progress.report(key, done, total); };
    mali::Compiler compiler(*report_.gpu, files_, options);
    report_.compiler = compiler.version();
    const std::vector<Plan> plans = wanted_plans();
    std::vector<mali::KernelId> kernels = mali::kernels_of(plans);
    const auto is_other = [&](const mali::KernelId& each) {
      return !mali::matches(asked_.pattern, each.file, each.kernel);
    };
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(), is_other), kernels.end());
    if (request_.gate.changed) {
      report_.unchanged = mali::leave_out_unchanged(
          kernels, asked_.expectations, key,
          [&](const mali::KernelId& kernel) { return compiler.fingerprint(kernel); });
    }
    for (mali::KernelCode& code : compiler.compile(kernels)) {
      report_.kernels.push_back({std::move(code)});
    }
    if (request_.judges()) {
      check_tags(plans);
    } else {
      ask_malioc_too();
    }
    for (const MaliProblem& problem : asked_.problems) report_.rows.push_back(row(problem));
    return std::move(report_);
  }

 private:
  std::vector<Plan> wanted_plans() const {
    if (request_.gate.once) return mali::once_plans(*report_.gpu);
    if (request_.judges()) return mali::gate_plans(*report_.gpu);
    if (asked_.problems.empty()) return mali::every_plan(*report_.gpu);
    std::vector<Plan> plans;
    for (const MaliProblem& asked : asked_.problems) {
      if (auto plan = try_plan(asked.problem, device_, options_)) plans.push_back(std::move(*plan));
    }
    return plans;
  }

  /// Every launch must be one whose time can be predicted: its loops are those of its tags.
  void check_tags(const std::vector<Plan>& plans) {
    if (report_.gpu->family == Gpu::Family::midgard) return;  // its listings show no loops
    for (const Plan& plan : plans) {
      for (const Launch* launch : launches_of(plan)) check_tags_of(*launch, plan);
    }
  }

  void check_tags_of(const Launch& launch, const Plan& plan) {
    mali::KernelCode* code = mali::find_code(report_.kernels, launch);
    if (!code) return;
    try {
      mali::predict(launch, plan, {&code->shader, &tags_of(code->file)}, *report_.gpu);
    } catch (const BadArgument& error) {
      code->reason = error.what();
    }
  }

  /// A second opinion where Arm's own compiler is installed; one that it lacks stays empty.
  void ask_malioc_too() {
    const std::string malioc = find_program("malioc");
    report_.has_malioc = !malioc.empty();
    if (malioc.empty()) return;
    for (MaliKernel& code : report_.kernels) {
      try {
        code.malioc = mali::ask_malioc(malioc, *report_.gpu, files_.get(code.file), code.options,
                                       code.kernel);
      } catch (const DeviceError& error) {
        report_.malioc_error = error.what();
      }
    }
  }

  const FileTags& tags_of(const std::string& file) {
    auto tags = tags_.find(file);
    if (tags == tags_.end()) tags = tags_.emplace(file, read_tags(files_.get(file))).first;
    return tags->second;
  }

  mali::Compiled find(const Launch& launch) {
    const mali::KernelCode* code = mali::find_code(report_.kernels, launch);
    if (!code) throw Unsupported(fmt::format("kernel {} was not compiled", launch.kernel));
    return {&code->shader, &tags_of(code->file)};
  }

  /// The workload's first column, where it is of this GPU and these problems are in its dtype.
  std::string published(const MaliProblem& asked) const {
    if (!asked_.workload || !(request_.dtype + request_.acc).empty()) return "";
    const Workload& workload = *asked_.workload;
    const std::string model = fmt::format("Mali-{} ", report_.gpu->model);
    if (workload.published_device.find(model) == std::string::npos) return "";
    const Workload::Column& column = workload.columns[0];
    const auto time = published_time(workload, *workload.node(asked.node), column.key);
    return time ? fmt::format("({} on a board: {:.0f} us)", column.title, time->us) : "";
  }

  static double products(const Problem& problem) {
    return op_of(problem).sums_products ? flops_of(problem) / 2 : 0;
  }

  MaliRow row(const MaliProblem& asked) {
    MaliRow row{&asked, "", "", std::nullopt, 0, published(asked)};
    try {
      const Plan plan = make_plan(asked.problem, device_, options_);
      row.variant = plan.variant;
      row.floor_us = mali::floor_us(asked.problem, *report_.gpu);
      row.time = mali::predict(
          plan, products(asked.problem), [&](const Launch& launch) { return find(launch); },
          *report_.gpu);
    } catch (const Error& error) {
      row.reason = error.what();
    }
    return row;
  }

  const KernelFiles& files_;
  const MaliRequest& request_;
  const Asked& asked_;
  DeviceInfo device_;
  PlanOptions options_{"", 0, "", Tuned::from_environment()};
  MaliReport report_{};
  std::map<std::string, FileTags> tags_;
};

// ---- the command ----

/// DIR/GPU/KERNEL-HASH.txt, each with the options that it was compiled with in its first line.
void write_listings(const std::string& dir, const MaliReport& report) {
  const fs::path folder = fs::path(dir) / report.gpu->key;
  make_folder(folder.string());
  for (const mali::KernelCode& code : report.kernels) {
    if (code.status != mali::KernelCode::Status::compiled) continue;
    const std::string name =
        fmt::format("{}-{}.txt", code.kernel, hash_text(code.file + code.options).substr(0, 8));
    write_file((folder / name).string(),
               fmt::format("// {} {} {}\n// {}, {}\n{}", code.file, code.kernel, code.options,
                           report.gpu->key, report.compiler, code.listing));
  }
}

std::vector<MaliReport> compile_all(Cli& cli, const MaliRequest& request, const Asked& asked) {
  const std::vector<const Gpu*> gpus = chosen_gpus(request);
  const KernelFiles files = KernelFiles::from_environment();
  for (const std::string& line : files.overrides()) cli.out.note("kernel file " + line);
  const mali::CompilerOptions options = mali::default_compiler(mali::parse_mesa(request.mesa));
  Progress progress(cli.out);
  std::vector<MaliReport> reports(gpus.size());
  parallel_for(static_cast<std::int64_t>(gpus.size()), [&](std::int64_t i) {
    const std::size_t at = static_cast<std::size_t>(i);
    try {
      reports[at] = OneGpu(*gpus[at], files, request, asked).compile(options, progress);
    } catch (const Error& error) {
      reports[at].gpu = gpus[at];
      reports[at].failure = std::current_exception();
      reports[at].failure_text = error.what();
      reports[at].cannot_run = dynamic_cast<const Unsupported*>(&error) != nullptr;
    }
  });
  // One that works is worth a report, and the others are told in it.
  for (const MaliReport& report : reports) {
    if (!report.failure) return reports;
  }
  std::rethrow_exception(reports[0].failure);
}

bool all_compiled(const MaliReport& report) {
  return std::all_of(report.kernels.begin(), report.kernels.end(), [](const auto& code) {
    return code.status == mali::KernelCode::Status::compiled;
  });
}

int print_report(Cli& cli, const MaliReport& report, const Workload* workload) {
  if (report.failure) {
    cli.out.text(fmt::format("{}: {}\n", report.gpu->key, report.failure_text));
    return kCheckFailed;
  }
  print_kernels(cli.out, report);
  if (!report.malioc_error.empty()) cli.out.note(report.malioc_error);
  print_predictions(cli.out, report, workload);
  return all_compiled(report) ? kFine : kCheckFailed;
}

/// The usual file of expectations is of one release's compilers.
void expect_file_of_its_own(const MaliRequest& request) {
  const bool is_usual = request.gate.expectations == GateRequest{}.expectations;
  throw_if(
      request.gate.accept && is_usual && mali::parse_mesa(request.mesa) != mali::Mesa::debian13,
      "{} is of Debian 13's compilers: give --expectations another file for those of "
      "--mesa {}",
      request.gate.expectations, request.mesa);
}

/// `others`: what beside a gate, GPUs and words may not stand there.
void refuse_more(const MaliRequest& request, const std::string& others, const char* sentence) {
  const bool more = request.judges() || request.gpus || !request.words.empty() || !others.empty();
  if (more) throw BadArgument(sentence);
}

/// The tables of a page, from the expectations alone: no compiler is asked.
int write_figures(Cli& cli, const MaliRequest& request) {
  refuse_more(request, request.workload + request.dtype + request.acc + request.asm_dir,
              "--figures takes --expectations and no other word");
  const std::string& file = request.gate.expectations;
  const mali::Expectations expectations = mali::parse_expectations(read_file(file), file);
  const std::string text = read_file(request.figures);
  const std::string anew = mali::with_figures(text, expectations);
  if (anew != text) write_file(request.figures, anew);
  cli.out.note(fmt::format("{} {} the figures of {}", request.figures,
                           anew == text ? "already has" : "now has", file));
  return kFine;
}

/// The rows of kernels/costs.json, as the compiler that is asked for has them.
int write_costs(Cli& cli, const MaliRequest& request) {
  refuse_more(request,
              request.workload + request.dtype + request.acc + request.asm_dir + request.figures,
              "--costs takes --mesa and no other word");
  const CleanEnd clean_end;
  const std::string text = read_file(request.costs);
  const KernelFiles files = KernelFiles::from_environment();
  Progress progress(cli.out);
  mali::CompilerOptions options = mali::default_compiler(mali::parse_mesa(request.mesa));
  options.progress = [&](int done, int total) { progress.report("g610", done, total); };
  mali::Compiler compiler(find_gpu("g610"), files, options);
  const std::vector<mali::CostRow> rows = mali::measure_costs(text, compiler, files);
  int code = kFine, measured = 0;
  for (const mali::CostRow& row : rows) {
    measured += !row.numbers.empty();
    if (!row.numbers.empty()) continue;
    if (!row.spills) code = kCheckFailed;
    cli.out.note(fmt::format(
        "{} {} acc={} {} {}", row.kernel, row.dtype, row.acc, row.tile,
        row.spills ? "spills: it has no numbers" : "keeps its numbers: " + row.not_measured));
  }
  const std::string release = compiler.version().substr(0, compiler.version().find('.'));
  write_file(request.costs, mali::with_costs(text, rows, release));
  cli.out.note(fmt::format("{} now has {} rows of {}", request.costs, measured, release));
  return code;
}

/// The table of a page that has a line for each embedded workload, or for --workload alone.
int write_models(Cli& cli, const MaliRequest& request) {
  refuse_more(request, request.asm_dir + request.figures + request.costs,
              "--models takes --measured, --workload, --dtype, --acc and --mesa only");
  const CleanEnd clean_end;
  const std::string text = read_file(request.models);
  const auto page = [&](const std::string& table) {
    return mali::with_sections(text, [&](const std::string& section) {
      if (section == "models") return table;
      refuse("{}: {} is no section of models", request.models, in_quotes(section));
    });
  };
  page("");  // so that a page that cannot be written is refused at once
  json measured = json::array();
  if (!request.measured.empty()) measured = read_boards({request.measured})[0]["rows"];
  std::vector<ModelLine> lines;
  const std::vector<std::string> names =
      request.workload.empty() ? workload_names() : std::vector{request.workload};
  for (const std::string& name : names) {
    Asked asked;
    asked.workload = read_workload(name);
    asked.problems = problems_of(*asked.workload, request);
    cli.out.notice(name);
    const std::vector<MaliReport> reports = compile_all(cli, request, asked);
    lines.push_back({asked.workload->name, ModelSums(reports[0].rows),
                     measured_us(asked.workload->name, asked.problems, measured)});
  }
  write_file(request.models, page(models_table(lines)));
  cli.out.note(fmt::format("{} now has {} lines of models", request.models, lines.size()));
  return kFine;
}

int run_mali(Cli& cli, const MaliRequest& request) {
  if (!request.models.empty()) return write_models(cli, request);
  if (!request.measured.empty()) throw BadArgument("--measured goes with --models");
  if (!request.costs.empty()) return write_costs(cli, request);
  if (!request.figures.empty()) return write_figures(cli, request);
  const Asked asked = read_words(request);
  expect_file_of_its_own(request);
  const CleanEnd clean_end;
  std::vector<MaliReport> reports = compile_all(cli, request, asked);
  const Workload* workload = asked.workload ? &*asked.workload : nullptr;
  const bool none = std::all_of(reports.begin(), reports.end(), [](const MaliReport& report) {
    return !report.failure && report.kernels.empty() && report.unchanged.empty();
  });
  throw_if(none && !asked.pattern.empty(),
           "no kernel of any plan matches '{}'; `clam manifest` names them", asked.pattern);
  int code = kFine;
  if (request.judges()) {
    code = judge(cli, request.gate, asked.pattern, asked.expectations, reports);
  } else {
    const bool lines = workload && reports.size() > 1;
    if (lines) print_gpus(cli.out, reports, *workload);
    for (const MaliReport& report : reports) {
      if (!lines) code = std::max(code, print_report(cli, report, workload));
      if (lines && !all_compiled(report)) code = kCheckFailed;
    }
    if (!asked.problems.empty()) cli.out.text(mali::leaves_out());
  }
  json gpus = json::array();
  for (const MaliReport& report : reports) {
    if (!request.asm_dir.empty()) write_listings(request.asm_dir, report);
    gpus.push_back(to_json(report, workload));
  }
  cli.out.report("clam_mali", {{"gpus", gpus}});
  return code;
}

}  // namespace

void add_mali(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<MaliRequest>(
      app, cli, "mali",
      "compile kernels with Mesa's Mali compilers: figures, listings, predicted times", run_mali);
  sub->add_option("what", request->words,
                  "a pattern of kernels such as 'dense*', or problem lines; without: every kernel");
  sub->add_option("--gpu", request->gpus, "GPUs, such as g610,g52, or all (default g610)");
  sub->add_option("--mesa", request->mesa,
                  "compilers of debian13 (default), or of testing: the newer ones of Debian "
                  "testing, which tools/setup mali-testing installs");
  sub->add_option("--workload", request->workload,
                  "the layers of a model: a name, a file or a folder; with several GPUs one line "
                  "each");
  sub->add_option("--dtype", request->dtype, "compile in this dtype, not that of the problems");
  sub->add_option("--acc", request->acc,
                  "accumulator of ops that sum products: f32, chunk or f16; chunk and f16 need "
                  "--dtype f16");
  sub->add_option("--asm", request->asm_dir, "write the listings into this folder");
  sub->add_flag("--gate", request->judges_all, "compare every kernel with the expectations");
  sub->add_flag("--once", request->gate.once,
                "for a gate: each kernel once in each dtype and with each accumulator");
  sub->add_flag("--changed", request->gate.changed,
                "for a gate: only kernels whose code, tags, options or compiler differ from their "
                "expectation, and one in forty of the others");
  sub->add_flag("--accept", request->gate.accept,
                "run the gate, and write the current figures as the expectations");
  sub->add_option("--figures", request->figures,
                  "write the tables of this file, kernels/FIGURES.md, from the expectations; "
                  "nothing is compiled");
  sub->add_option("--costs", request->costs,
                  "measure the rows of this file, kernels/costs.json, for a G610");
  sub->add_option("--models", request->models,
                  "write the table of models of this file, bench/README.md, for a G610");
  sub->add_option("--measured", request->measured,
                  "with --models: also write measured times, from this file of clam-bench --json");
  sub->add_option("--expectations", request->gate.expectations,
                  "file of the gate (default tests/mali/mali_expectations.txt)");
  sub->footer(
      "Columns:\n"
      "  inst      instructions of the kernel; then by unit: fma, cvt, sfu, ls\n"
      "  loop      instructions of one trip of its hot loop\n"
      "  MAC/i     multiply-adds per instruction in that loop\n"
      "  MAC/16B   multiply-adds per 16 bytes loaded in that loop\n"
      "  warps     full: a core holds as many warps as it has room for; half: half as many\n"
      "  spills    SPILLS:FILLS+BYTES of scratch memory\n\n"
      "A predicted time is for Mesa's compiler, not Arm's, and was never run.\n"
      "Environment: CLAM_MALI_COMPILER runs the compilers, in place of tools/mali/compile.");
}

}  // namespace clam::cli
