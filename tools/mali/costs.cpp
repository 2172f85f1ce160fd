// SPDX-License-Identifier: MIT
#include "costs.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "check/manifest.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "predict.hpp"

namespace clam::mali {
namespace {

using nlohmann::json;
using Numbers = std::vector<double>;

/// One problem of a row, and how often a work-item of it executes what each number counts.
struct Probe {
  std::string line;
  Numbers times;
};

int word_of(const std::string& tile, const std::string& name, int otherwise) {
  const std::size_t at = ("," + tile).find("," + name + "=");
  return at == std::string::npos ? otherwise : std::atoi(tile.c_str() + at + name.size() + 1);
}

/// The line with two extents, of which one trip of the loop takes `step`.
std::vector<Probe> two_probes(const std::string& line, const char* extent, int a, int b, int step) {
  std::vector<Probe> probes;
  for (const int n : {a, b})
    probes.push_back({fmt::format("{} {}={}", line, extent, n), {1.0 * n / step, 1}});
  return probes;
}

/// Blocks have as many units of 4 keys as v has vectors of columns.
std::vector<Probe> attention_probes() {
  using Extents = std::array<int, 3>;
  std::vector<Probe> probes;
  for (const auto& [nk, d, dv] :
       {Extents{256, 64, 64}, Extents{512, 64, 64}, Extents{256, 128, 64}, Extents{256, 64, 32}}) {
    const double units = nk / 4.0, blocks = units / (dv / 4.0);
    probes.push_back({fmt::format("attention heads=4 nq=64 nk={} d={} dv={}", nk, d, dv),
                      {blocks * d / 4, units, blocks, 1}});
  }
  return probes;
}

/// As many as the row has numbers, or one more: conv2d_product computes what lies around its loop.
std::vector<Probe> probes_of(const CostRow& row) {
  // Row strides that do not follow k: a kernel with them as constants is compiled once.
  static const std::map<std::string, const char*> kLines{
      {"dense", "dense m=96 n=256 ldx=512 bias"},
      {"batch_matmul_nn", "batch_matmul m=96 n=256 lda=512"},
      {"batch_matmul_nt", "batch_matmul m=96 n=256 tb=1 lda=512 ldb=512"},
      {"batch_matmul_tn", "batch_matmul m=96 n=256 ta=1"},
      {"batch_matmul_tt", "batch_matmul m=96 n=256 ta=1 tb=1 ldb=512"},
      {"conv2d_product", "conv2d h=32 w=32 k=64 r=1 bias"},
      {"conv2d_winograd", "conv2d h=32 w=32 k=64 r=3 pad=1 algo=winograd bias"},
      {"conv2d_3x3", "conv2d h=64 w=64 k=64 r=3 pad=1 algo=direct bias"}};
  if (row.kernel == "attention_online") return attention_probes();
  const bool is_dense = row.kernel.rfind("dense_", 0) == 0;
  const auto line = kLines.find(is_dense ? "dense" : row.kernel);
  if (line == kLines.end()) return {};
  if (row.kernel.rfind("conv2d", 0) != 0) return two_probes(line->second, "k", 256, 512, 4);
  const int tap = word_of(row.tile, "CHUNK", 32);  // whole trips of the loop
  return two_probes(line->second, "c", 7 * tap, 13 * tap, 1);
}

/// The plan of a probe, with the row's tile whole.
Plan plan_of(const Probe& probe, const CostRow& row) {
  const bool sums = row.acc != "f32";
  const Problem problem = Problem::parse(
      fmt::format("{} dtype={}{}", probe.line, row.dtype, sums ? " acc=" + row.acc : ""));
  PlanOptions wanted;
  wanted.variant = row.kernel;
  wanted.tile = row.tile + ",PARTS=1";
  return make_plan(problem, gpu_device(find_gpu("g610")), wanted);
}

constexpr const char* kColumns[] = {"kernel",  "dtype",   "acc",  "tile",
                                    "Mesa 25", "Mesa 26", "other"};

/// Each row as an object, without what is null.
std::vector<json> rows_of(const std::string& text) {
  const json table = json::parse(text, nullptr, false);
  throw_if(!table.is_object() || table.value("columns", json()) != json(kColumns) ||
               !table.contains("costs") || !table["costs"].is_array(),
           "this is no table of costs: it has no list 'costs' of the known columns");
  std::vector<json> rows;
  for (const json& values : table["costs"]) {
    json row;
    for (std::size_t i = 0; i < std::size(kColumns); ++i) {
      if (!values.at(i).is_null()) row[kColumns[i]] = values[i];
    }
    rows.push_back(row);
  }
  return rows;
}

/// Where a compiler merged loops, so that tags do not count them: what the hot loop of a product of
/// matrices has for 4 k, and around it what Mesa 25 has. Nothing for other kernels.
Numbers of_hot_loop(const CostRow& row, const KernelCode& code, const Numbers& of_mesa25) {
  const int sums = word_of(row.tile, "M0", 0) * word_of(row.tile, "N0", 0);
  const int hot = hot_loop(code.shader);
  if (sums == 0 || hot < 0) return {};
  const Counts trip = own_trip(code.shader, static_cast<std::size_t>(hot));
  if (trip.mac == 0) return {};
  return {trip.issued / trip.mac * 4 * sums, of_mesa25.at(1)};
}

/// What a work-item of the plan's last launch executes.
std::optional<double> executed_by(const Plan& plan, const std::vector<KernelCode>& codes,
                                  const KernelFiles& files, CostRow& row) {
  const Launch& launch = plan.launches.back();
  const KernelCode* code = find_code(codes, launch);
  if (!code) {
    row.not_measured = "it is not compiled";
    return std::nullopt;
  }
  row.spills = row.spills || code->shader.spills + code->shader.fills > 0;
  const FileTags tags = read_tags(files.get(launch.file));
  try {
    return predict(launch, plan, {&code->shader, &tags}, find_gpu("g610")).most.issued;
  } catch (const BadArgument& error) {  // loops that are not those of the tags
    row.not_measured = error.what();
    return std::nullopt;
  }
}

Numbers rounded(Numbers numbers) {
  for (double& number : numbers) number = std::round(number * 10) / 10;
  return numbers;
}

}  // namespace

std::vector<double> solve(std::vector<Numbers> equations, Numbers right) {
  const std::size_t n = right.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < n; ++r) {
      if (std::abs(equations[r][i]) > std::abs(equations[pivot][i])) pivot = r;
    }
    if (std::abs(equations[pivot][i]) < 1e-9) throw BadArgument("the equations have no solution");
    std::swap(equations[i], equations[pivot]);
    std::swap(right[i], right[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = equations[r][i] / equations[i][i];
      for (std::size_t c = i; c < n; ++c) equations[r][c] -= factor * equations[i][c];
      right[r] -= factor * right[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) right[i] /= equations[i][i];
  return right;
}

std::vector<CostRow> measure_costs(const std::string& text, Compiler& compiler,
                                   const KernelFiles& files) {
  struct Job {
    CostRow row;
    Numbers of_mesa25;
    std::vector<Probe> probes;
    std::vector<Plan> plans;
  };
  std::vector<Job> jobs;
  std::vector<Plan> all;
  for (const json& row : rows_of(text)) {
    Job job{{row.at("kernel"), row.at("dtype"), row.at("acc"), row.at("tile"), {}}, {}, {}, {}};
    if (!row.contains("Mesa 25")) continue;
    job.of_mesa25 = row.at("Mesa 25").get<Numbers>();
    job.probes = probes_of(job.row);
    if (job.probes.empty()) continue;
    for (const Probe& probe : job.probes) job.plans.push_back(plan_of(probe, job.row));
    all.insert(all.end(), job.plans.begin(), job.plans.end());
    jobs.push_back(std::move(job));
  }
  const std::vector<KernelCode> codes = compiler.compile(kernels_of(all));
  std::vector<CostRow> rows;
  for (Job& job : jobs) {
    std::vector<Numbers> equations;
    Numbers right;
    for (std::size_t i = 0; i < job.probes.size(); ++i) {
      const auto executed = executed_by(job.plans[i], codes, files, job.row);
      if (!executed) continue;
      equations.push_back(job.probes[i].times);
      right.push_back(*executed);
    }
    if (!job.row.spills && right.size() == job.probes.size()) {
      job.row.numbers = solve(equations, right);
      job.row.numbers.resize(job.of_mesa25.size());
    } else if (const KernelCode* code = find_code(codes, job.plans[0].launches.back());
               code && !job.row.spills) {
      job.row.numbers = of_hot_loop(job.row, *code, job.of_mesa25);
    }
    rows.push_back(std::move(job.row));
  }
  return rows;
}

std::string with_costs(const std::string& text, const std::vector<CostRow>& rows,
                       const std::string& compiler) {
  std::string out = fmt::format("{{\n  \"format\": 2,\n  \"columns\": [\"{}\"],\n  \"costs\": [",
                                fmt::join(kColumns, "\", \""));
  const char* separator = "\n";
  for (json row : rows_of(text)) {
    for (const CostRow& measured : rows) {
      if (row.at("kernel") != measured.kernel || row.at("dtype") != measured.dtype ||
          row.at("acc") != measured.acc || row.at("tile") != measured.tile) {
        continue;
      }
      if (measured.spills) row.erase(compiler);
      if (measured.numbers.empty()) continue;
      row[compiler] = rounded(measured.numbers);
    }
    const bool has_numbers =
        row.contains("Mesa 25") || row.contains("Mesa 26") || row.contains("other");
    if (!has_numbers) continue;
    std::string line;
    for (const char* key : kColumns) {
      const json& value = row[key];  // null, where there was none
      line += line.empty() ? "" : ", ";
      line += value.is_array() ? fmt::format("[{:g}]", fmt::join(value.get<Numbers>(), ", "))
                               : value.dump();
    }
    out += fmt::format("{}    [{}]", separator, line);
    separator = ",\n";
  }
  return out + "\n  ]\n}\n";
}

}  // namespace clam::mali
