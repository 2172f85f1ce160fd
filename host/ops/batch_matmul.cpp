// SPDX-License-Identifier: MIT
// batch_matmul.cpp - the fields of batch_matmul, and how it is computed.
#include "batch_matmul.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "clam/error.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/activation.hpp"
#include "ops/shared/geometry.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

constexpr int kColumns = 4;      ///< of a vector
constexpr int kPanelLanes = 16;  ///< work-items of a group that read a row of b side by side
constexpr int kSquareLanes = 4;  ///< ... that read rows of b each: as many as read rows of a
constexpr int kChunk = 32;       ///< k of a chunk
constexpr int kSharing = 64;     ///< work-items of a group that share k, and sums in local memory

// ---- the problem ----

/// A stack of matrices in memory, in elements.
struct Stack {
  int items, rows, columns;
  int ld, stride, offset;  ///< stride 0: one matrix for all batch items

  /// Every row starts on a multiple of four elements, so aligned 4-vectors can be loaded.
  bool aligned() const { return ld % 4 == 0 && stride % 4 == 0 && offset % 4 == 0; }
};

/// The same from a problem's words, by the name of its tensor.
Stack stack(const Problem& problem, const std::string& name, int items, int rows, int columns) {
  const int given = problem.integer("ld" + name), ld = given == 0 ? columns : given;
  const int stride = problem.integer("stride" + name);
  return {items,
          rows,
          columns,
          ld,
          items == 1    ? 0
          : stride == 0 ? rows * ld
                        : stride,
          problem.integer("off" + name)};
}

int items_of(const Problem& problem, const char* field) {
  const int items = problem.integer(field);
  return items == 0 ? problem.integer("batch") : items;
}

/// The extents, and where the matrices lie.
struct BatchMatmul {
  int batch, m, n, k;
  bool ta, tb;
  Dtype dtype;
  Acc acc;
  float scale;
  std::string mask;
  Stack a, b, c;

  explicit BatchMatmul(const Problem& problem)
      : batch(problem.integer("batch")),
        m(problem.integer("m")),
        n(problem.integer("n")),
        k(problem.integer("k")),
        ta(problem.integer("ta") == 1),
        tb(problem.integer("tb") == 1),
        dtype(problem.dtype()),
        acc(accumulator(problem)),
        scale(problem.number("scale")),
        mask(problem.choice("mask")),
        a(stack(problem, "a", items_of(problem, "batch_a"), ta ? k : m, ta ? m : k)),
        b(stack(problem, "b", items_of(problem, "batch_b"), tb ? n : k, tb ? k : n)),
        c(stack(problem, "c", batch, m, n)) {}

  int mask_stride() const { return mask == "bmn" && batch > 1 ? m * n : 0; }
  double multiply_adds() const { return 1.0 * batch * m * n * k; }
};

using Values = std::map<std::string, std::string, std::less<>>;

/// Row and batch stride of a tensor, with defaults filled in. 64 bits: nothing is checked yet.
struct Strides {
  std::int64_t row, batch;
};

Strides strides(const Problem& problem, const std::string& name, std::int64_t rows,
                std::int64_t columns) {
  const std::int64_t ld = problem.integer("ld" + name), row = ld == 0 ? columns : ld;
  const std::int64_t batch = problem.integer("stride" + name);
  return {row, batch == 0 ? rows * row : batch};
}

/// A row stride holds a row. Strides are left out where they are the default, and a batch stride
/// also where there is one item.
void check_strides(const Problem& problem, Values& values, const std::string& name, int items,
                   std::int64_t rows, std::int64_t columns) {
  const std::string ld = "ld" + name, stride = "stride" + name;
  const Strides given = strides(problem, name, rows, columns);
  if (given.row < columns) {
    bad_field(problem, ld, fmt::format("is under the {} elements of a row", columns));
  }
  if (given.row == columns) values[ld] = "0";
  if (items == 1 || given.batch == rows * given.row) values[stride] = "0";
}

void check_items(const Problem& problem, Values& values, const std::string& field) {
  const int items = problem.integer(field), batch = problem.integer("batch");
  if (items > 1 && items != batch) {
    bad_field(problem, field, fmt::format("needs 1 or the batch, {}", batch));
  }
  if (items == batch) values[field] = "0";
}

/// Each element of c has a place of its own: its items follow each other, or lie side by side.
void check_distinct(const Problem& problem) {
  const std::int64_t batch = problem.integer("batch");
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  const Strides c = strides(problem, "c", m, n);
  const std::int64_t last = (m - 1) * c.row + n;
  const bool in_turn = c.batch >= last;
  if (batch == 1 || in_turn) return;
  const bool side_by_side = c.batch >= n && c.row >= (batch - 1) * c.batch + n;
  if (side_by_side) return;
  bad_field(problem, "stridec",
            fmt::format("lets batch items of c overlap: it needs {} or more, or, side by side, {} "
                        "or more and ldc of {} or more",
                        last, n, (batch - 1) * std::max(c.batch, n) + n));
}

void check_batch_matmul(const Problem& problem, Values& values) {
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const bool ta = problem.integer("ta") == 1, tb = problem.integer("tb") == 1;
  check_acc(problem);
  if (!std::isfinite(problem.number("scale"))) bad_field(problem, "scale", "needs a finite number");
  check_items(problem, values, "batch_a");
  check_items(problem, values, "batch_b");
  check_strides(problem, values, "a", items_of(problem, "batch_a"), ta ? k : m, ta ? m : k);
  check_strides(problem, values, "b", items_of(problem, "batch_b"), tb ? n : k, tb ? k : n);
  check_strides(problem, values, "c", problem.integer("batch"), m, n);
  check_distinct(problem);
}

std::vector<Field> batch_matmul_fields() {
  const auto place = [](const char* name, const char* about) {
    return integer(name, about, "0", 0);
  };
  return {extent("batch", "matrices of a, b and c", "1"),
          extent("m", "rows of c"),
          extent("n", "columns of c"),
          extent("k", "products of a sum"),
          dtype_field(),
          acc_field(),
          integer("ta", "0: a lies as a[m,k]; 1: as a[k,m]", "0", 0, 1),
          integer("tb", "0: b lies as b[k,n]; 1: as b[n,k]", "0", 0, 1),
          number("scale", "factor of the sum", "1"),
          choice("mask", "extents of the mask that is added after scale", {"none", "mn", "bmn"},
                 "none"),
          choice("act", "activation", activation_names(), "none"),
          place("batch_a", "matrices of a; 0: batch; 1: one for all"),
          place("batch_b", "matrices of b; 0: batch; 1: one for all"),
          place("lda", "row stride of a, in elements; 0: its row's length"),
          place("ldb", "row stride of b"),
          place("ldc", "row stride of c"),
          place("stridea", "batch stride of a, in elements; 0: its rows times lda"),
          place("strideb", "batch stride of b"),
          place("stridec", "batch stride of c"),
          place("offa", "first element of a"),
          place("offb", "first element of b"),
          place("offc", "first element of c")};
}

std::vector<TensorSpec> batch_matmul_tensors(const Problem& problem) {
  using Role = TensorSpec::Role;
  const std::int64_t batch = problem.integer("batch");
  const std::int64_t m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  const Dtype dtype = problem.dtype();
  const auto spec = [&](const char* name, Role role, std::int64_t items, std::int64_t rows,
                        std::int64_t columns) {
    const std::string word(name);
    const bool dense = problem.integer("ld" + word) == 0 && problem.integer("stride" + word) == 0;
    const Strides given = strides(problem, name, rows, columns);
    std::vector<std::int64_t> steps;
    if (!dense) steps = {given.batch, given.row, 1};
    return TensorSpec{
        name, role, dtype, {items, rows, columns}, std::move(steps), problem.integer("off" + word)};
  };
  const bool ta = problem.integer("ta") == 1, tb = problem.integer("tb") == 1;
  std::vector<TensorSpec> specs{
      spec("a", Role::input, items_of(problem, "batch_a"), ta ? k : m, ta ? m : k),
      spec("b", Role::input, items_of(problem, "batch_b"), tb ? n : k, tb ? k : n)};
  const std::string& mask = problem.choice("mask");
  if (mask == "mn") specs.push_back({"mask", Role::input, dtype, {m, n}, {}, 0});
  if (mask == "bmn") specs.push_back({"mask", Role::input, dtype, {batch, m, n}, {}, 0});
  specs.push_back(spec("c", Role::output, batch, m, n));
  return specs;
}

// ---- launches ----

/// Strides as constants spare the loop over k an instruction or two a load, and registers. They
/// cost a build of their own, which only a large problem repays.
bool fixes_strides(const BatchMatmul& product) { return product.multiply_adds() >= 1 << 22; }

/// A tile, and what a work-item issues for it on a Mali-G610 (Mesa 25.0): for 4 k, and around the
/// loop over k.
struct Tile {
  int rows, columns;
  double four_k, rest;
};

/// Of batch_matmul_tn, which reads vectors of rows. Its loop suits any compiler.
const std::vector<Tile>& outer_tiles(const BatchMatmul& product) {
  static const std::vector<Tile> f32{{8, 4, 169, 300}, {4, 4, 99, 190}};
  static const std::vector<Tile> half{{8, 4, 217, 300}, {4, 4, 131, 190}};
  static const std::vector<Tile> chunk{{4, 4, 61, 200}};
  if (product.acc == Acc::chunk) return chunk;
  return product.dtype == Dtype::f16 && product.acc == Acc::f32 ? half : f32;
}

/// Of batch_matmul_nt and _nn with addresses in two halves. More sums would spill.
const std::vector<Tile>& mali_tiles(const BatchMatmul& product) {
  // Mesa 25 does not multiply in pairs what a loop carries: acc=f16 takes the time of f32.
  static const std::vector<Tile> f32_nn{
      {4, 8, 171, 260}, {6, 4, 139, 220}, {4, 4, 99, 170}, {2, 4, 59, 120}, {1, 4, 45, 90}};
  static const std::vector<Tile> f32_nt{
      {6, 4, 131, 220}, {4, 4, 93, 170}, {2, 4, 66, 120}, {1, 4, 52, 90}};
  static const std::vector<Tile> f16_nt{{4, 4, 93, 200}, {2, 4, 66, 140}, {1, 4, 52, 100}};
  static const std::vector<Tile> half_nn{
      {4, 8, 217, 300}, {6, 4, 179, 250}, {4, 4, 131, 190}, {2, 4, 90, 130}, {1, 4, 68, 100}};
  static const std::vector<Tile> half_nt{
      {8, 4, 217, 320}, {6, 4, 171, 250}, {4, 4, 131, 190}, {2, 4, 90, 130}, {1, 4, 68, 100}};
  static const std::vector<Tile> chunk_nn{
      {6, 4, 87, 260}, {4, 4, 63, 200}, {2, 4, 40, 140}, {1, 4, 30, 100}};
  static const std::vector<Tile> chunk_nt{{4, 4, 64, 200}, {2, 4, 45, 140}, {1, 4, 33, 100}};
  if (product.acc == Acc::chunk) return product.tb ? chunk_nt : chunk_nn;
  if (product.acc == Acc::f16) return product.tb ? f16_nt : f32_nn;
  if (product.dtype == Dtype::f32) return product.tb ? f32_nt : f32_nn;
  return product.tb ? half_nt : half_nn;
}

/// Where compilers add up whole addresses: none with two vectors, which cost PoCL half its speed.
const std::vector<Tile>& other_tiles(const BatchMatmul& product) {
  static const std::vector<Tile> tiles{
      {6, 4, 146, 220}, {4, 4, 106, 170}, {2, 4, 66, 120}, {1, 4, 52, 90}};
  // Halves that wait to be widened leave room for 8 rows, where floats along k would spill.
  static const std::vector<Tile> high{
      {8, 4, 234, 320}, {6, 4, 188, 250}, {4, 4, 138, 190}, {2, 4, 90, 130}, {1, 4, 68, 100}};
  const bool widened = product.dtype == Dtype::f16 && product.acc == Acc::f32;
  return widened && fixes_strides(product) ? high : tiles;
}

const std::vector<Tile>& tiles_of(const BatchMatmul& product, const DeviceInfo& device) {
  static const std::vector<Tile> square{{4, kColumns, 106, 170}};
  if (product.ta && product.tb) return square;
  if (product.ta) return outer_tiles(product);
  return splits_addresses(device) ? mali_tiles(product) : other_tiles(product);
}

int widest_group(const BatchMatmul& product) { return product.tb ? kSquareLanes : kPanelLanes; }

/// The most sums of a work-item that do not spill.
int most_sums(const Problem& problem, const DeviceInfo& device) {
  const BatchMatmul product(problem);
  const std::string& act = problem.choice("act");
  const bool long_activation = act == "gelu" || act == "tanh";
  if (long_activation || (product.tb && product.acc != Acc::f32)) return 16;  // even and odd apart
  if (product.ta || fixes_strides(product)) return 32;
  const bool waiting = product.dtype == Dtype::f16 && product.acc == Acc::f32;  // to be widened
  return product.tb || waiting || !splits_addresses(device) ? 24 : 16;
}

bool fits(const Tile& tile, const Problem& problem, const DeviceInfo& device,
          const PlanOptions& wanted) {
  const BatchMatmul product(problem);
  if (tile.rows * tile.columns > most_sums(problem, device)) return false;
  if (tile.rows > (product.ta ? round_up(product.m, 4) : product.m)) return false;
  if (tile.columns == kColumns) return true;
  // The second vectors of a group's tiles lie behind all of its first.
  if (product.n % tile.columns != 0) return false;
  const Group group = choose_group(product.n / tile.columns, widest_group(product), device, wanted);
  return product.n % (tile.columns * group.x) == 0;
}

/// How a kernel cuts c.
struct Cut {
  Tile tile{};
  Group group{};
  int parts = 1;  ///< work-items that share a tile's k
  double clocks = HUGE_VAL;
};

/// The lanes of a group that has as many items once each lane has `parts` of them.
Group group_of_parts(Group group, int parts) {
  const int lanes = std::max(1, group.x * group.y / parts);
  const int x = std::min(group.x, lanes);
  return {x, lanes / x};
}

/// Items share k where a part is long enough to repay adding up, through local memory.
bool can_share(const BatchMatmul& product, const Cut& cut, const DeviceInfo& device) {
  constexpr int kLeast = 2 * kChunk;  // k of a part
  const std::int64_t items = std::int64_t{cut.group.x} * cut.group.y;
  const std::int64_t sums = std::int64_t{cut.tile.rows} * cut.tile.columns;
  return !product.ta && round_up(product.k, 4) >= kLeast * cut.parts && device.type != "cpu" &&
         fixes_strides(product) && items >= cut.parts && items <= kSharing &&
         items * sums * std::int64_t{sizeof(float)} <= device.local_mem_bytes &&
         device.max_work_items.size() > 2 && device.max_work_items[2] >= cut.parts;
}

double clocks_of(const Cut& cut, const BatchMatmul& product, const DeviceInfo& device) {
  constexpr double kAddUp = 12;    // instructions for a sum of four, in parts
  constexpr double kMoves = 0.08;  // of the loop in parts, by the listings: _nt 0.06, chunks 0.08
  const Tile& tile = cut.tile;
  const double tiles =
      1.0 * product.batch * ceil_div(product.m, tile.rows) * ceil_div(product.n, tile.columns);
  const double fours = ceil_div(product.k, 4) * 1.0 / cut.parts;
  if (cut.parts == 1) return predicted_clocks(tiles, fours * tile.four_k + tile.rest, device);
  const double moves = product.tb || product.acc == Acc::chunk ? kMoves : 0;
  const double added = tile.rows * tile.columns / 4.0 * kAddUp;
  return predicted_clocks(tiles * cut.parts, fours * tile.four_k * (1 + moves) + tile.rest + added,
                          device);
}

/// The cut that the time model finds best: a large tile does more multiply-adds an instruction, a
/// small one or one in parts makes more warps.
Cut choose_cut(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) {
  const BatchMatmul product(problem);
  Cut best;
  for (const Tile& tile : tiles_of(product, device)) {
    if (!fits(tile, problem, device, wanted)) continue;
    for (const int parts : {1, 2, 4}) {
      const int columns = ceil_div(product.n, tile.columns);
      Cut cut{tile, choose_group(columns, widest_group(product), device, wanted), parts};
      if (parts > 1 && !can_share(product, cut, device)) continue;
      if (parts > 1) {
        cut.group = group_of_parts(cut.group, parts);
      } else if (fixes_strides(product)) {
        cut.group = lower_group(cut.group, ceil_div(product.m, tile.rows));
      }
      cut.clocks = clocks_of(cut, product, device);
      if (cut.clocks < best.clocks) best = cut;
    }
  }
  return best;
}

std::string tile_options(const BatchMatmul& product, const Cut& cut, const DeviceInfo& device) {
  std::string options = fmt::format(" -DBMM_M0={}", cut.tile.rows);
  if (cut.tile.columns != kColumns) options += fmt::format(" -DBMM_N0={}", cut.tile.columns);
  if (cut.parts > 1) options += fmt::format(" -DBMM_PARTS={}", cut.parts);
  if (splits_addresses(device) && !(product.ta && product.tb)) options += " -DBMM_SPLIT=1";
  return options;
}

/// All launches of a problem take these, whether they use them or not, so that they share programs.
std::string common_options(const Problem& problem, Group group, const DeviceInfo& device) {
  const BatchMatmul product(problem);
  std::string options = product.dtype == Dtype::f16 ? "-DCLAM_F16 " : "";
  options += fmt::format("-DBMM_LX={} -DBMM_LY={}", group.x, group.y);
  if (product.acc != Acc::f32)
    options += product.acc == Acc::chunk ? " -DBMM_ACC=1" : " -DBMM_ACC=2";
  if (product.mask != "none") options += " -DBMM_MASK=1";
  return options + act_options(problem, "BMM_ACT", device);
}

std::string fixed_strides(const BatchMatmul& product, const Stack& a, const Stack& b) {
  if (!fixes_strides(product)) return "";
  // c and mask by aligned vectors alone: without the other way a kernel is shorter.
  const bool whole = product.n % 4 == 0 && product.c.aligned();
  return fmt::format(" -DBMM_LDA={} -DBMM_LDB={}{}", a.ld, b.ld, whole ? " -DBMM_WHOLE=1" : "");
}

Launch launch(std::string kernel, const std::string& options, Group group, int columns, int rows,
              int items, std::vector<Arg> args, int parts = 1) {
  const bool transposed = kernel == "batch_matmul_tn" || kernel == "batch_matmul_tt";
  return {transposed ? "batch_matmul_transposed.cl" : "batch_matmul.cl",
          std::move(kernel),
          options,
          {round_up(columns, group.x), round_up(rows, group.y), items * parts},
          {group.x, group.y, parts},
          std::move(args)};
}

Arg mask_argument(const BatchMatmul& product) {
  if (product.mask == "none") return NullArg{};
  return BufferArg{"mask"};
}

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
                                 {BufferArg{operand.name}, BufferArg{operand.source}, raw.rows,
                                  raw.columns, read.rows, raw.ld, raw.stride, raw.offset}));
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
  if (Reason reason = batch_matmul_not_offered(problem)) return reason;
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
  return arguments(
      product, {BufferArg{a.source}, BufferArg{b.source}, mask_argument(product), BufferArg{"c"}},
      {product.m, product.n, round_up(product.k, 4), ra.ld, rb.ld, c.ld, ra.stride, rb.stride,
       product.mask_stride(), c.stride, ra.offset, rb.offset, c.offset});
}

/// Of batch_matmul_nt and _nn, without a second source and without a residual.
std::vector<Arg> tile_arguments(const BatchMatmul& product, const Operand& a, const Operand& b) {
  const Stack &c = product.c, &ra = a.read, &rb = b.read;
  return arguments(product,
                   {BufferArg{a.source}, NullArg{}, BufferArg{b.source}, mask_argument(product),
                    NullArg{}, BufferArg{"c"}},
                   {product.m, product.n, round_up(product.k, 4), 0, ra.ld, 0, rb.ld, product.n, 0,
                    c.ld, ra.stride, rb.stride, product.mask_stride(), c.stride, ra.offset, 0,
                    rb.offset, 0, c.offset});
}

void plan_tiles(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const BatchMatmul product(problem);
  const Operand a = operand_a(product), b = operand_b(product);
  const Cut cut = choose_cut(problem, device, wanted);
  const Group group = cut.group;
  const int columns = ceil_div(product.n, cut.tile.columns);
  const int rows = ceil_div(product.m, cut.tile.rows);
  const std::string options = common_options(problem, group, device) +
                              tile_options(product, cut, device) +
                              fixed_strides(product, a.read, b.read);
  add_padding(a, product.dtype, options, group, plan);
  add_padding(b, product.dtype, options, group, plan);
  plan.launches.push_back(launch(
      plan.variant, options, group, columns, rows, product.batch,
      product.ta ? transposed_arguments(product, a, b) : tile_arguments(product, a, b), cut.parts));
  plan.clocks = cut.clocks;
}

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  return batch_matmul_not_offered(problem);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const BatchMatmul product(problem);
  const Stack &a = product.a, &b = product.b, &c = product.c;
  const Group group = choose_group(product.n, widest_group(product), device, wanted);
  const std::string options = common_options(problem, group, device);
  const int a_m = product.ta ? 1 : a.ld, a_k = product.ta ? a.ld : 1;
  const int b_k = product.tb ? 1 : b.ld, b_n = product.tb ? b.ld : 1;
  plan.launches.push_back(launch(
      plan.variant, options, group, product.n, product.m, product.batch,
      arguments(product, {BufferArg{"a"}, BufferArg{"b"}, mask_argument(product), BufferArg{"c"}},
                {product.m, product.n, product.k, a_m, a_k, b_k, b_n, c.ld, a.stride, b.stride,
                 product.mask_stride(), c.stride, a.offset, b.offset, c.offset})));
}

double flops(const Problem& problem) {
  const double sums = static_cast<double>(problem.integer("batch")) * problem.integer("m");
  return 2 * sums * problem.integer("n") * problem.integer("k");
}

}  // namespace

Reason batch_matmul_not_offered(const Problem& problem) { return acc_not_offered(problem); }

const Op& batch_matmul_op() {
  static const Op op = [] {
    Op op;
    op.name = "batch_matmul";
    op.about = "c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n])";
    op.fields = batch_matmul_fields();
    op.check = check_batch_matmul;
    op.tensors = batch_matmul_tensors;
    op.variants = {
        {"batch_matmul_nt", "a[m,k] and b[n,k]", refuses_tiles<false, true>, plan_tiles},
        {"batch_matmul_nn", "a[m,k] and b[k,n]", refuses_tiles<false, false>, plan_tiles},
        {"batch_matmul_tn", "a[k,m] and b[k,n]", refuses_tiles<true, false>, plan_tiles},
        {"batch_matmul_tt", "a[k,m] and b[n,k]", refuses_tiles<true, true>, plan_tiles},
        {"batch_matmul_plain", "any stride, offset and extent", refuses_plain, plan_plain}};
    op.flops = flops;
    op.bytes = tensor_bytes;
    op.takes_native_exp2 = takes_exp;
    op.sums_products = true;
    return op;
  }();
  return op;
}

}  // namespace clam
