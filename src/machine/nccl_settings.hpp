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
  std::string mpi_interface = {};  // interface that the user chose for MPI; empty if none
  bool azure = false;
  int gpus = 0;                                 // number of GPUs of the node, whoever uses them
  std::string gpu_name = {};                    // name of this rank's GPU
  std::filesystem::path topology_folder = {};   // folder with Azure's topology files
  std::map<std::string, std::string> set = {};  // variables that the user or the machine's owner has set
};

struct NcclSetting {
  std::string name;
  std::string value;
  std::string reason;
};

/// Returns NCCL's variables already set: in the environment, or in the file of the user or the machine.
/// @param environment  as main() gets it: "NAME=value", ends with a nullptr
/// @param home         folder of .nccl.conf; empty if there is none
std::map<std::string, std::string> read_nccl_settings(const std::filesystem::path& root,
                                                      const std::filesystem::path& home,
                                                      const char* const* environment);

/// Reads the surroundings of this process, except its GPU and the report file.
/// @param root  root of the file system; tests use another one than "/"
NcclSurroundings read_nccl_surroundings(const std::filesystem::path& root);

/// Chooses settings that NCCL would not find or would get wrong by itself: only active ports, the interface
/// of the node's address, Azure's topology, and recorded operations that wait for no member. Variables that
/// are already set stay as they are, and so do those that belong to them.
std::vector<NcclSetting> choose_nccl_settings(const NcclSurroundings& surroundings);

/// Returns the file of Azure's that says where this machine's GPUs and adapters are, if it is missing: NCCL
/// then guesses which are near each other. Empty if nothing is missing.
std::string missing_topology(const NcclSurroundings& surroundings);

/// Sets the variables in the environment of this process. Call it before the first use of NCCL, while there
/// is only one thread.
void apply(const std::vector<NcclSetting>& settings);

/// Returns "NCCL_IB_DISABLE=1 (no port is active), ...", or an empty text if there are none.
std::string to_text(const std::vector<NcclSetting>& settings);

}  // namespace skyline::machine
