// SPDX-License-Identifier: MIT
// expectations.hpp - what every kernel was when somebody last looked, as a text file that a review
// reads: a kernel that got worse is an error, a better one asks to be written down.
//
//     half KERNEL  why half the warps are worth it      KERNEL, GPU:KERNEL, with * and ?
//     cannot GPU KERNEL  DATE  what the compiler does   KERNEL, KERNEL:f16 or KERNEL:f32, same
//     gpu g610  Mesa 25.0.7-2+deb13u1
//     ISSUED  MAC/LOOP  full|half  FINGERPRINT  FILE:KERNEL  OPTIONS
//
// ISSUED: instructions of the kernel (Bifrost: tuples, Midgard: bundles). MAC/LOOP: multiply-adds
// and instructions in one trip of the hot loop, 0/0 without a loop. FINGERPRINT: the hash of what
// the figures follow from, where nothing was wrong with the kernel, else -.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compile.hpp"

namespace clam::mali {

/// The figures that a kernel is judged by.
struct Figures {
  int issued = 0;
  int loop_mac = 0, loop_issued = 0;  ///< one trip of the hot loop
  bool full_occupancy = true;
  std::string fingerprint{};  ///< Compiler::fingerprint of what they are of, or empty

  /// Instructions a multiply-add of the hot loop, or a trip where it has none.
  double loop_cost() const;
  /// Whatever the fingerprints are.
  bool operator==(const Figures& other) const;
};
Figures figures_of(const Shader& shader);
/// "605 inst, 96/146 in the loop, half occupancy"
std::string to_text(const Figures& figures);

struct Expectations {
  struct Half {
    std::string kernel, reason;
  };
  struct Cannot {
    std::string gpu, kernel, date, reason;
  };
  struct Key {
    std::string gpu, file, kernel, options;
    bool operator<(const Key& other) const;
  };

  std::map<std::string, std::string> compilers;  ///< that the figures are of, by GPU
  std::vector<Half> half;
  std::vector<Cannot> cannot;
  std::map<Key, Figures> figures;

  const Half* half_reason(const std::string& gpu, const std::string& kernel) const;
  const Cannot* known_failure(const std::string& gpu, const KernelId& id) const;
};

/// Throws BadArgument "ORIGIN:LINE: what is wrong".
Expectations parse_expectations(std::string_view text, const std::string& origin);
/// parse_expectations reads it back.
std::string to_text(const Expectations& expectations);

struct Judgement {
  enum class Verdict {
    as_expected,
    better,
    unjudged,       ///< its figures are another compiler's
    known_failure,  ///< a line `cannot` lets it pass
    mended,         ///< it has such a line, and no need of it
    worse,
    changed,  ///< neither better nor worse can be said
    missing,  ///< no line expects it
    forbidden,
  };
  Verdict verdict = Verdict::as_expected;
  std::string sentence;  ///< empty when as expected

  bool fails() const { return verdict >= Verdict::worse; }
  bool is_skip() const { return verdict == Verdict::unjudged || verdict == Verdict::known_failure; }
};
/// Spills, scratch memory, half occupancy without a reason and kernels that do not compile are
/// forbidden whatever was accepted, but for a line `cannot`. Without that exception so is one whose
/// time cannot be predicted, because its loops are not those that its tags speak of. Of the figures
/// occupancy counts first, then the hot loop, then the whole. `compiler`: what `code` was compiled
/// with.
Judgement judge(const std::string& gpu, const std::string& compiler, const KernelCode& code,
                const Expectations& expectations);

}  // namespace clam::mali
