# cmake --install: the program, the cuda module, its scripts and examples (component skyline), and the programs for GPUs
# that scripts/bundle takes too (component gpu). Paths are relative to the program's.
# Included last: every target exists.

set(skyline_installed skyline)
if(TARGET skyline_cuda)
  list(APPEND skyline_installed skyline_cuda)
  add_dependencies(skyline skyline_cuda)  # who builds the program alone wants GPUs used, too
endif()
get_property(skyline_gpu_targets GLOBAL PROPERTY SKYLINE_GPU_TARGETS)

set_target_properties(${skyline_installed} ${skyline_gpu_targets} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS ${skyline_installed} RUNTIME DESTINATION bin LIBRARY DESTINATION lib COMPONENT skyline)
if(skyline_gpu_targets)
  install(TARGETS ${skyline_gpu_targets} RUNTIME DESTINATION bin COMPONENT gpu)
endif()
install(PROGRAMS aml/run DESTINATION share/skyline/aml COMPONENT skyline)
install(PROGRAMS slurm/submit slurm/search.sbatch DESTINATION share/skyline/slurm COMPONENT skyline)
install(DIRECTORY configs DESTINATION share/skyline COMPONENT skyline)
