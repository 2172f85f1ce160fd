// SPDX-License-Identifier: MIT
#include "clam/tuned.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "atomic_file.hpp"
#include "clam/gpu.hpp"
#include "clam/op.hpp"
#include "embedded.hpp"
#include "refuse.hpp"
#include "text.hpp"

namespace clam {
namespace {

using nlohmann::json;

constexpr int kTableVersion = 1;

/// The keys of a row in a table, for a TunedRow and a TunedFlush.
template <typename Row, typename Visit>
void for_each_key(Row& row, Visit&& visit) {
  visit("gpu", row.gpu);
  visit("driver", row.driver);
  visit("driver_version", row.driver_version);
  if constexpr (std::is_same_v<std::remove_const_t<Row>, TunedFlush>) {
    visit("launches_a_flush", row.launches_a_flush);
  } else {
    visit("cores", row.cores);
    visit("kernels", row.kernels);
    visit("problem", row.problem);
    visit("variant", row.variant);
    visit("tile", row.tile);
    visit("share", row.share);
  }
  visit("us", row.us);
  visit("date", row.date);
}

void read_value(const json& value, std::string& text) {
  text = printable(value.get<std::string>());
}

void read_value(const json& value, std::int64_t& count) {
  if (!value.is_number_integer() || value.get_to(count) < 1) throw BadArgument("not a count");
}

void read_value(const json& value, double& number) {
  if (!value.is_number() || value < 0) throw BadArgument("not a number from 0 on");
  value.get_to(number);
}

void read_value(const json& value, int& launches_a_flush) {
  const auto count = value.get<std::int64_t>();
  const bool is_known = count >= TunedFlush::kWhenWaiting && count <= 1000000;
  if (!value.is_number_integer() || !is_known || count == 0) throw BadArgument("not a count");
  launches_a_flush = static_cast<int>(count);
}

template <typename Row>
Row values_from_json(const json& json) {
  Row row;
  for_each_key(row, [&](const char* key, auto& value) {
    try {
      read_value(json.at(key), value);
    } catch (const std::exception&) {
      throw BadArgument(fmt::format("the key \"{}\" is missing, or its value is wrong", key));
    }
  });
  return row;
}

/// Throws BadArgument for a row that no plan can take.
TunedRow row_from_json(const json& json) {
  auto row = values_from_json<TunedRow>(json);
  const Problem problem = Problem::parse(row.problem);
  const Variant& variant = find_variant(op_of(problem), row.variant);
  row.problem = problem.text();
  throw_if(!variant.tilings && !row.tile.empty(), "{} has no tiles, yet tile is {}", row.variant,
           row.tile);
  return row;
}

/// A problem as rows are found by: two with the same words differ in their extents alone.
struct Extents {
  std::string words;
  std::vector<std::int64_t> values;

  explicit Extents(const Problem& problem) : words(problem.schema().name) {
    for (const Field& field : problem.schema().fields) {
      std::vector<std::int64_t> own;
      if (field.kind == Field::Kind::extent) own.push_back(problem.integer(field.name));
      if (field.kind == Field::Kind::shape) own = problem.shape(field.name);
      values.insert(values.end(), own.begin(), own.end());
      words += fmt::format(" {}={}", field.name,
                           own.empty() ? problem.text_of(field.name) : std::to_string(own.size()));
    }
  }
};

/// What a row of the device says before it is measured.
TunedRow row_of(const DeviceInfo& device) {
  const Identity who = identify(device);
  const bool known = who.gpu && who.by != Identity::By::guess;
  TunedRow row;
  row.gpu = known ? who.gpu->key : printable(device.name);
  row.cores = std::max<std::int64_t>(who.gpu ? who.cores : device.compute_units, 1);
  row.driver = driver_family(device);
  row.driver_version = printable(device.driver_version);
  return row;
}

/// Whether the same GPU and driver made the times: only then they are of use.
template <typename Row>
bool is_of(const TunedRow& here, const Row& row) {
  return row.gpu == here.gpu && row.driver == here.driver;
}

double steps_between(std::int64_t a, std::int64_t b) {
  return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

/// A file of options beside a replaced kernel changes it too.
std::string hash_with_options(KernelSource source) {
  if (!source.options.empty()) source.text += "\n" + source.options;
  return source.hash();
}

}  // namespace

std::string driver_family(const DeviceInfo& device) {
  constexpr std::pair<const char*, const char*> kFamilies[] = {
      {"ARM Platform", "arm"}, {"rusticl", "mesa"},      {"Portable Computing Language", "pocl"},
      {"Clover", "mesa"},      {"Oclgrind", "oclgrind"}, {"NVIDIA CUDA", "nvidia"}};
  for (const auto& [platform, family] : kFamilies) {
    if (device.platform == platform) return family;
  }
  return printable(device.platform);
}

std::string kernels_hash(const Plan& plan, const KernelFiles& files) {
  std::set<std::string> seen;
  std::string hashes;
  for (const Launch& launch : plan.launches) {
    if (!seen.insert(launch.file).second) continue;
    hashes += (hashes.empty() ? "" : "+") + hash_with_options(files.get(launch.file));
  }
  return hashes;
}

TunedRow tuned_row(const Plan& plan, const std::string& tile, const KernelFiles& files) {
  TunedRow row = row_of(plan.device);
  row.kernels = kernels_hash(plan, files);
  row.problem = plan.problem;
  row.variant = plan.variant;
  row.tile = tile;
  return row;
}

TunedFlush tuned_flush(const DeviceInfo& device, int launches_a_flush, double us) {
  const TunedRow here = row_of(device);
  return {here.gpu, here.driver, here.driver_version, launches_a_flush, us};
}

nlohmann::json to_json(const TunedTable& table) {
  json whole{{"clam_tuned", kTableVersion}};
  const auto add = [&](const char* list, const auto& rows) {
    whole[list] = json::array();
    for (const auto& row : rows) {
      json& one = whole[list].emplace_back(json::object());
      for_each_key(row, [&](const char* key, const auto& value) { one[key] = value; });
    }
  };
  add("rows", table.rows);
  if (!table.launches.empty()) add("launches", table.launches);
  return whole;
}

TunedTable tuned_from_json(const nlohmann::json& json, std::vector<std::string>* left_out) {
  const auto version = json.is_object() ? json.find("clam_tuned") : json.end();
  throw_if(version == json.end() || !version->is_number_integer(),
           "it is no table of tuned plans, which has the key \"clam_tuned\"");
  throw_if(*version != kTableVersion, "its form is {}, and this clam reads form {} alone",
           version->dump(), kTableVersion);
  const auto read = [&](const char* key, const char* what, auto& rows, const auto& from_json) {
    const nlohmann::json& list = json.at(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      try {
        rows.push_back(from_json(list[i]));
      } catch (const BadArgument& error) {
        const std::string why = fmt::format("{} {}: {}", what, i + 1, error.what());
        if (!left_out) throw BadArgument(why);
        left_out->push_back(why);
      }
    }
  };
  const auto has = [&](const char* key) { return json.contains(key) && json[key].is_array(); };
  if (!has("rows")) throw BadArgument("it has no list \"rows\"");
  TunedTable table;
  read("rows", "row", table.rows, row_from_json);
  if (has("launches")) read("launches", "launches", table.launches, values_from_json<TunedFlush>);
  return table;
}

std::shared_ptr<const Tuned> Tuned::built_in(const KernelFiles& files) {
  const auto make = [](const KernelFiles& from) {
    auto made = std::make_shared<Tuned>(from);
    for (const EmbeddedFile& table : embedded_tuned()) {
      made->add(std::string(table.text), "kernels/tuned/" + std::string(table.name));
    }
    return made;
  };
  static const std::shared_ptr<const Tuned> own = make(KernelFiles());
  return files.only_embedded() ? own : make(files);
}

std::shared_ptr<const Tuned> Tuned::with_folder(const std::string& dir, const KernelFiles& files) {
  auto made = std::make_shared<Tuned>(*built_in(files));
  std::set<std::string> tables;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    if (entry.path().extension() == ".json") tables.insert(entry.path().string());
  }
  if (error) {
    made->notes_.push_back(fmt::format("{} is no folder, so no tuned plans are read there", dir));
  }
  for (const std::string& table : tables) {
    try {
      made->add(read_file(table), table);
    } catch (const BadArgument& unreadable) {
      made->notes_.push_back(unreadable.what());
    }
  }
  return made;
}

std::shared_ptr<const Tuned> Tuned::from_environment(const KernelFiles& files) {
  const std::string dir = environment("CLAM_TUNED_DIR");
  return dir.empty() ? built_in(files) : with_folder(dir, files);
}

void Tuned::add(const std::string& text, const std::string& table) {
  std::vector<std::string> left_out;
  TunedTable read;
  const auto is_not_used = [&](const std::string& why) {
    notes_.push_back(fmt::format("{} is not used: {}", table, why));
  };
  try {
    read = tuned_from_json(json::parse(text), &left_out);
  } catch (const json::exception&) {
    return is_not_used("it is damaged, for it is no JSON");
  } catch (const BadArgument& error) {
    return is_not_used(error.what());
  }
  if (!left_out.empty()) {
    notes_.push_back(fmt::format("{}, {} row{} left out: {}", table, left_out.size(),
                                 left_out.size() == 1 ? "" : "s", left_out.front()));
  }
  if (!read.rows.empty() && today_.empty()) {
    for (const std::string& file : embedded_files()) {
      today_.insert(hash_with_options(files_.get(file)));
    }
  }
  for (TunedRow& row : read.rows) {
    Extents extents(Problem::parse(row.problem));
    rows_[extents.words].push_back({std::move(row), std::move(extents.values), table});
  }
  launches_.insert(launches_.end(), read.launches.begin(), read.launches.end());
}

std::vector<const TunedRow*> Tuned::of(const DeviceInfo& device) const {
  std::vector<const TunedRow*> found;
  const TunedRow here = row_of(device);
  for (const auto& [words, entries] : rows_) {
    for (const Entry& entry : entries) {
      if (is_of(here, entry.row)) found.push_back(&entry.row);
    }
  }
  return found;
}

std::vector<TunedMatch> Tuned::matches(const Problem& problem, const DeviceInfo& device) const {
  const Extents extents(problem);
  const auto same_words = rows_.find(extents.words);
  if (same_words == rows_.end()) return {};
  const TunedRow here = row_of(device);
  std::vector<TunedMatch> found;
  const auto& entries = same_words->second;
  for (auto at = entries.rbegin(); at != entries.rend(); ++at) {
    const Entry& entry = *at;
    if (!is_of(here, entry.row)) continue;
    double distance = steps_between(entry.row.cores, here.cores);
    for (std::size_t i = 0; i < extents.values.size(); ++i) {
      distance += steps_between(entry.extents[i], extents.values[i]);
    }
    found.push_back({&entry.row, &entry.table, distance});
  }
  const auto is_before = [&](const TunedMatch& a, const TunedMatch& b) {
    const auto rank = [&](const TunedMatch& one) {
      return std::make_pair(one.distance, one.row->driver_version != here.driver_version);
    };
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.row->date > b.row->date;
  };
  std::stable_sort(found.begin(), found.end(), is_before);
  return found;
}

const TunedFlush* Tuned::flush_of(const DeviceInfo& device) const {
  if (launches_.empty()) return nullptr;
  const TunedRow here = row_of(device);
  const TunedFlush* found = nullptr;
  for (const TunedFlush& each : launches_) {
    if (!is_of(here, each)) continue;
    const bool is_closer = each.driver_version == here.driver_version || !found ||
                           found->driver_version != here.driver_version;
    if (is_closer) found = &each;
  }
  return found;
}

bool Tuned::is_of_today(const TunedRow& row) const {
  const std::vector<std::string_view> parts = split(row.kernels, '+');
  return std::all_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return today_.count(std::string(part)) > 0; });
}

}  // namespace clam
