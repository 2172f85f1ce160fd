/* SPDX-License-Identifier: MIT
   newer_glibc.c - what the C++ library of Debian 12 asks of glibc, and glibc 2.31 lacks. It is linked into
   the programs of tools/package. */
#include <stdint.h>
#include <sys/random.h>

/* From 2.32 on: whether the process has one thread alone. 0, "perhaps not", is always right. */
char __libc_single_threaded = 0;

/* From 2.36 on. */
uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
  }
  return value;
}
