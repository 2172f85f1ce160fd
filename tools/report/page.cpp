// SPDX-License-Identifier: MIT
// page.cpp - the page of `clam report`: one file that holds its data, style and scripts.
#include <fmt/core.h>

#include "mali/predicted_for.hpp"
#include "part.hpp"
#include "report.hpp"
#include "runtime/embedded.hpp"
#include "runtime/words.hpp"

namespace clam {
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

std::string title_of(const std::vector<ReportBoard>& boards) {
  std::string title = "clam";
  const char* between = ": ";
  for (const ReportBoard& board : boards) {
    title += between + board["label"].get<std::string>();
    between = ", ";
  }
  return title;
}

}  // namespace

std::string to_html(const std::vector<ReportBoard>& boards) {
  const json data = {{"clam_report", 1},
                     {"version", CLAM_VERSION},
                     {"counts", counts_text(boards)},
                     {"predicted_for", mali::kPredictedFor},
                     {"boards", boards}};
  return fmt::format(
      fmt::runtime(file_of_page("page.html")), fmt::arg("title", escaped(title_of(boards))),
      fmt::arg("style", file_of_page("page.css")), fmt::arg("data", for_script(data)),
      fmt::arg("chart", file_of_page("chart.js")), fmt::arg("script", file_of_page("page.js")));
}

}  // namespace clam
