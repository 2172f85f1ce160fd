// SPDX-License-Identifier: MIT
// gpu.hpp - the Mali GPUs: which one a device is, and what its cores can do.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "device.hpp"

namespace clam {

/// A known fault of a GPU's drivers, with a public source.
struct Quirk {
  const char* name;    ///< "queue-flood"
  const char* about;   ///< the symptom and what to do, one phrase
  const char* source;  ///< "apache/tvm#16276"
};

/// One GPU model. Rates are per core and clock.
struct Gpu {
  enum class Family { midgard, bifrost, valhall, fifth };
  const char* key;    ///< "g610": what --gpu takes
  const char* model;  ///< "G610": what follows "Mali-" in a device's name
  Family family;
  std::uint32_t arch_major, product;  ///< in the GPU_ID register; Midgard: 0 and the upper half
  int warp;                           ///< lanes that run together; Midgard: 1
  double fma_f32, fma_f16;            ///< multiply-adds of one value each
  int cores;                          ///< of the board that `board` names
  const char* board;                  ///< a board or chip that has it: "RK3588"
  double gb_per_s;                    ///< of that board's memory
  bool bandwidth_measured;            ///< published as measured; else assumed
  std::uint32_t mesa_id;              ///< its id for Mesa's compiler; 0: Mesa has none
  std::vector<Quirk> quirks;
};

const char* name(Gpu::Family family);

/// All GPUs that clam knows, newest family first.
const std::vector<Gpu>& all_gpus();
/// Throws a BadArgument that names the keys that exist.
const Gpu& find_gpu(std::string_view key);

/// Which Mali a device is, and how that is known.
struct Identity {
  enum class By { id, name, guess, nothing };
  const Gpu* gpu = nullptr;  ///< nullptr with By::nothing only
  By by = By::nothing;
  std::int64_t cores = 0;  ///< as the device reports them, else from its name; 0: unknown
  std::string from;        ///< "by its id 0xa8670000", "a guess from its name 'Mali-LODX r0p0'"

  /// One line with model, family, cores, warps, rates and `from`.
  std::string text() const;
};
/// Reads the GPU_ID register in vendor_id if the driver is Arm's, else the name.
Identity identify(const DeviceInfo& device);
nlohmann::json to_json(const Identity& who);
/// Whether a fault in a kernel can end the context of its process. On a Mali it can.
bool may_lose_context(const DeviceInfo& device);

/// The facts of a board with that GPU and Mesa's driver, for plans made without the board.
DeviceInfo gpu_device(const Gpu& gpu);

}  // namespace clam
