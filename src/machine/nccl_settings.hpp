#pragma once

#include "machine/fabric.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace skyline::machine {

/// The facts from which NCCL's settings are chosen.
struct NcclSurroundings {
  std::vector<FabricPort> ports = {};
  std::vector<NetworkInterface> interfaces = {};
  std::string mpi_interface = {};  // the interface that the user gave MPI; empty: none
  bool azure = false;
  int gpus = 0;                                 // number on the node, whoever uses them
  std::string gpu_name = {};                    // of this rank's
  std::filesystem::path topology_folder = {};   // of Azure's topology files
  std::map<std::string, std::string> set = {};  // variables set by the user or the machine's owner
};

struct NcclSetting {
  std::string name;
  std::string value;
  std::string reason;
};

/// NCCL's variables that are set already: in the environment, else in the user's or the machine's file.
/// @param environment  as main() gets it: "NAME=value", ends with a nullptr
/// @param home         folder of .nccl.conf; empty: none
std::map<std::string, std::string> read_nccl_settings(const std::filesystem::path& root,
                                                      const std::filesystem::path& home,
                                                      const char* const* environment);

/// Reads the surroundings of this process, except its GPU and the report file.
/// @param root  of the file system; "/" but for tests
NcclSurroundings read_nccl_surroundings(const std::filesystem::path& root);

/// Chooses settings that NCCL would miss or get wrong by itself: only active ports, the interface of the
/// node's address, Azure's topology, and recorded operations that wait for no member. Leaves alone whatever
/// is set already, and the variables that belong to it.
std::vector<NcclSetting> choose_nccl_settings(const NcclSurroundings& surroundings);

/// Sets them in the environment of this process. Call before NCCL's first use, while there is one thread.
void apply(const std::vector<NcclSetting>& settings);

/// "NCCL_IB_DISABLE=1 (no port is active), ..."; empty if there are none.
std::string to_text(const std::vector<NcclSetting>& settings);

}  // namespace skyline::machine
