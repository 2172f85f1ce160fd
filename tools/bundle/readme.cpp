// SPDX-License-Identifier: MIT
// readme.cpp - the page of a bundle that a driver's author reads first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bundle.hpp"
#include "last_words.hpp"
#include "proof.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/words.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

std::string device_line(const DeviceInfo& device) {
  return fmt::format("{} ({}, {}, driver {})", device.name, device.platform, device.device_version,
                     device.driver_version);
}

/// One sentence: what is wrong.
std::string headline(const Bundle& bundle) {
  const std::string what =
      bundle.build_only() ? "the build of " + bundle.file : anonymous(bundle.problem);
  if (!bundle.seen.right()) {
    constexpr Words<6> kWhatIsWrong{"",
                                    "A wrong result: {}",
                                    "The compiler refuses {}",
                                    "The process crashes in {}",
                                    "{} never ends",
                                    "The driver reports an error in {}"};
    return fmt::format(fmt::runtime(word_of(kWhatIsWrong, bundle.seen.outcome)), what);
  }
  if (!bundle.judged) return "Recorded, not judged: " + what;
  if (!bundle.noted.empty()) return "Of " + what + " the result is right: see what was noted";
  return "Nothing is wrong here: " + what + " was right when this was recorded";
}

std::string seen_text(const Bundle& bundle) {
  const Seen& seen = bundle.seen;
  std::string text =
      fmt::format("Seen on {}: **{}**", device_line(bundle.device), bundle.seen_text());
  text += seen.reason.empty() ? ".\n" : fmt::format(".\n\n    {}\n", anonymous(seen.reason));
  if (!seen.first_wrong) return text;
  text += fmt::format("\nThe first wrong element is {}[{}]: {}, where {} is right",
                      seen.first_wrong->tensor, seen.first_wrong->index,
                      value_text(seen.first_wrong->value), value_text(seen.first_wrong->expected));
  if (std::isfinite(seen.worst_ratio)) {
    text += fmt::format("; the worst is {:.3g} times its bound off", seen.worst_ratio);
  }
  return text + ".\n";
}

/// The last words of a driver that ended the process.
std::string last_words(const Bundle& bundle, const std::string& folder) {
  const std::string log = path_in(folder, "driver.log");
  if (bundle.seen.outcome != Seen::Outcome::crashed || !fs::exists(log)) return "";
  std::string text;
  for (const std::string& line : last_lines(read_file(log))) text += "    " + line + "\n";
  return text.empty() ? "" : "\nThe driver printed (driver.log has all of it):\n\n" + text;
}

std::string expected_text(const Bundle& bundle) {
  if (bundle.build_only()) return "Expected: it builds.\n";
  std::string text = "Expected: `|out - expected| <= bound` for every element";
  if (bundle.bounds.empty()) text = "Expected: the very bits of the expected files";
  if (bundle.expected.empty()) {
    text =
        "Expected: it ends without an error; there are no expected files, and nothing is compared";
  } else if (!bundle.bounds.empty() && bundle.bounds.size() < bundle.expected.size()) {
    text += ", and the very bits where there is no bound";
  }
  return text + ".\n";
}

/// How a compiler of a board is asked without the board.
std::string offline_text(const Bundle& bundle, const std::string& folder) {
  if (!bundle.build_only()) return "";
  const bool listed = fs::exists(path_in(folder, "listing.txt"));
  return fmt::format(
      "\n## Without the board\n\nArm's offline compiler, malioc of Arm Performance Studio{}{}:\n\n"
      "```\nmalioc --opencl {}\nmalioc -c Mali-G610 --opencl {}\n```\n\n"
      "Mesa's compilers for Mali, on a PC, with clam's tools (PAN_GPU_ID names the GPU; the\n"
      "program is one for aarch64, of `tools/package`):\n\n"
      "```\ntools/with-driver mali clam replay FOLDER --limit 300\n```\n",
      listed ? " (listing.txt is what it said)" : "",
      bundle.options.empty() ? "" : ", with the definitions of options.txt as #define lines first",
      bundle.file, bundle.file);
}

std::string launches_text(const Bundle& bundle) {
  if (bundle.build_only()) {
    return fmt::format("`{}`, built with `{}`; nothing is run.\n", bundle.file,
                       bundle.options.empty() ? "no options" : anonymous(bundle.options));
  }
  std::string text = "| launch | kernel | global | local | options |\n|---|---|---|---|---|\n";
  int number = 0;
  for (const Launch* launch : launches_of(*bundle.plan)) {
    const std::string from = launch->offset == Launch().offset
                                 ? ""
                                 : fmt::format(", from {}", fmt::join(launch->offset, " "));
    text += fmt::format("| {} | {}: {} | {}{} | {} | `{}` |\n", ++number, launch->file,
                        launch->kernel, fmt::join(launch->global, " "), from,
                        launch->group_size() > 0 ? fmt::format("{}", fmt::join(launch->local, " "))
                                                 : "the driver's choice",
                        launch->options.empty() ? "none" : anonymous(launch->options));
  }
  return text;
}

/// What a file of a bundle is, by its name.
std::string about(const std::string& file) {
  if (file == "replay.c") return "the program above; its tables say what is launched";
  if (file == "case.json") return "the case as clam reads it, and what was seen";
  if (file == "plan.json") return "the launches with their arguments, as clam reads them";
  if (file == "options.txt") return "build options";
  if (file == "driver.log") return "what the driver printed";
  if (file == "listing.txt") return "what malioc makes of it";
  if (file == "build.log") return "what the compiler said";
  if (file == "proof.json") return "what other drivers made of it, as clam reads it";
  if (file == "device.txt") return "device, driver, libraries, clocks, kernel log";
  if (ends_with(file, ".expected.npy")) return "what is right";
  if (ends_with(file, ".given.npy")) return "what the driver gave where it was recorded";
  if (ends_with(file, ".bound.npy")) return "how far off each element may be";
  if (ends_with(file, ".npy")) return "input, or what an output holds before the launches";
  if (ends_with(file, ".bin")) return "the program binary that the driver gave";
  return "kernels, byte for byte";
}

std::string files_text(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  std::string text = "| file | is |\n|---|---|\n";
  for (const std::string& file : files) {
    if (file != "README.md") text += fmt::format("| {} | {} |\n", file, about(file));
  }
  return text;
}

std::string callers_text(const Bundle& bundle) {
  if (bundle.callers.empty()) return "";
  return fmt::format("\nThe program launched it from:\n\n    {}\n",
                     fmt::join(bundle.callers, "\n    "));
}

/// What it was shrunk from, and how; nothing where it was not.
std::string shrunk_text(const Bundle& bundle) {
  if (!bundle.shrunk) return "";
  const Shrunk& shrunk = *bundle.shrunk;
  std::string text = fmt::format("\nShrunk from `{}`; it still fails in the same way{}:\n\n",
                                 anonymous(shrunk.from),
                                 shrunk.complete ? "" : ", and may get smaller in more time");
  for (const std::string& step : shrunk.steps) text += fmt::format("- {}\n", step);
  for (const std::string& note : shrunk.notes) text += fmt::format("- note: {}\n", note);
  if (shrunk.steps.empty()) text += "- nothing was made smaller\n";
  return text;
}

}  // namespace

std::string readme_text(const Bundle& bundle, const std::string& folder, bool single_file) {
  std::string text = fmt::format("# {}\n\n", headline(bundle));
  text += seen_text(bundle) + last_words(bundle, folder) + "\n" + expected_text(bundle);
  if (!bundle.noted.empty())
    text += "\n## Noted when it was recorded\n\n" + anonymous(bundle.noted) + "\n";
  text +=
      "\n## To run it\n\n```\ncc replay.c -lOpenCL -lm && ./a.out\n```\n\n"
      "prints PASS, or FAIL with the first wrong element (exit code 0, 1; 2: it cannot run "
      "here). `-d 0:1` takes the\nsecond device of the first platform, `-n 20` runs it so many "
      "times.";
  if (bundle.seen.outcome == Seen::Outcome::hung && bundle.limit_s > 0) {
    text += fmt::format(" Where it was recorded it was ended after {} s.", bundle.limit_s);
  }
  if (bundle.seen.outcome == Seen::Outcome::crashed) {
    text += " Where it was recorded its process crashed.";
  }
  if (bundle.one_in > 1) {
    text += fmt::format(
        " {} it went wrong in about one of {} runs: `for i in $(seq {}); do ./a.out || break; "
        "done`.",
        bundle.shrunk ? "Before it was made smaller" : "Where it was recorded", bundle.one_in,
        runs_of_proof(bundle));
  }
  text += single_file ? " replay.c needs no other file of this folder.\n" : "\n";
  text += "With clam: `clam replay FOLDER`. In the simulator Oclgrind: `oclgrind ./a.out`.\n";
  text += "\n## What is run\n\n";
  if (!bundle.variant.empty() || !bundle.data_set.empty()) {
    text += fmt::format("{}{}{}.\n\n", anonymous(bundle.variant),
                        bundle.variant.empty() || bundle.data_set.empty() ? "" : ", ",
                        bundle.data_set.empty()
                            ? ""
                            : fmt::format("data set {}, seed {}", bundle.data_set, bundle.seed));
  }
  text += launches_text(bundle) + callers_text(bundle) + shrunk_text(bundle);
  text += offline_text(bundle, folder);
  text += "\n" + proof_text(bundle, read_proof(folder), folder);
  text += "\n## Files\n\n" + files_text(folder);
  text += fmt::format(
      "\nMade by clam {}. replay.c and clam's own kernels: MIT licence. A kernel of another "
      "project "
      "has that project's.\n",
      CLAM_VERSION);
  return text;
}

}  // namespace clam
