#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "space/language/parsed_space.hpp"
#include "space/language/searched_section.hpp"
#include "space/network/canonical_form.hpp"
#include "space/quantized/int8_cost.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace skyline::space {
namespace {

/// Returns the id of a network and its training values.
ArchId id_of(const Architecture::Parts& parts) {
  std::string identity = parts.network.canonical_text();
  for (const TrainingValue& each : parts.training) {
    identity += "training." + each.key + '=' + to_text(each.value) + '\n';
  }
  return ArchId{stable_hash64(identity + parts.beyond)};
}

}  // namespace

/// The parts, built once by the first thread that needs them.
struct Architecture::Lazy {
  std::once_flag once;
  std::optional<Parts> parts;
};

Architecture::Architecture(ArchId its_id, Genotype its_genotype, std::vector<bool> its_used, Parts parts,
                           std::shared_ptr<const ParsedSpace> space)
    : id(its_id),
      genotype(std::move(its_genotype)),
      used(std::move(its_used)),
      cost(parts.network.cost),
      space_(std::move(space)),
      lazy_(std::make_shared<Lazy>()) {
  lazy_->parts = std::move(parts);
}

bool Architecture::has_network() const {
  return space_ == nullptr || space_->network != nullptr;
}

const Network& Architecture::network() const& {
  if (!has_network()) throw UserError("the space has no network, only parameters");
  return parts().network;
}

const Architecture::Parts& Architecture::parts() const {
  require(lazy_ != nullptr, "an architecture that no space builds");
  std::call_once(lazy_->once, [this] {
    if (lazy_->parts) return;
    NetworkBuilder builder(space_->data);
    std::vector<bool> known;
    lazy_->parts = space_->build(genotype, known, builder);
  });
  return *lazy_->parts;
}

ArchId Architecture::function_id() const {
  if (!has_network()) return id;
  std::optional<Network> rest = without_biases_in_sums(network());
  return rest ? id_of({*std::move(rest), training(), parts().beyond}) : id;
}

std::optional<double> Architecture::given(std::string_view metric) const {
  if (space_ == nullptr) return std::nullopt;
  const std::vector<std::string>& names = space_->given->counted();
  const auto place = std::ranges::find(names, metric) - names.begin();
  if (place < std::ssize(counted)) return counted[static_cast<std::size_t>(place)];
  return space_->given->value(metric, genotype, cost);
}

Architecture Architecture::unbuilt() const {
  return space_ == nullptr ? *this : sibling(*this);
}

Architecture Architecture::sibling(Architecture other) const {
  other.space_ = space_;
  other.lazy_ = space_ != nullptr ? std::make_shared<Lazy>() : nullptr;
  return other;
}

void ParsedSpace::check(const Genotype& genotype) const {
  require(genotype.choices.size() == parameters.size(), "build: a genotype of another space");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    require(genotype.choices[i] < parameters[i].values.size(), "build: a genotype of another space");
  }
}

Architecture::Parts ParsedSpace::build(const Genotype& genotype, std::vector<bool>& used,
                                       NetworkBuilder& builder) const {
  used = network == nullptr ? uses->used(genotype) : std::vector<bool>(parameters.size());
  const Bindings bindings{parameters, genotype, data.classes, used};
  Architecture::Parts parts;
  if (network != nullptr) {
    network->build(builder, bindings);
    parts.network = builder.finish(network_source);
    if (has_int8_costs) add_int8_costs(parts.network);
  }
  for (const SearchedValue& value : training) {
    parts.training.push_back({key_in_section(value.source()), value.evaluate(bindings)});
  }
  const std::vector<bool> used_before = used;
  given->check(genotype, parts.network.cost, used);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (used[p] == used_before[p]) continue;
    parts.beyond +=
        "given." + parameters[p].name + '=' + to_text(parameters[p].values[genotype.choices[p]]) + '\n';
  }
  return parts;
}

ArchId ParsedSpace::id_of(const Genotype& genotype, const std::vector<bool>& used,
                          const Architecture::Parts& parts) const {
  if (network == nullptr) {
    std::map<std::string, std::string> values;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (!used[p]) continue;
      values[parameters[p].name] = to_text(parameters[p].values[genotype.choices[p]]);
    }
    std::string identity;
    for (const auto& [name, value] : values) identity += "parameter." + name + '=' + value + '\n';
    return ArchId{stable_hash64(identity)};
  }
  return space::id_of(parts);
}

}  // namespace skyline::space
