// SPDX-License-Identifier: MIT
// launch.hpp - the launches of plans: whole groups of work-items, options and arguments.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "geometry.hpp"

namespace clam {

/// Variant::plan of one launch, or of whatever `add` adds to the plan.
decltype(Variant::plan) planned(Launch (*launch)(const Request&));
decltype(Variant::plan) planned(void (*add)(const Request&, Plan&));
/// Plan::clocks of such a plan.
double planned_clocks(const decltype(Variant::plan)& plan, const Request& request);

/// What kernels take of extents, strides and places: those of a checked problem are ints.
inline int as_int(std::int64_t value) { return static_cast<int>(value); }

/// "-DCLAM_F16 " where tensors are stored in half; kernels take it before their other options.
const char* dtype_option(Dtype dtype);

/// Whether kernels whose bounds follow native_exp2 take it: of 16 ulp or less, else exp2.
inline bool exponentiates_natively(const DeviceInfo& device) {
  return device.native_exp2_ulp > 0 && device.native_exp2_ulp <= 16;
}

inline BufferSpec scratch(std::string name, std::int64_t bytes) {
  return {std::move(name), BufferSpec::Role::scratch, bytes};
}
inline BufferSpec packed_w(std::int64_t bytes) {
  return {"w_packed", BufferSpec::Role::packed, bytes};
}

/// The buffer, or a null where it is absent.
Arg buffer_if(bool present, const std::string& name);

inline Arg arg_of(const char* buffer) { return BufferArg{buffer}; }
inline Arg arg_of(const std::string& buffer) { return BufferArg{buffer}; }
inline Arg arg_of(int value) { return value; }
inline Arg arg_of(std::int64_t value) { return as_int(value); }
inline Arg arg_of(float value) { return value; }
inline Arg arg_of(const Arg& arg) { return arg; }

/// Arguments in the order of a kernel: a text is the name of a buffer.
template <typename... Values>
std::vector<Arg> arg_list(const Values&... values) {
  return {arg_of(values)...};
}

/// Behind those that are there.
template <typename... Values>
void append_args(std::vector<Arg>& args, const Values&... values) {
  (args.push_back(arg_of(values)), ...);
}

/// Groups that cover so many work-items along x and y, one behind the other along z. `parts`: items
/// of a group along z, each time.
Launch group_launch(const char* file, std::string kernel, std::string options, Group group,
                    std::int64_t columns, std::int64_t rows, std::int64_t depth,
                    std::vector<Arg> args, int parts = 1);

/// Items in rows, and so many planes of these.
struct Items {
  std::int64_t columns, rows, planes;
};

constexpr int kAcross = 16;      ///< items side by side, which fill a cache line
constexpr int kAcrossCopy = 64;  ///< of ops that only move elements

/// The launch of the kernel of OP.cl that is called as the variant, in such groups. Its options are
/// the dtype and these.
Launch own_launch(const Request& request, const std::string& options, Group group,
                  const Items& items, std::vector<Arg> args);

/// The same in groups of which up to `across` items lie side by side. Behind `options` follow the
/// sides of a group, "-DOP_LX=16 -DOP_LY=4", and then `more`.
Launch row_launch(const Request& request, const std::string& options, int across,
                  const Items& items, std::vector<Arg> args, const std::string& more = "");

}  // namespace clam
