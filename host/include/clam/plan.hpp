// SPDX-License-Identifier: MIT
// plan.hpp - how a Problem is computed, as data: an ordered list of launches.
//
// A Plan holds no OpenCL object. So it can be printed, compared, written as JSON and tested without
// a device. It may name any .cl file, so that kernels of other projects can be run and recorded
// too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "device.hpp"
#include "tensor.hpp"

namespace clam {

class Tuned;

// Kernel arguments.

/// A tensor of the Plan, or one of its scratch or packed buffers.
struct BufferArg {
  std::string name;
  std::int64_t offset = 0;  ///< bytes; a multiple of the device's mem_base_addr_align
};
/// Local memory of so many bytes.
struct LocalArg {
  std::int64_t bytes;
};
/// A null pointer, for a buffer argument that is not used.
struct NullArg {};
/// A value that is neither int nor float, as it lies in memory. Only kernels that are not clam's
/// use it.
struct BytesArg {
  std::vector<std::uint8_t> bytes;
};
using Arg = std::variant<BufferArg, std::int32_t, float, LocalArg, NullArg, BytesArg>;

struct Launch {
  std::string file;     ///< "dense.cl"
  std::string kernel;   ///< "dense_packed"
  std::string options;  ///< "-DDENSE_M0=4"
  std::array<std::int64_t, 3> global{1, 1, 1};
  std::array<std::int64_t, 3> local{1, 1, 1};  ///< all 0: the driver chooses
  std::vector<Arg> args;
  std::array<std::int64_t, 3> offset{};  ///< of the global ids
  int dimensions = 3;  ///< what get_work_dim() gives; the sizes of further axes are 1

  std::int64_t group_size() const { return local[0] * local[1] * local[2]; }
};

struct BufferSpec {
  enum class Role { scratch, packed };
  std::string name;
  Role role = Role::scratch;
  std::int64_t bytes = 0;
};

struct Plan {
  std::string problem;  ///< canonical text, or any text for a foreign plan
  std::string variant;  ///< "dense_packed"
  DeviceInfo device;    ///< the device it was planned for; only its name and driver are printed
  std::vector<TensorSpec> tensors;
  std::vector<BufferSpec> buffers;
  std::vector<Launch> pack;      ///< run once per set of constant inputs
  std::vector<Launch> launches;  ///< run every time
  /// Clocks of a call, as predicted by the cost function that chose the tile. 0: none chose it.
  double clocks = 0;

  const TensorSpec* tensor(const std::string& name) const;  ///< nullptr when absent
  const BufferSpec* buffer(const std::string& name) const;
};

/// All launches of a plan, const or not: those that pack, then those of a call.
template <typename AnyPlan>
auto launches_of(AnyPlan& plan) {
  std::vector<decltype(plan.launches.data())> all;
  for (auto* launches : {&plan.pack, &plan.launches}) {
    for (auto& launch : *launches) all.push_back(&launch);
  }
  return all;
}

/// The JSON form. It has a version and grows only by new keys, because other hosts read it.
nlohmann::json to_json(const Plan& plan);
/// Throws a BadArgument that names the key that is missing or wrong.
Plan plan_from_json(const nlohmann::json& json);
/// A listing for people.
std::string to_text(const Plan& plan);
/// Checks a plan that came from outside: names exist, sizes are positive, global sizes are
/// multiples of local sizes. Throws BadArgument.
void check(const Plan& plan);

/// What the caller may choose about a plan. All else follows from Problem and DeviceInfo.
struct PlanOptions {
  std::string variant;     ///< empty: the first that supports the problem; see Variant::outdone
  int max_work_group = 0;  ///< most work-items of a group; 0: the variant's default
  std::string tile{};      ///< words of a Tiling, "M0=4,N0=8"; empty: as measured, else predicted
  /// Measured choices. Null: the built-in ones. With an object that has no rows, the model alone
  /// chooses.
  std::shared_ptr<const Tuned> tuned{};
};

}  // namespace clam
