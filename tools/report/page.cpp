// SPDX-License-Identifier: MIT
// page.cpp - the page of `clam report`: one file that holds its data, style and scripts.
#include "mali/predicted_for.hpp"
#include "part.hpp"
#include "report.hpp"
#include "runtime/embedded.hpp"
#include "runtime/words.hpp"

namespace clam {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReportBoard::Facts, title, lines, instead)

namespace {

using nlohmann::json;

/// A file of tools/report, or Chart.js; empty where the build had none.
std::string file_of_page(std::string_view name) {
  const EmbeddedFile* file = find_by_name(embedded_report(), name);
  return file ? std::string(file->text) : "";
}

std::string escaped(const std::string& text) {
  return respelled(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

/// JSON that cannot end the script element it stands in: no '<', and ASCII alone.
std::string for_script(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return respelled(text, {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

/// Figures that are there; the page tells the absent from zero.
json to_json(const ReportRow& row) {
  json value = {{"name", row.name},
                {"op", row.op},
                {"dtype", row.dtype},
                {"status", name(row.status)},
                {"command", row.command}};
  const auto add_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) value[key] = text;
  };
  add_text("variant", row.variant);
  add_text("reason", row.reason);
  if (!row.marks.empty()) value["marks"] = row.marks;
  if (!row.nodes.empty()) value["nodes"] = row.nodes;
  const std::pair<const char*, ReportRow::Figure> figures[] = {
      {"us", row.us},
      {"low", row.low},
      {"high", row.high},
      {"cv", row.cv},
      {"gflop_per_s", row.gflop_per_s},
      {"gb_per_s", row.gb_per_s},
      {"flop_per_byte", row.flop_per_byte},
      {"of_peak", row.of_peak},
      {"predicted_low", row.predicted_low},
      {"predicted_high", row.predicted_high},
      {"launches", row.launches}};
  for (const auto& [key, figure] : figures) {
    if (figure) value[key] = *figure;
  }
  return value;
}

json to_json(const ReportBoard::Model& model) {
  json value = {{"name", model.name},
                {"left_out", model.left_out},
                {"us", model.time.us},
                {"ops", json::array()},
                {"farthest", json::array()}};
  if (model.time.floor_us) value["floor_us"] = *model.time.floor_us;
  for (const ModelTime::Op& op : model.time.ops) {
    value["ops"].push_back({{"name", op.name}, {"us", op.us}, {"nodes", op.nodes}});
    if (model.time.floor_us) value["ops"].back()["floor_us"] = op.floor_us;
  }
  for (const NodeTime& node : model.time.farthest) {
    value["farthest"].push_back({{"name", node.node},
                                 {"op", node.op},
                                 {"calls", node.calls},
                                 {"us", node.calls * node.us}});
    if (node.floor_us) value["farthest"].back()["floor_us"] = node.calls * *node.floor_us;
  }
  return value;
}

json to_json(const ReportBoard& board) {
  json value = {
      {"label", board.label},         {"name", board.name},         {"path", board.path},
      {"date", board.date},           {"warnings", board.warnings}, {"peaks", board.peaks},
      {"peak_rows", board.peak_rows}, {"refused", board.refused},   {"facts", board.facts},
      {"rows", json::array()},        {"models", json::array()}};
  for (const ReportRow& row : board.rows) value["rows"].push_back(to_json(row));
  for (const ReportBoard::Model& model : board.models) value["models"].push_back(to_json(model));
  return value;
}

std::string title_of(const std::vector<ReportBoard>& boards) {
  std::string title = "clam";
  const char* between = ": ";
  for (const ReportBoard& board : boards) {
    title += between + board.label;
    between = ", ";
  }
  return title;
}

/// The template with every @NAME@ of `parts` filled in, once: what goes in is not looked at again.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string page;
  while (!text.empty()) {
    const std::size_t at = text.find('@');
    page += text.substr(0, at);
    if (at == text.npos) break;
    text.remove_prefix(at);
    const std::pair<std::string_view, std::string>* found = nullptr;
    for (const auto& part : parts) {
      if (text.substr(0, part.first.size()) == part.first) found = &part;
    }
    page += found ? found->second : "@";
    text.remove_prefix(found ? found->first.size() : 1);
  }
  return page;
}

}  // namespace

std::string to_html(const std::vector<ReportBoard>& boards) {
  json data = {{"clam_report", 1},
               {"version", CLAM_VERSION},
               {"counts", counts_text(boards)},
               {"predicted_for", mali::kPredictedFor},
               {"boards", json::array()}};
  for (const ReportBoard& board : boards) data["boards"].push_back(to_json(board));
  return filled(file_of_page("page.html"), {{"@TITLE@", escaped(title_of(boards))},
                                            {"@STYLE@", file_of_page("page.css")},
                                            {"@DATA@", for_script(data)},
                                            {"@CHART@", file_of_page("chart.js")},
                                            {"@SCRIPT@", file_of_page("page.js")}});
}

}  // namespace clam
