# Each examples/cpp/<name>.cpp is a program of its own: target and binary `example_<name>`.
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/cpp/*.cpp)
foreach(source IN LISTS examples)
  cmake_path(GET source STEM name)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE nvfuser nvfuser_flags)
  target_compile_options(example_${name} PRIVATE $<$<CONFIG:Release>:-O0>)  # their kernels are optimised, not they
endforeach()
