#pragma once

#include "skyline/space/network.hpp"

#include <string>
#include <vector>

namespace skyline::model_export::test {

/// A network and what is odd about it.
struct WiredNetwork {
  std::string name;
  space::Network network;
};

/// Returns small networks with layers in odd places: norms and clamps that cannot join what is before them,
/// tensors with several readers or read twice by one layer, networks of a single layer, windows that miss or
/// pad places.
std::vector<WiredNetwork> wired_networks();

}  // namespace skyline::model_export::test
