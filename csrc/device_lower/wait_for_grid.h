/// What: a kernel waits for the one in front of it in the stream (programmatic dependent launch).
///
/// Why here: all statements are there, so it is known which one is the first to touch global
/// memory. What a block does before it (mbarriers, registers, indices) runs while the kernel in
/// front ends. Behind the wait the next kernel may start, and come as far as its own.
///
///   initialise T2_ready[2]            initialise T2_ready[2]
///   sync block                        sync block
///   T2 = bulk T0 …             →      wait for the kernel in front
///                                     let the next kernel start
///                                     T2 = bulk T0 …
///
/// It does not look into loops and branches: the wait is at the kernel's top.
#pragma once

namespace nvfuser {

namespace kir {
class Kernel;
}

void waitForGrid(kir::Kernel& kernel);

}  // namespace nvfuser
