#include "machine/device_binding.hpp"

#include "machine/node.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace skyline::machine {
namespace {

/// Matches ranks with devices, at most `capacity` ranks per device. It searches augmenting paths, so that for
/// each capacity as many ranks as possible get a device.
class Matching {
 public:
  explicit Matching(const std::vector<RankView>& ranks)
      : ranks_(ranks), devices_(devices_of_node(ranks)), device_(ranks.size(), kNone) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) choices_.push_back(choices_of(rank));
  }

  /// Matches all ranks that see a device. Returns each rank's device as its number on the node, or kNone.
  const std::vector<std::size_t>& complete() {
    for (std::size_t capacity = 1; !matched(); ++capacity) {
      for (const bool near_alone : {true, false}) {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
          std::vector<bool> seen(devices_.size(), false);
          if (device_[rank] == kNone) place(rank, capacity, near_alone, seen);
        }
      }
    }
    return device_;
  }

  static constexpr auto kNone = static_cast<std::size_t>(-1);

 private:
  struct VisibleDevice {
    std::size_t device = 0;
    bool near = false;
  };

  std::vector<VisibleDevice> choices_of(std::size_t rank) const {
    std::vector<VisibleDevice> choices;
    if (!ranks_[rank].trains) return choices;
    const std::vector<int>& mask = ranks_[rank].processors;
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      const bool visible =
          std::ranges::count(ranks_[rank].devices, devices_[device].identity, &DeviceView::identity) > 0;
      const std::vector<int>& close = devices_[device].place.near_processors;
      const bool near = close.empty() || std::ranges::any_of(mask, [&](int processor) {
                          return std::ranges::binary_search(close, processor);
                        });
      if (visible) choices.push_back({device, near});
    }
    std::ranges::stable_partition(choices, &VisibleDevice::near);
    return choices;
  }

  bool matched() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (device_[rank] == kNone && !choices_[rank].empty()) return false;
    }
    return true;
  }

  std::size_t load(std::size_t device) const {
    return static_cast<std::size_t>(std::ranges::count(device_, device));
  }

  /// Gives the rank a free device, or one whose rank can take another device instead.
  bool place(std::size_t rank, std::size_t capacity, bool near_alone, std::vector<bool>& seen) {
    for (const VisibleDevice& choice : choices_[rank]) {
      if ((near_alone && !choice.near) || load(choice.device) >= capacity) continue;
      device_[rank] = choice.device;
      return true;
    }
    for (const VisibleDevice& choice : choices_[rank]) {
      if ((near_alone && !choice.near) || seen[choice.device]) continue;
      seen[choice.device] = true;
      for (std::size_t other = 0; other < ranks_.size(); ++other) {
        if (device_[other] != choice.device || !place(other, capacity, near_alone, seen)) continue;
        device_[rank] = choice.device;
        return true;
      }
    }
    return false;
  }

  const std::vector<RankView>& ranks_;
  std::vector<DeviceView> devices_;
  std::vector<std::vector<VisibleDevice>> choices_;  // choices of each rank, near ones first
  std::vector<std::size_t> device_;                  // device of each rank
};

/// Returns the rank's own index of a device of the node, or -1 for kNone.
int own_index(const RankView& rank, const std::vector<DeviceView>& devices, std::size_t device) {
  if (device == Matching::kNone) return -1;
  const auto own = std::ranges::find(rank.devices, devices[device].identity, &DeviceView::identity);
  return static_cast<int>(own - rank.devices.begin());
}

}  // namespace

std::vector<DeviceView> devices_of_node(const std::vector<RankView>& ranks) {
  std::map<std::string, const DeviceView*> devices;
  for (const RankView& rank : ranks) {
    for (const DeviceView& device : rank.devices) devices.emplace(device.identity, &device);
  }
  std::vector<DeviceView> list;
  for (const auto& [identity, device] : devices) list.push_back(*device);
  return list;
}

std::string device_identity(const std::string& bus_id, const char* visible_devices) {
  const std::string_view visible = visible_devices == nullptr ? "" : visible_devices;
  // A process sees at most one MIG instance. It appears as a device that has the address of the whole GPU.
  if (!visible.starts_with("MIG-")) return bus_id;
  return bus_id + " " + std::string(visible.substr(0, visible.find(',')));
}

std::vector<RankBinding> bind_devices(const std::vector<RankView>& ranks) {
  const std::vector<DeviceView> devices = devices_of_node(ranks);
  const std::vector<std::size_t> chosen = Matching(ranks).complete();
  std::vector<RankBinding> bindings(ranks.size());
  std::vector<std::vector<int>> masks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const bool bound = chosen[rank] != Matching::kNone;
    bindings[rank].device = own_index(ranks[rank], devices, chosen[rank]);
    masks.push_back(bound ? near_processors(devices[chosen[rank]].place, ranks[rank].processors)
                          : ranks[rank].processors);
  }
  std::vector<std::vector<int>> shares = share_processors(masks);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) bindings[rank].processors = std::move(shares[rank]);
  return bindings;
}

std::vector<RankBinding> bind_all_nodes(const std::vector<RankView>& ranks) {
  std::vector<RankBinding> bindings(ranks.size());
  for (const std::vector<std::size_t>& members : ranks_of_nodes(ranks)) {
    std::vector<RankView> node;
    for (const std::size_t rank : members) node.push_back(ranks[rank]);
    std::vector<RankBinding> of_node = bind_devices(node);
    for (std::size_t i = 0; i < members.size(); ++i) bindings[members[i]] = std::move(of_node[i]);
  }
  return bindings;
}

std::vector<std::vector<std::size_t>> ranks_of_nodes(const std::vector<RankView>& ranks) {
  std::map<int, std::vector<std::size_t>> nodes;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) nodes[ranks[rank].node].push_back(rank);
  std::vector<std::vector<std::size_t>> list;
  for (auto& [node, members] : nodes) list.push_back(std::move(members));
  return list;
}

}  // namespace skyline::machine
