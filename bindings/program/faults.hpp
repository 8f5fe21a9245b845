// What the program does at a memory fault of its own: it says so and ends, at once.
#pragma once

namespace kbcd {

// For the main thread; after MPI has started, which sets handlers that allocate, and so may wait for ever for a lock
// that the fault left held.
void end_at_faults();

}  // namespace kbcd
