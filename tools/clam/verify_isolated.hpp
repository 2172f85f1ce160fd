// SPDX-License-Identifier: MIT
// verify_isolated.hpp - rows of `clam verify`, each in a process of its own.
#pragma once

#include "verify_rows.hpp"

namespace clam::cli {

/// Runs the row in another process of this program, on the session's device. A crash, or no end
/// within the request's limit, is an error of this row alone.
void run_row_isolated(const Session& session, const VerifyRequest& request, VerifyRow& row);

/// A row as its JSON in a report says it; the inverse of row_json. Throws BadArgument.
void take_result(const nlohmann::json& json, VerifyRow& row);

}  // namespace clam::cli
