// SPDX-License-Identifier: MIT
// facts.hpp - what the system says of its Mali: the chip, the kernel driver, the device node, the
// user.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace clam::doctor {

/// A chip with a Mali.
struct Soc {
  const char* word;     ///< in the device tree's list "compatible"
  const char* name;     ///< "RK3588"
  const char* gpu;      ///< "Mali-G610"
  const char* library;  ///< the package of Arm's driver for it; empty: its vendor has one
};

/// A file through which programs reach the GPU.
struct Node {
  std::string path;
  bool may_open = false;
  std::string group;  ///< whose members may; empty: nobody else
};

struct Facts {
  std::string board;         ///< "Orange Pi 5"; empty: the machine does not say
  const Soc* soc = nullptr;  ///< nullptr: none that is known
  std::string device;        ///< "fb000000.gpu"; empty: no Mali among the devices
  std::string driver;        ///< mali (Arm's), panfrost or panthor; empty: none has taken it
  std::string version;       ///< of Arm's kernel driver
  std::vector<Node> nodes;
  bool lacks_firmware = false;  ///< a GPU with command streams, and none of the files is here

  bool arms_driver() const { return driver == "mali"; }
  bool mesas_driver() const { return driver == "panfrost" || driver == "panthor"; }
};

Facts read_facts(const Machine& machine);

}  // namespace clam::doctor
