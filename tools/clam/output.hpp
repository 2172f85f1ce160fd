// SPDX-License-Identifier: MIT
// output.hpp - the terminal and result files. Some drivers print on standard output when they are
// loaded; so the real one is kept aside, for results alone, and descriptor 1 leads to stderr.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace clam::cli {

using nlohmann::json;

class Output {
 public:
  /// Keeps standard output aside. Make it before anything loads OpenCL.
  Output();

  /// No progress, no notes, no line about a check that passed.
  void set_quiet(bool quiet) { quiet_ = quiet; }
  bool quiet() const { return quiet_; }
  /// Where --json goes: a path, "-" for standard output, which then carries nothing else. Throws
  /// IoError at once for a path that cannot be written.
  void set_json(const std::string& path);
  bool wants_json() const { return !json_.empty(); }

  /// The result for people, whole lines.
  void text(std::string_view lines);
  void line(std::string_view line) { text(std::string(line) + "\n"); }
  /// A result on standard output whatever else is asked for.
  void raw(std::string_view text);
  /// Writes the result where --json says, or nowhere.
  void json(const nlohmann::json& value);
  /// The same of a command, "clam_list": with its form and this program's version.
  void report(const char* command, nlohmann::json result);
  /// One line on stderr: about the run, not its result.
  void note(std::string_view text);
  void error(std::string_view sentence);
  /// A line on stderr that the next output replaces; only on a terminal.
  void progress(std::string_view text);
  /// Like progress, and a plain line where stderr is no terminal.
  void notice(std::string_view text);

  std::string green(std::string_view text) const { return coloured(text, "32"); }
  std::string red(std::string_view text) const { return coloured(text, "31"); }
  std::string yellow(std::string_view text) const { return coloured(text, "33"); }
  /// By a verdict that may be neither.
  std::string marked(std::string_view text, bool good, bool bad) const {
    return good ? green(text) : bad ? red(text) : yellow(text);
  }

  /// Where a program that is run may print: standard output, unless the JSON goes there.
  int descriptor_for_programs() const { return json_is_output() ? 2 : stdout_; }

 private:
  std::string coloured(std::string_view text, const char* code) const;
  void clear_progress();

  /// /dev/stdout names descriptor 1, which no longer is standard output.
  bool json_is_output() const { return json_ == "-" || json_ == "/dev/stdout"; }

  int stdout_ = -1;
  bool quiet_ = false, colours_ = false, terminal_ = false, progress_shown_ = false;
  std::string json_;
};

/// "1 launch", "2 launches"; `more` is what the word ends with then.
std::string counted(std::int64_t number, const char* word, const char* more = "s");

/// Every line two blanks to the right.
std::string indented(const std::string& text);

/// "; did you mean 'softmax'?" when one of the words is near, else nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace clam::cli
