// SPDX-License-Identifier: MIT
// pool2d.cpp - the fields of pool2d, and how it is computed.
#include "pool2d.hpp"

#include "ops/shared/tiling.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kMostTaps = 7;    ///< rows and columns of a window that an item unrolls
constexpr int kMostStride = 4;  ///< its rows from an output to the next

// ---- the problem ----

/// A map taken whole has no window of its own.
void check_global(const Problem& problem) {
  const std::pair<const char*, int> without[] = {
      {"r", 0},   {"s", 0},      {"stride", 1}, {"stride_h", 0}, {"stride_w", 0},
      {"pad", 0}, {"pad_t", -1}, {"pad_l", -1}, {"pad_b", -1},   {"pad_r", -1}};
  for (const auto& [field, fallback] : without) {
    bad_field_if(problem.integer(field) != fallback, problem, field,
                 "but global takes the whole map");
  }
}

/// So that every window has an element of x.
void check_pads(const Problem& problem, const Pool2d& pool) {
  const struct {
    const char* field;
    int pad, taps;
    const char* what;
  } sides[] = {{"pad_t", pool.pad_t, pool.r, "rows"},
               {"pad_l", pool.pad_l, pool.s, "columns"},
               {"pad_b", pool.pad_b, pool.r, "rows"},
               {"pad_r", pool.pad_r, pool.s, "columns"}};
  for (const auto& side : sides) {
    bad_field_if(side.pad >= side.taps, problem,
                 problem.integer(side.field) < 0 ? "pad" : side.field,
                 "needs fewer than the window's {} {}", side.taps, side.what);
  }
}

void check_window(const Problem& problem, const Pool2d& pool) {
  if (pool.r < 1) bad_field(problem, "r", "needs 1 or more, or global");
  check_pads(problem, pool);
  const std::int64_t rows = std::int64_t{pool.h} + pool.pad_t + pool.pad_b;
  const std::int64_t columns = std::int64_t{pool.w} + pool.pad_l + pool.pad_r;
  if (pool.r > rows) bad_field(problem, "r", fmt::format("but x has {} rows with its pads", rows));
  bad_field_if(pool.s > columns, problem, problem.integer("s") == 0 ? "r" : "s",
               "but x has {} columns with its pads", columns);
}

/// A window that takes the whole map is `global`, and so all its words are left out.
void unite_words(const Pool2d& pool, Schema::Values& values) {
  const bool whole = !pool.pads() && pool.r == pool.h && pool.s == pool.w;
  pool.unite(values);
  if (pool.s == pool.r) values["s"] = "0";
  if (pool.max || !pool.pads()) values["count_include_pad"] = "0";
  if (!pool.overhangs()) values["ceil_mode"] = "0";
  if (!whole) return;
  for (const char* field : {"r", "s", "stride_h", "stride_w"}) values[field] = "0";
  values["global"] = values["stride"] = "1";
}

void check(const Problem& problem, Schema::Values& values) {
  const Pool2d pool(problem);
  pool.global ? check_global(problem) : check_window(problem, pool);
  unite_words(pool, values);
}

std::vector<Field> fields() {
  std::vector<Field> fields{extent("n", "images"),
                            extent("c", "channels"),
                            extent("h", "rows of x"),
                            extent("w", "columns of x"),
                            integer("r", "rows of the window", "0", 0),
                            integer("s", "columns of the window; 0: as many as rows", "0", 0),
                            dtype_field(),
                            choice("mode", "what of the window's elements", {"avg", "max"}, "avg"),
                            flag("global", "the window is the whole map")};
  append(fields, stride_fields("rows and columns of x from an output to the next"));
  append(fields, pad_fields("rows and columns around x that windows reach over", "x"));
  append(fields,
         {integer("count_include_pad", "1: a mean counts what is outside x as zeros", "0", 0, 1),
          integer("ceil_mode", "1: windows may reach beyond the pads below and right", "0", 0, 1),
          choice("layout", "order of the axes", {"nchw", "nhwc"}, "nchw")});
  return fields;
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Pool2d pool(problem);
  return {input("x", pool.dtype, pool.shape(pool.h, pool.w)),
          output("y", pool.dtype, pool.shape(pool.oh(), pool.ow()))};
}

// ---- launches ----

std::string mode_option(const Pool2d& pool) { return pool.max ? "-DPOOL2D_MAX=1 " : ""; }

Launch global(const Request& request) {
  const Pool2d pool(request.problem);
  const Share share = share_pieces(pool.pixels(), pool.maps(), request);
  return own_launch(request,
                    fmt::format("{}-DPOOL2D_LANES={} -DPOOL2D_MAPS={}", mode_option(pool),
                                share.lanes, share.rows),
                    {share.lanes, share.rows}, {share.lanes, pool.maps(), 1},
                    arg_list("x", "y", pool.maps(), pool.pixels(), pool.scale()));
}

Launch nhwc_global(const Request& request) {
  const Pool2d pool(request.problem);
  const int unit = vector_unit(pool.c), units = pool.c / unit;
  const int items = group_items(kLargestGroup, request);
  const int columns = std::min({kAcross, power_of_two_over(units), items / kFewestLanes});
  const int lanes =
      std::max(kFewestLanes, std::min(items / columns, power_of_two_over(pool.pixels())));
  return own_launch(request,
                    fmt::format("{}-DPOOL2D_UNIT={} -DPOOL2D_LANES={} -DPOOL2D_MAPS={}",
                                mode_option(pool), unit, lanes, columns),
                    {columns, lanes}, {units, lanes, pool.n},
                    arg_list("x", "y", pool.pixels(), pool.c, pool.scale()));
}

std::string window_options(const Pool2d& pool) {
  return mode_option(pool) +
         (pool.counts() ? fmt::format("-DPOOL2D_COUNT={} ", pool.counts()) : "");
}

/// Outputs of an item of pool2d_run: as many as the time model likes. A load takes six
/// instructions, an output a dozen, and an item 40 before it has read anything (listings of a
/// G610).
int choose_run(const Pool2d& pool, const DeviceInfo& device) {
  return quickest({4, 2, 1}, [&](int run) {
    const double loads = ((run - 1.0) * pool.stride_h + pool.r) * pool.s;
    const double items = static_cast<double>(pool.maps()) * pool.ow() * ceil_div(pool.oh(), run);
    return predicted_clocks(items, 6 * loads + 12 * run + 40, device);
  });
}

Launch run(const Request& request) {
  const Pool2d pool(request.problem);
  const int oh = pool.oh(), ow = pool.ow(), run = choose_run(pool, request.device);
  return row_launch(request, window_options(pool), kAcross, {ow, ceil_div(oh, run), pool.maps()},
                    arg_list("x", "y", pool.h, pool.w, oh, ow, pool.stride_w, pool.pad_t,
                             pool.pad_l, pool.h + pool.pad_b, pool.w + pool.pad_r, pool.scale()),
                    fmt::format(" -DPOOL2D_R={} -DPOOL2D_S={} -DPOOL2D_STRIDE={} -DPOOL2D_RUN={}{}",
                                pool.r, pool.s, pool.stride_h, run,
                                pool.pads() || pool.overhangs() ? "" : " -DPOOL2D_PAD=0"));
}

/// Of pool2d_window, and behind c of pool2d_nhwc.
void append_window(const Pool2d& pool, std::vector<Arg>& args) {
  append_args(args, pool.h, pool.w, pool.r, pool.s, pool.oh(), pool.ow(), pool.stride_h,
              pool.stride_w, pool.pad_t, pool.pad_l, pool.h + pool.pad_b, pool.w + pool.pad_r,
              pool.scale());
}

Launch window(const Request& request) {
  const Pool2d pool(request.problem);
  std::vector<Arg> args = arg_list("x", "y");
  append_window(pool, args);
  return row_launch(request, window_options(pool), kAcross, {pool.ow(), pool.oh(), pool.maps()},
                    std::move(args));
}

Launch nhwc(const Request& request) {
  const Pool2d pool(request.problem);
  const int unit = vector_unit(pool.c);
  std::vector<Arg> args = arg_list("x", "y", pool.c);
  append_window(pool, args);
  return row_launch(request, window_options(pool), kAcross,
                    {pool.c / unit, pool.ow(), std::int64_t{pool.n} * pool.oh()}, std::move(args),
                    fmt::format(" -DPOOL2D_UNIT={}", unit));
}

// ---- variants ----

template <bool nhwc>
Reason refuses_window(const Problem& problem, const DeviceInfo&) {
  if (Pool2d(problem).nhwc == nhwc) return {};
  return std::string(nhwc ? "it reads nhwc, the layout is nchw"
                          : "it reads nchw, the layout is nhwc");
}

template <bool nhwc>
Reason refuses_global(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_window<nhwc>(problem, device)) return reason;
  if (!problem.flag("global")) return "the window is not the whole map";
  return no_lanes(device);
}

Reason refuses_run(const Problem& problem, const DeviceInfo& device) {
  const Pool2d pool(problem);
  if (Reason reason = refuses_window<false>(problem, device)) return reason;
  if (pool.r > kMostTaps || pool.s > kMostTaps) {
    return fmt::format("a window of {} x {} is over {} x {}", pool.r, pool.s, kMostTaps, kMostTaps);
  }
  return reason_if(pool.stride_h > kMostStride, "stride_h={} is over {}", pool.stride_h,
                   kMostStride);
}

/// A sum or a comparison for every element of every window.
double flops(const Problem& problem) {
  const Pool2d pool(problem);
  return static_cast<double>(pool.maps()) * pool.oh() * pool.ow() * pool.r * pool.s;
}

double least_bytes(const Problem& problem) {
  const Pool2d pool(problem);
  return bytes_that_windows_meet(problem, pool.rows(), pool.columns());
}

}  // namespace

Op pool2d_op() {
  Op op{{"pool2d", "y = mean or max of the elements of a window of x", fields(), check, tensors},
        {{"pool2d_global", "whole nchw maps: lanes along a map, in aligned vectors",
          refuses_global<false>, planned(global)},
         {"pool2d_run", "nchw, windows of up to 7 x 7: a column of outputs an item", refuses_run,
          planned(run)},
         {"pool2d_window", "nchw, any window: an output an item", refuses_window<false>,
          planned(window)},
         {"pool2d_nhwc_global", "whole nhwc maps: lanes down a map", refuses_global<true>,
          planned(nhwc_global)},
         {"pool2d_nhwc", "nhwc, any window: one or four channels of an output an item",
          refuses_window<true>, planned(nhwc)}},
        flops};
  op.least_bytes = least_bytes;
  return op;
}

}  // namespace clam
