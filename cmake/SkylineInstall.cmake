# cmake --install: the program, its modules for training and for GPUs, its scripts and examples (component skyline), what
# programs with layer kinds or evaluators of their own are built from (component development: find_package(Skyline)), and
# the programs for GPUs that scripts/bundle takes too (component gpu, only if it is named). Paths are relative: the tree
# can be moved.
# Included last: every target exists.

set(skyline_installed skyline skyline_train_module)
if(TARGET skyline_cuda)
  list(APPEND skyline_installed skyline_cuda)
  add_dependencies(skyline skyline_cuda)  # who builds the program alone wants GPUs used, too
endif()
get_property(skyline_gpu_targets GLOBAL PROPERTY SKYLINE_GPU_TARGETS)

# LibTorch and NVIDIA's libraries: a folder `wheels` of the tree (the images have one), else where the build found them.
set(skyline_places "$ORIGIN/../lib")
foreach(place torch/lib nvidia/nccl/lib nvidia/cu13/lib nvidia/cuda_runtime/lib)
  list(APPEND skyline_places "$ORIGIN/../wheels/${place}")
endforeach()
list(APPEND skyline_places "${SKYLINE_TORCH_ROOT}/lib")  # CMake itself adds no folder of the project
# One library path for the build and the installed tree. Were the build's the shorter one, CMake would fill it up with
# empty elements, and an empty element means the current directory, where other users can put libraries.
set_target_properties(${skyline_installed} ${skyline_gpu_targets} PROPERTIES
  INSTALL_RPATH "${skyline_places}" INSTALL_RPATH_USE_LINK_PATH TRUE BUILD_WITH_INSTALL_RPATH TRUE)
if(SKYLINE_HAS_CUDA)
  foreach(library ${skyline_cuda_cudart} ${skyline_cuda_nccl})
    cmake_path(GET library PARENT_PATH folder)
    set_property(TARGET skyline_cuda ${skyline_gpu_targets} APPEND PROPERTY INSTALL_RPATH "${folder}")
  endforeach()
endif()
install(TARGETS ${skyline_installed}
  RUNTIME DESTINATION bin COMPONENT skyline LIBRARY DESTINATION lib COMPONENT skyline)
install(TARGETS skyline_launch RUNTIME DESTINATION lib COMPONENT skyline)
add_dependencies(skyline skyline_launch)
if(skyline_gpu_targets)
  install(TARGETS ${skyline_gpu_targets} RUNTIME DESTINATION bin COMPONENT gpu EXCLUDE_FROM_ALL)
endif()
install(PROGRAMS aml/run DESTINATION share/skyline/aml COMPONENT skyline)
install(FILES aml/mirror.py aml/run_look.py DESTINATION share/skyline/aml COMPONENT skyline)
install(PROGRAMS slurm/submit slurm/search.sbatch DESTINATION share/skyline/slurm COMPONENT skyline)
install(DIRECTORY configs DESTINATION share/skyline COMPONENT skyline PATTERN "__pycache__" EXCLUDE)
install(FILES data/digits.csv.gz data/digits.h5 data/nasbench201_cifar10.csv.gz data/mnist_cnn.csv DESTINATION share/skyline/data COMPONENT skyline)
install(FILES python/pyproject.toml DESTINATION share/skyline/python COMPONENT skyline)
install(DIRECTORY python/skyline DESTINATION share/skyline/python COMPONENT skyline
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES THIRD_PARTY_NOTICES.md DESTINATION share/skyline COMPONENT skyline)
configure_file(cmake/modulefile.in ${PROJECT_BINARY_DIR}/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile DESTINATION share/skyline/modulefiles/skyline RENAME ${PROJECT_VERSION}
  COMPONENT skyline)

include(CMakePackageConfigHelpers)
set(skyline_modules core machine space trial objective search comm store training evaluate model_export run engine report app)
list(TRANSFORM skyline_modules PREPEND skyline_)
set(skyline_package_folder lib/cmake/Skyline)
install(TARGETS ${skyline_modules} EXPORT SkylineTargets ARCHIVE DESTINATION lib COMPONENT development)
install(DIRECTORY include/skyline DESTINATION include COMPONENT development)
install(EXPORT SkylineTargets NAMESPACE skyline:: DESTINATION ${skyline_package_folder} COMPONENT development)
configure_package_config_file(cmake/SkylineConfig.cmake.in ${PROJECT_BINARY_DIR}/SkylineConfig.cmake
  INSTALL_DESTINATION ${skyline_package_folder} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SkylineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/SkylineTorch.cmake ${PROJECT_BINARY_DIR}/SkylineConfig.cmake
    ${PROJECT_BINARY_DIR}/SkylineConfigVersion.cmake
  DESTINATION ${skyline_package_folder} COMPONENT development)
