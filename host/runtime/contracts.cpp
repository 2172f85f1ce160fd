// SPDX-License-Identifier: MIT
#include "contracts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "embedded.hpp"
#include "runtime/refuse.hpp"
#include "text.hpp"
#include "words.hpp"

namespace clam {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr Words<6> kKindWords{"in", "out", "inout", "scratch", "local", "scalar"};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Cuts the first word off `text`.
std::string take_word(std::string_view& text) {
  text = trimmed(text);
  const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
  const std::string word(text.substr(0, end));
  text = trimmed(text.substr(end));
  return word;
}

/// Sizes end at a comma or a blank; two blanks end them all.
std::vector<std::string> sizes_of(std::string_view text) {
  text = text.substr(0, text.find("  "));
  std::vector<std::string> sizes;
  while (!trimmed(text).empty()) {
    sizes.push_back(take_word(text));
    if (sizes.back().back() == ',') sizes.back().pop_back();
  }
  return sizes;
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, ',')) parts.emplace_back(trimmed(part));
  return parts;
}

/// Reads one file, line by line; `comment_` gathers the prose right above a kernel's tags.
class TagReader {
 public:
  explicit TagReader(const KernelSource& source) {
    tags_.file = source.file;
    tags_.origin = source.origin;
    tags_.hash = source.hash();
    std::string_view text = source.text;
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    for (const std::string_view line : split(text, '\n')) {
      ++line_;
      read_line(trimmed(line));
    }
  }

  FileTags finish() {
    for (const KernelTags& kernel : tags_.kernels) {
      reject_if(kernel.local.empty(), "kernel {} has no //@local", kernel.name);
      reject_if(kernel.global.empty(), "kernel {} has no //@global", kernel.name);
    }
    throw_if(tags_.kernels.empty(), "{}: no kernel has tags (//@kernel NAME)", tags_.file);
    return std::move(tags_);
  }

 private:
  template <typename... Args>
  void reject_if(bool wrong, fmt::format_string<Args...> why, Args&&... args) const {
    if (!wrong) return;
    throw BadArgument(
        fmt::format("{}:{}: {}", tags_.file, line_, fmt::format(why, std::forward<Args>(args)...)));
  }

  void read_line(std::string_view line) {
    if (line.substr(0, 3) == "//@") return read_tag(line.substr(3));
    if (line.substr(0, 2) != "//") return comment_.clear();
    const std::string_view words = trimmed(line.substr(2));
    // The title is the comment's line "FILE - what it computes".
    const std::string start = tags_.file.substr(tags_.file.rfind('/') + 1) + " - ";
    if (tags_.about.empty() && words.substr(0, start.size()) == start) {
      tags_.about = words.substr(start.size());
    }
    if (!comment_.empty() && !words.empty()) comment_ += ' ';
    comment_ += words;
  }

  void read_tag(std::string_view rest) {
    const std::string tag = take_word(rest);
    if (tag == "define") return read_define(rest);
    if (tag == "kernel") return read_kernel(rest);
    if (tag == "shared" || tag == "end") return comment_.clear();
    if (tag == "loops") return read_loops_of(rest);
    reject_if(tags_.kernels.empty(), "//@{} stands before any //@kernel", tag);
    KernelTags& kernel = tags_.kernels.back();
    reject_if(rest.empty(), "//@{} is empty", tag);
    if (tag == "arg") return read_arg(rest, kernel);
    if (tag == "null") return read_null(rest, kernel);
    if (tag == "layout") return static_cast<void>(kernel.layouts.emplace_back(rest));
    if (tag == "global") return read_geometry(rest, tag, kernel.global);
    if (tag == "local") return read_geometry(rest, tag, kernel.local);
    if (tag == "loop") return read_loop(rest);
    reject_if(tag != "needs",
              "unknown tag //@{}; there is define kernel arg null layout global local needs loops "
              "loop shared end",
              tag.substr(0, 40));
    kernel.needs.emplace_back(rest);
  }

  void read_define(std::string_view rest) {
    DefineTag define;
    define.name = take_word(rest);
    define.fallback = take_word(rest);
    reject_if(define.fallback.empty(), "//@define needs a name and a default");
    reject_if(tags_.define(define.name), "{} is defined twice", define.name);
    if (rest.substr(0, 1) == "{") {
      const std::size_t close = rest.find('}');
      reject_if(close == rest.npos, "{}: the legal values have no }}", define.name);
      define.values = split_commas(rest.substr(1, close - 1));
      rest = trimmed(rest.substr(close + 1));
    }
    define.about = rest;
    const auto& values = define.values;
    const bool legal = values.empty() || define.fallback == "off" ||
                       std::find(values.begin(), values.end(), define.fallback) != values.end();
    reject_if(!legal, "{}: default {} is no legal value", define.name, define.fallback);
    tags_.defines.push_back(std::move(define));
  }

  void read_kernel(std::string_view rest) {
    KernelTags kernel;
    kernel.name = take_word(rest);
    reject_if(kernel.name.empty() || !rest.empty(), "//@kernel needs one name");
    reject_if(tags_.kernel(kernel.name), "kernel {} is there twice", kernel.name);
    kernel.about = std::exchange(comment_, {});
    tags_.kernels.push_back(std::move(kernel));
  }

  void read_arg(std::string_view rest, KernelTags& kernel) {
    const std::string index = take_word(rest);
    reject_if(index != std::to_string(kernel.args.size()),
              "kernel {}: argument {} comes next, not '{}'", kernel.name, kernel.args.size(),
              index);
    ArgTag arg;
    arg.name = take_word(rest);
    std::string_view after = rest;
    const std::string kind = take_word(after);
    if (kind == "int" || kind == "float") {
      arg.type = kind;
      arg.about = after;
    } else {
      const auto known = find_word<ArgTag::Kind>(kKindWords, kind);
      reject_if(!known || *known == ArgTag::Kind::scalar,
                "argument {}: '{}' is none of in out inout scratch local int float", arg.name,
                kind.substr(0, 40));
      arg.kind = *known;
      read_type(after, arg);
    }
    kernel.args.push_back(std::move(arg));
  }

  void read_type(std::string_view rest, ArgTag& arg) const {
    const std::size_t open = rest.find('[');
    int depth = 0;
    std::size_t close = open;
    for (; close < rest.size(); ++close) {
      depth += (rest[close] == '[') - (rest[close] == ']');
      if (depth == 0) break;
    }
    reject_if(open == rest.npos || open == 0 || close >= rest.size(),
              "argument {} needs TYPE[SIZE]", arg.name);
    arg.type = trimmed(rest.substr(0, open));
    arg.size = trimmed(rest.substr(open + 1, close - open - 1));
    arg.about = trimmed(rest.substr(close + 1));
  }

  void read_null(std::string_view rest, KernelTags& kernel) const {
    const std::size_t at = rest.find(" if ");
    const std::string condition(at == rest.npos ? "1" : trimmed(rest.substr(at + 4)));
    for (const std::string& name : split_commas(rest.substr(0, at))) {
      ArgTag* arg = find_by_name(kernel.args, name);
      reject_if(!arg || arg->kind == ArgTag::Kind::scalar, "//@null: kernel {} has no buffer '{}'",
                kernel.name, name);
      reject_if(!arg->null_if.empty(), "//@null names {} twice", name);
      arg->null_if = condition;
    }
  }

  void read_geometry(std::string_view rest, const std::string& tag,
                     std::vector<std::string>& sizes) const {
    reject_if(!sizes.empty(), "//@{} is there twice", tag);
    sizes = sizes_of(rest);
    reject_if(sizes.size() > 3,
              "//@{} has over 3 sizes; write each without blanks, and two blanks before prose",
              tag);
  }

  void read_loops_of(std::string_view rest) {
    KernelTags* kernel = find_by_name(tags_.kernels, rest);
    reject_if(!kernel, "//@loops needs the name of a kernel above, not '{}'", rest);
    reject_if(!kernel->loops.empty(), "//@loops {} is there twice", rest);
    loops_ = &kernel->loops;
  }

  void read_loop(std::string_view rest) {
    reject_if(!loops_, "//@loop stands before any //@loops");
    const std::string word = take_word(rest);
    const std::size_t dots = word.find("..");
    LoopTag loop;
    loop.least = word.substr(0, dots);
    loop.most = dots == word.npos ? word : word.substr(dots + 2);
    loop.is_range = dots != word.npos;
    reject_if(loop.least.empty() || loop.most.empty() || loop.most.find("..") != word.npos,
              "//@loop needs TRIPS or LEAST..MOST, not '{}'", word.substr(0, 40));
    if (rest.substr(0, 3) == "if ") {
      take_word(rest);
      loop.condition = take_word(rest);
    }
    loop.about = rest;
    loops_->push_back(std::move(loop));
  }

  FileTags tags_;
  std::string comment_;
  std::vector<LoopTag>* loops_ = nullptr;  ///< of the kernel that the last //@loops named
  int line_ = 0;
};

}  // namespace

// The library of JSON finds these by their arguments, so they are in no unnamed namespace.

static void to_json(nlohmann::json& json, const DefineTag& define) {
  json = {{"name", define.name}, {"default", define.fallback}, {"about", define.about}};
  if (define.is_switch()) {
    json["values"] = {"off", "on"};
  } else if (!define.values.empty()) {
    json["values"] = define.values;
  }
}

static void to_json(nlohmann::json& json, const ArgTag& arg) {
  json = {{"name", arg.name}, {"kind", name(arg.kind)}, {"type", arg.type}, {"about", arg.about}};
  if (arg.kind != ArgTag::Kind::scalar) json["size"] = arg.size;
  if (!arg.null_if.empty()) json["null_if"] = arg.null_if;
}

static void to_json(nlohmann::json& json, const LoopTag& loop) {
  json = {{"least", loop.least}, {"most", loop.most}, {"about", loop.about}};
  if (!loop.condition.empty()) json["if"] = loop.condition;
}

static void to_json(nlohmann::json& json, const KernelTags& kernel) {
  json = {{"name", kernel.name},      {"about", kernel.about},   {"arguments", kernel.args},
          {"layout", kernel.layouts}, {"global", kernel.global}, {"local", kernel.local},
          {"needs", kernel.needs},    {"loops", kernel.loops}};
}

const char* name(ArgTag::Kind kind) { return word_of(kKindWords, kind); }

const DefineTag* FileTags::define(std::string_view wanted) const {
  return find_by_name(defines, wanted);
}

const KernelTags* FileTags::kernel(std::string_view wanted) const {
  return find_by_name(kernels, wanted);
}

FileTags read_tags(const KernelSource& source) { return TagReader(source).finish(); }

nlohmann::json to_json(const FileTags& tags) {
  return {{"file", tags.file},   {"origin", tags.origin},   {"xxh3", tags.hash},
          {"about", tags.about}, {"defines", tags.defines}, {"kernels", tags.kernels}};
}

std::string kernels_version() {
  const std::string_view text = embedded_version().front().text;
  return std::string(trimmed(text.substr(0, text.find('\n'))));
}

nlohmann::json manifest_json(const std::vector<KernelSource>& sources) {
  nlohmann::json files = nlohmann::json::array();
  for (const KernelSource& source : sources) files.push_back(to_json(read_tags(source)));
  return {{"clam_manifest", 1},
          {"version", CLAM_VERSION},
          {"kernels_version", kernels_version()},
          {"files", std::move(files)}};
}

}  // namespace clam
