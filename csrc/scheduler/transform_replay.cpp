#include <scheduler/transform_replay.h>

#include <algorithm>

#include <id_model/id_graph.h>
#include <ir/builder.h>
#include <scheduler/copy_axes.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

using enum ReplayDirection;

/// The domain of `tv` with another loop domain.
TensorDomain* withLoop(const TensorView* tv, const LoopReplay& replay) {
  const TensorDomain* td = tv->domain();
  std::vector<IterDomain*> additional = td->additionalIDs();
  for (auto [id, axis] : replay.added) {
    additional.push_back(id);
    tv->fusion()->registerExactMapping(id, axis);
  }
  auto* result = IrBuilder::createInContainer<TensorDomain>(tv->fusion(), td->root(), td->logical(),
                                                            td->allocation(), td->initialLoop(),
                                                            td->contiguity(), additional);
  result->setLoopDomain(replay.loop);
  return result;
}

std::pair<TensorDomain*, int64_t> replayed(const TensorView* reference, int64_t pos,
                                           const TensorView* target, ReplayDirection direction) {
  pos = requirePosition("transform replay", reference, pos);
  const LoopReplay replay = replayLoop(reference, pos, target, direction);
  return {withLoop(target, replay), replay.position};
}

int64_t matched(const TensorView* reference, int64_t pos, const TensorView* target,
                ReplayDirection direction) {
  pos = requirePosition("transform replay", reference, pos);
  return matchingLoops(reference, pos, target, direction) == pos ? pos : -1;
}

/// Whether `to` shares loops already and these run over what the first `pos` loops of `from` run
/// over.
bool isSettled(const TensorView* from, int64_t pos, const TensorView* to) {
  if (to->getComputeAtPosition() == 0 && to->getMaxProducerPosition() == 0) {
    return false;
  }
  if (to->nDims() < pos) {
    return false;
  }
  const IdGraph graph(*to->fusion(), IdGraph::Mode::Permissive);
  for (int64_t i = 0; i < pos; ++i) {
    if (!graph.mapped(from->axis(i), to->axis(i))) {
      return false;
    }
  }
  return true;
}

/// Replays the first `pos` axes and says how many of the target's stand for them.
int64_t replayOnto(TensorView* from, int64_t pos, TensorView* to, ReplayDirection direction) {
  if (matchingLoops(from, pos, to, direction) == pos || isSettled(from, pos, to)) {
    return pos;
  }
  const LoopReplay replay = replayLoop(from, pos, to, direction);
  applyReplay(to, replay);
  return replay.position;
}

}  // namespace

std::pair<TensorDomain*, int64_t> TransformReplay::replayPasC(const TensorView* producer,
                                                              const TensorView* consumer,
                                                              int64_t pos) {
  return replayed(consumer, pos, producer, ConsumerToProducer);
}

std::pair<TensorDomain*, int64_t> TransformReplay::replayCasP(const TensorView* consumer,
                                                              const TensorView* producer,
                                                              int64_t pos) {
  return replayed(producer, pos, consumer, ProducerToConsumer);
}

int64_t TransformReplay::getMatchedLeafPosWithoutReplayPasC(const TensorView* producer,
                                                            const TensorView* consumer,
                                                            int64_t pos) {
  return matched(consumer, pos, producer, ConsumerToProducer);
}

int64_t TransformReplay::getMatchedLeafPosWithoutReplayCasP(const TensorView* consumer,
                                                            const TensorView* producer,
                                                            int64_t pos) {
  return matched(producer, pos, consumer, ProducerToConsumer);
}

bool TransformReplay::fullSelfMatching(const TensorView* reference, const TensorView* target) {
  return reference->nDims() == target->nDims() &&
         matchingLoops(reference, reference->nDims(), target, Sibling) == target->nDims();
}

TensorDomain* TransformReplay::fullSelfReplay(const TensorDomain* new_self,
                                              const TensorDomain* self) {
  check(new_self->logical().size() == self->logical().size(),
        "a self replay needs as many logical axes");
  AxisCopier copier;
  for (size_t i = 0; i < self->logical().size(); ++i) {
    copier.map(self->logical()[i], new_self->logical()[i]);
  }
  std::vector<IterDomain*> loop = copier.replayTo(self->loop(), self->logical());
  auto* result = IrBuilder::createInContainer<TensorDomain>(
      new_self->fusion(), new_self->root(), new_self->logical(), new_self->allocation(),
      new_self->initialLoop(), new_self->contiguity(), copier.copyAdditional(self));
  result->setLoopDomain(std::move(loop));
  return result;
}

TransformPropagator::TransformPropagator(TensorView* from, int64_t pos) {
  replayed_pos_[from] = requirePosition("propagate", from, pos);
}

void TransformPropagator::propagate(TensorView* from, TensorView* to, ReplayDirection direction) {
  replayed_pos_[to] = replayOnto(from, replayed_pos_.at(from), to, direction);
}

void TransformPropagator::propagateC2P(TensorView* from, TensorView* to) {
  propagate(from, to, ConsumerToProducer);
}

void TransformPropagator::propagateP2C(TensorView* from, TensorView* to) {
  propagate(from, to, ProducerToConsumer);
}

void TransformPropagator::propagateSibling(TensorView* from, TensorView* to) {
  // All axes, so that the outputs of one expression keep one loop nest.
  replayOnto(from, from->nDims(), to, Sibling);
  replayed_pos_[to] = replayed_pos_.at(from);
}

void MostInlinedTransformPropagator::propagateC2P(TensorView* from, TensorView* to) {
  replayOnto(from, from->nDims(), to, ConsumerToProducer);
}

void MostInlinedTransformPropagator::propagateP2C(TensorView* from, TensorView* to) {
  replayOnto(from, from->nDims(), to, ProducerToConsumer);
}

void MostInlinedTransformPropagator::propagateSibling(TensorView* from, TensorView* to) {
  replayOnto(from, from->nDims(), to, Sibling);
}

void applyReplay(TensorView* target, const LoopReplay& replay) {
  const auto& now = target->getLoopDomain();
  if (replay.loop == now) {
    return;
  }
  const auto shared = static_cast<size_t>(
      std::max(target->getComputeAtPosition(), target->getMaxProducerPosition()));
  for (size_t i = 0; i < shared; ++i) {
    if (i < replay.loop.size() && replay.loop[i] == now[i]) {
      continue;
    }
    scheduleError(
        "transform replay", target,
        text(axisText(target, static_cast<int64_t>(i)),
             " would change, but it is a loop shared with other tensors: the first ", shared,
             " axes are fixed by inlining; the replay asks for [", join(replay.loop, ", "), "]"),
        "propagate transforms before inlining, or call resetInlining(fusion) before");
  }
  for (auto [id, axis] : replay.added) {
    target->domain()->addAdditionalId(id);
    target->fusion()->registerExactMapping(id, axis);
  }
  target->setLoopDomain(replay.loop);
}

}  // namespace nvfuser
