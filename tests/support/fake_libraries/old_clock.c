/* SPDX-License-Identifier: MIT
   old_clock.c - preloaded, it is a board without a battery: the day is 1970-01-01 when it starts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static const time_t kSecond = 42;

time_t time(time_t* value) {
  if (value) *value = kSecond;
  return kSecond;
}
int clock_gettime(clockid_t clock, struct timespec* value) {
  int (*next)(clockid_t, struct timespec*) =
      (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int code = next(clock, value);
  if (clock == CLOCK_REALTIME) value->tv_sec = kSecond;
  return code;
}
