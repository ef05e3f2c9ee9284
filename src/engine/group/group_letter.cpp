#include "engine/group/group_letter.hpp"

#include "skyline/core/error.hpp"

#include <cstring>

namespace skyline::engine {

void write_header(const GroupHeader& header, comm::Parcel& letter) {
  std::memcpy(letter.bytes().data(), &header, sizeof(header));
}

GroupHeader header_of(const comm::Parcel& letter) {
  require(letter.bytes().size() >= sizeof(GroupHeader), "a letter of a group has no header");
  GroupHeader header;
  std::memcpy(&header, letter.bytes().data(), sizeof(header));
  return header;
}

std::span<std::byte> payload_of(comm::Parcel& letter) {
  return letter.bytes().subspan(sizeof(GroupHeader));
}

std::span<const std::byte> payload_of(const comm::Parcel& letter) {
  return letter.bytes().subspan(sizeof(GroupHeader));
}

}  // namespace skyline::engine
