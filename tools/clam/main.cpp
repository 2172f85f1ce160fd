// SPDX-License-Identifier: MIT
// main.cpp - the command line `clam`: one file a subcommand, and every exit code in one place.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "clam/error.hpp"
#include "clam/op.hpp"
#include "cli.hpp"
#include "process/clean_end.hpp"

namespace clam::cli {
namespace {

constexpr const char* kFooter =
    "A problem is one line of text, such as 'dense m=192 n=512 k=512 dtype=f32 bias act=relu';\n"
    "`clam list` shows the ops and `clam list OP` their fields.\n\n"
    "Exit codes: 0 fine, 1 a check failed, 2 bad usage or input, 3 device or driver error,\n"
    "77 nothing could run here.\n"
    "Environment: CLAM_DEVICE; folders CLAM_KERNEL_DIR (.cl files that replace the built-in\n"
    "ones), CLAM_TUNED_DIR (measured choices), CLAM_CACHE_DIR (built programs, or off);\n"
    "CLAM_CACHE_MB (most megabytes there), NO_COLOR.\n";

/// The options that every subcommand takes, before or after its name.
void add_global_options(CLI::App& app, Cli& cli) {
  app.add_option("--device", cli.device,
                 "device to use: P:D as `clam info -l` shows, or part of a name");
  app.add_option_function<std::string>(
      "--json", [&cli](const std::string& path) { cli.out.set_json(path); },
      "write the result as JSON to this file (- for standard output)");
  app.add_flag_callback(
      "--quiet", [&cli] { cli.out.set_quiet(true); }, "errors and results only");
  app.set_version_flag("--version", "clam " CLAM_VERSION);
  app.fallthrough();
  app.footer(kFooter);
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands()) {
    for (const std::string& name : option_names(*sub)) names.push_back(name);
  }
  return names;
}

/// One sentence for what CLI11 has to say about a bad command line.
std::string sentence(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining(true);
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) && !rest.empty();
  if (extra && rest[0][0] == '-') {
    return fmt::format("unknown option '{}'{}", rest[0], did_you_mean(rest[0], option_names(app)));
  }
  if (extra && app.get_subcommands().empty()) {
    const std::string near = did_you_mean(rest[0], subcommand_names(app));
    return fmt::format("unknown command '{}'{}", rest[0],
                       near.empty() ? "; see `clam --help`" : near);
  }
  if (extra) return fmt::format("'{}' is one argument too many", rest[0]);
  const std::string what = error.what();
  return what.substr(0, what.find('\n'));
}

int parse_and_run(CLI::App& app, Cli& cli, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    std::ostringstream text;
    app.exit(success, text, text);
    cli.out.raw(text.str());
    return kFine;
  } catch (const CLI::ParseError& error) {
    cli.out.error(sentence(app, error));
    return kBadUsage;
  }
  if (cli.command) return cli.command();
  cli.out.error("which command?\n\n" + app.help());
  return kBadUsage;
}

bool is_op(const std::string& word) {
  const auto& ops = all_ops();
  return std::any_of(ops.begin(), ops.end(), [&](const Op* op) { return op->name == word; });
}

}  // namespace

std::vector<std::string> problem_lines(const std::vector<std::string>& words) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    const bool whole_line = word.find_first_of(" \t") != word.npos;
    if (lines.empty() || whole_line || is_op(word)) {
      lines.push_back(word);
    } else {
      lines.back() += " " + word;
    }
  }
  return lines;
}

std::string one_problem_line(const std::vector<std::string>& words) {
  const std::vector<std::string> lines = problem_lines(words);
  if (lines.empty()) throw BadArgument("which problem? Write one in quotes, see `clam list`");
  if (lines.size() > 1) {
    throw BadArgument(fmt::format("one problem at a time: '{}' is a second one", lines[1]));
  }
  return lines[0];
}

bool names_dtype(const std::string& line) {
  std::istringstream words(line);
  return std::any_of(std::istream_iterator<std::string>(words), {},
                     [](const std::string& word) { return word.rfind("dtype=", 0) == 0; });
}

Problem parse_as(const std::string& line, const std::string& dtype) {
  if (dtype.empty()) return Problem::parse(line);
  if (!names_dtype(line)) return Problem::parse(line + " dtype=" + dtype);
  return Problem::parse(line).with("dtype", dtype);
}

const Gpu& gpu_named(const std::string& key) {
  try {
    return find_gpu(key);
  } catch (const BadArgument& error) {
    std::vector<std::string> keys;
    for (const Gpu& gpu : all_gpus()) keys.push_back(gpu.key);
    throw BadArgument(error.what() + did_you_mean(key, keys));
  }
}

}  // namespace clam::cli

int main(int argc, char** argv) {
  using namespace clam::cli;
  Cli cli;
  CLI::App app("OpenCL kernels for Arm Mali GPUs: plan, run, verify, report.", "clam");
  add_global_options(app, cli);
  for (const auto add :
       {add_info,   add_doctor, add_list,     add_plan,   add_lift,   add_manifest, add_verify,
        add_bisect, add_run,    add_diagnose, add_record, add_replay, add_shrink,   add_watch,
        add_judge,  add_tune,   add_probe,    add_mali,   add_report, add_cache}) {
    add(app, cli);
  }
  try {
    return parse_and_run(app, cli, argc, argv);
  } catch (...) {
    return clam::exit_code_of_exception([&](const std::string& what) { cli.out.error(what); });
  }
}
