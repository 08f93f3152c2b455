#include <kernel_ir/scalars_of.h>

namespace nvfuser::kir {

namespace {

using Map = std::function<Scalar(Scalar)>;

void apply(Scalar& scalar, const Map& map) {
  if (scalar != nullptr) {
    scalar = map(scalar);
  }
}
void apply(Ref& ref, const Map& map) { apply(ref.index, map); }
void apply(Operand& operand, const Map& map) {
  if (auto* ref = std::get_if<Ref>(&operand)) {
    apply(*ref, map);
  }
  if (auto* index = std::get_if<IndexValue>(&operand)) {
    apply(index->index, map);
  }
}
template <typename T>
void apply(std::vector<T>& list, const Map& map) {
  for (T& item : list) {
    apply(item, map);
  }
}

struct Mapper {
  const Map& map;
  void operator()(For& s) const { apply(s.extent, map); }
  void operator()(If& s) const { apply(s.condition, map); }
  void operator()(Declare&) const {}
  void operator()(LoadIndex& s) const { apply(s.src, map); }
  void operator()(Let& s) const { apply(s.value, map); }
  void operator()(Compute& s) const {
    apply(s.dst, map);
    apply(s.operands, map);
  }
  void operator()(Assign& s) const {
    apply(s.dst, map);
    apply(s.src, map);
  }
  void operator()(CopyVector& s) const {
    apply(s.dst, map);
    apply(s.src, map);
  }
  void operator()(CopyAsync& s) const {
    apply(s.dst, map);
    apply(s.src, map);
    apply(s.condition, map);
  }
  void operator()(BulkCopy& s) const {
    apply(s.dst, map);
    apply(s.src, map);
    apply(s.count, map);
    apply(s.barrier, map);
  }
  void operator()(BoxCopy& s) const {
    apply(s.shared, map);
    for (Scalar& at : s.at) {
      apply(at, map);
    }
    apply(s.barrier, map);
  }
  void operator()(MBarrierArrive& s) const { apply(s.barrier, map); }
  void operator()(SetRegisters&) const {}
  void operator()(GridDependency&) const {}
  void operator()(AsyncCommit& s) const { apply(s.barrier, map); }
  void operator()(AsyncWait& s) const {
    apply(s.barrier, map);
    apply(s.phases, map);
  }
  void operator()(MBarrierInit&) const {}
  void operator()(FenceAsyncProxy&) const {}
  void operator()(Guarded& s) const {
    apply(s.dst, map);
    apply(s.condition, map);
    apply(s.src, map);
    apply(s.otherwise, map);
  }
  void operator()(Combine& s) const {
    apply(s.state, map);
    apply(s.value, map);
  }
  void operator()(CombineAt& s) const {
    apply(s.dst, map);
    apply(s.value, map);
  }
  void operator()(BlockReduce& s) const { apply(s.state, map); }
  void operator()(BlockScan& s) const {
    apply(s.state, map);
    apply(s.total, map);
  }
  void operator()(ClusterReduce& s) const { apply(s.state, map); }
  void operator()(GridReduce& s) const { apply(s.state, map); }
  void operator()(Sync&) const {}
  void operator()(Random& s) const {
    apply(s.dst, map);
    apply(s.element, map);
    apply(s.block, map);
    apply(s.word, map);
    apply(s.seed, map);
    apply(s.offset, map);
    apply(s.parameters, map);
  }
  void operator()(Fetch& s) const { apply(s.at, map); }
};

}  // namespace

void mapScalars(Stmt& stmt, const std::function<Scalar(Scalar)>& map) {
  std::visit(Mapper{map}, stmt.node);
}

void forEachScalar(const Stmt& stmt, const std::function<void(Scalar)>& visit) {
  // Mapping to itself changes nothing.
  mapScalars(const_cast<Stmt&>(stmt), [&](Scalar scalar) {
    visit(scalar);
    return scalar;
  });
}

Scalar definedBy(const Stmt& stmt) {
  if (auto* loop = std::get_if<For>(&stmt.node)) {
    return loop->var;
  }
  if (auto* load = std::get_if<LoadIndex>(&stmt.node)) {
    return load->var;
  }
  if (auto* let = std::get_if<Let>(&stmt.node)) {
    return let->var;
  }
  if (auto* reduce = std::get_if<GridReduce>(&stmt.node)) {
    return reduce->last;
  }
  return nullptr;
}

}  // namespace nvfuser::kir
