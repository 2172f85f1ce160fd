// SPDX-License-Identifier: MIT
// blame.cpp - the verdict that the rows of a proof give: the kernel, or the driver?
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "check/op_proof.hpp"
#include "proof.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

using Outcome = Seen::Outcome;
using Rows = std::vector<const ProofRow*>;

/// Of one vendor's stack, whatever its version: what one does wrong, the other may do too.
bool related(const DeviceInfo& a, const DeviceInfo& b) { return a.platform == b.platform; }

/// The name of OpenCL's error, "CL_OUT_OF_RESOURCES"; empty where there is none.
std::string status_in(const std::string& reason) {
  const std::string status = reason.substr(std::min(reason.find("CL_"), reason.size()));
  return {status.begin(), std::find_if_not(status.begin(), status.end(), is_word)};
}

/// Whether a driver failed as the recorded one did: the same outcome, of errors the same one. The
/// element that is wrong first, and the signal of a crash, are a driver's own.
bool alike(const Seen& recorded, const Seen& seen) {
  if (recorded.outcome != seen.outcome) return false;
  return seen.outcome != Outcome::device_error ||
         status_in(recorded.reason) == status_in(seen.reason);
}

/// An error instead of a result: a limit, or something that the driver does not have.
bool refuses(const Seen& seen) {
  return seen.outcome == Outcome::build_failed || seen.outcome == Outcome::device_error;
}

/// How drivers did that were given these bytes.
struct Tally {
  Rows right, alike, otherwise, refused;  ///< alike: it went wrong as where it was recorded
  Rows seldom;                            ///< right, in fewer runs than such a fault takes

  std::size_t all() const {
    return right.size() + alike.size() + otherwise.size() + refused.size() + seldom.size();
  }
  const ProofRow* failed() const {
    for (const Rows* rows : {&alike, &otherwise, &refused}) {
      if (!rows->empty()) return rows->front();
    }
    return nullptr;
  }
  Rows& rows_for(const Seen& recorded, const Seen& seen) {
    if (seen.right()) return right;
    if (clam::alike(recorded, seen)) return alike;
    return refuses(seen) ? refused : otherwise;
  }
};

struct Count {
  Tally others;     ///< drivers of other platforms
  Tally relatives;  ///< other versions and devices of the driver where it was recorded
  bool reported = false, silent = false;  ///< silent: the simulator ran to its end
};

Count count(const Bundle& bundle, const Proof& proof, const std::string& files) {
  Count found;
  for (const ProofRow& row : proof.rows) {
    if (row.files != files) continue;
    // What it saw before its time was over, it saw.
    found.reported = found.reported || !row.report.empty();
    if (row.cannot) continue;
    found.silent = found.silent || (row.is_simulator && ran_to_its_end(row.seen));
    if (same_driver(row.device, bundle.device)) continue;
    Tally& tally = related(row.device, bundle.device) ? found.relatives : found.others;
    const bool seldom = row.seen.right() && !row.is_simulator && row.runs < runs_of_proof(bundle);
    (seldom ? tally.seldom : tally.rows_for(bundle.seen, row.seen)).push_back(&row);
  }
  return found;
}

// ---- words ----

std::string drivers(std::size_t number) {
  return fmt::format("{} other driver{}", number, number == 1 ? "" : "s");
}

std::string versions(std::size_t number) {
  return number == 1 ? "1 other version or device of the same driver"
                     : fmt::format("{} other versions or devices of the same driver", number);
}

std::string right_text(const Tally& others) {
  if (others.right.size() == others.all()) return "right on " + drivers(others.all());
  return fmt::format("right on {} of {}", others.right.size(), drivers(others.all()));
}

/// The first of these drivers with what came of it: "fails differently on b and 1 more: hung".
std::string of_first(const char* verb, const Rows& rows) {
  constexpr std::size_t kMost = 100;
  const ProofRow& row = *rows.front();
  std::string what = row.seen.text();
  what = what.substr(0, std::min(what.find('\n'), kMost));
  return fmt::format("{} on {}{}: {}", verb, row.device.name,
                     rows.size() == 1 ? "" : fmt::format(" and {} more", rows.size() - 1), what);
}

/// Drivers that neither got it right for sure nor failed as where it was recorded.
std::vector<std::string> otherwise_parts(const Tally& tally) {
  std::vector<std::string> parts;
  if (!tally.seldom.empty()) {
    parts.push_back(fmt::format("right on {}, in too few runs for so rare a fault",
                                drivers(tally.seldom.size())));
  }
  if (!tally.otherwise.empty()) parts.push_back(of_first("fails differently", tally.otherwise));
  if (!tally.refused.empty()) parts.push_back(of_first("refused", tally.refused));
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What the driver's own other versions and devices made of it settles nothing, and is told apart.
std::vector<std::string> relatives_parts(const Bundle& bundle, const Tally& tally) {
  std::vector<std::string> parts;
  if (!tally.right.empty()) parts.push_back("right on " + versions(tally.right.size()));
  if (!tally.alike.empty()) {
    parts.push_back(
        fmt::format("{} on {} too", name(bundle.seen.outcome), versions(tally.alike.size())));
  }
  for (const std::string& part : otherwise_parts(tally)) {
    parts.push_back(part + ", of the same driver");
  }
  return parts;
}

/// What stands behind a verdict.
std::string remarks(const Bundle& bundle, const Count& found) {
  const std::vector<std::string> parts = relatives_parts(bundle, found.relatives);
  const bool compares = bundle.build_only() || !bundle.expected.empty();
  return (parts.empty() ? "" : "; " + joined(parts)) +
         (compares ? "" : "; no expected values, so a run without an error counts as right") +
         (found.silent ? "; the simulator Oclgrind reports nothing" : "");
}

std::string capitalised(std::string text) {
  text.at(0) = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// ---- verdicts ----

std::string blame_when_right(const Bundle& bundle, const Count& found) {
  if (found.reported) {
    return "The result is right, but the kernel is probably wrong: the simulator Oclgrind reports "
           "faults in it";
  }
  for (const Tally* tally : {&found.others, &found.relatives}) {
    const ProofRow* failed = tally->failed();
    if (!failed) continue;
    if (!bundle.judged) {
      return failed->device.name + " gives another result, and nobody has judged which is right";
    }
    return fmt::format(
        "The result is right on the recording device, but the outcome on {} is {}: record the case "
        "there",
        failed->device.name, name(failed->seen.outcome));
  }
  const std::size_t right = found.others.right.size();
  return (bundle.judged ? "The result is right where it was recorded"
                        : "The result was recorded, not judged") +
         (right && !bundle.judged ? "; " + drivers(right) + " gave the same bits"
          : right                 ? ", and on " + drivers(right)
                                  : "; no other driver has run these files") +
         remarks(bundle, found);
}

std::string blame_of_report(const Tally& others) {
  const std::string sentence =
      "The kernel itself is probably wrong: the simulator Oclgrind reports faults in it";
  if (others.all() == 0) return sentence;
  return sentence + fmt::format(" (right on {} of {})", others.right.size(), drivers(others.all()));
}

/// Drivers of other platforms have run it, and some fail in the same way.
std::string blame_when_alike(const Bundle& bundle, const Tally& others) {
  const std::string outcome = name(bundle.seen.outcome);
  if (others.alike.size() == others.all()) {
    return fmt::format("{} on all, here and on {}: the kernel itself is probably wrong",
                       capitalised(outcome), drivers(others.all()));
  }
  std::vector<std::string> parts;
  if (!others.right.empty()) parts.push_back(right_text(others));
  parts.push_back(fmt::format("{} on {} too", outcome, others.alike.front()->device.name));
  for (const std::string& part : otherwise_parts(others)) parts.push_back(part);
  if (others.right.empty() && others.seldom.empty()) {
    return fmt::format("Right nowhere, {}: the kernel itself is probably wrong", joined(parts));
  }
  return fmt::format("Not known yet: {}; the kernel may be wrong", joined(parts));
}

/// None fails in the same way. What one of them alone does may be a fault of its own; what half of
/// them do is a kernel that relies on what OpenCL does not promise, as likely as not.
std::string blame_when_not_alike(const Tally& others) {
  std::vector<std::string> parts = otherwise_parts(others);
  if (!others.right.empty()) parts.insert(parts.begin(), right_text(others));
  if (others.right.empty() && others.seldom.empty() && !others.otherwise.empty()) {
    parts.push_back("right nowhere so far");
  }
  const bool innocent = others.right.size() > others.otherwise.size();
  return (innocent ? "The kernel is probably right: " : "Not known yet: ") + joined(parts);
}

}  // namespace

std::string find_blame(const Bundle& bundle, const Proof& proof, const std::string& files) {
  const Count found = count(bundle, proof, files);
  const Tally& others = found.others;
  if (bundle.seen.right()) return blame_when_right(bundle, found);
  if (found.reported) return blame_of_report(others);
  if (others.all() == 0) {
    std::vector<std::string> parts = relatives_parts(bundle, found.relatives);
    parts.push_back("no other driver has run these files");
    return "Not known yet: " + joined(parts);
  }
  return (others.alike.empty() ? blame_when_not_alike(others) : blame_when_alike(bundle, others)) +
         remarks(bundle, found);
}

}  // namespace clam
