// SPDX-License-Identifier: MIT
#include "clam/op.hpp"

#include <nlohmann/json.hpp>

#include "words.hpp"

namespace clam {
namespace {

constexpr Words<10> kFieldKindWords{"extent", "integer", "number", "flag",     "choice",
                                    "shape",  "numbers", "axes",   "integers", "subset"};

}  // namespace

// The library of JSON finds these by their arguments, so they are in no unnamed namespace.

static void to_json(nlohmann::json& json, const Field& field) {
  json = {{"name", field.name}, {"kind", name(field.kind)}, {"about", field.about}};
  if (!field.fallback.empty()) json["default"] = field.fallback;
  if (!field.choices.empty()) json["choices"] = field.choices;
  if (field.kind == Field::Kind::integer || field.kind == Field::Kind::integers)
    json["min"] = field.min, json["max"] = field.max;
}

static void to_json(nlohmann::json& json, const Variant& variant) {
  json = {{"name", variant.name}, {"about", variant.about}};
}

const char* name(Field::Kind kind) { return word_of(kFieldKindWords, kind); }

nlohmann::json to_json(const Op& op) {
  return {{"name", op.name}, {"about", op.about}, {"fields", op.fields}, {"variants", op.variants}};
}

const Op& find_op(std::string_view name) {
  const auto name_of = [](const Op* op) -> const std::string& { return op->name; };
  return *find_named(all_ops(), name, "op", "clam", name_of);
}

const Schema& find_schema(std::string_view op) { return find_op(op); }

const Op& op_of(const Problem& problem) { return find_op(problem.schema().name); }

const Variant& find_variant(const Op& op, const std::string& name) {
  return find_named(op.variants, name, "variant", op.name);
}

double flops_of(const Problem& problem) { return op_of(problem).flops(problem); }

double bytes_of(const Problem& problem) { return op_of(problem).bytes(problem); }

double least_flops_of(const Problem& problem) {
  const Op& op = op_of(problem);
  return (op.least_flops ? op.least_flops : op.flops)(problem);
}

double least_bytes_of(const Problem& problem) {
  const Op& op = op_of(problem);
  return (op.least_bytes ? op.least_bytes : op.bytes)(problem);
}

}  // namespace clam
