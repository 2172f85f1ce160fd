// SPDX-License-Identifier: MIT
// dense.cpp - the fields of dense, and how it is computed.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "../error.hpp"
#include "dense_cases.hpp"
#include "shared/activation.hpp"
#include "shared/geometry.hpp"

namespace clam {
namespace {

constexpr int kColumns = 4;      ///< of a tile
constexpr int kPanelLanes = 16;  ///< work-items of a group that read a row of w side by side
constexpr int kSquareLanes = 4;  ///< ... that read rows of w each: as many as read rows of x

// ---- the problem ----

/// Row stride and first element, in elements.
struct Matrix {
  int ld, offset;

  /// Every row starts on a multiple of four elements, so aligned 4-vectors can be loaded.
  bool aligned() const { return ld % 4 == 0 && offset % 4 == 0; }
};

Matrix matrix(const Problem& problem, const std::string& name, int row) {
  const int ld = problem.integer("ld" + name);
  return {ld == 0 ? row : ld, problem.integer("off" + name)};
}

/// The extents, and where the matrices lie.
struct Dense {
  int m, n, k;
  bool trans_w, bias, residual;
  Dtype dtype;
  float alpha;
  Matrix x, w, r, y;

  explicit Dense(const Problem& problem)
      : m(problem.integer("m")),
        n(problem.integer("n")),
        k(problem.integer("k")),
        trans_w(problem.integer("trans_w") == 1),
        bias(problem.flag("bias")),
        residual(problem.flag("residual")),
        dtype(problem.dtype()),
        alpha(problem.number("alpha")),
        x(matrix(problem, "x", k)),
        w(matrix(problem, "w", trans_w ? k + problem.integer("k2") : n)),
        r(matrix(problem, "r", n)),
        y(matrix(problem, "y", n)) {}

  /// k filled up to whole vectors, and the bytes of x with such rows.
  int padded_k() const { return round_up(k, 4); }
  std::int64_t padded_bytes() const { return std::int64_t{m} * padded_k() * size_of(dtype); }
  bool needs_padding() const { return k % 4 != 0 || !x.aligned(); }
  /// From a weight to the one of the next column, and of the next k.
  int step_n() const { return trans_w ? w.ld : 1; }
  int step_k() const { return trans_w ? 1 : w.ld; }
  double multiply_adds() const { return 1.0 * m * n * k; }
};

using Values = std::map<std::string, std::string, std::less<>>;

/// A stride holds a row, and is left out where it is the row's length.
void check_stride(const Problem& problem, Values& values, const std::string& field,
                  std::int64_t row) {
  const int stride = problem.integer(field);
  if (stride != 0 && stride < row) {
    bad_field(problem, field, fmt::format("is under the {} elements of a row", row));
  }
  if (stride == row) values[field] = "0";
}

/// Words that say how a tensor lies need the tensor.
void check_presence(const Problem& problem, bool present, const std::string& name,
                    const std::string& needed) {
  for (const std::string& field : {"ld" + name, "off" + name}) {
    if (!present && problem.integer(field) != 0) bad_field(problem, field, "needs " + needed);
  }
}

void check_dense(const Problem& problem, Values& values) {
  const std::int64_t n = problem.integer("n"), k = problem.integer("k"), k2 = problem.integer("k2");
  if (!std::isfinite(problem.number("alpha"))) bad_field(problem, "alpha", "needs a finite number");
  check_presence(problem, k2 > 0, "x2", "k2");
  check_presence(problem, problem.flag("residual"), "r", "residual");
  check_stride(problem, values, "ldx", k);
  check_stride(problem, values, "ldx2", k2);
  check_stride(problem, values, "ldw", problem.integer("trans_w") == 1 ? k + k2 : n);
  check_stride(problem, values, "ldr", n);
  check_stride(problem, values, "ldy", n);
}

std::vector<Field> dense_fields() {
  const auto stride = [](const char* name, const char* about) {
    return integer(name, about, "0", 0);
  };
  return {extent("m", "rows of x and y"),
          extent("n", "columns of y"),
          extent("k", "products of a sum"),
          integer("k2", "products of a sum that come from a second source, x2", "0", 0),
          dtype_field(),
          choice("acc", "accumulator", {"f32", "chunk", "f16"}, "f32"),
          integer("trans_w", "1: weights lie as w[n,k]; 0: as w[k,n]", "1", 0, 1),
          number("alpha", "factor of the sum", "1"),
          flag("bias", "b[n] is added"),
          flag("residual", "r[m,n] is added after the activation"),
          choice("act", "activation", activation_names(), "none"),
          stride("ldx", "row stride of x, in elements; 0: its row's length"),
          stride("ldx2", "row stride of x2"),
          stride("ldw", "row stride of w"),
          stride("ldr", "row stride of r"),
          stride("ldy", "row stride of y"),
          stride("offx", "first element of x"),
          stride("offx2", "first element of x2"),
          stride("offw", "first element of w"),
          stride("offr", "first element of r"),
          stride("offy", "first element of y")};
}

std::vector<TensorSpec> dense_tensors(const Problem& problem) {
  using Role = TensorSpec::Role;
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  const std::int64_t k = problem.integer("k"), k2 = problem.integer("k2");
  const Dtype dtype = problem.dtype();
  const auto spec = [&](const char* name, Role role, Shape shape) {
    const std::int64_t ld = problem.integer(std::string("ld") + name);
    const std::int64_t offset = problem.integer(std::string("off") + name);
    std::vector<std::int64_t> strides;
    if (ld != 0) strides = {ld, 1};
    return TensorSpec{name, role, dtype, std::move(shape), std::move(strides), offset};
  };
  std::vector<TensorSpec> specs{spec("x", Role::input, {m, k})};
  if (k2 > 0) specs.push_back(spec("x2", Role::input, {m, k2}));
  specs.push_back(spec("w", Role::input,
                       problem.integer("trans_w") == 1 ? Shape{n, k + k2} : Shape{k + k2, n}));
  if (problem.flag("bias")) specs.push_back({"b", Role::input, dtype, {n}, {}, 0});
  if (problem.flag("residual")) specs.push_back(spec("r", Role::input, {m, n}));
  specs.push_back(spec("y", Role::output, {m, n}));
  if (problem.flag("residual")) specs.back().may_be = "r";
  return specs;
}

/// Rows of a tile. The costs are of a trip of 4 k: Mesa 25.0, Mali-G610, f32.
int tile_rows(const Problem& problem, const DeviceInfo& device) {
  const int m = problem.integer("m");
  // Beside 24 sums there is no room for the longest activations: they would spill.
  const std::string& act = problem.choice("act");
  const int highest = std::min(m, act == "gelu" || act == "tanh" ? 4 : 6);
  return choose_rows({{6, 146}, {4, 106}, {2, 66}, {1, 52}}, m,
                     ceil_div(problem.integer("n"), kColumns), highest, device);
}

// ---- launches ----

/// All launches of a problem take these, whether they use them or not, so that they share programs.
std::string common_options(const Problem& problem, Group group, int rows) {
  std::string options = problem.dtype() == Dtype::f16 ? "-DCLAM_F16 " : "";
  options += fmt::format("-DDENSE_LX={} -DDENSE_LY={} -DDENSE_M0={}", group.x, group.y, rows);
  if (problem.flag("bias")) options += " -DDENSE_BIAS=1";
  if (problem.flag("residual")) options += " -DDENSE_RESIDUAL=1";
  if (problem.choice("act") != "none") options += " -DDENSE_ACT=" + problem.choice("act");
  return options;
}

/// A stride as a constant spares the loop over k an instruction or two a load. It costs a build of
/// its own, which only a large problem repays.
std::string fixed_stride(const Dense& dense, const char* define, int stride) {
  constexpr double kLarge = 1 << 22;
  return dense.multiply_adds() < kLarge ? "" : fmt::format(" -D{}={}", define, stride);
}

Launch launch(std::string kernel, const std::string& options, Group group, int columns, int rows,
              std::vector<Arg> args) {
  return {"dense.cl",
          std::move(kernel),
          options,
          {round_up(columns, group.x), round_up(rows, group.y), 1},
          {group.x, group.y, 1},
          std::move(args)};
}

/// What the kernels of tiles have in common.
struct Tiles {
  Dense dense;
  int columns, rows;  ///< of tiles; `rows` of y in each
  Group group;
  bool padded;  ///< x is copied into rows of whole, aligned vectors first
  Matrix x;     ///< as the kernel reads it
  std::string options;

  Tiles(const Problem& problem, int widest, const DeviceInfo& device, const PlanOptions& wanted)
      : dense(problem),
        columns(ceil_div(dense.n, kColumns)),
        rows(tile_rows(problem, device)),
        group(choose_group(columns, widest, device, wanted)),
        padded(dense.needs_padding()),
        x(padded ? Matrix{dense.padded_k(), 0} : dense.x),
        options(common_options(problem, group, rows) + fixed_stride(dense, "DENSE_LDX", x.ld)) {}
};

void add_padding(const Tiles& tiles, Plan& plan) {
  if (!tiles.padded) return;
  const Dense& dense = tiles.dense;
  plan.buffers.push_back({"x_padded", BufferSpec::Role::scratch, dense.padded_bytes()});
  plan.launches.push_back(launch(
      "dense_pack_x", tiles.options, tiles.group, tiles.x.ld / 4, dense.m,
      {BufferArg{"x"}, BufferArg{"x_padded"}, dense.m, dense.k, dense.x.ld, dense.x.offset}));
}

/// The arguments of a kernel that computes y: buffers, ints, alpha.
std::vector<Arg> arguments(const Dense& dense, const char* x, const char* w,
                           std::initializer_list<int> ints) {
  std::vector<Arg> args;
  const auto add = [&](bool present, const char* name) {
    if (present) {
      args.emplace_back(BufferArg{name});
    } else {
      args.emplace_back(NullArg{});
    }
  };
  add(true, x);
  add(true, w);
  add(dense.bias, "b");
  add(dense.residual, "r");
  add(true, "y");
  args.insert(args.end(), ints.begin(), ints.end());
  args.push_back(dense.alpha);
  return args;
}

void add_tiles(const char* kernel, const Tiles& tiles, const char* w,
               std::initializer_list<int> ints, Plan& plan) {
  const char* x = tiles.padded ? "x_padded" : "x";
  plan.launches.push_back(launch(kernel, tiles.options, tiles.group, tiles.columns,
                                 ceil_div(tiles.dense.m, tiles.rows),
                                 arguments(tiles.dense, x, w, ints)));
}

/// dense_nt and dense_nn, which differ in how they read w.
void plan_raw(const char* kernel, int widest, const Problem& problem, const DeviceInfo& device,
              const PlanOptions& wanted, Plan& plan) {
  Tiles tiles(problem, widest, device, wanted);
  const Dense& dense = tiles.dense;
  tiles.options += fixed_stride(dense, "DENSE_LDW", dense.w.ld);
  add_padding(tiles, plan);
  add_tiles(kernel, tiles, "w",
            {dense.m, dense.n, dense.k, tiles.x.ld, dense.w.ld, dense.r.ld, dense.y.ld,
             tiles.x.offset, dense.w.offset, dense.r.offset, dense.y.offset},
            plan);
}

// ---- variants ----

Reason cannot_vectorise_x(const Dense& dense, const DeviceInfo& device) {
  if (!dense.needs_padding()) return {};
  return too_large("padded x", dense.padded_bytes(), device);
}

Reason cannot_vectorise_w(const Dense& dense) {
  if (dense.k % 4 != 0) {
    return fmt::format("k={} is no multiple of 4, and raw w is not padded", dense.k);
  }
  if (dense.w.aligned()) return {};
  return fmt::format("w with row stride {} and offset {} has unaligned rows", dense.w.ld,
                     dense.w.offset);
}

std::int64_t packed_bytes(const Dense& dense, int panel) {
  const std::int64_t panels = ceil_div(dense.n, panel);
  return panels * panel * dense.padded_k() * size_of(dense.dtype);
}

Reason supports_packed(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = dense_not_offered(problem)) return reason;
  const Dense dense(problem);
  const std::int64_t bytes = packed_bytes(dense, kColumns * kPanelLanes);
  if (Reason reason = too_large("packed w", bytes, device)) return reason;
  return cannot_vectorise_x(dense, device);
}

void plan_packed(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                 Plan& plan) {
  const Tiles tiles(problem, kPanelLanes, device, wanted);
  const Dense& dense = tiles.dense;
  const int k = dense.padded_k();
  plan.buffers.push_back(
      {"w_packed", BufferSpec::Role::packed, packed_bytes(dense, kColumns * tiles.group.x)});
  plan.pack.push_back(launch("dense_pack_w", tiles.options, tiles.group, tiles.columns, k,
                             {BufferArg{"w"}, BufferArg{"w_packed"}, dense.n, dense.k,
                              dense.step_n(), dense.step_k(), dense.w.offset}));
  add_padding(tiles, plan);
  add_tiles("dense_packed", tiles, "w_packed",
            {dense.m, dense.n, k, tiles.x.ld, dense.r.ld, dense.y.ld, tiles.x.offset,
             dense.r.offset, dense.y.offset},
            plan);
}

Reason supports_nt(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = dense_not_offered(problem)) return reason;
  const Dense dense(problem);
  if (!dense.trans_w) return "w lies as w[k,n]";
  if (dense.n < kColumns) {
    return fmt::format("n={} is under the {} columns of a tile", dense.n, kColumns);
  }
  if (Reason reason = cannot_vectorise_w(dense)) return reason;
  return cannot_vectorise_x(dense, device);
}

void plan_nt(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
             Plan& plan) {
  plan_raw("dense_nt", kSquareLanes, problem, device, wanted, plan);
}

Reason supports_nn(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = dense_not_offered(problem)) return reason;
  const Dense dense(problem);
  if (dense.trans_w) return "w lies as w[n,k]";
  if (dense.n % kColumns != 0) return fmt::format("n={} is no multiple of {}", dense.n, kColumns);
  if (Reason reason = cannot_vectorise_w(dense)) return reason;
  return cannot_vectorise_x(dense, device);
}

void plan_nn(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
             Plan& plan) {
  plan_raw("dense_nn", kPanelLanes, problem, device, wanted, plan);
}

Reason supports_plain(const Problem& problem, const DeviceInfo&) {
  return dense_not_offered(problem);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const Dense dense(problem);
  const int widest = dense.trans_w ? kSquareLanes : kPanelLanes;
  const Group group = choose_group(dense.n, widest, device, wanted);
  const std::string options = common_options(problem, group, tile_rows(problem, device));
  std::vector<Arg> args =
      arguments(dense, "x", "w",
                {dense.m, dense.n, dense.k, dense.x.ld, dense.step_n(), dense.step_k(), dense.r.ld,
                 dense.y.ld, dense.x.offset, dense.w.offset, dense.r.offset, dense.y.offset});
  plan.launches.push_back(launch("dense_plain", options, group, dense.n, dense.m, std::move(args)));
}

}  // namespace

Reason dense_not_offered(const Problem& problem) {
  if (problem.choice("acc") != "f32") {
    return fmt::format("no kernel accumulates with acc={}", problem.choice("acc"));
  }
  if (problem.integer("k2") > 0) return "no kernel reads a second source of k (k2)";
  return {};
}

const Op& dense_op() {
  static const Op op{
      "dense",
      "y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n]",
      dense_fields(),
      check_dense,
      dense_tensors,
      {{"dense_packed", "weights packed once; the fastest", supports_packed, plan_packed},
       {"dense_nt", "weights that change, as w[n,k]", supports_nt, plan_nt},
       {"dense_nn", "weights that change, as w[k,n]", supports_nn, plan_nn},
       {"dense_plain", "any stride, offset and extent", supports_plain, plan_plain}},
      dense_data_sets(),
      dense_reference,
      dense_flops,
      dense_bytes,
      dense_cases(),
      dense_small_cases(),
      false,  // measures_native_exp2
      true,   // sums_products
  };
  return op;
}

}  // namespace clam
