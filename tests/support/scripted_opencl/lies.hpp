// SPDX-License-Identifier: MIT
// lies.hpp - what the script has for a call.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "state.hpp"

namespace scripted {

/// The lies that are for one call.
class Orders {
 public:
  /// The status that the call is to return without doing anything.
  std::optional<cl_int> refusal() const {
    const Lie* lie = find("refuse");
    if (lie) return lie->status;
    return find("skip") ? std::optional<cl_int>(CL_SUCCESS) : std::nullopt;
  }
  const Lie* find(const char* does) const {
    const auto found =
        std::find_if(lies_.begin(), lies_.end(), [&](const Lie& lie) { return lie.does == does; });
    return found == lies_.end() ? nullptr : &*found;
  }
  template <typename Take>
  void each(const char* does, Take take) const {
    for (const Lie& lie : lies_) {
      if (lie.does == does) take(lie);
    }
  }
  void add(const Lie& lie) { lies_.push_back(lie); }

 private:
  std::vector<Lie> lies_;
};

/// Every function begins so. What any call may do, it does here: print, leak, take time, hang,
/// crash.
Orders enter(const char* call, const About& about = {});

/// The same of a function that makes something: whether it makes nothing.
template <typename Status>
bool refused(const Orders& orders, Status* status) {
  const std::optional<cl_int> refusal = orders.refusal();
  if (refusal && status) *status = *refusal;
  return refusal.has_value();
}

}  // namespace scripted
