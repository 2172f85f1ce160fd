// SPDX-License-Identifier: MIT
#include "atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "refuse.hpp"

namespace clam {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw IoError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

/// Returns 0, or the system's error.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void write_in_place(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) fail(path, errno);
  const int error = write_all(file, bytes);
  ::close(file);
  if (error != 0) fail(path, error);
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
    return write_in_place(path, bytes);
  }
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) fail(path, errno);
  int error = write_all(file, bytes);
  ::fchmod(file, 0644);
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  fail(path, error);
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void require_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::absolute(path).parent_path();
  throw_if<IoError>(!fs::is_directory(folder, ignored), "cannot write {}: there is no folder {}",
                    path, folder.string());
  if (fs::is_directory(path, ignored)) fail(path, EISDIR);
  const std::string target = fs::exists(path, ignored) ? path : folder.string();
  if (::access(target.c_str(), W_OK) != 0) fail(path, errno);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw IoError(fmt::format("cannot make the folder {}: {}", path, error.message()));
}

std::string read_file(const std::string& path) {
  std::error_code error;
  throw_if(std::filesystem::is_directory(path, error), "cannot read {}: it is a folder", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadArgument(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (file.bad()) throw BadArgument(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return bytes.str();
}

}  // namespace clam
