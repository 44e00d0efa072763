# `cmake --install`: the header, the static library, and files by which pkg-config and CMake find both. No path in them
# is absolute.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What trainlet.h includes has names that others use too: it goes to a folder of its own.
file(READ "${CMAKE_SOURCE_DIR}/src/trainlet.h" header)
string(REPLACE "#include \"status.h\"" "#include \"trainlet/status.h\"" header "${header}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/install/trainlet.h" CONTENT "${header}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/trainlet.h)
install(FILES "${CMAKE_BINARY_DIR}/install/trainlet.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES src/status.h src/status.def DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trainlet")

install(TARGETS trainlet EXPORT trainlet ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/trainlet")
install(EXPORT trainlet NAMESPACE trainlet:: FILE trainletTargets.cmake DESTINATION "${package_dir}")
configure_package_config_file(src/install/trainletConfig.cmake.in install/trainletConfig.cmake
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/install/trainletConfigVersion.cmake"
  VERSION "${version}" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/install/trainletConfig.cmake"
  "${CMAKE_BINARY_DIR}/install/trainletConfigVersion.cmake"
  DESTINATION "${package_dir}")

file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(src/install/trainlet.pc.in install/trainlet.pc @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/install/trainlet.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
