#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace skyline::store {

// Folders in which evaluators keep the files of trials (trial::TrialFolder). trials/17 has all of trial 17:
//   4f3a2b1c  its folder, named after its provenance, so that a trial which has become another one gets
//   another done      the name of that folder, published when the trial has ended well
// Nobody else can enter trials/17.

/// The folder of a trial that is being evaluated.
struct BegunFolder {
  std::filesystem::path path;
  FileDescriptor held;  // keeps its number, so that another folder in its place is found
};

/// Makes the folder of a trial, or finds what an earlier attempt left. It removes what other trainings of
/// this name left, and the marker, since its contents will change.
/// @param losses   how many ranks with an attempt at the trial were lost. Each attempt after that has another
///                 name, so that a program of a rank which only seemed lost writes elsewhere
/// @param source   folder whose contents a new one begins with; empty for none
/// @param stop     ends a copy early
/// @return nullopt if it was stopped
/// @throws UserError, FaultError
std::optional<BegunFolder> begin_folder(const RunPaths& paths, trial::TrialName trial,
                                        const std::string& provenance, std::uint32_t losses,
                                        const std::filesystem::path& source,
                                        const std::function<bool()>& stop);

/// Returns whether the folder is still where it was begun. After a loss, another attempt may have taken it.
bool is_in_place(const BegunFolder& folder);

/// Publishes the folder of a trial that has ended well: makes all of it durable, then the marker.
/// @throws UserError if it is not in place, or has a file that its owner may not read; FaultError
void publish_folder(const RunPaths& paths, trial::TrialName trial, const BegunFolder& folder);

/// The result of one attempt to find a published folder.
struct FolderFinding {
  std::filesystem::path path;  // empty if there is none
  std::string problem;         // then: the marker and its problem
  bool is_transient = false;   // then: a later attempt may succeed
};
/// Finds the folder that a trial has published. Tries once and never waits.
FolderFinding find_published_folder(const RunPaths& paths, trial::TrialName trial);

/// Removes all folders of a trial, or a part, so that other files do not wait for long. Returns whether they
/// are gone. @throws UserError, FaultError
bool remove_folders(const RunPaths& paths, trial::TrialName trial);

/// Returns the trials that have folders.
/// @param published  whether they are published
std::set<trial::TrialName> trials_with_folders(const RunPaths& paths, bool published);

}  // namespace skyline::store
