# Finds what the cuda module is built from and sets SKYLINE_HAS_CUDA: nvcc 13 of a toolkit or of the wheels that
# scripts/setup fetches, NCCL, and the CUDA part of LibTorch. A build with the module still runs where there is no
# GPU: the program loads it only on a node that has one.
# Targets: skyline_torch::torch_cuda (all of LibTorch), skyline_cuda_sdk::cudart, skyline_cuda_sdk::nccl.

set(SKYLINE_CUDA "AUTO" CACHE STRING "Build the cuda module: AUTO (if everything for it is there), ON, OFF")
set_property(CACHE SKYLINE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SKYLINE_CUDA_ARCHITECTURES "75-real;80-real;90" CACHE STRING
  "As CMAKE_CUDA_ARCHITECTURES; the last one's PTX serves newer devices")
set(SKYLINE_HAS_CUDA FALSE)

set(skyline_wheels_cuda "${SKYLINE_TORCH_ROOT}/../nvidia")
cmake_path(NORMAL_PATH skyline_wheels_cuda)

# Sets skyline_nvcc. The wheels' compiler, if scripts/setup fetched it, was chosen for this LibTorch.
function(skyline_find_nvcc)
  if(CMAKE_CUDA_COMPILER)
    set(skyline_nvcc "${CMAKE_CUDA_COMPILER}" PARENT_SCOPE)
    return()
  endif()
  find_program(SKYLINE_NVCC nvcc HINTS ${skyline_wheels_cuda}/cu13/bin ENV CUDACXX ENV CUDA_PATH
    PATH_SUFFIXES bin PATHS /usr/local/cuda/bin)
  set(skyline_nvcc "${SKYLINE_NVCC}" PARENT_SCOPE)
endfunction()

# Sets skyline_cuda_problem: empty, or why the module cannot be built, in one line.
function(skyline_check_cuda)
  skyline_find_nvcc()
  set(problem "")
  if(NOT EXISTS "${SKYLINE_TORCH_ROOT}/lib/libtorch_cuda.so")
    set(problem "${SKYLINE_TORCH_ROOT}/lib has no libtorch_cuda.so (a LibTorch for CPUs)")
  elseif(NOT SKYLINE_TORCH_VERSION MATCHES "2\\.11\\.0\\+cu13")
    set(problem "LibTorch 2.11.0+cu130 is needed, ${SKYLINE_TORCH_ROOT} holds another: ${SKYLINE_TORCH_VERSION}")
  elseif(NOT skyline_nvcc)
    set(problem "no nvcc: a CUDA 13 toolkit in PATH or /usr/local/cuda, or SKYLINE_CUDA=on scripts/setup")
  else()
    execute_process(COMMAND ${skyline_nvcc} --version OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+)\\.[0-9]+" unused "${text}")
    if(NOT CMAKE_MATCH_1 EQUAL 13)
      set(problem "${skyline_nvcc} is not of CUDA 13, which LibTorch 2.11.0 uses")
    endif()
  endif()
  file(REAL_PATH "${skyline_nvcc}" nvcc)
  cmake_path(GET nvcc PARENT_PATH root)
  cmake_path(GET root PARENT_PATH root)
  set(folders ${root} ${skyline_wheels_cuda}/cu13 ${skyline_wheels_cuda}/nccl)
  set(places NO_CACHE NO_DEFAULT_PATH PATHS ${folders} /usr PATH_SUFFIXES)
  find_file(cudart libcudart.so.13 ${places} lib64 lib targets/x86_64-linux/lib lib/x86_64-linux-gnu)
  find_file(nccl libnccl.so.2 ${places} lib64 lib lib/x86_64-linux-gnu)
  find_path(nccl_include nccl.h ${places} include)
  find_path(cublas_include cublas_v2.h ${places} include)  # by LibTorch's CUDA headers
  foreach(needed cudart nccl nccl_include cublas_include)
    if(NOT problem AND NOT ${needed})
      string(REPLACE "_include" "'s headers" name "${needed}")
      set(problem "${name} was not found beside ${root} or in ${skyline_wheels_cuda}: SKYLINE_CUDA=on scripts/setup")
    endif()
  endforeach()
  set(skyline_cuda_problem "${problem}" PARENT_SCOPE)
  foreach(result skyline_nvcc root cudart nccl nccl_include cublas_include)
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
    message(STATUS "cuda module: built with ${skyline_cuda_skyline_nvcc}, ${skyline_cuda_nccl}")
  endif()
else()
  message(STATUS "cuda module: not built: SKYLINE_CUDA is OFF")
endif()

if(SKYLINE_HAS_CUDA)
  # The runtime is linked as the shared library that LibTorch uses; CMake's own choice would be a second, static one.
  set(CMAKE_CUDA_COMPILER "${skyline_cuda_skyline_nvcc}" CACHE FILEPATH "" FORCE)
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  set(CMAKE_CUDA_ARCHITECTURES "${SKYLINE_CUDA_ARCHITECTURES}")
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 13 can
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
  # LibTorch registers its CUDA part as it is loaded, so it is kept though no symbol of it may be used; its own
  # libraries need not be there to link.
  add_library(skyline_libtorch_cuda INTERFACE)
  add_library(skyline_torch::torch_cuda ALIAS skyline_libtorch_cuda)
  set(library "${SKYLINE_TORCH_ROOT}/lib/lib")
  target_link_libraries(skyline_libtorch_cuda INTERFACE
    "-Wl,--push-state,--no-as-needed,${library}torch_cuda.so,${library}c10_cuda.so,--pop-state"
    skyline_torch::torch_cpu skyline_torch::c10 skyline_cuda_sdk::cudart)
  target_link_options(skyline_libtorch_cuda INTERFACE "-Wl,--allow-shlib-undefined")
  skyline_import_cuda_sdk(cudart "${skyline_cuda_cudart}" "${skyline_cuda_root}/include" "${skyline_cuda_cublas_include}")
  skyline_import_cuda_sdk(nccl "${skyline_cuda_nccl}" "${skyline_cuda_nccl_include}")
endif()
