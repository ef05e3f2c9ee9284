# Finds what the cuda module is built from and sets SKYLINE_HAS_CUDA: the CUDA part of LibTorch, NCCL, and a compiler for
# the CUDA that this LibTorch uses: nvcc of a toolkit or of the wheels that scripts/setup fetches; for CUDA 12 also
# clang. A build with the module still runs where there is no GPU: the program loads it only on a node that has one.
# Targets: skyline_torch::torch_cuda (all of LibTorch), skyline_cuda_sdk::cudart, skyline_cuda_sdk::nccl.

set(SKYLINE_CUDA "AUTO" CACHE STRING "Build the cuda module: AUTO (if everything for it is there), ON, OFF")
set_property(CACHE SKYLINE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SKYLINE_CUDA_MAJOR 13)
set(skyline_architectures "75-real;80-real;90")
if(SKYLINE_TORCH_VERSION MATCHES "\\+cu12")
  set(SKYLINE_CUDA_MAJOR 12)
  set(skyline_architectures "70-real;75-real;80-real;90")
endif()
set(SKYLINE_CUDA_ARCHITECTURES "${skyline_architectures}" CACHE STRING
  "As CMAKE_CUDA_ARCHITECTURES; the last one's PTX serves newer devices")
set(SKYLINE_HAS_CUDA FALSE)

set(skyline_wheels "${SKYLINE_TORCH_ROOT}/..")
cmake_path(NORMAL_PATH skyline_wheels)
file(GLOB skyline_wheel_folders "${skyline_wheels}nvidia/*")  # of CUDA 13 one for most, of CUDA 12 one for each library

# Sets skyline_nvcc, and skyline_clang if that is to be used in its place. The wheels' compiler, if scripts/setup fetched
# it, was chosen for this LibTorch.
function(skyline_find_compilers)
  set(skyline_clang "" PARENT_SCOPE)
  if(CMAKE_CUDA_COMPILER)
    set(skyline_nvcc "${CMAKE_CUDA_COMPILER}" PARENT_SCOPE)
    return()
  endif()
  if(SKYLINE_CUDA_MAJOR EQUAL 12 AND EXISTS "${skyline_wheels}cuda/bin/fatbinary")
    find_program(SKYLINE_CLANG NAMES clang++-19 clang++)
    if(SKYLINE_CLANG)
      set(skyline_clang "${SKYLINE_CLANG}" PARENT_SCOPE)
      return()
    endif()
  endif()
  find_program(SKYLINE_NVCC nvcc HINTS ${skyline_wheels}nvidia/cu13/bin ENV CUDACXX ENV CUDA_PATH
    PATH_SUFFIXES bin PATHS /usr/local/cuda/bin)
  set(skyline_nvcc "${SKYLINE_NVCC}" PARENT_SCOPE)
endfunction()

# Sets skyline_cuda_problem: empty, or why the module cannot be built, in one line.
function(skyline_check_cuda)
  skyline_find_compilers()
  set(problem "")
  set(setup "SKYLINE_CUDA=on scripts/setup")
  if(SKYLINE_CUDA_MAJOR EQUAL 12)
    set(setup "SKYLINE_CUDA=12 scripts/setup (clang 19 with NVIDIA's wheels)")
  endif()
  if(NOT EXISTS "${SKYLINE_TORCH_ROOT}/lib/libtorch_cuda.so")
    set(problem "${SKYLINE_TORCH_ROOT}/lib has no libtorch_cuda.so (a LibTorch for CPUs)")
  elseif(NOT SKYLINE_TORCH_VERSION MATCHES "2\\.(11\\.0\\+cu13|10\\.0\\+cu12)")
    set(problem "LibTorch 2.11.0+cu130 or 2.10.0+cu128 is needed, ${SKYLINE_TORCH_ROOT} holds another: ${SKYLINE_TORCH_VERSION}")
  elseif(NOT skyline_clang AND NOT skyline_nvcc)
    set(problem "no nvcc: a CUDA ${SKYLINE_CUDA_MAJOR} toolkit in PATH or /usr/local/cuda, or ${setup}")
  elseif(NOT skyline_clang)
    execute_process(COMMAND ${skyline_nvcc} --version OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+)\\.[0-9]+" unused "${text}")
    if(NOT CMAKE_MATCH_1 EQUAL SKYLINE_CUDA_MAJOR)
      set(problem "${skyline_nvcc} is not of CUDA ${SKYLINE_CUDA_MAJOR}, which this LibTorch uses: ${setup}")
    endif()
  endif()
  if(skyline_clang)
    set(root "${skyline_wheels}cuda")
  else()
    file(REAL_PATH "${skyline_nvcc}" nvcc)
    cmake_path(GET nvcc PARENT_PATH root)
    cmake_path(GET root PARENT_PATH root)
  endif()
  set(places NO_CACHE NO_DEFAULT_PATH PATHS ${root} ${skyline_wheel_folders} /usr PATH_SUFFIXES)
  find_file(cudart libcudart.so.${SKYLINE_CUDA_MAJOR} ${places} lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib
    lib/${CMAKE_LIBRARY_ARCHITECTURE})
  find_file(nccl libnccl.so.2 ${places} lib64 lib lib/${CMAKE_LIBRARY_ARCHITECTURE})
  find_path(nccl_include nccl.h ${places} include)
  find_path(cublas_include cublas_v2.h ${places} include)  # this and the next two: by LibTorch's CUDA headers
  find_path(cusparse_include cusparse.h ${places} include)
  find_path(cusolver_include cusolverDn.h ${places} include)
  set(torch_includes "${cublas_include}" "${cusparse_include}" "${cusolver_include}")
  list(REMOVE_DUPLICATES torch_includes)
  foreach(needed cudart nccl nccl_include cublas_include cusparse_include cusolver_include)
    if(NOT problem AND NOT ${needed})
      string(REPLACE "_include" "'s headers" name "${needed}")
      set(problem "${name} was not found beside ${root} or in ${skyline_wheels}nvidia: ${setup}")
    endif()
  endforeach()
  set(skyline_cuda_problem "${problem}" PARENT_SCOPE)
  foreach(result skyline_nvcc skyline_clang root cudart nccl nccl_include torch_includes)
    set(skyline_cuda_${result} "${${result}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(skyline_import_cuda_sdk name location)
  add_library(skyline_cuda_sdk::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(skyline_cuda_sdk::${name} PROPERTIES
    IMPORTED_LOCATION "${location}" INTERFACE_INCLUDE_DIRECTORIES "${ARGN}")
endfunction()

if(SKYLINE_CUDA)
  skyline_check_cuda()
  if(skyline_cuda_problem AND NOT SKYLINE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "SKYLINE_CUDA=${SKYLINE_CUDA}: ${skyline_cuda_problem}")
  elseif(skyline_cuda_problem)
    message(STATUS "cuda module: not built: ${skyline_cuda_problem}")
  else()
    set(SKYLINE_HAS_CUDA TRUE)
    set(compiler "${skyline_cuda_skyline_clang}")
    if(NOT compiler)
      set(compiler "${skyline_cuda_skyline_nvcc}")
    endif()
    message(STATUS "cuda module: built with ${compiler}, ${skyline_cuda_nccl}")
    execute_process(COMMAND ${CMAKE_COMMAND} -E env SKYLINE_CUDA=${SKYLINE_CUDA_MAJOR} ${PROJECT_SOURCE_DIR}/scripts/setup --old-driver
      OUTPUT_VARIABLE old_driver OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(old_driver)
      message(WARNING "the NVIDIA driver ${old_driver} of this machine is too old for CUDA ${SKYLINE_CUDA_MAJOR}: the module "
        "will not run here without a newer one (docs/gpu.md says what else there is)")
    endif()
  endif()
else()
  message(STATUS "cuda module: not built: SKYLINE_CUDA is OFF")
endif()

# Compiles a target's .cu files. CMake's own support of clang looks for nvcc. Products are rounded before they are added,
# as nvcc is told to; and the machine may have headers of another CUDA in a folder that clang looks into first.
function(skyline_compile_with_clang target)
  set(flags -x cuda -std=c++20 -O3 -DNDEBUG -fPIC -ffp-contract=off -Wall -Wextra -Wno-unknown-cuda-version
    "--cuda-path=${skyline_cuda_root}" -isystem "${skyline_cuda_root}/include" --no-cuda-include-ptx=all)
  foreach(architecture ${SKYLINE_CUDA_ARCHITECTURES})
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    list(APPEND flags "--cuda-gpu-arch=sm_${number}")
    if(NOT architecture MATCHES "-real$")
      list(APPEND flags "--cuda-include-ptx=sm_${number}")
    endif()
  endforeach()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cu$")
  foreach(source ${sources})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d VERBATIM
      COMMAND ${skyline_cuda_skyline_clang} ${flags} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
              -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object})
    target_sources(${target} PRIVATE ${object})
  endforeach()
endfunction()

if(SKYLINE_HAS_CUDA AND NOT skyline_cuda_skyline_clang)
  # The runtime is linked as the shared library that LibTorch uses; CMake's own choice would be a second, static one.
  set(CMAKE_CUDA_COMPILER "${skyline_cuda_skyline_nvcc}" CACHE FILEPATH "" FORCE)
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  set(CMAKE_CUDA_ARCHITECTURES "${SKYLINE_CUDA_ARCHITECTURES}")
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 13 can
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
endif()

if(SKYLINE_HAS_CUDA)
  # LibTorch registers its CUDA part as it is loaded, so it is kept though no symbol of it may be used; its own
  # libraries need not be there to link.
  add_library(skyline_libtorch_cuda INTERFACE)
  add_library(skyline_torch::torch_cuda ALIAS skyline_libtorch_cuda)
  set(library "${SKYLINE_TORCH_ROOT}/lib/lib")
  target_link_libraries(skyline_libtorch_cuda INTERFACE
    "-Wl,--push-state,--no-as-needed,${library}torch_cuda.so,${library}c10_cuda.so,--pop-state"
    skyline_torch::torch_cpu skyline_torch::c10 skyline_cuda_sdk::cudart)
  target_link_options(skyline_libtorch_cuda INTERFACE "-Wl,--allow-shlib-undefined")
  skyline_import_cuda_sdk(cudart "${skyline_cuda_cudart}" "${skyline_cuda_root}/include" ${skyline_cuda_torch_includes})
  skyline_import_cuda_sdk(nccl "${skyline_cuda_nccl}" "${skyline_cuda_nccl_include}")
endif()
