#include "app/doctor/doctor_checks.hpp"

namespace skyline::app {
namespace {

constexpr double kShortTime_s = 600;

}  // namespace

Finding check_mpi(comm::Environment& environment) {
  const std::string text = environment.describe();
  if (environment.world().size() == 1) {
    return {Verdict::kGood, "launcher", text, "start with mpirun or srun to check all ranks of a job"};
  }
  if (!environment.threads_may_communicate()) {
    return {Verdict::kWarning, "launcher", text + "; its MPI lets one thread communicate only",
            "groups of several ranks need an MPI library with MPI_THREAD_MULTIPLE"};
  }
  return {Verdict::kGood, "launcher", text + "; its threads may communicate (MPI_THREAD_MULTIPLE)", ""};
}

std::optional<Finding> check_time_left(const comm::Launch& launch, double unix_now_s) {
  const std::optional<double> left_s = comm::seconds_left(launch, unix_now_s);
  if (!left_s) {
    if (launch.batch == comm::BatchSystem::kNone && !launch.job_end) return std::nullopt;
    return Finding{Verdict::kNote, "time",
                   launch.job_end ? "SLURM_JOB_END_TIME is no time in the future: " + *launch.job_end
                                  : "the batch system does not tell when the job ends",
                   "set run.time_limit, so that a search saves its state before the end"};
  }
  const std::string text = with_unit(*left_s / 60, "minutes") + " left of the job";
  return Finding{*left_s < kShortTime_s ? Verdict::kWarning : Verdict::kGood, "time", text,
                 *left_s < kShortTime_s ? "ask for more: a search stops a minute before the end" : ""};
}

}  // namespace skyline::app
