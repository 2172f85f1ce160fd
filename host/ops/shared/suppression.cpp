// SPDX-License-Identifier: MIT
// The plans of non-maximum suppression, up to its outputs:
//
//     nms_one      one work-group a set decides: 1 launch
//     nms_mask     sort, place, one mask of all candidates, walk: 4 launches
//     nms_chunks   sort, place, for each chunk of candidates (meet,) mask, walk
#include "suppression.hpp"

#include "axes.hpp"
#include "boxes.hpp"

namespace clam {
namespace {

constexpr int kSortGroup = 256, kGroup = 64;  ///< work-items, by default
constexpr int kBlock = 1024;                  ///< rows that are sorted together
constexpr int kCandidatesOfOne = 256;         ///< past them a mask is quicker
constexpr int kLargestChunk = 4096, kSmallestChunk = 64;
constexpr int kMostChunks = 1024;                  ///< three launches each; the work is quadratic
constexpr std::int64_t kMostMaskBytes = 64 << 20;  ///< of all sets
constexpr int kLocalBytes = 16384;

// ---- scratch ----

/// How the candidates are cut: `count` chunks of `size`, the last one shorter.
struct Chunks {
  std::int64_t size, count;
};

std::int64_t blocks(const Suppression& s) { return ceil_div(s.n, kBlock); }

Chunks one_chunk(const Suppression& s, const DeviceInfo&) { return {(s.top() + 31) / 32 * 32, 1}; }

std::int64_t mask_bytes(const Suppression& s, std::int64_t size) {
  return s.sets * size * size / 8;
}

/// Why a mask is not to be had, if so.
Reason mask_too_large(const Suppression& s, std::int64_t size, const DeviceInfo& device) {
  const std::int64_t bytes = mask_bytes(s, size);
  if (bytes <= kMostMaskBytes) return too_large("mask", bytes, device);
  return fmt::format("masks of {} candidates for each of {} sets would take {} bytes, over {}",
                     size, s.sets, bytes, kMostMaskBytes);
}

/// Large chunks make few launches; at least two, and a mask that the device can hold.
Chunks several_chunks(const Suppression& s, const DeviceInfo& device) {
  std::int64_t size = kLargestChunk;
  while (size > kSmallestChunk && (size > s.top() / 2 || mask_too_large(s, size, device)))
    size /= 2;
  return {size, (s.top() + size - 1) / size};
}

/// What an output is made from.
std::vector<BufferSpec> decision_buffers(const Suppression& s, const Chunks& chunks) {
  return {scratch("rows", 4 * s.sets * s.top()), scratch("candidates", 4 * s.sets),
          scratch("keep", 4 * s.sets * ((s.top() + 31) / 32)),
          scratch("kept", 4 * s.sets * s.top()), scratch("totals", 4 * s.sets * chunks.count)};
}

std::vector<BufferSpec> all_buffers(const Suppression& s, const Chunks& chunks) {
  std::vector<BufferSpec> all = decision_buffers(s, chunks);
  all.push_back(scratch("keys", 8 * s.sets * blocks(s) * kBlock));
  all.push_back(scratch("found", 4 * s.sets * blocks(s)));
  all.push_back(scratch("candidate_boxes", 16 * s.sets * s.top()));
  all.push_back(scratch("classes", 4 * s.sets * s.top()));
  all.push_back(scratch("mask", mask_bytes(s, chunks.size)));
  if (chunks.count > 1) all.push_back(scratch("dead", 4 * s.sets * chunks.size));
  return all;
}

/// Each buffer, and all of them together with the tensors, fit the device.
Reason no_room(const Problem& p, const std::vector<BufferSpec>& scratch, const DeviceInfo& device) {
  std::int64_t sum = 0;
  for (const BufferSpec& buffer : scratch) {
    if (Reason reason = too_large(buffer.name.c_str(), buffer.bytes, device)) return reason;
    sum += buffer.bytes;
  }
  for (const TensorSpec& spec : p.tensors()) sum += spec.bytes();
  return reason_if(sum > device.global_mem_bytes,
                   "tensors and scratch would take {} bytes, over the limit of {}", sum,
                   device.global_mem_bytes);
}

// ---- what the device can do ----

Reason device_too_small(const DeviceInfo& device) {
  if (Reason reason = no_group(most_along_x(device))) return reason;
  return reason_if(device.local_mem_bytes < kLocalBytes,
                   "the device has {} bytes of local memory, under the {} needed",
                   device.local_mem_bytes, kLocalBytes);
}

// ---- launches ----

/// The work-items of groups, within the caller's bound.
struct Groups {
  int sort, rest;

  explicit Groups(const Request& request)
      : sort(group_along_x("nms", kSortGroup, request)),
        rest(group_along_x("nms", kGroup, request)) {}
};

const char* half_option(const Problem& p) { return p.dtype() == Dtype::f16 ? " -DCLAM_F16" : ""; }

/// What the launches of a plan have in common.
struct Launcher {
  const Problem& p;
  Suppression s;
  Groups groups;
  Chunks chunks;

  std::int64_t groups_of(std::int64_t items) const { return ceil_div(items, groups.rest); }
  Arg valid() const { return buffer_if(!s.count.empty(), s.count); }

  std::string options() const {
    return fmt::format("-DNMS_SORT_WG={} -DNMS_WG={}{}{}{}{}", groups.sort, groups.rest,
                       s.gt ? " -DNMS_GT=1" : "", s.center ? " -DNMS_CENTER=1" : "",
                       s.turned ? " -DNMS_TURNED=1" : "", half_option(p));
  }

  /// A launch of nms.cl: x groups of `group` items, y and z groups of one.
  Launch launch(const char* kernel, int group, std::int64_t x, std::int64_t y, std::int64_t z,
                std::vector<Arg> args) const {
    return group_launch("nms.cl", kernel, options(), {group, 1}, x * group, y, z, std::move(args));
  }

  Launch sort() const {
    return launch("nms_sort", groups.sort, blocks(s), s.sets, 1,
                  arg_list(s.scores, valid(), "keys", "found", s.n, s.score_step, s.score_index,
                           s.background_index, s.background, s.score_min));
  }

  Launch place() const {
    return launch(
        "nms_place", groups.rest, groups_of(std::min<std::int64_t>(s.top(), kBlock)), blocks(s),
        s.sets,
        arg_list(s.boxes, valid(), "keys", "found", "candidate_boxes", "classes", "rows",
                 "candidates", s.n, s.e, s.top(), s.coord_start, s.id_index, s.sets / s.items));
  }

  Launch meet(int chunk) const {
    return launch("nms_meet", groups.rest, groups_of(chunks.size), s.sets, 1,
                  arg_list("candidate_boxes", "classes", "candidates", "kept", "totals", "dead",
                           s.top(), chunks.size, chunks.count, chunk, s.iou_threshold));
  }

  Launch mask(int chunk) const {
    return launch("nms_mask", groups.rest, groups_of(chunks.size), chunks.size / 32, s.sets,
                  arg_list("candidate_boxes", "classes", "candidates", "mask", s.top(), chunks.size,
                           chunk, s.iou_threshold));
  }

  Launch walk(int chunk) const {
    return launch("nms_walk", groups.rest, 1, s.sets, 1,
                  arg_list("candidates", "mask", buffer_if(chunks.count > 1, "dead"), "keep",
                           "kept", "totals", s.top(), chunks.size, chunks.count, chunk, s.limit));
  }

  Launch one() const {
    return launch(
        "nms_one", groups.sort, 1, s.sets / s.items, s.items,
        arg_list(s.scores, s.boxes, valid(), "rows", "candidates", "keep", "kept", "totals", s.n,
                 s.score_step, s.score_index, s.background_index, s.background, s.score_min, s.e,
                 s.top(), s.coord_start, s.id_index, s.limit, s.iou_threshold));
  }

  Decided decided() const { return {groups.rest, s.top(), chunks.count}; }
};

std::vector<Launch> in_one(const Launcher& launcher) { return {launcher.one()}; }

std::vector<Launch> in_chunks(const Launcher& launcher) {
  std::vector<Launch> launches{launcher.sort(), launcher.place()};
  for (int chunk = 0; chunk < launcher.chunks.count; ++chunk) {
    if (chunk > 0) launches.push_back(launcher.meet(chunk));
    launches.push_back(launcher.mask(chunk));
    launches.push_back(launcher.walk(chunk));
  }
  return launches;
}

}  // namespace

// ---- the problem ----

void check_row(const Problem& p) {
  const int e = p.integer("e"), coord = p.integer("coord_start");
  const int score = p.integer("score_index"), id = p.integer("id_index");
  const auto in_box = [&](int index) { return index >= coord && index < coord + 4; };
  check_indices(p);
  bad_field_if(coord > e - 4, p, "coord_start", "leaves no room for four coordinates in e={}", e);
  if (in_box(score)) bad_field(p, "score_index", "lies among the coordinates");
  if (in_box(id)) bad_field(p, "id_index", "lies among the coordinates");
}

// ---- the variants ----

namespace {

Reason refuses_one(const Suppression& s, const Chunks&, const DeviceInfo&) {
  if (s.n > kBlock) return fmt::format("n={} is over {}: too long for one work-group", s.n, kBlock);
  return reason_if(s.top() > kCandidatesOfOne,
                   "{} candidates are over {}: too many for one work-group", s.top(),
                   kCandidatesOfOne);
}

Reason refuses_mask(const Suppression& s, const Chunks& chunk, const DeviceInfo& device) {
  if (s.top() <= kLargestChunk) return mask_too_large(s, chunk.size, device);
  return fmt::format("mask of {} candidates would take {} bytes, over the limit of {}", s.top(),
                     mask_bytes(s, chunk.size), mask_bytes(s, kLargestChunk));
}

Reason refuses_chunks(const Suppression& s, const Chunks& chunks, const DeviceInfo& device) {
  if (chunks.count <= kMostChunks) return mask_too_large(s, chunks.size, device);
  return fmt::format("{} candidates make {} chunks, over the limit of {}: give a top_k", s.top(),
                     chunks.count, kMostChunks);
}

/// A way to decide which boxes are kept.
struct Way {
  const char *name, *about;
  Chunks (*cut)(const Suppression&, const DeviceInfo&);
  Reason (*refuses)(const Suppression&, const Chunks&, const DeviceInfo&);
  std::vector<BufferSpec> (*buffers)(const Suppression&, const Chunks&);
  std::vector<Launch> (*launches)(const Launcher&);
};

constexpr Way kWays[] = {{"nms_one", "two launches, for up to 256 candidates of 1024 rows",
                          one_chunk, refuses_one, decision_buffers, in_one},
                         {"nms_mask", "five launches, for up to 4096 candidates", one_chunk,
                          refuses_mask, all_buffers, in_chunks},
                         {"nms_chunks", "three launches a chunk of candidates, for any number",
                          several_chunks, refuses_chunks, all_buffers, in_chunks}};

Variant variant(const Way& way, const FrontEnd& op) {
  return {way.name, way.about,
          [=](const Problem& p, const DeviceInfo& device) -> Reason {
            const Suppression s = op.asks(p);
            const Chunks chunks = way.cut(s, device);
            if (Reason reason = way.refuses(s, chunks, device)) return reason;
            if (Reason reason = no_room(p, way.buffers(s, chunks), device)) return reason;
            return device_too_small(device);
          },
          [=](const Problem& p, const DeviceInfo& device, const PlanOptions& options, Plan& plan) {
            const Suppression s = op.asks(p);
            const Chunks chunks = way.cut(s, device);
            const Launcher launcher{p, s, Groups({p, device, options}), chunks};
            plan.buffers = way.buffers(s, chunks);
            plan.launches = way.launches(launcher);
            plan.launches.push_back(op.output(p, launcher.decided()));
          }};
}

}  // namespace

Op suppression_op(Schema words, const FrontEnd& front) {
  Op op;
  static_cast<Schema&>(op) = std::move(words);
  for (const Way& way : kWays) op.variants.push_back(variant(way, front));
  return op;
}

Suppression suppression_of_rows(const Problem& p, std::string_view top_k) {
  Suppression s;
  s.items = s.sets = p.integer("batch");
  s.n = p.integer("n");
  if (p.integer(top_k) > 0) s.top_k = p.integer(top_k);
  s.scores = s.boxes = "data";
  s.score_step = s.e = p.integer("e");
  s.score_index = p.integer("score_index");
  s.coord_start = p.integer("coord_start");
  s.id_index = p.integer("force_suppress") == 1 ? -1 : p.integer("id_index");
  s.iou_threshold = p.number("iou_threshold");
  return s;
}

// ---- outputs ----

Launch rows_output(const Problem& p, const Suppression& s, const Decided& decided, bool compact,
                   BoxForm form) {
  constexpr int kRowsPerItem = 4;
  const int bytes = copy_unit({s.e}, p.dtype()) * size_of(p.dtype());
  const char* to[] = {"", " -DNMS_TO=1", " -DNMS_TO=2"};
  return group_launch("nms_output.cl", "nms_rows",
                      fmt::format("-DNMS_WG={} -DNMS_UNIT={}{}{}", decided.group, bytes,
                                  to[static_cast<int>(form)], half_option(p)),
                      {decided.group, 1}, ceil_div(s.n, kRowsPerItem), s.sets, 1,
                      arg_list(s.boxes, "out", "rows", "candidates", "keep", "kept", "totals", s.n,
                               s.e, decided.top, decided.chunks, compact ? 1 : 0, s.coord_start));
}

/// No element of data is touched, so one program serves every dtype.
Launch indices_output(const Suppression& s, const Decided& decided, const std::string& indices,
                      const std::string& to, const std::string& count) {
  return group_launch("nms_output.cl", "nms_indices", fmt::format("-DNMS_WG={}", decided.group),
                      {decided.group, 1}, s.n, s.sets, 1,
                      arg_list(buffer_if(!indices.empty(), indices), to, count, "rows", "kept",
                               "totals", s.n, decided.top, decided.chunks));
}

}  // namespace clam
