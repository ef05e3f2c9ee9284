// HDF5 files, published whole with their checksum, against as many bytes of raw file: written, synced and
// renamed, without and with the sync of the folder that makes the name durable. A checkpoint is flat, with
// one array for each class of tensors; weights are 20 datasets in 20 groups. In turns, in a folder below the
// working folder; times are medians in ms, ratios are those to raw.
#include "store/weights/checkpoint.hpp"
#include "store/weights/weights.hpp"

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

/// Parameters and Adam's two moments.
TrialCheckpoint flat_checkpoint(std::size_t bytes) {
  TrialCheckpoint checkpoint;
  const std::size_t elements = bytes / sizeof(float);
  checkpoint.state.arrays = {{"parameters", std::vector<float>(elements / 3, 0.5F)},
                             {"optimizer", std::vector<float>(elements - elements / 3, 0.25F)}};
  return checkpoint;
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
  const TrialCheckpoint checkpoint = flat_checkpoint(bytes);
  const RunPaths run{folder.path};
  std::filesystem::create_directories(run.checkpoints());
  const std::vector<char> raw(bytes, 'x');
  std::vector<double> raw_s;
  std::vector<double> with_folder_s;
  std::vector<double> checkpoint_s;
  std::vector<double> weights_s;
  std::uint64_t sequence = 0;
  for (auto _ : state) {
    raw_s.push_back(seconds_of([&] { publish_raw(folder.path / "a", raw, false); }));
    with_folder_s.push_back(seconds_of([&] { publish_raw(folder.path / "b", raw, true); }));
    checkpoint_s.push_back(seconds_of([&] { write_checkpoint(run, checkpoint, sequence++); }));
    weights_s.push_back(seconds_of([&] { write_weights(folder.path / "c.h5", weights); }));
    state.SetIterationTime(checkpoint_s.back());
  }
  const double raw_ms = median_ms(raw_s);
  state.counters["raw_ms"] = raw_ms;
  state.counters["with_folder"] = median_ms(with_folder_s) / raw_ms;
  state.counters["checkpoint"] = median_ms(checkpoint_s) / raw_ms;
  state.counters["weights"] = median_ms(weights_s) / raw_ms;
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
