// SPDX-License-Identifier: MIT
// nms: its Problem line, and its three plans.
//
//     nms_one      one work-group a batch item decides, then the output: 2 launches
//     nms_mask     sort, place, one mask of all candidates, walk, output: 5 launches
//     nms_chunks   sort, place, for each chunk of candidates (meet,) mask, walk, then the output
#include <fmt/core.h>

#include <algorithm>

#include "../error.hpp"
#include "nms_cases.hpp"
#include "shared/geometry.hpp"

namespace clam {
namespace {

constexpr int kSmallestGroup = 16, kLargestGroup = 256;
constexpr int kSortGroup = 256, kGroup = 64;  ///< work-items, by default
constexpr int kBlock = 1024;                  ///< rows that are sorted together
constexpr int kCandidatesOfOne = 256;         ///< past them a mask is quicker
constexpr int kLargestChunk = 4096, kSmallestChunk = 64;
constexpr int kMostChunks = 1024;  ///< three launches each; the work is quadratic
constexpr int kLocalBytes = 16384;
constexpr int kUnlimited = 2147483647;

using Values = std::map<std::string, std::string, std::less<>>;

// ---- the problem ----

/// The extents, and what follows from them.
struct Nms {
  std::int64_t batch, n, e;
  std::int64_t top;  ///< most candidates of a batch item

  explicit Nms(const Problem& p) : batch(p.integer("batch")), n(p.integer("n")), e(p.integer("e")) {
    const int top_k = p.integer("top_k");
    top = top_k > 0 ? std::min<std::int64_t>(n, top_k) : n;
  }

  std::int64_t blocks() const { return (n + kBlock - 1) / kBlock; }
  std::int64_t keep_words() const { return (top + 31) / 32; }
};

void check_indices(const Problem& p) {
  const int e = p.integer("e"), coord = p.integer("coord_start");
  const int score = p.integer("score_index"), id = p.integer("id_index");
  const std::string range = fmt::format("needs an index under e={}", e);
  const auto in_box = [&](int index) { return index >= coord && index < coord + 4; };
  if (e < 5) bad_field(p, "e", "needs at least 5: a score and four coordinates");
  if (coord > e - 4) {
    bad_field(p, "coord_start", fmt::format("leaves no room for four coordinates in e={}", e));
  }
  if (score >= e) bad_field(p, "score_index", range);
  if (id >= e) bad_field(p, "id_index", range + ", or -1 for no class");
  if (in_box(score)) bad_field(p, "score_index", "lies among the coordinates");
  if (in_box(id)) bad_field(p, "id_index", "lies among the coordinates");
  if (id == score) bad_field(p, "id_index", "needs another index than score_index");
}

/// A limit of 0 or less is none, and indices are compacted anyway.
void check_nms(const Problem& p, Values& values) {
  check_indices(p);
  for (const char* limit : {"max_output_size", "top_k"}) {
    if (p.integer(limit) <= 0) values[limit] = "-1";
  }
  if (p.flag("return_indices")) values["invalid_to_bottom"] = "0";
}

std::vector<Field> nms_fields() {
  constexpr std::int64_t kAny = -2147483648LL;
  return {extent("batch", "independent sets of rows", "1"),
          extent("n", "rows of a set"),
          extent("e", "elements of a row, 5 or more", "6"),
          dtype_field(),
          number("iou_threshold", "overlap from which a kept box kills later ones", "0.5"),
          integer("max_output_size", "most boxes that are kept; 0 or less: all", "-1", kAny),
          integer("force_suppress", "1: boxes of other classes are killed too", "0", 0, 1),
          integer("top_k", "best rows that are looked at; 0 or less: all", "-1", kAny),
          integer("coord_start", "element of the first of four coordinates", "2", 0),
          integer("score_index", "element that holds the score", "1", 0),
          integer("id_index", "element that holds the class; -1: there is none", "0", -1),
          flag("return_indices", "box_indices and box_count are the outputs"),
          flag("invalid_to_bottom", "kept rows stand together"),
          choice("compare", "ge: an overlap equal to the threshold kills; gt: it does not",
                 {"ge", "gt"}, "ge"),
          number("score_min", "a kept box has a higher score", "0")};
}

std::vector<TensorSpec> nms_tensors(const Problem& p) {
  using Role = TensorSpec::Role;
  const Nms s(p);
  std::vector<TensorSpec> specs{{"data", Role::input, p.dtype(), {s.batch, s.n, s.e}, {}, 0},
                                {"count", Role::input, Dtype::i32, {s.batch}, {}, 0}};
  if (p.flag("return_indices")) {
    specs.push_back({"indices", Role::input, Dtype::i32, {s.batch, s.n}, {}, 0});
    specs.push_back({"box_indices", Role::output, Dtype::i32, {s.batch, s.n}, {}, 0});
    specs.push_back({"box_count", Role::output, Dtype::i32, {s.batch, 1}, {}, 0});
  } else {
    specs.push_back({"out", Role::output, p.dtype(), {s.batch, s.n, s.e}, {}, 0});
  }
  return specs;
}

// ---- scratch ----

/// How the candidates are cut: `count` chunks of `size`, the last one shorter.
struct Chunks {
  std::int64_t size, count;
};

Chunks one_chunk(const Nms& s) { return {(s.top + 31) / 32 * 32, 1}; }

std::int64_t mask_bytes(const Nms& s, std::int64_t size) { return s.batch * size * size / 8; }

/// Large chunks make few launches; at least two, and a mask that the device can hold.
Chunks several_chunks(const Nms& s, const DeviceInfo& device) {
  std::int64_t size = kLargestChunk;
  while (size > kSmallestChunk && (size > s.top / 2 || too_large("", mask_bytes(s, size), device)))
    size /= 2;
  return {size, (s.top + size - 1) / size};
}

std::vector<BufferSpec> decision_buffers(const Nms& s, std::int64_t chunks) {
  constexpr auto kScratch = BufferSpec::Role::scratch;
  return {{"rows", kScratch, 4 * s.batch * s.top},
          {"candidates", kScratch, 4 * s.batch},
          {"keep", kScratch, 4 * s.batch * s.keep_words()},
          {"kept", kScratch, 4 * s.batch * s.top},
          {"totals", kScratch, 4 * s.batch * chunks}};
}

std::vector<BufferSpec> buffers(const Nms& s, const Chunks& chunks) {
  constexpr auto kScratch = BufferSpec::Role::scratch;
  std::vector<BufferSpec> all = decision_buffers(s, chunks.count);
  all.push_back({"keys", kScratch, 8 * s.batch * s.blocks() * kBlock});
  all.push_back({"found", kScratch, 4 * s.batch * s.blocks()});
  all.push_back({"boxes", kScratch, 16 * s.batch * s.top});
  all.push_back({"classes", kScratch, 4 * s.batch * s.top});
  all.push_back({"mask", kScratch, mask_bytes(s, chunks.size)});
  if (chunks.count > 1) all.push_back({"dead", kScratch, 4 * s.batch * chunks.size});
  return all;
}

/// Each buffer, and all of them together with the tensors, fit the device.
Reason no_room(const Problem& p, const std::vector<BufferSpec>& scratch, const DeviceInfo& device) {
  std::int64_t sum = 0;
  for (const BufferSpec& buffer : scratch) {
    if (Reason reason = too_large(buffer.name.c_str(), buffer.bytes, device)) return reason;
    sum += buffer.bytes;
  }
  for (const TensorSpec& spec : nms_tensors(p)) sum += spec.bytes();
  if (sum <= device.global_mem_bytes) return {};
  return fmt::format("tensors and scratch would take {} bytes, over the limit of {}", sum,
                     device.global_mem_bytes);
}

// ---- what the device can do ----

Reason no_group(const DeviceInfo& device) {
  if (std::min(device.max_work_group, device.max_work_items[0]) < kSmallestGroup) {
    return fmt::format("the device has no work-groups of {} work-items", kSmallestGroup);
  }
  if (device.local_mem_bytes >= kLocalBytes) return {};
  return fmt::format("the device has {} bytes of local memory, under the {} needed",
                     device.local_mem_bytes, kLocalBytes);
}

Reason supports_one(const Problem& p, const DeviceInfo& device) {
  const Nms s(p);
  if (s.n > kBlock) return fmt::format("n={} is over {}: too long for one work-group", s.n, kBlock);
  if (s.top > kCandidatesOfOne) {
    return fmt::format("{} candidates are over {}: too many for one work-group", s.top,
                       kCandidatesOfOne);
  }
  if (Reason reason = no_room(p, decision_buffers(s, 1), device)) return reason;
  return no_group(device);
}

Reason supports_mask(const Problem& p, const DeviceInfo& device) {
  const Nms s(p);
  const Chunks chunk = one_chunk(s);
  if (s.top > kLargestChunk) {
    return fmt::format("mask of {} candidates would take {} bytes, over the limit of {}", s.top,
                       mask_bytes(s, chunk.size), mask_bytes(s, kLargestChunk));
  }
  if (Reason reason = no_room(p, buffers(s, chunk), device)) return reason;
  return no_group(device);
}

Reason supports_chunks(const Problem& p, const DeviceInfo& device) {
  const Nms s(p);
  const Chunks chunks = several_chunks(s, device);
  if (chunks.count > kMostChunks) {
    return fmt::format("{} candidates make {} chunks, over the limit of {}: give a top_k", s.top,
                       chunks.count, kMostChunks);
  }
  if (Reason reason = no_room(p, buffers(s, chunks), device)) return reason;
  return no_group(device);
}

// ---- launches ----

/// The work-items of groups, within the caller's bound.
struct Groups {
  int sort, rest;

  Groups(const DeviceInfo& device, const PlanOptions& options)
      : sort(choose(kSortGroup, device, options)), rest(choose(kGroup, device, options)) {}

  static int choose(int preferred, const DeviceInfo& device, const PlanOptions& options) {
    const int wanted = options.max_work_group > 0 ? options.max_work_group : preferred;
    const std::int64_t bound = std::min<std::int64_t>(
        {wanted, kLargestGroup, device.max_work_group, device.max_work_items[0]});
    if (bound < kSmallestGroup) {
      throw Unsupported(
          fmt::format("nms: needs work-groups of {} work-items, not of {}", kSmallestGroup, bound));
    }
    return floor_power_of_two(bound);
  }
};

/// What the launches of a plan have in common.
struct Launcher {
  const Problem& p;
  Nms s;
  Groups groups;
  Chunks chunks;

  std::int32_t integer(const char* field) const { return p.integer(field); }
  std::int32_t n() const { return integer("n"); }
  std::int32_t e() const { return integer("e"); }
  std::int32_t top() const { return static_cast<std::int32_t>(s.top); }
  std::int32_t size() const { return static_cast<std::int32_t>(chunks.size); }
  std::int32_t count() const { return static_cast<std::int32_t>(chunks.count); }
  /// The element of the class, where classes are compared.
  std::int32_t id_index() const {
    return integer("force_suppress") == 1 ? -1 : integer("id_index");
  }
  std::int32_t limit() const {
    const int most = integer("max_output_size");
    return most > 0 ? most : kUnlimited;
  }

  const char* f16() const { return p.dtype() == Dtype::f16 ? " -DCLAM_F16" : ""; }

  /// A launch of nms.cl: x groups of `group` items, y and z groups of one.
  Launch launch(const char* kernel, int group, std::int64_t x, std::int64_t y, std::int64_t z,
                std::vector<Arg> args) const {
    const char* gt = p.choice("compare") == "gt" ? " -DNMS_GT=1" : "";
    return {"nms.cl",
            kernel,
            fmt::format("-DNMS_SORT_WG={} -DNMS_WG={}{}{}", groups.sort, groups.rest, gt, f16()),
            {x * group, y, z},
            {group, 1, 1},
            std::move(args)};
  }

  std::int64_t groups_of(std::int64_t items) const {
    return (items + groups.rest - 1) / groups.rest;
  }

  Launch sort() const {
    return launch("nms_sort", groups.sort, s.blocks(), s.batch, 1,
                  {BufferArg{"data"}, BufferArg{"count"}, BufferArg{"keys"}, BufferArg{"found"},
                   n(), e(), integer("score_index"), p.number("score_min")});
  }

  Launch place() const {
    return launch("nms_place", groups.rest, groups_of(s.blocks() * kBlock), s.batch, 1,
                  {BufferArg{"data"}, BufferArg{"count"}, BufferArg{"keys"}, BufferArg{"found"},
                   BufferArg{"boxes"}, BufferArg{"classes"}, BufferArg{"rows"},
                   BufferArg{"candidates"}, n(), e(), top(), integer("coord_start"), id_index()});
  }

  Launch meet(int chunk) const {
    return launch("nms_meet", groups.rest, groups_of(chunks.size), s.batch, 1,
                  {BufferArg{"boxes"}, BufferArg{"classes"}, BufferArg{"candidates"},
                   BufferArg{"kept"}, BufferArg{"totals"}, BufferArg{"dead"}, top(), size(),
                   count(), chunk, p.number("iou_threshold")});
  }

  Launch mask(int chunk) const {
    return launch("nms_mask", groups.rest, groups_of(chunks.size), chunks.size / 32, s.batch,
                  {BufferArg{"boxes"}, BufferArg{"classes"}, BufferArg{"candidates"},
                   BufferArg{"mask"}, top(), size(), chunk, p.number("iou_threshold")});
  }

  Launch walk(int chunk) const {
    const Arg dead = chunks.count > 1 ? Arg{BufferArg{"dead"}} : Arg{NullArg{}};
    return launch("nms_walk", groups.rest, 1, s.batch, 1,
                  {BufferArg{"candidates"}, BufferArg{"mask"}, dead, BufferArg{"keep"},
                   BufferArg{"kept"}, BufferArg{"totals"}, top(), size(), count(), chunk, limit()});
  }

  Launch one() const {
    return launch(
        "nms_one", groups.sort, 1, s.batch, 1,
        {BufferArg{"data"}, BufferArg{"count"}, BufferArg{"rows"}, BufferArg{"candidates"},
         BufferArg{"keep"}, BufferArg{"kept"}, BufferArg{"totals"}, n(), e(), top(),
         integer("coord_start"), integer("score_index"), id_index(), limit(), p.number("score_min"),
         p.number("iou_threshold")});
  }

  Launch rows() const {
    constexpr int kRowsPerItem = 4;
    int unit = 16;
    while (s.e * size_of(p.dtype()) % unit != 0) unit /= 2;
    const std::int64_t groups_x =
        (s.n + kRowsPerItem * groups.rest - 1) / (kRowsPerItem * groups.rest);
    return {"nms_output.cl",
            "nms_rows",
            fmt::format("-DNMS_WG={} -DNMS_UNIT={}{}", groups.rest, unit, f16()),
            {groups_x * groups.rest, s.batch, 1},
            {groups.rest, 1, 1},
            {BufferArg{"data"}, BufferArg{"out"}, BufferArg{"rows"}, BufferArg{"candidates"},
             BufferArg{"keep"}, BufferArg{"kept"}, BufferArg{"totals"}, n(), e(), top(), count(),
             p.flag("invalid_to_bottom") ? 1 : 0}};
  }

  /// No element of data is touched, so one program serves every dtype.
  Launch indices() const {
    return {"nms_output.cl",
            "nms_indices",
            fmt::format("-DNMS_WG={}", groups.rest),
            {groups_of(s.n) * groups.rest, s.batch, 1},
            {groups.rest, 1, 1},
            {BufferArg{"indices"}, BufferArg{"box_indices"}, BufferArg{"box_count"},
             BufferArg{"rows"}, BufferArg{"kept"}, BufferArg{"totals"}, n(), top(), count()}};
  }

  Launch output() const { return p.flag("return_indices") ? indices() : rows(); }
};

void plan_one(const Problem& p, const DeviceInfo& device, const PlanOptions& options, Plan& plan) {
  const Nms s(p);
  const Launcher launcher{p, s, Groups(device, options), one_chunk(s)};
  plan.buffers = decision_buffers(s, 1);
  plan.launches = {launcher.one(), launcher.output()};
}

void plan_in_chunks(const Problem& p, const Groups& groups, const Chunks& chunks, Plan& plan) {
  const Nms s(p);
  const Launcher launcher{p, s, groups, chunks};
  plan.buffers = buffers(s, chunks);
  plan.launches = {launcher.sort(), launcher.place()};
  for (int chunk = 0; chunk < chunks.count; ++chunk) {
    if (chunk > 0) plan.launches.push_back(launcher.meet(chunk));
    plan.launches.push_back(launcher.mask(chunk));
    plan.launches.push_back(launcher.walk(chunk));
  }
  plan.launches.push_back(launcher.output());
}

void plan_mask(const Problem& p, const DeviceInfo& device, const PlanOptions& options, Plan& plan) {
  plan_in_chunks(p, Groups(device, options), one_chunk(Nms(p)), plan);
}

void plan_chunks(const Problem& p, const DeviceInfo& device, const PlanOptions& options,
                 Plan& plan) {
  plan_in_chunks(p, Groups(device, options), several_chunks(Nms(p), device), plan);
}

}  // namespace

const Op& nms_op() {
  static const Op op = {
      "nms",
      "non-maximum suppression of count[b] rows, as TVM's non_max_suppression defines it",
      nms_fields(),
      check_nms,
      nms_tensors,
      {{"nms_one", "two launches, for up to 256 candidates of 1024 rows", supports_one, plan_one},
       {"nms_mask", "five launches, for up to 4096 candidates", supports_mask, plan_mask},
       {"nms_chunks", "three launches a chunk of candidates, for any number", supports_chunks,
        plan_chunks}},
      nms_data_sets(),
      nms_reference,
      nms_flops,
      nms_bytes,
      nms_cases(),
      nms_small_cases()};
  return op;
}

}  // namespace clam
