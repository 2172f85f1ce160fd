// SPDX-License-Identifier: MIT
#include "verify_isolated.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {
namespace {

std::vector<std::string> words_of(const Session& session, const VerifyRequest& request,
                                  const VerifyRow& row, const std::string& file) {
  std::vector<std::string> words = own_command();
  words.insert(words.end(),
               {"--device", session.device_id(), "--quiet", "--json", file, "verify", row.text});
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--variant", row.variant);
  add("--set", request.set == "all" ? "" : request.set);
  add("--gpu", request.gpu);
  add("--seed", std::to_string(request.seed));
  words.push_back("--no-isolate");
  return words;
}

Status status_of(const std::string& text) {
  for (const Status status :
       {Status::pass, Status::fail, Status::blind, Status::skip, Status::error, Status::waiting}) {
    if (text == word(status)) return status;
  }
  throw BadArgument(fmt::format("'{}' is no status of a row", text));
}

Verification verification_of(const nlohmann::json& set) {
  Verification verification;
  verification.data_set = set.at("data_set").get<std::string>();
  for (const auto& [name, verdict] : set.at("outputs").items()) {
    verification.outputs[name] = verdict_from_json(verdict);
  }
  if (!set.at("fault").is_null()) verification.fault = set.at("fault").get<std::string>();
  return verification;
}

void fail(VerifyRow& row, const std::string& reason) {
  row.status = Status::error;
  row.reason = reason;
}

}  // namespace

void take_result(const nlohmann::json& json, VerifyRow& row) {
  try {
    row.status = status_of(json.at("status").get<std::string>());
    row.reason = json.at("reason").get<std::string>();
    row.variant = json.at("variant").get<std::string>();
    for (const nlohmann::json& set : json.at("sets")) {
      row.sets.push_back(verification_of(set));
    }
  } catch (const nlohmann::json::exception& error) {
    throw BadArgument(std::string("this is no row of a report: ") + error.what());
  }
}

void run_row_isolated(const Session& session, const VerifyRequest& request, VerifyRow& row) {
  const ScratchFolder folder;
  const std::string file = folder.file("row.json");  // what a kernel prints is not in it
  const Fate fate =
      run_isolated(words_of(session, request, row, file), std::chrono::seconds(request.limit_s));
  if (const Reason misfortune = fate.misfortune()) return fail(row, *misfortune);
  try {
    take_result(nlohmann::json::parse(read_file(file)).at("results").at(0), row);
  } catch (const std::exception& error) {  // what went wrong there has been said on stderr
    fail(row,
         fmt::format("its process ended with {} and gave no result ({})", fate.code, error.what()));
  }
}

}  // namespace clam::cli
