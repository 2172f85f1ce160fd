// SPDX-License-Identifier: MIT
// machine.hpp - files of the machine: what /sys, /proc, /dev, /etc and the folders of libraries
// say.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace clam {

/// Paths are absolute, as the machine names them. Nothing here throws: what cannot be read is not
/// there.
class Machine {
 public:
  /// This machine, or a made-up one: the folder that CLAM_MACHINE names stands in for "/", in
  /// tests.
  Machine();
  explicit Machine(std::string root);

  bool is_made_up() const { return !root_.empty(); }
  /// Where a path of the machine lies, and what the machine calls a path that lies there.
  std::string real_path(const std::string& path) const { return root_ + path; }
  std::string own_path(const std::string& path) const;

  bool exists(const std::string& path) const;
  /// The start of a text file, without blanks at its end; nothing where it is empty.
  std::optional<std::string> text(const std::string& path) const;
  /// Its number, divided by `unit`.
  std::optional<double> number(const std::string& path, double unit = 1) const;
  /// The last word of a link's target: "panthor" of ".../drivers/panthor". Empty: no link.
  std::string link_name(const std::string& path) const;
  /// Existing paths that fit a pattern of the shell, sorted.
  std::vector<std::string> matching(const std::string& pattern) const;
  /// Files of that name where the dynamic linker looks, in its order: LD_LIBRARY_PATH, the folders
  /// of /etc/ld.so.conf, the folders of the system. Each file once, whatever links lead to it.
  std::vector<std::string> libraries(const std::string& name) const;
  /// Libraries with OpenCL in folders of vendors and of Android, where no linker looks.
  std::vector<std::string> opencl_drivers() const;

 private:
  std::string root_;
};

}  // namespace clam
