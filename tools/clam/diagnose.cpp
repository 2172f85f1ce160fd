// SPDX-License-Identifier: MIT
// diagnose.cpp - `clam diagnose`: wrong boxes in a .npy file, and which known fault they show.
#include "check/diagnose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "check/box_picture.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "cli.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {
namespace {

constexpr std::size_t kRowsInText = 5, kRowsInJson = 100;

struct DiagnoseRequest {
  std::string boxes, good, svg, origin = "rows";
  BoxFormat format;
};

/// "row 7", or "batch item 2 row 7"
std::string row_name(const BoxRows& boxes, std::int64_t row) {
  const std::string name = fmt::format("row {}", row % boxes.n());
  return boxes.batch() == 1 ? name : fmt::format("batch item {} {}", row / boxes.n(), name);
}

/// "  row 7: 3 0.91 20 30 80 95"
std::string row_line(const BoxRows& boxes, std::int64_t row) {
  std::string line = "  " + row_name(boxes, row) + ":";
  for (std::int64_t i = 0; i < boxes.e(); ++i)
    line += fmt::format(" {:.6g}", boxes.element(row, i));
  return line + "\n";
}

void print(Output& out, const DiagnoseRequest& request, const BoxRows& boxes,
           const Diagnosis& diagnosis) {
  out.line(fmt::format("{}: {} rows of {}, {} valid, {} of -1", request.boxes, boxes.rows(),
                       name(boxes.dtype()), diagnosis.valid, diagnosis.filled));
  for (const Finding& finding : diagnosis.findings) {
    out.line(
        fmt::format("\n{} ({}): {}", out.red(finding.signature), name(finding.sure), finding.what));
    const std::size_t shown = std::min(finding.rows.size(), kRowsInText);
    for (std::size_t i = 0; i < shown; ++i) out.text(row_line(boxes, finding.rows[i]));
    if (shown < finding.rows.size()) {
      out.line(fmt::format("  and {} more", finding.rows.size() - shown));
    }
    out.line("  next: " + finding.next);
  }
  if (diagnosis.findings.empty()) {
    out.line(out.green("no known fault shows") +
             (request.good.empty() ? "; with good rows beside it (a second file) more would" : ""));
  }
}

json report(const DiagnoseRequest& request, const BoxRows& boxes, const Diagnosis& diagnosis) {
  json report{
      {"clam_diagnose", 1},           {"file", request.boxes},    {"good", request.good},
      {"batch", boxes.batch()},       {"n", boxes.n()},           {"e", boxes.e()},
      {"dtype", name(boxes.dtype())}, {"valid", diagnosis.valid}, {"filled", diagnosis.filled},
      {"findings", json::array()}};
  for (const Finding& finding : diagnosis.findings) {
    json rows = json::array();
    for (const std::int64_t row : finding.rows) {
      if (rows.size() == kRowsInJson) break;
      rows.push_back({{"item", row / boxes.n()}, {"row", row % boxes.n()}});
    }
    report["findings"].push_back({{"signature", finding.signature},
                                  {"sure", name(finding.sure)},
                                  {"what", finding.what},
                                  {"count", finding.rows.size()},
                                  {"rows", rows},
                                  {"next", finding.next}});
  }
  return report;
}

/// The batch item that shows the first fault, with the rows of all findings as suspects.
BoxPicture picture(const DiagnoseRequest& request, const BoxRows& boxes,
                   const Diagnosis& diagnosis) {
  std::vector<char> suspect(static_cast<std::size_t>(boxes.rows()));
  std::int64_t item = -1;
  for (const Finding& finding : diagnosis.findings) {
    for (const std::int64_t row : finding.rows) {
      suspect[static_cast<std::size_t>(row)] = 1;
      if (item < 0) item = row / boxes.n();
    }
  }
  item = std::max<std::int64_t>(item, 0);
  BoxPicture picture;
  picture.title = request.boxes;
  if (boxes.batch() > 1) picture.title += fmt::format(", batch item {} of {}", item, boxes.batch());
  picture.kept = "valid";
  picture.has_classes = boxes.format().id_index >= 0;
  for (std::int64_t row = item * boxes.n(); row < (item + 1) * boxes.n(); ++row) {
    const bool bad = suspect[static_cast<std::size_t>(row)];
    if (!bad && !boxes.is_valid(row)) continue;
    picture.boxes.push_back({boxes.box(row),
                             bad ? PictureBox::Mark::suspect : PictureBox::Mark::kept,
                             row % boxes.n()});
  }
  for (const Finding& finding : diagnosis.findings) {
    std::string note = fmt::format("{} ({})", finding.signature, name(finding.sure));
    if (!finding.rows.empty()) note += ": " + counted(finding.rows.size(), "row");
    picture.notes.push_back(note);
  }
  return picture;
}

int diagnose_file(Cli& cli, const DiagnoseRequest& request) {
  if (request.boxes.empty()) throw BadArgument("diagnose what? Give a .npy file of box rows");
  const BoxOrigin origin = parse_box_origin(request.origin);
  if (!request.svg.empty()) require_writable(request.svg);
  const HostTensor tensor = read_npy(request.boxes);
  const BoxRows boxes(request.boxes, tensor, request.format);
  std::optional<HostTensor> good_tensor;
  std::optional<BoxRows> good;
  if (!request.good.empty()) {
    good_tensor = read_npy(request.good);
    good.emplace(request.good, *good_tensor, request.format);
  }
  const Diagnosis diagnosis = diagnose(boxes, good ? &*good : nullptr, origin);
  if (!request.svg.empty()) write_file(request.svg, to_svg(picture(request, boxes, diagnosis)));
  print(cli.out, request, boxes, diagnosis);
  cli.out.json(report(request, boxes, diagnosis));
  return diagnosis.findings.empty() ? kFine : kCheckFailed;
}

}  // namespace

void add_diagnose(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<DiagnoseRequest>(
      app, cli, "diagnose", "name the known fault that wrong boxes show", diagnose_file);
  sub->add_option("boxes", request->boxes,
                  "BOXES.npy, f32 or f16 of shape [n, e] or [batch, n, e]");
  sub->add_option("good", request->good, "GOOD.npy, the rows as they should be");
  sub->add_option("--id-index", request->format.id_index,
                  "element that holds the class (default 0); -1: there is none");
  sub->add_option("--score-index", request->format.score_index,
                  "element that holds the score (default 1)");
  sub->add_option("--coord-start", request->format.coord_start,
                  "element of the first of x0, y0, x1, y1 (default 2)");
  sub->add_option("--format", request->origin,
                  "what wrote the rows: get_valid_counts, nms, or rows (default: inferred from "
                  "their order)");
  sub->add_option("--svg", request->svg, "draw the boxes to this file, suspect ones in red");
}

}  // namespace clam::cli
