// SPDX-License-Identifier: MIT
#include "window.hpp"

#include <algorithm>

#include "op.hpp"

namespace clam {

void append(std::vector<Field>& fields, const std::vector<Field>& more) {
  fields.insert(fields.end(), more.begin(), more.end());
}

Field step_field(const char* name, const char* about, const char* fallback) {
  return integer(name, about, fallback, std::min(1, std::stoi(fallback)), kLargestStep);
}

int Sides::or_else(const char* field, int absent, const char* other) const {
  const int value = problem.integer(field);
  return value == absent ? problem.integer(other) : value;
}

void unite(Schema::Values& values, const std::string& whole,
           const std::vector<std::pair<std::string, int>>& parts, const std::string& absent,
           int fallback) {
  const int first = parts.front().second;
  const bool alike =
      std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p.second == first; });
  values[whole] = std::to_string(alike ? first : fallback);
  for (const auto& [part, value] : parts) {
    values[part] = alike || value == fallback ? absent : std::to_string(value);
  }
}

void Sides::unite(Schema::Values& values) const {
  clam::unite(values, "stride", {{"stride_h", stride_h}, {"stride_w", stride_w}}, "0", 1);
  clam::unite(values, "pad",
              {{"pad_t", pad_t}, {"pad_l", pad_l}, {"pad_b", pad_b}, {"pad_r", pad_r}}, "-1", 0);
}

std::vector<Field> stride_fields(const char* stride) {
  return {step_field("stride", stride, "1"),
          step_field("stride_h", "rows alone; 0: as stride", "0"),
          step_field("stride_w", "columns alone; 0: as stride", "0")};
}

std::vector<Field> pad_fields(const char* pad, const char* map) {
  const auto side = [&](const char* name, const char* about) {
    return step_field(name, fmt::format("{} {}; -1: as pad", about, map).c_str(), "-1");
  };
  return {step_field("pad", pad, "0"), side("pad_t", "rows above"),
          side("pad_l", "columns left of"), side("pad_b", "rows below"),
          side("pad_r", "columns right of")};
}

std::vector<Field> convolution_extents() {
  return {extent("n", "images", "1"),
          extent("c", "input channels"),
          extent("h", "rows of x"),
          extent("w", "columns of x"),
          extent("k", "output channels"),
          extent("r", "rows of the filter"),
          integer("s", "columns of the filter; 0: as many as rows", "0", 0)};
}

std::vector<Field> dilation_fields(const char* dilation) {
  return {step_field("dilation", dilation, "1"),
          step_field("dilation_h", "rows alone; 0: as dilation", "0"),
          step_field("dilation_w", "columns alone; 0: as dilation", "0")};
}

void check_convolution(const Problem& problem, Schema::Values& values) {
  const Convolution conv(problem);
  for (const auto& [name, channels] : {std::pair{"c", conv.c}, std::pair{"k", conv.k}}) {
    bad_field_if(channels % conv.groups != 0, problem, "groups", "does not divide {}={}", name,
                 channels);
  }
  conv.unite(values);
  unite(values, "dilation", {{"dilation_h", conv.dilation_h}, {"dilation_w", conv.dilation_w}}, "0",
        1);
  if (conv.s == conv.r) values["s"] = "0";
}

/// Calls `visit` with each place that a tap meets, inside of x or not.
template <typename Visit>
void WindowAxis::each_tap(const Visit& visit) const {
  const int reach = (taps - 1) * dilation + 1;
  for (int at = -before; at + reach <= extent + after; at += stride) {
    for (int tap = 0; tap < taps; ++tap) visit(at + tap * dilation);
  }
}

double WindowAxis::share_of_taps() const {
  std::int64_t met = 0, all = 0;
  each_tap([&](int place) { met += inside(place), ++all; });
  return all > 0 ? double(met) / double(all) : 1;
}

double WindowAxis::share_of_x() const {
  std::vector<char> met(static_cast<std::size_t>(extent), false);
  each_tap([&](int place) {
    if (inside(place)) met[static_cast<std::size_t>(place)] = true;
  });
  return double(std::count(met.begin(), met.end(), true)) / double(extent);
}

double bytes_that_windows_meet(const Problem& problem, const WindowAxis& rows,
                               const WindowAxis& columns) {
  double of_x = 0;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.name == "x") of_x = double(count(spec.shape)) * double(size_of(spec.dtype));
  }
  return tensor_bytes(problem) - (1 - rows.share_of_x() * columns.share_of_x()) * of_x;
}

}  // namespace clam
