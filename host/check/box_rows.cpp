// SPDX-License-Identifier: MIT
#include "box_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runtime/refuse.hpp"

namespace clam {
namespace {

void check_format(const std::string& name, const BoxFormat& format, std::int64_t e) {
  const auto reject = [&](const std::string& why) {
    refuse("{}: {}, in rows of {} elements", name, why, e);
  };
  const auto check_index = [&](const char* word, int index, int least, const char* hint) {
    const bool in_box = index >= format.coord_start && index < format.coord_start + 4;
    if (index >= least && index < e && !in_box) return;
    reject(fmt::format("{} {} is outside, or among the coordinates{}", word, index, hint));
  };
  if (format.coord_start < 0 || format.coord_start > e - 4) {
    reject(fmt::format("coord-start {} leaves no room for four coordinates", format.coord_start));
  }
  check_index("score-index", format.score_index, 0, "");
  check_index("id-index", format.id_index, -1, "; -1 says that there is no class");
  if (format.id_index == format.score_index) reject("id-index and score-index are the same");
}

}  // namespace

bool Box::is_finite() const {
  return std::isfinite(id) && std::isfinite(score) && std::isfinite(x0) && std::isfinite(y0) &&
         std::isfinite(x1) && std::isfinite(y1);
}

double Box::side() const { return std::max(std::fabs(x1 - x0), std::fabs(y1 - y0)); }

double Box::reach() const {
  return std::max({std::fabs(x0), std::fabs(y0), std::fabs(x1), std::fabs(y1)});
}

BoxRows::BoxRows(const std::string& name, const HostTensor& tensor, const BoxFormat& format)
    : tensor_(tensor), format_(format) {
  const Shape& shape = tensor.shape();
  const std::size_t axes = shape.size();
  throw_if(tensor.dtype() == Dtype::i32 || (axes != 2 && axes != 3) || shape.back() < 5,
           "{} holds {}[{}], which are no box rows: these are f32 or f16 [n, e] or "
           "[batch, n, e], with e of 5 or more",
           name, clam::name(tensor.dtype()), to_string(shape));
  e_ = shape[axes - 1], n_ = shape[axes - 2];
  if (axes == 3) batch_ = shape[0];
  check_format(name, format, e_);
}

Box BoxRows::box(std::int64_t row) const {
  const auto at = [&](int i) { return element(row, i); };
  const int id = format_.id_index, coord = format_.coord_start;
  return {id < 0 ? 0 : at(id), at(format_.score_index), at(coord),
          at(coord + 1),       at(coord + 2),           at(coord + 3)};
}

bool BoxRows::is_filled(std::int64_t row) const {
  for (std::int64_t i = 0; i < e_; ++i) {
    if (element(row, i) != -1) return false;
  }
  return true;
}

bool BoxRows::is_valid(std::int64_t row) const {
  return !is_filled(row) && (format_.id_index < 0 || element(row, format_.id_index) >= 0);
}

}  // namespace clam
