# SPDX-License-Identifier: MIT
# clam for others: a shared library that exports clam.h alone, the package for Python, and what another project
# builds against.
set(exported ${PROJECT_SOURCE_DIR}/host/c/clam.map)
add_library(clam_shared SHARED $<TARGET_OBJECTS:clam_host>)
target_include_directories(clam_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/host/include>
                                                 $<INSTALL_INTERFACE:include>)
target_link_libraries(clam_shared PUBLIC OpenCL::OpenCL
                      PRIVATE fmt::fmt ${XXHASH_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(clam_shared PRIVATE -Wl,--version-script=${exported})
set_target_properties(clam_shared PROPERTIES OUTPUT_NAME clam EXPORT_NAME shared LINK_DEPENDS ${exported}
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

# The folder python/, from which `import clam_mali` works. The wheel is made of it.
set(python ${PROJECT_BINARY_DIR}/python/clam_mali)
file(GLOB python_sources CONFIGURE_DEPENDS tools/python/clam_mali/*.py tools/python/clam_mali/py.typed)
file(GLOB headers CONFIGURE_DEPENDS host/include/clam/*)
add_custom_command(
  OUTPUT ${python}/libclam.so
  COMMAND ${CMAKE_COMMAND} -E make_directory ${python}/include/clam ${python}/kernels
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_sources} ${python}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${headers} ${python}/include/clam
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${kernels} ${python}/kernels
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:clam_shared> ${python}/libclam.so
  DEPENDS clam_shared ${python_sources} ${headers} ${kernels} VERBATIM)
add_custom_target(clam_python ALL DEPENDS ${python}/libclam.so)

if(CMAKE_CROSSCOMPILING)
  install(TARGETS clam_shared LIBRARY)
  install(FILES host/include/clam/clam.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/clam)
  return()
endif()
# The C++ library is an archive.
install(TARGETS clam_host clam_shared EXPORT clamTargets
        ARCHIVE COMPONENT dev LIBRARY COMPONENT dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY host/include/clam DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/clam)
install(EXPORT clamTargets NAMESPACE clam:: DESTINATION ${package} COMPONENT dev)
configure_package_config_file(host/cmake/clamConfig.cmake.in ${PROJECT_BINARY_DIR}/clamConfig.cmake
                              INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/clamConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/clamConfig.cmake ${PROJECT_BINARY_DIR}/clamConfigVersion.cmake
        DESTINATION ${package} COMPONENT dev)

# They find the rest from where they lie.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(TRANSFORM opencl_definitions PREPEND -D OUTPUT_VARIABLE PC_DEFINITIONS)
list(JOIN PC_DEFINITIONS " " PC_DEFINITIONS)
foreach(file clam.pc clam-cpp.pc)
  configure_file(host/cmake/${file}.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

# The contracts of the kernels, for hosts that bring a runtime of their own.
if(TARGET clam)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/manifest.json
                     COMMAND clam manifest --json ${PROJECT_BINARY_DIR}/manifest.json
                     COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_BINARY_DIR}/manifest.json ${python}
                     DEPENDS clam ${python}/libclam.so VERBATIM)
  add_custom_target(clam_manifest ALL DEPENDS ${PROJECT_BINARY_DIR}/manifest.json)
  install(FILES ${PROJECT_BINARY_DIR}/manifest.json
          DESTINATION ${CMAKE_INSTALL_DATADIR}/clam COMPONENT dev)
endif()
