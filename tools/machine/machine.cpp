// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "runtime/text.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

/// Folders of a file of the dynamic linker's configuration, and of those that it includes.
void add_configured(const Machine& machine, const std::string& file, int depth,
                    std::vector<std::string>& folders) {
  constexpr int kDeepest = 8;  // a file may include itself
  if (depth > kDeepest) return;
  std::istringstream lines(machine.text(file).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      folders.push_back(word);
      continue;
    }
    while (words >> word) {
      for (const std::string& other : machine.matching(word)) {
        add_configured(machine, other, depth + 1, folders);
      }
    }
  }
}

std::vector<std::string> library_folders(const Machine& machine) {
  std::vector<std::string> folders;
  std::istringstream path(environment("LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(path, folder, ':');) folders.push_back(folder);
  add_configured(machine, "/etc/ld.so.conf", 0, folders);
  for (const char* pattern : {"/usr/lib/*-linux-gnu", "/usr/lib/*-linux-gnueabihf", "/lib64",
                              "/usr/lib64", "/lib", "/usr/lib"}) {
    for (const std::string& folder : machine.matching(pattern)) folders.push_back(folder);
  }
  return folders;
}

}  // namespace

Machine::Machine() : Machine(environment("CLAM_MACHINE")) {}

Machine::Machine(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

std::string Machine::own_path(const std::string& path) const {
  return is_made_up() && path.rfind(root_ + "/", 0) == 0 ? path.substr(root_.size()) : path;
}

bool Machine::exists(const std::string& path) const {
  std::error_code ignored;
  return fs::exists(real_path(path), ignored);
}

std::optional<std::string> Machine::text(const std::string& path) const {
  constexpr std::size_t kMost = 65536;
  std::ifstream file(real_path(path), std::ios::binary);
  std::string words(kMost, '\0');
  file.read(words.data(), static_cast<std::streamsize>(kMost));
  words.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  words.erase(words.find_last_not_of(" \n\t\0", std::string::npos, 4) + 1);
  return words.empty() ? std::nullopt : std::optional(std::move(words));
}

std::optional<double> Machine::number(const std::string& path, double unit) const {
  const std::optional<std::string> words = text(path);
  if (!words) return std::nullopt;
  try {
    return std::stod(*words) / unit;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string Machine::link_name(const std::string& path) const {
  std::error_code ignored;
  return fs::read_symlink(real_path(path), ignored).filename().string();
}

std::vector<std::string> Machine::matching(const std::string& pattern) const {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(real_path(pattern).c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.push_back(own_path(found.gl_pathv[i]));
  }
  ::globfree(&found);
  return paths;
}

std::vector<std::string> Machine::libraries(const std::string& name) const {
  std::vector<std::string> files, real;
  for (const std::string& folder : library_folders(*this)) {
    const std::string file = folder + "/" + name;
    std::error_code failed;
    const std::string target = fs::canonical(real_path(file), failed).string();
    if (failed || std::find(real.begin(), real.end(), target) != real.end()) continue;
    real.push_back(target);
    files.push_back(file);
  }
  return files;
}

std::vector<std::string> Machine::opencl_drivers() const {
  std::vector<std::string> files;
  for (const char* pattern :
       {"/usr/lib/*-linux-gnu/mali/libMaliOpenCL.so.1", "/usr/lib/*-linux-gnu/libmali*.so*",
        "/usr/lib/*-linux-gnu/*/libmali*.so*", "/usr/lib/*-linux-gnu/*/lib/libmali*.so*",
        "/usr/lib/*-linux-gnu/*/OpenCL/libmali*.so*", "/usr/lib/libmali*.so*",
        "/usr/local/lib/libmali*.so*", "/usr/local/lib/*/libmali*.so*",
        "/opt/*/lib/*-linux-gnu/libOpenCL.so.1", "/opt/*/lib/*-linux-gnu/libmali*.so*",
        "/opt/*/lib/libmali*.so*", "/vendor/lib64/libOpenCL.so", "/vendor/lib64/libOpenCL-pixel.so",
        "/vendor/lib64/egl/libGLES_mali.so", "/vendor/lib64/egl/*/libGLES_mali.so",
        "/system/vendor/lib64/libOpenCL.so", "/system/vendor/lib64/egl/libGLES_mali.so",
        "/system/lib64/libOpenCL.so",
        "/data/data/com.termux/files/usr/opt/vendor/lib/libOpenCL.so"}) {
    for (const std::string& file : matching(pattern)) files.push_back(file);
  }
  return files;
}

}  // namespace clam
