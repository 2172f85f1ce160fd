// SPDX-License-Identifier: MIT
// dense.cpp - the fields of dense, and how it is computed.
#include "dense.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/activation.hpp"
#include "ops/shared/geometry.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;       ///< columns of a vector
constexpr int kSharing = 64;     ///< work-items of a group that share k, at most
constexpr int kPartLanes = 16;   ///< ... that have the same part, but of chunks
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
  int m, n, k, k2;
  bool trans_w, bias, residual;
  Dtype dtype;
  Acc acc;
  float alpha;
  Source x, x2;
  Matrix w, r, y;

  explicit Dense(const Problem& problem)
      : m(problem.integer("m")),
        n(problem.integer("n")),
        k(problem.integer("k")),
        k2(problem.integer("k2")),
        trans_w(problem.integer("trans_w") == 1),
        bias(problem.flag("bias")),
        residual(problem.flag("residual")),
        dtype(problem.dtype()),
        acc(accumulator(problem)),
        alpha(problem.number("alpha")),
        x{"x", "x_padded", k, matrix(problem, "x", k)},
        x2{"x2", "x2_padded", k2, matrix(problem, "x2", k2)},
        w(matrix(problem, "w", trans_w ? k + k2 : n)),
        r(matrix(problem, "r", n)),
        y(matrix(problem, "y", n)) {}

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
  check_acc(problem);
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
          acc_field(),
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

// ---- tiles ----

/// How a kernel reads w: packed (and x packed too), or raw, by vectors of columns or in rows of k.
enum class Weights { both_packed, packed, columns, rows };

/// A tile, and what a work-item issues for it on a Mali-G610 (Mesa 25.0): for 4 k, and around the
/// loop over k.
struct Tile {
  int rows, columns;
  double four_k, rest;
};

/// Of the kernels with addresses in two halves. Sums of more than 24 (32 by vectors of columns)
/// numbers would spill.
const std::vector<Tile>& mali_tiles(Weights weights, Acc acc, Dtype dtype) {
  static const std::vector<Tile> f32{{4, 8, 169, 260}, {6, 4, 138, 220}, {4, 4, 98, 170},
                                     {2, 8, 107, 170}, {2, 4, 59, 120},  {1, 4, 45, 90}};
  static const std::vector<Tile> f32_rows{
      {6, 4, 131, 220}, {4, 4, 95, 170}, {2, 4, 66, 120}, {1, 4, 52, 90}};
  static const std::vector<Tile> half_packed{
      {4, 8, 185, 300}, {6, 4, 163, 250}, {4, 4, 114, 190}, {2, 4, 75, 130}, {1, 4, 56, 100}};
  static const std::vector<Tile> half_columns{
      {4, 8, 217, 300}, {6, 4, 187, 250}, {4, 4, 131, 190}, {2, 4, 90, 130}, {1, 4, 68, 100}};
  static const std::vector<Tile> half_rows{
      {8, 4, 217, 320}, {6, 4, 178, 250}, {4, 4, 131, 190}, {2, 4, 90, 130}, {1, 4, 68, 100}};
  static const std::vector<Tile> chunks{
      {6, 4, 87.1, 260}, {4, 4, 62.9, 200}, {2, 4, 40.3, 140}, {1, 4, 30, 100}};
  static const std::vector<Tile> chunks_rows{{4, 4, 63.6, 200}, {2, 4, 45, 140}, {1, 4, 33, 100}};
  // Mesa 25 does not multiply in pairs what a loop carries: acc=f16 takes the time of f32.
  static const std::vector<Tile> halves{
      {4, 8, 183, 280}, {4, 4, 97, 190}, {2, 4, 60, 130}, {1, 4, 46, 100}};
  static const std::vector<Tile> halves_rows{{4, 4, 93, 200}, {2, 4, 66, 140}, {1, 4, 52, 100}};
  const bool rows = weights == Weights::rows;
  if (acc == Acc::f16) return rows ? halves_rows : halves;
  if (acc == Acc::chunk) return rows ? chunks_rows : chunks;
  if (dtype == Dtype::f32) return rows ? f32_rows : f32;
  return rows ? half_rows : weights == Weights::packed ? half_packed : half_columns;
}

/// Of dense_both_packed, whose operands are stored as they are summed: halves with float sums are
/// floats to it.
const std::vector<Tile>& both_packed_tiles(Acc acc) {
  static const std::vector<Tile> floats{{8, 4, 167, 260}, {4, 4, 90.5, 170}};
  static const std::vector<Tile> chunks{{8, 4, 109, 300}, {4, 4, 68.4, 200}};
  static const std::vector<Tile> halves{{4, 8, 183, 280}, {4, 4, 97, 190}};
  return acc == Acc::f32 ? floats : acc == Acc::chunk ? chunks : halves;
}

/// Where compilers add up whole addresses: none with two vectors, which cost PoCL half its speed.
const std::vector<Tile>& other_tiles() {
  static const std::vector<Tile> tiles{
      {6, 4, 146, 220}, {4, 4, 106, 170}, {2, 4, 66, 120}, {1, 4, 52, 90}};
  return tiles;
}

/// The registers of a Midgard hold no more.
const std::vector<Tile>& midgard_tiles() {
  static const std::vector<Tile> tiles{{4, 4, 106, 170}, {2, 4, 66, 120}, {1, 4, 52, 90}};
  return tiles;
}

const std::vector<Tile>& tiles_of(Weights weights, const Dense& dense, const DeviceInfo& device) {
  if (weights == Weights::both_packed) return both_packed_tiles(dense.acc);
  if (splits_addresses(device)) return mali_tiles(weights, dense.acc, dense.dtype);
  const Gpu* gpu = identify(device).gpu;
  return gpu && gpu->family == Gpu::Family::midgard ? midgard_tiles() : other_tiles();
}

/// How a kernel cuts y.
struct Cut {
  Tile tile;
  Group group;
  int parts = 1;
  int columns = 0;  ///< of tiles
  int trip = 4;     ///< k that a loop sums before it starts again
  double clocks = HUGE_VAL;

  int panel() const { return tile.columns * group.x; }
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

/// y, r and b can be written and read by aligned vectors: without the other way a kernel is
/// shorter.
bool has_whole_rows(const Dense& dense) {
  return dense.n % kVector == 0 && dense.y.aligned() && (!dense.residual || dense.r.aligned());
}

bool has_long_activation(const Problem& problem, const DeviceInfo& device) {
  const std::string& act = problem.choice("act");
  return act == "tanh" || (act == "gelu" && !takes_native(problem, device));
}

bool fits(const Tile& tile, Weights weights, const Problem& problem, const DeviceInfo& device) {
  constexpr int kFew = 16;  // sums: more would spill beside a long activation or strides
  const Dense dense(problem);
  const bool two_vectors = tile.columns > kVector;
  if (weights != Weights::both_packed && tile.rows > dense.m) return false;
  if (two_vectors && device.max_work_items[0] < kPanelLanes) return false;
  if (two_vectors && weights == Weights::columns && dense.n % (tile.columns * kPanelLanes) != 0) {
    return false;
  }
  const bool strides = weights != Weights::both_packed && !fixes_strides(dense);
  const bool few = has_long_activation(problem, device) || (splits_addresses(device) && strides);
  return !few || tile.rows * tile.columns <= kFew;
}

/// The lanes of a group of which each has `parts` work-items. Beside packed weights they are best
/// in one row, but of chunks in two: by the listings, that leaves the loop a register to spare.
Group group_of_parts(const Dense& dense, Group group, int parts) {
  const int most = dense.acc == Acc::chunk ? kSharing / parts : kPartLanes;
  const int lanes = std::clamp(group.x * group.y / parts, 1, most);
  const int x = std::min(group.x, lanes);
  return {x, lanes / x};
}

/// Items share k where a part is long enough to repay adding up, through local memory.
bool can_share(const Dense& dense, const Cut& cut, const DeviceInfo& device) {
  constexpr int kLeast = 2 * kChunk;  // k of a part
  constexpr int kHalves = 16;         // sums carried in half; more would spill
  const int sums = cut.tile.rows * cut.tile.columns;
  const std::int64_t items = std::int64_t{cut.group.x} * cut.group.y * cut.parts;
  return dense.padded_k() >= kLeast * cut.parts && (dense.acc != Acc::f16 || sums <= kHalves) &&
         device.type != "cpu" &&
         items * sums * std::int64_t{sizeof(float)} <= device.local_mem_bytes &&
         device.max_work_items.size() > 2 && device.max_work_items[2] >= cut.parts;
}

/// A longer trip pays where loads leave it the registers. With acc=f16 it loads eight k of x at
/// once.
bool sums_eight_k(const Dense& dense, const Tile& tile, Weights weights) {
  for (const Source& source : {dense.x, dense.x2}) {
    if (source.padded_k() % 8 != 0) return false;
    const Matrix x = source.as_read();
    if (dense.acc == Acc::f16 && weights == Weights::packed && (x.ld | x.offset) % 8 != 0) {
      return false;
    }
  }
  return tile.columns != kVector || weights == Weights::both_packed;
}

double clocks_of(const Cut& cut, Weights weights, const Dense& dense, const DeviceInfo& device) {
  constexpr double kAddUp = 12;    // instructions for a sum of four, in parts
  constexpr double kMoves = 0.06;  // of the loop in parts, by the listings, where it has some
  constexpr double kWait = 0.03;   // an estimate: for the others' parts, which the model leaves out
  const Tile& tile = cut.tile;
  const double tiles = 1.0 * ceil_div(dense.m, tile.rows) * cut.columns;
  const bool widens = weights == Weights::packed && stores_halves(dense);
  const double four_k = tile.four_k + (widens ? 4 * tile.columns : 0);
  const double fours = dense.padded_k() / 4.0 / cut.parts;
  if (cut.parts == 1) return predicted_clocks(tiles, fours * four_k + tile.rest, device);
  const bool best_group = (cut.group.y == 1) == (dense.acc != Acc::chunk);  // of group_of_parts
  const bool moves = weights == Weights::rows || !best_group;
  const double added = tile.rows * tile.columns / 4.0 * kAddUp;
  const double loop = fours * four_k * (moves ? 1 + kMoves : 1);
  return (1 + kWait) * predicted_clocks(tiles * cut.parts, loop + tile.rest + added, device);
}

/// The cut that the time model finds best: a large tile does more multiply-adds an instruction, a
/// small one or one in parts makes more warps.
Cut choose_cut(const Problem& problem, Weights weights, const DeviceInfo& device,
               const PlanOptions& wanted) {
  const Dense dense(problem);
  const int lanes = weights == Weights::rows ? kSquareLanes : kPanelLanes;
  Cut best;
  for (const Tile& tile : tiles_of(weights, dense, device)) {
    if (!fits(tile, weights, problem, device)) continue;
    for (const int parts : {1, 2, 4}) {
      Cut cut{tile, {}, parts, ceil_div(dense.n, tile.columns)};
      if (sums_eight_k(dense, tile, weights)) cut.trip = 8;
      const Group group = choose_group(cut.columns, lanes, device, wanted);
      cut.group = parts > 1 ? group_of_parts(dense, group, parts) : group;
      if (parts > 1 && (weights == Weights::both_packed || group.x * group.y < parts ||
                        !can_share(dense, cut, device))) {
        continue;
      }
      cut.clocks = clocks_of(cut, weights, dense, device);
      if (cut.clocks < best.clocks) best = cut;
    }
  }
  return best;
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
  std::string options = dense.dtype == Dtype::f16 ? "-DCLAM_F16 " : "";
  options += fmt::format("-D{0}_LX={1} -D{0}_LY={2} -D{0}_M0={3}", kernels.prefix, cut.group.x,
                         cut.group.y, cut.tile.rows);
  if (cut.tile.columns != kVector) options += kernels.option("N0", cut.tile.columns);
  if (cut.trip != 4) options += kernels.option("K0", cut.trip);
  if (cut.parts > 1) options += kernels.option("PARTS", cut.parts);
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
              int columns, int rows, std::vector<Arg> args, int parts = 1) {
  return {file,
          std::move(kernel),
          options,
          {round_up(columns, group.x), round_up(rows, group.y), parts},
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

/// What a launch that writes a source anew adds to the time of a problem: its own instructions or
/// bytes, and what lies between two launches.
double x_launch_clocks(const Dense& dense, const Source& source, double item_instructions,
                       int item_elements, std::int64_t written, const DeviceInfo& device) {
  constexpr double kUsBetweenLaunches = 10;    // an estimate: nobody has published a measured one
  constexpr double kMhz = 1000, kGbPerS = 10;  // of a Mali-G610's board, where a device says none
  const Gpu* gpu = identify(device).gpu;
  const double mhz = device.max_clock_mhz > 0 ? static_cast<double>(device.max_clock_mhz) : kMhz;
  const double elements = 1.0 * dense.m * source.padded_k();
  const double bytes = elements * size_of(dense.dtype) + static_cast<double>(written);
  const double us = bytes / 1e3 / (gpu ? gpu->gb_per_s : kGbPerS);
  return std::max(predicted_clocks(elements / item_elements, item_instructions, device), us * mhz) +
         kUsBetweenLaunches * mhz;
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
    std::vector<Arg> args{BufferArg{source.name}, BufferArg{source.padded}, dense.m, source.k};
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
std::vector<Arg> arguments(const Dense& dense, std::initializer_list<std::string> read,
                           std::initializer_list<int> ints) {
  std::vector<Arg> args;
  const auto add = [&](const std::string& name) {
    if (name.empty()) {
      args.emplace_back(NullArg{});
    } else {
      args.emplace_back(BufferArg{name});
    }
  };
  for (const std::string& name : read) add(name);
  add(dense.bias ? "b" : "");
  add(dense.residual ? "r" : "");
  add("y");
  args.insert(args.end(), ints.begin(), ints.end());
  args.push_back(dense.alpha);
  return args;
}

void add_tiles(const char* kernel, const Tiles& tiles, const char* w,
               std::initializer_list<int> ints, const DeviceInfo& device, Plan& plan) {
  const Dense& dense = tiles.dense;
  const std::string x2 = dense.k2 > 0 ? dense.x2.read_from() : "";
  plan.launches.push_back(launch(tiles.kernels.file, kernel, tiles.options, tiles.cut.group,
                                 tiles.cut.columns, ceil_div(dense.m, tiles.cut.tile.rows),
                                 arguments(dense, {dense.x.read_from(), x2, w}, ints),
                                 tiles.cut.parts));
  plan.clocks = tiles.cut.clocks + padding_clocks(dense, device);
}

/// Weights as they are: a batch_matmul of one batch item, whose mask has one row, the bias.
void plan_raw(const char* kernel, Weights weights, const Problem& problem, const DeviceInfo& device,
              const PlanOptions& wanted, Plan& plan) {
  Tiles tiles(problem, weights, device, wanted);
  const Dense& dense = tiles.dense;
  add_padding(tiles, plan);
  if (fixes_strides(dense)) tiles.options += kRaw.option("LDB", dense.w.ld);
  const int one_row = 0, one_item = 0;  // strides
  add_tiles(kernel, tiles, "w",
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

/// How packed operands are stored where they lie as they are summed.
Dtype summed_dtype(const Dense& dense) { return dense.acc == Acc::f32 ? Dtype::f32 : Dtype::f16; }

/// How dense_packed's weights are.
Dtype weights_dtype(const Dense& dense) {
  return stores_halves(dense) ? Dtype::f16 : summed_dtype(dense);
}

/// Of `lines` columns of w or rows of x in panels.
std::int64_t packed_bytes(const Dense& dense, int lines, int panel, Dtype stored) {
  return std::int64_t{ceil_div(lines, panel)} * panel * dense.padded_k() * size_of(stored);
}

Reason refuses_packed(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = dense_not_offered(problem)) return reason;
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
                             {BufferArg{"w"}, BufferArg{"w_packed"}, dense.n, dense.k, dense.k2,
                              dense.step_n(), dense.step_k(), dense.w.offset}));
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
                         packed_bytes(dense, dense.m, cut.tile.rows, summed_dtype(dense)), device);
}

/// Whether packing x each time pays: known of Mesa's Mali compilers alone.
Reason packed_outdone(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) {
  if (!splits_addresses(device) || refuses_both_packed(problem, device)) return {};
  const Dense dense(problem);
  if (stores_halves(dense)) return {};     // it would read twice the bytes
  if (dense.acc == Acc::chunk) return {};  // its tile of 8 rows spills beside an activation
  const Cut both = choose_cut(problem, Weights::both_packed, device, wanted);
  const Cut packed = choose_cut(problem, Weights::packed, device, wanted);
  const double theirs = both.clocks + pack_clocks(dense, both, device);
  const double own = packed.clocks + padding_clocks(dense, device);
  if (theirs >= own) return {};
  return fmt::format("dense_both_packed is predicted to take {:.3f} of its time", theirs / own);
}

void plan_both_packed(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                      Plan& plan) {
  const Dense dense(problem);
  const Cut cut = choose_cut(problem, Weights::both_packed, device, wanted);
  const std::string options = common_options(kPacked, problem, cut, device);
  const int k = dense.padded_k(), tiles = ceil_div(dense.m, cut.tile.rows);
  add_packed_w(dense, cut, options, summed_dtype(dense), plan);
  plan.buffers.push_back({"x_packed", BufferSpec::Role::scratch,
                          packed_bytes(dense, dense.m, cut.tile.rows, summed_dtype(dense))});
  plan.launches.push_back(launch(
      kPacked.file, "dense_pack_x_panels", options, cut.group, k / 4, tiles * cut.tile.rows / 4,
      {BufferArg{"x"}, BufferArg{"x_packed"}, dense.m, dense.k, dense.x.at.ld, dense.x.at.offset}));
  plan.launches.push_back(launch(
      kPacked.file, "dense_both_packed", options, cut.group, cut.columns, tiles,
      arguments(dense, {"x_packed", "w_packed"},
                {dense.m, dense.n, k, dense.r.ld, dense.y.ld, dense.r.offset, dense.y.offset})));
  plan.clocks = cut.clocks + pack_clocks(dense, cut, device);
}

// ---- w as it is ----

Reason refuses_nt(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = dense_not_offered(problem)) return reason;
  const Dense dense(problem);
  if (!dense.trans_w) return "w lies as w[k,n]";
  if (dense.n < kVector) {
    return fmt::format("n={} is under the {} columns of a tile", dense.n, kVector);
  }
  if (Reason reason = cannot_vectorise_w(dense)) return reason;
  return cannot_vectorise_x(dense, device);
}

void plan_nt(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
             Plan& plan) {
  plan_raw("batch_matmul_nt", Weights::rows, problem, device, wanted, plan);
}

Reason refuses_nn(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = dense_not_offered(problem)) return reason;
  const Dense dense(problem);
  if (dense.trans_w) return "w lies as w[n,k]";
  if (dense.n % kVector != 0) return fmt::format("n={} is no multiple of {}", dense.n, kVector);
  if (Reason reason = cannot_vectorise_w(dense)) return reason;
  return cannot_vectorise_x(dense, device);
}

void plan_nn(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
             Plan& plan) {
  plan_raw("batch_matmul_nn", Weights::columns, problem, device, wanted, plan);
}

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  return dense_not_offered(problem);
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

double flops(const Problem& problem) {
  const double sums = static_cast<double>(problem.integer("m")) * problem.integer("n");
  return 2 * sums * (static_cast<double>(problem.integer("k")) + problem.integer("k2"));
}

}  // namespace

Reason dense_not_offered(const Problem& problem) { return acc_not_offered(problem); }

const Op& dense_op() {
  static const Op op = [] {
    Op op;
    op.name = "dense";
    op.about = "y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n]; k runs on in x2";
    op.fields = dense_fields();
    op.check = check_dense;
    op.tensors = dense_tensors;
    op.variants = {
        {"dense_packed", "weights packed once", refuses_packed, plan_packed, packed_outdone},
        {"dense_both_packed", "weights packed once, x each time", refuses_both_packed,
         plan_both_packed},
        {"dense_nt", "weights that change, as w[n,k]", refuses_nt, plan_nt},
        {"dense_nn", "weights that change, as w[k,n]", refuses_nn, plan_nn},
        {"dense_plain", "any stride, offset and extent", refuses_plain, plan_plain}};
    op.flops = flops;
    op.bytes = tensor_bytes;
    op.takes_native_exp2 = takes_exp;
    op.sums_products = true;
    return op;
  }();
  return op;
}

}  // namespace clam
