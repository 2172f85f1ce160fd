// SPDX-License-Identifier: MIT
// The tags of the kernel files, what the compiler reports of the kernels, and what plans launch are
// one and the same contract.
#include "check/manifest.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/planner.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

using nlohmann::json;

// A small file with every tag.
const char* const kTagged = R"(// SPDX-License-Identifier: MIT
// scale.cl - dst[i] = src[i] * factor + bias[i]
//
//@define SCALE_WG  64 {16,32, 64}   work-items of a group
//@define SCALE_BIAS off             add a bias
//@define SCALE_SKIP 0               elements left out

// One work-item per element.
// Reads each once.
//@kernel scale
//@arg    0 src    in    T[ceil(n/4)*4]   aligned
//@arg    1 bias   in    T[n]
//@arg    2 dst    out   T[n]
//@arg    3 tile   local float[SCALE_WG]
//@arg    4 n      int                    elements
//@arg    5 factor float
//@null   bias if SCALE_BIAS==0
//@layout src[i] = x[i]
//@global ceil(n/SCALE_WG)*SCALE_WG, batch   one group more is fine
//@local  SCALE_WG
//@needs  n >= 1, max(n,2) % 2 == 0, src does not overlap dst
__kernel void scale() {}

//@loops scale
//@loop   n/2  over pairs
//@loop   0..SCALE_WG/8 if SCALE_BIAS==1  over the biases of others
)";

FileTags tags_of(const std::string& text) { return read_tags({"scale.cl", text, "here", ""}); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == text.npos) throw std::logic_error("nothing to replace: " + from);
  return text.replace(at, from.size(), to);
}

/// A plan that keeps to the tags above.
Plan scale_plan() {
  Plan plan;
  plan.problem = "scale";
  plan.tensors = {{"x", TensorSpec::Role::input, Dtype::f32, {100}, {}, 0},
                  {"y", TensorSpec::Role::output, Dtype::f32, {100}, {}, 0}};
  plan.launches = {{"scale.cl",
                    "scale",
                    "-DSCALE_WG=32 -DSCALE_SKIP=7",
                    {128, 1, 1},
                    {32, 1, 1},
                    {BufferArg{"x"}, NullArg{}, BufferArg{"y"}, LocalArg{128}, 100, 2.0f}}};
  return plan;
}

TEST(manifest, reads_every_tag) {
  const FileTags tags = tags_of(kTagged);
  EXPECT_EQ(tags.about, "dst[i] = src[i] * factor + bias[i]");
  ASSERT_EQ(tags.defines.size(), 3u);
  EXPECT_EQ(tags.defines[0].values, (std::vector<std::string>{"16", "32", "64"}));
  EXPECT_EQ(tags.defines[0].about, "work-items of a group");
  EXPECT_TRUE(tags.define("SCALE_BIAS")->is_switch());
  EXPECT_EQ(tags.define("SCALE_SKIP")->fallback, "0");
  ASSERT_EQ(tags.kernels.size(), 1u);
  const KernelTags& kernel = tags.kernels[0];
  EXPECT_EQ(kernel.about, "One work-item per element. Reads each once.");
  ASSERT_EQ(kernel.args.size(), 6u);
  EXPECT_EQ(kernel.args[0].size, "ceil(n/4)*4");
  EXPECT_EQ(kernel.args[0].null_if, "");
  EXPECT_EQ(kernel.args[1].null_if, "SCALE_BIAS==0");
  EXPECT_EQ(kernel.args[2].kind, ArgTag::Kind::out);
  EXPECT_EQ(kernel.args[3].type, "float");
  EXPECT_EQ(kernel.args[4].kind, ArgTag::Kind::scalar);
  EXPECT_EQ(kernel.global, (std::vector<std::string>{"ceil(n/SCALE_WG)*SCALE_WG", "batch"}));
  EXPECT_EQ(kernel.local, std::vector<std::string>{"SCALE_WG"});
  EXPECT_EQ(kernel.layouts, std::vector<std::string>{"src[i] = x[i]"});
  ASSERT_EQ(kernel.loops.size(), 2u);
  EXPECT_EQ(kernel.loops[0].least, "n/2");
  EXPECT_EQ(kernel.loops[0].most, "n/2");
  EXPECT_FALSE(kernel.loops[0].is_range);
  EXPECT_EQ(kernel.loops[0].about, "over pairs");
  EXPECT_EQ(kernel.loops[1].least, "0");
  EXPECT_EQ(kernel.loops[1].most, "SCALE_WG/8");
  EXPECT_TRUE(kernel.loops[1].is_range);
  EXPECT_EQ(kernel.loops[1].condition, "SCALE_BIAS==1");
  EXPECT_EQ(kernel.loops[1].about, "over the biases of others");
}

TEST(manifest, json_has_every_part) {
  const json written = to_json(tags_of(kTagged));
  for (const char* key : {"file", "origin", "xxh3", "about", "defines", "kernels"}) {
    EXPECT_TRUE(written.contains(key)) << key;
  }
  EXPECT_EQ(written["defines"][1]["values"], json({"off", "on"}));
  EXPECT_FALSE(written["defines"][2].contains("values")) << "any value is legal";
  const json& kernel = written["kernels"][0];
  for (const char* key :
       {"name", "about", "arguments", "layout", "global", "local", "needs", "loops"}) {
    EXPECT_TRUE(kernel.contains(key)) << key;
  }
  EXPECT_EQ(kernel["loops"][0], json({{"least", "n/2"}, {"most", "n/2"}, {"about", "over pairs"}}));
  EXPECT_EQ(kernel["loops"][1]["if"], "SCALE_BIAS==1");
  EXPECT_EQ(kernel["arguments"][0]["kind"], "in");
  EXPECT_FALSE(kernel["arguments"][0].contains("null_if"));
  EXPECT_EQ(kernel["arguments"][1]["null_if"], "SCALE_BIAS==0");
  EXPECT_FALSE(kernel["arguments"][4].contains("size")) << "a scalar has no size";
}

TEST(manifest, broken_tags_are_refused_with_their_line) {
  const struct {
    const char *from, *to, *sentence;
  } faults[] = {
      {"//@kernel scale", "//@kernel", "scale.cl:10: //@kernel needs one name"},
      {"//@kernel scale", "//@kernal scale", "scale.cl:10: //@kernal stands before any //@kernel"},
      {"//@layout", "//@layuot", "scale.cl:18: unknown tag //@layuot"},
      {"//@define SCALE_WG  64", "//@define SCALE_WG  48", "scale.cl:4: SCALE_WG: default 48"},
      {"//@define SCALE_SKIP 0               elements left out", "//@define SCALE_SKIP",
       "scale.cl:6: //@define needs a name and a default"},
      {"SCALE_SKIP", "SCALE_BIAS", "scale.cl:6: SCALE_BIAS is defined twice"},
      {", 64}", ", 64", "scale.cl:4: SCALE_WG: the legal values have no }"},
      {"2 dst    out ", "2 dst    result", "scale.cl:13: argument dst: 'result' is none of"},
      {"2 dst    out   T[n]", "2 dst    out   T", "scale.cl:13: argument dst needs TYPE[SIZE]"},
      {"2 dst ", "3 dst ", "scale.cl:13: kernel scale: argument 2 comes next, not '3'"},
      {"//@local  SCALE_WG", "//", "kernel scale has no //@local"},
      {"//@local  SCALE_WG", "//@local  1 2 3 4", "scale.cl:20: //@local has over 3 sizes"},
      {"//@needs  n >= 1, max(n,2) % 2 == 0, src does not overlap dst", "//@needs",
       "scale.cl:21: //@needs is empty"},
      {"bias if", "skip if", "scale.cl:17: //@null: kernel scale has no buffer 'skip'"},
      {"bias if", "n if", "scale.cl:17: //@null: kernel scale has no buffer 'n'"},
      {"bias if", "bias, bias if", "scale.cl:17: //@null names bias twice"},
      {"//@loops scale", "", "scale.cl:25: //@loop stands before any //@loops"},
      {"//@loops scale", "//@loops", "scale.cl:24: //@loops needs the name of a kernel above"},
      {"//@loops scale", "//@loops x", "scale.cl:24: //@loops needs the name of a kernel above"},
      {"over pairs", "over pairs\n//@loops scale", "scale.cl:26: //@loops scale is there twice"},
      {"//@loop   n/2  over pairs", "//@loop", "scale.cl:25: //@loop is empty"},
      {"n/2", "..n", "scale.cl:25: //@loop needs TRIPS or LEAST..MOST, not '..n'"},
      {"n/2", "n..", "scale.cl:25: //@loop needs TRIPS or LEAST..MOST, not 'n..'"},
      {"n/2", "0..n..2", "scale.cl:25: //@loop needs TRIPS or LEAST..MOST, not '0..n..2'"},
  };
  for (const auto& fault : faults) {
    EXPECT_THROWS_SAYING(tags_of(replaced(kTagged, fault.from, fault.to)), BadArgument,
                         fault.sentence);
  }
  EXPECT_THROWS_SAYING(tags_of("__kernel void f() {}"), BadArgument,
                       "scale.cl: no kernel has tags");
  EXPECT_THROWS_SAYING(tags_of(""), BadArgument, "scale.cl: no kernel has tags");
}

TEST(manifest, formulas) {
  const std::map<std::string, double, std::less<>> names{{"n", 10}, {"WG", 4}};
  const struct {
    const char* text;
    double value;
  } formulas[] = {
      {"7", 7},           {"n*WG", 40},       {"n - 2 - 3", 5},   {"ceil(n/(2*WG))*WG", 8},
      {"n % WG", 2},      {"n/WG", 2.5},      {"n >= 10", 1},     {"n < WG", 0},
      {"log2(WG)", 2},    {"exp2(WG)", 16},   {"n%2 == 0", 1},    {"-n + 1", -9},
      {"max(n, WG)", 10}, {"min(n,WG+1)", 5}, {"floor(n/WG)", 2}, {"n != 10", 0},
      {"(n <= 9)", 0}};
  for (const auto& formula : formulas) {
    EXPECT_EQ(evaluate(formula.text, names), formula.value) << formula.text;
  }
  for (const char* prose :
       {"", "batch", "n batch", "n in [0, 4)", "2^3", "ceil(n", "n >=", "f(n)", "min(n)", "log2(0)",
        "log2(-n)", "log2(n,2)", "sizeof(T)", "n * ", "the n"}) {
    EXPECT_EQ(evaluate(prose, names), std::nullopt) << prose;
  }
}

TEST(manifest, trips_of_a_launch) {
  Launch launch = scale_plan().launches[0];
  std::vector<Trips> loops = trips(tags_of(kTagged), launch);
  ASSERT_EQ(loops.size(), 1u) << "SCALE_BIAS is off";
  EXPECT_EQ(loops[0].least, 50);
  EXPECT_EQ(loops[0].most, 50);
  EXPECT_FALSE(loops[0].fixed) << "n is known to no compiler";
  launch.options += " -DSCALE_BIAS";
  loops = trips(tags_of(kTagged), launch);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[1].least, 0);
  EXPECT_EQ(loops[1].most, 4);
  EXPECT_FALSE(loops[1].fixed) << "work-items differ";
  loops = trips(tags_of(replaced(kTagged, "n/2", "SCALE_WG/4")), launch);
  EXPECT_EQ(loops[0].most, 8);
  EXPECT_TRUE(loops[0].fixed);
}

TEST(manifest, trips_that_cannot_be_counted_are_refused_by_kernel) {
  const Launch launch = scale_plan().launches[0];
  const struct {
    const char *from, *to, *sentence;
  } faults[] = {
      {"n/2", "m/2", "scale.cl: kernel scale: //@loop: m/2 is no count of trips"},
      {"n/2", "n-200", "//@loop: n-200 is no count of trips"},
      {"n/2", "n/0", "//@loop: n/0 is no count of trips"},
      {"n/2", "0/0", "//@loop: 0/0 is no count of trips"},
      {"n/2", "n..n/2", "//@loop: n is 100, and n/2 is 50, which is less"},
      {"SCALE_BIAS==1", "n==1", "//@loop: n==1 is no condition of defines alone"},
  };
  for (const auto& fault : faults) {
    EXPECT_THROWS_SAYING(trips(tags_of(replaced(kTagged, fault.from, fault.to)), launch),
                         BadArgument, fault.sentence);
  }
  Launch short_of = launch;
  short_of.args.resize(1);
  EXPECT_THROWS_SAYING(trips(tags_of(kTagged), short_of), BadArgument, "n/2 is no count of trips");
  Launch other = launch;
  other.kernel = "other";
  EXPECT_THROWS_SAYING(trips(tags_of(kTagged), other), BadArgument,
                       "scale.cl: kernel other: it is not tagged");
}

TEST(manifest, a_plan_that_contradicts_the_tags_is_caught) {
  const FileTags tags = tags_of(kTagged);
  EXPECT_EQ(contradiction(tags, scale_plan(), scale_plan().launches[0]), std::nullopt);
  const struct {
    std::function<void(Launch&)> change;
    const char* sentence;
  } faults[] = {
      {[](Launch& l) { l.kernel = "shrink"; }, "it is not tagged"},
      {[](Launch& l) { l.args.pop_back(); }, "5 arguments, the tags have 6"},
      {[](Launch& l) { l.args[4] = 100.0f; }, "argument n needs an int"},
      {[](Launch& l) { l.args[5] = 2; }, "argument factor needs a float"},
      {[](Launch& l) { l.args[0] = NullArg{}; }, "argument src needs a buffer, not null"},
      {[](Launch& l) { l.options += " -DSCALE_BIAS"; },
       "argument bias may be null only if SCALE_BIAS==0"},
      {[](Launch& l) { l.args[2] = BufferArg{"x"}; }, "dst is written, but 'x' is an input"},
      {[](Launch& l) { l.args[3] = BufferArg{"x"}; }, "argument tile needs local memory"},
      {[](Launch& l) { l.args[0] = 5; }, "argument src needs a buffer"},
      {[](Launch& l) { l.options += " -DSCALE_HEIGHT=2"; }, "SCALE_HEIGHT is no //@define"},
      {[](Launch& l) { l.options = "-DSCALE_WG=48"; }, "SCALE_WG=48 is not in {16,32,64}"},
      {[](Launch& l) { l.options += " -DSCALE_BIAS=2"; }, "SCALE_BIAS is on or off, not 2"},
      {[](Launch& l) { l.options += " -w"; }, "option '-w' is no -D"},
      {[](Launch& l) { l.options.clear(); }, "local size 32 of axis 0 is 64"},
      {[](Launch& l) { l.global[0] = 96; }, "global size 96 of axis 0 is 128"},
      {[](Launch& l) { l.args[4] = 99; }, "it needs max(n,2) % 2 == 0"},
  };
  for (const auto& fault : faults) {
    Plan plan = scale_plan();
    fault.change(plan.launches[0]);
    const Reason reason = contradiction(tags, plan, plan.launches[0]);
    EXPECT_NE(reason.value_or("").find(fault.sentence), std::string::npos)
        << fault.sentence << " / " << reason.value_or("nothing");
  }
}

// ---- the suite's own kernels ----

/// Calls visit(plan, launch) for every case of every op, every dtype, every variant that a device
/// supports, and several sizes of work-group.
template <typename Visit>
void for_each_launch(const Visit& visit) {
  const DeviceInfo device = generic_device();
  for (const Op* op : all_ops()) {
    for (const char* dtype : {"f32", "f16"}) {
      for (const Problem& problem : problems_of(proof_of(*op).cases, dtype)) {
        for (const Variant& variant : op->variants) {
          if (variant.refuses(problem, device)) continue;
          for (const int group : {0, 16, 64}) {
            const Plan plan = make_plan(problem, device, {variant.name, group});
            for (const Launch& launch : plan.pack) visit(plan, launch);
            for (const Launch& launch : plan.launches) visit(plan, launch);
          }
        }
      }
    }
  }
}

TEST(manifest, tags_agree_with_every_plan) {
  std::map<std::string, FileTags> tags;
  for (const std::string& file : embedded_files()) tags[file] = read_tags(KernelFiles().get(file));
  std::set<std::string> launched;
  int contradictions = 0;
  for_each_launch([&](const Plan& plan, const Launch& launch) {
    ASSERT_EQ(tags.count(launch.file), 1u) << launch.file;
    launched.insert(launch.kernel);
    const Reason reason = contradiction(tags[launch.file], plan, launch);
    if (reason && ++contradictions <= 10) ADD_FAILURE() << plan.problem << "\n" << *reason;
  });
  EXPECT_EQ(contradictions, 0);
  for (const auto& [file, each] : tags) {
    for (const KernelTags& kernel : each.kernels) {
      EXPECT_EQ(launched.count(kernel.name), 1u) << "no case launches " << kernel.name;
    }
  }
}

TEST(manifest, trips_of_every_launch_are_known) {
  std::map<std::string, FileTags> tags;
  for (const std::string& file : embedded_files()) tags[file] = read_tags(KernelFiles().get(file));
  int launches = 0, failures = 0;
  for_each_launch([&](const Plan& plan, const Launch& launch) {
    ++launches;
    try {
      trips(tags.at(launch.file), launch);
    } catch (const BadArgument& error) {
      if (++failures <= 10) ADD_FAILURE() << plan.problem << "\n" << error.what();
    }
  });
  EXPECT_GT(launches, 1000);
}

/// Or after the one whose kernels they launch: box_nms has nms_mask.
TEST(manifest, variants_are_named_after_their_op) {
  for (const Op* op : all_ops()) {
    const std::string core = op->name.substr(op->name.rfind("_nms") + 1);
    for (const Variant& variant : op->variants) {
      EXPECT_TRUE(variant.name.rfind(op->name + "_", 0) == 0 ||
                  variant.name.rfind(core + "_", 0) == 0)
          << variant.name << " of " << op->name;
    }
  }
}

/// How many launches contradict the tags of `file`, whose text is `text`.
int contradictions(const std::string& file, const std::string& text) {
  const FileTags tags = read_tags({file, text, "doctored", ""});
  int count = 0;
  for_each_launch([&](const Plan& plan, const Launch& launch) {
    count += launch.file == file && contradiction(tags, plan, launch);
  });
  return count;
}

/// `text` with the first line that begins with `start` replaced by `line`.
std::string with_line(const std::string& text, const std::string& start, const std::string& line) {
  const std::size_t at = text.find("\n" + start) + 1;
  if (at == 0) throw std::logic_error("no line starts with " + start);
  return text.substr(0, at) + line + text.substr(text.find('\n', at));
}

TEST(manifest, a_doctored_tag_is_caught_in_every_file) {
  for (const std::string& file : embedded_files()) {
    const std::string text = KernelFiles().get(file).text;
    const KernelTags kernel = read_tags({file, text, "embedded", ""}).kernels[0];
    const std::string next = std::to_string(kernel.args.size());
    const auto doctored = [&](const std::string& start, const std::string& line) {
      try {
        return contradictions(file, with_line(text, start, line));
      } catch (const BadArgument&) {  // its tags contradict each other
        return 1;
      }
    };
    EXPECT_GT(doctored("//@local", "//@local 7"), 0) << file;
    EXPECT_GT(doctored("//@kernel", "//@kernel another"), 0) << file;
    EXPECT_GT(doctored("//@local", "//@local 7\n//@arg " + next + " more int"), 0) << file;
    EXPECT_GT(doctored("//@needs", "//@needs 1 > 2"), 0) << file;
    if (text.find("//@define CLAM_F16") != std::string::npos) {
      EXPECT_GT(doctored("//@define CLAM_F16", "//@define CLAM_F8 off"), 0) << file;
    }
  }
}

// ---- against the compiler ----

/// The kernels of a file by name, with the arguments' names and types kept.
std::map<std::string, cl::Kernel> compiled(const KernelSource& source, const std::string& options) {
  Runtime& runtime = test::runtime();
  cl::Program program(runtime.context(), source.text);
  program.build(("-cl-kernel-arg-info " + options).c_str());
  std::vector<cl::Kernel> kernels;
  program.createKernels(&kernels);
  std::map<std::string, cl::Kernel> by_name;
  for (const cl::Kernel& kernel : kernels) {
    std::string name = kernel.getInfo<CL_KERNEL_FUNCTION_NAME>();
    by_name[name.c_str()] = kernel;  // some drivers count the terminating zero
  }
  return by_name;
}

template <cl_kernel_arg_info Info>
std::string arg_text(const cl::Kernel& kernel, cl_uint index) {
  return kernel.getArgInfo<Info>(index).c_str();
}

void expect_same_arg(const ArgTag& tag, const cl::Kernel& kernel, cl_uint index, bool f16) {
  using Kind = ArgTag::Kind;
  const bool scalar = tag.kind == Kind::scalar, local = tag.kind == Kind::local;
  const cl_kernel_arg_address_qualifier space = scalar  ? CL_KERNEL_ARG_ADDRESS_PRIVATE
                                                : local ? CL_KERNEL_ARG_ADDRESS_LOCAL
                                                        : CL_KERNEL_ARG_ADDRESS_GLOBAL;
  EXPECT_EQ(arg_text<CL_KERNEL_ARG_NAME>(kernel, index), tag.name);
  EXPECT_EQ(kernel.getArgInfo<CL_KERNEL_ARG_ADDRESS_QUALIFIER>(index), space) << tag.name;
  const std::string pointer = scalar ? "" : "*";
  const std::string stored = tag.type == "T" ? (f16 ? "half" : "float") : tag.type;
  const std::string type = arg_text<CL_KERNEL_ARG_TYPE_NAME>(kernel, index);
  EXPECT_TRUE(type == tag.type + pointer || type == stored + pointer)
      << tag.name << " is " << type << ", the tag says " << tag.type << pointer;
  if (scalar) return;
  const bool constant =
      kernel.getArgInfo<CL_KERNEL_ARG_TYPE_QUALIFIER>(index) & CL_KERNEL_ARG_TYPE_CONST;
  EXPECT_EQ(constant, tag.kind == Kind::in) << tag.name << " is tagged " << name(tag.kind);
}

/// The defaults of the file's defines, as numbers.
std::map<std::string, double, std::less<>> defaults(const FileTags& tags) {
  std::map<std::string, double, std::less<>> names;
  for (const DefineTag& define : tags.defines) {
    if (const auto value = evaluate(define.fallback, {})) names[define.name] = *value;
  }
  return names;
}

void expect_same_kernel(const FileTags& tags, const KernelTags& kernel, const cl::Kernel& built,
                        bool f16) {
  SCOPED_TRACE(tags.file + ": " + kernel.name);
  ASSERT_EQ(built.getInfo<CL_KERNEL_NUM_ARGS>(), kernel.args.size());
  for (cl_uint i = 0; i < kernel.args.size(); ++i) expect_same_arg(kernel.args[i], built, i, f16);
  const cl::Device device(test::runtime().queue().getInfo<CL_QUEUE_DEVICE>());
  const auto group = built.getWorkGroupInfo<CL_KERNEL_COMPILE_WORK_GROUP_SIZE>(device);
  if (group[0] == 0) return;  // it runs in groups of any size
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string formula = axis < kernel.local.size() ? kernel.local[axis] : "1";
    EXPECT_EQ(evaluate(formula, defaults(tags)), static_cast<double>(group[axis])) << formula;
  }
}

void expect_same_file(const std::string& file, bool f16) {
  const KernelSource source = KernelFiles().get(file);
  const FileTags tags = read_tags(source);
  const auto built = compiled(source, f16 ? "-DCLAM_F16" : "");
  for (const auto& [name, kernel] : built) {
    EXPECT_NE(tags.kernel(name), nullptr) << file << ": kernel " << name << " has no tags";
  }
  for (const KernelTags& kernel : tags.kernels) {
    const auto found = built.find(kernel.name);
    ASSERT_NE(found, built.end()) << file << ": no kernel is named " << kernel.name;
    expect_same_kernel(tags, kernel, found->second, f16);
  }
}

void expect_same_files(bool f16) {
  try {
    for (const std::string& file : embedded_files()) expect_same_file(file, f16);
  } catch (const cl::Error& error) {
    if (error.err() != CL_KERNEL_ARG_INFO_NOT_AVAILABLE) throw;
    GTEST_SKIP() << "this driver tells nothing about kernel arguments";
  }
}

TEST(manifest_device, the_compiler_sees_what_the_tags_say) {
  CLAM_NEEDS_DEVICE();
  expect_same_files(false);
}

TEST(manifest_device, the_compiler_sees_what_the_tags_say_f16) {
  CLAM_NEEDS_F16();
  expect_same_files(true);
}

}  // namespace
}  // namespace clam
