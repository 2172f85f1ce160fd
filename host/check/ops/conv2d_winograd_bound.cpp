// SPDX-License-Identifier: MIT
#include "conv2d_winograd_bound.hpp"

#include <array>

#include "shared/proof.hpp"

namespace clam {
namespace {

using std::size_t;

/// The steps of the kernels, all to first order in u. The error of a number that a device has
/// rounded on its way is in units of u: the worst case, or the variance.
class Arithmetic {
 public:
  explicit Arithmetic(const ReferenceOptions& options)
      : worst_(options.check != Check::zero_mean),
        // Below it an error is half the smallest number, or the number where denormals count as 0.
        least_(options.denormals ? 0x1p-126 : 0x1p-102),
        least_operand_(options.denormals ? 0 : least_) {}

  /// A number as the device reads it.
  Bounded operand(double value) const { return {value, power(least_operand_)}; }
  Bounded sum(Bounded a, Bounded b) const { return rounded(a.value + b.value, a.error + b.error); }
  Bounded difference(Bounded a, Bounded b) const { return sum(a, {-b.value, b.error}); }
  Bounded half(Bounded a) const { return rounded(a.value / 2, a.error * power(0.5), 0); }
  /// sum + a * b
  Bounded fma(Bounded a, Bounded b, Bounded sum) const {
    return rounded(sum.value + a.value * b.value,
                   sum.error + power(a.value) * b.error + power(b.value) * a.error);
  }
  double bound(Bounded a) const {
    const double u = unit_roundoff(Dtype::f32);
    const double bound = worst_ ? u * a.error : 6 * u * std::sqrt(a.error);
    return std::isfinite(bound) ? bound : kInfinity;
  }

 private:
  double power(double value) const { return worst_ ? std::fabs(value) : value * value; }
  Bounded rounded(double value, double error) const { return rounded(value, error, value); }
  Bounded rounded(double value, double error, double own) const {
    constexpr double kLargest = 0x1p127;
    // 0 times what may overflow is NaN, which no maximum keeps.
    if (!(std::fabs(value) < kLargest) || std::isnan(error)) error = kInfinity;
    return {value, error + power(std::max(std::fabs(own), least_))};
  }

  bool worst_;
  double least_, least_operand_;
};

using Four = std::array<Bounded, 4>;
using Sixteen = std::array<Four, 4>;

/// Applies `to` to the columns of a matrix and then to the rows of the result.
template <size_t Rows, size_t Columns, typename To>
auto twice(const std::array<std::array<Bounded, Columns>, Rows>& matrix, const To& to) {
  using Result = decltype(to(std::array<Bounded, Rows>()));
  std::array<std::array<Bounded, Columns>, std::tuple_size_v<Result>> half;
  for (size_t j = 0; j < Columns; ++j) {
    std::array<Bounded, Rows> column;
    for (size_t i = 0; i < Rows; ++i) column[i] = matrix[i][j];
    const Result result = to(column);
    for (size_t i = 0; i < result.size(); ++i) half[i][j] = result[i];
  }
  std::array<Result, std::tuple_size_v<Result>> all;
  for (size_t i = 0; i < half.size(); ++i) all[i] = to(half[i]);
  return all;
}

/// U, V and y of a tile.
class Transforms : public Arithmetic {
 public:
  using Arithmetic::Arithmetic;

  Sixteen of_filter(const double* g) const {
    std::array<std::array<Bounded, 3>, 3> filter;
    for (size_t i = 0; i < 9; ++i) filter[i / 3][i % 3] = operand(g[i]);
    return twice(filter, [this](const std::array<Bounded, 3>& a) {
      const Bounded outer = half(sum(a[0], a[2])), inner = half(a[1]);
      return Four{a[0], sum(outer, inner), difference(outer, inner), a[2]};
    });
  }
  Sixteen of_pixels(const Sixteen& d) const {
    return twice(d, [this](const Four& a) {
      return Four{difference(a[0], a[2]), sum(a[1], a[2]), difference(a[2], a[1]),
                  difference(a[1], a[3])};
    });
  }

  /// M of `parts` sums of about as many channels, which are added in order.
  Sixteen of_products(const Sixteen* u, const Sixteen* v, std::int64_t channels, int parts) const {
    const std::int64_t range = (channels + parts - 1) / parts;
    Sixteen m;
    for (std::int64_t from = 0; from < channels; from += range) {
      Sixteen part;
      for (std::int64_t c = from; c < std::min(from + range, channels); ++c) {
        for (size_t i = 0; i < 16; ++i) {
          Bounded& own = part[i / 4][i % 4];
          own = fma(u[c][i / 4][i % 4], v[c][i / 4][i % 4], own);
        }
      }
      for (size_t i = 0; i < 16; ++i) {
        Bounded& sum_of_all = m[i / 4][i % 4];
        sum_of_all = from == 0 ? part[i / 4][i % 4] : sum(sum_of_all, part[i / 4][i % 4]);
      }
    }
    return m;
  }

  std::array<std::array<Bounded, 2>, 2> of_sums(const Sixteen& m) const {
    return twice(m, [this](const Four& a) {
      return std::array<Bounded, 2>{sum(sum(a[0], a[1]), a[2]),
                                    difference(difference(a[1], a[2]), a[3])};
    });
  }
};

}  // namespace

std::vector<double> winograd_bound(const Conv2d& conv, const std::vector<double>& x,
                                   const std::vector<double>& w, const ReferenceOptions& options) {
  const Transforms transforms(options);
  const std::int64_t channels = conv.cg(), oh = conv.oh(), ow = conv.ow();
  std::vector<Sixteen> filters(w.size() / 9);
  parallel_for(filters.size(),
               [&](std::int64_t i) { filters[i] = transforms.of_filter(&w[9 * i]); });
  std::vector<double> bounds(conv.outputs());
  const std::int64_t down = (oh + 1) / 2, across = (ow + 1) / 2;
  parallel_for(conv.n * down * across, [&](std::int64_t tile) {
    const std::int64_t image = tile / across / down, oy = tile / across % down * 2,
                       ox = tile % across * 2;
    std::vector<Sixteen> pixels;
    for (std::int64_t c = 0; c < conv.c; ++c) {
      Sixteen d;
      for (size_t i = 0; i < 16; ++i) {
        const std::int64_t iy = oy - conv.pad_t + static_cast<int>(i / 4),
                           ix = ox - conv.pad_l + static_cast<int>(i % 4);
        const bool inside = iy >= 0 && iy < conv.h && ix >= 0 && ix < conv.w;
        const std::int64_t at = conv.x_at(image, c, inside ? iy * conv.w + ix : 0);
        d[i / 4][i % 4] = transforms.operand(inside ? x[at] : 0);
      }
      pixels.push_back(transforms.of_pixels(d));
    }
    for (std::int64_t k = 0; k < conv.k; ++k) {
      const Sixteen* u = &filters[k * channels];
      const Sixteen* v = &pixels[k / conv.kg() * channels];
      Sixteen m;
      for (const int parts : Conv2d::kWinogradParts) {
        const Sixteen one = transforms.of_products(u, v, channels, parts);
        for (size_t i = 0; i < 16; ++i) {
          Bounded& sum = m[i / 4][i % 4];
          sum = {one[i / 4][i % 4].value, std::max(sum.error, one[i / 4][i % 4].error)};
        }
      }
      const auto y = transforms.of_sums(m);
      for (size_t i = 0; i < 4; ++i) {
        const std::int64_t row = oy + static_cast<int>(i / 2),
                           column = ox + static_cast<int>(i % 2);
        if (row >= oh || column >= ow) continue;
        const std::int64_t at = ((image * conv.k + k) * oh + row) * ow + column;
        bounds[at] = transforms.bound(y[i / 2][i % 2]);
      }
    }
  });
  return bounds;
}

}  // namespace clam
