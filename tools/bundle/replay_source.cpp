// SPDX-License-Identifier: MIT
// replay_source.cpp - replay.c with the tables of a bundle.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "bundle.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/embedded.hpp"
#include "runtime/number_text.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

constexpr std::ptrdiff_t kMostLines = 400;  // without other files in it

/// Text as a C string. '?' too, which could begin a trigraph.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '"' || c == '\\' || c == '?') {
      result += std::string("\\") + c;
    } else if (byte >= ' ' && byte <= '~') {
      result += c;
    } else {
      result += fmt::format("\\{:03o}", byte);
    }
  }
  return result + "\"";
}

std::string quoted_or_none(const std::string& text) { return text.empty() ? "0" : quoted(text); }

std::string float_text(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  return float_literal(value);
}

const char* type_text(Dtype dtype) {
  return dtype == Dtype::f32 ? "F32" : dtype == Dtype::f16 ? "F16" : "I32";
}

constexpr std::size_t kWidth = 100;

/// Rows side by side in lines of at most so many letters, or a single row.
std::string wrapped(const std::vector<std::string>& rows, std::size_t width) {
  std::string text, line = "   ";
  for (const std::string& row : rows) {
    if (line.size() + row.size() + 1 > width && line.size() > 3) {
      text += line + "\n";
      line = "   ";
    }
    line += " " + row;
  }
  return text + line + "\n";
}

/// "static const struct buffer buffers[] = {...};"
std::string table(const std::string& type, const std::string& name,
                  const std::vector<std::string>& rows, std::size_t width) {
  return fmt::format("static const {} {}[] = {{\n{}}};\n", type, name, wrapped(rows, width));
}

std::string buffer_table(const Bundle& bundle, std::size_t width) {
  std::vector<std::string> rows;
  if (bundle.plan) {
    for (const TensorSpec& spec : bundle.plan->tensors) {
      const bool input = spec.role == TensorSpec::Role::input;
      const auto file = [&](const auto& tensors, const char* ending) {
        return quoted_or_none(tensors.count(spec.name) ? spec.name + ending : "");
      };
      rows.push_back(fmt::format(
          "{{{}, {}, {}, {}, {}, {}, {}}},", quoted(spec.name), input ? "INPUT" : "OUTPUT",
          type_text(spec.dtype), spec.bytes(), file(bundle.inputs, ".npy"),
          file(bundle.expected, ".expected.npy"), file(bundle.bounds, ".bound.npy")));
    }
    for (const BufferSpec& spec : bundle.plan->buffers) {
      rows.push_back(
          fmt::format("{{{}, SCRATCH, F32, {}, 0, 0, 0}},", quoted(spec.name), spec.bytes));
    }
  }
  rows.push_back("{0, SCRATCH, F32, 0, 0, 0, 0},");
  return table("struct buffer", "buffers", rows, width);
}

/// The row of a tensor or a buffer in the table.
std::size_t place_of(const Plan& plan, const std::string& name) {
  if (const TensorSpec* tensor = plan.tensor(name)) return tensor - plan.tensors.data();
  if (const BufferSpec* buffer = plan.buffer(name))
    return plan.tensors.size() + (buffer - plan.buffers.data());
  throw BadArgument(fmt::format("plan: '{}' is neither a tensor nor a buffer", name));
}

std::string argument_row(const Plan& plan, const Arg& arg) {
  struct Writer {
    const Plan& plan;
    std::string operator()(const BufferArg& a) const {
      return fmt::format("{{BUFFER, {}, {}, 0, 0}}", place_of(plan, a.name), a.offset);
    }
    std::string operator()(std::int32_t value) const {
      return fmt::format("{{INT, {}, 0, 0, 0}}", value);
    }
    std::string operator()(float value) const {
      return fmt::format("{{FLOAT, 0, 0, {}, 0}}", float_text(value));
    }
    std::string operator()(const LocalArg& a) const {
      return fmt::format("{{LOCAL, {}, 0, 0, 0}}", a.bytes);
    }
    std::string operator()(const NullArg&) const { return "{NONE, 0, 0, 0, 0}"; }
    std::string operator()(const BytesArg& a) const {
      std::string text;
      for (const std::uint8_t byte : a.bytes) text += fmt::format("\\{:03o}", byte);
      return fmt::format("{{BYTES, {}, 0, 0, \"{}\"}}", a.bytes.size(), text);
    }
  };
  return std::visit(Writer{plan}, arg);
}

std::string size_text(const std::array<std::int64_t, 3>& size) {
  return fmt::format("{{{}, {}, {}}}", size[0], size[1], size[2]);
}

/// The tables of launches and of their arguments.
std::string launch_tables(const Bundle& bundle, std::size_t width, std::size_t argument_width,
                          const std::vector<std::string>& names = {}) {
  std::vector<std::string> arguments, launches;
  if (bundle.build_only()) {
    launches.push_back(fmt::format("{{{}, 0, {}, {{1, 1, 1}}, {{1, 1, 1}}, {{0, 0, 0}}, 3, 0, 0}},",
                                   quoted(bundle.file), quoted(bundle.options)));
  } else {
    for (const Launch* launch : launches_of(*bundle.plan)) {
      launches.push_back(fmt::format(
          "{{{}, {}, {}, {}, {}, {}, {}, {}, {}}},", quoted(launch->file), quoted(launch->kernel),
          quoted(launch->options), size_text(launch->global), size_text(launch->local),
          size_text(launch->offset), launch->dimensions, arguments.size(), launch->args.size()));
      for (const Arg& arg : launch->args) {
        const std::size_t i = arguments.size();
        arguments.push_back(argument_row(*bundle.plan, arg) + "," +
                            (i < names.size() ? "  // " + names[i] : ""));
      }
    }
  }
  arguments.push_back("{NONE, 0, 0, 0, 0},");
  launches.push_back("{0, 0, 0, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},");
  return table("struct argument", "arguments", arguments, argument_width) +
         table("struct launch", "launches", launches, width);
}

// ---- files within it ----

/// A text as an array of its lines: readable, and no literal longer than C99 promises to take.
std::string lines_table(std::size_t number, const std::string& text) {
  constexpr std::size_t kLongest = 500;
  std::string table = fmt::format("static const char *const lines_{}[] = {{\n", number);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::size_t size = std::min(end == text.npos ? kLongest : end + 1 - at, kLongest);
    table += "    " + quoted(text.substr(at, size)) + ",\n";
    at += size;
  }
  return table + "    0,\n};\n";
}

std::string bytes_table(std::size_t number, const std::string& bytes) {
  std::vector<std::string> rows;
  for (const char c : bytes) rows.push_back(fmt::format("{},", static_cast<unsigned char>(c)));
  return table("unsigned char", fmt::format("bytes_{}", number), rows, kWidth);
}

std::string embedded_tables(const Bundle& bundle, const std::string& folder) {
  std::string tables, rows;
  std::size_t number = 0, total = 0;
  for (const auto& [file, text] : bundle.kernels) {
    tables += lines_table(++number, text);
    rows += fmt::format("    {{{}, lines_{}, 0, 0}},\n", quoted(file), number);
    total += text.size();
  }
  for (const auto& [tensors, ending] : kTensorsRun) {
    for (const auto& [name, tensor] : bundle.*tensors) {
      const std::string bytes = read_file(path_in(folder, name + ending));
      total += bytes.size();
      if (total > kMostSingleFile) continue;
      tables += bytes_table(++number, bytes);
      rows += fmt::format("    {{{}, 0, bytes_{}, sizeof bytes_{}}},\n", quoted(name + ending),
                          number, number);
    }
  }
  throw_if(
      total > kMostSingleFile,
      "--single-file: kernels and tensors are {} KiB, and one file may have {}: take a smaller "
      "problem that still fails, or leave --single-file out",
      (total + 1023) >> 10, kMostSingleFile >> 10);
  return tables + "static const struct embedded embedded[] = {\n" + rows +
         "    {0, 0, 0, 0},\n};\n";
}

/// The parts of replay.c that a single file alone needs, kept or left out, and their marks.
std::string with_marked(const std::string& source, bool kept) {
  std::istringstream lines(source);
  std::string result;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.find("// single file: begin") != line.npos;
    const bool ends = line.find("// single file: end") != line.npos;
    if (begins || ends) inside = begins;
    const bool second_empty =
        line.empty() && result.size() > 1 && result[result.size() - 2] == '\n';
    if (!begins && !ends && (kept || !inside) && !second_empty) result += line + "\n";
  }
  return result;
}

std::string title_of(const Bundle& bundle) {
  std::string title = anonymous(bundle.problem);
  if (!bundle.variant.empty()) title += ", " + anonymous(bundle.variant);
  if (!bundle.data_set.empty()) title += ", data " + bundle.data_set;
  return title;
}

}  // namespace

std::string replay_tables(const Bundle& bundle, const std::vector<std::string>& names) {
  const std::string source(embedded_bundle().front().text);
  const std::size_t begin = source.find("enum type"), end = source.find("// single file: begin");
  return source.substr(begin, end - begin) + "\n" + buffer_table(bundle, 1) +
         launch_tables(bundle, 1, 1, names);
}

std::string replay_source(const Bundle& bundle, const std::string& folder, bool single_file) {
  const std::string begin = "// ---- tables: begin ----\n", end = "// ---- tables: end ----\n";
  std::string source = with_marked(std::string(embedded_bundle().front().text), single_file);
  const std::size_t start = source.find(begin), stop = source.find(end);
  if (start == source.npos || stop == source.npos) {
    throw std::logic_error("replay.c has lost the marks around its tables");
  }
  const std::string head =
      fmt::format("static const char title[] = {};\nstatic const int needs_fp16 = {};\n",
                  quoted(title_of(bundle)), bundle.needs_fp16() ? 1 : 0);
  const std::string files = single_file ? embedded_tables(bundle, folder) : "";
  source.erase(start + begin.size(), stop - start - begin.size());
  std::string text;
  // A row a line, and only of plans with very many closer together.
  for (const std::size_t width : {1, 200, 1000, 4000, 1 << 20}) {
    text = source;
    text.insert(start + begin.size(), head + buffer_table(bundle, width) +
                                          launch_tables(bundle, width, std::max(width, kWidth)) +
                                          files);
    if (single_file || std::count(text.begin(), text.end(), '\n') < kMostLines) break;
  }
  return text;
}

}  // namespace clam
