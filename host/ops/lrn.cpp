// SPDX-License-Identifier: MIT
// lrn.cpp - the fields of lrn, and how it is computed.
#include "lrn.hpp"

#include "ops/shared/tiling.hpp"
#include "shared/op.hpp"
#include "shared/window.hpp"

namespace clam {
namespace {

constexpr int kMostAcross = 64;  ///< items of a group side by side
constexpr int kMostHeld = 8;     ///< channels that an item holds: vectors of 9 leave the registers

/// So that what is divided by is above 0.
void check(const Problem& problem, Schema::Values&) {
  for (const char* field : {"alpha", "beta", "bias"}) {
    const float value = problem.number(field);
    bad_field_if(!(value > 0) || !std::isfinite(value), problem, field,
                 "needs a finite number above 0");
  }
}

std::vector<Field> fields() {
  return {extent("n", "images"),
          extent("c", "channels"),
          extent("h", "rows of a map"),
          extent("w", "columns of a map"),
          step_field("size", "channels whose squares are added", "5"),
          dtype_field(),
          number("alpha", "factor of the mean of the squares", "0.0001"),
          number("beta", "exponent", "0.75"),
          number("bias", "what is added to them", "1")};
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const Shape shape{p.integer("n"), p.integer("c"), p.integer("h"), p.integer("w")};
  return {input("x", p.dtype(), shape), output("y", p.dtype(), shape)};
}

// ---- launches ----

/// Channels of an item of lrn_run: as many as the time model likes. A pixel of a channel takes two
/// instructions for each channel of the window, and a power; then there are load, store and loop.
/// An item takes 40 and 10 for each channel that it holds before its first (listings of a G610).
int choose_run(const Lrn& lrn, int unit, const DeviceInfo& device) {
  constexpr int kFewest = 4;
  const double step = unit * (2.0 * lrn.size + (lrn.three_quarters() ? 8 : 130)) + 25;
  std::vector<int> runs{lrn.c};
  while (runs.back() > kFewest) runs.push_back(ceil_div(runs.back(), 2));
  return quickest(runs, [&](int run) {
    const double items = double(lrn.n) * (lrn.pixels / unit) * ceil_div(lrn.c, run);
    return predicted_clocks(items, 40 + 10.0 * lrn.size + run * step, device);
  });
}

/// `rows`: items along the channels; `length`: the argument behind the extents.
Launch launch(const Request& request, const Lrn& lrn, const std::string& options, int rows,
              int length) {
  const int unit = vector_unit(lrn.pixels);
  return row_launch(request, fmt::format("{}-DLRN_UNIT={} ", options, unit), kMostAcross,
                    {lrn.pixels / unit, rows, lrn.n},
                    arg_list("x", "y", lrn.c, lrn.pixels, length, lrn.scale(), lrn.beta, lrn.bias),
                    lrn.three_quarters() ? " -DLRN_THREE_QUARTERS=1" : "");
}

Launch run(const Request& request) {
  const Lrn lrn(request.problem);
  const int run = choose_run(lrn, vector_unit(lrn.pixels), request.device);
  return launch(request, lrn, fmt::format("-DLRN_SIZE={} ", lrn.size), ceil_div(lrn.c, run), run);
}

Launch window(const Request& request) {
  const Lrn lrn(request.problem);
  return launch(request, lrn, "", lrn.c, lrn.size);
}

// ---- variants ----

Reason refuses_run(const Problem& problem, const DeviceInfo&) {
  const int size = problem.integer("size");
  return reason_if(size > kMostHeld, "size={} is over the {} channels that an item holds", size,
                   kMostHeld);
}

/// A product and a sum for each channel of the window, then a product, a sum, a power, a product.
double flops(const Problem& problem) {
  const Lrn lrn(problem);
  return double(lrn.n) * lrn.c * lrn.pixels * (2.0 * lrn.size + 4);
}

}  // namespace

Op lrn_op() {
  return {{"lrn", "y = x / (bias + alpha / size * sum of x^2 over size channels)^beta", fields(),
           check, tensors},
          {{"lrn_run", "up to 8 channels: an item walks over channels and holds a window",
            refuses_run, planned(run)},
           {"lrn_window", "any number of channels: a channel an item", refuses_nothing,
            planned(window)}},
          flops};
}

}  // namespace clam
