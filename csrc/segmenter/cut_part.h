/// Cuts a part that no scheduler takes in two.
///
/// Along the order of its operations, somewhere in the middle half, where the fewest bytes cross:
/// behind a reduction rather than amid a row, between layers rather than inside one.
#pragma once

#include <utility>

#include <segmenter/questions.h>

namespace nvfuser {

/// Units (ascending) of the first and the second piece; neither is empty. `units`: two at least.
std::pair<std::vector<int>, std::vector<int>> cutPart(const FusionTraits& traits,
                                                      const std::vector<int>& units);

}  // namespace nvfuser
