// SPDX-License-Identifier: MIT
// dense.cpp - the fields of dense, and how it is computed.
#include "clam/gpu.hpp"
#include "ops/shared/activation.hpp"
#include "ops/shared/matrix_tiling.hpp"
#include "ops/shared/places.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

// ---- the problem ----

constexpr int kVector = 4;  ///< columns of a vector

/// Row stride and first element, in elements.
struct Matrix {
  int ld, offset;

  /// Every row starts on a multiple of four elements, so aligned 4-vectors can be loaded.
  bool aligned() const { return ld % 4 == 0 && offset % 4 == 0; }
};

Matrix matrix(const Problem& problem, const std::string& name, int row) {
  return {as_int(given_or(problem, "ld" + name, row)), problem.integer("off" + name)};
}

/// A matrix with rows of k, and the buffer that it is copied into where its rows are not whole,
/// aligned vectors. There is no second source where its k is 0.
struct Source {
  const char *name, *padded;
  int k;
  Matrix at;

  /// k filled up to whole vectors.
  int padded_k() const { return round_up(k, kVector); }
  bool needs_padding() const { return k % kVector != 0 || (k > 0 && !at.aligned()); }
  /// As the kernels of tiles read it.
  const char* read_from() const { return needs_padding() ? padded : name; }
  Matrix as_read() const { return needs_padding() ? Matrix{padded_k(), 0} : at; }
};

/// The extents, and where the matrices lie.
struct Dense {
  const Problem& problem;
  int m = problem.integer("m"), n = problem.integer("n");
  int k = problem.integer("k"), k2 = problem.integer("k2");
  bool trans_w = problem.integer("trans_w") == 1;
  bool bias = problem.flag("bias"), residual = problem.flag("residual");
  Dtype dtype = problem.dtype();
  Acc acc = accumulator(problem);
  Source x{"x", "x_padded", k, matrix(problem, "x", k)};
  Source x2{"x2", "x2_padded", k2, matrix(problem, "x2", k2)};
  Matrix w = matrix(problem, "w", trans_w ? k + k2 : n);
  Matrix r = matrix(problem, "r", n), y = matrix(problem, "y", n);

  explicit Dense(const Problem& problem) : problem(problem) {}
  /// The k of all sources, filled up to whole vectors.
  int padded_k() const { return x.padded_k() + x2.padded_k(); }
  /// Of a source with such rows.
  std::int64_t padded_bytes(const Source& source) const {
    return std::int64_t{m} * source.padded_k() * size_of(dtype);
  }
  /// From a weight to the one of the next column, and of the next k.
  int step_n() const { return trans_w ? w.ld : 1; }
  int step_k() const { return trans_w ? 1 : w.ld; }
  double multiply_adds() const { return 1.0 * m * n * (1.0 * k + k2); }
};

/// Words that say how a tensor lies need the tensor.
void check_presence(const Problem& problem, bool present, const std::string& name,
                    const std::string& needed) {
  for (const std::string& field : {"ld" + name, "off" + name}) {
    if (!present && problem.integer(field) != 0) bad_field(problem, field, "needs " + needed);
  }
}

void check_dense(const Problem& problem, Schema::Values& values) {
  const std::int64_t n = problem.integer("n"), k = problem.integer("k"), k2 = problem.integer("k2");
  check_acc(problem);
  check_act(problem, values);
  check_finite(problem, {"alpha"});
  check_presence(problem, k2 > 0, "x2", "k2");
  check_presence(problem, problem.flag("residual"), "r", "residual");
  check_row_stride(problem, values, "x", k);
  check_row_stride(problem, values, "x2", k2);
  check_row_stride(problem, values, "w", problem.integer("trans_w") == 1 ? k + k2 : n);
  check_row_stride(problem, values, "r", n);
  check_row_stride(problem, values, "y", n);
}

std::vector<Field> dense_fields() {
  return {extent("m", "rows of x and y"),
          extent("n", "columns of y"),
          extent("k", "products of a sum"),
          integer("k2", "products of a sum that come from a second source, x2", "0", 0),
          dtype_field(),
          acc_field(),
          integer("trans_w", "1: weights lie as w[n,k]; 0: as w[k,n]", "1", 0, 1),
          number("alpha", "factor of the sum", "1"),
          flag("bias", "b[n] is added"),
          flag("residual", "r[m,n] is added after the activation"),
          place("ldx", "row stride of x, in elements; 0: its row's length"),
          place("ldx2", "row stride of x2"),
          place("ldw", "row stride of w"),
          place("ldr", "row stride of r"),
          place("ldy", "row stride of y"),
          place("offx", "first element of x"),
          place("offx2", "first element of x2"),
          place("offw", "first element of w"),
          place("offr", "first element of r"),
          place("offy", "first element of y")};
}

std::vector<TensorSpec> dense_tensors(const Problem& problem) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  const std::int64_t k = problem.integer("k"), k2 = problem.integer("k2");
  const Dtype dtype = problem.dtype();
  const auto spec = [&](const TensorSpec& dense) {
    return placed(problem, dense, {"ld"}, {problem.integer("ld" + dense.name), 1});
  };
  const bool trans_w = problem.integer("trans_w") == 1, residual = problem.flag("residual");
  std::vector<TensorSpec> specs{spec(input("x", dtype, {m, k}))};
  if (k2 > 0) specs.push_back(spec(input("x2", dtype, {m, k2})));
  specs.push_back(spec(input("w", dtype, trans_w ? Shape{n, k + k2} : Shape{k + k2, n})));
  if (problem.flag("bias")) specs.push_back(input("b", dtype, {n}));
  if (residual) specs.push_back(spec(input("r", dtype, {m, n})));
  specs.push_back(spec(output("y", dtype, {m, n}, residual ? "r" : "")));
  return specs;
}

double flops(const Problem& problem) { return 2 * Dense(problem).multiply_adds(); }

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
  constexpr const char* kKernels[] = {"dense_both_packed", "dense_packed", "batch_matmul_nn",
                                      "batch_matmul_nt"};
  return kKernels[static_cast<int>(weights)];
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

Cut choose_cut(const Request& request, Weights weights) {
  const TiledProduct product = product_of(request.problem, weights, request.device);
  Cut cut{choose(matrix_cuts(product, request), request)};
  cut.trip = trip_of(Dense(request.problem), cut, weights, request.device);
  if (product.in_panels) cut.band = band_of(product, cut, request.device);
  return cut;
}

template <Weights weights>
std::vector<MatrixCut> cuts_of(const Request& request) {
  return matrix_cuts(product_of(request.problem, weights, request.device), request);
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
std::string common_options(const Kernels& kernels, const Request& request, const Cut& cut) {
  const Dense dense(request.problem);
  std::string options = dtype_option(dense.dtype);
  options += fmt::format("-D{0}_LX={1} -D{0}_LY={2} -D{0}_M0={3}", kernels.prefix, cut.group.x,
                         cut.group.y, cut.rows);
  if (cut.columns != kVector) options += kernels.option("N0", cut.columns);
  if (cut.trip != 4) options += kernels.option("K0", cut.trip);
  if (cut.parts > 1) options += kernels.option("PARTS", cut.parts);
  if (cut.band > 1) options += kernels.option("BAND", cut.band);
  if (dense.acc == Acc::chunk) options += kernels.option("ACC", 1);
  if (dense.acc == Acc::f16) options += kernels.option("ACC", 2);
  if (splits_addresses(request.device)) options += kernels.option("SPLIT", 1);
  if (fixes_strides(dense) && has_whole_rows(dense)) options += kernels.option("WHOLE", 1);
  if (dense.bias) options += kernels.option(kernels.bias, 1);
  if (dense.residual) options += kernels.option("RESIDUAL", 1);
  if (dense.k2 > 0) options += kernels.option("K2", 1);
  return options +
         act_options(request.problem, fmt::format("{}_ACT", kernels.prefix), request.device);
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

  Tiles(const Request& request, Weights weights)
      : kernels(weights == Weights::packed ? kPacked : kRaw),
        dense(request.problem),
        cut(choose_cut(request, weights)),
        x(dense.x.as_read()),
        x2(dense.x2.as_read()),
        options(common_options(kernels, request, cut) + fixed_strides(kernels, dense)) {
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
    plan.buffers.push_back(scratch(source.padded, dense.padded_bytes(source)));
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
  args.emplace_back(dense.problem.number("alpha"));
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
void plan_raw(const Request& request, Plan& plan) {
  Tiles tiles(request, weights);
  const Dense& dense = tiles.dense;
  add_padding(tiles, plan);
  if (fixes_strides(dense)) tiles.options += kRaw.option("LDB", dense.w.ld);
  const int one_row = 0, one_item = 0;  // strides
  add_tiles(kernel_of(weights), tiles, "w",
            {dense.m, dense.n, dense.k, dense.k2, tiles.x.ld, tiles.x2.ld, dense.w.ld, one_row,
             dense.r.ld, dense.y.ld, one_item, one_item, one_item, one_item, tiles.x.offset,
             tiles.x2.offset, dense.w.offset, dense.r.offset, dense.y.offset},
            request.device, plan);
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
  return reason_if(!dense.w.aligned(), "w with row stride {} and offset {} has unaligned rows",
                   dense.w.ld, dense.w.offset);
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
  plan.buffers.push_back(packed_w(packed_bytes(dense, dense.n, cut.panel(), stored)));
  plan.pack.push_back(launch(kPacked.file, "dense_pack_w", options, cut.group,
                             ceil_div(dense.n, cut.panel()) * cut.panel() / kVector,
                             dense.padded_k(),
                             arg_list("w", "w_packed", dense.n, dense.k, dense.k2, dense.step_n(),
                                      dense.step_k(), dense.w.offset)));
}

void plan_packed(const Request& request, Plan& plan) {
  const Tiles tiles(request, Weights::packed);
  const Dense& dense = tiles.dense;
  add_packed_w(dense, tiles.cut, tiles.options, weights_dtype(dense), plan);
  add_padding(tiles, plan);
  add_tiles(
      "dense_packed", tiles, "w_packed",
      {dense.m, dense.n, dense.x.padded_k(), dense.x2.padded_k(), tiles.x.ld, tiles.x2.ld,
       dense.r.ld, dense.y.ld, tiles.x.offset, tiles.x2.offset, dense.r.offset, dense.y.offset},
      request.device, plan);
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

void plan_both_packed(const Request& request, Plan& plan) {
  const Dense dense(request.problem);
  const Cut cut = choose_cut(request, Weights::both_packed);
  const std::string options = common_options(kPacked, request, cut);
  const int k = dense.padded_k(), tiles = ceil_div(dense.m, cut.rows);
  add_packed_w(dense, cut, options, summed_dtype(dense), plan);
  plan.buffers.push_back(
      scratch("x_packed", packed_bytes(dense, dense.m, cut.rows, summed_dtype(dense))));
  plan.launches.push_back(
      launch(kPacked.file, "dense_pack_x_panels", options, cut.group, k / 4, tiles * cut.rows / 4,
             arg_list("x", "x_packed", dense.m, dense.k, dense.x.at.ld, dense.x.at.offset)));
  plan.launches.push_back(launch(
      kPacked.file, "dense_both_packed", options, cut.group, ceil_div(dense.n, cut.columns), tiles,
      arguments(dense, {"x_packed", "w_packed"},
                {dense.m, dense.n, k, dense.r.ld, dense.y.ld, dense.r.offset, dense.y.offset}),
      /*parts=*/1, cut.band));
  plan.clocks = cut.clocks.predicted + pack_clocks(dense, cut, request.device);
}

/// Whether packing x each time pays: known of Mesa's Mali compilers alone.
Reason packed_outdone(const Problem& problem, const DeviceInfo& device,
                      const PlanOptions& options) {
  if (!splits_addresses(device) || refuses_both_packed(problem, device)) return {};
  const Dense dense(problem);
  if (stores_halves(dense)) return {};     // it would read twice the bytes
  if (dense.acc == Acc::chunk) return {};  // its tile of 8 rows spills beside an activation
  const Request request{problem, device, options};
  const double theirs = planned_clocks(planned(plan_both_packed), request);
  const double own = planned_clocks(planned(plan_packed), request);
  return reason_if(theirs < own, "dense_both_packed is predicted to take {:.3f} of its time",
                   theirs / own);
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

Launch plain(const Request& request) {
  const Dense dense(request.problem);
  Cut cut = choose_cut(request, dense.trans_w ? Weights::rows : Weights::columns);
  cut.group = choose_group(dense.n, dense.trans_w ? kSquareLanes : kPanelLanes, request);
  cut.parts = 1;
  const Matrix x = dense.x.at, x2 = dense.x2.at;
  std::vector<Arg> args = arguments(
      dense, {"x", dense.k2 > 0 ? "x2" : "", "w"},
      {dense.m, dense.n, dense.k, dense.k2, x.ld, x2.ld, dense.step_n(), dense.step_k(), dense.r.ld,
       dense.y.ld, x.offset, x2.offset, dense.w.offset, dense.r.offset, dense.y.offset});
  return launch(kPacked.file, "dense_plain", common_options(kPacked, request, cut), cut.group,
                dense.n, dense.m, std::move(args));
}

}  // namespace

Op dense_op() {
  Op op{{"dense", "y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n]; k runs on in x2",
         with_activation(dense_fields(), "ldx"), check_dense, dense_tensors},
        {{"dense_packed", "weights packed once", refuses_packed, planned(plan_packed),
          packed_outdone, tilings(cuts_of<Weights::packed>)},
         {"dense_both_packed", "weights packed once, x each time", refuses_both_packed,
          planned(plan_both_packed), nullptr, tilings(cuts_of<Weights::both_packed>)},
         {"dense_nt", "weights that change, as w[n,k]", refuses_raw<Weights::rows>,
          planned(plan_raw<Weights::rows>), nullptr, tilings(cuts_of<Weights::rows>)},
         {"dense_nn", "weights that change, as w[k,n]", refuses_raw<Weights::columns>,
          planned(plan_raw<Weights::columns>), nullptr, tilings(cuts_of<Weights::columns>)},
         {"dense_plain", "any stride, offset and extent", refuses_acc, planned(plain)}},
        flops};
  op.takes_native_exp2 = takes_exp;
  op.sums_products = true;
  return op;
}

}  // namespace clam
