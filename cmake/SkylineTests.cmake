# skyline_add_test(MODULE SOURCES ... LIBRARIES ...): a GoogleTest program, one CTest entry a test suite.
# Labels are unit.MODULE and mpi.MODULE.
# skyline_add_test_library(NAME SOURCES ... LIBRARIES ...): what several of these programs have in common, compiled once.
# skyline_add_mpi_test(MODULE PATH LIBRARIES ... RANKS 1 2 3): a GoogleTest program under mpirun, of PATH.cpp;
# MODULE.NAME.npR, where NAME is the last part of PATH.
# Ranks wait more than they compute: such a test counts as one processor.
# COST is about how many seconds a test takes, of those that take long: CTest begins with them. A test of two processors
# has 300, since later CTest seldom finds two free at once and leaves all of these to the end, one at a time.
# skyline_add_gpu_test(NAME SOURCES ... LIBRARIES ...): a GoogleTest program that needs a GPU, one CTest entry gpu.NAME
# with the label gpu: built in CI, run on machines with a GPU (scripts/gpu_check). It fails where there is none.
# skyline_add_gpu_benchmark(NAME SOURCES ... LIBRARIES ...): a program that scripts/gpu_check runs and whose standard
# output is one JSON document; libraries include its main.

find_package(GTest REQUIRED)

skyline_add_precompiled(tests OFF
  HEADERS ${skyline_standard_headers} <gmock/gmock.h> <gtest/gtest.h> LIBRARIES GTest::gmock)
skyline_add_precompiled(torch_tests OFF
  HEADERS ${skyline_standard_headers} ${skyline_torch_headers} <gmock/gmock.h> <gtest/gtest.h>
  LIBRARIES GTest::gmock skyline_torch::torch_cpu skyline_torch::c10)

# Tests run for seconds and are compiled for minutes: half of that goes into optimizing them beyond -O1. What benchmarks
# measure is in the modules.
skyline_compile_quickly(skyline_precompiled_tests)
skyline_compile_quickly(skyline_precompiled_torch_tests)

function(skyline_compile_test target libraries)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  # The second as of GTest's targets: one kind of precompiled headers for programs with and without GoogleTest.
  target_compile_definitions(${target} PRIVATE SKYLINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GTEST_HAS_PTHREAD=1)
  target_link_libraries(${target} PRIVATE ${libraries} skyline_flags)
  skyline_compile_quickly(${target})
  if(skyline_torch::torch_cpu IN_LIST libraries)
    skyline_precompile(${target} torch_tests)
  else()
    skyline_precompile(${target} tests)
  endif()
endfunction()

function(skyline_test_program target)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  skyline_compile_test(${target} "${ARG_LIBRARIES}")
endfunction()

function(skyline_add_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  skyline_compile_test(${name} "${ARG_LIBRARIES}")
endfunction()

# Registers MODULE.SUITE for each suite of a GoogleTest program, with these properties of tests. Not for each case: a
# process that loads LibTorch takes 0.3 s, most cases a few milliseconds.
function(skyline_discover_suites target module)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  if(NOT EXISTS ${list})
    file(WRITE ${list} "add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\n")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DMODULE=${module}
    "-DPROPERTIES=${ARGN}" -DLIST=${list} -P ${PROJECT_SOURCE_DIR}/cmake/ListSuites.cmake VERBATIM)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${list})
endfunction()

function(skyline_add_test module)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  skyline_test_program(${module}_tests SOURCES ${ARG_SOURCES} LIBRARIES ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  set_target_properties(${module}_tests PROPERTIES UNITY_BUILD ${SKYLINE_UNITY} UNITY_BUILD_BATCH_SIZE 6)
  skyline_discover_suites(${module}_tests ${module} TIMEOUT 900 LABELS unit.${module})
endfunction()

set(skyline_mpi_environment
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_mpi_yield_when_idle=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_btl_tcp_if_include=lo;OMPI_MCA_oob_tcp_if_include=lo;OMP_NUM_THREADS=1")

# Sets the environment of a test that starts mpirun, with a folder of its own for the files of its sessions: Open MPI 4.1 may
# fail where two tests make that folder at once.
function(skyline_set_mpi_environment name)
  set(sessions ${PROJECT_BINARY_DIR}/mpi_sessions/${name})
  file(MAKE_DIRECTORY ${sessions})
  set_property(TEST ${name} PROPERTY ENVIRONMENT "${skyline_mpi_environment};OMPI_MCA_orte_tmpdir_base=${sessions}")
endfunction()

function(skyline_add_mpi_test module path)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;RANKS" ${ARGN})
  get_filename_component(name ${path} NAME)
  skyline_test_program(${module}_${name}
    SOURCES ${path}.cpp LIBRARIES skyline_mpi_test ${ARG_LIBRARIES} GTest::gmock)
  foreach(ranks ${ARG_RANKS})
    set(launcher ${MPIEXEC_EXECUTABLE} --oversubscribe ${MPIEXEC_NUMPROC_FLAG} ${ranks})
    if(ranks EQUAL 0)  # one process without a launcher, and so without MPI
      set(launcher)
    endif()
    add_test(NAME ${module}.${name}.np${ranks} COMMAND ${launcher} $<TARGET_FILE:${module}_${name}>)
    set_tests_properties(${module}.${name}.np${ranks} PROPERTIES
      TIMEOUT 900 COST 5 LABELS mpi.${module})
    skyline_set_mpi_environment(${module}.${name}.np${ranks})
  endforeach()
endfunction()

# Beside the program, so that they find the cuda library in ../lib as it does; gpu_programs.txt tells scripts/bundle.
function(skyline_gpu_program kind name target)
  skyline_test_program(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  add_dependencies(${target} skyline_cuda)
  set_property(GLOBAL APPEND PROPERTY SKYLINE_GPU_TARGETS ${target})
  set_property(GLOBAL APPEND_STRING PROPERTY SKYLINE_GPU_PROGRAMS "${kind} ${name} ${target}\n")
endfunction()

function(skyline_add_gpu_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  skyline_gpu_program(test ${name} gpu_${name}_test
    SOURCES ${ARG_SOURCES} LIBRARIES ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  add_test(NAME gpu.${name} COMMAND gpu_${name}_test)
  set_tests_properties(gpu.${name} PROPERTIES LABELS gpu RESOURCE_LOCK gpu TIMEOUT 900)
endfunction()

function(skyline_add_gpu_benchmark name)
  skyline_gpu_program(benchmark ${name} gpu_${name}_bench ${ARGN})
endfunction()

# Called once, after the last of them.
function(skyline_write_gpu_programs)
  get_property(programs GLOBAL PROPERTY SKYLINE_GPU_PROGRAMS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gpu_programs.txt CONTENT "${programs}" @ONLY)
endfunction()
