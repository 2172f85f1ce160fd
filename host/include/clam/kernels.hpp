// SPDX-License-Identifier: MIT
// kernels.hpp - the text of kernel files: built in, from CLAM_KERNEL_DIR, or beside a plan that is
// not clam's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace clam {

/// 32 hex digits of XXH3: names of cache entries.
std::string hash_text(std::string_view bytes);

struct KernelSource {
  std::string file;          ///< "dense.cl"
  std::string text;          ///< exactly as the driver gets it
  std::string origin;        ///< "embedded" or the path it was read from
  std::string options;       ///< appended to the build options: DIR/dense.options, else empty
  std::string hash() const;  ///< 16 hex digits of XXH3 of the text
};

/// Names of the embedded kernel files, sorted.
std::vector<std::string> embedded_files();

/// Finds kernel files in this order: `plan_dir` (for a plan read from a file; "" for none),
/// `override_dir` (CLAM_KERNEL_DIR; "" for none), embedded.
class KernelFiles {
 public:
  /// Reads CLAM_KERNEL_DIR. Throws BadArgument when it names no folder.
  static KernelFiles from_environment();
  KernelFiles() = default;
  explicit KernelFiles(std::string override_dir, std::string plan_dir = "");

  /// Throws a BadArgument that says where it looked.
  KernelSource get(const std::string& file) const;
  KernelFiles with_plan_dir(std::string plan_dir) const;
  bool only_embedded() const { return override_dir_.empty() && plan_dir_.empty(); }
  /// A line for each kernel file that is replaced: "dense.cl: DIR/dense.cl 0123..". Also a line for
  /// each .cl file in CLAM_KERNEL_DIR that replaces none.
  std::vector<std::string> overrides() const;

 private:
  std::string override_dir_, plan_dir_;
};

}  // namespace clam
