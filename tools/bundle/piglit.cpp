// SPDX-License-Identifier: MIT
// piglit.cpp - a case as a test of piglit, which Mesa's developers run: the kernel file itself,
// with a comment before it that has the build, the launch and its arguments as text.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bundle.hpp"
#include "clam/error.hpp"

namespace clam {
namespace {

constexpr std::int64_t kMostValues = 4096;   // of a case: its parser is made of regular expressions
constexpr std::int64_t kAnyValue = 1 << 24;  // a tolerance of so many ulp takes everything

[[noreturn]] void refuse(const std::string& why) {
  throw BadArgument(fmt::format("--format piglit: {}", why));
}

/// Values of a key, in lines that end with a backslash but for the last.
std::string joined(const std::vector<std::string>& values) {
  constexpr std::size_t kInLine = 8;
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i % kInLine == 0 ? " \\\n  " : " ") + values[i];
  }
  return text;
}

/// A number in piglit's form: no hexadecimal floats, which older versions do not read.
std::string value_text(const HostTensor& tensor, std::int64_t i) {
  const double value = tensor.get(i);
  if (tensor.dtype() == Dtype::i32) return fmt::format("{}", static_cast<std::int32_t>(value));
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{:.9g}", value);
}

const char* type_name(Dtype dtype) { return dtype == Dtype::i32 ? "int" : "float"; }

std::string tensor_text(const HostTensor& tensor) {
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(value_text(tensor, i));
  return fmt::format("buffer {}[{}]{}", type_name(tensor.dtype()), tensor.size(), joined(values));
}

/// How many ulp of the expected value a bound is, rounded up.
std::int64_t ulps(double bound, double expected) {
  if (bound == 0) return 0;
  const float value = static_cast<float>(expected);
  const double ulp = std::nextafter(std::fabs(value), INFINITY) - std::fabs(value);
  const double number = std::ceil(bound / ulp);
  return number < kAnyValue ? static_cast<std::int64_t>(number) : kAnyValue;
}

/// Its one tolerance for a whole buffer: no element that is right may fail.
std::int64_t tolerance(const HostTensor& expected, const HostTensor& bounds,
                       const std::string& name) {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, ulps(bounds.get(i), expected.get(i)));
    if (largest < kAnyValue) continue;
    refuse(
        fmt::format("it has one tolerance for a buffer, in ulp, and {}[{}] is {:.3g} +- {:.3g}, "
                    "which is any value; take data without values near 0, or another --seed",
                    name, i, expected.get(i), bounds.get(i)));
  }
  return largest;
}

/// A failure must be one in piglit too.
void refuse_hidden(const Bundle& bundle, const std::string& name, std::int64_t tolerated) {
  const auto& wrong = bundle.seen.first_wrong;
  if (!wrong || wrong->tensor != name) return;
  const double error = std::fabs(wrong->value - wrong->expected);
  if (!(ulps(error, wrong->expected) <= tolerated)) return;  // nan is wrong there too
  refuse(fmt::format("its one tolerance for {} would be {} ulp, and hide that {}[{}] is wrong",
                     name, tolerated, name, wrong->index));
}

/// What lies in an output before, so that an element that is not written shows.
constexpr std::uint32_t kBeforeInt = 0x7BBD3AD0u, kBeforeFloat = 0xC640E600u;

/// An output as it must lie in its buffer, where what is between its elements stays as it was.
HostTensor with_gaps(const TensorSpec& spec, const HostTensor& span, std::uint32_t gap) {
  return in_buffer(spec, from_buffer(spec, span), gap);
}

struct ArgumentWriter {
  const Bundle& bundle;
  std::size_t index;

  std::string in(const std::string& value) const {
    return fmt::format("arg_in: {} {}\n", index, value);
  }
  std::string operator()(const BufferArg& a) const {
    if (a.offset != 0) refuse("it knows no offsets into buffers");
    const auto input = bundle.inputs.find(a.name);
    if (input != bundle.inputs.end()) return in(tensor_text(input->second));
    const TensorSpec* output = bundle.plan->tensor(a.name);
    if (!output) {
      return in(fmt::format("buffer uchar[{}] repeat 255", bundle.plan->buffer(a.name)->bytes));
    }
    HostTensor before(output->dtype, {1});
    before.set_bits(0, output->dtype == Dtype::i32 ? kBeforeInt : kBeforeFloat);
    return in(fmt::format("buffer {}[{}] repeat {}", type_name(output->dtype), output->span(),
                          value_text(before, 0))) +
           out(*output, before.bits(0));
  }
  std::string out(const TensorSpec& spec, std::uint32_t before) const {
    const auto wanted = bundle.expected.find(spec.name), bound = bundle.bounds.find(spec.name);
    if (wanted == bundle.expected.end()) return "";
    const HostTensor expected = with_gaps(spec, wanted->second, before);
    std::string text = fmt::format("arg_out: {} {}", index, tensor_text(expected));
    if (bound == bundle.bounds.end()) return text + "\n";
    if (spec.dtype == Dtype::i32) refuse("it has no bounds of integers that differ by element");
    const std::int64_t tolerated =
        tolerance(expected, with_gaps(spec, bound->second, 0), spec.name);
    refuse_hidden(bundle, spec.name, tolerated);
    return text + fmt::format(" tolerance {} ulp\n", tolerated);
  }
  std::string operator()(std::int32_t value) const { return in(fmt::format("int {}", value)); }
  std::string operator()(float value) const {
    HostTensor one(Dtype::f32, {1});
    one.set(0, value);
    return in("float " + value_text(one, 0));
  }
  std::string operator()(const LocalArg&) const {
    refuse("it has no argument that is local memory of some size");
  }
  std::string operator()(const NullArg&) const { return in("buffer int[1] NULL"); }
};

void refuse_plan(const Plan& plan) {
  const std::size_t launches = plan.pack.size() + plan.launches.size();
  if (launches != 1) {
    refuse(
        fmt::format("a test of it is one launch, and this plan has {}; record the one that is "
                    "wrong as a plan of its own (--plan)",
                    launches));
  }
  std::int64_t values = 0;
  std::vector<std::string> seen;
  for (const TensorSpec& spec : plan.tensors) {
    if (spec.dtype == Dtype::f16) refuse("it rounds half otherwise; take a problem in f32");
    values += spec.span();
  }
  if (values > kMostValues) {
    refuse(
        fmt::format("its tensors have {} values, and its parser takes some {}: take a smaller "
                    "problem that still fails",
                    values, kMostValues));
  }
  for (const Arg& arg : plan.launches.front().args) {
    const auto* buffer = std::get_if<BufferArg>(&arg);
    if (!buffer) continue;
    if (std::count(seen.begin(), seen.end(), buffer->name) > 0) {
      refuse(fmt::format("two of its arguments cannot be one buffer, as {} is", buffer->name));
    }
    seen.push_back(buffer->name);
  }
}

/// 12 for "-cl-std=CL1.2"; without that option what clam's kernels are written in.
int version_of(const std::string& options) {
  const std::size_t at = options.find("-cl-std=CL");
  if (at == options.npos || at + 13 > options.size()) return 12;
  const auto digit = [&](std::size_t i) { return options[at + i] - '0'; };
  const bool known = digit(10) >= 1 && digit(10) <= 9 && digit(12) >= 0 && digit(12) <= 9;
  return known ? digit(10) * 10 + digit(12) : 12;
}

std::string config_text(const Bundle& bundle, const Build& build) {
  std::string name = anonymous(bundle.problem);
  // A slash is not allowed there, '#' begins a comment, and what is no text ends the line.
  const auto is_none = [](unsigned char c) { return c == '/' || c == '#' || c < ' ' || c > '~'; };
  std::replace_if(name.begin(), name.end(), is_none, ' ');
  std::string text =
      fmt::format("[config]\nname: {}\nclc_version_min: {}\n", name, version_of(build.options));
  if (build.options.find('#') != std::string::npos) refuse("its build options cannot hold a #");
  if (!build.options.empty()) text += fmt::format("build_options: {}\n", build.options);
  return text + (bundle.needs_fp16() ? "require_device_extensions: cl_khr_fp16\n" : "");
}

std::string size_text(const std::array<std::int64_t, 3>& size) {
  return fmt::format("{} {} {}", size[0], size[1], size[2]);
}

std::string test_text(const Bundle& bundle, const Launch& launch) {
  std::string text = fmt::format("\n[test]\nname: {}\nkernel_name: {}\ndimensions: 3\n",
                                 launch.kernel, launch.kernel);
  text += fmt::format("global_size: {}\nlocal_size: {}\n", size_text(launch.global),
                      size_text(launch.local));
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    text += std::visit(ArgumentWriter{bundle, i}, launch.args[i]);
  }
  return text;
}

}  // namespace

std::string piglit_text(const Bundle& bundle) {
  const Build build = builds_of(bundle).front();
  const std::string& kernel = bundle.kernels.at(build.file);
  for (const char* mark : {"/*!", "!*/"}) {
    if (kernel.find(mark) != std::string::npos) {
      refuse(fmt::format("{} has a comment with {}, which is its own", build.file, mark));
    }
  }
  if (bundle.build_only()) {
    return fmt::format("/*!\n{}!*/\n\n{}", config_text(bundle, build), kernel);
  }
  refuse_plan(*bundle.plan);
  const bool shows = bundle.seen.outcome != Seen::Outcome::wrong || bundle.seen.first_wrong;
  if (!shows) refuse("it looks at outputs alone, and what is wrong here lies around them");
  return fmt::format("/*!\n{}{}!*/\n\n{}", config_text(bundle, build),
                     test_text(bundle, bundle.plan->launches.front()), kernel);
}

}  // namespace clam
