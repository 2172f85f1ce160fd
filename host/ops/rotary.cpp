// SPDX-License-Identifier: MIT
// rotary.cpp - the fields of rotary, and how it is computed.
#include "rotary.hpp"

#include "ops/shared/places.hpp"
#include "ops/shared/tiling.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;  ///< elements of a vector load

/// From a row to the next, from a matrix to the next, and the first element, in elements.
struct Layout {
  std::int64_t ld, head, offset;

  bool operator==(const Layout& other) const {
    return ld == other.ld && head == other.head && offset == other.offset;
  }
  bool aligned() const { return ld % kVector == 0 && head % kVector == 0 && offset % kVector == 0; }
};

Layout layout(const Problem& problem, const std::string& name) {
  const std::int64_t row = given_or(problem, "ld" + name, problem.integer("d"));
  return {row, given_or(problem, "head" + name, row * problem.integer("n")),
          problem.integer("off" + name)};
}

/// A row stride holds a row. Strides are left out where they are the default, or of one item. A
/// kernel knows one stride of all matrices, so with heads in longer rows there is one batch.
void check_strides(const Problem& problem, Schema::Values& values, const std::string& name) {
  check_row_stride(problem, values, name, problem.integer("d"));
  const Layout it = layout(problem, name);
  const std::int64_t matrices = std::int64_t{problem.integer("batch")} * problem.integer("heads");
  if (matrices == 1 || it.head == it.ld * problem.integer("n")) {
    values["head" + name] = "0";
  } else if (problem.integer("batch") > 1) {
    bad_field(problem, "head" + name, "needs batch=1; positions of all batches may be one n");
  }
}

void check(const Problem& problem, Schema::Values& values) {
  const std::int64_t matrices = std::int64_t{problem.integer("batch")} * problem.integer("heads");
  if (matrices > 2147483647) bad_field(problem, "heads", "batch * heads is over 2147483647");
  count({matrices, problem.integer("n"), problem.integer("d")});
  const Rotary rotary(problem);
  const char* field = problem.integer("rotary_dim") == 0 ? "d" : "rotary_dim";
  if (rotary.rotary_dim % 2 != 0) bad_field(problem, field, "needs pairs of elements");
  bad_field_if(rotary.rotary_dim > rotary.d, problem, field, "needs at most d={}", rotary.d);
  if (rotary.rotary_dim == rotary.d) values["rotary_dim"] = "0";
  for (const char* name : {"src", "dst"}) check_strides(problem, values, name);
  const Layout dst = layout(problem, "dst");
  require_distinct(problem, "dst", rotary.d,
                   {{dst.ld, rotary.n, "lddst"}, {dst.head, matrices, "headdst"}});
}

std::vector<Field> fields() {
  return {extent("batch", "stacks of heads"),
          extent("heads", "matrices that share the tables"),
          extent("n", "positions: rows of a matrix"),
          extent("d", "elements of a row"),
          dtype_field(),
          integer("rotary_dim", "elements of a row that are rotated; 0: all", "0", 0),
          choice("pairing", "which two elements are rotated together", {"adjacent", "halves"},
                 "adjacent"),
          place("ldsrc", "row stride of src, in elements; 0: d"),
          place("lddst", "row stride of dst"),
          place("headsrc", "from a head of src to the next; 0: all rows of a head"),
          place("headdst", "from a head of dst to the next"),
          place("offsrc", "first element of src"),
          place("offdst", "first element of dst")};
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const int heads = problem.integer("heads"), n = problem.integer("n"), d = problem.integer("d");
  const Shape shape{problem.integer("batch"), heads, n, d}, table{n, d};
  const auto spec = [&](const TensorSpec& dense) {
    const Layout at = layout(problem, dense.name);
    return placed(problem, dense, {"ld", "head"}, {at.head * heads, at.head, at.ld, 1});
  };
  const Dtype dtype = problem.dtype();
  const bool alike = layout(problem, "src") == layout(problem, "dst");
  return {spec(input("src", dtype, shape)), input("cos", dtype, table), input("sin", dtype, table),
          spec(output("dst", dtype, shape, alike ? "src" : ""))};
}

// ---- launches ----

/// Vectors where no pair, no half and no row divides one, and every row starts on one.
int unit_of(const Problem& problem) {
  const Rotary rotary(problem);
  if (!layout(problem, "src").aligned() || !layout(problem, "dst").aligned()) return 1;
  const int rotated = rotary.halves ? rotary.rotary_dim / 2 : rotary.rotary_dim;
  return rotary.d % kVector == 0 && rotated % kVector == 0 ? kVector : 1;
}

/// Matrices of an item: as many as the time model likes. An item takes 26 instructions, and 47 more
/// a matrix (listings of a G610).
int choose_heads(const Rotary& rotary, int items, const DeviceInfo& device) {
  return quickest({4, 2, 1}, [&](int heads) {
    if (rotary.matrices % heads != 0) return HUGE_VAL;
    const double all = static_cast<double>(rotary.matrices / heads) * rotary.n * items;
    return predicted_clocks(all, 26 + 47.0 * heads, device);
  });
}

/// Of either kernel.
Launch launch(const Request& request) {
  const Problem& problem = request.problem;
  const Rotary rotary(problem);
  const int unit = unit_of(problem);
  const Layout src = layout(problem, "src"), dst = layout(problem, "dst");
  const auto step = [&](std::int64_t head) { return rotary.matrices == 1 ? 0 : as_int(head); };
  const int width = rotary.halves ? 2 * unit : std::max(2, unit);  // rotated elements of an item
  const int items = rotary.rotary_dim / width + (rotary.d - rotary.rotary_dim) / unit;
  const int heads = choose_heads(rotary, items, request.device);
  return row_launch(
      request, fmt::format("-DROTARY_UNIT={} -DROTARY_HEADS={} ", unit, heads), kAcross,
      {items, rotary.n, rotary.matrices / heads},
      arg_list("src", "cos", "sin", "dst", rotary.n, rotary.d, rotary.rotary_dim, items, src.ld,
               step(src.head), src.offset, dst.ld, step(dst.head), dst.offset));
}

Reason refuses_adjacent(const Problem& problem, const DeviceInfo&) {
  return reason_if(Rotary(problem).halves, "pairs are halves apart, not side by side");
}

Reason refuses_halves(const Problem& problem, const DeviceInfo&) {
  if (Rotary(problem).halves) return {};
  return "pairs are side by side, not halves apart";
}

/// Two products and a sum a rotated element.
double flops(const Problem& problem) {
  const Rotary rotary(problem);
  return 3.0 * rotary.matrices * rotary.n * rotary.rotary_dim;
}

}  // namespace

Op rotary_op() {
  return {{"rotary", "dst = src * cos + rotate(src) * sin", fields(), check, tensors},
          {{"rotary_adjacent", "pairs side by side", refuses_adjacent, planned(launch)},
           {"rotary_halves", "pairs halves of rotary_dim apart", refuses_halves, planned(launch)}},
          flops};
}

}  // namespace clam
