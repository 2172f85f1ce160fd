// SPDX-License-Identifier: MIT
// report.cpp - `clam report`: results files of clam-bench as a page, or as a table for an issue.
#include "report/report.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "bench/results_file.hpp"
#include "clam/error.hpp"
#include "cli.hpp"
#include "report/submit.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam::cli {
namespace {

struct ReportRequest {
  std::vector<std::string> files, predicted;
  std::string page, submit;
  bool markdown = false;
};

json summary(const std::vector<ReportBoard>& boards) {
  json report = {{"clam_report", 1}, {"boards", json::array()}};
  for (const ReportBoard& board : boards) {
    report["boards"].push_back({{"file", board["path"]},
                                {"device", board["name"]},
                                {"rows", board["rows"].size()},
                                {"ok", count_rows(board, "OK")},
                                {"invalid", count_rows(board, "INVALID")},
                                {"skipped", count_rows(board, "skipped")}});
  }
  return report;
}

void refuse_to_overwrite(const std::string& file, const std::string& page) {
  std::error_code none;
  if (!fs::equivalent(file, page, none)) return;
  throw BadArgument(fmt::format("{} is one of the files to report: let -o name another", page));
}

/// "results.json" to "results-shared.json".
std::string shared_name(const std::string& file) {
  const fs::path path(file);
  return (path.parent_path() / (path.stem().string() + "-shared.json")).string();
}

int submit_file(Cli& cli, const ReportRequest& request) {
  throw_if(!request.files.empty() || request.markdown,
           "--submit takes one results file, and nothing else but -o");
  const std::string target = request.page.empty() ? shared_name(request.submit) : request.page;
  refuse_to_overwrite(request.submit, target);
  const Submission submission =
      without_identity(parse_json_file(request.submit, "clam-bench --json"));
  write_file(target, submission.document.dump(1) + "\n");
  for (const std::string& place : submission.left_out) cli.out.line("left out: " + place);
  cli.out.line(fmt::format("{} may be given to others; look through it first", target));
  cli.out.json({{"clam_submit", 1}, {"file", target}, {"left_out", submission.left_out}});
  return kFine;
}

int report_files(Cli& cli, const ReportRequest& request) {
  if (!request.submit.empty()) return submit_file(cli, request);
  if (request.files.empty()) throw BadArgument("report what? Give files of clam-bench --json");
  throw_if(request.page.empty() && !request.markdown,
           "report where? Give -o report.html, or --markdown for a table");
  // "report -o a.json b.json" asks for a page in the place of results.
  throw_if(fs::path(request.page).extension() == ".json",
           "{} is the name of a results file: let -o name an .html or .md file", request.page);
  for (const auto* files : {&request.files, &request.predicted}) {
    for (const std::string& file : *files) refuse_to_overwrite(file, request.page);
  }
  if (!request.page.empty()) require_writable(request.page);
  std::vector<ReportBoard> boards = read_boards(request.files);
  for (const std::string& path : request.predicted) add_predictions(path, boards);
  const std::string text = request.markdown ? to_markdown(boards) : to_html(boards);
  if (request.page.empty()) {
    cli.out.text(text);
  } else {
    write_file(request.page, text);
    cli.out.note(fmt::format("{}: {}", request.page, counts_text(boards)));
  }
  cli.out.json(summary(boards));
  return kFine;
}

}  // namespace

void add_report(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<ReportRequest>(
      app, cli, "report", "a page, or a table, of what clam-bench measured", report_files);
  sub->add_option("files", request->files, "files of clam-bench --json, one for each board");
  sub->add_option("-o,--output", request->page,
                  "write a page to this file; it needs no other file");
  add_repeatable(
      sub, "--predicted", request->predicted,
      "a file of clam mali --json, with predictions for rows of its GPU; may be given many "
      "times");
  sub->add_option(
         "--submit", request->submit,
         "write a copy of this results file without names of persons, machines or places (-o: its "
         "name), and say what is left out")
      ->type_name("FILE");
  sub->add_flag("--markdown", request->markdown,
                "write a table for an issue instead; without -o to standard output");
}

}  // namespace clam::cli
