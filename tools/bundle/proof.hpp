// SPDX-License-Identifier: MIT
// proof.hpp - the same bytes on other drivers: is the kernel at fault, or the driver?
#pragma once

#include <string>
#include <vector>

#include "bundle.hpp"
#include "check/op_proof.hpp"

namespace clam {

/// What one driver made of a bundle.
struct ProofRow {
  DeviceInfo device;
  std::string date;
  std::string files;  ///< hash_of_files of what was run
  Seen seen;
  int runs = 1;                     ///< until it went wrong, or without going wrong
  Reason cannot;                    ///< why it cannot run there; then nothing was seen
  bool is_simulator = false;        ///< Oclgrind, which looks for races and accesses outside
  std::vector<std::string> report;  ///< its lines
};

/// One name, platform and version: a second row of it says nothing new.
bool same_driver(const DeviceInfo& a, const DeviceInfo& b);

/// How often a driver must get a bundle right to be called right: once, or where the fault comes
/// now and then, so often that it would mostly have come.
int runs_of_proof(const Bundle& bundle);

/// Whether there is a result, right or wrong; a crash, a hang or an error has none.
bool ran_to_its_end(const Seen& seen);

/// proof.json of a bundle.
struct Proof {
  std::vector<ProofRow> rows;
  /// In the place of an earlier row of this driver, if there is one; but of a fault that comes now
  /// and then, what went wrong stays.
  void add(ProofRow row);
};

/// One hash over the hashes of the files that are run: what `xxh128sum FILES | xxh128sum` prints.
std::string hash_of_files(const Bundle& bundle, const std::string& folder);

/// Without rows where there is no proof.json. Throws BadArgument where it is damaged.
Proof read_proof(const std::string& folder);
void write_proof(const std::string& folder, const Proof& proof);

/// A sentence on who is at fault, as far as the rows with these bytes tell. Only a driver of
/// another platform that fails in the same way accuses the kernel, and only one that gets it right,
/// in all of runs_of_proof, absolves it. One that fails differently adds doubt but does not
/// outweigh the majority; one that refuses the case judges nothing.
std::string find_blame(const Bundle& bundle, const Proof& proof, const std::string& files);

/// The part of the README: verdict, a table of drivers, the simulator's report.
std::string proof_text(const Bundle& bundle, const Proof& proof, const std::string& folder);

}  // namespace clam
