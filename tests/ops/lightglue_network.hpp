// SPDX-License-Identifier: MIT
// lightglue_network.hpp - LightGlue from its paper (arXiv 2306.13643) in double precision, image by
// image and step by step: nothing is fused, nothing is rounded, no op's reference is called.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "check/parallel.hpp"
#include "clam/op.hpp"

namespace clam::test {

class LightGlue {
 public:
  static constexpr std::size_t kWidth = 256, kHeads = 4, kHead = kWidth / kHeads;

  struct Matrix {
    std::size_t rows = 0, columns = 0;
    std::vector<double> values;

    Matrix() = default;
    Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
    double* row(std::size_t i) { return values.data() + i * columns; }
    const double* row(std::size_t i) const { return values.data() + i * columns; }
  };

  /// `inputs`: the graph's, by its names. `changed`: "", or what to do wrong: "crossed", each image
  /// sees itself where it should see the other; "unrotated", key points have no place.
  LightGlue(const Tensors& inputs, int layers, const std::string& changed = "")
      : inputs_(inputs), changed_(changed) {
    const Matrix all = matrix("x0");
    for (std::size_t image : {0u, 1u}) {
      x_[image] = rows_of(all, image);
      encode_positions(image);
    }
    for (int layer = 0; layer < layers; ++layer) {
      self_block("l" + std::to_string(layer) + "_self");
      cross_block("l" + std::to_string(layer) + "_cross");
    }
    assign();
  }

  /// scores[i][j] of key point i of the first image and j of the second.
  const Matrix& scores() const { return scores_; }

 private:
  using Pair = std::array<Matrix, 2>;

  // ---- linear algebra ----

  Matrix matrix(const std::string& name) const {
    const HostTensor& tensor = inputs_.at(name);
    const auto columns = static_cast<std::size_t>(tensor.shape().back());
    Matrix made(static_cast<std::size_t>(tensor.size()) / columns, columns);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      made.values[static_cast<std::size_t>(i)] = tensor.get(i);
    }
    return made;
  }

  /// The rows of one image of two.
  static Matrix rows_of(const Matrix& both, std::size_t image) {
    Matrix one(both.rows / 2, both.columns);
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      one.values[i] = both.values[image * one.values.size() + i];
    }
    return one;
  }

  static Matrix columns_of(const Matrix& all, std::size_t first, std::size_t count) {
    Matrix some(all.rows, count);
    for (std::size_t i = 0; i < all.rows; ++i) {
      for (std::size_t j = 0; j < count; ++j) some.row(i)[j] = all.row(i)[first + j];
    }
    return some;
  }

  static Matrix transposed(const Matrix& a) {
    Matrix t(a.columns, a.rows);
    for (std::size_t i = 0; i < a.rows; ++i) {
      for (std::size_t j = 0; j < a.columns; ++j) t.row(j)[i] = a.row(i)[j];
    }
    return t;
  }

  static Matrix product(const Matrix& a, const Matrix& b) {
    Matrix c(a.rows, b.columns);
    parallel_for(static_cast<std::int64_t>(a.rows), [&](std::int64_t at) {
      const auto i = static_cast<std::size_t>(at);
      for (std::size_t k = 0; k < a.columns; ++k) {
        const double factor = a.row(i)[k];
        for (std::size_t j = 0; j < b.columns; ++j) c.row(i)[j] += factor * b.row(k)[j];
      }
    });
    return c;
  }

  /// x w^T + b
  Matrix linear(const Matrix& x, const std::string& name) const {
    Matrix y = product(x, transposed(matrix(name + "_w")));
    const Matrix b = matrix(name + "_b");
    for (std::size_t i = 0; i < y.rows; ++i) {
      for (std::size_t j = 0; j < y.columns; ++j) y.row(i)[j] += b.values[j];
    }
    return y;
  }

  // ---- blocks ----

  /// Learnable Fourier features: an angle for each element of a head. Trained weights have each row
  /// twice, so that a pair turns by one angle.
  void encode_positions(std::size_t image) {
    angles_[image] = product(rows_of(matrix("points"), image), transposed(matrix("angles_w")));
  }

  Matrix rotated(const Matrix& x, std::size_t image) const {
    Matrix y = x;
    for (std::size_t i = 0; i < x.rows && changed_ != "unrotated"; ++i) {
      for (std::size_t j = 0; j < kHead; j += 2) {
        const double *angle = angles_[image].row(i), *in = x.row(i);
        y.row(i)[j] = in[j] * std::cos(angle[j]) - in[j + 1] * std::sin(angle[j]);
        y.row(i)[j + 1] = in[j + 1] * std::cos(angle[j + 1]) + in[j] * std::sin(angle[j + 1]);
      }
    }
    return y;
  }

  static Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v) {
    Matrix scores = product(q, transposed(k));
    for (std::size_t i = 0; i < scores.rows; ++i) {
      double sum = 0, largest = -INFINITY;
      for (std::size_t j = 0; j < scores.columns; ++j) {
        largest = std::fmax(largest, scores.row(i)[j] /= std::sqrt(static_cast<double>(kHead)));
      }
      for (std::size_t j = 0; j < scores.columns; ++j) {
        sum += scores.row(i)[j] = std::exp(scores.row(i)[j] - largest);
      }
      for (std::size_t j = 0; j < scores.columns; ++j) scores.row(i)[j] /= sum;
    }
    return product(scores, v);
  }

  static void put(const Matrix& head, std::size_t index, Matrix& all) {
    for (std::size_t i = 0; i < head.rows; ++i) {
      for (std::size_t j = 0; j < kHead; ++j) all.row(i)[index * kHead + j] = head.row(i)[j];
    }
  }

  /// x + FFN([x | message])
  void feed_forward(const std::string& name, Matrix& x, const Matrix& message) const {
    Matrix both(x.rows, 2 * kWidth);
    for (std::size_t i = 0; i < x.rows; ++i) {
      for (std::size_t j = 0; j < kWidth; ++j) {
        both.row(i)[j] = x.row(i)[j];
        both.row(i)[kWidth + j] = message.row(i)[j];
      }
    }
    Matrix hidden = linear(both, name + "_ffn0");
    normalise(hidden, matrix(name + "_gamma"), matrix(name + "_beta"));
    for (double& value : hidden.values) value *= 0.5 * std::erfc(-value / std::sqrt(2.0));
    const Matrix y = linear(hidden, name + "_ffn3");
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += y.values[i];
  }

  static void normalise(Matrix& x, const Matrix& gamma, const Matrix& beta) {
    const auto n = static_cast<double>(x.columns);
    for (std::size_t i = 0; i < x.rows; ++i) {
      double mean = 0, variance = 0;
      for (std::size_t j = 0; j < x.columns; ++j) mean += x.row(i)[j] / n;
      for (std::size_t j = 0; j < x.columns; ++j) variance += std::pow(x.row(i)[j] - mean, 2) / n;
      for (std::size_t j = 0; j < x.columns; ++j) {
        x.row(i)[j] =
            (x.row(i)[j] - mean) / std::sqrt(variance + 1e-5) * gamma.values[j] + beta.values[j];
      }
    }
  }

  void self_block(const std::string& name) {
    for (std::size_t image : {0u, 1u}) {
      const Matrix qkv = linear(x_[image], name + "_qkv");
      Matrix message(qkv.rows, kWidth);
      for (std::size_t head = 0; head < kHeads; ++head) {
        const auto part = [&](std::size_t which) {
          return columns_of(qkv, which * kWidth + head * kHead, kHead);
        };
        put(attention(rotated(part(0), image), rotated(part(1), image), part(2)), head, message);
      }
      feed_forward(name, x_[image], linear(message, name + "_out"));
    }
  }

  void cross_block(const std::string& name) {
    const Pair qkv{linear(x_[0], name + "_qkv"), linear(x_[1], name + "_qkv")};
    for (std::size_t image : {0u, 1u}) {
      const Matrix& other = qkv[changed_ == "crossed" ? image : 1 - image];
      Matrix message(qkv[image].rows, kWidth);
      for (std::size_t head = 0; head < kHeads; ++head) {
        const std::size_t at = head * kHead;
        put(attention(columns_of(qkv[image], at, kHead), columns_of(other, at, kHead),
                      columns_of(other, kWidth + at, kHead)),
            head, message);
      }
      feed_forward(name, x_[image], linear(message, name + "_out"));
    }
  }

  // ---- the head ----

  static double log_sigmoid(double z) { return -std::log1p(std::exp(-z)); }

  /// log of the sum of exponentials of a row.
  static double log_sum(const Matrix& a, std::size_t i) {
    double sum = 0;
    for (std::size_t j = 0; j < a.columns; ++j) sum += std::exp(a.row(i)[j] - a.row(i)[0]);
    return a.row(i)[0] + std::log(sum);
  }

  void assign() {
    const double scale = 1 / std::sqrt(std::sqrt(static_cast<double>(kWidth)));
    Pair projected{linear(x_[0], "final_proj"), linear(x_[1], "final_proj")};
    for (Matrix& side : projected) {
      for (double& value : side.values) value *= scale;
    }
    const Matrix similarity = product(projected[0], transposed(projected[1]));
    const Matrix turned = transposed(similarity);
    const Matrix z0 = linear(x_[0], "match"), z1 = linear(x_[1], "match");
    scores_ = similarity;
    for (std::size_t i = 0; i < scores_.rows; ++i) {
      for (std::size_t j = 0; j < scores_.columns; ++j) {
        scores_.row(i)[j] = 2 * similarity.row(i)[j] - log_sum(similarity, i) - log_sum(turned, j) +
                            log_sigmoid(z0.values[i]) + log_sigmoid(z1.values[j]);
      }
    }
  }

  const Tensors& inputs_;
  std::string changed_;
  Pair x_, angles_;
  Matrix scores_;
};

}  // namespace clam::test
