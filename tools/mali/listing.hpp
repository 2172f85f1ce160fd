// SPDX-License-Identifier: MIT
// listing.hpp - what Mesa's Mali compilers print about a kernel, as data: blocks, loops, counts.
//
// A listing is the text between "shader: MESA_SHADER_KERNEL" and its SHADER-DB line, which begins
// with that word up to Mesa 25 and with "MESA_SHADER_KERNEL shader:" in Mesa 26. Valhall lists
// instructions, with branches by distance; Bifrost lists tuples of an FMA and an ADD slot, with
// branches by block; of Midgard the SHADER-DB line alone is read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace clam::mali {

/// What a work-item executes in some stretch of code. Doubles, as trips weigh them.
struct Counts {
  double issued =
      0;  ///< what takes an issue slot: instructions; on Bifrost tuples, on Midgard bundles
  /// Instructions by unit. fma: on Bifrost the whole FMA slot. cvt: integers, conversions, moves;
  /// on Bifrost what else is in the ADD slot. control: branches, barriers, waits alone.
  double fma = 0, cvt = 0, sfu = 0, load_store = 0, texture = 0, control = 0;
  /// Multiply-adds of one value each: a pair of halves counts two. A bare multiply counts, as it
  /// may begin a sum; the scaled forms, which serve exponentials and divisions, do not.
  double mac = 0;
  /// Memory, whatever its address space; an atomic stores, and loads where it returns the old
  /// value. Images are not among them, as their formats are not in the listing: see `texture`,
  /// `load_store`.
  double loads = 0, stores = 0;
  double load_bytes = 0, store_bytes = 0;

  Counts& operator+=(const Counts& other);
  Counts& operator*=(double factor);
};

/// Straight code with one entry; `next` are the blocks that may follow it.
struct Block {
  Counts counts;
  std::vector<int> next;
};

/// Blocks first..last, entered at first. `parent`: the loop around it, -1 for none.
struct Loop {
  int first = 0, last = 0, parent = -1;
};

struct Shader {
  std::string kernel;    ///< "dense_packed"
  Counts whole;          ///< everything in the listing, once
  int threads = 0;       ///< as many warps as registers let a core hold; 1: the fewest
  int full_threads = 2;  ///< as many as a core holds at all: 2, on Midgard 4
  int spills = 0, fills = 0, scratch_bytes = 0;
  std::vector<Block> blocks;  ///< empty for Midgard
  std::vector<Loop> loops;    ///< in the order of their first blocks, outer before inner

  bool full_occupancy() const { return threads >= full_threads; }
};

/// Throws BadArgument naming what it does not understand: an unknown mnemonic is an error, and so
/// are counts that differ from those of the SHADER-DB line.
Shader parse_listing(std::string_view listing);

/// Whether it is a SHADER-DB line, a listing's last one.
bool ends_listing(std::string_view line);

/// The part of a compiler's dump that parse_listing reads: the kernel's name and scratch, the final
/// listing and the SHADER-DB line. Throws BadArgument where one of them is missing.
std::string essence(std::string_view dump);

/// What one trip of a loop executes, with the loops inside it left out: of every branch the longer
/// side that leads back to the loop's start.
Counts own_trip(const Shader& shader, std::size_t loop);
/// The loop with the most multiply-adds in its own trip, else the one with the most instructions;
/// -1 without loops.
int hot_loop(const Shader& shader);
/// What a work-item executes when loop i makes trips[i] trips each time it is reached: of every
/// branch the longer side. `trips` has one entry a loop. A loop that is left from the first half of
/// its listing tests before its work: it makes all its trips, and then goes as far as that exit.
/// One that is left from the second half leaves in its last trip.
/// Throws BadArgument for trips that do not fit, and for Midgard, whose loops are not known.
Counts executed(const Shader& shader, const std::vector<double>& trips);

}  // namespace clam::mali
