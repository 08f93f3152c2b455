// A transformer block, forward and backward, in one Fusion: right on each device, and what lies
// between products and attention is fused. (Of GPT-2's width: examples/cpp/transformer_block.cpp.)
#include <cpp/transformer_block.h>

#include "automatic.h"

using namespace nvfuser;

TEST_CASE("a transformer block, forward and backward") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    for (const example::BlockSizes& sizes :
         {example::BlockSizes{2, 7, 4, 32}, example::BlockSizes{1, 16, 2, 24}}) {
      automatic::Program program([&](Fusion& fusion) { example::Block(fusion, sizes).define(); },
                                 *device);
      std::vector<automatic::Input> inputs;
      for (const auto& [name, shape] : example::blockInputs(sizes)) {
        inputs.push_back({shape});
      }
      program.run(inputs);
      // Norm; queries, keys and values; joined heads; sum and norm; gelu, its gradient and the sums
      // for two biases; the last sum and a norm's gradients; the gradients of queries, keys and
      // values, joined, with the sums for their bias; a norm's gradients. On the CPU those of a
      // norm are two. A head's gradients are a view.
      CHECK(program.kernels() == (device->kind() == DeviceKind::Cpu ? 10 : 8));
    }
  }
}
