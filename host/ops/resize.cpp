// SPDX-License-Identifier: MIT
// resize.cpp - the fields of resize, and how it is computed.
#include "resize.hpp"

#include <numeric>

#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kLargest = 1 << 20;     ///< extent whose places kernels find by floats
constexpr std::int64_t kBusy = 8192;  ///< items that keep a device busy

// ---- the problem ----

/// ONNX rounds the scaled extent down, or to the nearest number where an aspect ratio is kept.
void check_scale(const Problem& problem, const char* field, const ResizeAxis& axis,
                 Schema::Values& values) {
  if (axis.scale == 0) return;
  const double length = static_cast<double>(axis.scale) * axis.extent;
  const bool fits = length >= axis.outputs - 0.5 && length < axis.outputs + 1.0;
  bad_field_if(!fits, problem, field, "but {} times that is not {} rounded down or to the nearest",
               axis.extent, axis.outputs);
  if (length == axis.outputs) values[field] = "0";
}

void check(const Problem& problem, Schema::Values& values) {
  for (const char* field : {"h", "w", "oh", "ow"}) {
    bad_field_if(problem.integer(field) > kLargest, problem, field, "needs up to {}", kLargest);
  }
  const Resize resize(problem);
  check_scale(problem, "scale_h", resize.rows, values);
  check_scale(problem, "scale_w", resize.columns, values);
  if (resize.linear) values["nearest"] = "round_prefer_floor";  // it has no meaning
}

std::vector<Field> fields() {
  return {
      extent("n", "images", "1"),
      extent("c", "channels"),
      extent("h", "rows of x"),
      extent("w", "columns of x"),
      extent("oh", "rows of y"),
      extent("ow", "columns of y"),
      dtype_field(),
      choice("mode", "one element of x, or a mean of four", {"nearest", "linear"}, "nearest"),
      choice("coord", "where an output lies on x, in ONNX's words",
             {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
              "half_pixel_symmetric"},
             "half_pixel"),
      choice("nearest", "how nearest rounds that",
             {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "round_prefer_floor"),
      number("scale_h", "factor of rows that places are reckoned by; 0: oh/h", "0"),
      number("scale_w", "factor of columns; 0: ow/w", "0"),
      flag("residual", "r, of y's shape, is added")};
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Resize resize(problem);
  const Shape x{resize.n, resize.c, resize.rows.extent, resize.columns.extent};
  const Shape y{resize.n, resize.c, resize.rows.outputs, resize.columns.outputs};
  std::vector<TensorSpec> specs{input("x", resize.dtype, x)};
  if (resize.residual) specs.push_back(input("r", resize.dtype, y));
  specs.push_back(output("y", resize.dtype, y, resize.residual ? "r" : ""));
  return specs;
}

// ---- places ----

struct Ratio {
  std::int64_t over, under;
};

/// A float, exactly.
Ratio ratio_of(double number) {
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(number, &exponent), 24));
  const int under = 24 - exponent;
  const Ratio ratio =
      under > 0 ? Ratio{digits, std::int64_t{1} << under} : Ratio{digits << -under, 1};
  const std::int64_t common = std::gcd(ratio.over, ratio.under);
  return {ratio.over / common, ratio.under / common};
}

/// As ONNX's reference has it, in integers.
ResizePlaces exact_places(const Resize& resize, const ResizeAxis& axis) {
  const std::int64_t extent = axis.extent, outputs = axis.outputs;
  const Ratio length = ratio_of(axis.length());
  const auto [over, under] =
      axis.scale == 0 ? Ratio{outputs, extent} : ratio_of(static_cast<double>(axis.scale));
  if (resize.coord == "asymmetric") return {under, 0, over};
  if (resize.coord == "align_corners") {
    if (outputs == 1) return {0, 0, 1};
    return {(extent - 1) * length.under, 0, length.over - length.under};
  }
  if (resize.coord == "pytorch_half_pixel" && axis.length() == 1) return {0, -1, 2};
  const bool symmetric = resize.coord == "half_pixel_symmetric";
  return {2 * under, symmetric ? (extent - 1) * over + (1 - outputs) * under : under - over,
          2 * over};
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

bool is(const ResizePlaces& places, std::int64_t mul, std::int64_t add, std::int64_t den) {
  return places.mul == mul && places.add == add && places.den == den;
}

/// The outputs that each element is repeated for, 1, 2, 4 or 8 in a row; else 0.
int repeats(const Resize& resize, const ResizeAxis& axis) {
  const ResizePlaces places = resize_places(resize, axis);
  for (const int times : {1, 2, 4, 8}) {
    if (axis.outputs == std::int64_t{times} * axis.extent && is(places, 1, 0, times)) return times;
  }
  return 0;
}

bool is_double(const Resize& resize, const ResizeAxis& axis) {
  return axis.outputs == 2 * axis.extent && is(resize_places(resize, axis), 2, -1, 4);
}

// ---- launches ----

/// Outputs of an item: a vector where rows of y are whole vectors.
int unit_of(const Resize& resize) {
  const int ow = resize.columns.outputs;
  return ow % 4 == 0 ? 4 : ow % 2 == 0 ? 2 : 1;
}

Launch launch(const Request& request, const Resize& resize, int rows, std::int64_t maps,
              const std::string& options, std::vector<Arg> args) {
  const int unit = unit_of(resize);
  args.insert(args.begin(), {BufferArg{"x"}, buffer_if(resize.residual, "r"), BufferArg{"y"}});
  return row_launch(request,
                    fmt::format("{}-DRESIZE_UNIT={}{} ",
                                resize.residual ? "-DRESIZE_RESIDUAL=1 " : "", unit, options),
                    kAcross, {resize.columns.outputs / unit, rows, maps}, std::move(args));
}

Launch repeat(const Request& request) {
  const Resize resize(request.problem);
  return launch(request, resize, resize.rows.extent, resize.maps(),
                fmt::format(" -DRESIZE_H={} -DRESIZE_W={}", repeats(resize, resize.rows),
                            repeats(resize, resize.columns)),
                {resize.rows.extent, resize.columns.extent});
}

Launch twice(const Request& request) {
  const Resize resize(request.problem);
  return launch(request, resize, resize.rows.extent + 1, resize.maps(), "",
                {resize.rows.extent, resize.columns.extent});
}

/// An extent and its places, as kernels take them.
void append_axis(const Resize& resize, const ResizeAxis& axis, std::vector<Arg>& args) {
  const ResizePlaces places = resize_places(resize, axis);
  const std::int64_t first = floor_div(places.add, places.den);
  append_args(args, axis.extent, places.mul / places.den, places.mul % places.den, first,
              places.add - first * places.den, places.den, 1.0f / static_cast<float>(places.den));
}

/// Maps of an item: its places are reckoned once for all of them.
int share_maps(const Resize& resize) {
  constexpr int kMost = 16;  // outputs, whose elements registers hold
  const int unit = unit_of(resize);
  const std::int64_t items = resize.outputs() / unit;
  for (const int maps : {8, 4, 2}) {
    if (unit * maps <= kMost && resize.maps() % maps == 0 && items / maps >= kBusy) return maps;
  }
  return 1;
}

Launch places(const Request& request) {
  const Resize resize(request.problem);
  const int maps = share_maps(resize);
  std::vector<Arg> args{resize.rows.outputs, resize.columns.outputs};
  append_axis(resize, resize.rows, args);
  append_axis(resize, resize.columns, args);
  return launch(request, resize, resize.rows.outputs, resize.maps() / maps,
                fmt::format(" -DRESIZE_MAPS={}", maps), std::move(args));
}

// ---- variants ----

template <bool linear>
Reason refuses_mode(const Problem& problem, const DeviceInfo&) {
  if (Resize(problem).linear == linear) return {};
  return std::string(linear ? "mode is nearest" : "mode is linear");
}

Reason refuses_repeat(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_mode<false>(problem, device)) return reason;
  const Resize resize(problem);
  return reason_if(!repeats(resize, resize.rows) || !repeats(resize, resize.columns),
                   "not every element is repeated 1, 2, 4 or 8 times in a row");
}

Reason refuses_double(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_mode<true>(problem, device)) return reason;
  const Resize resize(problem);
  return reason_if(!is_double(resize, resize.rows) || !is_double(resize, resize.columns),
                   "outputs do not lie at i / 2 - 1 / 4 along both axes");
}

/// linear: four products and three sums an output.
double flops(const Problem& problem) {
  const Resize resize(problem);
  const int each = (resize.linear ? 7 : 0) + (resize.residual ? 1 : 0);
  return each * static_cast<double>(resize.outputs());
}

/// The share of an axis that some output has a part of.
double share_of_x(const Resize& resize, const ResizeAxis& axis) {
  const ResizePlaces places = resize_places(resize, axis);
  std::vector<char> met(static_cast<std::size_t>(axis.extent), false);
  const auto meet = [&](std::int64_t at) {
    met[static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, axis.extent - 1))] = true;
  };
  for (std::int64_t i = 0; i < axis.outputs; ++i) {
    const std::int64_t at = places.mul * i + places.add, whole = floor_div(at, places.den);
    meet(whole);
    if (resize.linear && at != whole * places.den) meet(whole + 1);
  }
  return double(std::count(met.begin(), met.end(), true)) / axis.extent;
}

double least_bytes(const Problem& problem) {
  const Resize resize(problem);
  const double share = share_of_x(resize, resize.rows) * share_of_x(resize, resize.columns);
  const double x = static_cast<double>(count(problem.tensors().front().shape));
  return tensor_bytes(problem) - (1 - share) * x * size_of(resize.dtype);
}

}  // namespace

ResizePlaces resize_places(const Resize& resize, const ResizeAxis& axis) {
  auto [mul, add, den] = exact_places(resize, axis);
  const std::int64_t whole = std::gcd(std::gcd(mul, add), den);
  mul /= whole, add /= whole, den /= whole;
  if (resize.linear) return {mul, add, den};
  if (resize.nearest == "ceil") add += den - 1;
  if (resize.nearest.rfind("round", 0) == 0) {  // down from 1/2 more, or a little less than that
    add = 2 * add + (resize.nearest == "round_prefer_ceil" ? den : den - 1);
    mul *= 2, den *= 2;
  }
  const std::int64_t common = std::gcd(mul, den);
  return {mul / common, floor_div(add, common), den / common};
}

Op resize_op() {
  Op op{{"resize", "y = x with other numbers of rows and columns, nearest or linear", fields(),
         check, tensors},
        {{"resize_repeat", "nearest: each element 1, 2, 4 or 8 times in a row", refuses_repeat,
          planned(repeat)},
         {"resize_nearest", "nearest, any places", refuses_mode<false>, planned(places)},
         {"resize_double", "linear: twice the rows and columns, at i / 2 - 1 / 4", refuses_double,
          planned(twice)},
         {"resize_linear", "linear, any places", refuses_mode<true>, planned(places)}},
        flops};
  op.least_bytes = least_bytes;
  return op;
}

}  // namespace clam
