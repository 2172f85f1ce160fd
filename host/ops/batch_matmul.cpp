// SPDX-License-Identifier: MIT
// batch_matmul.cpp - the fields of batch_matmul, and how it is computed.
#include "ops/shared/activation.hpp"
#include "ops/shared/matrix_tiling.hpp"
#include "ops/shared/places.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

// ---- the problem ----

/// A stack of matrices in memory, in elements.
struct Stack {
  std::int64_t items, rows, columns;
  std::int64_t ld, stride, offset;

  /// Every row starts on a multiple of four elements, so aligned 4-vectors can be loaded.
  bool aligned() const { return ld % 4 == 0 && stride % 4 == 0 && offset % 4 == 0; }
  /// From a batch item's matrix to the next's; 0: there is one for all.
  std::int64_t step() const { return items == 1 ? 0 : stride; }
};

/// The extents, and where the matrices lie. 64 bits: it serves problems that are not checked yet.
struct BatchMatmul {
  const Problem& problem;
  int batch = problem.integer("batch");
  int m = problem.integer("m"), n = problem.integer("n"), k = problem.integer("k");
  bool ta = problem.integer("ta") == 1, tb = problem.integer("tb") == 1;
  Dtype dtype = problem.dtype();
  Acc acc = accumulator(problem);
  std::string mask = problem.choice("mask");
  Stack a = stack("a", given_or(problem, "batch_a", batch), ta ? k : m, ta ? m : k);
  Stack b = stack("b", given_or(problem, "batch_b", batch), tb ? n : k, tb ? k : n);
  Stack c = stack("c", batch, m, n);

  explicit BatchMatmul(const Problem& problem) : problem(problem) {}
  std::int64_t mask_stride() const { return mask == "bmn" && batch > 1 ? std::int64_t{m} * n : 0; }
  double multiply_adds() const { return 1.0 * batch * m * n * k; }

 private:
  Stack stack(const std::string& name, std::int64_t items, int rows, int columns) const {
    const std::int64_t ld = given_or(problem, "ld" + name, columns);
    const std::int64_t stride = given_or(problem, "stride" + name, rows * ld);
    return {items, rows, columns, ld, stride, problem.integer("off" + name)};
  }
};

/// A row stride holds a row. Strides are left out where they are the default, and a batch stride
/// also where there is one item.
void check_strides(const Problem& problem, Schema::Values& values, const std::string& name,
                   const Stack& stack) {
  check_row_stride(problem, values, name, stack.columns);
  if (stack.items == 1 || stack.stride == stack.rows * stack.ld) values["stride" + name] = "0";
}

void check_items(const Problem& problem, Schema::Values& values, const std::string& field) {
  const int items = problem.integer(field), batch = problem.integer("batch");
  bad_field_if(items > 1 && items != batch, problem, field, "needs 1 or the batch, {}", batch);
  if (items == batch) values[field] = "0";
}

/// Each element of c has a place of its own: its items follow each other, or lie side by side.
void check_distinct(const Problem& problem, const Stack& c) {
  const std::int64_t last = (c.rows - 1) * c.ld + c.columns;
  const bool in_turn = c.stride >= last;
  if (c.items == 1 || in_turn) return;
  const bool side_by_side = c.stride >= c.columns && c.ld >= (c.items - 1) * c.stride + c.columns;
  bad_field_if(!side_by_side, problem, "stridec",
               "lets batch items of c overlap: it needs {} or more, or, side by side, {} "
               "or more and ldc of {} or more",
               last, c.columns, (c.items - 1) * std::max(c.stride, c.columns) + c.columns);
}

void check_batch_matmul(const Problem& problem, Schema::Values& values) {
  check_acc(problem);
  check_act(problem, values);
  check_finite(problem, {"scale"});
  check_items(problem, values, "batch_a");
  check_items(problem, values, "batch_b");
  const BatchMatmul product(problem);
  check_strides(problem, values, "a", product.a);
  check_strides(problem, values, "b", product.b);
  check_strides(problem, values, "c", product.c);
  check_distinct(problem, product.c);
}

std::vector<Field> batch_matmul_fields() {
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
  const BatchMatmul product(problem);
  const Dtype dtype = product.dtype;
  const auto spec = [&](auto role, const char* name, const Stack& at) {
    return placed(problem, {name, role, dtype, {at.items, at.rows, at.columns}, {}, 0},
                  {"ld", "stride"}, {at.stride, at.ld, 1});
  };
  using Role = TensorSpec::Role;
  std::vector<TensorSpec> specs{spec(Role::input, "a", product.a),
                                spec(Role::input, "b", product.b)};
  if (product.mask == "mn") specs.push_back(input("mask", dtype, {product.m, product.n}));
  if (product.mask == "bmn") {
    specs.push_back(input("mask", dtype, {product.batch, product.m, product.n}));
  }
  specs.push_back(spec(Role::output, "c", product.c));
  return specs;
}

double flops(const Problem& problem) { return 2 * BatchMatmul(problem).multiply_adds(); }

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
  product.left_items = as_int(its.a.items);
  product.right_items = as_int(its.b.items);
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

std::vector<MatrixCut> cuts_of(const Request& request) {
  return matrix_cuts(product_of(request.problem, request.device), request);
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
std::string common_options(const Request& request, Group group) {
  const BatchMatmul product(request.problem);
  std::string options = dtype_option(product.dtype);
  options += fmt::format("-DBMM_LX={} -DBMM_LY={}", group.x, group.y);
  if (product.acc != Acc::f32)
    options += product.acc == Acc::chunk ? " -DBMM_ACC=1" : " -DBMM_ACC=2";
  if (product.mask != "none") options += " -DBMM_MASK=1";
  return options + act_options(request.problem, "BMM_ACT", request.device);
}

std::string fixed_strides(const BatchMatmul& product, const Stack& a, const Stack& b) {
  if (!fixes_strides(product)) return "";
  // c and mask by aligned vectors alone: without the other way a kernel is shorter.
  const bool whole = has_whole_rows(product);
  return fmt::format(" -DBMM_LDA={} -DBMM_LDB={}{}", a.ld, b.ld, whole ? " -DBMM_WHOLE=1" : "");
}

Launch launch(std::string kernel, const std::string& options, Group group, std::int64_t columns,
              std::int64_t rows, std::int64_t items, std::vector<Arg> args, int parts = 1) {
  const bool transposed = kernel == "batch_matmul_tn" || kernel == "batch_matmul_tt";
  return group_launch(transposed ? "batch_matmul_transposed.cl" : "batch_matmul.cl",
                      std::move(kernel), options, group, columns, rows, items, std::move(args),
                      parts);
}

Arg mask_argument(const BatchMatmul& product) { return buffer_if(product.mask != "none", "mask"); }

/// The arguments of a kernel that computes c: buffers, ints, scale.
std::vector<Arg> arguments(const BatchMatmul& product, std::vector<Arg> buffers,
                           std::initializer_list<std::int64_t> ints) {
  for (const std::int64_t number : ints) buffers.emplace_back(as_int(number));
  buffers.emplace_back(product.problem.number("scale"));
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
    return read.items * read.rows * read.ld * size_of(dtype);
  }
};

/// `vectors`: vectors lie along the rows, over k or, where `along_k` is false, over m or n. k is
/// filled up in both directions, so that products with it are 0. `least`: rows of a tile.
Operand operand(const char* name, const Stack& raw, int k, bool along_k, std::int64_t least) {
  const bool whole = raw.columns % 4 == 0 && k % 4 == 0 && raw.rows >= least;
  if (whole && raw.aligned()) return {name, name, raw, raw};
  const std::int64_t rows = along_k ? std::max(raw.rows, least) : round_up(raw.rows, 4);
  const std::int64_t ld = round_up(raw.columns, 4);
  const Stack read{raw.items, rows, ld, ld, rows * ld, 0};
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
  plan.buffers.push_back(scratch(operand.source, operand.bytes(dtype)));
  plan.launches.push_back(launch("batch_matmul_pad", options, group, read.ld / 4, read.rows,
                                 raw.items,
                                 arg_list(operand.name, operand.source, raw.rows, raw.columns,
                                          read.rows, raw.ld, raw.step(), raw.offset)));
}

// ---- variants ----

/// Copies cost a launch each: a problem that is over before they have started does not wait.
Reason not_worth_padding(const BatchMatmul& product) {
  constexpr double kRepays = 1 << 16;
  return reason_if(product.multiply_adds() < kRepays,
                   "{} products take less time than the launch that aligns a or b",
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
                   {product.m, product.n, round_up(product.k, 4), ra.ld, rb.ld, c.ld, ra.step(),
                    rb.step(), product.mask_stride(), c.step(), ra.offset, rb.offset, c.offset});
}

/// Of batch_matmul_nt and _nn, without a second source and without a residual.
std::vector<Arg> tile_arguments(const BatchMatmul& product, const Operand& a, const Operand& b) {
  const Stack &c = product.c, &ra = a.read, &rb = b.read;
  return arguments(product,
                   arg_list(a.source, NullArg{}, b.source, mask_argument(product), NullArg{}, "c"),
                   {product.m, product.n, round_up(product.k, 4), 0, ra.ld, 0, rb.ld, product.n, 0,
                    c.ld, ra.step(), rb.step(), product.mask_stride(), c.step(), ra.offset, 0,
                    rb.offset, 0, c.offset});
}

void plan_tiles(const Request& request, Plan& plan) {
  const BatchMatmul product(request.problem);
  const Operand a = operand_a(product), b = operand_b(product);
  const MatrixCut cut = choose(cuts_of(request), request);
  const Group group = cut.group;
  const int columns = ceil_div(product.n, cut.columns);
  const int rows = ceil_div(product.m, cut.rows);
  const std::string options = common_options(request, group) +
                              tile_options(product, cut, request.device) +
                              fixed_strides(product, a.read, b.read);
  add_padding(a, product.dtype, options, group, plan);
  add_padding(b, product.dtype, options, group, plan);
  plan.launches.push_back(launch(
      request.variant, options, group, columns, rows, product.batch,
      product.ta ? transposed_arguments(product, a, b) : tile_arguments(product, a, b), cut.parts));
  plan.clocks = cut.clocks.predicted;
}

Launch plain(const Request& request) {
  const BatchMatmul product(request.problem);
  const Stack &a = product.a, &b = product.b, &c = product.c;
  const Group group = choose_group(product.n, widest_group(product), request);
  const std::int64_t a_m = product.ta ? 1 : a.ld, a_k = product.ta ? a.ld : 1;
  const std::int64_t b_k = product.tb ? 1 : b.ld, b_n = product.tb ? b.ld : 1;
  return launch(
      request.variant, common_options(request, group), group, product.n, product.m, product.batch,
      arguments(product, arg_list("a", "b", mask_argument(product), "c"),
                {product.m, product.n, product.k, a_m, a_k, b_k, b_n, c.ld, a.step(), b.step(),
                 product.mask_stride(), c.step(), a.offset, b.offset, c.offset}));
}

}  // namespace

Op batch_matmul_op() {
  const auto tiles = [](const char* name, const char* about, auto refuses) -> Variant {
    return {name, about, refuses, planned(plan_tiles), nullptr, tilings(cuts_of)};
  };
  Op op{
      {"batch_matmul", "c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n])",
       with_activation(batch_matmul_fields(), "batch_a"), check_batch_matmul, batch_matmul_tensors},
      {tiles("batch_matmul_nt", "a[m,k] and b[n,k]", refuses_tiles<false, true>),
       tiles("batch_matmul_nn", "a[m,k] and b[k,n]", refuses_tiles<false, false>),
       tiles("batch_matmul_tn", "a[k,m] and b[k,n]", refuses_tiles<true, false>),
       tiles("batch_matmul_tt", "a[k,m] and b[n,k]", refuses_tiles<true, true>),
       {"batch_matmul_plain", "any stride, offset and extent", refuses_acc, planned(plain)}},
      flops};
  op.takes_native_exp2 = takes_exp;
  op.sums_products = true;
  return op;
}

}  // namespace clam
