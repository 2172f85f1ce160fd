// SPDX-License-Identifier: MIT
#include "run_picture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "clam/error.hpp"

namespace clam::cli {
namespace {

using Mark = PictureBox::Mark;

/// get_valid_counts does not look at coordinates: they are the first four elements in a row that
/// are neither class nor score.
int coord_start_beside(const Problem& p) {
  const int e = p.integer("e");
  for (int start = 0; start + 4 <= e; ++start) {
    const auto outside = [&](const char* field) {
      const int index = p.integer(field);
      return index < start || index >= start + 4;
    };
    if (outside("id_index") && outside("score_index")) return start;
  }
  throw BadArgument(
      fmt::format("--svg: rows of {} elements have no four coordinates beside class "
                  "and score",
                  e));
}

BoxFormat box_format(const Problem& p) {
  const bool is_nms = p.schema().name == "nms";
  return {p.integer("id_index"), p.integer("score_index"),
          is_nms ? p.integer("coord_start") : coord_start_beside(p)};
}

/// The count of the first batch item, within the rows that there are.
std::int64_t first_count(const HostTensor& counts, std::int64_t rows) {
  return std::clamp(static_cast<std::int64_t>(counts.get(0)), std::int64_t{0}, rows);
}

void add_rows(const BoxRows& rows, std::int64_t count, BoxPicture& picture) {
  for (std::int64_t row = 0; row < count; ++row) {
    if (rows.is_valid(row)) picture.boxes.push_back({rows.box(row), Mark::kept, row});
  }
}

std::string_view bits(const HostTensor& tensor, std::int64_t row) {
  const std::int64_t bytes = tensor.shape().back() * size_of(tensor.dtype());
  return {reinterpret_cast<const char*>(tensor.data() + row * bytes),
          static_cast<std::size_t>(bytes)};
}

/// Which rows of nms' data the device kept: by the rows of its output, which are copies, or by the
/// indices there.
std::vector<char> kept_rows(const RunJob& job, const Tensors& outputs, std::int64_t n) {
  std::vector<char> kept(static_cast<std::size_t>(n));
  if (job.problem->flag("return_indices")) {
    std::set<double> indices;
    for (std::int64_t i = 0; i < first_count(outputs.at("box_count"), n); ++i) {
      indices.insert(outputs.at("box_indices").get(i));
    }
    for (std::int64_t row = 0; row < n; ++row) {
      kept[static_cast<std::size_t>(row)] = indices.count(job.inputs.at("indices").get(row)) > 0;
    }
    return kept;
  }
  std::unordered_map<std::string_view, int> copies;
  for (std::int64_t row = 0; row < n; ++row) ++copies[bits(outputs.at("out"), row)];
  for (std::int64_t row = 0; row < n; ++row) {
    kept[static_cast<std::size_t>(row)] = copies[bits(job.inputs.at("data"), row)]-- > 0;
  }
  return kept;
}

void add_nms(const RunJob& job, const Tensors& outputs, const BoxRows& data, BoxPicture& picture) {
  const Problem& p = *job.problem;
  const std::int64_t n = data.n();
  const std::vector<char> kept = kept_rows(job, outputs, n);
  const bool indices = p.flag("return_indices");
  const double least = static_cast<double>(p.number("score_min"));
  for (std::int64_t row = 0; row < first_count(job.inputs.at("count"), n); ++row) {
    const Box box = data.box(row);
    const bool is_kept = kept[static_cast<std::size_t>(row)];
    if (is_kept && indices) picture.boxes.push_back({box, Mark::kept, row});
    if (!is_kept && box.score > least) picture.boxes.push_back({box, Mark::suppressed, row});
  }
  if (!indices) add_rows(BoxRows("out", outputs.at("out"), data.format()), n, picture);
  if (p.integer("top_k") > 0 || p.integer("max_output_size") > 0) {
    picture.suppressed = "suppressed or past a limit";
  }
}

}  // namespace

void require_boxes(const RunJob& job) {
  const std::string op = job.problem ? job.problem->schema().name : "a foreign plan";
  if (op != "get_valid_counts" && op != "nms") {
    throw BadArgument(
        fmt::format("--svg draws boxes, of get_valid_counts and nms; {} has none", op));
  }
  box_format(*job.problem);
}

BoxPicture run_picture(const RunJob& job, const Tensors& outputs) {
  const Problem& p = *job.problem;
  const BoxRows data("data", job.inputs.at("data"), box_format(p));
  BoxPicture picture;
  picture.title = p.text();
  picture.has_classes = data.format().id_index >= 0;
  if (data.batch() > 1) picture.notes.push_back(fmt::format("batch item 0 of {}", data.batch()));
  if (p.schema().name == "nms") {
    add_nms(job, outputs, data, picture);
  } else {
    picture.kept = "valid";
    const BoxRows out("out", outputs.at("out"), data.format());
    add_rows(out, first_count(outputs.at("count"), out.n()), picture);
  }
  return picture;
}

}  // namespace clam::cli
