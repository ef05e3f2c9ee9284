#pragma once

namespace skyline::app {

/// Runs the whole program: reads the command line, runs its command and prints errors, one line each. A
/// program with its own layer kinds (space/layer_kind.hpp, train/layer_op.hpp), evaluators
/// (evaluate/evaluator_kind.hpp) or algorithms (search/searcher.hpp) registers them and then calls this from
/// main(), once. Every rank must run the same program. It starts and ends MPI.
/// @return  the exit code for main() (core/exit_code.hpp); no exception leaves this function
int run_program(int argc, char** argv);

}  // namespace skyline::app
