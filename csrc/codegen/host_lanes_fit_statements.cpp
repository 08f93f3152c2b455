/// Which statements have a form on vectors (host_lanes_statements.cpp), and how many lanes their
/// types leave.
#include <algorithm>

#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

namespace {

bool hasLanes(DataType dtype) {
  return dtype == DataType::Float || dtype == DataType::Double || dtype == DataType::Half ||
         dtype == DataType::BFloat16 || dtype == DataType::Float8_e4m3fn ||
         dtype == DataType::Float8_e5m2 || isBooleanType(dtype) || isIntegralType(dtype);
}

/// What an operand or a condition may not be evaluated for beyond the loop's end.
bool hasEffect(const kir::PointwiseType& op) {
  auto* unary = std::get_if<UnaryOpType>(&op);
  return unary != nullptr && *unary == UnaryOpType::Print;
}

/// Of a lane, at least: bytes and truth values are computed with as they are, floats of two bytes
/// in registers of four.
int64_t laneBytes(DataType dtype) {
  const int64_t size = dataTypeSizeByte(dtype);
  return isIntegralType(dtype) || isBooleanType(dtype) ? size : std::max<int64_t>(size, 4);
}

}  // namespace

const kir::Ref* resultOf(const kir::Stmt& stmt) {
  if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
    return &compute->dst;
  }
  if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
    return &assign->dst;
  }
  auto* guarded = std::get_if<kir::Guarded>(&stmt.node);
  return guarded == nullptr ? nullptr : &guarded->dst;
}

/// The statements of one block, one after another: what one of them makes a vector of (`lanes`),
/// those behind it read as such.
class HostEmitter::LaneFit {
 public:
  LaneFit(HostEmitter& emitter, bool partial, const std::set<const kir::Buffer*>& compared,
          LaneLoop& lanes)
      : emitter_(emitter), partial_(partial), compared_(compared), lanes_(lanes) {}

  bool fits(const kir::Stmt& stmt) {
    const kir::Ref* result = resultOf(stmt);
    if (result != nullptr && lanes_.scalars.count(result->buffer) != 0) {
      return true;  // one for all lanes
    }
    return std::visit(
        [&](const auto& node) {
          if constexpr (requires { this->fits(node); }) {
            return this->fits(node);
          } else {
            return false;
          }
        },
        stmt.node);
  }

  bool fits(const kir::Declare& declare) {
    const kir::Buffer* buffer = declare.buffer;
    if (lanes_.scalars.count(buffer) != 0) {
      return true;
    }
    if (buffer->elements == nullptr || !buffer->elements->isConstant(1) ||
        (compared_.count(buffer) == 0 && !narrowTo(emitter_.storedAs(*buffer)))) {
      return false;
    }
    lanes_.registers.insert(buffer);
    return true;
  }

  bool fits(const kir::Let& let) {
    lanes_.lets[let.var] = inLoop(let.value);
    return true;
  }

  bool fits(const kir::LoadIndex& load) {
    return !lanes_.varies(load.var) ||
           (!partial_ && load.src.width == 1 && narrowTo(emitter_.storedAs(*load.src.buffer)));
  }

  bool fits(const kir::Compute& compute) {
    const kir::Buffer* place = emitter_.comparedPlace(compute, compared_);
    if (place != nullptr && lanes_.places.count(place) != 0) {
      return !partial_ && elementFits(compute.dst, {});
    }
    return !hasEffect(compute.op) && (castsShared(compute) || narrowTo(compute.compute)) &&
           elementFits(compute.dst, compute.operands) && !isCutRegister(compute.dst);
  }

  bool fits(const kir::Assign& assign) {
    if (compared_.count(assign.dst.buffer) != 0 && emitter_.isPlace(assign, lanes_)) {
      const kir::Scalar place = inLoop(std::get<kir::IndexValue>(assign.src).index);
      lanes_.places[assign.dst.buffer] = place;
      // Places in periods are compared as numbers of 32 bits.
      return emitter_.strideOf({.buffer = nullptr, .index = place}, lanes_).has_value() ||
             narrowTo(DataType::Int32);
    }
    return elementFits(assign.dst, {assign.src}) && !isCutRegister(assign.dst);
  }

  bool fits(const kir::Guarded& guarded) {
    return !partial_ && elementFits(guarded.dst, {guarded.src, guarded.otherwise});
  }

  bool fits(const kir::Random& random) {
    return !partial_ && elementFits(random.dst, random.parameters);
  }

  bool fits(const kir::Combine& combine) {
    const kir::Monoid& monoid = combine.monoid;
    return narrowTo(emitter_.storedAs(*combine.state[0].buffer)) &&
           narrowTo(emitter_.dtypeOf(combine.value[0])) && monoid.kind == kir::Monoid::Kind::Op &&
           combine.state.size() == 1 && combinesLanes(monoid.op) && stateFits(combine) &&
           hasLanes(emitter_.dtypeOf(combine.value[0]));
  }

  bool fits(const kir::If& branch) {
    if (emitter_.storesOnce(branch, lanes_).has_value()) {
      return true;
    }
    return (branch.else_body == nullptr || branch.else_body->empty()) &&
           emitter_.prefixOf(branch.condition, lanes_).has_value() &&
           emitter_.lanesFit(*branch.then_body, true, compared_, lanes_);
  }

  bool fits(const kir::Fetch&) { return true; }

 private:
  /// Leaves no more lanes than a register has of this type; false: it has none.
  bool narrowTo(DataType dtype) {
    dtype = emitter_.resolved(dtype);
    if (!hasLanes(dtype)) {
      return false;
    }
    lanes_.width = std::min(lanes_.width, emitter_.vector_bytes_ / laneBytes(dtype));
    return true;
  }

  /// An index in terms of what is not named inside of the loop.
  kir::Scalar inLoop(kir::Scalar index) const {
    return emitter_.kernel_.pool->substitute(index, lanes_.lets);
  }

  /// Memory at one place for all iterations.
  bool isAtOnePlace(const kir::Ref& ref) const {
    return lanes_.registers.count(ref.buffer) == 0 && emitter_.strideOf(ref, lanes_) == 0;
  }

  /// An element that all iterations read.
  bool isShared(const kir::Ref& ref) const { return ref.width == 1 && isAtOnePlace(ref); }

  bool castsShared(const kir::Compute& compute) const {
    const auto* type = std::get_if<UnaryOpType>(&compute.op);
    const auto* ref = std::get_if<kir::Ref>(&compute.operands[0]);
    return type != nullptr && *type == UnaryOpType::Cast && ref != nullptr && isShared(*ref);
  }

  /// A vector of which a condition leaves some lanes as they are.
  bool isCutRegister(const kir::Ref& ref) const {
    return partial_ && lanes_.registers.count(ref.buffer) != 0;
  }

  bool operandFits(const kir::Operand& operand) {
    const auto* ref = std::get_if<kir::Ref>(&operand);
    // Others, and what all iterations read, are converted before they become a vector.
    if (ref == nullptr) {
      return true;
    }
    return isShared(*ref) ? hasLanes(emitter_.resolved(emitter_.dtypeOf(operand)))
                          : ref->width == 1 && narrowTo(emitter_.dtypeOf(operand));
  }

  /// A statement that computes one element of these.
  bool elementFits(const kir::Ref& dst, const std::vector<kir::Operand>& operands) {
    if (dst.width != 1 || !narrowTo(emitter_.storedAs(*dst.buffer))) {
      return false;
    }
    // A value that all iterations share is no vector, but one lane of a vector may be stored there.
    return !(isAtOnePlace(dst) && lanes_.reads[dst.buffer] != 0) &&
           std::all_of(operands.begin(), operands.end(),
                       [&](const kir::Operand& operand) { return operandFits(operand); });
  }

  /// A number in memory: one for each iteration, or one for all of them.
  bool stateFits(const kir::Combine& combine) {
    const kir::Ref& state = combine.state[0];
    const DataType dtype = emitter_.storedAs(*state.buffer);
    const bool number = dtype == DataType::Float || dtype == DataType::Double ||
                        (isIntegralType(dtype) && dataTypeSizeByte(dtype) >= 4);
    const auto stride = emitter_.strideOf(state, lanes_);
    if (!number || !stride.has_value() || lanes_.registers.count(state.buffer) != 0) {
      return false;
    }
    return *stride == 1 || (*stride == 0 && addSum(combine));
  }

  /// Sums over the loop are kept in vectors of their own: one for each sum, with all lanes.
  bool addSum(const kir::Combine& combine) {
    const kir::Buffer* buffer = combine.state[0].buffer;
    if (partial_ || std::any_of(lanes_.sums.begin(), lanes_.sums.end(), [&](const auto& sum) {
          return sum.first->state[0].buffer == buffer;
        })) {
      return false;
    }
    const std::string number = lanes_.sums.empty() ? std::string() : text(lanes_.sums.size());
    lanes_.sums.emplace_back(&combine, text(buffer->name, "_lanes", number, "_"));
    return true;
  }

  HostEmitter& emitter_;
  const bool partial_;
  const std::set<const kir::Buffer*>& compared_;
  LaneLoop& lanes_;
};

bool HostEmitter::lanesFit(const kir::Block& block, bool partial,
                           const std::set<const kir::Buffer*>& compared, LaneLoop& lanes) {
  LaneFit fit(*this, partial, compared, lanes);
  return std::all_of(block.begin(), block.end(),
                     [&](const kir::Stmt& stmt) { return fit.fits(stmt); });
}

}  // namespace nvfuser::codegen
