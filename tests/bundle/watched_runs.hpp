// SPDX-License-Identifier: MIT
// watched_runs.hpp - programs that are watched, and drivers that lie to them.
#pragma once

#include "run_clam.hpp"
#include "scripted.hpp"

namespace clam::test {

/// Debian's Python, for which pyopencl is built there.
inline const std::string kPython = "/usr/bin/python3";
inline constexpr const char* kNoPyopencl = "pyopencl is not here (tools/setup python)";
inline bool has_pyopencl() { return run_command({kPython, "-c", "import pyopencl"}).code == 0; }

/// A program of tests/bundle under it.
inline std::vector<std::string> python_program(const std::string& file,
                                               const std::vector<std::string>& arguments = {}) {
  std::vector<std::string> words{kPython, "-W", "ignore", CLAM_SOURCE_DIR "/tests/bundle/" + file};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

inline Finished watch(const std::string& target, std::vector<std::string> flags,
                      const std::vector<std::string>& program,
                      const std::vector<std::string>& environment = {}) {
  flags.insert(flags.begin(), {"watch", "-o", target});
  flags.push_back("--");
  flags.insert(flags.end(), program.begin(), program.end());
  return run_clam(flags, environment);
}

/// A compiler that takes one piece of a text for another.
inline nlohmann::json misreads(const std::string& text, const std::string& becomes) {
  return scripted::lie("clCreateProgramWithSource", "replace",
                       {{"text", text}, {"becomes", becomes}});
}

/// The driver of the tests as one of another platform, with these lies.
inline nlohmann::json platform_script(const std::string& name,
                                      const nlohmann::json& lies = nlohmann::json::array()) {
  nlohmann::json script{{"device", {{"platform", name}}}};
  if (!lies.empty()) script["lies"] = lies;
  return script;
}

/// The same as a command for --with; its words have no blanks.
inline std::string other_platform(const TemporaryFolder& folder, const std::string& name,
                                  const nlohmann::json& lies = nlohmann::json::array()) {
  write_file(folder.file(name + ".json"), platform_script(name, lies).dump());
  return "env LD_LIBRARY_PATH=" CLAM_SCRIPTED_OPENCL_DIR " CLAM_SCRIPTED_OPENCL=" +
         folder.file(name + ".json");
}

}  // namespace clam::test
