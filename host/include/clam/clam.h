/* SPDX-License-Identifier: MIT */
/* clam.h - clam for programs in C, and for languages that call C. libclam.so exports these
 * functions alone.
 *
 * A problem is one line of text, as `clam plan` takes it. A plan is made from it, with or without a
 * device. A runtime builds plans and enqueues them on the caller's queue, with the caller's
 * buffers:
 *
 *     clam_plan_create(problem) -> clam_prepare(runtime, plan) -> clam_bind(...) for each tensor
 *       -> clam_pack() once -> clam_enqueue() as often as wanted -> clam_finish(), or an event
 *
 * Threads. The library keeps no state of its own: all state belongs to a handle. A plan never
 * changes, so several threads may use it at the same time. Any thread may use a runtime, and what
 * was prepared with it. Such calls wait for one another, and are marked "one at a time". Different
 * runtimes are independent, also on one context. A handle may be destroyed in any thread, when no
 * other thread uses it.
 *
 * Errors. What can fail returns a clam_status, and fills the caller's clam_error where one is
 * given. A handle that could not be made is NULL. No function throws a C++ exception. After a
 * DEVICE_FAILED of a launch or a wait, the runtime is tainted: each later call fails with the same
 * text, and a new context is needed.
 *
 * Structs begin with their size, which the caller sets by sizeof. A later version may append
 * fields. Fields that the caller's header does not have are taken as zero. An older library refuses
 * a struct with fields that it does not know, unless they are zero. Zero, or NULL, is the default
 * of every field but the size.
 */
#ifndef CLAM_CLAM_H
#define CLAM_CLAM_H

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Python's cffi reads the text up to the matching line too, so there are no directives in
 * between. */
/* cffi begins */

typedef enum clam_status {
  CLAM_OK = 0,
  CLAM_BAD_ARGUMENT = 1,  /* the caller's input is wrong; nothing was launched */
  CLAM_UNSUPPORTED = 2,   /* this device cannot run the problem, for the reason given */
  CLAM_BUILD_FAILED = 3,  /* a kernel did not build; the driver's log is in the text */
  CLAM_DEVICE_FAILED = 4, /* OpenCL or its driver failed; cl_status says with what */
  CLAM_FAILED = 5         /* something else, such as memory of the host */
} clam_status;

/* Filled if a function fails, and otherwise left unchanged. */
typedef struct clam_error {
  size_t size;       /* sizeof(clam_error), from the caller */
  int32_t status;    /* a clam_status */
  int32_t cl_status; /* of OpenCL; 0 if OpenCL did not fail */
  char text[2000];   /* one sentence that says what to do; the log of a build is cut to this */
} clam_error;

typedef struct clam_plan clam_plan;
typedef struct clam_runtime clam_runtime;
typedef struct clam_executable clam_executable;

typedef struct clam_plan_options {
  size_t size;            /* sizeof(clam_plan_options) */
  const char *variant;    /* NULL: the fastest that fits, as was measured, else as predicted */
  const char *tile;       /* "M0=4,N0=8"; NULL: the same */
  int32_t max_work_group; /* most work-items of a group; 0: the variant's default */
  const char *tuned_dir;  /* a folder of rows that `clam tune` measured; NULL: the built-in ones */
} clam_plan_options;

typedef struct clam_runtime_options {
  size_t size;              /* sizeof(clam_runtime_options) */
  const char *cache_dir;    /* where built programs are kept, if it can be written; NULL: nowhere */
  int64_t cache_limit;      /* most bytes there; 0: 128 MB */
  const char *kernel_dir;   /* .cl files that replace built-in ones by name; NULL: none */
  int32_t max_in_flight;    /* most unfinished launches; 0: 32 */
  int32_t launches_a_flush; /* 0: as was measured, else 8; -1: only before waits */
  const char *tuned_dir;    /* as for a plan; clam_prepare takes it for a plan without one */
} clam_runtime_options;

/* A tensor of a plan, and its place in the caller's buffer. Its pointers are valid as long as the
 * plan lives. */
typedef struct clam_tensor {
  size_t size;            /* sizeof(clam_tensor), from the caller */
  const char *name;       /* "src" */
  const char *dtype;      /* "f32", "f16" or "i32" */
  int32_t is_output;      /* 0: it is read only */
  int32_t rank;           /* number of axes */
  const int64_t *shape;   /* rank extents */
  const int64_t *strides; /* rank strides in elements */
  int64_t offset;         /* of the first element, in elements */
  int64_t bytes;          /* least size of its buffer */
} clam_tensor;

/* "0.1.0". Any thread. */
const char *clam_version(void);
/* All ops as JSON: {"ops": [{"name", "about", "fields", "variants"}]}. NULL if the host has no
 * memory left. Any thread. */
const char *clam_ops(void);
/* The contracts of all kernels as JSON, as `clam manifest --json -` prints them. Any thread. */
const char *clam_manifest(void);
/* The text of a kernel file such as "dense.cl"; NULL if there is none of that name. Any thread. */
const char *clam_source(const char *file);

/* Plans a problem. `device` is a device of this machine, or NULL. Then `facts` is a key such as
 * "g610", or the JSON of `clam info --json -`; both NULL plan for a generic device. Rows of
 * tuned_dir count if they were measured with the built-in kernels. `options` may be NULL. Any
 * thread. */
clam_status clam_plan_create(const char *problem, cl_device_id device, const char *facts,
                             const clam_plan_options *options, clam_plan **plan, clam_error *error);
/* The plan as JSON, as `clam plan --json -` writes it. It lives as long as the plan. Any thread. */
const char *clam_plan_json(const clam_plan *plan);
/* Fills `tensor` with the plan's tensor number `index`. BAD_ARGUMENT after the last one. Any
 * thread. */
clam_status clam_plan_tensor(const clam_plan *plan, int32_t index, clam_tensor *tensor,
                             clam_error *error);
/* NULL does nothing, as in the other two destroy functions. Any thread, when no other thread uses
 * the plan. */
void clam_plan_destroy(clam_plan *plan);

/* Borrows an in-order queue and its context, and retains both. `options` may be NULL. Any thread.
 */
clam_status clam_runtime_create(cl_command_queue queue, const clam_runtime_options *options,
                                clam_runtime **runtime, clam_error *error);
/* Executables that were prepared with it stay usable. Their events are then the only way to wait.
 * The last executable that is destroyed waits for all launches. Any thread. */
void clam_runtime_destroy(clam_runtime *runtime);

/* Builds the kernels, and allocates scratch and packed buffers. A plan that was made for a device
 * of this machine is made again for the runtime's device, with smaller groups if a built kernel
 * needs them. A plan made from `facts`, or for a generic device, is taken as it is. One at a
 * time. */
clam_status clam_prepare(clam_runtime *runtime, const clam_plan *plan, clam_executable **executable,
                         clam_error *error);
/* The plan that is run. clam_pack may make it again with smaller groups. Each returned plan lives
 * as long as the executable. One at a time. */
const clam_plan *clam_executable_plan(const clam_executable *executable);
/* Sets the buffer of a tensor, and retains it until another one is set. It may be a sub-buffer.
 * NULL removes it, for example for weights that are packed: they may then be released. One at a
 * time. */
clam_status clam_bind(clam_executable *executable, const char *tensor, cl_mem buffer,
                      clam_error *error);
/* Packs the constant inputs (weights) that are bound, and waits. Call it before the first
 * clam_enqueue, and when those inputs change. For a plan that packs nothing, it does nothing. One
 * at a time. */
clam_status clam_pack(clam_executable *executable, clam_error *error);
/* Enqueues the launches after the events of `wait`. `*event` is the event of the last one, which
 * the caller releases; `event` may be NULL. Flush the queue before you wait for that event: some
 * drivers start nothing before a flush. The call waits only while max_in_flight launches are
 * unfinished. UNSUPPORTED means that the driver refused a group size that it had promised: prepare
 * again then. One at a time. */
clam_status clam_enqueue(clam_executable *executable, uint32_t wait_count, const cl_event *wait,
                         cl_event *event, clam_error *error);
/* Waits until all launches of its runtime have ended. Any thread. */
void clam_executable_destroy(clam_executable *executable);
/* Waits for all that the runtime enqueued, and checks how each launch ended. One at a time.
 */
clam_status clam_finish(clam_runtime *runtime, clam_error *error);

/* cffi ends */

#ifdef __cplusplus
}
#endif
#endif
