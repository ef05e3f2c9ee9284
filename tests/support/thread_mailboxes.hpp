#pragma once

#include "comm/mailbox.hpp"

#include <memory>
#include <vector>

namespace skyline::testing {

/// Mailboxes of `ranks` ranks that are threads of this process: [ranks]. Messages lie with the sender for a
/// few looks, as under MPI, and are read where they lie, as on a node. Nothing is collective, close()
/// included.
std::vector<std::unique_ptr<comm::Mailbox>> make_thread_mailboxes(int ranks);

}  // namespace skyline::testing
