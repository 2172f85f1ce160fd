# SPDX-License-Identifier: MIT
# archive.cmake - builds for Linux with glibc 2.31 or newer, on aarch64 or x86_64, as CLAM_ARCHIVE says.
# CLAM_SYSROOT is a private folder that tools/package makes: glibc of Debian 11; the C++ library and
# all else of Debian 12. Nothing but glibc is linked dynamically.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CLAM_ARCHIVE CLAM_SYSROOT)
if(NOT EXISTS "${CLAM_SYSROOT}")
  message(FATAL_ERROR "CLAM_SYSROOT '${CLAM_SYSROOT}' is missing: tools/package makes it")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CLAM_ARCHIVE})
set(CMAKE_CXX_COMPILER ${CLAM_ARCHIVE}-linux-gnu-g++)

set(CMAKE_SYSROOT ${CLAM_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE ${CLAM_ARCHIVE}-linux-gnu)

# The compiler would take the headers and start files of its own C and C++ libraries first, which may
# be newer than those that the boards have; of its own only what belongs to the language stays.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=include
                OUTPUT_VARIABLE own_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
set(include ${CMAKE_SYSROOT}/usr/include)
set(triple ${CLAM_ARCHIVE}-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT "-nostdinc -nostdinc++")
foreach(folder ${include}/c++/12 ${include}/${triple}/c++/12 ${include}/c++/12/backward
               ${own_headers} ${include}/${triple} ${include})
  string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${folder}")
endforeach()
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-libstdc++ -static-libgcc")
foreach(folder usr/lib/gcc/${triple}/12 usr/lib/${triple} lib/${triple})
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -B${CMAKE_SYSROOT}/${folder} -L${CMAKE_SYSROOT}/${folder}")
endforeach()
# What Debian 12's C++ library asks of a newer glibc: one object that tools/package makes.
if(EXISTS ${CMAKE_SYSROOT}/usr/lib/clam_glibc.o)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " ${CMAKE_SYSROOT}/usr/lib/clam_glibc.o")
endif()
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${CMAKE_EXE_LINKER_FLAGS_INIT})
set(CMAKE_MODULE_LINKER_FLAGS_INIT ${CMAKE_EXE_LINKER_FLAGS_INIT})
