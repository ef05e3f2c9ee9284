#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/random.hpp"
#include "skyline/space/genotype.hpp"
#include "skyline/space/network.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::space {

/// A named parameter of the space. Random sampling uses the weights; mutation does not.
struct Parameter {
  std::string name;
  std::vector<Value> values;    // at least one, all different
  std::vector<double> weights;  // same length, positive
};

/// A value of the evaluator's section that a genotype gives to its trial.
struct TrainingValue {
  std::string key;  // dotted, below the section: "optimizer.adam.learning_rate"
  Value value;
};

struct ParsedSpace;

/// The network that a genotype builds, and how it is trained. The network takes some hundred times the memory
/// of the rest, so it is built at the first call that asks for it, and stays as long as the object and its
/// copies. Any thread.
class Architecture {
 public:
  /// What takes much memory.
  struct Parts {
    Network network;
    std::vector<TrainingValue> training = {};  // the same keys for all genotypes; often none
  };

  Architecture() = default;
  /// @param space  that builds the parts again for unbuilt(); nullptr: nobody can
  Architecture(ArchId its_id, Genotype its_genotype, std::vector<bool> its_used, Parts parts,
               std::shared_ptr<const ParsedSpace> space = nullptr);

  ArchId id{};
  Genotype genotype;
  std::vector<bool> used;  // used[p]: network or training depend on parameter p having been read
  Cost cost;               // of the network

  /// These live as long as the object; those of a temporary are copies.
  /// @throws InternalError if there is no space that builds them
  const Network& network() const& { return parts().network; }
  Network network() && { return parts().network; }
  const std::vector<TrainingValue>& training() const& { return parts().training; }
  std::vector<TrainingValue> training() && { return parts().training; }

  /// The same, its parts not built; of one without a space a copy.
  Architecture unbuilt() const;
  /// The other one, whose space this one's is: its parts are not built.
  Architecture sibling(Architecture other) const;

 private:
  struct Lazy;
  const Parts& parts() const;

  std::shared_ptr<const ParsedSpace> space_;
  std::shared_ptr<Lazy> lazy_;
};

/// The facts about the data that a space depends on: input shape and number of classes ($classes).
struct DataShape {
  Shape input;
  std::int64_t classes = 0;
};

/// A search space, immutable after parsing; all threads share it.
class SearchSpace {
 public:
  /// Reads the `space` section: {parameters: {...}, network: [...]}; see docs/spaces.md for the language.
  /// @param training  scalars of the evaluator's section that parameters of the space give, e.g. `$lr`
  /// @throws UserError with source positions, e.g. for an empty choice, an unknown layer or a misspelt key
  static SearchSpace parse(const ConfigNode& section, const DataShape& data,
                           const std::vector<ConfigNode>& training = {});
  /// The same, of a run that is only read: layers of kinds that this program does not have stand as they are
  /// written. A space with such layers builds no network.
  static SearchSpace read(const ConfigNode& section, const DataShape& data,
                          const std::vector<ConfigNode>& training = {});

  /// Kinds of its layers that a program has registered, in alphabetical order; empty: every program has them
  /// all.
  const std::vector<std::string>& registered_kinds() const;
  /// The first of them that this program does not have; nothing: it builds networks.
  std::optional<std::string> missing_kind() const;
  const std::vector<Parameter>& parameters() const;
  const DataShape& data() const;
  /// Number of genotypes (not architectures): the product of the numbers of values, at most 2^63 - 1.
  std::int64_t genotype_count() const;
  /// The genotype with this number in lexicographic order of choices. @pre number < genotype_count()
  Genotype genotype_at(std::int64_t number) const;

  Genotype sample(RandomStream& random) const;
  /// A genotype that builds another architecture: each used parameter is redrawn with this probability, and
  /// at least one changes. Nothing if the space has a single architecture reachable this way.
  std::optional<Genotype> mutate(const Genotype& parent, double probability, RandomStream& random) const;
  /// Uniform crossover. The child differs from both parents as an architecture; nothing after bounded tries.
  std::optional<Genotype> cross(const Genotype& first, const Genotype& second, RandomStream& random) const;
  /// @throws UserError if the network cannot be built (shapes that do not fit): such genotypes are invalid
  Architecture build(const Genotype& genotype) const;

  /// "depth=3 kernel=5 width=16", in declaration order.
  std::string describe(const Genotype& genotype) const;
  /// Archai's id of the genotype: SHA-1 of the Python text of the tuple of its values as floats, in
  /// declaration order; `nan` for unused parameters.
  std::string archai_id(const Architecture& architecture) const;

 private:
  static SearchSpace parse(const ConfigNode& section, const DataShape& data,
                           const std::vector<ConfigNode>& training, bool admits_missing_kinds);
  void check_some_network_builds() const;
  std::shared_ptr<const ParsedSpace> state_;
};

}  // namespace skyline::space
