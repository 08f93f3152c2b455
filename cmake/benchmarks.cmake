# Each benchmarks/<name>.cpp is a program of its own, `bench_<name>`; the target `benchmarks` builds them all.
add_custom_target(benchmarks)
file(GLOB benchmarks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/benchmarks/*.cpp)
foreach(source IN LISTS benchmarks)
  cmake_path(GET source STEM name)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(bench_${name} PRIVATE nvfuser nvfuser_flags)
  add_dependencies(benchmarks bench_${name})
endforeach()
