// SPDX-License-Identifier: MIT
// contract_changes.hpp - what a host relies on in the kernels, as text, and how it differs from
// before.
#pragma once

#include <string>
#include <vector>

#include "runtime/contracts.hpp"

namespace clam::test {

/// One thing that a host relies on: "argument 0", and "x in T[m*k]".
struct ContractItem {
  std::string key, value;
};

/// Of a file, "dense.cl", or of a kernel, "dense.cl dense_packed".
struct ContractPart {
  std::string name;
  std::vector<ContractItem> items;
  const ContractItem* find(const std::string& key) const;  ///< nullptr when absent
};

struct Contracts {
  std::string version;  ///< "1.0"
  std::vector<ContractPart> parts;
  const ContractPart* find(const std::string& name) const;  ///< nullptr when absent
};

Contracts contracts_of(const std::string& version, const std::vector<FileTags>& files);

/// Those of all kernels of the tree, whichever ops are built.
Contracts contracts_of_the_tree();

/// An item a line, and back.
std::string text_of(const Contracts& contracts);
Contracts read_contracts(const std::string& text);

struct ContractChange {
  std::string line;  ///< as kernels/CHANGELOG.md has it
  bool breaks;       ///< a host that was written for the older contract must change
};
std::vector<ContractChange> changes_between(const Contracts& before, const Contracts& now);

/// What must be mended, a sentence each: changes that the page does not list under its newest
/// version, listed ones that are none, and a version that is too low. `page` is
/// kernels/CHANGELOG.md.
std::vector<std::string> changelog_faults(const Contracts& before, const Contracts& now,
                                          const std::string& page);

}  // namespace clam::test
