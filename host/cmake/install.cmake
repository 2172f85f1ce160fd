# SPDX-License-Identifier: MIT
# What another project builds against: both libraries, their headers, clamConfig.cmake and clam.pc.
add_library(clam_shared SHARED $<TARGET_OBJECTS:clam_host>)
clam_library_uses(clam_shared)
set_target_properties(clam_shared PROPERTIES OUTPUT_NAME clam EXPORT_NAME shared
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
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

# clam.pc finds the rest from where it lies.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(TRANSFORM opencl_definitions PREPEND -D OUTPUT_VARIABLE PC_DEFINITIONS)
list(JOIN PC_DEFINITIONS " " PC_DEFINITIONS)
configure_file(host/cmake/clam.pc.in ${PROJECT_BINARY_DIR}/clam.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/clam.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# The contracts of the kernels, for hosts that bring a runtime of their own.
if(TARGET clam)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/manifest.json
                     COMMAND clam manifest --json ${PROJECT_BINARY_DIR}/manifest.json
                     DEPENDS clam VERBATIM)
  add_custom_target(clam_manifest ALL DEPENDS ${PROJECT_BINARY_DIR}/manifest.json)
  install(FILES ${PROJECT_BINARY_DIR}/manifest.json
          DESTINATION ${CMAKE_INSTALL_DATADIR}/clam COMPONENT dev)
endif()
