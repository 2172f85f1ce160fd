// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <utility>

#include "check/model_time.hpp"

namespace clam::bench {
namespace {

constexpr std::size_t kFarthest = 3;  // rows that the summary names
constexpr const char* kFigures = "        us  pack us  GFLOP/s     GB/s % peak launches err/bound";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Four digits where the number is small, none after the point where it is large.
std::string number(double value) {
  return fmt::format(value < 10 ? "{:.3f}" : value < 1000 ? "{:.1f}" : "{:.0f}", value);
}

/// The problem and the variant, and the marks that concern this row alone.
std::string problem_cell(const Row& row, const Result& result) {
  std::string marks;
  for (const std::string& mark : result.marks) {
    if (mark.rfind(kOtherLoad, 0) != 0) marks += " [" + mark + "]";
  }
  return fmt::format("{}, {}{}", row.problem.text(), result.variant, marks);
}

/// "Mali-G610 r0p0 (ARM Platform, driver 3.0; gpu, 4 compute units)"
std::string describe_device(const DeviceInfo& device) {
  return fmt::format("{} ({}, driver {}; {}, {} compute units)", device.name, device.platform,
                     device.driver_version, device.type, device.compute_units);
}

/// Whether the published device ("Mali-G610 MP4 (RK3588)") is of the model and size of this one.
bool same_device(const std::string& published, const DeviceInfo& device) {
  std::istringstream words(published);
  std::string model, size;
  words >> model >> size;
  if (model.empty() || lower(device.name).find(lower(model)) == std::string::npos) return false;
  if (size.rfind("MP", 0) != 0) return true;
  return size.substr(2) == std::to_string(device.compute_units);
}

/// Why the row failed or was skipped, without the problem it starts with.
std::string short_reason(const Row& row, const Result& result) {
  const std::string start = row.problem.text() + ": ";
  return result.reason.rfind(start, 0) == 0 ? result.reason.substr(start.size()) : result.reason;
}

std::string name_of(const Block& block, const Line& line) {
  const Workload::Node* node = block.node(line);
  return node ? title(*node) : "";
}

std::size_t name_width(const Block& block) {
  std::size_t width = std::string("node").size();
  for (const Line& line : block.lines) width = std::max(width, name_of(block, line).size());
  return width;
}

}  // namespace

Table::Table(const Selection& selection, const std::vector<Result>& results,
             const DeviceInfo& device, std::FILE* out)
    : selection_(selection), results_(results), device_(device), out_(out) {
  for (std::size_t row = 0; selection.once && row < selection.rows.size(); ++row) {
    places_.push_back({nullptr, {row, {}}});
  }
  if (selection.once) return;
  for (const Block& block : selection.blocks) {
    for (const Line& line : block.lines) places_.push_back({&block, line});
  }
}

void Table::head(const std::vector<std::string>& overrides) {
  fmt::print(out_, "device: {}\n", describe_device(device_));
  fmt::print(out_, "us: of one call; pack us: of constant inputs, once before the first call.\n");
  fmt::print(out_, "% peak: the least time by the peaks measured here, over us.\n");
  if (device_.type == "cpu") {
    fmt::print(out_, "This is a CPU: its times say nothing about a GPU.\n");
  }
  for (const std::string& line : overrides) fmt::print(out_, "replaced: {}\n", line);
  std::fflush(out_);
}

void Table::peaks(const Peaks& peaks) {
  peak_ = peaks.measured();
  fmt::print(out_, "{}", to_text(peaks));
  std::fflush(out_);
}

void Table::peaks_again(const Peaks& peaks) {
  constexpr double kHigher = 1.05, kBeyondCaches = 1e18;
  const MeasuredPeak now = peaks.measured();
  const bool same = now.gflops_f32 <= kHigher * peak_.gflops_f32 &&
                    now.gflops_f16 <= kHigher * peak_.gflops_f16 &&
                    now.gb_per_s(kBeyondCaches) <= kHigher * peak_.gb_per_s(kBeyondCaches);
  if (same) return;
  fmt::print(out_,
             "\nThe peaks are higher at the end of the run, and --json compares rows with "
             "these:\n{}",
             to_text(peaks));
}

void Table::say(const std::string& line) {
  fmt::print(out_, "{}\n", line);
  std::fflush(out_);
}

std::string Table::published_cell(const Block& block, const Line& line,
                                  const std::string& column) const {
  const Workload::Node* node = block.node(line);
  if (!node) return "";
  if (const auto time = published_time(block.workload, *node, column)) {
    const std::string us = (time->at_least ? ">" : "") + number(time->us);
    const Result& result = results_[line.row];
    if (result.us.median <= 0 || !same_device(block.workload.published_device, device_)) return us;
    return fmt::format("{} ({:.2f}x)", us, time->us / result.us.median);
  }
  return "-";
}

std::size_t Table::column_width(const Block& block, const Workload::Column& column) const {
  constexpr std::size_t kRatio = 10;  // " (123.45x)"
  const bool compared = same_device(block.workload.published_device, device_);
  std::size_t width = column.title.size();
  for (const Line& line : block.lines) {
    width = std::max(width, published_cell(block, line, column.key).size() + compared * kRatio);
  }
  return width;
}

void Table::show_head(const Place& place) {
  if (std::exchange(shown_block_, place.block) == place.block) return;
  if (!place.block) {
    fmt::print(out_, "\n{}  problem, variant: nodes that are this problem\n", kFigures);
    return;
  }
  const Block& block = *place.block;
  const Workload& workload = block.workload;
  fmt::print(out_, "\n{}\n",
             workload.name.empty() ? "problems of the command line"
                                   : workload.name + ": " + workload.title);
  if (!workload.columns.empty()) {
    fmt::print(out_, "published times are us a call on {}{}\n", workload.published_device,
               same_device(workload.published_device, device_)
                   ? "; (x) is published / measured"
                   : ", which is not this device: they are not comparable");
  }
  fmt::print(out_, "{:<{}} {} calls", "node", name_width(block), kFigures);
  for (const Workload::Column& column : workload.columns) {
    fmt::print(out_, "  {:>{}}", column.title, column_width(block, column));
  }
  fmt::print(out_, "  problem, variant\n");
}

/// The cells that every row has, under kFigures.
std::string Table::figures_of(const Row& row, const Result& result) const {
  const auto floor = floor_us(row.problem, peak_);
  return fmt::format("{:>10} {:>8} {:>8} {:>8} {:>6} {:>8} {:>9.3f}", number(result.us.median),
                     result.packing.launches > 0 ? number(result.packing.us.median) : "-",
                     result.flops > 0 ? number(result.gflops()) : "-", number(result.gb_per_s()),
                     floor ? fmt::format("{:.1f}", 100 * *floor / result.us.median) : "-",
                     result.launches, result.error_over_bound);
}

void Table::show(const Place& place) {
  const auto& [block, line] = place;
  const Row& row = selection_.rows[line.row];
  const Result& result = results_[line.row];
  if (!result.was_run()) return;
  show_head(place);
  std::string name, columns, end;
  if (block) {
    const Workload::Node* node = block->node(line);
    name = fmt::format("{:<{}} ", name_of(*block, line), name_width(*block));
    columns = fmt::format(" {:>5}", node && node->calls > 0 ? std::to_string(node->calls) : "-");
    for (const Workload::Column& column : block->workload.columns) {
      columns += fmt::format("  {:>{}}", published_cell(*block, line, column.key),
                             column_width(*block, column));
    }
    const double claimed = node ? node->claimed_gflops : 0;
    if (claimed > 0) end = fmt::format(" (published claim: {:.0f} GFLOP/s)", claimed);
  } else if (const std::string nodes = nodes_of(selection_, line.row); !nodes.empty()) {
    end = ": " + nodes;
  }
  if (result.valid()) {
    fmt::print(out_, "{}{}{}  {}{}\n", name, figures_of(row, result), columns,
               problem_cell(row, result), end);
  } else {
    fmt::print(out_, "{}{} {}: {}\n", name,
               result.outcome == Outcome::check_failed ? "INVALID" : "ERROR", row.name,
               short_reason(row, result));
  }
}

void Table::row_done(std::size_t row) {
  const auto shows = [&](const Place& place) { return place.line.row == row; };
  const auto first = places_.begin() + static_cast<std::ptrdiff_t>(next_);
  auto place = std::find_if(first, places_.end(), shows);
  if (place == places_.end()) return;  // a repetition out of order: foot() has the counts
  // Rows before this one that were filtered out have no result and print nothing.
  for (auto each = first; each <= place; ++each) show(*each);
  next_ = static_cast<std::size_t>(place - places_.begin()) + 1;
  std::fflush(out_);
}

/// The rows with the least % peak, where there are more than are named.
void Table::show_farthest() {
  std::vector<std::pair<double, std::size_t>> shares;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto floor = floor_us(selection_.rows[i].problem, peak_);
    if (results_[i].valid() && floor) shares.emplace_back(*floor / results_[i].us.median, i);
  }
  if (shares.size() <= kFarthest) return;
  std::sort(shares.begin(), shares.end());
  fmt::print(out_, "of {} rows, farthest from their peak:\n", shares.size());
  shares.resize(kFarthest);
  for (const auto& [share, row] : shares) {
    fmt::print(out_, "{:>6.1f} %  {}\n", 100 * share,
               problem_cell(selection_.rows[row], results_[row]));
  }
}

/// Where the time of each model goes.
void Table::show_models() {
  if (selection_.once) return;
  for (const Block& block : selection_.blocks) {
    std::vector<NodeTime> nodes;
    std::size_t left_out = 0;
    for (const Line& line : block.lines) {
      const Workload::Node* node = block.node(line);
      const Result& result = results_[line.row];
      if (!node || !node->folded_into.empty()) continue;
      left_out += !result.valid();
      if (!result.valid()) continue;
      const Problem& problem = selection_.rows[line.row].problem;
      nodes.push_back({node->name, problem.schema().name, std::max(1.0, double(node->calls)),
                       result.us.median, floor_us(problem, peak_)});
    }
    if (nodes.size() < 2) continue;
    const ModelTime time = model_time(std::move(nodes));
    fmt::print(out_, "\n{}: {:.3f} ms{}\n{}\n", block.workload.name, time.us / 1000,
               left_out ? fmt::format(", without {} nodes that were not measured", left_out) : "",
               to_text(time));
  }
}

void Table::foot() {
  for (; next_ < places_.size(); ++next_) show(places_[next_]);
  std::map<std::string, int> reasons;
  int fine = 0, failed = 0, skipped = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const Outcome outcome = results_[i].outcome;
    fine += outcome == Outcome::fine;
    failed += results_[i].was_run() && outcome != Outcome::fine;
    skipped += outcome == Outcome::skipped;
    if (outcome == Outcome::skipped) ++reasons[short_reason(selection_.rows[i], results_[i])];
  }
  fmt::print(out_, "\n");
  const auto busiest = std::max_element(
      results_.begin(), results_.end(),
      [](const Result& a, const Result& b) { return a.other_load < b.other_load; });
  if (device_.type == "cpu" && busiest != results_.end() && busiest->other_load > kMuchLoad) {
    fmt::print(out_, "Other programs took up to {:.0f} % of the processors meanwhile.\n",
               100 * *busiest->other_load);
  }
  for (const auto& [reason, count] : reasons) {
    fmt::print(out_, "skipped ({}): {}\n", count, reason);
  }
  show_models();
  show_farthest();
  fmt::print(out_, "{} passed, {} failed, {} skipped\n", fine, failed, skipped);
}

}  // namespace clam::bench
