#pragma once

#include "skyline/space/genotype.hpp"
#include "skyline/space/search_space.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::evaluate {

/// The form of the names that a table gives to genotypes: literal text, and `$parameter` for a value, with
/// braces where a name could end elsewhere: `${depth}x`.
class RowNames {
 public:
  /// Reads the form. Of several parameters whose names fit, the longest counts.
  /// @throws UserError, without a place, for an unknown parameter or one that the form does not have
  RowNames(const std::string& form, const std::vector<space::Parameter>& parameters);

  /// Returns the genotypes of this name, at most two of them: with more than one it is ambiguous.
  /// @throws UserError if that takes long, because values that follow each other begin like others
  std::vector<space::Genotype> genotypes_of(std::string_view name) const;
  std::string name_of(const space::Genotype& genotype) const;

 private:
  struct Part {
    std::string literal;
    std::optional<std::size_t> parameter = {};  // after the literal; nullopt at the end
  };
  struct Match {
    std::vector<std::optional<std::uint32_t>> choices;
    std::vector<space::Genotype> found = {};
    std::size_t steps = 0;
  };
  void match(std::string_view name, std::size_t part, Match& match) const;

  std::vector<Part> parts_;
  std::vector<std::vector<std::string>> values_;  // texts of each parameter's values
};

}  // namespace skyline::evaluate
