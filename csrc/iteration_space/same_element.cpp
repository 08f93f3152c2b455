#include <iteration_space/same_element.h>

namespace nvfuser {

std::optional<ElementsApart> elementsApart(const WriterAt& writer,
                                           const std::vector<int>& positions,
                                           const TensorView* consumer, const Places& places,
                                           const AxisIndex& read, const LoopModel& loops,
                                           const IdGraph& exact) {
  std::optional<Places> of_writer;
  for (const int position : positions) {
    const IterDomain* axis = writer.tv->getLoopDomain()[static_cast<size_t>(position)];
    const auto at = read.find(axis);
    if (axis->isBroadcast() || axis->isReduction() || axis->extent()->isOneInt() ||
        at == read.end()) {
      continue;
    }
    const LoopClass& loop = loops.of(writer.tv, position);
    kir::Scalar written = writer.iteration(&loop);
    if (!exact.mapped(loop.promoted, axis)) {
      if (!of_writer) {
        of_writer = writer.places();
      }
      written = of_writer->index(axis);
    }
    if (!places.areEqual(written, at->second, consumer)) {
      return ElementsApart{position, written, at->second};
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser
