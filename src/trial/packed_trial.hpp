#pragma once

#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace skyline::trial {

using ArchitecturePointer = std::shared_ptr<const space::Architecture>;

/// Appends a committed trial, without its position and its network: some 200 bytes, and 1 or 2 a parameter of
/// the space. For the memory of this process alone.
void pack(const CommittedTrial& committed, std::vector<std::byte>& bytes);

/// Makes the architecture of a packed trial.
using ArchitectureMaker = std::function<ArchitecturePointer(space::ArchId id, space::Genotype genotype,
                                                            std::vector<bool> used, const space::Cost& cost)>;
/// The architecture of an earlier search trial.
using ArchitectureOf = std::function<ArchitecturePointer(TrialNumber number)>;

/// Takes a packed trial back. @param parent  of one that inherits
CommittedTrial unpack(std::span<const std::byte> bytes, const ArchitectureMaker& make,
                      const ArchitectureOf& parent);
/// Its name, or its architecture, alone.
TrialName unpack_name(std::span<const std::byte> bytes);
ArchitecturePointer unpack_architecture(std::span<const std::byte> bytes, const ArchitectureMaker& make);

}  // namespace skyline::trial
