#include "comm/binding_exchange.hpp"

#include "comm/record_text.hpp"

#include <cstddef>
#include <string>

// Found by the types of their arguments, which a namespace without a name would prevent.
namespace skyline::machine {

template <typename Visitor>
void for_each_field(PciPlace& place, Visitor& visit) {
  visit(place.address);
  visit(place.bridges);
  visit(place.numa_node);
  visit(place.near_processors);
  visit(place.link);
}

template <typename Visitor>
void for_each_field(FabricPort& port, Visitor& visit) {
  visit(port.device);
  visit(port.port);
  visit(port.link_layer);
  visit(port.active);
  visit(port.state);
  visit(port.rate);
  visit(port.device_file);
  visit(port.reachable);
  visit(port.board);
  visit(port.firmware);
  visit(port.place);
}

template <typename Visitor>
void for_each_field(DeviceView& device, Visitor& visit) {
  visit(device.identity);
  visit(device.name);
  visit(device.place);
  visit(device.exclusive);
}

template <typename Visitor>
void for_each_field(RankView& view, Visitor& visit) {
  visit(view.host);
  visit(view.node);
  visit(view.trains);
  visit(view.processors);
  visit(view.devices);
  visit(view.reason);
  visit(view.ports);
  visit(view.nv_switches);
}

template <typename Visitor>
void for_each_field(RankBinding& binding, Visitor& visit) {
  visit(binding.device);
  visit(binding.processors);
}

}  // namespace skyline::machine

namespace skyline::comm {

std::vector<machine::RankView> gather_views(Communicator& world, const machine::RankView& mine) {
  std::vector<machine::RankView> views;
  for (const std::string& record : gather_texts(world, to_record(mine), 0)) {
    views.push_back(from_record<machine::RankView>(record));
  }
  return views;
}

machine::RankBinding share_bindings(Communicator& world, const std::vector<machine::RankBinding>& bindings) {
  const std::string record = broadcast_text(world, to_record(bindings), 0);
  return from_record<std::vector<machine::RankBinding>>(record).at(static_cast<std::size_t>(world.rank()));
}

}  // namespace skyline::comm
