// SPDX-License-Identifier: MIT
// boxes.hpp - rows of a detector's boxes, as get_valid_counts and nms take and give them.
#pragma once

#include <cstdint>
#include <string>

#include "clam/tensor.hpp"

namespace clam {

/// Which elements of a row mean what.
struct BoxFormat {
  int id_index = 0;     ///< the class; -1: there is none
  int score_index = 1;  ///< the score
  int coord_start = 2;  ///< the first of x0, y0, x1, y1
};

/// A row, widened to double; `id` is 0 where there is no class.
struct Box {
  double id, score, x0, y0, x1, y1;

  bool is_finite() const;
  bool is_turned_over() const { return x1 < x0 || y1 < y0; }
  /// Width or height, whichever is larger.
  double side() const;
  /// The coordinate that is farthest from 0.
  double reach() const;
};

/// A view of a tensor [n, e] or [batch, n, e] of f32 or f16, which must outlive it. Rows are
/// numbered through all batch items: row r is row r % n of batch item r / n.
class BoxRows {
 public:
  /// Throws BadArgument, a sentence that begins with `name`, for a tensor or a format that is none.
  BoxRows(const std::string& name, const HostTensor& tensor, const BoxFormat& format);

  std::int64_t batch() const { return batch_; }
  std::int64_t n() const { return n_; }
  std::int64_t e() const { return e_; }
  std::int64_t rows() const { return batch_ * n_; }
  Dtype dtype() const { return tensor_.dtype(); }
  const BoxFormat& format() const { return format_; }

  double element(std::int64_t row, std::int64_t i) const { return tensor_.get(row * e_ + i); }
  Box box(std::int64_t row) const;
  /// All of it is -1: what get_valid_counts puts past the valid rows, and nms for suppressed ones.
  bool is_filled(std::int64_t row) const;
  /// It is not filled, and has a class where there are classes.
  bool is_valid(std::int64_t row) const;

 private:
  const HostTensor& tensor_;
  BoxFormat format_;
  std::int64_t batch_ = 1, n_ = 0, e_ = 0;
};

}  // namespace clam
