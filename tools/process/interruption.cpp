// SPDX-License-Identifier: MIT
#include "interruption.hpp"

#include <signal.h>

#include <array>

namespace clam {
namespace {

volatile sig_atomic_t interrupted = 0;

void interrupt(int) { interrupted = 1; }

constexpr std::array kSignals{SIGINT, SIGTERM};

}  // namespace

Interruption::Interruption() {
  interrupted = 0;
  for (const int signal : kSignals) {
    struct sigaction action {
    }, old{};
    ::sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;  // as a shell has it for a job in the background
    action.sa_handler = interrupt;
    ::sigaction(signal, &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (const int signal : kSignals) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == interrupt) ::signal(signal, SIG_DFL);
  }
}

bool Interruption::came() { return interrupted != 0; }

}  // namespace clam
