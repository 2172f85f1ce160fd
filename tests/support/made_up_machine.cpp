// SPDX-License-Identifier: MIT
#include "made_up_machine.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "runtime/atomic_file.hpp"

namespace clam::test {

namespace fs = std::filesystem;

MadeUpMachine::MadeUpMachine() {
  file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  for (const char* folder : {"/dev", "/proc", "/sys", "/usr/lib/aarch64-linux-gnu"}) {
    fs::create_directories(real_path(folder));
  }
  file("/etc/group", fmt::format("video:x:{}:\n", ::getgid()));
  set_user({::getgid()});
}

void MadeUpMachine::file(const std::string& path, const std::string& text) const {
  fs::create_directories(fs::path(real_path(path)).parent_path());
  write_file(real_path(path), text);
  fs::permissions(real_path(path), fs::perms(path.rfind("/dev/", 0) == 0 ? 0660 : 0644));
}

/// Somebody else than who runs the test, and who owns its files.
void MadeUpMachine::set_user(const std::vector<unsigned>& groups) const {
  const unsigned other = ::getuid() + 1;
  std::string text = fmt::format("Name:\tclam\nUid:\t{0}\t{0}\t{0}\t{0}\nGroups:\t", other);
  for (const unsigned group : groups) text += fmt::format("{} ", group);
  file("/proc/self/status", text + "\n");
}

void MadeUpMachine::close_to_user(const std::string& path) {
  fs::permissions(real_path(path), fs::perms(0660));
  set_user({});
  // Arm's node belongs to the group video, Mesa's to render.
  const char* group = path == "/dev/mali0" ? "video" : "render";
  file("/etc/group", fmt::format("{}:x:{}:\n", group, ::getgid()));
}

void MadeUpMachine::link(const std::string& path, const std::string& target) const {
  fs::create_directories(fs::path(real_path(path)).parent_path());
  fs::remove(real_path(path));
  fs::create_symlink(target, real_path(path));
}

void MadeUpMachine::remove(const std::string& path) const { fs::remove_all(real_path(path)); }

void MadeUpMachine::fake_library(const std::string& path, const std::string& define) {
  is_scripted_ = is_scripted_ || define.rfind("NEXT=", 0) == 0;
  remove(path);
  static const TemporaryFolder built;  // each once for all machines
  static std::map<std::string, std::string> known;
  std::string& file = known[define];
  if (file.empty()) {
    file = built.file(fmt::format("{}.so", known.size()));
    const Finished compiled =
        run_command({"/usr/bin/env", "cc", "-shared", "-fPIC", "-D" + define, "-o", file,
                     CLAM_SOURCE_DIR "/tests/support/fake_libraries/fake.c", "-ldl"});
    ASSERT_EQ(compiled.code, 0) << compiled.err;
  }
  fs::create_directories(fs::path(real_path(path)).parent_path());
  fs::copy_file(file, real_path(path), fs::copy_options::overwrite_existing);
}

void MadeUpMachine::opencl_library(const std::string& path) {
  is_scripted_ = true;
  remove(path);
  link(path, CLAM_SCRIPTED_OPENCL_DIR "/libOpenCL.so.1");
}

std::vector<std::string> MadeUpMachine::on(nlohmann::json script) const {
  std::vector<std::string> environment = scripted::on(std::move(script));
  environment[0] = "LD_LIBRARY_PATH=";
  if (!is_scripted_) environment[1] = "CLAM_SCRIPTED_OPENCL=";
  environment.push_back("CLAM_MACHINE=" + folder_.path());
  return environment;
}

}  // namespace clam::test
