# Third-party libraries, as imported targets. Distribution packages first; SKYLINE_TORCH_ROOT and CMAKE_PREFIX_PATH
# point at others.

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_path(SKYLINE_XXHASH_INCLUDE xxhash.h REQUIRED)  # only the header is used
find_package(Eigen3 3.4 REQUIRED NO_MODULE)  # headers alone
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # 0.7 exports the bare name only
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()

# The C binding alone: one binary then runs under Open MPI 4.1 and 5, and never links libmpi_cxx.
find_package(MPI REQUIRED COMPONENTS C)

# The serial library: thread-safe and independent of the MPI in use; one file has one writer here.
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 REQUIRED COMPONENTS C)
target_compile_definitions(hdf5::hdf5 INTERFACE H5_USE_110_API)  # functions of one name change with its version

set(SKYLINE_TORCH_FALLBACK "${PROJECT_SOURCE_DIR}/.deps/wheels/torch")  # of scripts/setup
include(SkylineTorch)
if(NOT TARGET skyline_torch::torch_cpu)
  message(FATAL_ERROR "No lib/libtorch_cpu.so in SKYLINE_TORCH_ROOT=${SKYLINE_TORCH_ROOT}: run scripts/setup, or set SKYLINE_TORCH_ROOT")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/torch_version.txt "${SKYLINE_TORCH_VERSION}\n")  # for scripts/bundle and scripts/wheel

find_program(SKYLINE_CCACHE ccache)
if(SKYLINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER  # what precompiled headers need of it
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SKYLINE_CCACHE})
endif()
include(SkylineCuda)
