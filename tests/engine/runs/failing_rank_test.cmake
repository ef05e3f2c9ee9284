# Runs PROGRAM on three ranks, of which RANK fails: the job must end soon, with that rank's message once and its
# exit code.
string(RANDOM suffix)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/failing_rank_${suffix})
file(MAKE_DIRECTORY ${folder})
set(ENV{TMPDIR} ${folder})  # killed ranks leave their folders behind
execute_process(COMMAND ${MPIEXEC} --oversubscribe ${NUMPROC_FLAG} 3 ${PROGRAM} ${RANK}
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 300)
file(REMOVE_RECURSE ${folder})
if(NOT exit_code EQUAL 2)
  message(FATAL_ERROR "expected exit code 2, got ${exit_code}:\n${output}")
endif()
string(REGEX MATCHALL "\\[rank [0-9]\\][^\n]*/weights[^\n]*" messages "${output}")
list(LENGTH messages count)
if(NOT count EQUAL 1 OR NOT messages MATCHES "^\\[rank ${RANK}\\] ")
  message(FATAL_ERROR "expected rank ${RANK}'s message once:\n${output}")
endif()
