// SPDX-License-Identifier: MIT
// state.hpp - what a search has measured, in a file, so that it goes on where it was stopped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "candidates.hpp"

namespace clam::tune {

enum class Fate { fine, wrong, crashed, hung, refused, unsteady };
/// "fine", "wrong" and so on.
const char* name(Fate fate);
/// It is never tried again, and never wins.
inline bool is_bad(Fate fate) { return fate != Fate::fine && fate != Fate::unsteady; }

/// What a state is of. Trials of another device, driver, kernel hash or problem do not count.
struct StateKey {
  std::string device, driver, kernels, problem;
};

/// What is known of a candidate.
struct Record : Candidate {
  Fate fate = Fate::unsteady;
  std::string why{};      ///< of a fate that is not fine
  int tries = 0;          ///< how often it was measured
  int outages = 0;        ///< how often the machine went down meanwhile
  std::string running{};  ///< while it is measured: which start of the machine this is
  double us = 0;          ///< median
  double ratio = 1;       ///< to the best before it, in the same run
  bool faster = false;    ///< than the best before it, by the rank test

  static constexpr int kMostTries = 4;    ///< where its clock moved each time
  static constexpr int kMostOutages = 2;  ///< then it is bad
  /// Nothing is left to measure.
  bool is_done() const { return fate != Fate::unsteady || tries >= kMostTries; }
};

/// Holds PATH.lock as long as it lives, or its process. Throws IoError where another process does,
/// or where it cannot be written.
std::shared_ptr<void> locked(const std::string& path);

/// Of one search at a time: a file PATH.lock beside it is locked as long as the State lives, or its
/// process. Each change is written whole, and synced.
class State {
 public:
  /// Kept nowhere.
  State() = default;
  /// Reads the file. One that is damaged, newer or of another key is kept as PATH.old, and nothing
  /// of it counts. Throws IoError where another process searches, or nothing can be written.
  State(std::string path, StateKey key);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// A sentence on a file that did not count; else empty.
  const std::string& note() const { return note_; }
  const std::vector<Record>& records() const { return records_; }  ///< in order of measuring
  Record record_of(const Candidate& candidate) const;

  void save(const Record& record);
  /// It is measured from now on, or no longer. If the machine goes down, the next State knows.
  void save_running(Record& record, bool running);
  /// Forgets all times. What is bad stays known, but where `limits_differ` what was refused or
  /// hung.
  void measure_anew(bool limits_differ = false);

 private:
  void read();
  void write() const;

  std::string path_, note_;
  StateKey key_;
  std::vector<Record> records_;
  std::shared_ptr<void> lock_;
};

/// A file name for the key's state: "dense-0123456789abcdef.json".
std::string state_file_name(const StateKey& key);

}  // namespace clam::tune
