#pragma once

#include "core/text/hash.hpp"
#include "sample_run.hpp"
#include "scratch_folder.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"
#include "support/user_error_of.hpp"

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skyline::store {

/// A journal in a folder of its own, which tests write, change and read back.
class Journal : public ::testing::Test {
 protected:
  void write(const std::vector<trial::CommittedTrial>& trials) {
    JournalWriter::create(path, testing::sample_header())->append(testing::shared(trials), space);
  }
  std::vector<std::string> lines() const {
    std::istringstream text(read_file(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  /// Replaces a line, from 1, by one with this JSON in it and a sum that matches.
  void replace_line(std::size_t number, const std::string& json) {
    std::vector<std::string> all = lines();
    all.at(number - 1) = with_sum(json);
    std::string text;
    for (const std::string& line : all) text += line + "\n";
    testing::overwrite(path, text);
  }
  /// Writes the sum as docs/internals/files.md describes it.
  static std::string with_sum(const std::string& json) {
    const std::string body = json.substr(0, json.size() - 1);
    return body + ",\"sum\":\"" + checksum(body) + "\"}";
  }
  /// Line `number` as JSON without its sum.
  nlohmann::ordered_json json_of(std::size_t number) const {
    auto json = nlohmann::ordered_json::parse(lines().at(number - 1));
    json.erase("sum");
    return json;
  }
  std::string read_error() const {
    return testing::user_error_of([&] { read_journal(path, space); });
  }
  std::string at_line(int number, const std::string& message) const {
    return path.string() + ": line " + std::to_string(number) + ": " + message;
  }

  testing::ScratchFolder folder;
  std::filesystem::path path = folder / "journal.jsonl";
  space::SearchSpace space = testing::sample_space();
};

}  // namespace skyline::store
