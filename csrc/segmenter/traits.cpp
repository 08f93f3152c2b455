#include <segmenter/traits.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/external_ops.h>
#include <ir/internal_nodes.h>
#include <segmenter/group.h>
#include <segmenter/spaces.h>

namespace nvfuser {

namespace {

/// Floating-point operations for each element, roughly.
double workOf(const Expr* expr, DeviceKind device) {
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
      switch (expr->as<UnaryOp>()->getUnaryOpType()) {
        case UnaryOpType::Cast:
        case UnaryOpType::Neg:
        case UnaryOpType::Abs:
        case UnaryOpType::Relu:
          return 1;
        case UnaryOpType::Sin:
        case UnaryOpType::Cos:
        case UnaryOpType::Tan:
          return device == DeviceKind::Cpu ? 16 : 48;  // (in vectors)
        default:
          return 16;
      }
    case ExprKind::BinaryOp:
      switch (expr->as<BinaryOp>()->getBinaryOpType()) {
        case BinaryOpType::Add:
        case BinaryOpType::Sub:
        case BinaryOpType::Mul:
          return 1;
        default:
          return 8;
      }
    case ExprKind::TernaryOp:
    case ExprKind::ReductionOp:
      return 2;
    case ExprKind::WelfordOp:
    case ExprKind::OnlineSoftmaxOp:
      return 16;
    case ExprKind::RNGOp:
      return 64;
    case ExprKind::BroadcastOp:
    case ExprKind::SqueezeOp:
    case ExprKind::ExpandOp:
    case ExprKind::RepeatOp:
    case ExprKind::ReshapeOp:
    case ExprKind::SelectOp:
    case ExprKind::SliceOp:
      return 0;  // a matter of indices
    default:
      return 1;
  }
}

/// Whether a kernel ends with this operation. Behind an input of the Fusion there is none to end.
bool isCut(const Expr* expr) {
  return expr->isA<LoadStoreOp>() &&
         expr->as<LoadStoreOp>()->opType() == LoadStoreOpType::SegmenterSet &&
         expr->input(0)->definition() != nullptr;
}

/// Whether an operation may be computed again by whoever needs it: each element from the same
/// elements of its operands, and the same each time. (What is read at a known place is stored in
/// any case, or an input.) A GPU reads across lines as fast as along them where tiles or warps do
/// so together; a thread of the CPU waits for each line.
bool copies(const Expr* expr, DeviceKind device) {
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
    case ExprKind::BinaryOp:
    case ExprKind::TernaryOp:
    case ExprKind::BroadcastOp:
    case ExprKind::SqueezeOp:
    case ExprKind::ExpandOp:
    case ExprKind::FullOp:
    case ExprKind::IotaOp:
    case ExprKind::EyeOp:
    case ExprKind::ReshapeOp:
      return true;
    case ExprKind::SelectOp:
      // Of rows; a column is stored, so that who reads it often finds its elements side by side.
      return expr->as<SelectOp>()->dim() < tensorOutputs(expr)[0]->nDims();
    case ExprKind::SliceOp:
      return true;
    case ExprKind::LoadStoreOp:
      return (device != DeviceKind::Cpu || !tensorOutputs(expr)[0]->hasRoot()) && !isCut(expr);
    default:
      return false;
  }
}

bool isPadOfCat(const Val* val) {
  return val->definition() != nullptr && val->definition()->isA<PadOp>();
}

/// Whether it turns an input that others read as it is, and stays where that lies. A kernel that
/// has both has two inputs: one tensor it could not read at two elements.
bool isViewOfInputReadOtherwise(const Expr* expr) {
  if (!expr->isA<LoadStoreOp>() || !expr->input(0)->isFusionInput()) {
    return false;
  }
  const TensorView* out = tensorOutputs(expr)[0];
  const auto* in = expr->input(0)->as<TensorView>();
  const std::vector<IterDomain*>& root = out->getRootDomain();
  const std::vector<IterDomain*>& memory = out->getMaybeAllocationDomain();
  const std::vector<IterDomain*> of_in = TensorDomain::noReductions(in->getLogicalDomain());
  const auto liesAsInput = [&](const IterDomain* a, const IterDomain* b) {
    return std::find(root.begin(), root.end(), a) - root.begin() ==
           std::find(of_in.begin(), of_in.end(), b) - of_in.begin();
  };
  const auto of_input = TensorDomain::noReductions(in->getMaybeAllocationDomain());
  return out->hasRoot() && out->fusion()->usesOf(in).size() > 1 &&
         std::equal(memory.begin(), memory.end(), of_input.begin(), of_input.end(), liesAsInput);
}

/// The operation of a unit, behind what has no kernel without it.
std::vector<Expr*> exprsOfUnit(Expr* expr) {
  std::vector<Expr*> exprs;
  if (expr->isA<CatOp>()) {
    for (const Val* in : expr->inputs()) {
      if (isPadOfCat(in) &&
          std::find(exprs.begin(), exprs.end(), in->definition()) == exprs.end()) {
        exprs.push_back(in->definition());
      }
    }
  }
  exprs.push_back(expr);
  return exprs;
}

/// The space that the operation iterates over, and a reduction's signature.
void setSpaces(UnitTraits& unit, const TensorView* out, Spaces& spaces) {
  const std::set<int> kept = spaces.sourcesOf(out->getLogicalDomain(), false);
  std::set<int> all = kept;
  if (isReduction(unit.exprs.back())) {
    all = spaces.sourcesOf(out->getLogicalDomain(), true);
    std::set<int> reduced;
    for (const IterDomain* id : out->getLogicalDomain()) {
      if (id->isReduction()) {
        const std::set<int> sources = spaces.sourcesOf({const_cast<IterDomain*>(id)}, true);
        reduced.insert(sources.begin(), sources.end());
      }
    }
    unit.signature = spaces.signature(kept, reduced);
    unit.kept = spaces.number(kept);
  }
  unit.space = spaces.number(all);
}

/// Measured with the host's compiler: an addition takes it 0.3 ms, a guarded read 5 ms, the loops
/// of a reduction 20 ms, and more where there are many of them.
int compileWeight(const Expr* expr) {
  constexpr int kGuardedRead = 16;
  constexpr int kLoops = 64;
  return isReduction(expr) ? kLoops : expr->isA<PadOp>() ? kGuardedRead : 1;
}

}  // namespace

namespace {

constexpr int64_t kShortRun = 64;  ///< bytes

}  // namespace

int FusionTraits::addTensor(TensorView* tv) {
  const auto [place, is_new] = number_of_.emplace(tv, static_cast<int>(tensors_.size()));
  if (is_new) {
    TensorTraits& tensor = tensors_.emplace_back();
    tensor.tv = tv;
    tensor.is_output = tv->isFusionOutput();
    for (const IterDomain* id : TensorDomain::noReductions(tv->getLogicalDomain())) {
      tensor.elements *= id->isBroadcast() ? 1 : extent(id);
    }
    const DataType dtype = tv->dtype() == DataType::Index ? DataType::Int : tv->dtype();
    tensor.bytes = tensor.elements * dataTypeSizeByte(dtype);
  }
  return place->second;
}

int64_t FusionTraits::bytesReadBy(int number, int t) const {
  const UnitTraits& of = unit(number);
  const TensorTraits& source = tensor(t);
  if (of.exprs.size() != 1 || !of.exprs[0]->isOneOf<SelectOp, SliceOp>() ||
      cutsLines(of.exprs[0])) {
    return source.bytes;
  }
  return std::min(source.bytes, tensor(of.writes[0]).bytes);
}

bool FusionTraits::cutsLines(const Expr* expr) const {
  const auto* in = expr->input(0)->as<TensorView>();
  const auto memory = TensorDomain::noReductions(in->getMaybeAllocationDomain());
  const auto logical = TensorDomain::noReductions(in->getLogicalDomain());
  const auto innermost = std::find(logical.begin(), logical.end(), memory.back()) - logical.begin();
  if (const auto* select = dynamic_cast<const SelectOp*>(expr)) {
    return innermost == select->dim();
  }
  const auto* out = expr->output(0)->as<TensorView>();
  const IterDomain* axis = out->getLogicalDomain().at(static_cast<size_t>(innermost));
  return extent(axis) != extent(memory.back()) &&
         extent(axis) * dataTypeSizeByte(in->dtype()) < kShortRun;
}

int64_t FusionTraits::extent(const IterDomain* id) const {
  const auto [place, is_new] = extents_.emplace(id->getMaybeExpandedExtent(), 0);
  if (is_new) {
    place->second = call_.extent(id);
  }
  return place->second;
}

int FusionTraits::classOf(const IterDomain* id) const {
  const auto found = class_of_.find(id);
  return found == class_of_.end() ? -1 : found->second;
}

void FusionTraits::connect(int number) {
  UnitTraits& unit = units_[static_cast<size_t>(number)];
  const Expr* expr = unit.exprs.back();
  for (const Expr* part : unit.exprs) {
    for (TensorView* in : tensorInputs(part)) {
      const bool inside = expr->isA<CatOp>() && part == expr && isPadOfCat(in);
      const int tensor = inside ? -1 : addTensor(in);
      if (tensor >= 0 &&
          std::find(unit.reads.begin(), unit.reads.end(), tensor) == unit.reads.end()) {
        unit.reads.push_back(tensor);
        tensors_[static_cast<size_t>(tensor)].readers.push_back(number);
      }
    }
  }
  for (TensorView* out : tensorOutputs(expr)) {
    const int tensor = addTensor(out);
    unit.writes.push_back(tensor);
    tensors_[static_cast<size_t>(tensor)].unit = number;
    tensors_[static_cast<size_t>(tensor)].cuts = isCut(expr);
  }
}

void FusionTraits::measure(UnitTraits& unit) const {
  const Expr* expr = unit.exprs.back();
  const TensorView* out = tensor(unit.writes[0]).tv;
  if (expr->isA<ReshapeOp>()) {
    unit.transforms = static_cast<int>(out->domain()->allExprs().size());
  }
  unit.parts = expr->isA<CatOp>() ? static_cast<int>(expr->inputs().size()) : 0;
  for (const Expr* part : unit.exprs) {
    unit.weight += compileWeight(part);
  }
  // (Kernels scatter: scheduler/scatter/.)
  const bool is_view = isViewOfInputReadOtherwise(expr);
  unit.alone = (hasNoKernel(expr) && !expr->isA<ScatterOp>()) || is_view;
  unit.copies = copies(expr, call_.device) && !is_view;
  for (const IterDomain* id : out->getLogicalDomain()) {
    unit.elements *= id->isBroadcast() ? 1 : extent(id);
  }
  unit.work = workOf(expr, call_.device) * static_cast<double>(unit.elements);
}

void FusionTraits::addUnit(Expr* expr, Spaces& spaces) {
  const int number = numUnits();
  units_.emplace_back().exprs = exprsOfUnit(expr);
  connect(number);
  UnitTraits& unit = units_.back();
  setSpaces(unit, tensor(unit.writes[0]).tv, spaces);
  measure(unit);
}

FusionTraits::FusionTraits(const Fusion& fusion, const SegmentCall& call) : call_(call) {
  const std::vector<Expr*> exprs = tensorExprs(fusion);
  // Pads that only concatenations read are computed by those alone.
  std::unordered_set<const Val*> read_otherwise(fusion.outputs().begin(), fusion.outputs().end());
  for (const Expr* expr : exprs) {
    if (!expr->isA<CatOp>()) {
      read_otherwise.insert(expr->inputs().begin(), expr->inputs().end());
    }
  }
  const IdGraph graph(fusion, IdGraph::Mode::Exact);
  Spaces spaces(graph);
  for (Expr* expr : exprs) {
    if (!expr->isA<PadOp>() || read_otherwise.count(expr->output(0)) != 0) {
      addUnit(expr, spaces);
    }
  }
  for (TensorTraits& tensor : tensors_) {
    for (const auto* list : {&tensor.tv->getLogicalDomain(), &tensor.tv->getRootDomain()}) {
      for (const IterDomain* id : *list) {
        class_of_[id] = graph.classOf(id);
      }
    }
    tensor.space = spaces.number(spaces.sourcesOf(tensor.tv->getLogicalDomain(), false));
  }
}

}  // namespace nvfuser
