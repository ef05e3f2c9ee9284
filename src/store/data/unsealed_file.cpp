#include "store/data/unsealed_file.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path facts_path(const std::filesystem::path& path) {
  return path.string() + ".seal";
}

UnsealedFacts facts_in(const Json& json) {
  UnsealedFacts facts;
  facts.seal.format = json.at("format");
  facts.seal.bytes = json.at("bytes");
  facts.seal.structure = json.at("structure");
  for (const Json& array : json.at("arrays")) {
    facts.seal.arrays.push_back({array.at("name"), array.at("offset"), array.at("bytes"), array.at("sum")});
  }
  facts.mean = json.at("mean").get<std::vector<double>>();
  facts.deviation = json.at("deviation").get<std::vector<double>>();
  return facts;
}

}  // namespace

bool is_plain_hdf5(std::span<const std::byte> file) {
  return std::string_view(reinterpret_cast<const char*>(file.data()), file.size())
      .starts_with("\x89HDF\r\n\x1a\n");
}

std::optional<UnsealedFacts> known_facts(const std::filesystem::path& path,
                                         const MappedFile::Version& version) {
  try {
    const Json json = Json::parse(shallow_json(read_file(facts_path(path))));
    if (json.at("bytes") != version.bytes || json.at("written_ns") != version.written_ns) return std::nullopt;
    UnsealedFacts facts = facts_in(json);
    const bool inside = std::ranges::all_of(facts.seal.arrays, [&](const Seal::Array& array) {
      return array.offset <= version.bytes && array.bytes <= version.bytes - array.offset;
    });
    return inside ? std::optional(std::move(facts)) : std::nullopt;
  } catch (const Problem&) {
    return std::nullopt;  // there is no such file
  } catch (const Json::exception&) {
    return std::nullopt;  // the file is not whole
  }
}

void keep_facts(const std::filesystem::path& path, const MappedFile::Version& version,
                const UnsealedFacts& facts) {
  Json json{{"format", facts.seal.format},
            {"bytes", version.bytes},
            {"written_ns", version.written_ns},
            {"structure", facts.seal.structure},
            {"mean", facts.mean},
            {"deviation", facts.deviation},
            {"arrays", Json::array()}};
  for (const Seal::Array& array : facts.seal.arrays) {
    json["arrays"].push_back(
        {{"name", array.name}, {"offset", array.offset}, {"bytes", array.bytes}, {"sum", array.sum}});
  }
  try {
    publish_file(facts_path(path), json.dump(1) + "\n", Effort::kOnce);
  } catch (const Problem& problem) {
    log::info(path.string() + " is read as a whole each time that it is opened: " + problem.what());
  }
}

}  // namespace skyline::store
