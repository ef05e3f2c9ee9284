#pragma once

namespace skyline::app {

/// The whole program: reads the command line, runs its command and reports errors, one line each. A program
/// with layer kinds (space/layer_kind.hpp, train/layer_op.hpp) or evaluators (app/evaluator_kind.hpp) of its
/// own registers them and calls this; every rank runs the same program.
/// @return  the exit code: core/exit_code.hpp
int run_program(int argc, char** argv);

}  // namespace skyline::app
