// SPDX-License-Identifier: MIT
// probe_record.hpp - a probe that found its fault, as a folder for the driver's authors.
#pragma once

#include <string>

#include "bundle/bundle.hpp"
#include "clam/op.hpp"
#include "clam/opencl.hpp"
#include "cli.hpp"
#include "probe/probe.hpp"

namespace clam::cli {

/// The launch of a probe that is data, or its build where nothing is launched. Throws Unsupported
/// where it writes over its own input, which a plan does not.
Bundle bundle_of(const Probe& probe);

/// Writes `folder`: a bundle of a probe that is data; of one that is code its C program, if it has
/// one, with device.txt and a README. Throws Unsupported where there is neither.
void record_probe(Cli& cli, const Probe& probe, const std::string& detail, const DeviceEntry& entry,
                  const std::string& folder);

}  // namespace clam::cli
