#include <ir/composite_nodes.h>

#include <algorithm>
#include <iterator>

#include <ir/axis_map.h>
#include <ir/interface_nodes.h>

namespace nvfuser {

namespace {

std::vector<Val*> withGiven(std::vector<Val*> all, const std::vector<Val*>& optional) {
  for (Val* val : optional) {
    if (val != nullptr) {
      all.push_back(val);
    }
  }
  return all;
}

}  // namespace

MatmulOp::MatmulOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b)
    : ExprOf(passkey, {{a, b}, {out}}) {}

LinearOp::LinearOp(IrBuilderPasskey passkey, Val* out, Val* in, Val* weight, Val* bias)
    : ExprOf(passkey,
             {bias != nullptr ? std::vector<Val*>{in, weight, bias} : std::vector<Val*>{in, weight},
              {out}}) {}

ScanOp::ScanOp(IrBuilderPasskey passkey, BinaryOpType type, Val* out, Val* in, int64_t dim,
               Val* init, bool backward)
    : ExprOf(passkey,
             {init != nullptr ? std::vector<Val*>{in, init} : std::vector<Val*>{in}, {out}},
             {type, dim, backward}) {}

ArgsortOp::ArgsortOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, bool descending,
                     bool stable)
    : ExprOf(passkey, {{in}, {out}}, {dim, descending, stable}) {}

TopKOp::TopKOp(IrBuilderPasskey passkey, Val* out_values, Val* out_indices, Val* in, Val* k,
               int64_t dim, bool largest, bool sorted)
    : ExprOf(passkey, {{in, k}, {out_values, out_indices}}, {dim, largest, sorted}) {}

SdpaFwdOp::SdpaFwdOp(IrBuilderPasskey passkey, const std::vector<Val*>& outputs, Val* query,
                     Val* key, Val* value, Val* bias, Val* mask, Val* dropout_p, Val* is_causal,
                     Val* scale)
    : ExprOf(passkey,
             {withGiven({query, key, value, dropout_p, is_causal}, {bias, mask, scale}), outputs},
             {bias != nullptr, mask != nullptr, scale != nullptr}) {}

std::optional<size_t> SdpaFwdOp::placeOf(size_t optional) const {
  const bool given[] = {fields().bias, fields().mask, fields().scale};
  const auto before = std::count(given, given + optional, true);
  return given[optional] ? std::optional(kIsCausal + 1 + static_cast<size_t>(before))
                         : std::nullopt;
}

bool SdpaFwdOp::draws() const {
  return !dropoutP()->isConst() || dropoutP()->value().as<double>() != 0.0;
}

SdpaBwdOp::SdpaBwdOp(IrBuilderPasskey passkey, const std::vector<Val*>& grads, Val* grad_output,
                     Val* query, Val* key, Val* value, Val* output, Val* logsumexp, Val* dropout_p,
                     Val* is_causal, Val* philox_seed, Val* philox_offset, Val* scale)
    : ExprOf(passkey, {withGiven({grad_output, query, key, value, output, logsumexp, dropout_p,
                                  is_causal, philox_seed, philox_offset},
                                 {scale}),
                       grads}) {}

std::string_view SdpaFwdOp::axesOfInput(size_t i) const {
  static constexpr std::string_view kAxes[] = {"LE", "SE", "SV"};
  const bool is_mask = i == biasPlace() || i == maskPlace();
  return i < 3 ? kAxes[i] : is_mask ? "LS" : "-";
}

std::string_view SdpaFwdOp::axesOfOutput(size_t i) const {
  static constexpr std::string_view kAxes[] = {"LV", "L", "-", "-"};
  return kAxes[i];
}

std::string_view SdpaBwdOp::axesOfInput(size_t i) const {
  static constexpr std::string_view kAxes[] = {"LV", "LE", "SE", "SV", "LV", "L"};
  return i <= kLogSumExp ? kAxes[i] : "-";
}

std::string_view SdpaBwdOp::axesOfOutput(size_t i) const {
  static constexpr std::string_view kAxes[] = {"LE", "SE", "SV"};
  return kAxes[i];
}

namespace {

/// Places, one after the other from `next` on, of the operands that are given.
ScaledProductPlaces placesFrom(size_t next, const GroupedMmaOpFields& given) {
  auto place = [&](bool is_given) { return is_given ? std::optional(next++) : std::nullopt; };
  ScaledProductPlaces places;
  places.scale1 = place(given.scale1);
  places.scale2 = place(given.scale2);
  places.alpha = place(given.alpha);
  places.bias = place(given.bias);
  places.beta = place(given.beta);
  return places;
}

/// `names` of a scale with all of its axes; one axis less: without the one of one element.
std::string_view scaleNames(const Val* scale, std::string_view names,
                            std::string_view without_unit) {
  const size_t rank = rankOf(scale);
  return rank == names.size() ? names : rank == without_unit.size() ? without_unit : "-";
}

}  // namespace

ScaledMmaOp::ScaledMmaOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b, Val* scale1,
                         Val* scale2, Val* alpha, Val* bias, Val* beta)
    : ExprOf(passkey, {withGiven({a, b, scale1, scale2}, {alpha, bias, beta}), {out}},
             {alpha != nullptr, bias != nullptr, beta != nullptr}) {}

ScaledProductPlaces ScaledMmaOp::places() const {
  return placesFrom(2, {true, true, fields().alpha, fields().bias, fields().beta});
}

std::string_view ScaledMmaOp::axesOfInput(size_t i) const {
  switch (i) {
    case 0:
      return "MK";
    case 1:
      return "KN";
    case 2:
      return scaleNames(input(2), "M1", "M");
    case 3:
      return scaleNames(input(3), "1N", "N");
    default:
      return i == places().bias ? "N" : "-";
  }
}

GroupedMmaOp::GroupedMmaOp(IrBuilderPasskey passkey, Val* out, Val* a, Val* b, Val* offsets,
                           Val* scale1, Val* scale2, Val* alpha, Val* bias, Val* beta)
    : ExprOf(passkey, {withGiven({a, b, offsets}, {scale1, scale2, alpha, bias, beta}), {out}},
             {scale1 != nullptr, scale2 != nullptr, alpha != nullptr, bias != nullptr,
              beta != nullptr}) {}

ScaledProductPlaces GroupedMmaOp::places() const { return placesFrom(3, fields()); }

std::string_view GroupedMmaOp::axesOfInput(size_t i) const {
  const bool a_has_groups = rankOf(input(0)) == 3;
  const bool b_has_groups = rankOf(input(1)) == 3;
  const bool out_has_groups = !a_has_groups && !b_has_groups;
  const ScaledProductPlaces at = places();
  if (i < 3) {
    return i == 2 ? "G" : i == 0 ? (a_has_groups ? "GMK" : "MK") : (b_has_groups ? "GKN" : "KN");
  }
  if (i == at.scale1) {
    return a_has_groups || out_has_groups ? scaleNames(input(i), "GM1", "GM")
                                          : scaleNames(input(i), "M1", "M");
  }
  if (i == at.scale2) {
    return b_has_groups || out_has_groups ? scaleNames(input(i), "G1N", "GN")
                                          : scaleNames(input(i), "1N", "N");
  }
  if (i == at.bias) {
    return rankOf(input(i)) == 2 ? "GN" : "N";
  }
  return rankOf(input(i)) == 1 ? "G" : "-";
}

std::string_view GroupedMmaOp::axesOfOutput(size_t) const {
  return rankOf(output(0)) == 3 ? "GMN" : "MN";
}

namespace {

std::vector<Val*> withLast(std::vector<Val*> vals, Val* last) {
  vals.push_back(last);
  return vals;
}

}  // namespace

std::string_view communicationName(CommunicationType type) {
  switch (type) {
    case CommunicationType::Allgather:
      return "allgather";
    case CommunicationType::Allreduce:
      return "allreduce";
    case CommunicationType::ReduceScatter:
      return "reduce_scatter";
    case CommunicationType::Alltoall:
      break;
  }
  return "alltoall";
}

namespace {

bool combines(CommunicationType type) {
  return type == CommunicationType::Allreduce || type == CommunicationType::ReduceScatter;
}

}  // namespace

CommunicationOp::CommunicationOp(IrBuilderPasskey passkey, CommunicationType type,
                                 std::vector<Val*> outs, std::vector<Val*> ins,
                                 BinaryOpType reduction, ParallelType along, const DeviceMesh& mesh,
                                 Val* after)
    : ExprOf(passkey,
             {after != nullptr ? withLast(std::move(ins), after) : std::move(ins), std::move(outs)},
             {type, along, mesh, combines(type) ? std::optional(reduction) : std::nullopt}) {}

std::optional<AxisNames> axisNames(const Expr* expr, size_t i) {
  std::string_view last = "-";
  bool stretches = false;
  size_t batches = 0;
  if (expr->isA<SdpaFwdOp>()) {
    const auto* op = expr->as<SdpaFwdOp>();
    last = op->axesOfInput(i);
    stretches = i == op->biasPlace() || i == op->maskPlace();
    batches = rankOf(op->input(0)) - 2;
  } else if (expr->isA<SdpaBwdOp>()) {
    last = expr->as<SdpaBwdOp>()->axesOfInput(i);
    batches = rankOf(expr->input(1)) - 2;
  } else if (expr->isA<ScaledMmaOp>()) {
    last = expr->as<ScaledMmaOp>()->axesOfInput(i);
    stretches = i > 1;
  } else if (expr->isA<GroupedMmaOp>()) {
    last = expr->as<GroupedMmaOp>()->axesOfInput(i);
    stretches = i > 2;
  }
  if (last == "-") {
    return std::nullopt;
  }
  AxisNames result{{}, stretches};
  for (size_t batch = 0; batch < batches; ++batch) {
    result.names.push_back(text(batch));
  }
  for (char name : last) {
    // A letter, so that it is no batch.
    result.names.push_back(name == '1' ? "one" : std::string(1, name));
  }
  // An operand that stretches may lack the first ones.
  const size_t missing =
      result.names.size() - std::min(result.names.size(), rankOf(expr->input(i)));
  result.names.erase(result.names.begin(),
                     result.names.begin() + static_cast<std::ptrdiff_t>(missing));
  return result;
}

bool drawsFromGenerator(const Expr* expr) {
  if (expr->isA<SdpaFwdOp>()) {
    return expr->as<SdpaFwdOp>()->draws();
  }
  return expr->isA<RNGOp>() && !expr->as<RNGOp>()->isDeterministic();
}

}  // namespace nvfuser
