// SPDX-License-Identifier: MIT
// history.hpp - what the probes last gave on a device and driver, kept in a file for `clam info`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "clam/device.hpp"
#include "probe.hpp"

namespace clam {

/// {"local-atomic": {"verdict": "OK", "detail": "", "date": "2026-11-22"}, ...}; empty without a
/// file, or with a damaged one.
nlohmann::json probe_history(const DeviceInfo& device);

/// Puts a result, today's, into a history. A SKIP is none.
void remember(nlohmann::json& history, const std::string& probe, const ProbeResult& result);

/// Writes it; where that cannot be, it is lost.
void keep_history(const DeviceInfo& device, const nlohmann::json& history);

}  // namespace clam
