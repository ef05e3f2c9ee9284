#pragma once

#include <vector>

namespace skyline {

/// The processors that this process may run on (its affinity mask), ascending.
std::vector<int> allowed_processors();

/// Binds the calling thread to one processor, or to several; threads that it starts inherit that. Returns
/// false, and changes nothing, where the system refuses.
bool bind_this_thread(int processor);
bool bind_this_thread(const std::vector<int>& processors);

}  // namespace skyline
