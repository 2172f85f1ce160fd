// SPDX-License-Identifier: MIT
#include "atomic_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "clam/error.hpp"

namespace clam {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw IoError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_in_place(const std::string& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, errno);
  write_all(file.get(), bytes, path);
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
    return write_in_place(path, bytes);
  }
  std::string temporary = path + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) fail(path, errno);
  try {
    write_all(file.get(), bytes, path);
    ::fchmod(file.get(), 0644);
    if (::fsync(file.get()) != 0) fail(path, errno);
    if (!file.close()) fail(path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void require_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder, ignored)) {
    throw IoError(fmt::format("cannot write {}: there is no folder {}", path, folder.string()));
  }
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
  if (std::filesystem::is_directory(path, error)) {
    throw BadArgument(fmt::format("cannot read {}: it is a folder", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadArgument(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (file.bad()) throw BadArgument(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return bytes.str();
}

}  // namespace clam
