// SPDX-License-Identifier: MIT
// scratch_folder.hpp - a temporary folder that goes with its contents at the end of the scope,
// or of the process (clean_end.hpp).
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

#include "clean_end.hpp"
#include "runtime/refuse.hpp"

namespace clam {

class ScratchFolder {
 public:
  /// Throws IoError where the system's folder for such files cannot be written.
  ScratchFolder() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    throw_if<IoError>(bool(error),
                      "there is no temporary folder: let TMPDIR name one that can be written");
    std::string pattern = (folder / "clam-XXXXXX").string();
    const auto held = hold_end();  // a signal between the two would leave it
    if (!::mkdtemp(pattern.data())) throw IoError("cannot make a temporary folder " + pattern);
    path_ = pattern;
    passing_.emplace(pattern, held);
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  std::optional<PassingFolder> passing_;
};

}  // namespace clam
