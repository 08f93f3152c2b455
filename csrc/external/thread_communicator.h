/// Devices that are threads of one process, on memory of the host: for tests, and to try a program
/// for many devices on a laptop.
///
///   auto devices = threadCommunicators(4);
///   // thread d: executor(fusion, devices[d]).run(…)
///
/// A team's exchange begins when its last device has come. Devices that bring unlike exchanges, or
/// one that does not come, are an error of each device of the team, which names both sides. A
/// device whose communicator is destroyed has left: devices that wait for it end at once.
#pragma once

#include <memory>
#include <vector>

#include <external/communicator.h>

namespace nvfuser::external {

/// One for each of `size` devices. `limit_s`: how long a device waits for the others of its team.
std::vector<std::shared_ptr<Communicator>> threadCommunicators(int64_t size, double limit_s = 60);

}  // namespace nvfuser::external
