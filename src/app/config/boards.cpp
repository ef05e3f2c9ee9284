#include "app/config/boards.hpp"

#include "skyline/core/error.hpp"

#include "core/config/byte_size.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace skyline::app {
namespace {

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kMi = 1024 * kKi;
constexpr std::int64_t kRamOfProgram = 16 * kKi;     // a runtime's own arrays, the stack, a buffer of samples
constexpr std::int64_t kFlashOfProgram = 200 * kKi;  // a runtime with its kernels, drivers
constexpr std::int64_t kLeast = kKi;                 // fewer bytes are taken for a unit that was forgotten
constexpr std::int64_t kMostMi = 16;  // so many Mi of flash have boards at most, none has one of RAM
constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr const char* kFlash = "flash";

std::int64_t read_size(const std::string& option, const std::string& text, const std::string& of) {
  const auto amount = amount_in(text, true);
  if (!amount || !(*amount >= 1) || *amount > static_cast<double>(kMost)) {
    throw UserError(option + ": expected bytes of " + of + " with a unit, e.g. 256Ki, got `" + text + "`");
  }
  const auto bytes = static_cast<std::int64_t>(*amount);
  if (bytes >= kLeast) return bytes;
  throw UserError(option + ": " + counted(bytes, "byte") + " of " + of + ": did you mean " +
                  std::to_string(bytes) + (of == kFlash && bytes <= kMostMi ? "Mi?" : "Ki?"));
}

DeviceRoom room_of(const Board& board) {
  DeviceRoom room{board.ram_bytes - kRamOfProgram, board.flash_bytes - kFlashOfProgram, ""};
  room.from = "board " + std::string(board.name) + ": " + board_size_text(board.ram_bytes) + " of RAM less " +
              board_size_text(kRamOfProgram) + " and " + board_size_text(board.flash_bytes) +
              " of flash less " + board_size_text(kFlashOfProgram) +
              " for the rest of the program; for other numbers: --board " + board_size_text(room.ram_bytes) +
              "," + board_size_text(room.flash_bytes);
  return room;
}

std::string letters_and_digits(std::string_view text) {
  std::string kept = lower_case(text);
  std::erase_if(kept, [](unsigned char letter) { return std::isalnum(letter) == 0; });
  return kept;
}

/// Returns the boards whose product a text names, e.g. `Nano 33 BLE`, else those with names like it.
std::string suggested_board(const std::string& text) {
  constexpr std::size_t kFewestLetters = 4;
  const std::string wanted = letters_and_digits(text);
  std::vector<std::string> names;
  std::vector<std::string> having;
  for (const Board& board : boards()) {
    const std::string product(board.meaning.substr(board.meaning.find(": ") + 2));
    names.emplace_back(board.name);
    if (wanted.size() >= kFewestLetters && letters_and_digits(product).find(wanted) != std::string::npos)
      having.push_back("`" + names.back() + "` for " + product);
  }
  return having.empty() ? suggestion(text, names) : joined(having);
}

}  // namespace

std::string board_size_text(std::int64_t bytes) {
  if (bytes % kMi == 0) return std::to_string(bytes / kMi) + "Mi";
  if (bytes % kKi == 0) return std::to_string(bytes / kKi) + "Ki";
  return std::to_string(bytes);
}

const std::vector<Board>& boards() {
  static const std::vector<Board> all{{"apollo3", "Cortex-M4F: SparkFun Edge", 320 * kKi, 1 * kMi},
                                      {"esp32-c3", "RISC-V: ESP32-C3-DevKitM-1", 320 * kKi, 4 * kMi},
                                      {"esp32-s3", "Xtensa LX7: ESP32-S3-DevKitC-1-N8", 416 * kKi, 8 * kMi},
                                      {"mk64f", "Cortex-M4F: FRDM-K64F", 192 * kKi, 1 * kMi},
                                      {"nrf52832", "Cortex-M4F: nRF52 DK", 64 * kKi, 512 * kKi},
                                      {"nrf52840", "Cortex-M4F: Arduino Nano 33 BLE", 256 * kKi, 1 * kMi},
                                      {"nrf5340", "Cortex-M33: nRF5340 DK", 512 * kKi, 1 * kMi},
                                      {"rp2040", "Cortex-M0+: Raspberry Pi Pico", 264 * kKi, 2 * kMi},
                                      {"rp2350", "Cortex-M33: Raspberry Pi Pico 2", 520 * kKi, 4 * kMi},
                                      {"samd51", "Cortex-M4F: Adafruit Feather M4", 192 * kKi, 512 * kKi},
                                      {"stm32f411", "Cortex-M4F: Nucleo-F411RE", 128 * kKi, 512 * kKi},
                                      {"stm32f412", "Cortex-M4F: Nucleo-F412ZG", 256 * kKi, 1 * kMi},
                                      {"stm32f746", "Cortex-M7: Discovery F746G", 320 * kKi, 1 * kMi},
                                      {"stm32f767", "Cortex-M7: Nucleo-F767ZI", 384 * kKi, 2 * kMi},
                                      {"stm32h743", "Cortex-M7: Nucleo-H743ZI", 512 * kKi, 2 * kMi},
                                      {"stm32l476", "Cortex-M4F: Nucleo-L476RG", 96 * kKi, 1 * kMi}};
  return all;
}

DeviceRoom device_room(const std::string& text) {
  const std::string option = "--board " + text;
  const auto found = std::ranges::find(boards(), text, &Board::name);
  if (found != boards().end()) return room_of(*found);
  const std::size_t comma = text.find(',');
  if (comma != std::string::npos) {
    return {read_size(option, text.substr(0, comma), "RAM"),
            read_size(option, text.substr(comma + 1), kFlash), ""};
  }
  if (amount_in(text, true)) {
    (void)read_size(option, text, "RAM");
    throw UserError(option + ": expected RAM and flash, e.g. " + text + ",1Mi");
  }
  throw UserError(option +
                  ": expected RAM,FLASH that are free for the network, e.g. 256Ki,1Mi, or a board "
                  "of `skyline init --list`: " +
                  suggested_board(text));
}

}  // namespace skyline::app
