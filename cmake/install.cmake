# What an installed nvfuser is: headers under one root (include/nvfuser), libnvfuser.so, a CMake package and a
# pkg-config file. Both find the prefix from their own place, so an installed tree can be moved.
include(CMakePackageConfigHelpers)

set(NVFUSER_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/nvfuser)

install(TARGETS nvfuser EXPORT nvfuserTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/csrc/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nvfuser
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

install(EXPORT nvfuserTargets NAMESPACE nvfuser:: DESTINATION ${NVFUSER_CMAKE_DIR})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/nvfuserConfig.cmake.in ${PROJECT_BINARY_DIR}/nvfuserConfig.cmake
  INSTALL_DESTINATION ${NVFUSER_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nvfuserConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/nvfuserConfig.cmake ${PROJECT_BINARY_DIR}/nvfuserConfigVersion.cmake
  DESTINATION ${NVFUSER_CMAKE_DIR})

set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH NVFUSER_PC_TO_LIB ${pc_dir} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH NVFUSER_PC_TO_INCLUDE ${pc_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/nvfuser.pc.in ${PROJECT_BINARY_DIR}/nvfuser.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nvfuser.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
