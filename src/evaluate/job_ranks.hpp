#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

#include "comm/environment.hpp"
#include "core/record.hpp"

#include <string>
#include <vector>

namespace skyline::evaluate {

/// The ranks of a job. The environment must outlive the object.
class JobRanks final : public Ranks {
 public:
  explicit JobRanks(comm::Environment& job) : world_(job.world()) {}
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::vector<std::string> exchange(const std::string& mine) override;

 private:
  comm::Communicator& world_;
};

/// Returns the place where this rank runs.
trial::Place place_of(const comm::Environment& job);

/// Returns the values of all ranks, indexed by rank. Collective. @param mine  a value that core/record.hpp
/// can turn into a record
template <typename Value>
std::vector<Value> exchange(Ranks& ranks, const Value& mine) {
  std::vector<Value> all;
  for (const std::string& record : ranks.exchange(to_record(mine))) all.push_back(from_record<Value>(record));
  return all;
}

}  // namespace skyline::evaluate
