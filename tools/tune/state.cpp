// SPDX-License-Identifier: MIT
#include "state.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "clam/kernels.hpp"
#include "machine/machine.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam::tune {

using nlohmann::json;

// ---- JSON ----

namespace {
constexpr int kFormat = 1;
constexpr Words<6> kFates{"fine", "wrong", "crashed", "hung", "refused", "unsteady"};
constexpr const char* kDamaged = "it is damaged";
}  // namespace

const char* name(Fate fate) { return word_of(kFates, fate); }

static void to_json(json& text, const Fate& fate) { text = name(fate); }

static void from_json(const json& text, Fate& fate) {
  const auto known = find_word<Fate>(kFates, text.get<std::string>());
  if (!known) throw BadArgument(kDamaged);
  fate = *known;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StateKey, device, driver, kernels, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Record, variant, tile, clocks, fate, why, tries, outages,
                                   running, us, ratio, faster)

namespace {

/// Another one after each start of the machine; empty where it is not known.
std::string machine_start() {
  return Machine().text("/proc/sys/kernel/random/boot_id").value_or("");
}

/// Throws BadArgument with the reason why the file does not count, and nlohmann's exceptions.
std::vector<Record> records_from(const std::string& text, const json& key) {
  const json file = json::parse(text);
  const json& format = file.at("clam_tune");
  if (format.is_number() && format > kFormat) throw BadArgument("a newer clam wrote it");
  if (format != kFormat) throw BadArgument(kDamaged);
  for (const auto& [part, value] : key.items()) {
    if (file.at(part) != value) throw BadArgument("it is of another " + part);
  }
  for (const json& row : file.at("trials")) {
    const bool counts =
        row.at("tries").is_number_unsigned() && row.at("outages").is_number_unsigned();
    const bool has_times = row.at("us") > 0 && row.at("ratio") > 0;
    if (!counts || (row.at("fate") == "fine" && !has_times)) throw BadArgument(kDamaged);
  }
  return file.at("trials");
}

/// The machine may have gone down because of what it ran.
void note_outage(Record& record) {
  const std::string now = machine_start();
  if (record.running.empty() || now.empty() || record.running == now) return;
  record.running.clear();
  if (++record.outages < Record::kMostOutages) return;
  record.fate = Fate::crashed;
  record.why = fmt::format("the machine went down while it ran, {} times", record.outages);
}

}  // namespace

// ---- the file ----

std::shared_ptr<void> locked(const std::string& path) {
  const std::string lock = path + ".lock";
  const int file = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) throw IoError(fmt::format("cannot write {}: {}", lock, std::strerror(errno)));
  std::shared_ptr<void> held(nullptr, [file](void*) { ::close(file); });
  throw_if<IoError>(::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK,
                    "another process searches with {}: wait until it is done, or end it", path);
  return held;
}

State::State(std::string path, StateKey key)
    : path_(std::move(path)), key_(std::move(key)), lock_(locked(path_)) {
  read();
}

void State::read() {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return;
  const std::string text = read_file(path_);
  try {
    records_ = records_from(text, json(key_));
    for (Record& record : records_) note_outage(record);
    return;
  } catch (const json::exception&) {
    note_ = kDamaged;
  } catch (const BadArgument& reason) {
    note_ = reason.what();
  }
  const std::string old = path_ + ".old";
  std::filesystem::rename(path_, old, error);
  if (error) throw IoError(fmt::format("cannot write {}: {}", old, error.message()));
  note_ = fmt::format("{}: {}, so the search starts anew; it is kept as {}", path_, note_, old);
}

void State::write() const {
  if (path_.empty()) return;
  json file = key_;
  file.update({{"clam_tune", kFormat}, {"trials", records_}});
  write_file(path_, json_text(file));
}

// ---- trials ----

Record State::record_of(const Candidate& candidate) const {
  for (const Record& record : records_) {
    if (record.is(candidate)) return record;
  }
  return {candidate};
}

void State::save(const Record& record) {
  const auto older = std::find_if(records_.begin(), records_.end(),
                                  [&](const Record& one) { return one.is(record); });
  if (older != records_.end()) records_.erase(older);
  records_.push_back(record);
  write();
}

void State::save_running(Record& record, bool running) {
  record.running = running ? machine_start() : "";
  save(record);
}

void State::measure_anew(bool limits_differ) {
  const auto stays = [&](const Record& record) {
    const bool is_sure = record.fate == Fate::crashed || record.fate == Fate::wrong;
    return limits_differ ? is_sure : is_bad(record.fate);
  };
  const auto forgotten = std::remove_if(records_.begin(), records_.end(), std::not_fn(stays));
  records_.erase(forgotten, records_.end());
  write();
}

std::string state_file_name(const StateKey& key) {
  const std::string op = key.problem.substr(0, key.problem.find(' '));
  return fmt::format("{}-{}.json", op, hash_text(json(key).dump()).substr(0, 16));
}

}  // namespace clam::tune
