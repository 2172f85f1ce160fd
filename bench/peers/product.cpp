// SPDX-License-Identifier: MIT
#include "product.hpp"

#include <set>

#include "clam/op.hpp"
#include "ops/conv2d_problem.hpp"
#include "runtime/words.hpp"

namespace clam::peers {
namespace {

std::size_t extent(const Problem& problem, const char* name) {
  return static_cast<std::size_t>(problem.integer(name));
}

/// Of a tensor of two axes, or of three with the items first.
Matrix matrix(const Problem& problem, const std::string& tensor, bool transposed = false) {
  const std::vector<TensorSpec> specs = problem.tensors();
  const TensorSpec& spec = *find_by_name(specs, tensor);
  const std::size_t axes = spec.shape.size();
  const std::int64_t columns = spec.shape[axes - 1], rows = spec.shape[axes - 2];
  const std::int64_t ld = spec.strides.empty() ? columns : spec.strides[axes - 2];
  std::int64_t stride = 0;
  if (axes == 3 && spec.shape[0] > 1) stride = spec.strides.empty() ? rows * ld : spec.strides[0];
  return {tensor, static_cast<std::size_t>(spec.offset), static_cast<std::size_t>(ld),
          static_cast<std::size_t>(stride), transposed};
}

Product product(const Problem& problem, std::size_t batch, float alpha, Matrix a, Matrix b,
                Matrix c) {
  return {batch, extent(problem, "m"), extent(problem, "n"), extent(problem, "k"),
          alpha, std::move(a),         std::move(b),         std::move(c)};
}

std::optional<Product> of_dense(const Problem& problem) {
  if (problem.integer("k2") > 0) return std::nullopt;
  return product(problem, 1, problem.number("alpha"), matrix(problem, "x"),
                 matrix(problem, "w", problem.integer("trans_w") == 1), matrix(problem, "y"));
}

Product of_batch_matmul(const Problem& problem) {
  return product(problem, extent(problem, "batch"), problem.number("scale"),
                 matrix(problem, "a", problem.integer("ta") == 1),
                 matrix(problem, "b", problem.integer("tb") == 1), matrix(problem, "c"));
}

/// Channels by channels times channels by pixels, an image an item; with the channels last, all
/// pixels by channels times channels by channels.
std::optional<Product> of_conv2d(const Problem& problem) {
  const Conv2d conv(problem);
  const bool single = conv.r == 1 && conv.s == 1 && conv.groups == 1 && conv.stride_h == 1 &&
                      conv.stride_w == 1 && conv.oh() == conv.h && conv.ow() == conv.w;
  if (!single) return std::nullopt;
  const std::size_t images = extent(problem, "n"), from = extent(problem, "c");
  const std::size_t to = extent(problem, "k"), pixels = extent(problem, "h") * extent(problem, "w");
  if (conv.nhwc) {
    const Matrix x{"x", 0, from}, w{"w", 0, from, 0, true}, y{"y", 0, to};
    return Product{1, images * pixels, to, from, 1, x, w, y};
  }
  const Matrix w{"w", 0, from}, x{"x", 0, pixels, from * pixels}, y{"y", 0, pixels, to * pixels};
  return Product{images, to, pixels, from, 1, w, x, y};
}

}  // namespace

Problem bare(Problem problem) {
  static const std::set<std::string> kExtras = {"bias", "residual", "act", "mask"};
  for (const Field& field : problem.schema().fields) {
    if (kExtras.count(field.name)) problem = problem.with(field.name, field.fallback);
  }
  return problem;
}

std::optional<Product> product_of(const Problem& problem) {
  const std::string& op = problem.schema().name;
  if (op == "dense") return of_dense(problem);
  if (op == "batch_matmul") return of_batch_matmul(problem);
  if (op == "conv2d") return of_conv2d(problem);
  return std::nullopt;
}

}  // namespace clam::peers
