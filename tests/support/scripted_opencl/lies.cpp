// SPDX-License-Identifier: MIT
#include "lies.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clock.hpp"

namespace scripted {
namespace {

/// Memory that stays in use: a chain, so that it is no leak for those who look for lost memory.
void leak(std::int64_t bytes) {
  static void** last = nullptr;
  auto* more = static_cast<void**>(std::malloc(static_cast<std::size_t>(bytes) + sizeof(void*)));
  if (!more) std::abort();
  std::memset(more, 1, static_cast<std::size_t>(bytes) + sizeof(void*));
  const std::lock_guard lock(mutex());
  *more = last;
  last = more;
}

/// Once through C's streams and once without; "%p" is a place in memory.
void print(const std::string& text) {
  std::printf("%s, printed\n", text.c_str());
  const std::string raw = text + ", written\n";
  if (::write(STDOUT_FILENO, raw.data(), raw.size()) < 0) std::abort();
}

[[noreturn]] void crash(std::string text) {
  char place[32];
  std::snprintf(place, sizeof place, "%p", std::malloc(16));
  for (std::size_t at = 0; (at = text.find("%p", at)) != text.npos;) text.replace(at, 2, place);
  std::fputs(text.c_str(), stderr);
  std::abort();
}

void act(const Lie& lie) {
  if (lie.s > 0) pass(nanoseconds(lie.s, 1e9));
  if (lie.does == "print") print(lie.text);
  if (lie.does == "leak") leak(lie.bytes);
  if (lie.does == "hang") hang();
  if (lie.does == "crash") crash(lie.text);
}

bool is_its_turn(const Lie& lie) {
  return lie.calls >= lie.from && lie.calls <= lie.to && (lie.calls - lie.from) % lie.every == 0;
}

}  // namespace

Orders enter(const char* call, const About& about) {
  Orders orders;
  std::vector<Lie> now;
  State& all = state();
  {
    const std::lock_guard lock(mutex());
    ++all.counts[call];
    for (Lie& lie : all.script->lies) {
      if (lie.call != call || !lie.of.fits(about) || (lie.last_hold && !about.last_hold)) continue;
      ++lie.calls;
      if (is_its_turn(lie)) now.push_back(lie);
    }
  }
  for (const Lie& lie : now) {
    if (!is_for_this_process(lie)) continue;
    act(lie);
    orders.add(lie);
  }
  return orders;
}

}  // namespace scripted
