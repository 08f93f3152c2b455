// Devices that are threads of a test.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace nvfuser::unit {

/// What each thread ended with; empty where with nothing.
inline std::vector<std::string> onThreads(int64_t devices,
                                          const std::function<void(int64_t rank)>& run) {
  std::vector<std::string> errors(static_cast<size_t>(devices));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < devices; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        run(rank);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return errors;
}

}  // namespace nvfuser::unit
