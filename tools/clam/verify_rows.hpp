// SPDX-License-Identifier: MIT
// verify_rows.hpp - the lines of a `clam verify` report: which problems they are, and how each
// went.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "session.hpp"
#include "verify.hpp"

namespace clam::cli {

struct VerifyRequest {
  std::vector<std::string> words;
  bool all = false;
  std::string workload;
  std::string set = "all", variant, dtype;
  std::string gpu;  ///< plans are those for this Mali, where it is named
  std::uint64_t seed = 1;
};

struct VerifyRow {
  enum class Status { waiting, pass, fail, blind, skip, error, not_yet };
  std::string text;
  std::optional<Problem> problem;  ///< unset for a layer whose op is not built yet
  std::string layers;              ///< of a workload: the names of those that are this problem
  std::string variant;
  Status status = Status::waiting;
  std::string reason;
  std::vector<Verification> sets;

  bool is_bad() const {
    return status == Status::fail || status == Status::blind || status == Status::error;
  }
};

/// The rows that the command line names. Needs no device, so bad lines are refused before one
/// opens.
std::vector<VerifyRow> select_rows(const VerifyRequest& request);
/// The rows for this device: without f16 when nobody asked for it and the device lacks it; with
/// --variant all, one for each variant that can compute the problem.
std::vector<VerifyRow> rows_on(const DeviceInfo& device, const VerifyRequest& request,
                               const std::vector<VerifyRow>& rows);

/// Nothing to blame but a bound so wide that zeros would pass.
bool is_only_blind(const Verification& verification);
/// A row passes when a data set passes and none fails.
void conclude(VerifyRow& row);

void print_row(Output& out, const Session& session, const VerifyRequest& request,
               const VerifyRow& row);
nlohmann::json row_json(const Session& session, const VerifyRequest& request, const VerifyRow& row);

}  // namespace clam::cli
