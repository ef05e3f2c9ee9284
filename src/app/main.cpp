#include "skyline/app/program.hpp"

int main(int argc, char** argv) {
  return skyline::app::run_program(argc, argv);
}
