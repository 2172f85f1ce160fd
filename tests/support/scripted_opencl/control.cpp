// SPDX-License-Identifier: MIT
// control.cpp - what the programs and the tests ask of this library beside OpenCL: its clock
// (host/check/clock.cpp), another script, and what was called (tests/support/scripted.hpp).
#include <cstdio>
#include <exception>
#include <string>

#include "clock.hpp"
#include "state.hpp"

extern "C" {

std::int64_t clam_scripted_now() {
  scripted::state();  // the script may name a clock
  return scripted::now();
}

/// What the calling program computed so far, as its enqueueing is said to cost it.
std::int64_t clam_scripted_own() {
  const std::lock_guard lock(scripted::mutex());
  return scripted::state().own_ns;
}

/// The program slept for so long.
void clam_scripted_pass(std::int64_t ns) { scripted::pass(ns); }

/// Share of the processors that others took; below 0: nobody knows.
double clam_scripted_other_load() { return scripted::script()->other_load; }

/// 0 where it is a script; else it has said what is wrong.
int clam_scripted_play(const char* script) {
  try {
    scripted::play(script);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the scripted OpenCL cannot read its script: %s\n", error.what());
    return 1;
  }
}

/// Lines "NAME: N": how often each function was called, and what was built. Valid until it is asked
/// again.
const char* clam_scripted_counts() {
  static std::string text;
  const std::lock_guard lock(scripted::mutex());
  text.clear();
  for (const auto& [name, count] : scripted::state().counts) {
    text += name + ": " + std::to_string(count) + "\n";
  }
  return text.c_str();
}

}  // extern "C"
