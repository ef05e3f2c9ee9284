#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/random.hpp"
#include "skyline/space/genotype.hpp"
#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::space {

/// A named parameter of the space. Random sampling uses the weights; mutation does not.
struct Parameter {
  std::string name;
  std::vector<Value> values;    // at least one, all with different texts
  std::vector<double> weights;  // positive, one per value
};
/// Returns the place among the values that a table or a command line means, or nullopt if it means none: the
/// value with this text; else the first that is equal to the number, or to a flag or null in another
/// spelling; else the only fraction that is the number in float32.
/// @param number  the text as a number, if it is one
std::optional<std::uint32_t> choice_of(const Parameter& parameter, const std::string& text,
                                       std::optional<double> number);

/// A value of the evaluator's section that a genotype gives to its trial.
struct TrainingValue {
  std::string key;  // dotted path below the section: "optimizer.adam.learning_rate"
  Value value;      // a section whose word is searched is its text: "{adam: {learning_rate: 0.01}}"
};
/// Returns the scalar or the section that such a value stands for. Errors about it name `position`.
ConfigNode node_of(const Value& value, const SourcePosition& position);

/// The rules by which the conditions of `where` are read.
enum class ConditionRules {
  /// The rules of versions before: 64 bits, `/` must be exact, what cannot be calculated does not hold.
  kBinary,
  /// Decimals are as they are written, and `/` is a division.
  kExact
};

/// A metric that is known before any training: an expression of the parameters and of the network's costs
/// gives it, or a program of the user counts it.
struct GivenExpression {
  std::string name;
  ConfigNode source;  // scalar with the expression; null if a program counts the metric
  // The ends of the values that it may have, both included.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

struct ParsedSpace;
struct BuildAttempt;

/// The network that a genotype builds, and its training values. In a space of parameters alone there is no
/// network, and the genotype is all that there is. A built network takes some hundred times the memory of the
/// rest, so it is built at the first call that needs it, and stays as long as the object and its copies. Any
/// thread may use it.
class Architecture {
 public:
  /// The members that take much memory.
  struct Parts {
    Network network;                           // without layers if the space has no network
    std::vector<TrainingValue> training = {};  // the same keys for all genotypes; often none
    /// Lines with the parameters on which a given metric alone depends. They are part of the id.
    std::string beyond = {};
  };

  Architecture() = default;
  /// @param space  builds the parts again for unbuilt(); nullptr if that is not possible
  Architecture(ArchId its_id, Genotype its_genotype, std::vector<bool> its_used, Parts parts,
               std::shared_ptr<const ParsedSpace> space = nullptr);

  ArchId id{};
  Genotype genotype;
  // used[p]: network, training or a given metric depend on parameter p; without a network, its `when` holds
  std::vector<bool> used;
  Cost cost;  // cost of the network; zeros without one
  // Values of SearchSpace::counted(), in that order; empty unless a program has counted them. They are no
  // part of the identity, and follow from it.
  std::vector<double> counted;

  /// Returns whether there is a network: not in a space of parameters alone.
  bool has_network() const;
  /// Returns the value of a metric that an expression gives or a program has counted; nullopt if the space
  /// has none of this name, or it is not counted yet. It builds no network.
  std::optional<double> given(std::string_view metric) const;
  /// Returns the number of layers of the network, 0 without one. It may build the network.
  std::size_t layer_count() const { return has_network() ? network().layers.size() : 0; }

  /// The references stay valid as long as this object. Called on a temporary, these functions return copies.
  /// The first call may build the network; it may come from any thread.
  /// @throws UserError if there is no network
  /// @throws InternalError if the network must be built and there is no space for it
  const Network& network() const&;
  Network network() && { return std::as_const(*this).network(); }
  const std::vector<TrainingValue>& training() const& { return parts().training; }
  std::vector<TrainingValue> training() && { return parts().training; }

  /// Returns the id of what is left without the terms of sums that are one number per channel, whatever the
  /// input is. Architectures with one such id differ by a bias, so the cheapest of them is enough. Mostly
  /// this is its own id. It may build the network.
  ArchId function_id() const;

  /// Returns a copy without the built network; if there is no space to rebuild it from, a full copy.
  Architecture unbuilt() const;
  /// Returns the other architecture, bound to the same space as this one; its parts are not built.
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

/// A search space. It never changes after parsing, so all threads share it.
class SearchSpace {
 public:
  /// Reads the `space` section: {parameters: {...}, network: [...]}; see docs/spaces.md for the language.
  /// Without a network, every parameter counts.
  /// @param training  values of the evaluator's section that come from parameters of the space, e.g. `$lr`,
  /// or
  ///                  a section whose word does: `{$optimizer: {learning_rate: $lr}}`
  /// @param given     metrics that expressions give; a genotype for which one has no value is invalid
  /// @param int8      what asks for the costs in int8, if something does; an expression may do so, too
  /// @throws UserError with source positions, e.g. for an empty choice, an unknown layer or a misspelt key;
  ///         at `int8` for a layer kind that says no int8 steps
  static SearchSpace parse(const ConfigNode& section, const DataShape& data,
                           const std::vector<ConfigNode>& training = {},
                           const std::vector<GivenExpression>& given = {},
                           const std::optional<ConfigNode>& int8 = {});
  /// Reads the section of a run that is only read, not continued. Layers of kinds that this program does not
  /// have are kept as they are written; a space with such layers builds no network.
  /// @param rules  those by which the run began
  /// @throws UserError like parse
  static SearchSpace read(const ConfigNode& section, const DataShape& data,
                          const std::vector<ConfigNode>& training = {},
                          ConditionRules rules = ConditionRules::kExact,
                          const std::vector<GivenExpression>& given = {},
                          const std::optional<ConfigNode>& int8 = {});

  /// Returns whether its genotypes build networks; otherwise the space has parameters alone.
  bool has_network() const;
  /// Returns the costs that its networks have: none without networks, and those in int8 only if something
  /// asks for them. The view is always valid.
  std::span<const NamedCost> costs() const;
  /// Returns the kinds of its layers that a program has registered, in alphabetical order; empty if every
  /// program has all kinds.
  const std::vector<std::string>& registered_kinds() const;
  /// Returns the first of them that this program does not have, or nullopt if it can build all networks.
  std::optional<std::string> missing_kind() const;
  /// Returns one line, with its place, for each thing that is right but may surprise, e.g. a range whose step
  /// misses its end.
  const std::vector<std::string>& warnings() const;
  const std::vector<Parameter>& parameters() const;
  /// Returns the names of the metrics that expressions give, in their order. The views are valid as long as
  /// the space or a copy of it.
  std::vector<std::string_view> given() const;
  /// Returns the names of the metrics that a program of the user counts, likewise.
  const std::vector<std::string>& counted() const;
  const DataShape& data() const;
  /// Returns the number of genotypes (not architectures): the product of the numbers of values, below 2^63.
  std::int64_t genotype_count() const;
  /// Returns the genotype with this number in lexicographic order of choices. @pre number < genotype_count()
  Genotype genotype_at(std::int64_t number) const;

  /// Returns the number of genotypes that keep `where`, all of them without it. It is exact up to 2^53.
  /// Returns nullopt if the conditions are too entangled to be counted; docs/spaces.md says when.
  std::optional<long double> count_kept() const;
  /// Returns whether there is a `where`.
  bool has_conditions() const;
  /// Returns which parameters have a value in a genotype: all but those whose `when` does not hold.
  std::vector<bool> in_use(const Genotype& genotype) const;
  /// Returns the names of the parameters with a `when`, in their order.
  std::vector<std::string> conditional() const;
  /// Returns one line, with its place, for each condition that cannot be calculated for some genotypes, with
  /// their number and an example.
  std::vector<std::string> failing_conditions() const;
  /// Returns an example of what only one of the rules keeps, or an empty text if there is none. In a space
  /// whose genotypes cannot be counted it is looked for among random ones.
  std::string difference_of_rules() const;

  // The genotypes that are drawn, mutated and crossed, and those of architectures, have the first value of
  // each parameter that is not in use.

  /// Draws a genotype by the weights of the values, among those that keep `where`. If these cannot be counted
  /// and are rare, they come from a bounded search, which is not uniform and may find none. The network may
  /// be invalid, too: build() says so.
  Genotype sample(RandomStream& random) const;
  /// Draws like sample(), but without the weights. If the genotypes that keep `where` cannot be counted, it
  /// draws from all, so that shares of valid ones can be estimated.
  Genotype sample_evenly(RandomStream& random) const;
  /// Returns the genotype with another value of one parameter, and random values of those that were not in
  /// use. If `where` forbids it, others are drawn again, the fewest first; nullopt if no genotype with this
  /// value was found.
  std::optional<Genotype> with_choice(const Genotype& genotype, std::size_t parameter, std::uint32_t choice,
                                      RandomStream& random) const;
  /// Returns a genotype that builds another architecture: each used parameter is drawn again with this
  /// probability, and at least one changes. One that was not in use and now is has a random value. Where
  /// `where` forbids the result, other parameters are drawn again, too. Returns nullopt if no other
  /// architecture can be reached this way.
  std::optional<Genotype> mutate(const Genotype& parent, double probability, RandomStream& random) const;
  /// Returns a uniform crossover, among the children that keep `where`. A parameter that one parent alone has
  /// in use is the one's, and one that neither has is random. The child differs from both parents as an
  /// architecture; nullopt if none was found in a bounded number of tries.
  std::optional<Genotype> cross(const Architecture& first, const Architecture& second,
                                RandomStream& random) const;
  /// Builds the architecture of a genotype.
  /// @throws UserError if the network cannot be built (shapes that do not fit), or if the genotype breaks
  ///         `where`: such genotypes are invalid
  Architecture build(const Genotype& genotype) const;
  /// Builds like build(), and returns why that is impossible instead of throwing it.
  BuildAttempt try_build(const Genotype& written) const;

  /// Returns e.g. "depth=3 kernel=5 width=16", in declaration order, of the parameters in use.
  std::string describe(const Genotype& genotype) const;
  /// Returns Archai's id of the genotype: SHA-1 of the Python text of the tuple of its values as floats, in
  /// declaration order, with `nan` for unused parameters.
  std::string archai_id(const Architecture& architecture) const;

 private:
  static SearchSpace parse(const ConfigNode& section, const DataShape& data,
                           const std::vector<ConfigNode>& training, const std::vector<GivenExpression>& given,
                           const std::optional<ConfigNode>& int8, bool admits_missing_kinds,
                           ConditionRules rules);
  void check_some_network_builds() const;
  Genotype completed(const Genotype& genotype, const Genotype& other, RandomStream& random) const;
  std::shared_ptr<const ParsedSpace> state_;
};

/// The result of building a genotype. It is the same for all genotypes that agree in the parameters of
/// `reads`.
struct BuildAttempt {
  std::optional<Architecture> architecture;  // nullopt if the genotype is invalid
  std::string problem;                       // why it is invalid
  std::vector<bool> reads;                   // reads[p]: the result depends on parameter p
  std::size_t steps = 0;                     // work done on the network, until it failed or was complete
};

/// Goes through the genotypes of a space in lexicographic order of choices, without those that differ from an
/// earlier one only in parameters on which its result did not depend. So it meets every architecture, and
/// every reason why there is none. Not thread-safe.
class GenotypeWalk {
 public:
  /// Begins at genotype 0.
  explicit GenotypeWalk(const SearchSpace& space);
  /// Returns the present genotype. @pre !finished()
  const Genotype& current() const { return genotype_; }
  /// Goes to the next genotype.
  /// @param reads  the parameters on which the result of the present one depends (BuildAttempt)
  void advance(const std::vector<bool>& reads);
  bool finished() const { return finished_; }
  /// Returns the parameters on which a result depended since the parameters before had their present values.
  const std::vector<bool>& touched() const { return touched_; }
  /// Returns the share of all genotypes that lies before the present one, 1 at the end.
  double share() const;
  /// Returns how many genotypes lie before the present one, at the end all; below 2^63.
  std::int64_t number() const;

 private:
  std::vector<std::size_t> values_;  // number of values of each parameter
  Genotype genotype_;
  std::vector<bool> touched_;
  bool finished_ = false;
};

}  // namespace skyline::space
