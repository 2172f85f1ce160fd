// SPDX-License-Identifier: MIT
#include "expectations.hpp"

#include <fmt/core.h>
#include <fnmatch.h>

#include <cmath>
#include <sstream>
#include <tuple>

#include "runtime/refuse.hpp"
#include "runtime/text.hpp"

namespace clam::mali {
namespace {

using Verdict = Judgement::Verdict;

constexpr const char* kHead =
    R"(# What Mesa's Mali compilers make of the kernels. `clam mali --accept` writes the figures; the reasons
# of half occupancy and the list of what cannot be compiled are written by hand and kept.
#
#   half KERNEL|GPU:KERNEL  why half the warps are worth it
#   cannot GPU KERNEL|KERNEL:f16|KERNEL:f32  DATE  what the compiler does
#   gpu NAME  COMPILER
#   ISSUED  MAC/LOOP  OCCUPANCY  FINGERPRINT  FILE:KERNEL  OPTIONS
#
# ISSUED: instructions of the kernel (Bifrost: tuples, Midgard: bundles). MAC/LOOP: multiply-adds and
# instructions in one trip of the hot loop, 0/0 without a loop. Spills and scratch memory: none, but for the
# lines `cannot`. FINGERPRINT: a hash of the kernel's code, the tags of its file, options, compiler and GPU;
# - where something is wrong, or nobody looked. The gate with --changed compiles what has another one.
)";

/// One line, word by word, with the sentence to say when it is wrong.
class Line {
 public:
  Line(std::string text, std::string where) : words_(text), where_(std::move(where)) {}

  std::string word(const char* what) {
    std::string word;
    if (!(words_ >> word)) fail(fmt::format("{} is missing", what));
    return word;
  }
  int number(const char* what, const std::string& text) const {
    int value = 0;
    if (read_number(text, value) != std::errc() || value < 0) {
      fail(fmt::format("{} needs a whole number, not {}", what, in_quotes(text)));
    }
    return value;
  }
  std::string rest() {
    std::string rest;
    std::getline(words_ >> std::ws, rest);
    return rest;
  }
  std::string text(const char* what) {
    const std::string text = rest();
    if (text.empty()) fail(fmt::format("{} is missing", what));
    return text;
  }
  [[noreturn]] void fail(const std::string& what) const { refuse("{}: {}", where_, what); }

 private:
  std::istringstream words_;
  std::string where_;
};

void read_figures(Line& line, const std::string& issued, const std::string& gpu,
                  Expectations& expectations) {
  if (gpu.empty()) line.fail("figures need a line 'gpu NAME' above them");
  Figures figures;
  figures.issued = line.number("ISSUED", issued);
  const std::string loop = line.word("MAC/LOOP");
  const std::size_t slash = loop.find('/');
  if (slash == loop.npos) line.fail("MAC/LOOP needs two numbers with a / between");
  figures.loop_mac = line.number("MAC", loop.substr(0, slash));
  figures.loop_issued = line.number("LOOP", loop.substr(slash + 1));
  const std::string occupancy = line.word("full or half");
  if (occupancy != "full" && occupancy != "half") line.fail("occupancy is full or half");
  figures.full_occupancy = occupancy == "full";
  const std::string fingerprint = line.word("FINGERPRINT");
  if (fingerprint != "-") figures.fingerprint = fingerprint;
  const std::string kernel = line.word("FILE:KERNEL");
  const std::size_t colon = kernel.find(':');
  if (colon == kernel.npos) line.fail("FILE:KERNEL needs a colon");
  const Expectations::Key key{gpu, kernel.substr(0, colon), kernel.substr(colon + 1), line.rest()};
  if (!expectations.figures.emplace(key, figures).second) line.fail("this kernel is there twice");
}

template <typename... Parts>
Judgement judgement(Verdict verdict, fmt::format_string<Parts...> format, Parts&&... parts) {
  return {verdict, fmt::format(format, std::forward<Parts>(parts)...)};
}

/// What no acceptance can allow; as_expected when there is nothing.
Judgement judge_rules(const std::string& gpu, const KernelCode& code,
                      const Expectations& expectations) {
  if (code.status != KernelCode::Status::compiled) {
    return judgement(Verdict::forbidden, "{}: {}", name(code.status), code.reason);
  }
  const Shader& shader = code.shader;
  if (shader.spills > 0 || shader.fills > 0) {
    return judgement(Verdict::forbidden, "{} spills and {} fills, and there must be none",
                     shader.spills, shader.fills);
  }
  if (shader.scratch_bytes > 0) {
    return judgement(Verdict::forbidden, "{} bytes of scratch memory, and there must be none",
                     shader.scratch_bytes);
  }
  if (!shader.full_occupancy() && !expectations.half_reason(gpu, code.kernel)) {
    return judgement(Verdict::forbidden,
                     "half occupancy, and no line 'half {}  REASON' says why it is worth it",
                     code.kernel);
  }
  return {};
}

/// A better loop is no excuse for a kernel that grew by more than this.
constexpr double kMostGrowth = 1.25;

Verdict compare(const Figures& now, const Figures& then) {
  if (now == then) return Verdict::as_expected;
  if (now.full_occupancy != then.full_occupancy) {
    return now.full_occupancy ? Verdict::better : Verdict::worse;
  }
  const bool same_kind =
      (now.loop_issued > 0) == (then.loop_issued > 0) && (now.loop_mac > 0) == (then.loop_mac > 0);
  if (!same_kind) return Verdict::changed;  // unrolled, say, which may be either
  const double loop = now.loop_cost() - then.loop_cost();
  constexpr double kNothing = 1e-9;
  if (loop > kNothing || now.issued > kMostGrowth * then.issued) return Verdict::worse;
  if (loop < -kNothing || now.issued < then.issued) return Verdict::better;
  return now.issued > then.issued ? Verdict::worse : Verdict::changed;
}

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

double Figures::loop_cost() const {
  return loop_mac > 0 ? static_cast<double>(loop_issued) / loop_mac : loop_issued;
}

bool Figures::operator==(const Figures& other) const {
  return std::tie(issued, loop_mac, loop_issued, full_occupancy) ==
         std::tie(other.issued, other.loop_mac, other.loop_issued, other.full_occupancy);
}

Figures figures_of(const Shader& shader) {
  Figures figures;
  figures.issued = static_cast<int>(std::lround(shader.whole.issued));
  figures.full_occupancy = shader.full_occupancy();
  const int hot = hot_loop(shader);
  if (hot < 0) return figures;
  const Counts trip = own_trip(shader, static_cast<std::size_t>(hot));
  figures.loop_mac = static_cast<int>(std::lround(trip.mac));
  figures.loop_issued = static_cast<int>(std::lround(trip.issued));
  return figures;
}

std::string to_text(const Figures& figures) {
  return fmt::format("{} inst, {}/{} in the loop, {} occupancy", figures.issued, figures.loop_mac,
                     figures.loop_issued, figures.full_occupancy ? "full" : "half");
}

bool Expectations::Key::operator<(const Key& other) const {
  return std::tie(gpu, file, kernel, options) <
         std::tie(other.gpu, other.file, other.kernel, other.options);
}

const Expectations::Half* Expectations::half_reason(const std::string& gpu,
                                                    const std::string& kernel) const {
  for (const Half& line : half) {
    if (matches_pattern(line.kernel, kernel) || matches_pattern(line.kernel, gpu + ":" + kernel)) {
      return &line;
    }
  }
  return nullptr;
}

const Expectations::Cannot* Expectations::known_failure(const std::string& gpu,
                                                        const KernelId& id) const {
  const bool is_f16 = id.options.find("-DCLAM_F16") != std::string::npos;
  const std::string typed = id.kernel + (is_f16 ? ":f16" : ":f32");
  for (const Cannot& line : cannot) {
    const bool is_it =
        matches_pattern(line.kernel, id.kernel) || matches_pattern(line.kernel, typed);
    if (line.gpu == gpu && is_it) return &line;
  }
  return nullptr;
}

Expectations parse_expectations(std::string_view text, const std::string& origin) {
  Expectations expectations;
  std::istringstream lines{std::string(text)};
  std::string gpu;
  int number = 0;
  for (std::string content; std::getline(lines, content);) {
    Line line(content, fmt::format("{}:{}", origin, ++number));
    if (content.find_first_not_of(" \t") == content.npos || content[0] == '#') continue;
    const std::string first = line.word("a word");
    if (first == "half") {
      const std::string kernel = line.word("KERNEL");
      expectations.half.push_back({kernel, line.text("the reason")});
    } else if (first == "cannot") {
      const std::string on = line.word("GPU"), kernel = line.word("KERNEL");
      const std::string date = line.word("DATE");
      expectations.cannot.push_back({on, kernel, date, line.text("the reason")});
    } else if (first == "gpu") {
      gpu = line.word("NAME");
      expectations.compilers[gpu] = line.text("the compiler's version");
    } else {
      read_figures(line, first, gpu, expectations);
    }
  }
  return expectations;
}

std::string to_text(const Expectations& expectations) {
  std::string text = kHead;
  text += "\n";
  for (const auto& half : expectations.half) {
    text += fmt::format("half {:<20} {}\n", half.kernel, half.reason);
  }
  text += "\n";
  for (const auto& cannot : expectations.cannot) {
    text += fmt::format("cannot {} {:<20} {}  {}\n", cannot.gpu, cannot.kernel, cannot.date,
                        cannot.reason);
  }
  std::string gpu;
  for (const auto& [key, figures] : expectations.figures) {
    if (key.gpu != gpu) {
      gpu = key.gpu;
      text += fmt::format("\ngpu {}  {}\n", gpu, expectations.compilers.at(gpu));
    }
    text += fmt::format("{:>6} {:>9}  {}  {:<32}  {}:{}{}{}\n", figures.issued,
                        fmt::format("{}/{}", figures.loop_mac, figures.loop_issued),
                        figures.full_occupancy ? "full" : "half",
                        figures.fingerprint.empty() ? "-" : figures.fingerprint, key.file,
                        key.kernel, key.options.empty() ? "" : "  ", key.options);
  }
  return text;
}

Judgement judge(const std::string& gpu, const std::string& compiler, const KernelCode& code,
                const Expectations& expectations) {
  const bool is_compiled = code.status == KernelCode::Status::compiled;
  if (is_compiled && !code.reason.empty()) return {Verdict::forbidden, code.reason};
  const Judgement rules = judge_rules(gpu, code, expectations);
  if (const Expectations::Cannot* known = expectations.known_failure(gpu, code)) {
    if (!rules.fails()) {
      return judgement(Verdict::mended, "nothing is wrong with it: 'cannot {} {}' may be too much",
                       gpu, known->kernel);
    }
    return judgement(Verdict::known_failure, "{}, as known since {}: {}", rules.sentence,
                     known->date, known->reason);
  }
  if (rules.fails()) return rules;
  const auto of = expectations.compilers.find(gpu);
  if (of != expectations.compilers.end() && of->second != compiler) {
    return judgement(Verdict::unjudged, "its figures are of {}, and this is {}", of->second,
                     compiler);
  }
  const auto then = expectations.figures.find({gpu, code.file, code.kernel, code.options});
  if (then == expectations.figures.end()) {
    return judgement(Verdict::missing, "no line expects it; clam mali --accept writes one");
  }
  const Figures now = figures_of(code.shader);
  const Verdict verdict = compare(now, then->second);
  if (verdict == Verdict::as_expected) return {};
  return judgement(verdict, "{}: {}; it was {}{}",
                   verdict == Verdict::worse    ? "worse"
                   : verdict == Verdict::better ? "better"
                                                : "other code",
                   to_text(now), to_text(then->second),
                   verdict == Verdict::worse ? "" : "; clam mali --accept writes it down");
}

}  // namespace clam::mali
