// SPDX-License-Identifier: MIT
// embedded.hpp - files that the build put into the library as bytes (tools/embed.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace clam {

struct EmbeddedFile {
  std::string_view name;  ///< file name; with its folder where many have the same name
  std::string_view text;
};

const std::vector<EmbeddedFile>& embedded_report();     ///< tools/report, and Chart.js as chart.js
const std::vector<EmbeddedFile>& embedded_bundle();     ///< tools/bundle/replay.c
const std::vector<EmbeddedFile>& embedded_lift();       ///< tools/lift/host.c
const std::vector<EmbeddedFile>& embedded_kernels();    ///< kernels/*.cl
const std::vector<EmbeddedFile>& embedded_costs();      ///< kernels/costs.json
const std::vector<EmbeddedFile>& embedded_tuned();      ///< kernels/tuned/*.json
const std::vector<EmbeddedFile>& embedded_version();    ///< kernels/VERSION
const std::vector<EmbeddedFile>& embedded_workloads();  ///< bench/workloads/*.json
const std::vector<EmbeddedFile>& embedded_probes();     ///< tests/tools/probes, NAME/probe.json
const std::vector<EmbeddedFile>& embedded_peaks();      ///< bench/peaks.cl, in clam-bench alone
const std::vector<EmbeddedFile>& embedded_quick();      ///< bench/quick.txt, in clam-bench alone

}  // namespace clam
