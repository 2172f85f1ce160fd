// SPDX-License-Identifier: MIT
#include "cache.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <unordered_map>
#include <utility>

namespace clam::mali {
namespace {

/// The parts of matrices that were used most recently, as many as there is room for.
class Cache {
 public:
  explicit Cache(double bytes) : room_(bytes) {}

  /// The bytes that come from memory.
  double read(std::int64_t part, double bytes) {
    const auto found = places_.find(part);
    if (found != places_.end()) {
      parts_.splice(parts_.begin(), parts_, found->second);
      return 0;
    }
    parts_.emplace_front(part, bytes);
    places_[part] = parts_.begin();
    for (room_ -= bytes; room_ < 0 && parts_.size() > 1; parts_.pop_back()) {
      room_ += parts_.back().second;
      places_.erase(parts_.back().first);
    }
    return bytes;
  }

 private:
  double room_;
  std::list<std::pair<std::int64_t, double>> parts_;
  std::unordered_map<std::int64_t, std::list<std::pair<std::int64_t, double>>::iterator> places_;
};

/// Where group `i` of the launch lies; behind the last row of groups there may be none.
struct Place {
  std::int64_t row, column;
};

Place place_of(std::int64_t i, const GroupGrid& grid) {
  const std::int64_t of_band = grid.columns * grid.band, in_band = i % of_band;
  return {i / of_band * grid.band + in_band % grid.band, in_band / grid.band};
}

/// So many that what all groups read at a time fills half of the cache, but of a large problem
/// no more than the trace has time for.
std::int64_t parts_of(const GroupGrid& grid, const SharedCache& cache, double groups) {
  constexpr double kMostReads = 1 << 23, kFewest = 4;
  const double at_once = std::min(cache.groups, groups) * (grid.row_bytes + grid.column_bytes);
  const double most = std::max(kFewest, kMostReads / 2 / groups);
  return static_cast<std::int64_t>(std::clamp(2 * at_once / cache.bytes, kFewest, most));
}

}  // namespace

std::optional<GroupGrid> grid_of(const FileTags& tags, const Launch& launch) {
  const bool both = launch.kernel == "dense_both_packed";
  if (!both && launch.kernel != "dense_packed") return {};
  const auto names = values_of(tags, launch);
  const auto value = [&](const char* name) {
    const auto found = names.find(name);
    return found == names.end() ? 0 : found->second;
  };
  const double rows = value("DENSE_M0") * value("DENSE_LY");
  const double columns = value("DENSE_N0") * value("DENSE_LX");
  const double stored = value("CLAM_F16") != 0 ? 2 : 4;
  const double summed = value("DENSE_ACC") != 0 ? 2 : 4;
  const double k = value("k") + value("k2");
  GroupGrid grid;
  grid.rows = static_cast<std::int64_t>(std::ceil(value("m") / rows));
  grid.columns = static_cast<std::int64_t>(std::ceil(value("n") / columns));
  grid.row_bytes = rows * k * (both ? summed : stored);
  grid.column_bytes = columns * k * (value("DENSE_STORED") != 0 ? stored : summed);
  grid.band = static_cast<int>(value("DENSE_BAND"));
  return grid;
}

double traced_bytes(const GroupGrid& grid, const SharedCache& cache) {
  const std::int64_t bands = (grid.rows + grid.band - 1) / grid.band;
  const std::int64_t groups = bands * grid.band * grid.columns;
  const auto at_a_time = static_cast<std::int64_t>(cache.groups);
  const std::int64_t parts = parts_of(grid, cache, static_cast<double>(groups));
  Cache held(cache.bytes);
  double bytes = 0;
  for (std::int64_t first = 0; first < groups; first += at_a_time) {
    const std::int64_t end = std::min(first + at_a_time, groups);
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::int64_t i = first; i < end; ++i) {
        const auto [row, column] = place_of(i, grid);
        if (row >= grid.rows) continue;
        bytes += held.read(row * parts + part, grid.row_bytes / static_cast<double>(parts));
        bytes += held.read((grid.rows + column) * parts + part,
                           grid.column_bytes / static_cast<double>(parts));
      }
    }
  }
  return bytes;
}

}  // namespace clam::mali
