# SPDX-License-Identifier: MIT
# aarch64.cmake - builds for Linux on aarch64 with glibc 2.36 or newer, on any machine that has
# aarch64-linux-gnu-g++. Headers and libraries, the C++ library included, are those of Debian 12 in a
# private folder, which tools/build-aarch64 makes; nothing but glibc and libOpenCL is linked
# dynamically there.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

if(NOT CLAM_AARCH64_SYSROOT)
  set(cache $ENV{XDG_CACHE_HOME})
  if(NOT cache)
    set(cache $ENV{HOME}/.cache)
  endif()
  set(CLAM_AARCH64_SYSROOT ${cache}/clam/drivers/sysroot-debian12-arm64)
endif()
if(NOT EXISTS ${CLAM_AARCH64_SYSROOT})
  message(FATAL_ERROR "${CLAM_AARCH64_SYSROOT} is missing: tools/build-aarch64 makes it")
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CLAM_AARCH64_SYSROOT)

set(CMAKE_SYSROOT ${CLAM_AARCH64_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The compiler would take the headers and start files of its own C and C++ libraries first, which may
# be newer than those that the boards have; of its own only what belongs to the language stays.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=include
                OUTPUT_VARIABLE own_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
set(include ${CMAKE_SYSROOT}/usr/include)
set(CMAKE_CXX_FLAGS_INIT "-nostdinc -nostdinc++")
foreach(folder ${include}/c++/12 ${include}/aarch64-linux-gnu/c++/12 ${include}/c++/12/backward
               ${own_headers} ${include}/aarch64-linux-gnu ${include})
  string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${folder}")
endforeach()
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-libstdc++ -static-libgcc")
foreach(folder gcc/aarch64-linux-gnu/12 aarch64-linux-gnu)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT
         " -B${CMAKE_SYSROOT}/usr/lib/${folder} -L${CMAKE_SYSROOT}/usr/lib/${folder}")
endforeach()
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${CMAKE_EXE_LINKER_FLAGS_INIT})
set(CMAKE_MODULE_LINKER_FLAGS_INIT ${CMAKE_EXE_LINKER_FLAGS_INIT})
