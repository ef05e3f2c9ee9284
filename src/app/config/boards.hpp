#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// A microcontroller by its name, with the RAM that one array can take and the flash of its usual board.
struct Board {
  std::string_view name;
  std::string_view meaning;  // family of its processor, and boards that have it
  std::int64_t ram_bytes;
  std::int64_t flash_bytes;
};

/// Returns the boards that `skyline init` knows, in alphabetical order. Their figures are those of Zephyr's
/// device trees, in the files that docs/devices.md names.
const std::vector<Board>& boards();

/// Writes a size as --board reads it: in Mi or Ki where it is whole.
std::string board_size_text(std::int64_t bytes);

/// The bytes of a device that are free for a network.
struct DeviceRoom {
  std::int64_t ram_bytes = 0;
  std::int64_t flash_bytes = 0;
  std::string from;  // how the numbers were found, as a line for a person; empty if they were given
};

/// Reads `RAM,FLASH`, e.g. `256Ki,1Mi`, or the name of a board, which leaves 16 KiB of RAM and 200 KiB of
/// flash to the rest of the program.
/// @throws UserError for anything else, and for numbers in which no network fits
DeviceRoom device_room(const std::string& text);

}  // namespace skyline::app
