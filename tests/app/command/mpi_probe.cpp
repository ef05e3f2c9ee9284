// An MPI program that a trainer starts: sums its ranks, and reports their number if it was told to.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = 0;
  MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::cout << "rank " << rank << " of " << size << std::endl;
  if (argc > 1 && std::string(argv[1]) == "report" && rank == 0) {
    std::ofstream(std::getenv("SKYLINE_REPORT_FILE"), std::ios::app)
        << "{\"result\": {\"score\": " << size << "}}\n";
  }
  MPI_Finalize();
  return sum == size * size ? 0 : 1;
}
