// SPDX-License-Identifier: MIT
// state.hpp - the script that is played, what each object is known by, and the device's time line.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "script.hpp"

namespace scripted {

struct ProgramRecord {
  Source source = std::make_shared<const std::string>();
  std::string options;
  bool from_binary = false, linked = false;
};

struct KernelRecord {
  std::string name;
  std::shared_ptr<ProgramRecord> program;
  cl_program made_of = nullptr;
  std::map<cl_uint, std::vector<unsigned char>> values;  ///< of arguments; local memory is empty
  std::map<cl_uint, std::size_t> locals;
};

/// Launches that were enqueued while others were not waited for.
struct Batch {
  std::int64_t started = 0, ended = 0;  ///< of the first one
  std::int64_t count = 0;
  std::int64_t dealt = 0;  ///< among how many its time was dealt out; 0: not yet
};

/// On the host's clock, in nanoseconds.
struct Command {
  std::int64_t queued = 0, submitted = 0, started = 0, ended = 0;
  cl_int status = CL_COMPLETE;
  bool never = false;  ///< it does not end
  std::int64_t held = 0;  ///< its number, as long as it waits for a flush; 0: it does not
  About about;
  std::shared_ptr<Batch> batch;  ///< whose time is dealt out among its launches; or none
  std::int64_t place = 0;        ///< in the batch
};

/// Of all that follows; never held while the library beneath is called.
std::mutex& mutex();

/// One for the process. Reads the script of CLAM_SCRIPTED_OPENCL when it is first asked for.
struct State {
  std::shared_ptr<Script> script;
  std::map<cl_program, std::shared_ptr<ProgramRecord>> programs;
  std::map<cl_kernel, KernelRecord> kernels;
  std::map<cl_event, Command> events;
  std::map<cl_mem, std::pair<cl_mem, std::size_t>> parts;  ///< sub-buffers: of what, from where
  std::set<std::pair<Source, std::string>> done;           ///< launches that need no repeat
  std::map<std::string, std::int64_t> counts;              ///< calls, and builds
  std::map<std::int64_t, std::int64_t> held;  ///< commands that wait for a flush, and their ns
  std::int64_t commands = 0;                  ///< that were held so far
  std::int64_t idle_at = 0;                                ///< the device has ended all by then
  std::int64_t own_ns = 0;                                 ///< the host's own work
  std::int64_t launches = 0, waits = 0;                    ///< that had their noise
  cl_int failed = CL_COMPLETE;  ///< status of a launch that clFinish has not told yet
  bool never = false;           ///< a command will not end
  bool used = false;            ///< there was a context
  std::shared_ptr<Batch> batch = std::make_shared<Batch>();
};
State& state();
std::shared_ptr<const Script> script();
/// Takes another script, with counts and clock going on. Throws as parse_script.
void play(const std::string& text);

/// The host works: enqueues, or waits for an answer.
void host_works(double us);
/// A command of so many nanoseconds is enqueued; the device takes one after the other.
Command enqueue(std::int64_t ns, const About& about = {});
/// What was held back starts now.
void flush();
/// The host waits until the command has ended. Hangs where it never does, or never starts.
void await(const Command& command);
void await_all();

/// Whether this is a process that the lie is for: the file that it names grows by a byte with each.
bool is_for_this_process(const Lie& lie);
[[noreturn]] void hang();
void write_log(const std::string& line);

// facts.cpp
std::optional<double> number_of(const char* key);  ///< of the device, where the script has it
std::string unknown_fact(const Script& script);    ///< a key of the device that is none; or empty

// noise.cpp: what the next launch or the next wait takes beside its own time
std::int64_t noisy_launch(std::int64_t ns);
std::int64_t noisy_wait(std::int64_t ns);
/// By its entry in the script, without noise.
std::int64_t cost_of(const About& about, const std::vector<std::size_t>& global,
                     const KernelRecord& kernel);
double gb_per_s(double bytes);

}  // namespace scripted
