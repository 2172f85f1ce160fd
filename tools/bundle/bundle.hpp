// SPDX-License-Identifier: MIT
// bundle.hpp - a case that goes wrong, or went right, as a folder that others can run: kernels,
// plan, inputs, what is right, what was seen, and a C program that needs nothing of clam.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "clam/op.hpp"
#include "clam/plan.hpp"
#include "process/clean_end.hpp"

namespace clam {

/// What came of a case on a device.
struct Seen {
  enum class Outcome { right, wrong, build_failed, crashed, hung, device_error };
  struct Element {
    std::string tensor;
    std::int64_t index = 0;  ///< in the tensor's buffer
    double value = 0, expected = 0;
  };
  Outcome outcome = Outcome::right;
  std::string reason;  ///< empty when it is right
  std::optional<Element> first_wrong;
  double worst_ratio = 0;  ///< largest |out - expected| / bound; bit for bit: 0 or inf

  bool right() const { return outcome == Outcome::right; }
  /// "wrong: y[0] is ..."
  std::string text() const;
};
const char* name(Seen::Outcome outcome);
/// What came of a case without a result that could be compared.
inline Seen failed(Seen::Outcome outcome, const std::string& reason) {
  return {outcome, reason, {}, 0};
}
nlohmann::json to_json(const Seen& seen);
/// Throws BadArgument for JSON that is none.
Seen seen_from_json(const nlohmann::json& json);
/// Whether both went wrong in the same way: the same element with the same value, the same signal,
/// the same OpenCL error.
bool same_failure(const Seen& a, const Seen& b);

/// What a smaller case was made from, and how.
struct Shrunk {
  std::string from;  ///< the problem
  std::vector<std::string> steps, notes;
  bool complete = true;  ///< nothing single can be made smaller; else the time was over
};

struct Bundle {
  std::string problem, variant, data_set;
  std::uint64_t seed = 1;
  std::string recorded;  ///< when: "2026-01-31T12:00:00Z"
  DeviceInfo device;     ///< where
  Seen seen;             ///< what came of it there
  int limit_s = 0;       ///< seconds until it counted as a hang; 0: not known
  int one_in = 1;        ///< about one of so many runs goes wrong
  bool judged = true;    ///< false: what is expected is what the driver gave, right or not
  std::string noted;     ///< why it is recorded, where its result does not say; Markdown
  std::vector<std::string> callers;  ///< where a program launched it, innermost first
  /// Outputs that are held as words of something else, as doubles or structures.
  std::vector<std::string> opaque;
  std::optional<Shrunk> shrunk;

  std::optional<Plan> plan;   ///< none: a file is built, and nothing run
  std::string file, options;  ///< of that build
  /// By name in the bundle; byte for byte.
  std::map<std::string, std::string> kernels;
  /// By tensor, as they lie in its buffer: a tensor at strides as all elements of its span. An
  /// output among the inputs holds that before the launches. Without a bound the expected elements
  /// are so bit for bit.
  Tensors inputs, expected, bounds;
  /// What the driver gave where it was recorded, if that is kept beside what is expected.
  Tensors given;

  bool build_only() const { return !plan; }
  /// "wrong", or "not judged" where nobody has said that the result is right.
  std::string seen_text() const;
  bool needs_fp16() const;
};

/// A file of kernels with the options that it is built with.
struct Build {
  std::string file, options;
  bool operator==(const Build& other) const {
    return file == other.file && options == other.options;
  }
};
/// Those of a bundle in order, each once.
std::vector<Build> builds_of(const Bundle& bundle);

/// At most so many bytes of tensors in a bundle, and of all that --single-file puts into replay.c.
constexpr std::int64_t kMostBytes = 64 << 20, kMostSingleFile = 64 << 10;

/// Of a case, until it goes wrong.
constexpr int kMostRuns = 1000;

/// Throws BadArgument, with a hint, where inputs and outputs of these tensors exceed kMostBytes.
void refuse_large(const std::vector<TensorSpec>& tensors);

/// A dense tensor as it lies in its buffer, `gap` between its elements; and back.
HostTensor in_buffer(const TensorSpec& spec, const HostTensor& dense, std::uint32_t gap);
HostTensor from_buffer(const TensorSpec& spec, const HostTensor& span);

/// What is expected of outputs of this dtype is held in: floats in f32, so that a bound fits.
constexpr Dtype held_as(Dtype dtype) { return dtype == Dtype::i32 ? Dtype::i32 : Dtype::f32; }

/// Tensors of a bundle, and how the names of their files end. What was given is not run.
struct TensorFiles {
  Tensors Bundle::*tensors;
  const char* ending;
};
constexpr TensorFiles kTensorsRun[] = {{&Bundle::inputs, ".npy"},
                                       {&Bundle::expected, ".expected.npy"},
                                       {&Bundle::bounds, ".bound.npy"}};
constexpr TensorFiles kGiven{&Bundle::given, ".given.npy"};

/// Writes what is known before the case is run: kernels, plan.json, options.txt, tensors,
/// case.json.
void write_case(const std::string& folder, const Bundle& bundle);
/// The tensors of a case alone, and back; these throw BadArgument where one does not fit the plan.
void write_tensors(const std::string& folder, const Bundle& bundle);
void read_tensors(const std::string& folder, Bundle& bundle);
/// case.json again, once it is known what was seen; README.md, device.txt and replay.c. Throws
/// BadArgument where the case is too large for a single file.
void finish_case(const std::string& folder, const Bundle& bundle, bool single_file);
/// Whether the folder's replay.c holds kernels and tensors too.
bool is_single_file(const std::string& folder);
/// README.md alone, where something was learnt since.
void write_readme(const std::string& folder, const Bundle& bundle);
/// Throws BadArgument naming what is missing or damaged.
Bundle read_bundle(const std::string& folder);

/// A file of a folder.
std::string path_in(const std::string& folder, const std::string& file);
/// "a/b/" and "a/b" are one folder.
std::string without_slash(std::string path);

/// A folder under a temporary name beside its own, which it gets in publish(); else it goes.
class StagedFolder {
 public:
  /// Refuses an existing `target`, unless `force` and it has the file by which such folders are
  /// known. Throws BadArgument, IoError.
  StagedFolder(const std::string& target, bool force, const char* known_by = "case.json");
  ~StagedFolder();
  const std::string& path() const { return path_; }
  void clear();
  void publish();

 private:
  std::string target_, path_, known_by_;
  std::optional<PassingFolder> passing_;
};

/// The folders of bundles that a command is asked for: by name, or with `all` those in a folder,
/// sorted. Throws BadArgument where it is both or neither, or there are none in that folder.
std::vector<std::string> bundles_for(const char* command, const std::vector<std::string>& folders,
                                     const std::string& all);

// Parts of a bundle.

/// The C program, with the tables of this bundle, whose other files lie in `folder`.
std::string replay_source(const Bundle& bundle, const std::string& folder, bool single_file);
/// Its declarations, and its tables of buffers, arguments and launches, a row a line; behind the
/// arguments their names, as many as there are.
std::string replay_tables(const Bundle& bundle, const std::vector<std::string>& names);
std::string readme_text(const Bundle& bundle, const std::string& folder, bool single_file);
/// The device, its loader and kernel driver, clocks, and the kernel log's lines on GPU faults.
std::string device_text(const DeviceInfo& device);
/// A number as replay.c prints it, without the sign that some NaN have.
std::string value_text(double value);
/// Without the person's home folder and name, anybody else's home, and the machine's name.
std::string anonymous(std::string text);
/// Accounts and machines of this name are everywhere: on every system, on a board as its vendor
/// ships it, where programs are built by themselves. Some are words of other texts, too.
bool names_nobody(const std::string& name);

}  // namespace clam
