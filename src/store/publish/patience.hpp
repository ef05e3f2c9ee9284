#pragma once

namespace skyline::store {

/// Sets how long this process retries after a storage fault that may pass: a full disk, a server that does
/// not answer or has restarted. Default: 60 s. Current waits follow a change. Any thread.
void set_patience(double seconds);
double patience_s();

/// How hard to try to write a file; kOnce is for files that the run can do without.
enum class Effort { kPatient, kOnce };

}  // namespace skyline::store
