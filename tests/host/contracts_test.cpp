// SPDX-License-Identifier: MIT
// contracts_test.cpp - kernels/CHANGELOG.md lists each change of a kernel's contract since
// kernel_contracts.txt, and kernels/VERSION is raised as that page asks. CLAM_NEW_BASELINE=1 makes
// today's contracts the ones that later changes are counted from. It is not CLAM_UPDATE_GOLDEN,
// with which a change would go unlisted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "contract_changes.hpp"
#include "runtime/atomic_file.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

const std::string kTree = CLAM_SOURCE_DIR;
const std::string kBaseline = kTree + "/tests/host/kernel_contracts.txt";

TEST(contracts, every_change_is_listed_and_the_version_raised) {
  const Contracts now = contracts_of_the_tree();
  const std::string page = read_file(kTree + "/kernels/CHANGELOG.md");
  for (const std::string& fault : changelog_faults(read_contracts(read_file(kBaseline)), now, page))
    ADD_FAILURE() << fault;
  const char* release = std::getenv("CLAM_NEW_BASELINE");
  if (release && std::string(release) == "1" && !HasFailure()) write_file(kBaseline, text_of(now));
}

// ---- the check itself ----

const char* const kFile = R"(
//@define SCALE_WG   64 {32,64}  items
//@define SCALE_SKIP 0           left out
//@define SCALE_BIAS off         a switch
//@kernel scale
//@arg    0 src    in  T[n]      about
//@arg    1 bias   in  T[n]
//@arg    2 dst    out T[n]
//@arg    3 n      int
//@null   bias if SCALE_BIAS==0
//@layout src[i] = x[i]
//@global ceil(n/SCALE_WG)*SCALE_WG, batch
//@local  SCALE_WG
//@needs  n >= 1, max(n,4) % 4 == 0
//@kernel shift
//@arg    0 dst    out T[n]
//@global n
//@local  1
)";

Contracts scale(const std::string& text, const std::string& version = "1.0") {
  return contracts_of(version, {read_tags({"scale.cl", text, "here", ""})});
}

std::string with(const std::string& from, const std::string& to, std::string text = kFile) {
  const std::size_t at = text.find(from);
  if (at == text.npos) throw std::logic_error("nothing to replace: " + from);
  return text.replace(at, from.size(), to);
}

TEST(contracts, the_text_of_every_kernel_reads_back) {
  const Contracts now = contracts_of_the_tree();
  const std::string text = text_of(now);
  EXPECT_EQ(text_of(read_contracts(text)), text);
  EXPECT_TRUE(changes_between(read_contracts(text), now).empty());
  EXPECT_TRUE(changes_between(scale(kFile), scale(with("about", "other words"))).empty());
  EXPECT_EQ(text.find('`'), text.npos) << "a line of the changelog stands in back quotes";
}

TEST(contracts, a_text_that_is_none_is_refused) {
  EXPECT_THROWS_SAYING(read_contracts(""), BadArgument, "must begin with 'kernels VERSION'");
  EXPECT_THROWS_SAYING(read_contracts("kernels 1.0\n  global | n\n"), BadArgument, "no kernel has");
  EXPECT_EQ(read_contracts("kernels 1.0\na.cl\n   \n").parts.size(), 1u);
}

TEST(contracts, the_manifest_has_their_version) {
  EXPECT_EQ(kernels_version() + "\n", read_file(kTree + "/kernels/VERSION"));
  EXPECT_EQ(manifest_json({}).at("kernels_version"), kernels_version());
}

TEST(contracts, the_text_of_a_kernel) {
  EXPECT_EQ(text_of(scale(kFile)), R"(kernels 1.0

scale.cl
  -DSCALE_WG | 64 {32,64}
  -DSCALE_SKIP | 0
  -DSCALE_BIAS | off {off,on}

scale.cl scale
  argument 0 | src in T[n]
  argument 1 | bias in T[n], null if SCALE_BIAS==0
  argument 2 | dst out T[n]
  argument 3 | n int
  global | ceil(n/SCALE_WG)*SCALE_WG, batch
  local | SCALE_WG
  layout src[i] = x[i]
  need n >= 1
  need max(n,4) % 4 == 0

scale.cl shift
  argument 0 | dst out T[n]
  global | n
  local | 1
)");
}

/// Each is seen as this line, is a fault until it is listed with a version that is high enough, and
/// is none after that.
TEST(contracts, every_kind_of_change_is_seen_and_passes_when_listed) {
  const std::string shift = std::string(kFile).substr(std::string(kFile).find("//@kernel shift"));
  const struct {
    std::string from, to, line, version;
  } kinds[] = {
      {"2 dst ", "2 out ", "scale.cl scale: argument 2 was 'dst out T[n]', is 'out out T[n]'",
       "2.0"},
      {"3 n      int", "3 n      float", "scale.cl scale: argument 3 was 'n int', is 'n float'",
       "2.0"},
      {"in  T[n]  ", "in  T[n+1]",
       "scale.cl scale: argument 0 was 'src in T[n]', is 'src in T[n+1]'", "2.0"},
      {"int\n", "int\n//@arg 4 m int\n", "scale.cl scale: argument 4 is new: 'm int'", "2.0"},
      {"//@arg    3 n      int\n", "", "scale.cl scale: argument 3 'n int' is gone", "2.0"},
      {"//@arg    2 dst    out T[n]\n//@arg    3 n", "//@arg    2 n",
       "scale.cl scale: argument 2 'dst out T[n]' is gone", "2.0"},
      {"//@null   bias if SCALE_BIAS==0\n", "",
       "scale.cl scale: argument 1 was 'bias in T[n], null if SCALE_BIAS==0', is 'bias in T[n]'",
       "2.0"},
      {"bias if", "src if 1\n//@null bias if",
       "scale.cl scale: argument 0 was 'src in T[n]', is 'src in T[n], null if 1'", "1.1"},
      {"WG   64", "WG   32", "scale.cl: -DSCALE_WG was '64 {32,64}', is '32 {32,64}'", "2.0"},
      {"{32,64}", "{64}", "scale.cl: -DSCALE_WG was '64 {32,64}', is '64 {64}'", "2.0"},
      {"{32,64}", "{16,64,32}", "scale.cl: -DSCALE_WG was '64 {32,64}', is '64 {16,64,32}'", "1.1"},
      {"{32,64}", "", "scale.cl: -DSCALE_WG was '64 {32,64}', is '64'", "1.1"},
      {"SKIP 0 ", "SKIP 0 {0,1}", "scale.cl: -DSCALE_SKIP was '0', is '0 {0,1}'", "2.0"},
      {"//@define SCALE_SKIP 0           left out\n", "", "scale.cl: -DSCALE_SKIP is gone", "2.0"},
      {"//@kernel scale", "//@define SCALE_MORE 1\n//@kernel scale",
       "scale.cl: -DSCALE_MORE is new: '1'", "1.1"},
      {", batch", "",
       "scale.cl scale: global was 'ceil(n/SCALE_WG)*SCALE_WG, batch', is "
       "'ceil(n/SCALE_WG)*SCALE_WG'",
       "2.0"},
      {"//@local  SCALE_WG", "//@local  8", "scale.cl scale: local was 'SCALE_WG', is '8'", "2.0"},
      {"//@layout src[i] = x[i]\n", "", "scale.cl scale: layout src[i] = x[i] is gone", "2.0"},
      {"//@layout", "//@layout dst[i] = y[i]\n//@layout",
       "scale.cl scale: layout dst[i] = y[i] is new", "1.1"},
      {"n >= 1,", "n >= 1, n < 9,", "scale.cl scale: need n < 9 is new", "2.0"},
      {"n >= 1, ", "", "scale.cl scale: need n >= 1 is gone", "1.1"},
      {shift, "", "scale.cl shift is gone", "2.0"},
      {"//@kernel shift", "//@kernel more\n//@global n\n//@local 1\n//@kernel shift",
       "scale.cl more is new", "1.1"},
  };
  for (const auto& kind : kinds) {
    const std::string text = with(kind.from, kind.to);
    const std::vector<ContractChange> changes = changes_between(scale(kFile), scale(text));
    ASSERT_EQ(changes.size(), 1u) << kind.line;
    EXPECT_EQ(changes[0].line, kind.line);
    const std::string none = "# Changes\n\n## 1.0\n", item = "- `" + kind.line + "`\n";
    const std::string all = "# Changes\n\n## " + kind.version + "\n\n" + item + "\n## 1.0\n";
    EXPECT_EQ(changelog_faults(scale(kFile), scale(text), none).size(), 2u)
        << "neither listed nor raised";
    EXPECT_EQ(changelog_faults(scale(kFile), scale(text), none + item).size(), 1u) << "not raised";
    EXPECT_EQ(changelog_faults(scale(kFile), scale(text, kind.version), all),
              std::vector<std::string>{})
        << kind.line;
    if (kind.version == "1.1") continue;
    EXPECT_EQ(changelog_faults(scale(kFile), scale(text, "1.1"), with("2.0", "1.1", all)).size(),
              1u)
        << "not raised enough: " << kind.line;
  }
}

TEST(contracts, a_changelog_that_contradicts_itself_is_seen) {
  const Contracts before = scale(kFile), after = scale(with(", batch", ""), "2.0");
  const std::string item = "- `" + changes_between(before, after)[0].line + "`\n";
  const auto count = [&](const Contracts& now, const std::string& page) {
    return changelog_faults(before, now, page).size();
  };
  EXPECT_EQ(count(scale(kFile), "## 1.0\n" + item), 0u)
      << "what led to the baseline may stand there";
  EXPECT_EQ(count(after, "## 2.0\n" + item), 0u);
  EXPECT_EQ(count(after, "## 2.1\n" + item), 1u) << "another version than kernels/VERSION";
  EXPECT_EQ(count(after, "## 2.0\n## 1.0\n" + item), 1u) << "listed under an older version";
  EXPECT_EQ(count(after, "## 2.0\n" + item + "- `scale.cl more is new`\n"), 1u) << "no change";
  EXPECT_EQ(count(scale(kFile, "0.9"), "## 0.9\n"), 1u) << "lowered";
  EXPECT_EQ(count(scale(kFile, "next"), "## next\n"), 1u) << "no number";
  EXPECT_EQ(count(scale(kFile), ""), 1u) << "an empty page";
}

}  // namespace
}  // namespace clam::test
