// SPDX-License-Identifier: MIT
// The stored listings are the compilers' own (Mesa 25.0.7, *_testing_* Mesa 26.1.6; valhall:
// Mali-G610, bifrost: Mali-G52), of kernels as tests/mali/listings/README.md says. Their figures
// were counted by other means: by eye, by grep, or by a walk through the listing, one instruction
// at a time.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "clam/error.hpp"
#include "mali/listing.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

std::string sample(const std::string& name) {
  std::ifstream file(std::string(CLAM_SOURCE_DIR) + "/tests/mali/listings/" + name + ".txt");
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Shader shader_of(const std::string& name) { return parse_listing(sample(name)); }

const char* const kSamples[] = {"valhall_dense_packed",
                                "valhall_dense_packed_f16",
                                "valhall_conv2d_direct",
                                "valhall_dense_plain_dump",
                                "valhall_get_valid_counts_one",
                                "valhall_spill",
                                "valhall_halves",
                                "bifrost_dense_packed",
                                "bifrost_dense_plain_dump",
                                "bifrost_halves",
                                "valhall_scratch",
                                "valhall_testing_dense_plain_dump",
                                "valhall_testing_dense_pack_w",
                                "bifrost_testing_softmax_row_long"};

/// How often the text has the word: where that is at most once a line, what `grep -c` says.
int lines_with(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The figure before a word of the SHADER-DB line; "inst" is "instrs" in Mesa 26.
double compiler_says(const std::string& text, const std::string& word) {
  const std::size_t line = text.rfind("MESA_SHADER_KERNEL shader:");
  std::size_t end = text.find(" " + word + ",", line);
  if (end == std::string::npos) end = text.find(" " + word + "rs,", line);
  EXPECT_NE(end, std::string::npos) << word;
  return std::stod(text.substr(text.rfind(' ', end - 1) + 1));
}

// ---- a listing made up here -------------------------------------------------------------------

/// A Valhall listing of the rows, with a SHADER-DB line that fits them: the rows are FMA.f32,
/// BRANCHZ, NOP and LOAD alone.
std::string valhall(const std::vector<std::string>& rows) {
  std::string text = "shader: MESA_SHADER_KERNEL\ndecl_function __wrapped_made () (entrypoint)\n";
  std::map<std::string, int> units;
  for (const std::string& row : rows) {
    text += "   " + row + "\n";
    ++units[row.substr(0, 3) == "FMA" ? "fma" : row.substr(0, 4) == "LOAD" ? "ls" : "cvt"];
  }
  return text + fmt::format(
                    "SHADER-DB: MESA_SHADER_KERNEL shader: {} inst, 1.000000 cycles, {:.6f} fma, "
                    "{:.6f} cvt, 0.000000 sfu, 0.000000 v, 0.000000 t, {:.6f} ls, 8 quadwords, 2 "
                    "threads, 0 loops, 0:0 spills:fills\n",
                    rows.size(), units["fma"] / 64.0, units["cvt"] / 64.0, 1.0 * units["ls"]);
}

const std::string kMac = "FMA.f32 r0, r1, r2, r0", kEnd = "NOP.end";
std::string jump(int offset) { return fmt::format("BRANCHZ.eq.reconverge 0x0, offset:{}", offset); }
std::string branch(int offset) { return fmt::format("BRANCHZ.eq ^r2.h0, offset:{}", offset); }

double issued(const std::vector<std::string>& rows, const std::vector<double>& trips) {
  return executed(parse_listing(valhall(rows)), trips).issued;
}

/// Everything listed in a loop, once, the loops inside it and every side of its branches included.
Counts listed(const Shader& shader, std::size_t loop) {
  Counts counts;
  for (int block = shader.loops.at(loop).first; block <= shader.loops.at(loop).last; ++block)
    counts += shader.blocks[static_cast<std::size_t>(block)].counts;
  return counts;
}

// ---- Valhall ----------------------------------------------------------------------------------

TEST(mali, listing_of_valhall_counts_the_loop_of_a_dense_kernel) {
  const Shader shader = shader_of("valhall_dense_packed");
  EXPECT_EQ(shader.kernel, "dense_packed");
  EXPECT_EQ(shader.whole.issued, 605);
  EXPECT_FALSE(shader.full_occupancy());
  ASSERT_EQ(shader.loops.size(), 1u);
  // The branch back says offset:-146. The kernel's text: 6 x 4 outputs, 4 k a trip, 10 vectors.
  const Counts all = listed(shader, 0);
  EXPECT_EQ(all.issued, 146);
  EXPECT_EQ(all.mac, 96);
  EXPECT_NEAR(all.mac / all.issued, .658, .0005);
  EXPECT_EQ(all.loads, 10);
  EXPECT_EQ(all.load_bytes, 160);
  // A trip skips the jump out of the loop: 96 FMA, 10 LOAD, 37 IADD, IADD_IMM, ICMP_OR and MOV, 2
  // branches.
  const Counts trip = own_trip(shader, 0);
  EXPECT_EQ(trip.issued, 145);
  EXPECT_EQ(trip.mac, 96);
  EXPECT_EQ(trip.fma, 96);
  EXPECT_EQ(trip.cvt, 37);
  EXPECT_EQ(trip.load_store, 10);
  EXPECT_EQ(trip.control, 2);
  EXPECT_EQ(trip.sfu + trip.texture + trip.stores + trip.store_bytes, 0);
  EXPECT_EQ(trip.mac / (trip.load_bytes / 16), 9.6);
  EXPECT_EQ(hot_loop(shader), 0);
}

TEST(mali, listing_of_valhall_counts_the_loop_of_an_f16_kernel) {
  const Shader shader = shader_of("valhall_dense_packed_f16");
  // offset:-190, 96 FMA.f32, 10 LOAD.i64 by grep; a trip skips the jump out.
  EXPECT_EQ(listed(shader, 0).issued, 190);
  const Counts trip = own_trip(shader, 0);
  EXPECT_EQ(trip.issued, 189);
  EXPECT_EQ(trip.mac, 96);
  EXPECT_EQ(trip.load_bytes, 80);
}

TEST(mali, listing_counts_pairs_of_halves_twice) {
  for (const std::string name : {"valhall_halves", "bifrost_halves"}) {
    const std::string text = sample(name);
    const Shader shader = parse_listing(text);
    EXPECT_EQ(lines_with(text, "FMA.v2f16 "), 4) << name;
    EXPECT_EQ(lines_with(text, "FMA.f32 "), 0) << name;
    EXPECT_EQ(shader.whole.mac, 8) << name;
    ASSERT_EQ(shader.loops.size(), 1u) << name;
    EXPECT_EQ(own_trip(shader, 0).mac, 8) << name;
    EXPECT_EQ(own_trip(shader, 0).load_bytes, 8 * 4) << name;  // 8 pairs of halves
  }
}

TEST(mali, listing_of_valhall_agrees_with_the_compiler_on_every_unit) {
  for (const std::string name : kSamples) {
    if (name.find("valhall") != 0) continue;
    const std::string text = sample(name);
    const Counts whole = parse_listing(text).whole;
    EXPECT_EQ(whole.issued, compiler_says(text, "inst")) << name;
    EXPECT_NEAR(whole.fma / 64, compiler_says(text, "fma"), 1e-6) << name;
    EXPECT_NEAR(whole.sfu / 16, compiler_says(text, "sfu"), 1e-6) << name;
    EXPECT_EQ(whole.load_store, compiler_says(text, "ls")) << name;
    EXPECT_EQ(whole.texture / 4, compiler_says(text, "t")) << name;
    // The compiler gives its conversion unit the branches and waits too, but no barriers, and
    // counts sums of 64 bits twice.
    const int barriers = lines_with(essence(text), "   BARRIER");
    const int twice = lines_with(essence(text), "   SHADDX.s64");
    EXPECT_NEAR((whole.cvt + whole.control + twice - barriers) / 64, compiler_says(text, "cvt"),
                1e-6)
        << name;
    EXPECT_EQ(whole.fma + whole.cvt + whole.sfu + whole.load_store + whole.texture + whole.control,
              whole.issued)
        << name;
    EXPECT_EQ(parse_listing(text).loops.size(), compiler_says(text, "loops")) << name;
  }
}

TEST(mali, listing_of_nested_loops_has_parents_and_own_trips) {
  const Shader shader = shader_of("valhall_conv2d_direct");
  // Branches back at instructions 515, 512 and 507 of 821, by 98, 89 and 80.
  ASSERT_EQ(shader.loops.size(), 3u);
  EXPECT_EQ(shader.loops[0].parent, -1);
  EXPECT_EQ(shader.loops[1].parent, 0);
  EXPECT_EQ(shader.loops[2].parent, 1);
  EXPECT_EQ(listed(shader, 0).issued, 98);
  EXPECT_EQ(listed(shader, 1).issued, 89);
  EXPECT_EQ(listed(shader, 2).issued, 80);
  // 418, 419, 421 to 423, 513 to 515; 424, 425, 427, 508 to 512; all but 430 of 428 to 507.
  EXPECT_EQ(own_trip(shader, 0).issued, 8);
  EXPECT_EQ(own_trip(shader, 1).issued, 8);
  EXPECT_EQ(own_trip(shader, 2).issued, 79);
  EXPECT_EQ(own_trip(shader, 2).mac, 16);
  EXPECT_EQ(own_trip(shader, 0).mac + own_trip(shader, 1).mac, 0);
  EXPECT_EQ(hot_loop(shader), 2);
}

TEST(mali, listing_of_a_kernel_with_barriers_is_read) {
  const Shader shader = shader_of("valhall_get_valid_counts_one");
  const std::string text = sample("valhall_get_valid_counts_one");
  // 3 BARRIER, 5 NOP and 30 BRANCHZ by grep.
  EXPECT_EQ(lines_with(text, " BARRIER"), 3);
  EXPECT_EQ(shader.whole.control, 3 + 5 + 30);
  EXPECT_TRUE(shader.full_occupancy());
  EXPECT_EQ(shader.loops.size(), 6u);
  EXPECT_EQ(shader.whole.mac, 0);
}

TEST(mali, listing_says_spills_and_scratch) {
  const Shader spill = shader_of("valhall_spill");
  EXPECT_EQ(spill.spills, 48);
  EXPECT_EQ(spill.fills, 141);
  const Shader none = shader_of("valhall_dense_packed");
  EXPECT_EQ(none.spills + none.fills + none.scratch_bytes, 0);
  // An array of 32 ints that is indexed by what was read.
  const Shader scratch = shader_of("valhall_scratch");
  EXPECT_EQ(scratch.scratch_bytes, 32 * 4);
  EXPECT_EQ(scratch.spills + scratch.fills, 0);
}

// ---- Bifrost and Midgard ----------------------------------------------------------------------

TEST(mali, listing_of_bifrost_counts_tuples) {
  const std::string text = sample("bifrost_dense_packed");
  const Shader shader = parse_listing(text);
  EXPECT_EQ(shader.kernel, "dense_packed");
  // grep -c of '^\*', '^\*FMA.f32', '^+LOAD', '^+STORE' and so on.
  EXPECT_EQ(shader.whole.issued, 509);
  EXPECT_EQ(shader.whole.issued, lines_with(text, "\n*"));
  EXPECT_EQ(shader.whole.mac, lines_with(text, "*FMA.f32 "));
  EXPECT_EQ(shader.whole.fma, lines_with(text, "\n*") - lines_with(text, "\n*NOP"));
  EXPECT_EQ(shader.whole.loads, lines_with(text, "+LOAD"));
  EXPECT_EQ(shader.whole.stores, lines_with(text, "+STORE"));
  EXPECT_EQ(shader.whole.control, lines_with(text, "+BRANCHZ") + lines_with(text, "+JUMP"));
  EXPECT_EQ(shader.whole.fma + shader.whole.cvt + shader.whole.sfu + shader.whole.load_store +
                shader.whole.control,
            compiler_says(text, "inst"));
  // From clause_23 to the jump back there in clause_133; a trip skips clause_131, the jump out.
  ASSERT_EQ(shader.loops.size(), 1u);
  EXPECT_EQ(listed(shader, 0).issued, 141);
  const Counts trip = own_trip(shader, 0);
  EXPECT_EQ(trip.issued, 140);
  EXPECT_EQ(trip.mac, 96);
  EXPECT_EQ(trip.load_bytes, 160);
  EXPECT_EQ(executed(shader, {2}).issued - executed(shader, {1}).issued, 140);
}

TEST(mali, listing_of_midgard_is_its_figures_alone) {
  const Shader shader = parse_listing(
      "shader: MESA_SHADER_KERNEL\n"
      "scratch: 64\n"
      "decl_function __wrapped_dense_plain () (entrypoint)\n"
      "SHADER-DB: MESA_SHADER_KERNEL shader: 735 inst, 299 bundles, 632 quadwords, 9 registers, "
      "1 threads, 1 loops, 1:25 spills:fills\n");
  EXPECT_EQ(shader.kernel, "dense_plain");
  EXPECT_EQ(shader.whole.issued, 299);
  EXPECT_EQ(shader.threads, 1);
  EXPECT_EQ(shader.full_threads, 4);
  EXPECT_EQ(shader.spills, 1);
  EXPECT_EQ(shader.fills, 25);
  EXPECT_EQ(shader.scratch_bytes, 64);
  EXPECT_EQ(hot_loop(shader), -1);
  EXPECT_THROWS_SAYING(executed(shader, {}), BadArgument, "no listing to walk through");
}

// ---- what is executed -------------------------------------------------------------------------

TEST(mali, listing_executed_weighs_nested_loops) {
  const Shader shader = shader_of("valhall_conv2d_direct");
  // 689 around the loops; each tests first, by 3 instructions when it ends.
  EXPECT_EQ(executed(shader, {0, 0, 0}).issued, 689 + 3);
  EXPECT_EQ(executed(shader, {2, 3, 5}).issued,
            689 + 2 * (8 + 3 * (8 + 5 * 79 + 3) + 3) + 3);  // 3150 by a walk
  EXPECT_EQ(executed(shader, {2, 3, 5}).mac - executed(shader, {0, 0, 0}).mac, 2 * 3 * 5 * 16);
}

TEST(mali, listing_executed_ends_a_loop_in_its_last_trip_when_it_tests_last) {
  const Shader shader = shader_of("valhall_dense_packed");
  EXPECT_EQ(executed(shader, {1}).issued, 547);  // by a walk
  EXPECT_EQ(executed(shader, {128}).issued, 547 + 127 * 145);
  EXPECT_EQ(executed(shader, {128}).mac - executed(shader, {0}).mac, 128 * 96);
  EXPECT_EQ(executed(shader, {0}).issued, 547 - 143);  // 145 but for the last two, past the exit
}

TEST(mali, listing_executed_takes_the_longer_side) {
  // r2 is zero: 1 instruction, else 3 and a jump. Then the end.
  EXPECT_EQ(issued({branch(4), kMac, kMac, kMac, jump(1), kMac, kEnd}, {}), 1 + 4 + 1);
  // The other side longer: 2 instead of 1 and a jump over both.
  EXPECT_EQ(issued({branch(2), kMac, jump(3), kMac, kMac, kMac, kEnd}, {}), 1 + 3 + 1);
  // A side that ends at once.
  EXPECT_EQ(issued({branch(1), kEnd, kMac, kMac, kEnd}, {}), 4);
}

TEST(mali, listing_executed_knows_where_a_loop_is_left) {
  // do { 3 MAC } while: 4 instructions a trip.
  const std::vector<std::string> last = {kMac, kMac, kMac, branch(-4), kEnd};
  EXPECT_EQ(issued(last, {1}), 4 + 1);
  EXPECT_EQ(issued(last, {5}), 5 * 4 + 1);
  EXPECT_EQ(issued(last, {.5}), .5 * 4 + 1);
  EXPECT_EQ(issued(last, {0}), 1);
  // while: a test of 1, then 3 MAC and the jump back.
  const std::vector<std::string> first = {branch(4), kMac, kMac, kMac, jump(-5), kEnd};
  EXPECT_EQ(issued(first, {0}), 1 + 1);
  EXPECT_EQ(issued(first, {5}), 5 * 5 + 1 + 1);
  // A break among 4 MAC, and the test last: the test's way out is as long or longer.
  EXPECT_EQ(issued({kMac, kMac, kMac, branch(2), kMac, branch(-6), kEnd}, {3}), 3 * 6 + 1);
}

TEST(mali, listing_joins_two_branches_back_to_one_loop) {
  // continue: back at once, else 2 MAC more and back; left by the first branch.
  const std::vector<std::string> rows = {branch(5), kMac, branch(-3), kMac, kMac, jump(-6), kEnd};
  const Shader shader = parse_listing(valhall(rows));
  ASSERT_EQ(shader.loops.size(), 1u);
  EXPECT_EQ(own_trip(shader, 0).issued, 6);
  EXPECT_EQ(listed(shader, 0).issued, 6);
  EXPECT_EQ(executed(shader, {2}).issued, 2 * 6 + 1 + 1);
}

TEST(mali, listing_ignores_branches_back_from_where_nobody_comes) {
  EXPECT_TRUE(parse_listing(valhall({kMac, jump(1), jump(-3), kEnd})).loops.empty());
}

TEST(mali, listing_wants_trips_that_fit) {
  const Shader shader = shader_of("valhall_dense_packed");
  EXPECT_THROWS_SAYING(executed(shader, {}), BadArgument, "has 1 loops, not 0");
  EXPECT_THROWS_SAYING(executed(shader, {1, 2}), BadArgument, "has 1 loops, not 2");
  EXPECT_THROWS_SAYING(executed(shader, {-1}), BadArgument, "cannot make -1 trips");
  EXPECT_THROWS_SAYING(executed(shader, {std::nan("")}), BadArgument, "trips");
  EXPECT_THROWS_SAYING(own_trip(shader, 1), BadArgument, "no loop 1");
}

// ---- Mesa 26 ----------------------------------------------------------------------------------

TEST(mali, listing_of_mesa_26_counts_a_loop_of_valhall) {
  const Shader shader = shader_of("valhall_testing_dense_plain_dump");
  EXPECT_EQ(shader.kernel, "dense_plain");
  EXPECT_EQ(shader.whole.issued, 48);
  EXPECT_TRUE(shader.full_occupancy());
  EXPECT_EQ(shader.spills, 0);
  ASSERT_EQ(shader.loops.size(), 1u);
  const Counts trip = own_trip(shader, 0);  // the branch back says offset:-21
  EXPECT_EQ(trip.issued, 21);
  EXPECT_EQ(trip.mac, 1);
  EXPECT_EQ(trip.loads, 2);
  EXPECT_EQ(trip.sfu, 1);
}

TEST(mali, listing_of_mesa_26_counts_a_loop_of_bifrost) {
  const Shader shader = shader_of("bifrost_testing_softmax_row_long");
  EXPECT_EQ(shader.whole.issued, 162);
  ASSERT_EQ(shader.loops.size(), 2u);
  EXPECT_EQ(listed(shader, 0).issued, 55);
  EXPECT_EQ(listed(shader, 1).issued, 34);
}

/// The same figures in the words of Mesa 25, and a row whose name the disassembler lacks.
TEST(mali, listing_essence_of_mesa_26_keeps_rows_without_a_name) {
  const std::string dump = sample("valhall_testing_dense_plain_dump");
  EXPECT_TRUE(ends_listing(dump.substr(dump.find("\nMESA_SHADER_KERNEL shader:") + 1)));
  EXPECT_FALSE(ends_listing("shader: MESA_SHADER_KERNEL"));
  const std::string text = essence(dump);
  EXPECT_EQ(lines_with(text, "   UNNAMED\n"), 1);
  EXPECT_EQ(essence(text), text);
  EXPECT_EQ(lines_with(sample("valhall_testing_dense_pack_w"), "   UNNAMED\n"), 5);
  EXPECT_EQ(essence(replaced(text, "   UNNAMED\n", "   \n")), text);
  EXPECT_EQ(essence(replaced(text, "SHADER-DB: ", "")), text);
}

/// One row less, or taken for one of another unit, or a figure that is another compiler's.
TEST(mali, listing_of_mesa_26_is_held_against_its_figures) {
  const std::string text = essence(sample("valhall_testing_dense_plain_dump"));
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "   UNNAMED\n", "")), BadArgument,
                       "the compiler says 48 inst, its listing has 47");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "UNNAMED", "MOV.i32 r1, r2")), BadArgument,
                       " cvt");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, " instrs,", " words,")), BadArgument,
                       "no figure 'inst'");
  const std::string bifrost = sample("bifrost_testing_softmax_row_long");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "0.000000 t,", "1.000000 t,")), BadArgument,
                       "1 texture");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "+LOAD.i128", "+MOV.i32")), BadArgument,
                       "ldst");
}

// ---- the essence of a dump --------------------------------------------------------------------

void expect_same(const Counts& a, const Counts& b) {
  EXPECT_EQ(a.issued, b.issued);
  EXPECT_EQ(a.fma, b.fma);
  EXPECT_EQ(a.cvt, b.cvt);
  EXPECT_EQ(a.load_store, b.load_store);
  EXPECT_EQ(a.mac, b.mac);
  EXPECT_EQ(a.load_bytes, b.load_bytes);
}

TEST(mali, listing_essence_says_the_same_in_less) {
  for (const std::string name : {"valhall_dense_plain_dump", "bifrost_dense_plain_dump"}) {
    const std::string dump = sample(name), short_form = essence(dump);
    EXPECT_LT(short_form.size() * 5, dump.size()) << name;
    EXPECT_EQ(essence(short_form), short_form) << name;
    const Shader a = parse_listing(dump), b = parse_listing(short_form);
    EXPECT_EQ(a.kernel, "dense_plain");
    EXPECT_EQ(b.kernel, "dense_plain");
    EXPECT_EQ(a.threads, b.threads);
    expect_same(a.whole, b.whole);
    ASSERT_EQ(a.blocks.size(), b.blocks.size());
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
      EXPECT_EQ(a.blocks[i].next, b.blocks[i].next);
      expect_same(a.blocks[i].counts, b.blocks[i].counts);
    }
    ASSERT_EQ(a.loops.size(), 1u);
    EXPECT_EQ(b.loops.size(), 1u);
  }
  for (const std::string name : kSamples)
    EXPECT_EQ(essence(essence(sample(name))), essence(sample(name))) << name;
}

TEST(mali, listing_of_a_whole_dump_is_the_last_pass_alone) {
  // 20 instructions in the loop, 1 of them an FMA; two loads of a float. A trip skips the jump out.
  const Shader shader = shader_of("valhall_dense_plain_dump");
  EXPECT_EQ(shader.whole.issued, 62);
  EXPECT_EQ(listed(shader, 0).issued, 20);
  const Counts trip = own_trip(shader, 0);
  EXPECT_EQ(trip.issued, 19);
  EXPECT_EQ(trip.mac, 1);
  EXPECT_EQ(trip.load_bytes, 8);
}

// ---- faults -----------------------------------------------------------------------------------

TEST(mali, listing_names_an_unknown_instruction) {
  const std::string valhall = sample("valhall_dense_packed");
  for (const char* word : {"FMAX2.f32", "FMA.f64", "LD_ODD.i32", "ST_ODD.i32", "IADD.i99", "Q"})
    EXPECT_THROWS_SAYING(parse_listing(replaced(valhall, "FMA.f32", word)), BadArgument, word);
  const std::string bifrost = sample("bifrost_dense_packed");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "*FMA.f32", "*FMAX2.f32")), BadArgument,
                       "*FMAX2.f32");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "+LOAD.i128", "+FMA.f32")), BadArgument,
                       "+FMA.f32");
}

TEST(mali, listing_notices_a_table_that_does_not_fit) {
  const std::string text = sample("valhall_dense_packed");
  // A conversion in place of an FMA: as many instructions, but not as many of each unit.
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "FMA.f32", "MOV.i32")), BadArgument,
                       "the compiler says 1.875 fma");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "LOAD.i128", "MOV.i32")), BadArgument, " cvt");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "605 inst", "606 inst")), BadArgument,
                       "the compiler says 606 inst, its listing has 605");
  const std::string bifrost = sample("bifrost_dense_packed");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "509 tuples", "508 tuples")), BadArgument,
                       "508 tuples");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "+LOAD.i128", "+MOV.i32")), BadArgument,
                       "ldst");
}

TEST(mali, listing_refuses_what_is_cut_or_missing) {
  const std::string text = sample("valhall_dense_packed");
  EXPECT_THROWS_SAYING(parse_listing(""), BadArgument, "no SHADER-DB line");
  EXPECT_THROWS_SAYING(essence(""), BadArgument, "no SHADER-DB line");
  EXPECT_THROWS_SAYING(parse_listing(text.substr(0, text.size() / 2)), BadArgument, "SHADER-DB");
  EXPECT_THROWS_SAYING(parse_listing(text + text), BadArgument, "more than one listing");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "decl_function", "x")), BadArgument,
                       "names no kernel");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, " threads,", " t,")), BadArgument, "threads");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "1 threads", "1e300 threads")), BadArgument,
                       "needs 1, 2 or 4");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, " spills:fills", "")), BadArgument, "spills");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "0:0 spills", "x:0 spills")), BadArgument,
                       "no number");
  EXPECT_THROWS_SAYING(parse_listing(valhall({})), BadArgument, "is empty");
  EXPECT_THROWS_SAYING(parse_listing(valhall({kMac, kMac})), BadArgument, "runs past its end");
}

TEST(mali, listing_refuses_branches_that_lead_nowhere) {
  EXPECT_THROWS_SAYING(parse_listing(valhall({jump(7), kEnd})), BadArgument, "out of its listing");
  EXPECT_THROWS_SAYING(parse_listing(valhall({jump(-9), kEnd})), BadArgument, "out of its listing");
  EXPECT_THROWS_SAYING(parse_listing(valhall({"BRANCHZ.eq 0x0, offset:99999999999", kEnd})),
                       BadArgument, "no number");
  EXPECT_THROWS_SAYING(parse_listing(valhall({"BRANCHZ.eq 0x0", kEnd})), BadArgument, "no offset");
  EXPECT_THROWS_SAYING(parse_listing(valhall({"BRANCHZI 0x0, ^r2", kEnd})), BadArgument,
                       "BRANCHZI");
  const std::string bifrost = sample("bifrost_dense_packed");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "t1, clause_136", "t1, clause_135")),
                       BadArgument, "out of its listing");
  EXPECT_THROWS_SAYING(parse_listing(replaced(bifrost, "t1, clause_136", "t1, r5")), BadArgument,
                       "names no clause");
}

TEST(mali, listing_refuses_code_that_is_not_structured) {
  EXPECT_THROWS_SAYING(parse_listing(valhall({kMac, jump(-2), kEnd})), BadArgument,
                       "no way to its end");
  // Into the middle of the loop of instructions 1 to 3.
  EXPECT_THROWS_SAYING(parse_listing(valhall({branch(1), kMac, kMac, branch(-3), kEnd})),
                       BadArgument, "into the middle of a loop");
  // Loops of instructions 0 to 2 and 1 to 3.
  EXPECT_THROWS_SAYING(parse_listing(valhall({kMac, kMac, branch(-3), branch(-3), kEnd})),
                       BadArgument, "overlap");
  std::vector<std::string> deep(100, kMac);
  for (int i = 0; i < 100; ++i) deep.push_back(branch(-2 * i - 2));
  deep.push_back(kEnd);
  EXPECT_THROWS_SAYING(parse_listing(valhall(deep)), BadArgument, "too deeply");
}

TEST(mali, listing_of_tuples_out_of_order_is_refused) {
  const std::string text = sample("bifrost_dense_packed");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "+NOP t1\n", "")), BadArgument, "slots");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "clause_23:", "clause_4:")), BadArgument,
                       "out of order");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "clause_0:", "clause_x:")), BadArgument,
                       "clause_0");
  EXPECT_THROWS_SAYING(parse_listing(replaced(text, "\nclause_23:", "\nds?")), BadArgument, "row");
}

/// Errors are allowed, anything else is not.
void survive(const std::string& text) {
  try {
    const Shader shader = parse_listing(text);
    executed(shader, std::vector<double>(shader.loops.size(), 2));
  } catch (const BadArgument&) {
  }
}

TEST(mali, listing_survives_what_is_no_listing) {
  std::mt19937 random(7);
  std::string noise(1 << 20, ' ');
  for (char& c : noise) c = static_cast<char>(random() & 255);
  survive(noise);
  for (const std::string name : kSamples) {
    const std::string text = sample(name);
    survive(noise + text + noise);
    for (int i = 0; i < 60; ++i) {
      std::string damaged = text;
      for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] = "0-:.* \n}+c"[random() % 10];
      survive(damaged);
      const std::size_t from = random() % text.size();
      survive(text.substr(0, from) + text.substr(from + random() % (text.size() - from)));
    }
  }
}

TEST(mali, listing_of_many_loops_is_read_at_once) {
  std::vector<std::string> rows;
  for (int i = 0; i < 20000; ++i) {
    rows.push_back(kMac);
    rows.push_back(branch(-2));
  }
  rows.push_back(kEnd);
  const Shader shader = parse_listing(valhall(rows));
  EXPECT_EQ(shader.loops.size(), 20000u);
  EXPECT_EQ(executed(shader, std::vector<double>(20000, 3)).mac, 60000);
  EXPECT_GE(hot_loop(shader), 0);
}

}  // namespace
}  // namespace clam::mali
