// What networks answer to the test set, for the page.
#include "report/html/run_json.hpp"

#include <string>
#include <utility>

namespace skyline::report {
namespace {

constexpr int kVersion = 1;  // of the files

/// Brings pictures of samples into the form that a page reads fast, or removes them.
void change_pictures(Json& answers, bool shown) {
  for (Json& sample : answers["worst"]) {
    if (!sample.contains("pixels")) continue;
    const std::string pixels = sample.at("pixels");
    sample.erase("pixels");
    if (shown && pixels.find_first_not_of("0123456789abcdef") == std::string::npos)
      sample["pixels"] = base64_of_hex(pixels);
  }
}

}  // namespace

Json answers_json(const ReportedRun& run) {
  Json json = Json::object();
  for (const auto& [number, text] : run.answers) {
    try {
      Json answers = Json::parse(text);
      if (answers.at("version") != kVersion) continue;
      for (const char* key : {"names", "samples", "targets"}) (void)answers.at(key);
      if (answers.contains("worst")) change_pictures(answers, run.shows_samples);
      answers.erase("replicates");
      json[std::to_string(number)] = std::move(answers);
    } catch (const Json::exception&) {
      // The file is damaged, and the page does without it.
    }
  }
  return json;
}

}  // namespace skyline::report
