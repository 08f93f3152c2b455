/// NVIDIA GPUs of many processes by NCCL: collectives on the caller's stream, in memory of the GPU.
///
///   auto device = ncclCommunicatorOfLaunch(Launched::fromEnvironment());    in each process
///   MultiDeviceExecutor(fusion, device).run(…)
///
/// Before each collective the hosts of its team agree on it over TCP (external/team_channel.h), so
/// that devices which bring unlike ones get an error and not a hang. A thread watches what is on
/// its way: a process that has gone, an error of NCCL and the time limit end all collectives, and
/// every later call throws the cause.
#pragma once

#include <memory>
#include <string>

#include <external/communicator.h>
#include <external/rendezvous.h>
#include <external/team_channel.h>
#include <runtime/cuda/driver.h>
#include <runtime/cuda/nccl.h>

namespace nvfuser {

struct NcclOptions {
  int gpu = 0;  ///< of this host
  /// That a device waits for the others, and that a collective may take.
  double limit_s = 600;
};

/// `channel` connects the devices. Throws `UserError` without NCCL or a driver, and where there is
/// no such GPU.
std::shared_ptr<external::Communicator> ncclCommunicator(
    std::unique_ptr<external::TeamChannel> channel, const NcclOptions& options);
/// The same with given functions, for tests.
std::shared_ptr<external::Communicator> ncclCommunicator(
    std::unique_ptr<external::TeamChannel> channel, const NcclOptions& options,
    const cuda::nccl::Table& table, const cuda::Driver& driver);

/// The processes of a launch, which meet at its address.
std::shared_ptr<external::Communicator> ncclCommunicatorOfLaunch(const external::Launched& own,
                                                                 double limit_s = 600);

}  // namespace nvfuser
