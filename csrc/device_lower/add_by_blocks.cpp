#include <device_lower/add_by_blocks.h>

#include <algorithm>
#include <functional>

#include <device_lower/lower.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

using kir::Scalar;

namespace {

class AddByBlocks {
 public:
  explicit AddByBlocks(Lowering& lowering)
      : kernel_(lowering.kernel),
        pool_(*lowering.kernel.pool),
        loops_(*lowering.loops),
        symbols_(*lowering.symbols),
        width_(lowering.fusion->kernelHints().adds_by_blocks) {}

  void run() {
    kir::Block& body = kernel_.body;
    const auto first = std::find_if(body.begin(), body.end(), addsEntries);
    check(first != body.end(), "a kernel that adds by blocks adds something");
    const auto barrier =
        std::find_if(std::make_reverse_iterator(first), body.rend(), isGridBarrier);
    check(barrier != body.rend(), "blocks that add to one target wait until it is filled");
    const auto filled = body.rend() - barrier - 1;
    const auto summed = std::find_if(first, body.end(), isGridBarrier) - body.begin();
    addToParts();
    const kir::Block sums{
        {kir::Sync{kir::SyncKind::BlockBarrier, nullptr, part_->name + " is complete"}},
        eachElement(width_, [&](Scalar at) { return addPart(at); })};
    body.insert(body.begin() + summed, sums.begin(), sums.end());
    body.insert(body.begin() + filled, eachElement(1, [&](Scalar at) {
                  return kir::Block{{kir::Assign{{part_, at}, zeroOf(part_->dtype)}}};
                }));
  }

 private:
  static bool addsEntries(const kir::Stmt& stmt) {
    bool found = false;
    kir::forEach(kir::Block{stmt}, [&](const kir::Stmt& inner) {
      found |= std::holds_alternative<kir::CombineAt>(inner.node);
    });
    return found;
  }

  static bool isGridBarrier(const kir::Stmt& stmt) {
    const auto* sync = std::get_if<kir::Sync>(&stmt.node);
    return sync != nullptr && sync->kind == kir::SyncKind::GridBarrier;
  }

  static kir::Operand zeroOf(DataType dtype) {
    const bool is_float = isFloatingPointType(dtype);
    return kir::Literal{is_float ? PolymorphicValue(0.0) : PolymorphicValue(int64_t{0}), dtype};
  }

  void addToParts() {
    kir::forEach(kernel_.body, [&](kir::Stmt& stmt) {
      auto* combine = std::get_if<kir::CombineAt>(&stmt.node);
      if (combine == nullptr) {
        return;
      }
      if (part_ == nullptr) {
        target_ = combine->dst.buffer;
        makePart();
      }
      check(combine->op == BinaryOpType::Add && combine->dst.buffer == target_,
            "entries are added to one target");
      combine->dst.buffer = part_;
    });
  }

  void makePart() {
    kir::Buffer part;
    part.name = target_->name + "_part";
    part.dtype = target_->dtype;
    part.memory = MemoryType::Shared;
    part.elements = pool_.one();
    for (const IterDomain* id : TensorDomain::noReductions(target_->tv->getLogicalDomain())) {
      part.elements = pool_.mul(part.elements, symbols_.of(id->getMaybeExpandedExtent()));
    }
    part.read = part.written = true;
    kernel_.checks.push_back({kir::LaunchCheck::Kind::Divisible, part.elements, nullptr, width_,
                              text(target_->name, " is added to in vectors of ", width_)});
    part_ = kernel_.addBuffer(std::move(part));
  }

  /// Of `width_` neighbours.
  kir::Block addPart(Scalar at) {
    if (width_ == 1) {
      return {{kir::CombineAt{BinaryOpType::Add, {target_, at}, kir::Ref{part_, at}}}};
    }
    kir::Buffer taken;
    taken.name = part_->name + "_vector";
    taken.dtype = part_->dtype;
    taken.elements = pool_.constant(width_);
    taken.read = taken.written = true;
    const kir::Ref in_registers{kernel_.addBuffer(std::move(taken)), pool_.zero(), width_};
    return {{kir::Declare{in_registers.buffer}},
            {kir::CopyVector{in_registers, {part_, at, width_}}},
            {kir::CombineAt{BinaryOpType::Add, {target_, at, width_}, in_registers}}};
  }

  /// What `make` gives for the first of `width` neighbours, each of them by one thread of a block.
  kir::Stmt eachElement(int64_t width, const std::function<kir::Block(Scalar)>& make) {
    Scalar thread = pool_.zero();
    Scalar threads = pool_.one();
    for (const ParallelType type : {ParallelType::TIDz, ParallelType::TIDy, ParallelType::TIDx}) {
      if (loops_.isUsed(type)) {
        const Scalar extent = loops_.dimension(type);
        thread = pool_.add(pool_.mul(thread, extent), loops_.parallelIndex(type));
        threads = pool_.mul(threads, extent);
      }
    }
    const Scalar count = pool_.div(part_->elements, pool_.constant(width));
    kir::For loop;
    loop.extent = pool_.ceilDiv(count, threads);
    loop.var = pool_.symbol(text("p", names_++), loop.extent);
    loop.comment = part_->name;
    const Scalar number = pool_.add(pool_.mul(loop.var, threads), thread);
    kir::If inside;
    inside.condition = pool_.less(number, count);
    inside.then_body = std::make_shared<kir::Block>(make(pool_.mul(number, width)));
    loop.body = inside.condition->isConstant(1)
                    ? inside.then_body
                    : std::make_shared<kir::Block>(kir::Block{{inside}});
    return {std::move(loop)};
  }

  kir::Kernel& kernel_;
  kir::ScalarPool& pool_;
  const LoopModel& loops_;
  Symbols& symbols_;
  const int64_t width_;
  const kir::Buffer* target_ = nullptr;
  const kir::Buffer* part_ = nullptr;
  int names_ = 0;
};

}  // namespace

void addByBlocks(Lowering& lowering) {
  if (lowering.fusion->kernelHints().adds_by_blocks > 0) {
    AddByBlocks(lowering).run();
  }
}

}  // namespace nvfuser
