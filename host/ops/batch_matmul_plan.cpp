// SPDX-License-Identifier: MIT
// batch_matmul_plan.cpp - how batch_matmul is computed.
#include "batch_matmul_plan.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "ops/shared/activation.hpp"
#include "ops/shared/matrix_tiling.hpp"

namespace clam::batch_matmul_plan {
namespace {

constexpr int kColumns = 4;      ///< of a vector
constexpr int kPanelLanes = 16;  ///< work-items of a group that read a row of b side by side
constexpr int kSquareLanes = 4;  ///< ... that read rows of b each: as many as read rows of a

// ---- launches ----

/// Strides as constants spare the loop over k an instruction or two a load, and registers. They
/// cost a build of their own, which only a large problem repays.
bool fixes_strides(const BatchMatmul& product) { return product.multiply_adds() >= 1 << 22; }

bool is_widened(const BatchMatmul& product) {
  return product.dtype == Dtype::f16 && product.acc == Acc::f32;
}

/// c and mask can be written and read by aligned vectors.
bool has_whole_rows(const BatchMatmul& product) {
  return product.n % kColumns == 0 && product.c.aligned();
}

/// The most sums of a work-item that do not spill.
int most_sums(const Problem& problem, const DeviceInfo& device) {
  const BatchMatmul product(problem);
  const std::string& act = problem.choice("act");
  const bool long_activation = act == "gelu" || act == "tanh";
  if (long_activation || (product.tb && product.acc != Acc::f32)) return 16;  // even and odd apart
  if (fixes_strides(product) && has_whole_rows(product)) return 40;
  if (product.ta || fixes_strides(product)) return 32;
  return product.tb || is_widened(product) || !is_mali(device) ? 24 : 16;
}

int widest_group(const BatchMatmul& product) { return product.tb ? kSquareLanes : kPanelLanes; }

TiledProduct product_of(const Problem& problem, const DeviceInfo& device) {
  constexpr double kMoves = 0.08;  // of the loop in parts, by the listings: _nt 0.06, chunks 0.08
  const BatchMatmul its(problem);
  TiledProduct product;
  product.kernel = fmt::format("batch_matmul_{}{}", its.ta ? 't' : 'n', its.tb ? 't' : 'n');
  product.batch = its.batch;
  product.left_items = its.a.items;
  product.right_items = its.b.items;
  product.m = its.m;
  product.n = its.n;
  product.k = its.k;
  product.dtype = its.dtype;
  product.acc = its.acc;
  product.highest = its.ta ? round_up(its.m, 4) : its.m;
  product.most_sums = most_sums(problem, device);
  product.one_vector = !fixes_strides(its);
  product.lanes = widest_group(its);
  product.left_size = product.right_size = size_of(its.dtype);
  product.shares_k = !its.ta && fixes_strides(its);
  if (its.tb || its.acc == Acc::chunk) product.moves = kMoves;
  product.lowers_groups = fixes_strides(its);
  return product;
}

std::vector<MatrixCut> cuts_of(const Problem& problem, const DeviceInfo& device,
                               const PlanOptions& wanted) {
  return matrix_cuts(product_of(problem, device), device, wanted);
}

std::string tile_options(const BatchMatmul& product, const MatrixCut& cut,
                         const DeviceInfo& device) {
  std::string options = fmt::format(" -DBMM_M0={}", cut.rows);
  if (cut.columns != kColumns) options += fmt::format(" -DBMM_N0={}", cut.columns);
  // The end of a trip costs as much as a load or two.
  const bool long_trips =
      !product.ta && product.acc == Acc::f32 && fixes_strides(product) && is_mali(device);
  if (long_trips && product.k % 16 == 0) options += " -DBMM_K0=16";
  if (cut.parts > 1) options += fmt::format(" -DBMM_PARTS={}", cut.parts);
  if (splits_addresses(device) && !(product.ta && product.tb)) options += " -DBMM_SPLIT=1";
  return options;
}

/// All launches of a problem take these, whether they use them or not, so that they share programs.
std::string common_options(const Problem& problem, Group group, const DeviceInfo& device) {
  const BatchMatmul product(problem);
  std::string options = dtype_option(product.dtype);
  options += fmt::format("-DBMM_LX={} -DBMM_LY={}", group.x, group.y);
  if (product.acc != Acc::f32)
    options += product.acc == Acc::chunk ? " -DBMM_ACC=1" : " -DBMM_ACC=2";
  if (product.mask != "none") options += " -DBMM_MASK=1";
  return options + act_options(problem, "BMM_ACT", device);
}

std::string fixed_strides(const BatchMatmul& product, const Stack& a, const Stack& b) {
  if (!fixes_strides(product)) return "";
  // c and mask by aligned vectors alone: without the other way a kernel is shorter.
  const bool whole = has_whole_rows(product);
  return fmt::format(" -DBMM_LDA={} -DBMM_LDB={}{}", a.ld, b.ld, whole ? " -DBMM_WHOLE=1" : "");
}

Launch launch(std::string kernel, const std::string& options, Group group, int columns, int rows,
              int items, std::vector<Arg> args, int parts = 1) {
  const bool transposed = kernel == "batch_matmul_tn" || kernel == "batch_matmul_tt";
  return group_launch(transposed ? "batch_matmul_transposed.cl" : "batch_matmul.cl",
                      std::move(kernel), options, group, columns, rows, items, std::move(args),
                      parts);
}

Arg mask_argument(const BatchMatmul& product) { return buffer_if(product.mask != "none", "mask"); }

/// The arguments of a kernel that computes c: buffers, ints, scale.
std::vector<Arg> arguments(const BatchMatmul& product, std::vector<Arg> buffers,
                           std::initializer_list<int> ints) {
  buffers.insert(buffers.end(), ints.begin(), ints.end());
  buffers.emplace_back(product.scale);
  return buffers;
}

// ---- padding ----

/// An operand of the kernels of tiles: read as it is, or copied into whole, aligned vectors first.
struct Operand {
  std::string name;    ///< of its tensor
  std::string source;  ///< of the buffer that the kernel reads
  Stack raw, read;

  bool padded() const { return source != name; }
  std::int64_t bytes(Dtype dtype) const {
    return std::int64_t{read.items} * read.rows * read.ld * size_of(dtype);
  }
};

/// `vectors`: vectors lie along the rows, over k or, where `along_k` is false, over m or n. k is
/// filled up in both directions, so that products with it are 0. `least`: rows of a tile.
Operand operand(const char* name, const Stack& raw, int k, bool along_k, int least) {
  const bool whole = raw.columns % 4 == 0 && k % 4 == 0 && raw.rows >= least;
  if (whole && raw.aligned()) return {name, name, raw, raw};
  const int rows = along_k ? std::max(raw.rows, least) : round_up(raw.rows, 4);
  const int ld = round_up(raw.columns, 4);
  const auto stride = static_cast<int>(std::int64_t{rows} * ld);  // refuses() sees to its size
  const Stack read{raw.items, rows, ld, ld, raw.items == 1 ? 0 : stride, 0};
  return {name, std::string(name) + "_padded", raw, read};
}

Operand operand_a(const BatchMatmul& product) {
  return operand("a", product.a, product.k, !product.ta, 1);
}

Operand operand_b(const BatchMatmul& product) {
  return operand("b", product.b, product.k, product.tb, product.tb ? kColumns : 1);
}

void add_padding(const Operand& operand, Dtype dtype, const std::string& options, Group group,
                 Plan& plan) {
  if (!operand.padded()) return;
  const Stack &raw = operand.raw, &read = operand.read;
  plan.buffers.push_back({operand.source, BufferSpec::Role::scratch, operand.bytes(dtype)});
  plan.launches.push_back(launch("batch_matmul_pad", options, group, read.ld / 4, read.rows,
                                 raw.items,
                                 arg_list(operand.name, operand.source, raw.rows, raw.columns,
                                          read.rows, raw.ld, raw.stride, raw.offset)));
}

// ---- variants ----

/// Copies cost a launch each: a problem that is over before they have started does not wait.
Reason not_worth_padding(const BatchMatmul& product) {
  constexpr double kRepays = 1 << 16;
  if (product.multiply_adds() >= kRepays) return {};
  return fmt::format("{} products take less time than the launch that aligns a or b",
                     product.multiply_adds());
}

Reason cannot_pad(const Operand& operand, Dtype dtype, const DeviceInfo& device) {
  if (!operand.padded()) return {};
  return too_large(("padded " + operand.name).c_str(), operand.bytes(dtype), device);
}

template <bool ta, bool tb>
Reason refuses_tiles(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = acc_not_offered(problem)) return reason;
  const BatchMatmul product(problem);
  if (product.ta != ta) return product.ta ? "a lies as a[k,m]" : "a lies as a[m,k]";
  if (product.tb != tb) return product.tb ? "b lies as b[n,k]" : "b lies as b[k,n]";
  if (ta && tb && product.acc != Acc::f32) return "this variant sums in float only: use acc=f32";
  const Operand a = operand_a(product), b = operand_b(product);
  if (!a.padded() && !b.padded()) return {};
  if (Reason reason = not_worth_padding(product)) return reason;
  if (Reason reason = cannot_pad(a, product.dtype, device)) return reason;
  return cannot_pad(b, product.dtype, device);
}

/// Of batch_matmul_tn and _tt.
std::vector<Arg> transposed_arguments(const BatchMatmul& product, const Operand& a,
                                      const Operand& b) {
  const Stack &c = product.c, &ra = a.read, &rb = b.read;
  return arguments(product, arg_list(a.source, b.source, mask_argument(product), "c"),
                   {product.m, product.n, round_up(product.k, 4), ra.ld, rb.ld, c.ld, ra.stride,
                    rb.stride, product.mask_stride(), c.stride, ra.offset, rb.offset, c.offset});
}

/// Of batch_matmul_nt and _nn, without a second source and without a residual.
std::vector<Arg> tile_arguments(const BatchMatmul& product, const Operand& a, const Operand& b) {
  const Stack &c = product.c, &ra = a.read, &rb = b.read;
  return arguments(product,
                   arg_list(a.source, NullArg{}, b.source, mask_argument(product), NullArg{}, "c"),
                   {product.m, product.n, round_up(product.k, 4), 0, ra.ld, 0, rb.ld, product.n, 0,
                    c.ld, ra.stride, rb.stride, product.mask_stride(), c.stride, ra.offset, 0,
                    rb.offset, 0, c.offset});
}

void plan_tiles(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const BatchMatmul product(problem);
  const Operand a = operand_a(product), b = operand_b(product);
  const MatrixCut cut = choose(cuts_of(problem, device, wanted), wanted);
  const Group group = cut.group;
  const int columns = ceil_div(product.n, cut.columns);
  const int rows = ceil_div(product.m, cut.rows);
  const std::string options = common_options(problem, group, device) +
                              tile_options(product, cut, device) +
                              fixed_strides(product, a.read, b.read);
  add_padding(a, product.dtype, options, group, plan);
  add_padding(b, product.dtype, options, group, plan);
  plan.launches.push_back(launch(
      plan.variant, options, group, columns, rows, product.batch,
      product.ta ? transposed_arguments(product, a, b) : tile_arguments(product, a, b), cut.parts));
  plan.clocks = cut.clocks.predicted;
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const BatchMatmul product(problem);
  const Stack &a = product.a, &b = product.b, &c = product.c;
  const Group group = choose_group(product.n, widest_group(product), device, wanted);
  const std::string options = common_options(problem, group, device);
  const int a_m = product.ta ? 1 : a.ld, a_k = product.ta ? a.ld : 1;
  const int b_k = product.tb ? 1 : b.ld, b_n = product.tb ? b.ld : 1;
  plan.launches.push_back(
      launch(plan.variant, options, group, product.n, product.m, product.batch,
             arguments(product, arg_list("a", "b", mask_argument(product), "c"),
                       {product.m, product.n, product.k, a_m, a_k, b_k, b_n, c.ld, a.stride,
                        b.stride, product.mask_stride(), c.stride, a.offset, b.offset, c.offset})));
}

}  // namespace

std::vector<Variant> variants() {
  return {{"batch_matmul_nt", "a[m,k] and b[n,k]", refuses_tiles<false, true>, plan_tiles, nullptr,
           tilings<cuts_of>},
          {"batch_matmul_nn", "a[m,k] and b[k,n]", refuses_tiles<false, false>, plan_tiles, nullptr,
           tilings<cuts_of>},
          {"batch_matmul_tn", "a[k,m] and b[k,n]", refuses_tiles<true, false>, plan_tiles, nullptr,
           tilings<cuts_of>},
          {"batch_matmul_tt", "a[k,m] and b[n,k]", refuses_tiles<true, true>, plan_tiles, nullptr,
           tilings<cuts_of>},
          {"batch_matmul_plain", "any stride, offset and extent", refuses_acc, plan_plain}};
}

}  // namespace clam::batch_matmul_plan
