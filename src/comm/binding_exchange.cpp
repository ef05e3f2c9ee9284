#include "comm/binding_exchange.hpp"

#include "skyline/core/error.hpp"

#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

namespace skyline::comm {
namespace {

void write(RecordWriter& writer, const machine::PciPlace& place) {
  writer.text(place.address);
  writer.count(place.bridges.size());
  for (const std::string& bridge : place.bridges) writer.text(bridge);
  writer.number(place.numa_node);
  writer.numbers(place.near_processors);
  writer.text(place.link);
}

machine::PciPlace read_place(RecordReader& reader) {
  machine::PciPlace place;
  place.address = reader.text();
  place.bridges.resize(reader.count());
  for (std::string& bridge : place.bridges) bridge = reader.text();
  place.numa_node = reader.number();
  place.near_processors = reader.numbers();
  place.link = reader.text();
  return place;
}

void write(RecordWriter& writer, const machine::FabricPort& port) {
  writer.text(port.device);
  writer.number(port.port);
  writer.text(port.link_layer);
  writer.number(port.active ? 1 : 0);
  writer.text(port.state);
  writer.text(port.rate);
  writer.text(port.device_file);
  writer.number(port.reachable ? 1 : 0);
  writer.text(port.board);
  writer.text(port.firmware);
  write(writer, port.place);
}

machine::FabricPort read_port(RecordReader& reader) {
  machine::FabricPort port;
  port.device = reader.text();
  port.port = reader.number();
  port.link_layer = reader.text();
  port.active = reader.number() == 1;
  port.state = reader.text();
  port.rate = reader.text();
  port.device_file = reader.text();
  port.reachable = reader.number() == 1;
  port.board = reader.text();
  port.firmware = reader.text();
  port.place = read_place(reader);
  return port;
}

std::string to_record(const machine::RankView& view) {
  RecordWriter writer;
  writer.text(view.host);
  writer.number(view.node);
  writer.number(view.trains ? 1 : 0);
  writer.numbers(view.processors);
  writer.count(view.devices.size());
  for (const machine::DeviceView& device : view.devices) {
    writer.text(device.identity);
    writer.text(device.name);
    write(writer, device.place);
    writer.number(device.exclusive ? 1 : 0);
  }
  writer.text(view.reason);
  writer.count(view.ports.size());
  for (const machine::FabricPort& port : view.ports) write(writer, port);
  writer.number(view.nv_switches);
  return writer.record();
}

machine::RankView read_view(const std::string& record) {
  RecordReader reader(record);
  machine::RankView view;
  view.host = reader.text();
  view.node = reader.number();
  view.trains = reader.number() == 1;
  view.processors = reader.numbers();
  view.devices.resize(reader.count());
  for (machine::DeviceView& device : view.devices) {
    device.identity = reader.text();
    device.name = reader.text();
    device.place = read_place(reader);
    device.exclusive = reader.number() == 1;
  }
  view.reason = reader.text();
  view.ports.resize(reader.count());
  for (machine::FabricPort& port : view.ports) port = read_port(reader);
  view.nv_switches = reader.number();
  return view;
}

}  // namespace

std::vector<machine::RankView> gather_views(Communicator& world, const machine::RankView& mine) {
  std::vector<machine::RankView> views;
  for (const std::string& record : gather_texts(world, to_record(mine), 0)) {
    views.push_back(read_view(record));
  }
  return views;
}

machine::RankBinding share_bindings(Communicator& world, const std::vector<machine::RankBinding>& bindings) {
  RecordWriter writer;
  for (const machine::RankBinding& binding : bindings) {
    writer.number(binding.device);
    writer.numbers(binding.processors);
  }
  RecordReader reader(broadcast_text(world, writer.record(), 0));
  machine::RankBinding mine;
  for (int rank = 0; rank <= world.rank(); ++rank) {
    mine.device = reader.number();
    mine.processors = reader.numbers();
  }
  return mine;
}

void RecordWriter::text(std::string_view value) {
  count(value.size());
  record_ += value;
}

void RecordWriter::number(int value) {
  record_ += std::to_string(value) + ' ';
}

void RecordWriter::numbers(const std::vector<int>& values) {
  count(values.size());
  for (const int value : values) number(value);
}

std::string RecordReader::text() {
  const std::size_t length = count();
  require(record_.size() - position_ >= length, "a rank's record ends inside a text");
  position_ += length;
  return record_.substr(position_ - length, length);
}

int RecordReader::number() {
  int value = 0;
  const char* const end = record_.data() + record_.size();
  const auto [after, error] = std::from_chars(record_.data() + position_, end, value);
  require(error == std::errc() && after != end && *after == ' ', "a rank's record has no number here");
  position_ = static_cast<std::size_t>(after - record_.data()) + 1;
  return value;
}

std::size_t RecordReader::count() {
  const int value = number();
  require(value >= 0 && static_cast<std::size_t>(value) <= record_.size(),
          "a rank's record has no count here");
  return static_cast<std::size_t>(value);
}

std::vector<int> RecordReader::numbers() {
  std::vector<int> values(count());
  for (int& value : values) value = number();
  return values;
}

}  // namespace skyline::comm
