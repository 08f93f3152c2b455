/// What schedulers need to know of a card, as its driver tells it.
#pragma once

#include <runtime/cuda/driver.h>
#include <support/device_properties.h>

namespace nvfuser::cuda {

DeviceProperties readProperties(const Driver& driver, DeviceId id);

}  // namespace nvfuser::cuda
