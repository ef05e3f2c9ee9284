// A flat HDF5 file of 20 tensors, published whole with its checksum, against as many bytes of raw file:
// written, synced and renamed, without and with the sync of the folder that makes the name durable. In turns,
// in a folder below the working folder; times are medians in ms, `ratio` is that of HDF5 to raw.
#include "skyline/store/weights.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::size_t kTensors = 20;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

using Clock = std::chrono::steady_clock;

struct Folder {
  std::filesystem::path path = std::filesystem::absolute("publish_bench.tmp");
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

void check(bool good, const char* call) {
  if (!good) throw std::runtime_error(call);
}

void sync(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  check(descriptor >= 0 && ::fsync(descriptor) == 0 && ::close(descriptor) == 0, "fsync");
}

void publish_raw(const std::filesystem::path& path, const std::vector<char>& bytes, bool with_folder) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  check(file >= 0, "open");
  for (std::size_t place = 0; place < bytes.size(); place += kPieceBytes) {
    const std::size_t piece = std::min(kPieceBytes, bytes.size() - place);
    check(::write(file, bytes.data() + place, piece) == static_cast<ssize_t>(piece), "write");
  }
  check(::fsync(file) == 0 && ::close(file) == 0, "fsync");
  check(::rename(temporary.c_str(), path.c_str()) == 0, "rename");
  if (with_folder) sync(path.parent_path());
}

WeightsFile flat_weights(std::size_t bytes) {
  WeightsFile weights;
  const std::size_t elements = bytes / sizeof(float) / kTensors;
  for (std::size_t i = 0; i < kTensors; ++i) {
    weights.tensors.push_back({"layer_" + std::to_string(i) + ".weight",
                               {static_cast<std::int64_t>(elements)},
                               std::vector<float>(elements, static_cast<float>(i))});
  }
  return weights;
}

template <typename Action>
double seconds_of(Action action) {
  const Clock::time_point start = Clock::now();
  action();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median_ms(std::vector<double>& seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return 1e3 * *middle;
}

void publish_in_turns(benchmark::State& state) {
  const Folder folder;
  const auto bytes = static_cast<std::size_t>(state.range(0)) * 100'000;
  const WeightsFile weights = flat_weights(bytes);
  const std::vector<char> raw(bytes, 'x');
  std::vector<double> raw_s;
  std::vector<double> with_folder_s;
  std::vector<double> hdf5_s;
  for (auto _ : state) {
    raw_s.push_back(seconds_of([&] { publish_raw(folder.path / "a", raw, false); }));
    with_folder_s.push_back(seconds_of([&] { publish_raw(folder.path / "b", raw, true); }));
    hdf5_s.push_back(seconds_of([&] { write_weights(folder.path / "c.h5", weights); }));
    state.SetIterationTime(hdf5_s.back());
  }
  const double raw_ms = median_ms(raw_s);
  const double with_folder_ms = median_ms(with_folder_s);
  const double hdf5_ms = median_ms(hdf5_s);
  state.counters["raw_ms"] = raw_ms;
  state.counters["with_folder_ms"] = with_folder_ms;
  state.counters["hdf5_ms"] = hdf5_ms;
  state.counters["ratio"] = hdf5_ms / raw_ms;
  state.counters["ratio_with_folder"] = hdf5_ms / with_folder_ms;
}

BENCHMARK(publish_in_turns)
    ->ArgName("size_100kB")
    ->Arg(8)
    ->Arg(40)
    ->Arg(400)
    ->Arg(1200)
    ->Iterations(41)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace skyline::store
