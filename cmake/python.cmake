# The Python packages nvfuser and nvfuser_direct: the extension module nvfuser._C, in build/python/nvfuser, and links
# to the packages' Python files. pip builds a wheel of the same (pyproject.toml), with the library beside the module.

# The interpreter: pip's own, else that of ./dev, else the machine's.
if(NOT DEFINED Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module
  OPTIONAL_COMPONENTS Development.SABIModule)  # what nanobind needs for the stable ABI
if(Python_Interpreter_FOUND AND NOT nanobind_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(Python_Development.Module_FOUND)
  find_package(nanobind CONFIG QUIET)
endif()
if(NOT nanobind_FOUND)
  set(kind WARNING)
  if(SKBUILD)
    set(kind FATAL_ERROR)
  endif()
  message(${kind} "The Python module is not built: nanobind or Python's headers are missing "
    "(./dev installs nanobind; Debian: apt-get install python3-dev)")
  return()
endif()

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cpp)
# From Python 3.12 on one module serves all later versions.
nanobind_add_module(nvfuser_python STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE ${sources})
set(package ${PROJECT_BINARY_DIR}/python/nvfuser)
set_target_properties(nvfuser_python PROPERTIES
  OUTPUT_NAME _C
  LIBRARY_OUTPUT_DIRECTORY ${package}
  INSTALL_RPATH "$ORIGIN")
target_include_directories(nvfuser_python PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
nvfuser_compile_together(nvfuser_python)
target_link_libraries(nvfuser_python PRIVATE nvfuser $<BUILD_INTERFACE:nvfuser_flags>)
foreach(name nvfuser nvfuser_direct)
  set(folder ${PROJECT_SOURCE_DIR}/python/${name})
  file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*.py)
  foreach(file IN LISTS python_files)
    set(link ${PROJECT_BINARY_DIR}/python/${name}/${file})
    cmake_path(GET link PARENT_PATH parent)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${folder}/${file} ${link} SYMBOLIC)
  endforeach()
endforeach()

# nvfuser.torchscript, with the sources of its extension, which is built where it is used; and what `import torch`
# calls, which in the build folder is known as if it were installed.
set(torchscript ${PROJECT_SOURCE_DIR}/torchscript)
file(GLOB torchscript_sources CONFIGURE_DEPENDS ${torchscript}/*.cpp ${torchscript}/*.h)
file(GLOB torchscript_python CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/nvfuser/torchscript/*.py)
set(torchscript_headers capi/nvfuser_c.h support/recently_used.h)  # of csrc/, which they include
file(MAKE_DIRECTORY ${package}/torchscript/src/capi ${package}/torchscript/src/support
  ${PROJECT_BINARY_DIR}/python/nvfuser_autoload)
foreach(file IN LISTS torchscript_sources torchscript_python)
  cmake_path(GET file FILENAME base)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  if(extension STREQUAL ".py")
    file(CREATE_LINK ${file} ${package}/torchscript/${base} SYMBOLIC)
  else()
    file(CREATE_LINK ${file} ${package}/torchscript/src/${base} SYMBOLIC)
  endif()
endforeach()
foreach(header IN LISTS torchscript_headers)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/csrc/${header} ${package}/torchscript/src/${header} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/nvfuser_autoload/__init__.py
  ${PROJECT_BINARY_DIR}/python/nvfuser_autoload/__init__.py SYMBOLIC)
set(dist_info ${PROJECT_BINARY_DIR}/python/nvfuser_jit-${PROJECT_VERSION}.dist-info)
file(CONFIGURE OUTPUT ${dist_info}/METADATA
  CONTENT "Metadata-Version: 2.1\nName: nvfuser-jit\nVersion: ${PROJECT_VERSION}\n" @ONLY)
file(CONFIGURE OUTPUT ${dist_info}/entry_points.txt
  CONTENT "[torch.backends]\nnvfuser = nvfuser_autoload:autoload\n" @ONLY)

# What a toolchain links of the C++ runtime as an archive stays hidden: the process has its own, of any version.
foreach(target nvfuser nvfuser_python)
  target_link_options(${target} PRIVATE LINKER:--exclude-libs,libstdc++.a:libstdc++_nonshared.a)
endforeach()
if(SKBUILD)  # only a wheel takes the module: an installed library (./dev install) is for C++ and C
  # A wheel brings the C++ runtime along. The unwinder (libgcc_s) is the machine's: exceptions that pass from one library
  # to the other need a common one. Parts of the runtime that nobody calls are left out: one of them would ask for a newer
  # glibc than all the rest.
  foreach(target nvfuser nvfuser_python)
    target_link_options(${target} PRIVATE -static-libstdc++ LINKER:--gc-sections)
  endforeach()
  install(TARGETS nvfuser_python LIBRARY DESTINATION nvfuser COMPONENT python)
  install(FILES $<TARGET_FILE:nvfuser> DESTINATION nvfuser COMPONENT python
    RENAME $<TARGET_SONAME_FILE_NAME:nvfuser>)
  install(FILES ${torchscript_sources} DESTINATION nvfuser/torchscript/src COMPONENT python)
  foreach(header IN LISTS torchscript_headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/csrc/${header} DESTINATION nvfuser/torchscript/src/${folder} COMPONENT python)
  endforeach()
endif()
