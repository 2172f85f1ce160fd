// SPDX-License-Identifier: MIT
// plan_json.cpp - the versioned JSON form of a Plan, read by other hosts too.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "clam/plan.hpp"
#include "number_text.hpp"
#include "refuse.hpp"
#include "text.hpp"
#include "words.hpp"

namespace clam {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr Words<2> kBufferRoleWords{"scratch", "packed"};

/// Two digits a byte, in the order of memory.
std::vector<std::uint8_t> read_hex(const std::string& text) {
  std::vector<std::uint8_t> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* first = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(first, first + 2, bytes[i], 16);
    if (error != std::errc() || end != first + 2) bytes.clear();
  }
  throw_if(bytes.empty() || text.size() != 2 * bytes.size(),
           "plan: '{}' are no bytes, two hexadecimal digits each", text);
  return bytes;
}

json arg_json(const Arg& arg) {
  struct Writer {
    json operator()(const BufferArg& a) const {
      json written{{"buffer", a.name}};
      if (a.offset) written["offset"] = a.offset;
      return written;
    }
    json operator()(std::int32_t value) const { return {{"int", value}}; }
    // Text, because JSON has no word for inf and nan, and decimal digits are exact this way.
    json operator()(float value) const { return {{"float", number_text(value)}}; }
    json operator()(const LocalArg& a) const { return {{"local_bytes", a.bytes}}; }
    json operator()(const NullArg&) const { return {{"none", true}}; }
    json operator()(const BytesArg& a) const {
      return {{"bytes", fmt::format("{:02x}", fmt::join(a.bytes, ""))}};
    }
  };
  return std::visit(Writer{}, arg);
}

float read_float(const json& value) {
  if (value.is_number()) return value.get<float>();
  const std::string text = value.get<std::string>();
  float number = 0;
  throw_if(read_number(text, number) != std::errc(), "plan: '{}' is no float", text);
  return number;
}

Arg read_arg(const json& arg) {
  if (arg.contains("buffer")) {
    return BufferArg{arg.at("buffer").get<std::string>(), arg.value("offset", std::int64_t{0})};
  }
  if (arg.contains("int")) {
    const auto value = arg.at("int").get<std::int64_t>();
    throw_if(value != static_cast<std::int32_t>(value), "plan: {} does not fit an int argument",
             value);
    return static_cast<std::int32_t>(value);
  }
  if (arg.contains("float")) return read_float(arg.at("float"));
  if (arg.contains("local_bytes")) return LocalArg{arg.at("local_bytes").get<std::int64_t>()};
  if (arg.contains("none")) return NullArg{};
  if (arg.contains("bytes")) return BytesArg{read_hex(arg.at("bytes").get<std::string>())};
  if (arg.contains("image")) throw Unsupported("plan: image arguments are not supported");
  throw BadArgument("plan: unknown form of argument: " + arg.dump());
}

Launch read_launch(const json& from) {
  Launch launch;
  launch.file = from.at("file").get<std::string>();
  launch.kernel = from.at("kernel").get<std::string>();
  launch.options = from.value("options", std::string());
  from.at("global").get_to(launch.global);
  from.at("local").get_to(launch.local);
  launch.offset = from.value("offset", launch.offset);
  launch.dimensions = from.value("dimensions", launch.dimensions);
  for (const json& arg : from.at("args")) launch.args.push_back(read_arg(arg));
  return launch;
}

BufferSpec read_buffer(const json& from) {
  const std::string word = from.at("role").get<std::string>();
  const auto role = find_word<BufferSpec::Role>(kBufferRoleWords, word);
  throw_if(!role, "plan: role '{}' of a buffer is neither scratch nor packed", word);
  return {from.at("name").get<std::string>(), *role, from.at("bytes").get<std::int64_t>()};
}

Plan read_plan(const json& from) {
  Plan plan;
  plan.problem = from.value("problem", std::string());
  plan.variant = from.value("variant", std::string());
  if (from.contains("device")) plan.device = device_from_json(from.at("device"));
  plan.tensors = from.at("tensors").get<std::vector<TensorSpec>>();
  for (const json& buffer : from.value("buffers", json::array()))
    plan.buffers.push_back(read_buffer(buffer));
  for (const json& launch : from.value("pack", json::array()))
    plan.pack.push_back(read_launch(launch));
  for (const json& launch : from.at("launches")) plan.launches.push_back(read_launch(launch));
  return plan;
}

}  // namespace

// The library of JSON finds these by their arguments, so they are in no unnamed namespace.

static void to_json(json& written, const BufferSpec& spec) {
  written = {
      {"name", spec.name}, {"role", word_of(kBufferRoleWords, spec.role)}, {"bytes", spec.bytes}};
}

static void to_json(json& written, const Launch& launch) {
  json args = json::array();
  for (const Arg& arg : launch.args) args.push_back(arg_json(arg));
  written = {{"file", launch.file},     {"kernel", launch.kernel}, {"options", launch.options},
             {"global", launch.global}, {"local", launch.local},   {"args", args}};
  const Launch usual;
  if (launch.offset != usual.offset) written["offset"] = launch.offset;
  if (launch.dimensions != usual.dimensions) written["dimensions"] = launch.dimensions;
}

nlohmann::json to_json(const Plan& plan) {
  return {{"clam_plan", kVersion},   {"problem", plan.problem},
          {"variant", plan.variant}, {"device", to_json(plan.device)},
          {"tensors", plan.tensors}, {"buffers", plan.buffers},
          {"pack", plan.pack},       {"launches", plan.launches}};
}

Plan plan_from_json(const nlohmann::json& from) {
  throw_if(!from.is_object() || !from.contains("clam_plan"),
           "plan: the key \"clam_plan\" is missing, so this is no plan");
  throw_if(from.at("clam_plan") != kVersion, "plan: version {} is unknown; this clam reads {}",
           from.at("clam_plan").dump(), kVersion);
  try {
    Plan plan = read_plan(from);
    check(plan);
    return plan;
  } catch (const nlohmann::json::exception& error) {
    throw BadArgument(fmt::format("plan: {}", error.what()));
  }
}

}  // namespace clam
