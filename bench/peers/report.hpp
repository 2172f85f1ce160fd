// SPDX-License-Identifier: MIT
// report.hpp - rows of clam beside its peers: the table, the means and the JSON document.
#pragma once

#include <string>
#include <vector>

#include "clam/clam.hpp"

namespace clam::peers {

/// The command line.
struct Options {
  std::vector<std::string> workloads, problems;
  std::string node, device, json;
  std::string forms;  ///< the folder of the kernels of other forms
  int turns = 7;
  bool list = false;
};

struct Row {
  std::string workload, node;  ///< empty: the problem was given as a line
  Problem problem;             ///< bare()
  std::string set;             ///< the data that it is timed on
};

enum class Outcome { fine, no_peer, check_failed, unsupported, device_error };

/// Something that clam's time is held against: a library, or where none has the op something else.
struct Yardstick {
  std::string name, about;  ///< about "clblast": its routine
  double us = 0;
  double bar = 0;  ///< clam is to take at most so many times as long; 0: nothing is asked
};

struct Result {
  Outcome outcome = Outcome::fine;
  std::string reason;  ///< unless fine
  std::string variant = {};
  double clam_us = 0;
  std::vector<Yardstick> yardsticks = {};  ///< "clblast", and "openblas" where it is here
  double flops = 0;                        ///< 0: of the tail, which has no times of libraries
};

void print_head(const Runtime& runtime, const Options& options, const std::string& openblas);
/// `previous`: the row printed before, or null; a new workload gets a heading.
void print_row(const Row& row, const Row* previous, const Result& result);
void print_foot(const std::vector<Row>& rows, const std::vector<Result>& results);

std::string make_document(Runtime& runtime, const Options& options, const std::string& openblas,
                          const std::vector<Row>& rows, const std::vector<Result>& results);

}  // namespace clam::peers
