// SPDX-License-Identifier: MIT
// get_valid_counts: its Problem line, and its three plans.
//
//     get_valid_counts_one     one launch, a work-group per batch item
//     get_valid_counts_two     count, scatter; each group of scatter adds all counts up again
//     get_valid_counts_three   count, scan, scatter
#include "shared/axes.hpp"
#include "shared/boxes.hpp"

namespace clam {
namespace {

constexpr std::int64_t kLargestInt = 2147483647;
constexpr int kRowsPerItem = 4, kRowsPerWord = 32, kWordBytes = 8;

constexpr int kRowsOfOne = 2048;  ///< past them two launches are quicker
constexpr int kGroup = 64;        ///< work-items of count and scatter, by default
/// Each group of scatter reads all counts, which is quadratic work: 4096 counts at the most.
constexpr int kRowsOfTwo = 4096 * kRowsPerItem * kGroup;
/// On a CPU, which takes the barriers of a sum one by one, a third launch is quicker past these.
constexpr int kRowsOfTwoOnCpu = 64 * kRowsPerItem * kGroup;

void check(const Problem& p, Schema::Values&) {
  check_indices(p);
  const std::int64_t limit = kLargestInt / size_of(p.dtype());
  bad_field_if(p.integer("n") > limit / p.integer("e") / p.integer("batch"), p, "n",
               "makes data of over {} bytes (batch * n * e elements)", kLargestInt);
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), e = p.integer("e");
  return {input("data", p.dtype(), {batch, n, e}), output("count", Dtype::i32, {batch}),
          output("out", p.dtype(), {batch, n, e}), output("indices", Dtype::i32, {batch, n})};
}

std::int64_t group_count(const Problem& p, int group) {
  const int rows = kRowsPerItem * group;
  return (static_cast<std::int64_t>(p.integer("n")) + rows - 1) / rows;
}

std::int64_t word_bytes(const Problem& p, int group) {
  const int words = kRowsPerItem * group / kRowsPerWord;
  return p.integer("batch") * group_count(p, group) * words * kWordBytes;
}

Reason refuses_one(const Problem& p, const DeviceInfo& device) {
  if (p.integer("n") <= kRowsOfOne) return refuses_small_groups(p, device);
  return fmt::format("n={} is over {}: too long for one work-group", p.integer("n"), kRowsOfOne);
}

Reason refuses_three(const Problem& p, const DeviceInfo& device) {
  const std::int64_t bytes = word_bytes(p, kLargestGroup);
  if (bytes <= std::min(kLargestInt, device.max_alloc_bytes))
    return refuses_small_groups(p, device);
  return fmt::format("its scratch buffer may need {} bytes, over the limit of the device or of int",
                     bytes);
}

Reason refuses_two(const Problem& p, const DeviceInfo& device) {
  if (p.integer("n") <= kRowsOfTwo) return refuses_three(p, device);
  return fmt::format("n={} is over {}: adding the counts up again and again takes too long",
                     p.integer("n"), kRowsOfTwo);
}

Reason two_outdone(const Problem& p, const DeviceInfo& device, const PlanOptions&) {
  return reason_if(device.type == "cpu" && p.integer("n") > kRowsOfTwoOnCpu,
                   "on a CPU get_valid_counts_three is quicker for n over {}", kRowsOfTwoOnCpu);
}

/// On a CPU an item takes a word of rows: no branch a row, and less to share.
std::string build_options(const Request& request, int group) {
  const Problem& p = request.problem;
  const bool f16 = p.dtype() == Dtype::f16;
  const bool pair = !f16 && p.integer("e") % 2 == 0 && p.integer("id_index") == 0 &&
                    p.integer("score_index") == 1;
  return fmt::format("-DGVC_WG={} -DGVC_UNIT={}{}{}{}", group,
                     copy_unit({p.integer("e")}, p.dtype()) * size_of(p.dtype()),
                     pair ? " -DGVC_PAIR=1" : "",
                     request.device.type == "cpu" ? fmt::format(" -DGVC_RUN={}", kRowsPerWord) : "",
                     f16 ? " -DCLAM_F16" : "");
}

/// A launch of `groups` work-groups for each batch item.
Launch launch(const Request& request, const char* kernel, int group, std::int64_t groups,
              std::vector<Arg> args) {
  return group_launch("get_valid_counts.cl", kernel, build_options(request, group), {group, 1},
                      groups * group, request.problem.integer("batch"), 1, std::move(args));
}

Launch count_launch(const Request& request, int group) {
  const Problem& p = request.problem;
  return launch(
      request, "get_valid_counts_count", group, group_count(p, group),
      arg_list("data", "words", "counts", p.integer("n"), p.integer("e"), p.integer("id_index"),
               p.integer("score_index"), p.number("score_threshold")));
}

Launch scatter_launch(const Request& request, int group, const char* counts) {
  const Problem& p = request.problem;
  return launch(
      request, "get_valid_counts_scatter", group, group_count(p, group),
      arg_list("data", "count", "out", "indices", "words", counts, p.integer("n"), p.integer("e")));
}

/// Of several launches.
int group_of(const Request& request) { return group_along_x("get_valid_counts", kGroup, request); }

std::vector<BufferSpec> words_and_counts(const Problem& p, int group) {
  const std::int64_t counts = p.integer("batch") * group_count(p, group);
  return {scratch("words", word_bytes(p, group)), scratch("counts", 4 * counts)};
}

Launch one(const Request& request) {
  const Problem& p = request.problem;
  return launch(
      request, "get_valid_counts_one", group_along_x("get_valid_counts", kLargestGroup, request), 1,
      arg_list("data", "count", "out", "indices", p.integer("n"), p.integer("e"),
               p.integer("id_index"), p.integer("score_index"), p.number("score_threshold")));
}

void plan_two(const Request& request, Plan& plan) {
  const int group = group_of(request);
  plan.buffers = words_and_counts(request.problem, group);
  plan.launches = {count_launch(request, group), scatter_launch(request, group, "counts")};
}

void plan_three(const Request& request, Plan& plan) {
  const Problem& p = request.problem;
  const int group = group_of(request);
  const auto groups = static_cast<int>(group_count(p, group));
  plan.buffers = words_and_counts(p, group);
  plan.buffers.push_back(scratch("before", 4 * p.integer("batch") * (groups + 1LL)));
  const Launch scan =
      launch(request, "get_valid_counts_scan", group, 1, arg_list("counts", "before", groups));
  Launch scatter = scatter_launch(request, group, "before");
  scatter.options += " -DGVC_SCANNED=1";
  plan.launches = {count_launch(request, group), scan, scatter};
}

}  // namespace

Op get_valid_counts_op() {
  return {{"get_valid_counts",
           "keeps the rows with score > score_threshold and id >= 0, in order; the rest becomes -1",
           {extent("batch", "independent sets of rows", "1"), extent("n", "rows of a set"),
            extent("e", "elements of a row, 5 or more", "6"), dtype_field(),
            number("score_threshold", "a valid row has a higher score", "0"),
            integer("id_index", "element that holds the class; -1: there is none", "0", -1),
            integer("score_index", "element that holds the score", "1", 0)},
           check,
           tensors},
          {{"get_valid_counts_one", "one launch, for few rows", refuses_one, planned(one)},
           {"get_valid_counts_two", "two launches, for up to a million rows", refuses_two,
            planned(plan_two), two_outdone},
           {"get_valid_counts_three", "one launch more, so that work stays linear in n",
            refuses_three, planned(plan_three)}}};
}

}  // namespace clam
