// SPDX-License-Identifier: MIT
// script.hpp - what the scripted device says of itself, what its work takes, and where it lies.
// README.md has the form of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace scripted {

/// The text of a program. Each launch and its event know it: they share it, as it is long.
using Source = std::shared_ptr<const std::string>;

/// Of a call: what a part of a script may ask for.
struct About {
  std::string kernel, options;
  Source source;           ///< or none
  bool last_hold = false;  ///< of a release: nobody else holds the object
};

/// Patterns of fnmatch.
struct Pattern {
  std::string kernel = "*", options = "*", source = "*";
  bool fits(const About& about) const;
};

/// What a launch takes: the sum of its parts, by the first entry that fits.
struct Cost {
  Pattern of;
  double us = 0, ns_per_item = 0;
  double bytes_per_item = 0, flops_per_item = 0;  ///< by the rates of the script
  int times_argument = -1;                        ///< times the int argument of this index
};

/// Memory is as fast as the first entry that a pass's bytes fit into.
struct Rate {
  double up_to_bytes = std::numeric_limits<double>::infinity();
  double gb_per_s = 10;
};

/// What comes on top of a time, by turns: a factor, and so much more.
struct Noise {
  std::uint64_t seed = 1;
  double spread = 0;                       ///< mean of an exponential share on top
  double slower_a_second = 0;              ///< of launches: a share of their time, as the clock sinks
  std::vector<double> factors;             ///< in turns
  std::vector<double> device_us, wait_us;  ///< recorded delays, in turns
};

struct Lie {
  std::string call, does;
  // Which of the calls.
  Pattern of;
  std::int64_t from = 1, to = std::numeric_limits<std::int64_t>::max(), every = 1;
  bool last_hold = false;
  int processes = 1;    ///< only in every third process, say
  std::string counted;  ///< the file that counts them
  // With what.
  int status = 0, argument = 0, byte = 0, bits = 0x80;
  std::int64_t ns = 0, bytes = 0;
  double s = 0, factor = 1;
  std::string text, becomes;

  std::int64_t calls = 0;  ///< so far, of those that fit
};

struct Script {
  std::map<std::string, std::string> texts;  ///< of the device: name, driver, extensions, ...
  std::map<std::string, double> numbers;     ///< of the device: units, bytes, ...
  std::vector<Cost> costs;
  std::vector<Rate> memory{Rate{}};
  double gflop_per_s = 100;
  double enqueue_us = 1, submit_us = 2, wait_us = 5, map_us = 2, flush_us = 0;
  bool starts_when_flushed = false;
  double upload_gb_per_s = 8, download_gb_per_s = 8;
  double build_ms = 20, load_ms = 1;
  double other_load = 0;  ///< below 0: not known
  double limit_s = 0;     ///< a launch that takes longer is ended there; 0: none
  bool limit_is_silent = false;
  double event_clock = 1;  ///< seconds of the events' clock in a second of the host's
  bool skips_repeats = false;
  Noise noise;
  std::vector<Lie> lies;
  bool hangs_at_exit = false;
  std::string clock, log;  ///< files: of a clock that processes share, of what was built
};

/// Throws std::exception with a sentence where the text is no script.
Script parse_script(const std::string& text);

}  // namespace scripted
