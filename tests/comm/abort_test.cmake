# Runs PROGRAM on three ranks: the job must end with the exit code that rank 1 gave to Environment::abort.
execute_process(COMMAND ${MPIEXEC} --oversubscribe ${NUMPROC_FLAG} 3 ${PROGRAM}
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 300)
if(NOT exit_code EQUAL 2)
  message(FATAL_ERROR "expected exit code 2, got ${exit_code}:\n${output}")
endif()
if(NOT output MATCHES "said before the end")
  message(FATAL_ERROR "buffered output was lost:\n${output}")
endif()
