// SPDX-License-Identifier: MIT
// Bifrost: clauses of tuples, a tuple a line of the FMA slot ("*") and one of the ADD slot ("+").
// A branch ends its clause and names the clause that it leads to, or nothing: the end.
#include <fmt/core.h>

#include <algorithm>

#include "listing_parts.hpp"
#include "runtime/refuse.hpp"
#include "tokens/letters.hpp"

namespace clam::mali {
namespace {

// The instructions that Mesa's disassembler prints (25.0), each with its slot; those of fragment
// and vertex shaders are left out. In the ADD slot, those that look values up are called sfu.
const UnitTable& units() {
  static const UnitTable table = {
      {Unit::fma,
       "*ARSHIFT *ARSHIFT_DOUBLE *ATOM_C *ATOM_C1 *ATOM_C1_RETURN *ATOM_C_RETURN *ATOM_POST "
       "*ATOM_PRE *BITREV *CLZ *CSEL *CUBEFACE1 *DTSEL_IMM *F16_TO_F32 *FADD *FADD_LSCALE *FCMP "
       "*FLSHIFT_DOUBLE *FMA *FMA_RSCALE *FMUL_CSLICE *FMUL_SLICE *FREXPE *FREXPM *FROUND "
       "*FRSHIFT_DOUBLE *IADDC *IDP *IMUL *IMULD *ISUBB *LROT_DOUBLE *LSHIFT_AND *LSHIFT_DOUBLE "
       "*LSHIFT_OR *LSHIFT_XOR *MKVEC *MOV *POPCOUNT *QUIET *RROT_DOUBLE *RSHIFT_AND "
       "*RSHIFT_DOUBLE *RSHIFT_OR *RSHIFT_XOR *S16_TO_S32 *S8_TO_S32 *SEG_ADD *SEG_SUB *SHADDXL "
       "*U16_TO_U32 *U8_TO_U32 *V2F32_TO_V2F16 *VN_ASST1"},
      {Unit::cvt,
       "+CLPER +CLPER_OLD +CUBEFACE2 +CUBE_SSEL +CUBE_TSEL +F16_TO_F32 +F16_TO_S32 +F16_TO_U32 "
       "+F32_TO_S32 +F32_TO_U32 +FADD +FADD_RSCALE +FCMP +FMAX +FMIN +FPCLASS +FREXPE +FREXPM "
       "+FROUND +HADD +IABS +IADD +ICMP +ICMPF +ICMPI +ICMPM +ILOGB +IMOV_FMA +ISUB +LDEXP +LOGB "
       "+MKVEC +MOV +MUX +QUIET +S16_TO_F32 +S16_TO_S32 +S32_TO_F32 +S8_TO_F32 +S8_TO_S32 "
       "+SEG_ADD +SEG_SUB +SHADDXH +SHIFT_DOUBLE +SWZ +U16_TO_F32 +U16_TO_U32 +U32_TO_F32 "
       "+U8_TO_F32 +U8_TO_U32 +V2F16_TO_V2S16 +V2F16_TO_V2U16 +V2F32_TO_V2F16 +V2S16_TO_V2F16 "
       "+V2S8_TO_V2F16 +V2S8_TO_V2S16 +V2U16_TO_V2F16 +V2U8_TO_V2F16 +V2U8_TO_V2U16 +VN_ASST2 "
       "+WMASK"},
      {Unit::sfu,
       "+FATAN_ASSIST +FATAN_TABLE +FCOS_TABLE +FEXP +FEXP_TABLE +FLOGD +FLOG_TABLE "
       "+FPOW_SC_APPLY +FPOW_SC_DET +FRCBRT_APPROX_A +FRCBRT_APPROX_B +FRCBRT_APPROX_C +FRCP "
       "+FRCP_APPROX +FRSQ +FRSQ_APPROX +FSINCOS_OFFSET +FSIN_TABLE"},
      {Unit::load_store,
       "+ACMPSTORE +ACMPXCHG +ATOM_CX +AXCHG +LD_ATTR +LD_ATTR_IMM +LD_ATTR_TEX +LEA_ATTR "
       "+LEA_ATTR_IMM +LEA_ATTR_TEX +LEA_TEX +LEA_TEX_IMM +LOAD +STORE +ST_CVT"},
      {Unit::texture, "+TEXC +TEXS_2D +TEXS_CUBE"},
      {Unit::control, "+JUMP +BRANCHZ +BRANCH +BARRIER"},
      {Unit::none, "*NOP +NOP"},
  };
  return table;
}

constexpr std::string_view kClause = "clause_";

/// The number of a clause, as its label and the branches to it write it.
int clause_number(std::string_view name) {
  return leading_int(name.substr(kClause.size()), "the number of a clause");
}

struct Clause {
  int number = 0;
  bool is_last = false;     ///< the kernel ends behind it
  std::string_view branch;  ///< the row of its branch, if any
  Counts counts;
};

class Reader {
 public:
  explicit Reader(const Cut& cut) : cut_(cut) {
    for (const std::string_view row : cut.rows) read(row);
    if (slots_ % 2 != 0) fail("an FMA slot without its ADD slot");
  }

  const std::vector<Clause>& clauses() const { return clauses_; }
  double instructions() const { return instructions_; }

 private:
  void read(std::string_view row) {
    if (starts_with(row, kClause)) return begin_clause(row);
    if (clauses_.empty()) fail("no clause before its first row");
    if (row[0] == '*' || row[0] == '+') return read_slot(row);
    if (!starts_with(row, "ds(")) fail(fmt::format("the row {}", in_quotes(row)));
    clauses_.back().is_last = fmt::format("{} ", row).find(" eos ") != std::string::npos;
  }

  void begin_clause(std::string_view row) {
    const int number = clause_number(row);
    if (slots_ % 2 != 0) fail("an FMA slot without its ADD slot");
    if (number != 0 && (clauses_.empty() || number <= clauses_.back().number))
      fail("clauses out of order");
    clauses_.emplace_back().number = number;
  }

  void read_slot(std::string_view row) {
    Clause& clause = clauses_.back();
    const bool fma_slot = slots_++ % 2 == 0;
    if ((row[0] == '*') != fma_slot) fail("tuples whose slots are out of order");
    if (!clause.branch.empty()) fail("a branch that does not end its clause");
    if (fma_slot) clause.counts.issued += 1;
    const std::string_view word = row.substr(0, row.find(' '));
    Mnemonic found = units().find(word);
    if (found.unit != Unit::none) instructions_ += 1;
    if (found.unit == Unit::control && found.name != "+BARRIER") clause.branch = row;
    found.name.remove_prefix(1);  // the slot
    count_instruction(found, clause.counts);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw BadArgument(fmt::format("kernel '{}': its listing has {}", cut_.kernel, what));
  }

  const Cut& cut_;
  std::vector<Clause> clauses_;
  std::size_t slots_ = 0;
  double instructions_ = 0;
};

/// The last operand of a row, without the comment that gives a constant as a float.
std::string_view last_operand(std::string_view row) {
  row = row.substr(0, row.find(" /*"));
  return row.substr(row.rfind(' ') + 1);
}

/// A branch by zero ends the kernel.
bool is_zero(std::string_view operand) {
  return operand == "0x00000000" || operand == "#0" || operand == "#0.x" || operand == "#0.y";
}

int target_of(std::string_view branch, const std::vector<Clause>& clauses) {
  const std::string_view operand = last_operand(branch);
  if (is_zero(operand)) return static_cast<int>(clauses.size());
  throw_if(!starts_with(operand, kClause), "the branch {} names no clause", in_quotes(branch));
  const int number = clause_number(operand);
  const auto target =
      std::lower_bound(clauses.begin(), clauses.end(), number,
                       [](const Clause& clause, int other) { return clause.number < other; });
  if (target == clauses.end() || target->number != number)
    throw BadArgument(fmt::format("the branch {} leads out of its listing", in_quotes(branch)));
  return static_cast<int>(target - clauses.begin());
}

}  // namespace

std::vector<Step> bifrost_steps(const Cut& cut) {
  const Reader reader(cut);
  std::vector<Step> steps;
  Counts whole;
  for (const Clause& clause : reader.clauses()) {
    Step& step = steps.emplace_back();
    step.counts = clause.counts;
    whole += clause.counts;
    if (!clause.branch.empty()) step.target = target_of(clause.branch, reader.clauses());
    step.falls = !clause.is_last && !starts_with(clause.branch, "+JUMP");
  }
  constexpr double kTexture = 2;  // fetches per clock, as the figure is divided by
  expect_figure(cut, "inst", reader.instructions());
  expect_figure(cut, "tuples", whole.issued);
  expect_figure(cut, "clauses", static_cast<double>(steps.size()));
  expect_figure(cut, "ldst", whole.load_store);
  expect_figure(cut, "texture", whole.texture / kTexture);
  return steps;
}

}  // namespace clam::mali
