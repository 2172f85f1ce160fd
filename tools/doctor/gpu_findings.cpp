// SPDX-License-Identifier: MIT
// gpu_findings.cpp - the chip, its kernel driver, its node, and the clocks.
#include <fmt/core.h>

#include "findings.hpp"
#include "runtime/words.hpp"

namespace clam::doctor {
namespace {

using Level = Finding::Level;

std::string drivers_words(const std::string& driver) {
  return driver == "mali" ? "Arm's (mali)" : "Mesa's (" + driver + ")";
}

Finding gpu_finding(const Facts& facts) {
  const std::string board = facts.board.empty() ? "this machine" : facts.board;
  if (facts.soc) {
    return ok("GPU", fmt::format("{} is an {} with a {}", board, facts.soc->name, facts.soc->gpu));
  }
  if (!facts.driver.empty()) return ok("GPU", fmt::format("{} has a Mali", board));
  return {Level::note, "GPU", "no-mali",
          "no Mali is seen here: clam runs on whatever OpenCL device there is", "clam info -l"};
}

Finding without_driver(const Facts& facts) {
  if (facts.lacks_firmware) {
    return {
        Level::fault, "kernel driver", "no-firmware",
        "no kernel driver has taken the GPU, and its firmware mali_csffw.bin of linux-firmware is "
        "not here",
        "sudo install -D mali_csffw.bin /lib/firmware/arm/mali/arch10.8/mali_csffw.bin && sudo "
        "reboot"};
  }
  const bool streams = facts.soc && std::string(facts.soc->gpu) == "Mali-G610";
  return {Level::fault, "kernel driver", "no-driver",
          facts.device.empty() ? "the kernel knows no GPU: its device tree has it switched off, or "
                                 "the kernel has no driver for it"
                               : fmt::format("no kernel driver has taken {}", facts.device),
          streams ? "sudo modprobe panthor" : "sudo modprobe panfrost"};
}

Finding driver_finding(const Facts& facts) {
  if (facts.driver.empty()) return without_driver(facts);
  std::string text = drivers_words(facts.driver);
  if (!facts.version.empty() && facts.arms_driver()) text += ", version " + facts.version;
  if (!facts.device.empty()) text += ", has " + facts.device;
  return ok("kernel driver", text);
}

Finding node_finding(const Facts& facts) {
  if (facts.nodes.empty()) {
    const char* path = facts.arms_driver() ? "/dev/mali0" : "/dev/dri/renderD*";
    return {
        Level::fault, "device node", "no-node",
        fmt::format("there is no {}, though a kernel driver has the GPU: in a container it must be "
                    "given to it",
                    path),
        facts.arms_driver() ? "docker run --device /dev/mali0 ..."
                            : "docker run --device /dev/dri ..."};
  }
  for (const Node& node : facts.nodes) {
    if (node.may_open) return ok("device node", "you may open " + node.path);
  }
  const Node& node = facts.nodes.front();
  return {Level::fault, "device node", "node-closed", "you may not open " + node.path,
          node.group.empty()
              ? "sudo chmod a+rw " + node.path
              : fmt::format("sudo usermod -aG {} $USER && exec su - $USER", node.group)};
}

}  // namespace

Findings examine_gpu(const Facts& facts) {
  Findings findings{gpu_finding(facts)};
  if (findings[0].level != Level::ok) return findings;
  findings.push_back(driver_finding(facts));
  if (!facts.driver.empty()) findings.push_back(node_finding(facts));
  return findings;
}

Findings examine_clocks(const Board& board) {
  constexpr double kHot = 80;  // a chip slows down from about 85 C on
  Findings findings;
  const std::optional<double> mhz = board.gpu_mhz(), celsius = board.gpu_celsius();
  const std::vector<std::string> unpinned = board.unpinned();
  if (mhz.value_or(0) <= 0) {
    findings.push_back({Level::note, "clocks", "no-clock", "the GPU's clock is not shown here",
                        "sudo grep -i gpu /sys/kernel/debug/clk/clk_summary"});
  } else if (unpinned.empty()) {
    findings.push_back(ok("clocks", fmt::format("held at their top, the GPU at {:.0f} MHz", *mhz)));
  }
  for (const std::string& line : unpinned) {
    findings.push_back({Level::note, "clocks", "unpinned", line, "tools/bench --pin --quick"});
  }
  if (celsius) {
    const bool hot = *celsius >= kHot;
    findings.push_back(
        {hot ? Level::note : Level::ok, "temperature", hot ? "hot" : "",
         fmt::format("the GPU is at {:.0f} C{}", *celsius,
                     hot ? ", where chips slow down: cool it before you measure" : ""),
         hot ? "watch cat /sys/class/thermal/thermal_zone*/temp" : ""});
  }
  return findings;
}

const char* name(Finding::Level level) {
  constexpr Words<3> kLevels{"ok", "note", "FAULT"};
  return word_of(kLevels, level);
}

void to_json(nlohmann::json& json, const Finding& finding) {
  json = {{"level", name(finding.level)},
          {"topic", finding.topic},
          {"id", finding.id},
          {"text", finding.text},
          {"command", finding.command}};
}

}  // namespace clam::doctor
