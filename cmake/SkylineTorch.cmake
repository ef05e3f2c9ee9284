# LibTorch as imported targets: skyline_torch::c10, skyline_torch::torch_cpu. Its folder is SKYLINE_TORCH_ROOT, as a
# variable of CMake or of the environment, or in CMAKE_PREFIX_PATH, or SKYLINE_TORCH_FALLBACK. Where it is not there,
# no target is made: who includes this says so. Part of the installed package too.

set(SKYLINE_TORCH_ROOT "$ENV{SKYLINE_TORCH_ROOT}" CACHE PATH "Folder of LibTorch: has lib/ and include/")
if(NOT SKYLINE_TORCH_ROOT)
  find_path(SKYLINE_TORCH_IN_PREFIX lib/libtorch_cpu.so PATH_SUFFIXES torch libtorch NO_CACHE)
  if(SKYLINE_TORCH_IN_PREFIX)
    set(SKYLINE_TORCH_ROOT "${SKYLINE_TORCH_IN_PREFIX}" CACHE PATH "" FORCE)
  elseif(SKYLINE_TORCH_FALLBACK)
    set(SKYLINE_TORCH_ROOT "${SKYLINE_TORCH_FALLBACK}" CACHE PATH "" FORCE)
  endif()
endif()
if(NOT EXISTS "${SKYLINE_TORCH_ROOT}/lib/libtorch_cpu.so")
  return()
endif()

# Not find_package(Torch): it enables CUDA, edits global flags and puts torch's own fmt before the system's.
# -idirafter keeps torch's bundled fmt behind the distribution's and its headers free of our warnings.
function(skyline_import_torch library)
  if(TARGET skyline_torch::${library})  # a second find_package
    return()
  endif()
  add_library(skyline_torch::${library} SHARED IMPORTED GLOBAL)
  set_target_properties(skyline_torch::${library} PROPERTIES IMPORTED_LOCATION "${SKYLINE_TORCH_ROOT}/lib/lib${library}.so")
  foreach(folder include include/torch/csrc/api/include)
    target_compile_options(skyline_torch::${library} INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter \"${SKYLINE_TORCH_ROOT}/${folder}\">")
  endforeach()
endfunction()
skyline_import_torch(c10)
skyline_import_torch(torch_cpu)
set_target_properties(skyline_torch::torch_cpu PROPERTIES INTERFACE_LINK_LIBRARIES skyline_torch::c10)
# libtorch_cpu needs libcupti and libcudart (no driver): beside the wheel, or wherever the loader finds them.
file(GLOB skyline_torch_companions "${SKYLINE_TORCH_ROOT}/../nvidia/cu*/lib")
foreach(folder ${skyline_torch_companions})
  set_property(TARGET skyline_torch::torch_cpu APPEND PROPERTY INTERFACE_LINK_OPTIONS "-Wl,-rpath-link,${folder}")
endforeach()

# Its version text; empty if there is none.
set(SKYLINE_TORCH_VERSION "")
if(EXISTS "${SKYLINE_TORCH_ROOT}/version.py")
  file(STRINGS "${SKYLINE_TORCH_ROOT}/version.py" SKYLINE_TORCH_VERSION REGEX "^__version__ = ")
  string(REGEX REPLACE "^__version__ = '(.*)'.*" "\\1" SKYLINE_TORCH_VERSION "${SKYLINE_TORCH_VERSION}")
elseif(EXISTS "${SKYLINE_TORCH_ROOT}/build-version")
  file(STRINGS "${SKYLINE_TORCH_ROOT}/build-version" SKYLINE_TORCH_VERSION LIMIT_COUNT 1)
endif()
