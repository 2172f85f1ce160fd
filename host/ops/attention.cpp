// SPDX-License-Identifier: MIT
// attention.cpp - the fields of attention, and how it is computed.
#include "attention.hpp"

#include <array>

#include "ops/shared/tiling.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;      ///< elements of a vector, keys of a unit
constexpr int kMostTiles = 4;   ///< of a group, of several queries
constexpr int kMostParts = 32;  ///< of the keys of one query

// ---- the problem ----

/// A tensor's extents and where its elements lie, in elements.
struct Heads {
  std::int64_t batch, heads, rows, columns;
  std::int64_t ld, head, stride, offset;

  /// Every row starts on a multiple of four elements, so aligned 4-vectors can be loaded.
  bool aligned() const {
    return ld % kVector == 0 && head % kVector == 0 && stride % kVector == 0 &&
           offset % kVector == 0;
  }
};

/// Heads lie one behind the other, or side by side in longer rows: batch items lie behind all.
std::int64_t usual_stride(std::int64_t heads, std::int64_t head, std::int64_t rows,
                          std::int64_t ld) {
  return std::max(heads * head, rows * ld);
}

Heads heads_of(const Problem& problem, const std::string& name) {
  const AttentionExtents at(problem);
  const bool shared = name == "k" || name == "v";
  Heads it{};
  it.batch = at.batch;
  it.heads = shared ? at.kv_heads : at.heads;
  it.rows = shared ? at.nk : at.nq;
  it.columns = name == "q" || name == "k" ? at.d : at.dv;
  it.offset = problem.integer("off" + name);
  it.ld = given_or(problem, "ld" + name, it.columns);
  it.head = given_or(problem, "head" + name, it.rows * it.ld);
  it.stride = given_or(problem, "stride" + name, usual_stride(it.heads, it.head, it.rows, it.ld));
  return it;
}

/// A row stride holds a row. Strides are left out where they are the default, or of one item.
void check_strides(const Problem& problem, Schema::Values& values, const std::string& name) {
  const Heads it = heads_of(problem, name);
  check_row_stride(problem, values, name, it.columns);
  if (it.heads == 1 || it.head == it.rows * it.ld) values["head" + name] = "0";
  const std::int64_t usual = usual_stride(it.heads, it.head, it.rows, it.ld);
  if (it.batch == 1 || it.stride == usual) values["stride" + name] = "0";
}

void check_attention(const Problem& problem, Schema::Values& values) {
  const int heads = problem.integer("heads"), kv_heads = problem.integer("kv_heads");
  check_acc(problem);
  check_finite(problem, {"scale"});
  bad_field_if(kv_heads > 0 && heads % kv_heads != 0, problem, "kv_heads",
               "needs a divisor of heads={}", heads);
  if (kv_heads == heads) values["kv_heads"] = "0";
  if (problem.integer("batch") == 1) values["swap"] = "0";
  if (problem.integer("dv") == problem.integer("d")) values["dv"] = "0";
  const float usual = 1 / std::sqrt(static_cast<float>(problem.integer("d")));
  if (problem.number("scale") == usual) values["scale"] = "0";
  for (const char* name : {"q", "k", "v", "o"}) check_strides(problem, values, name);
  const Heads o = heads_of(problem, "o");
  require_distinct(
      problem, "o", o.columns,
      {{o.ld, o.rows, "ldo"}, {o.head, o.heads, "heado"}, {o.stride, o.batch, "strideo"}});
}

std::vector<Field> attention_fields() {
  std::vector<Field> fields{
      extent("batch", "items of all tensors", "1"),
      extent("heads", "heads of q and o"),
      extent("nq", "queries: rows of q and o"),
      extent("nk", "keys: rows of k and v"),
      extent("d", "columns of q and k"),
      dtype_field(),
      acc_field(),
      integer("dv", "columns of v and o; 0: d", "0", 0),
      integer("kv_heads", "heads of k and v, each for as many of q; 0: heads", "0", 0),
      integer("causal", "1: query i attends to keys 0 to i alone", "0", 0, 1),
      flag("swap", "batch item i has the keys and values of item batch-1-i"),
      number("scale", "factor of the scores; 0: 1/sqrt(d)", "0"),
      choice("mask", "extents of the mask that is added after scale", {"none", "qk", "bqk", "bhqk"},
             "none")};
  const struct {
    const char *word, *about;
  } places[] = {{"ld", "row stride of {}, in elements; 0: its row's length"},
                {"head", "head stride of {}; 0: its rows times ld"},
                {"stride", "batch stride of {}; 0: behind the heads before"},
                {"off", "first element of {}"}};
  for (const auto& place : places) {
    for (const char* name : {"q", "k", "v", "o"}) {
      fields.push_back(integer(std::string(place.word) + name,
                               fmt::format(fmt::runtime(place.about), name), "0", 0));
    }
  }
  return fields;
}

TensorSpec spec_of(const Problem& problem, const char* name, TensorSpec::Role role) {
  const Heads it = heads_of(problem, name);
  const Shape shape{it.batch, it.heads, it.rows, it.columns};
  return placed(problem, {name, role, problem.dtype(), shape, {}, it.offset},
                {"ld", "head", "stride"}, {it.stride, it.head, it.ld, 1});
}

std::vector<TensorSpec> attention_tensors(const Problem& problem) {
  using Role = TensorSpec::Role;
  const AttentionExtents at(problem);
  std::vector<TensorSpec> specs{spec_of(problem, "q", Role::input),
                                spec_of(problem, "k", Role::input),
                                spec_of(problem, "v", Role::input)};
  const std::string& mask = problem.choice("mask");
  Shape shape{at.nq, at.nk};
  if (mask == "bqk") shape = {at.batch, at.nq, at.nk};
  if (mask == "bhqk") shape = {at.batch, at.heads, at.nq, at.nk};
  if (mask != "none") specs.push_back(input("mask", problem.dtype(), shape));
  specs.push_back(spec_of(problem, "o", Role::output));
  return specs;
}

/// Of both products; those that `causal` hides count, too.
double flops(const Problem& problem) {
  const AttentionExtents at(problem);
  return 2.0 * static_cast<double>(at.batch * at.heads) *
         static_cast<double>(at.nq * at.nk * (at.d + at.dv));
}

/// Where `causal`, query i sees keys 0 to i alone.
double least_flops(const Problem& problem) {
  const AttentionExtents at(problem);
  if (!at.causal) return flops(problem);
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < at.nq; ++i) seen += std::min(at.nk, i + 1);
  return flops(problem) * double(seen) / double(at.nq * at.nk);
}

// ---- launches ----

/// Strides as constants spare the loops registers. They cost a build of their own, which only a
/// large problem repays.
bool fixes_strides(const Problem& problem) { return flops(problem) >= 2 << 22; }

/// How work-items share a head.
struct Cut : Tiling {
  int rows = 1, tiles = 1, lanes = 1, pieces = 1;
  int parts = 1;  ///< of the keys of one query: they are the tiles then

  Group group() const { return {tiles, lanes}; }
};

/// Of a group, and along either of its axes.
int most_items(const Request& request) {
  const DeviceInfo& device = request.device;
  return as_int(std::min<std::int64_t>({items_or(kLargestGroup, request), kLargestGroup,
                                        device.max_work_group, device.max_work_items[1]}));
}

/// Local memory of an item: a partial result a row, a unit of weights a row, its sums, and where
/// its rows start and its outputs go. A vector has a number for each row.
std::int64_t local_bytes(const Cut& cut) {
  const std::int64_t each = cut.rows > 4 ? 32 : 16;
  const std::int64_t item = 4 * cut.rows + 16 * cut.rows + each + 16 * cut.rows + 32;
  return cut.tiles * (cut.lanes * item + 2 * each);
}

/// Whether a group may have twice the tiles.
bool may_double(const Cut& cut, int items, const DeviceInfo& device) {
  return 2 * cut.tiles * cut.lanes <= items && 2 * cut.tiles <= device.max_work_items[0] &&
         2 * local_bytes(cut) <= device.local_mem_bytes;
}

/// As many lanes as v has vectors of columns, in fours, and then tiles that lie side by side.
Cut cut_in(int rows, const Request& request) {
  constexpr int kMostLanes = 64;
  const AttentionExtents at(request.problem);
  const DeviceInfo& device = request.device;
  const int items = most_items(request);
  const int vectors = ceil_div(as_int(at.dv), kVector);
  Cut cut;
  cut.rows = rows;
  cut.lanes = std::min({round_up(vectors, 4), kMostLanes, std::max(items / 4 * 4, 4)});
  while (cut.lanes > 4 && local_bytes(cut) > device.local_mem_bytes) cut.lanes -= 4;
  while (cut.tiles < kMostTiles && cut.tiles * rows < at.nq && may_double(cut, items, device)) {
    cut.tiles *= 2;
  }
  cut.pieces = ceil_div(vectors, cut.lanes);
  return cut;
}

/// Instructions that add the sums of parts.
double adding(const Cut& cut) { return cut.parts == 1 ? 0 : 60 + 14.0 * cut.parts; }

Work work_of(const Problem& problem, const Cut& cut, const Cost& cost) {
  const AttentionExtents at(problem);
  const auto units = ceil_div(as_int(at.nk), kVector);
  const double blocks = ceil_div(units, cut.lanes * cut.parts);
  const double fours = ceil_div(as_int(at.d), 4);
  Work work;
  work.items = static_cast<double>(at.batch * at.heads * cut.pieces) *
               ceil_div(as_int(at.nq), cut.rows) * cut.lanes * cut.parts;
  const std::vector<double>& of = cost.numbers;
  work.instructions = blocks * (fours * of.at(0) + of.at(2)) + 1.0 * units / cut.parts * of.at(1) +
                      of.at(3) + adding(cut);
  return work;
}

/// Whether the keys of one query may be cut into twice as many parts.
bool may_cut(const Cut& cut, const Request& request) {
  const AttentionExtents at(request.problem);
  return at.nq == 1 && !at.causal && 2 * cut.parts <= kMostParts &&
         cut.parts * cut.lanes <= ceil_div(as_int(at.nk), kVector) &&
         may_double(cut, most_items(request), request.device);
}

/// A high tile does more multiply-adds an instruction, a low one makes more warps.
std::vector<Cut> cuts_of(const Request& request) {
  const Problem& problem = request.problem;
  const DeviceInfo& device = request.device;
  const AttentionExtents at(problem);
  std::vector<Cut> cuts;
  for (const Cost& cost :
       costs_of("attention_online", problem.dtype(), accumulator(problem), device)) {
    Cut cut = cut_in(cost["ROWS"], request);
    static_cast<Tiling&>(cut) = tiling_of(cost, device);
    if (cut.rows > at.nq) cut.refused = fmt::format("it is higher than the {} queries", at.nq);
    if (cut.rows > cut.lanes) {  // a lane agrees on the maximum of a row
      cut.refused = fmt::format("its rows are more than its {} lanes", cut.lanes);
    }
    const auto add = [&] {
      cuts.push_back(cut);
      cuts.back().words += fmt::format(",PARTS={}", cut.parts);
      cuts.back().clocks = clocks_of(work_of(problem, cut, cost), device);
    };
    add();
    while (may_cut(cut, request)) {
      cut.parts = cut.tiles *= 2;
      add();
    }
  }
  return cuts;
}

/// Of every kernel.
std::string group_options(const Problem& problem, const Cut& cut) {
  return fmt::format("{}-DATT_TILES={} -DATT_LANES={}", dtype_option(problem.dtype()), cut.tiles,
                     cut.lanes);
}

/// Of the kernels that compute o.
std::string common_options(const Request& request, const Cut& cut) {
  const Problem& problem = request.problem;
  const AttentionExtents at(problem);
  std::string options = group_options(problem, cut);
  if (cut.pieces > 1) options += fmt::format(" -DATT_PIECES={}", cut.pieces);
  if (at.heads != at.kv_heads) options += fmt::format(" -DATT_SHARE={}", at.heads / at.kv_heads);
  if (problem.choice("mask") != "none") options += " -DATT_MASK=1";
  if (at.causal) options += " -DATT_CAUSAL=1";
  if (exponentiates_natively(request.device)) options += " -DATT_NATIVE=1";
  return options;
}

/// mask and o by aligned vectors alone.
bool is_whole(const Problem& problem) {
  const AttentionExtents at(problem);
  const bool mask = problem.choice("mask") == "none" || at.nk % kVector == 0;
  return mask && at.dv % kVector == 0 && heads_of(problem, "o").aligned();
}

/// Head and batch stride of the mask.
std::array<std::int64_t, 2> mask_strides(const Problem& problem) {
  const AttentionExtents at(problem);
  const std::string& mask = problem.choice("mask");
  const std::int64_t size = at.nq * at.nk;
  if (mask == "bhqk") return {size, at.heads * size};
  return {0, mask == "bqk" ? size : 0};
}

/// The same batch items, the last one first.
Heads from_the_last(Heads it) {
  it.offset += (it.batch - 1) * it.stride;
  it.stride = -it.stride;
  return it;
}

/// Arguments of the kernels that compute o; tensors: q, k, v and o.
std::vector<Arg> arguments(const Problem& problem, const std::array<std::string, 3>& sources,
                           std::array<Heads, 4> tensors, std::int64_t d) {
  const AttentionExtents at(problem);
  if (at.swap) {
    for (const std::size_t shared : {1, 2}) tensors[shared] = from_the_last(tensors[shared]);
  }
  const std::array<std::int64_t, 2> mask = mask_strides(problem);
  std::vector<Arg> args = arg_list(sources[0], sources[1], sources[2],
                                   buffer_if(problem.choice("mask") != "none", "mask"), "o");
  const auto& [q, k, v, o] = tensors;
  append_args(args, at.nq, at.nk, d, at.dv, q.ld, k.ld, v.ld, o.ld);
  append_args(args, q.head, k.head, v.head, o.head, mask[0]);
  append_args(args, q.stride, k.stride, v.stride, o.stride, mask[1]);
  append_args(args, q.offset, k.offset, v.offset, o.offset, at.scale);
  return args;
}

// ---- padding ----

/// An operand of attention_online: read as it is, or copied into whole, aligned rows first.
struct Operand {
  std::string name;    ///< of its tensor
  std::string source;  ///< of the buffer that the kernel reads
  Heads raw, read;

  bool padded() const { return source != name; }
  std::int64_t bytes(Dtype dtype) const { return read.batch * read.stride * size_of(dtype); }
};

Operand operand(const Problem& problem, const char* name, std::int64_t least_rows) {
  const Heads raw = heads_of(problem, name);
  if (raw.aligned() && raw.columns % kVector == 0 && raw.rows >= least_rows) {
    return {name, name, raw, raw};
  }
  Heads read = raw;
  read.rows = std::max(raw.rows, least_rows);
  read.columns = read.ld = round_up(raw.columns, kVector);
  read.head = read.rows * read.ld;
  read.stride = read.heads * read.head;
  read.offset = 0;
  return {name, std::string(name) + "_padded", raw, read};
}

/// A lone block of keys has whole units of them, if of zeros.
std::array<Operand, 3> operands(const Problem& problem, int lanes) {
  const int nk = problem.integer("nk");
  const int rows = nk < kVector * lanes ? round_up(nk, kVector) : nk;
  return {operand(problem, "q", 1), operand(problem, "k", rows), operand(problem, "v", rows)};
}

void add_padding(const Operand& operand, const Problem& problem, Cut cut, Plan& plan) {
  if (!operand.padded()) return;
  cut.tiles = std::min(cut.tiles, kMostTiles);
  const Heads &raw = operand.raw, &read = operand.read;
  plan.buffers.push_back(scratch(operand.source, operand.bytes(problem.dtype())));
  plan.launches.push_back(
      group_launch("attention_pad.cl", "attention_pad", group_options(problem, cut), cut.group(),
                   read.ld / kVector, read.rows, raw.batch * raw.heads,
                   arg_list(operand.name, operand.source, raw.heads, raw.rows, raw.columns,
                            read.rows, raw.ld, raw.head, raw.stride, raw.offset)));
}

// ---- variants ----

Reason refuses_plain(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = attention_not_offered(problem)) return reason;
  constexpr int kFewest = 4;
  const int items = most_items({problem, device, {}});
  return reason_if(items < kFewest, "a group has at least {} items, and at most {} here", kFewest,
                   items);
}

Reason refuses_online(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_plain(problem, device)) return reason;
  const Cut cut = cut_in(1, {problem, device, {}});
  for (const Operand& operand : operands(problem, cut.lanes)) {
    if (!operand.padded()) continue;
    const std::string what = "padded " + operand.name;
    if (Reason reason = too_large(what.c_str(), operand.bytes(problem.dtype()), device)) {
      return reason;
    }
  }
  return reason_if(local_bytes(cut) > device.local_mem_bytes,
                   "a group needs {} bytes of local memory, of {}", local_bytes(cut),
                   device.local_mem_bytes);
}

void plan_online(const Request& request, Plan& plan) {
  const Problem& problem = request.problem;
  const AttentionExtents at(problem);
  const Cut cut = choose(cuts_of(request), request);
  const auto [q, k, v] = operands(problem, cut.lanes);
  std::string options = common_options(request, cut);
  if (accumulator(problem) == Acc::chunk) options += " -DATT_ACC=1";
  if (cut.rows != 4) options += fmt::format(" -DATT_ROWS={}", cut.rows);
  if (splits_addresses(request.device)) options += " -DATT_SPLIT=1";
  if (is_whole(problem)) options += " -DATT_WHOLE=1";
  if (fixes_strides(problem)) {
    options +=
        fmt::format(" -DATT_LDQ={} -DATT_LDK={} -DATT_LDV={}", q.read.ld, k.read.ld, v.read.ld);
  }
  if (cut.parts > 1) options += " -DATT_CUT=1";
  for (const Operand& operand : {q, k, v}) add_padding(operand, problem, cut, plan);
  plan.launches.push_back(
      group_launch("attention.cl", "attention_online", options, cut.group(),
                   ceil_div(at.nq, cut.rows), cut.lanes * at.heads, at.batch * cut.pieces,
                   arguments(problem, {q.source, k.source, v.source},
                             {q.read, k.read, v.read, heads_of(problem, "o")}, q.read.columns)));
  plan.clocks = cut.clocks.predicted;
}

Launch plain(const Request& request) {
  const Problem& problem = request.problem;
  const AttentionExtents at(problem);
  Cut cut = cut_in(1, request);
  cut.pieces = ceil_div(as_int(at.dv), cut.lanes);
  return group_launch("attention_plain.cl", "attention_plain", common_options(request, cut),
                      cut.group(), at.nq, cut.lanes * at.heads, at.batch * cut.pieces,
                      arguments(problem, {"q", "k", "v"},
                                {heads_of(problem, "q"), heads_of(problem, "k"),
                                 heads_of(problem, "v"), heads_of(problem, "o")},
                                at.d));
}

}  // namespace

Reason attention_not_offered(const Problem& problem) {
  return reason_if(accumulator(problem) == Acc::f16,
                   "scores and outputs are summed in float or in chunks: use acc=f32 or acc=chunk");
}

Op attention_op() {
  Op op{{"attention", "o = softmax(scale * q k^T + mask) v, head by head", attention_fields(),
         check_attention, attention_tensors},
        {{"attention_online", "blocks of keys, maxima and sums brought up to date", refuses_online,
          planned(plan_online), nullptr, tilings(cuts_of)},
         {"attention_plain", "any stride, offset and extent, no scratch", refuses_plain,
          planned(plain)}},
        flops};
  op.least_flops = least_flops;
  op.takes_native_exp2 = [](const Problem&) { return true; };
  op.sums_products = true;
  return op;
}

}  // namespace clam
