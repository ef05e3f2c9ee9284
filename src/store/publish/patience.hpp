#pragma once

namespace skyline::store {

/// For how long this process tries again when storage has a fault that may pass: a full disk, a server that
/// does not answer or has restarted. 60 s unless it is set; waits that are under way follow. Any thread.
void set_patience(double seconds);
double patience_s();

/// How hard to try to write a file: kOnce is for one that the run can do without.
enum class Effort { kPatient, kOnce };

}  // namespace skyline::store
