# `cmake --install`: libraries, header, pkg-config file and a package for find_package(hakmem).

# A build for a sanitizer is for tests, not for installing.
if(HAKMEM_SANITIZE)
  return()
endif()

include(CMakePackageConfigHelpers)

install(TARGETS hakmem hakmem_static EXPORT hakmem-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hakmem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hakmem)
install(EXPORT hakmem-targets NAMESPACE hakmem:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/hakmem-config.cmake.in
                              ${PROJECT_BINARY_DIR}/hakmem-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hakmem-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hakmem-config.cmake
              ${PROJECT_BINARY_DIR}/hakmem-config-version.cmake DESTINATION ${package_dir})

# Relative to the file itself, so that the installed tree may be moved.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/hakmem.pc.in ${PROJECT_BINARY_DIR}/hakmem.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hakmem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
