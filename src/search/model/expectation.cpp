#include "search/model/expectation.hpp"

#include "search/model/trial_model.hpp"

namespace skyline::search {
namespace {

constexpr std::size_t kMostResults = 300;

}  // namespace

std::optional<trial::Expected> expectation(const space::SearchSpace& space,
                                           const objective::ObjectiveSet& objectives,
                                           const std::vector<trial::SharedTrial>& results,
                                           trial::TrialNumber number) {
  RandomStream of_features = stream_of_features();
  const Embedding embedding(space, random_sample(space, of_features));
  TrialModel model(objectives, embedding, kMostResults);
  CandidatePointer asked;
  for (const trial::SharedTrial& result : results) {
    const space::Architecture& architecture = result->trial.architecture();
    CandidatePointer candidate = make_candidate(embedding, architecture, space::features(architecture));
    if (result->trial.number == number) asked = candidate;
    model.tell(*result, std::move(candidate));
  }
  model.fit({});
  return model.expected(asked);
}

}  // namespace skyline::search
