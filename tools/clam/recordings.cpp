// SPDX-License-Identifier: MIT
#include "recordings.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "bundle/proof.hpp"
#include "clam/error.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"

namespace clam::cli {
namespace {

constexpr int kCheckLimit_s = 60;

/// Its name alone: arguments may name people and their folders.
std::string program_name(const WatchRequest& request) {
  return fs::path(request.words[0]).filename().string();
}

/// The place in the bundle's own program that a person looks for first.
std::string from_where(const Bundle& bundle) {
  return bundle.callers.empty() ? "" : ", launched from " + bundle.callers.front();
}

/// The first driver that gives something else, and what; empty: none does.
std::string difference(const Judged& judged) {
  for (std::size_t i = 0; i < judged.answers.size(); ++i) {
    const Seen& seen = judged.judgement.seen[i];
    if (judged.answers[i].cannot || seen.right()) continue;
    const std::string& platform = judged.answers[i].device.platform;
    const bool is_known = judged.judgement.decided || seen.outcome != Seen::Outcome::wrong;
    return is_known ? fmt::format("{} on {}: {}", name(seen.outcome), platform, seen.reason)
                    : fmt::format("{} gives something else: {}", platform, seen.reason);
  }
  return "";
}

/// Why no second driver has a result.
std::string why(const Judged& judged) {
  for (std::size_t i = judged.has_recorded ? 1 : 0; i < judged.answers.size(); ++i) {
    const Answer& answer = judged.answers[i];
    if (answer.has_outputs()) return "the second driver is the same as the first";
    return answer.device.name + ": " + (answer.cannot ? *answer.cannot : answer.seen.text());
  }
  return "there is no second driver: name one with --with \"tools/with-driver pocl\", or install "
         "Oclgrind";
}

}  // namespace

Recordings::Recordings(Cli& cli, const WatchRequest& request, std::string raw)
    : cli_(cli), request_(request), raw_(std::move(raw)) {}

Recordings::~Recordings() {
  std::error_code ignored;  // the bundles of the end have it, too
  if (!hung_bundle_.empty()) fs::remove_all(hung_bundle_, ignored);
}

const std::vector<DeviceInfo>& Recordings::devices() {
  if (!devices_.empty()) return devices_;
  for (const DeviceEntry& entry : list_devices()) devices_.push_back(query_device(entry.device));
  return devices_;
}

void Recordings::look() {
  std::error_code error;
  const auto changed = fs::last_write_time(raw_, error);
  const auto now = std::chrono::steady_clock::now();
  if (changed != changed_) changed_at_ = now;
  changed_ = changed;
  // A change may come within the tick of the last one. In a large folder the rest is skipped.
  const bool is_settled = now - changed_at_ > std::chrono::seconds(1);
  const bool is_waiting = !in_flight_.empty() && hung_ != in_flight_;
  if (is_settled && !is_waiting && !request_.check) return;
  each_recorded([this](const watch::Recorded& each) { look_at(each); });
}

void Recordings::each_recorded(const std::function<void(const watch::Recorded&)>& act) {
  for (const watch::Recorded& each : watch::find_recorded(raw_)) {
    try {
      act(each);
    } catch (const std::exception& error) {  // it may end meanwhile; the others are looked at
      cli_.out.note(error.what());
    }
  }
}

void Recordings::look_at(const watch::Recorded& each) {
  if (!each.in_flight) {
    if (request_.check) check(each);
  } else if (each.folder != in_flight_) {
    in_flight_ = each.folder;
    since_ = std::chrono::steady_clock::now();
  } else if (hung_ != in_flight_ &&
             std::chrono::steady_clock::now() - since_ > std::chrono::seconds(request_.hang_s)) {
    hung_ = in_flight_;
    write_hung(each);
  }
}

void Recordings::write_hung(const watch::Recorded& each) {
  Bundle bundle = read(each);
  bundle.seen.outcome = Seen::Outcome::hung;
  bundle.seen.reason = fmt::format("it has not ended for {} s", request_.hang_s);
  hung_bundle_ = (fs::path(request_.target) / ("in-flight-" + bundle.variant)).string();
  publish(hung_bundle_, bundle);
  cli_.out.notice(fmt::format("kernel {} has not ended for {} s; it is in {}", bundle.variant,
                              request_.hang_s, hung_bundle_));
}

void Recordings::finish() {
  each_recorded([this](const watch::Recorded& each) {
    request_.check && !each.in_flight ? check(each) : write(each);
  });
}

Bundle Recordings::read(const watch::Recorded& each) {
  return watch::read_recorded(each, program_name(request_), devices());
}

void Recordings::publish(const std::string& folder, Bundle& bundle, const Judged* judged) {
  bundle.recorded = recording_date();
  StagedFolder staged(folder, true);
  write_case(staged.path(), bundle);
  if (judged) write_proof(staged.path(), proof_of(bundle, *judged, staged.path()));
  finish_case(staged.path(), bundle, false);
  staged.publish();
}

std::string Recordings::next_folder(const Bundle& bundle) const {
  return (fs::path(request_.target) / fmt::format("{:03}-{}", written_.size() + 1, bundle.variant))
      .string();
}

void Recordings::write(const watch::Recorded& each) {
  Bundle bundle = read(each);
  bundle.callers = watch::callers_of(each);
  if (each.in_flight && each.folder == hung_) bundle.seen.outcome = Seen::Outcome::hung;
  const std::string folder = next_folder(bundle);
  publish(folder, bundle);
  written_.push_back({folder, bundle.problem + from_where(bundle), bundle.seen_text()});
}

// ---- against a second driver ----

std::vector<Driver> Recordings::second_drivers(const DeviceInfo& first) const {
  if (!request_.with.empty()) return drivers_through(request_.with);
  const std::vector<Driver> here = drivers_here(first.platform);
  return here.empty() ? simulators() : here;
}

/// The folder goes in any case: the program waits for that.
void Recordings::check(const watch::Recorded& each) {
  try {
    compare(each);
  } catch (const std::exception& error) {
    cli_.out.note(error.what());
  }
  std::error_code ignored;
  fs::remove_all(each.folder, ignored);
}

void Recordings::compare(const watch::Recorded& each) {
  Bundle bundle = read(each);
  const ScratchFolder scratch;
  write_case(scratch.path(), bundle);
  const std::vector<Driver> seconds = second_drivers(bundle.device);
  Judged judged = put_before(seconds, bundle, scratch.path(), {}, kCheckLimit_s);
  const auto is_second = [&](const Answer& answer) {
    return answer.has_outputs() && !same_driver(answer.device, bundle.device);
  };
  const auto others = judged.answers.begin() + (judged.has_recorded ? 1 : 0);
  if (std::none_of(others, judged.answers.end(), is_second)) {
    ++unchecked_;
    return cli_.out.note(fmt::format("kernel {} is not checked: {}", bundle.variant, why(judged)));
  }
  ++checked_;
  // Of two that differ, a third says which one is wrong.
  if (!judged.judgement.decided && seconds[0].simulator.empty()) {
    ask_more(simulators(), bundle, scratch.path(), {}, kCheckLimit_s, judged);
  }
  const std::string different = difference(judged);
  if (different.empty()) return;
  ++differ_;
  const bool decided = judged.judgement.decided;
  if (decided) bundle = with_verdict(bundle, judged);
  if (!decided)
    bundle.noted += fmt::format(" Two drivers differ: {}. `clam judge` asks more.", different);
  bundle.callers = watch::callers_of(each);
  const std::string folder = next_folder(bundle);
  publish(folder, bundle, decided ? &judged : nullptr);
  if (differ_ == 1) {
    cli_.out.notice(fmt::format("kernel {}{}: {}; it is in {}", bundle.variant, from_where(bundle),
                                different, folder));
  }
  written_.push_back({folder, bundle.problem + from_where(bundle), different});
}

std::string Recordings::summary() const {
  if (request_.check) {
    const std::string checked =
        fmt::format("{} checked, {} differ{}", counted(checked_, "launch", "es"), differ_,
                    differ_ == 1 ? "s" : "");
    return unchecked_ == 0 ? checked : fmt::format("{}, {} not checked", checked, unchecked_);
  }
  return counted(written_.size(), "bundle") + " recorded, not judged";
}

}  // namespace clam::cli
