// SPDX-License-Identifier: MIT
// manifest.cpp - `clam manifest`: the contracts of the kernel files, from their tags, as JSON.
#include <nlohmann/json.hpp>

#include "check/shared_text.hpp"
#include "cli.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/contracts.hpp"

namespace clam::cli {
namespace {

/// A name is looked up like a plan's file; with a folder in it, it is a path.
KernelSource source_of(const KernelFiles& files, const std::string& file) {
  if (file.find('/') == file.npos) return files.get(file);
  return {file, read_file(file), file, ""};
}

struct ManifestRequest {
  std::vector<std::string> names;
  std::string folder;  ///< to be synced, in place of a manifest
};

int sync(Cli& cli, const std::string& folder) {
  const std::vector<std::string> changed = sync_shared_text(folder);
  for (const std::string& file : changed) cli.out.line("wrote " + folder + "/" + file);
  if (changed.empty()) cli.out.line("every copy is that of its source");
  cli.out.json({{"changed", changed}});
  return kFine;
}

int manifest(Cli& cli, const ManifestRequest& request) {
  if (!request.folder.empty()) return sync(cli, request.folder);
  const KernelFiles files = KernelFiles::from_environment();
  std::vector<KernelSource> sources;
  for (const std::string& name : request.names.empty() ? embedded_files() : request.names) {
    sources.push_back(source_of(files, name));
  }
  if (!cli.out.wants_json()) cli.out.set_json("-");
  cli.out.json(manifest_json(sources));
  return kFine;
}

}  // namespace

void add_manifest(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<ManifestRequest>(
      app, cli, "manifest", "contracts of the kernels, as JSON", manifest);
  sub->add_option("file", request->names,
                  "kernel files: built-in names, or paths; all when none is named");
  sub->add_option(
         "--sync", request->folder,
         "replace the text between //@shared NAME and //@end in all files of this folder by "
         "FOLDER/shared/NAME.cl; `options` is made of //@define tags")
      ->type_name("FOLDER")
      ->excludes("file");
}

}  // namespace clam::cli
