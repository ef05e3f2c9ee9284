#include "engine/group_letter.hpp"

#include "skyline/core/error.hpp"

#include <cstring>

namespace skyline::engine {

std::shared_ptr<comm::Parcel> make_letter(comm::ParcelPool& pool, const GroupHeader& header,
                                          std::size_t payload) {
  auto letter = pool.take(sizeof(GroupHeader) + payload);
  std::memcpy(letter->bytes().data(), &header, sizeof(header));
  return letter;
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
