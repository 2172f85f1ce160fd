// SPDX-License-Identifier: MIT
// anonymous.cpp - what goes to strangers says nothing of the person and the machine.
#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "bundle.hpp"
#include "runtime/text.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

/// Of an account's name: "jane.doe", "jane@corp", and those of other alphabets.
bool is_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && !std::strchr("/\\'\"`:,;|*?<>()[]{}", byte);
}

/// Where the name ends that begins there; a sentence may end behind it.
std::size_t end_of_name(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_name(text[end])) ++end;
  while (end > at && text[end - 1] == '.') --end;
  return end;
}

/// Replaces `name` wherever it stands alone as a word.
void replace_word(std::string& text, const std::string& name, const std::string& by) {
  constexpr std::size_t kShortest = 2;  // a letter alone stands in too many texts
  if (name.size() < kShortest) return;
  for (std::size_t at = 0; (at = text.find(name, at)) != text.npos;) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const bool alone = begins && (end == text.size() || !is_word(text[end]));
    if (alone) text.replace(at, name.size(), by);
    at += alone ? by.size() : 1;
  }
}

/// Replaces a folder, but none whose name only begins like it. It may follow whatever it likes:
/// "gnu/root/.cache" of a binary.
void replace_folder(std::string& text, const std::string& folder) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != text.npos; ++at) {
    const std::size_t end = at + folder.size();
    if (end_of_name(text, end) == end) text.replace(at, folder.size(), "~");
  }
}

constexpr std::array<std::string_view, 2> kFoldersOfHomes{"/home", "/Users"};

/// As it is written, and where it leads to; nothing for a folder that everything is in,
/// or every home.
std::vector<std::string> names_of_folder(std::string folder) {
  while (!folder.empty() && folder.back() == '/') folder.pop_back();
  if (folder.empty() || folder[0] != '/') return {};
  const auto& of_homes = kFoldersOfHomes;
  if (std::find(of_homes.begin(), of_homes.end(), folder) != of_homes.end()) return {};
  std::error_code error;
  const std::string real = std::filesystem::canonical(folder, error).string();
  return error || real == "/" ? std::vector{folder} : std::vector{real, folder};
}

/// Who is here: the account, and whoever became it by sudo.
struct Person {
  std::vector<std::string> names, homes;

  void add(const passwd* account) {
    if (!account) return;
    names.emplace_back(account->pw_name);
    homes.emplace_back(account->pw_dir);
  }
};

Person who_is_here() {
  Person person;
  person.homes.push_back(environment("HOME"));
  person.names = {environment("USER"), environment("LOGNAME"), environment("SUDO_USER")};
  person.add(::getpwuid(::getuid()));
  person.add(::getpwnam(environment("SUDO_USER").c_str()));
  return person;
}

/// Somebody's, whoever runs this.
void replace_homes(std::string& text) {
  for (const std::string_view folder : kFoldersOfHomes) {
    for (std::size_t at = 0; (at = text.find(folder, at)) != text.npos; ++at) {
      const std::size_t name = at + folder.size() + 1;
      if (name > text.size() || text[name - 1] != '/') continue;
      const std::size_t end = end_of_name(text, name);
      if (end == name || names_nobody(text.substr(name, end - name))) continue;
      text.replace(at, end - at, "~");
    }
  }
}

}  // namespace

bool names_nobody(const std::string& name) {
  constexpr std::array<std::string_view, 39> kCommon{
      "root",     "user",   "nobody", "admin",   "guest",   "localhost",   "debian", "ubuntu",
      "fedora",   "alarm",  "arch",   "armbian", "pi",      "raspberrypi", "rock",   "radxa",
      "orangepi", "rk3588", "odroid", "khadas",  "linaro",  "firefly",     "mali",   "arm",
      "gpu",      "board",  "device", "opencl",  "cl",      "clam",        "test",   "build",
      "builder",  "ci",     "runner", "docker",  "android", "shell",       "system"};
  return std::find(kCommon.begin(), kCommon.end(), name) != kCommon.end();
}

std::string anonymous(std::string text) {
  const Person person = who_is_here();
  for (const std::string& home : person.homes) {
    for (const std::string& name : names_of_folder(home)) replace_folder(text, name);
  }
  replace_homes(text);
  for (const std::string& user : person.names) {
    if (!names_nobody(user)) replace_word(text, user, "USER");
  }
  char host[HOST_NAME_MAX + 1] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string full = host;
  for (const std::string& name : {full, full.substr(0, full.find('.'))}) {
    if (!names_nobody(name)) replace_word(text, name, "HOST");
  }
  return text;
}

}  // namespace clam
