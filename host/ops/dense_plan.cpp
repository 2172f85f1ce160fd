// SPDX-License-Identifier: MIT
// dense_plan.cpp - how dense is computed.
#include "dense_plan.hpp"

#include <fmt/core.h>

#include "clam/gpu.hpp"
#include "ops/shared/activation.hpp"
#include "ops/shared/group_order.hpp"
#include "ops/shared/matrix_tiling.hpp"

namespace clam::dense_plan {
namespace {

constexpr int kPanelLanes = 16;  ///< work-items of a group that read a row of w side by side
constexpr int kSquareLanes = 4;  ///< ... that read rows of w each: as many as read rows of x

// ---- tiles ----

/// How a kernel reads w: packed (and x packed too), or raw, by vectors of columns or in rows of k.
enum class Weights { both_packed, packed, columns, rows };

/// How a kernel cuts y.
struct Cut : MatrixCut {
  int trip = 4;  ///< k that a loop sums before it starts again
  int band = 1;  ///< rows of groups that run one after another

  int panel() const { return columns * group.x; }
};

/// A stride as a constant spares the loop over k an instruction or two a load, and registers. It
/// costs a build of its own, which only a large problem repays.
bool fixes_strides(const Dense& dense) { return dense.multiply_adds() >= 1 << 22; }

/// With few rows the time is that of reading w. Then packed halves stay halves where sums are
/// float, and the loop widens them.
bool stores_halves(const Dense& dense) {
  constexpr int kFewRows = 16;
  return dense.dtype == Dtype::f16 && dense.acc == Acc::f32 && dense.m <= kFewRows;
}

/// How packed operands are stored where they lie as they are summed.
Dtype summed_dtype(const Dense& dense) { return dense.acc == Acc::f32 ? Dtype::f32 : Dtype::f16; }

/// How dense_packed's weights are.
Dtype weights_dtype(const Dense& dense) {
  return stores_halves(dense) ? Dtype::f16 : summed_dtype(dense);
}

/// y, r and b can be written and read by aligned vectors: without the other way a kernel is
/// shorter.
bool has_whole_rows(const Dense& dense) {
  return dense.n % kVector == 0 && dense.y.aligned() && (!dense.residual || dense.r.aligned());
}

bool has_long_activation(const Problem& problem, const DeviceInfo& device) {
  const std::string& act = problem.choice("act");
  return act == "tanh" || (act == "gelu" && !takes_native(problem, device));
}

/// Sums that do not spill. There are fewer beside a long activation or beside strides, and on a
/// Midgard at all.
int most_sums(const Problem& problem, Weights weights, const DeviceInfo& device) {
  constexpr int kFew = 16, kSome = 24, kMany = 32, kAny = 0;
  const Gpu* gpu = gpu_of(device);
  const bool midgard = gpu && gpu->family == Gpu::Family::midgard;
  if (midgard || has_long_activation(problem, device)) return kFew;
  const Dense dense(problem);
  if (weights == Weights::both_packed) return kAny;
  const bool odd_columns = weights == Weights::columns && !has_whole_rows(dense);
  if (fixes_strides(dense)) return dense.k2 > 0 || odd_columns ? kMany : kAny;
  if (is_mali(device)) return kFew;
  return weights == Weights::packed ? kAny : kSome;
}

const char* kernel_of(Weights weights) {
  switch (weights) {
    case Weights::both_packed:
      return "dense_both_packed";
    case Weights::packed:
      return "dense_packed";
    case Weights::columns:
      return "batch_matmul_nn";
    case Weights::rows:
      return "batch_matmul_nt";
  }
  return "";
}

TiledProduct product_of(const Problem& problem, Weights weights, const DeviceInfo& device) {
  constexpr double kMoves = 0.06;  // of the loop in parts, by the listings
  const Dense dense(problem);
  const bool both = weights == Weights::both_packed, packed = both || weights == Weights::packed;
  TiledProduct product;
  product.kernel = kernel_of(weights);
  product.m = dense.m;
  product.n = dense.n;
  product.k = dense.padded_k();
  product.dtype = dense.dtype;
  product.acc = dense.acc;
  product.highest = both ? 0 : dense.m;
  product.most_sums = most_sums(problem, weights, device);
  product.lanes = weights == Weights::rows ? kSquareLanes : kPanelLanes;
  product.in_panels = packed;
  product.left_size = size_of(both ? summed_dtype(dense) : dense.dtype);
  product.right_size = size_of(both     ? summed_dtype(dense)
                               : packed ? weights_dtype(dense)
                                        : dense.dtype);
  if (weights == Weights::packed && stores_halves(dense)) product.widening = 4;
  product.shares_k = !both;
  product.lowers_groups = fixes_strides(dense);
  // By the listings, one row leaves the loop a register to spare, but two do in chunks.
  if (dense.acc != Acc::chunk) product.most_lanes = kPanelLanes;
  if (weights == Weights::rows) {
    product.moves = kMoves;
  } else {
    product.best_in_one_row = dense.acc != Acc::chunk;
  }
  return product;
}

/// The k of a trip. On a Mali, its end costs as much as a load or two. With acc=f16 a longer one
/// pays where loads leave it the registers; it loads eight k of x at once.
int trip_of(const Dense& dense, const Cut& cut, Weights weights, const DeviceInfo& device) {
  const auto may_be = [&](int trip) {
    return (dense.x.padded_k() | dense.x2.padded_k()) % trip == 0;
  };
  const bool long_trips = dense.acc == Acc::f32 && fixes_strides(dense) && is_mali(device);
  if (long_trips && may_be(16)) return 16;
  if (cut.columns == kVector && weights != Weights::both_packed) return 4;
  const Matrix x = dense.x.as_read(), x2 = dense.x2.as_read();
  const bool in_eights = (x.ld | x.offset | x2.ld | x2.offset) % 8 == 0;
  if (dense.acc == Acc::f16 && weights == Weights::packed && !in_eights) return 4;
  return may_be(8) ? 8 : 4;
}

/// Groups of rows that follow one another.
int band_of(const TiledProduct& product, const Cut& cut, const DeviceInfo& device) {
  GroupGrid grid;
  grid.rows = ceil_div(ceil_div(product.m, cut.rows), cut.group.y);
  grid.columns = ceil_div(ceil_div(product.n, cut.columns), cut.group.x);
  grid.row_bytes = 1.0 * cut.rows * cut.group.y * product.k * product.left_size;
  grid.column_bytes = 1.0 * cut.columns * cut.group.x * product.k * product.right_size;
  const double items = 1.0 * cut.group.x * cut.group.y * cut.parts;
  return choose_band(grid, items, cut.clocks.predicted, device);
}

Cut choose_cut(const Problem& problem, Weights weights, const DeviceInfo& device,
               const PlanOptions& wanted) {
  const TiledProduct product = product_of(problem, weights, device);
  Cut cut{choose(matrix_cuts(product, device, wanted), wanted)};
  cut.trip = trip_of(Dense(problem), cut, weights, device);
  if (product.in_panels) cut.band = band_of(product, cut, device);
  return cut;
}

template <Weights weights>
std::vector<MatrixCut> cuts_of(const Problem& problem, const DeviceInfo& device,
                               const PlanOptions& wanted) {
  return matrix_cuts(product_of(problem, weights, device), device, wanted);
}

// ---- launches ----

/// A kernel file, and what its options are called.
struct Kernels {
  const char *file, *prefix;
  const char *bias, *ldx, *ldx2;

  std::string option(const char* name, int value) const {
    return fmt::format(" -D{}_{}={}", prefix, name, value);
  }
};
constexpr Kernels kPacked{"dense.cl", "DENSE", "BIAS", "LDX", "LDX2"};
constexpr Kernels kRaw{"batch_matmul.cl", "BMM", "MASK", "LDA", "LDA2"};

/// All launches of a problem take these, whether they use them or not, so that they share programs.
std::string common_options(const Kernels& kernels, const Problem& problem, const Cut& cut,
                           const DeviceInfo& device) {
  const Dense dense(problem);
  std::string options = dtype_option(dense.dtype);
  options += fmt::format("-D{0}_LX={1} -D{0}_LY={2} -D{0}_M0={3}", kernels.prefix, cut.group.x,
                         cut.group.y, cut.rows);
  if (cut.columns != kVector) options += kernels.option("N0", cut.columns);
  if (cut.trip != 4) options += kernels.option("K0", cut.trip);
  if (cut.parts > 1) options += kernels.option("PARTS", cut.parts);
  if (cut.band > 1) options += kernels.option("BAND", cut.band);
  if (dense.acc == Acc::chunk) options += kernels.option("ACC", 1);
  if (dense.acc == Acc::f16) options += kernels.option("ACC", 2);
  if (splits_addresses(device)) options += kernels.option("SPLIT", 1);
  if (fixes_strides(dense) && has_whole_rows(dense)) options += kernels.option("WHOLE", 1);
  if (dense.bias) options += kernels.option(kernels.bias, 1);
  if (dense.residual) options += kernels.option("RESIDUAL", 1);
  if (dense.k2 > 0) options += kernels.option("K2", 1);
  return options + act_options(problem, fmt::format("{}_ACT", kernels.prefix), device);
}

Launch launch(const char* file, std::string kernel, const std::string& options, Group group,
              int columns, int rows, std::vector<Arg> args, int parts = 1, int band = 1) {
  return {file,
          std::move(kernel),
          options,
          {round_up(columns, group.x) * band, round_up(rows, group.y * band) / band, parts},
          {group.x, group.y, parts},
          std::move(args)};
}

std::string fixed_strides(const Kernels& kernels, const Dense& dense) {
  if (!fixes_strides(dense)) return "";
  const std::string x = kernels.option(kernels.ldx, dense.x.as_read().ld);
  return dense.k2 > 0 ? x + kernels.option(kernels.ldx2, dense.x2.as_read().ld) : x;
}

/// What the kernels of tiles have in common.
struct Tiles {
  Kernels kernels;
  Dense dense;
  Cut cut;
  Matrix x, x2;  ///< as the kernel reads them
  std::string options;

  Tiles(const Problem& problem, Weights weights, const DeviceInfo& device,
        const PlanOptions& wanted)
      : kernels(weights == Weights::packed ? kPacked : kRaw),
        dense(problem),
        cut(choose_cut(problem, weights, device, wanted)),
        x(dense.x.as_read()),
        x2(dense.x2.as_read()),
        options(common_options(kernels, problem, cut, device) + fixed_strides(kernels, dense)) {
    if (weights == Weights::packed && stores_halves(dense)) options += kernels.option("STORED", 1);
  }
};

/// What a launch that writes a source anew adds to the time of a problem.
double x_launch_clocks(const Dense& dense, const Source& source, double item_instructions,
                       int item_elements, std::int64_t written, const DeviceInfo& device) {
  const double elements = 1.0 * dense.m * source.padded_k();
  Work work;
  work.items = elements / item_elements;
  work.instructions = item_instructions;
  work.dram = elements * size_of(dense.dtype) + static_cast<double>(written);
  return clocks_of(work, device).predicted + kLaunchClocks;
}

double padding_clocks(const Dense& dense, const DeviceInfo& device) {
  constexpr double kInstructions = 50;  // of four k
  double clocks = 0;
  for (const Source& source : {dense.x, dense.x2}) {
    if (!source.needs_padding()) continue;
    clocks +=
        x_launch_clocks(dense, source, kInstructions, kVector, dense.padded_bytes(source), device);
  }
  return clocks;
}

void add_padding(const Tiles& tiles, Plan& plan) {
  const Dense& dense = tiles.dense;
  const bool raw = tiles.kernels.file == std::string(kRaw.file);
  for (const Source& source : {dense.x, dense.x2}) {
    if (!source.needs_padding()) continue;
    plan.buffers.push_back({source.padded, BufferSpec::Role::scratch, dense.padded_bytes(source)});
    std::vector<Arg> args = arg_list(source.name, source.padded, dense.m, source.k);
    if (raw) args.insert(args.end(), {dense.m, source.at.ld, 0});
    if (!raw) args.emplace_back(source.at.ld);
    args.emplace_back(source.at.offset);
    plan.launches.push_back(launch(tiles.kernels.file, raw ? "batch_matmul_pad" : "dense_pack_x",
                                   tiles.options, tiles.cut.group, source.padded_k() / kVector,
                                   dense.m, std::move(args)));
  }
}

/// The arguments of a kernel that computes y: the buffers that it reads sums from, those of what
/// follows a sum, ints, alpha. An empty name is a null.
std::vector<Arg> arguments(const Dense& dense, std::initializer_list<const char*> read,
                           std::initializer_list<int> ints) {
  std::vector<Arg> args;
  for (const char* name : read) args.push_back(buffer_if(*name, name));
  for (const Arg& arg : arg_list(buffer_if(dense.bias, "b"), buffer_if(dense.residual, "r"), "y")) {
    args.push_back(arg);
  }
  args.insert(args.end(), ints.begin(), ints.end());
  args.push_back(dense.alpha);
  return args;
}

void add_tiles(const char* kernel, const Tiles& tiles, const char* w,
               std::initializer_list<int> ints, const DeviceInfo& device, Plan& plan) {
  const Dense& dense = tiles.dense;
  const char* x2 = dense.k2 > 0 ? dense.x2.read_from() : "";
  plan.launches.push_back(launch(
      tiles.kernels.file, kernel, tiles.options, tiles.cut.group,
      ceil_div(dense.n, tiles.cut.columns), ceil_div(dense.m, tiles.cut.rows),
      arguments(dense, {dense.x.read_from(), x2, w}, ints), tiles.cut.parts, tiles.cut.band));
  plan.clocks = tiles.cut.clocks.predicted + padding_clocks(dense, device);
}

/// Weights as they are: a batch_matmul of one batch item, whose mask has one row, the bias.
template <Weights weights>
void plan_raw(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  Tiles tiles(problem, weights, device, wanted);
  const Dense& dense = tiles.dense;
  add_padding(tiles, plan);
  if (fixes_strides(dense)) tiles.options += kRaw.option("LDB", dense.w.ld);
  const int one_row = 0, one_item = 0;  // strides
  add_tiles(kernel_of(weights), tiles, "w",
            {dense.m, dense.n, dense.k, dense.k2, tiles.x.ld, tiles.x2.ld, dense.w.ld, one_row,
             dense.r.ld, dense.y.ld, one_item, one_item, one_item, one_item, tiles.x.offset,
             tiles.x2.offset, dense.w.offset, dense.r.offset, dense.y.offset},
            device, plan);
}

// ---- variants ----

Reason cannot_vectorise_x(const Dense& dense, const DeviceInfo& device) {
  for (const Source& source : {dense.x, dense.x2}) {
    if (!source.needs_padding()) continue;
    const std::string what = std::string("padded ") + source.name;
    if (Reason reason = too_large(what.c_str(), dense.padded_bytes(source), device)) return reason;
  }
  return {};
}

Reason cannot_vectorise_w(const Dense& dense) {
  if (dense.k % kVector != 0) {
    return fmt::format("k={} is no multiple of 4, and raw w is not padded", dense.k);
  }
  if (dense.k2 % kVector != 0) {
    return fmt::format("k2={} is no multiple of 4, and raw w is not padded", dense.k2);
  }
  if (dense.w.aligned()) return {};
  return fmt::format("w with row stride {} and offset {} has unaligned rows", dense.w.ld,
                     dense.w.offset);
}

/// Of `lines` columns of w or rows of x in panels.
std::int64_t packed_bytes(const Dense& dense, int lines, int panel, Dtype stored) {
  return std::int64_t{ceil_div(lines, panel)} * panel * dense.padded_k() * size_of(stored);
}

Reason refuses_packed(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = acc_not_offered(problem)) return reason;
  const Dense dense(problem);
  const std::int64_t bytes =
      packed_bytes(dense, dense.n, 2 * kVector * kPanelLanes, weights_dtype(dense));
  if (Reason reason = too_large("packed w", bytes, device)) return reason;
  return cannot_vectorise_x(dense, device);
}

void add_packed_w(const Dense& dense, const Cut& cut, const std::string& options, Dtype stored,
                  Plan& plan) {
  plan.buffers.push_back(
      {"w_packed", BufferSpec::Role::packed, packed_bytes(dense, dense.n, cut.panel(), stored)});
  plan.pack.push_back(launch(kPacked.file, "dense_pack_w", options, cut.group,
                             ceil_div(dense.n, cut.panel()) * cut.panel() / kVector,
                             dense.padded_k(),
                             arg_list("w", "w_packed", dense.n, dense.k, dense.k2, dense.step_n(),
                                      dense.step_k(), dense.w.offset)));
}

void plan_packed(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                 Plan& plan) {
  const Tiles tiles(problem, Weights::packed, device, wanted);
  const Dense& dense = tiles.dense;
  add_packed_w(dense, tiles.cut, tiles.options, weights_dtype(dense), plan);
  add_padding(tiles, plan);
  add_tiles(
      "dense_packed", tiles, "w_packed",
      {dense.m, dense.n, dense.x.padded_k(), dense.x2.padded_k(), tiles.x.ld, tiles.x2.ld,
       dense.r.ld, dense.y.ld, tiles.x.offset, tiles.x2.offset, dense.r.offset, dense.y.offset},
      device, plan);
}

// ---- x packed too ----

Reason refuses_both_packed(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_packed(problem, device)) return reason;
  constexpr int kHighest = 8;
  const Dense dense(problem);
  if (dense.k2 > 0) return "x is packed from one source alone, without k2";
  const std::int64_t bytes =
      packed_bytes(dense, dense.n, 2 * kVector * kPanelLanes, summed_dtype(dense));
  if (Reason reason = too_large("packed w", bytes, device)) return reason;
  return too_large("packed x", packed_bytes(dense, dense.m, kHighest, summed_dtype(dense)), device);
}

double pack_clocks(const Dense& dense, const Cut& cut, const DeviceInfo& device) {
  constexpr double kInstructions = 150;  // of four rows at four k
  return x_launch_clocks(dense, dense.x, kInstructions, 16,
                         packed_bytes(dense, dense.m, cut.rows, summed_dtype(dense)), device);
}

/// Whether packing x each time pays: known of Mesa's Mali compilers alone.
Reason packed_outdone(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) {
  if (!splits_addresses(device) || refuses_both_packed(problem, device)) return {};
  const Dense dense(problem);
  if (stores_halves(dense)) return {};     // it would read twice the bytes
  if (dense.acc == Acc::chunk) return {};  // its tile of 8 rows spills beside an activation
  const Cut both = choose_cut(problem, Weights::both_packed, device, wanted);
  const Cut packed = choose_cut(problem, Weights::packed, device, wanted);
  const double theirs = both.clocks.predicted + pack_clocks(dense, both, device);
  const double own = packed.clocks.predicted + padding_clocks(dense, device);
  if (theirs >= own) return {};
  return fmt::format("dense_both_packed is predicted to take {:.3f} of its time", theirs / own);
}

void plan_both_packed(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                      Plan& plan) {
  const Dense dense(problem);
  const Cut cut = choose_cut(problem, Weights::both_packed, device, wanted);
  const std::string options = common_options(kPacked, problem, cut, device);
  const int k = dense.padded_k(), tiles = ceil_div(dense.m, cut.rows);
  add_packed_w(dense, cut, options, summed_dtype(dense), plan);
  plan.buffers.push_back({"x_packed", BufferSpec::Role::scratch,
                          packed_bytes(dense, dense.m, cut.rows, summed_dtype(dense))});
  plan.launches.push_back(
      launch(kPacked.file, "dense_pack_x_panels", options, cut.group, k / 4, tiles * cut.rows / 4,
             arg_list("x", "x_packed", dense.m, dense.k, dense.x.at.ld, dense.x.at.offset)));
  plan.launches.push_back(launch(
      kPacked.file, "dense_both_packed", options, cut.group, ceil_div(dense.n, cut.columns), tiles,
      arguments(dense, {"x_packed", "w_packed"},
                {dense.m, dense.n, k, dense.r.ld, dense.y.ld, dense.r.offset, dense.y.offset}),
      /*parts=*/1, cut.band));
  plan.clocks = cut.clocks.predicted + pack_clocks(dense, cut, device);
}

// ---- w as it is ----

template <Weights weights>
Reason refuses_raw(const Problem& problem, const DeviceInfo& device) {
  constexpr bool rows = weights == Weights::rows;
  if (Reason reason = acc_not_offered(problem)) return reason;
  const Dense dense(problem);
  if (dense.trans_w != rows) return rows ? "w lies as w[k,n]" : "w lies as w[n,k]";
  if (rows && dense.n < kVector) {
    return fmt::format("n={} is under the {} columns of a tile", dense.n, kVector);
  }
  if (!rows && dense.n % kVector != 0) {
    return fmt::format("n={} is no multiple of {}", dense.n, kVector);
  }
  if (Reason reason = cannot_vectorise_w(dense)) return reason;
  return cannot_vectorise_x(dense, device);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const Dense dense(problem);
  Cut cut = choose_cut(problem, dense.trans_w ? Weights::rows : Weights::columns, device, wanted);
  cut.group = choose_group(dense.n, dense.trans_w ? kSquareLanes : kPanelLanes, device, wanted);
  cut.parts = 1;
  const std::string options = common_options(kPacked, problem, cut, device);
  const Matrix x = dense.x.at, x2 = dense.x2.at;
  std::vector<Arg> args = arguments(
      dense, {"x", dense.k2 > 0 ? "x2" : "", "w"},
      {dense.m, dense.n, dense.k, dense.k2, x.ld, x2.ld, dense.step_n(), dense.step_k(), dense.r.ld,
       dense.y.ld, x.offset, x2.offset, dense.w.offset, dense.r.offset, dense.y.offset});
  plan.launches.push_back(
      launch(kPacked.file, "dense_plain", options, cut.group, dense.n, dense.m, std::move(args)));
}

}  // namespace

std::vector<Variant> variants() {
  return {{"dense_packed", "weights packed once", refuses_packed, plan_packed, packed_outdone,
           tilings<cuts_of<Weights::packed>>},
          {"dense_both_packed", "weights packed once, x each time", refuses_both_packed,
           plan_both_packed, nullptr, tilings<cuts_of<Weights::both_packed>>},
          {"dense_nt", "weights that change, as w[n,k]", refuses_raw<Weights::rows>,
           plan_raw<Weights::rows>, nullptr, tilings<cuts_of<Weights::rows>>},
          {"dense_nn", "weights that change, as w[k,n]", refuses_raw<Weights::columns>,
           plan_raw<Weights::columns>, nullptr, tilings<cuts_of<Weights::columns>>},
          {"dense_plain", "any stride, offset and extent", refuses_acc, plan_plain}};
}

}  // namespace clam::dense_plan
