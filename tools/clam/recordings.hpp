// SPDX-License-Identifier: MIT
// recordings.hpp - what becomes of the launches that the library in a watched program writes.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "drivers.hpp"
#include "watch/recorded.hpp"

namespace clam::cli {

struct WatchRequest {
  std::vector<std::string> words;  ///< the program with its arguments
  std::string kernel, target;
  std::int64_t launch = 0, limit = std::int64_t{1} << 30;
  int hang_s = 10;
  bool distinct = false, check = false;
  bool layer = false;             ///< of the ICD loader, not preloaded
  std::vector<std::string> with;  ///< of --check: commands that run a program on another driver
};

struct Written {
  std::string bundle, problem, seen;
};

/// Makes bundles of the folders that the library writes into `raw`. With --check each is first held
/// against a second driver, while the program waits, and only those that differ become bundles.
class Recordings {
 public:
  Recordings(Cli& cli, const WatchRequest& request, std::string raw);
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  /// To be called again and again while the program runs. A launch that has not ended for long is
  /// written: whoever then ends this program has its bundle.
  void look();
  /// After the program's end.
  void finish();

  const std::vector<Written>& written() const { return written_; }
  /// How many launches were held against a second driver.
  int checked() const { return checked_; }
  /// "2 bundles recorded, not judged"
  std::string summary() const;

 private:
  /// What it throws is a note.
  void each_recorded(const std::function<void(const watch::Recorded&)>& act);
  void look_at(const watch::Recorded& each);
  void write_hung(const watch::Recorded& each);
  void write(const watch::Recorded& each);
  void check(const watch::Recorded& each);
  void compare(const watch::Recorded& each);
  Bundle read(const watch::Recorded& each);
  void publish(const std::string& folder, Bundle& bundle, const Judged* judged = nullptr);
  std::string next_folder(const Bundle& bundle) const;
  const std::vector<DeviceInfo>& devices();
  std::vector<Driver> second_drivers(const DeviceInfo& first) const;

  Cli& cli_;
  const WatchRequest& request_;
  std::string raw_;
  std::filesystem::file_time_type changed_{};
  std::chrono::steady_clock::time_point changed_at_{};
  std::vector<DeviceInfo> devices_;
  std::vector<Written> written_;
  int checked_ = 0, unchecked_ = 0, differ_ = 0;

  std::string in_flight_, hung_, hung_bundle_;  ///< folders; hung_: it had not ended for long
  std::chrono::steady_clock::time_point since_;
};

}  // namespace clam::cli
