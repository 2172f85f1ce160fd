// SPDX-License-Identifier: MIT
// anonymous.cpp - what goes to strangers says nothing of the person and the machine.
#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

#include "bundle.hpp"

namespace clam {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Replaces `name` wherever it stands alone, as a word or a part of a path.
void replace_word(std::string& text, const std::string& name, const std::string& by) {
  constexpr std::size_t kShortest = 2;  // a letter alone stands in too many texts
  if (name.size() < kShortest) return;
  for (std::size_t at = 0; (at = text.find(name, at)) != text.npos;) {
    const std::size_t end = at + name.size();
    // A path may follow whatever it likes: "gnu/root/.cache" of a binary.
    const bool begins = name[0] == '/' || at == 0 || !is_word(text[at - 1]);
    const bool alone = begins && (end == text.size() || !is_word(text[end]));
    if (alone) text.replace(at, name.size(), by);
    at += alone ? by.size() : 1;
  }
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Accounts that every machine has, and that name nobody.
bool is_common(const std::string& user) {
  return user == "root" || user == "user" || user == "nobody" || user == "debian" ||
         user == "ubuntu";
}

}  // namespace

std::string anonymous(std::string text) {
  const passwd* account = ::getpwuid(::getuid());
  for (const std::string& home : {variable("HOME"), std::string(account ? account->pw_dir : "")}) {
    if (home != "/") replace_word(text, home, "~");
  }
  for (const std::string& user :
       {variable("USER"), variable("LOGNAME"), std::string(account ? account->pw_name : "")}) {
    if (!is_common(user)) replace_word(text, user, "USER");
  }
  char host[HOST_NAME_MAX + 1] = "";
  ::gethostname(host, sizeof host - 1);
  if (std::string(host) != "localhost") replace_word(text, host, "HOST");
  return text;
}

}  // namespace clam
