// SPDX-License-Identifier: MIT
// interruption.hpp - work that ends in order when a person asks for its end.
#pragma once

namespace clam {

/// While it lives, SIGINT and SIGTERM are only noted, so that what there is so far is written and
/// no temporary folder is left.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Whether there was one. What a process of a case came to then is no result: the terminal ends
  /// it, too.
  static bool came();
};

}  // namespace clam
