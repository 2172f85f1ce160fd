// SPDX-License-Identifier: MIT
#include "output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/text.hpp"

namespace clam::cli {
namespace {

/// False with errno set when not all could be written.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Edits (insert, delete, replace) that turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

Output::Output() {
  colours_ = ::isatty(STDOUT_FILENO) && environment("NO_COLOR").empty();
  terminal_ = ::isatty(STDERR_FILENO);
  stdout_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return;
  const int nowhere = ::open("/dev/null", O_WRONLY);
  if (nowhere >= 0 && nowhere != STDOUT_FILENO) ::dup2(nowhere, STDOUT_FILENO);
}

void Output::set_json(const std::string& path) {
  if (path != "-") require_writable(path);
  json_ = path;
}

void Output::text(std::string_view lines) {
  if (!json_is_output()) raw(lines);
}

void Output::raw(std::string_view text) {
  clear_progress();
  if (write_all(stdout_, text)) return;
  throw IoError(fmt::format("cannot write standard output: {}", std::strerror(errno)));
}

void Output::json(const nlohmann::json& value) {
  if (json_.empty()) return;
  if (json_is_output()) return raw(json_text(value));
  write_file(json_, json_text(value));
}

void Output::report(const char* command, nlohmann::json result) {
  result.update({{command, 1}, {"version", CLAM_VERSION}});
  json(result);
}

void Output::note(std::string_view text) {
  if (!quiet_) error(text);
}

void Output::error(std::string_view sentence) {
  clear_progress();
  write_all(STDERR_FILENO, fmt::format("clam: {}\n", sentence));
}

void Output::progress(std::string_view text) {
  if (quiet_ || !terminal_) return;
  constexpr std::size_t kWidth = 78;  // a line that wraps could not be wiped out again
  write_all(STDERR_FILENO, fmt::format("\r\033[K{}", text.substr(0, kWidth)));
  progress_shown_ = true;
}

void Output::notice(std::string_view text) {
  if (terminal_) return progress(text);
  note(text);
}

void Output::clear_progress() {
  if (progress_shown_) write_all(STDERR_FILENO, "\r\033[K");
  progress_shown_ = false;
}

std::string Output::coloured(std::string_view text, const char* code) const {
  return colours_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::string counted(std::int64_t number, const char* word, const char* more) {
  return fmt::format("{} {}{}", number, word, number == 1 ? "" : more);
}

std::string indented(const std::string& text) {
  std::string result;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    result += "  " + text.substr(at, end - at) + "\n";
  }
  return result;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kNear = 2, kLongest = 40;
  const std::string* nearest = nullptr;
  std::size_t least = kNear + 1;
  for (const std::string& one : known) {
    if (word.size() > kLongest) break;
    const std::size_t edits = distance(word, one);
    if (edits < least && edits < one.size()) least = edits, nearest = &one;
  }
  return nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
}

}  // namespace clam::cli
