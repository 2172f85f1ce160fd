// SPDX-License-Identifier: MIT
// transfers.hpp - how fast the host moves a buffer to the device and back.
#pragma once

#include <cstdint>

#include "clam/runtime.hpp"
#include "stopwatch.hpp"

namespace clam::bench {

/// GB/s by the host's clock: a driver may count no time for a buffer that both sides share.
struct TransferRates {
  double upload = 0, download = 0, map = 0;
};

/// The best of several, each for about so many seconds. Throws Refused where what came back is not
/// what was sent.
TransferRates measure_transfers(Runtime& runtime, const Stopwatch& watch, std::int64_t bytes,
                                double seconds);

}  // namespace clam::bench
