/// Text of the values that fields have (fields.h), but for nodes, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ir/composite_nodes.h>
#include <ir/interface_nodes.h>
#include <ir/op_types.h>
#include <ir/text_cursor.h>

namespace nvfuser {

// Names of the values of enumerations, each once.
std::string_view valueName(UnaryOpType value);
std::string_view valueName(BinaryOpType value);
std::string_view valueName(TernaryOpType value);
std::string_view valueName(LoadStoreOpType value);
std::string_view valueName(CacheOp value);
std::string_view valueName(RNGOpType value);
std::string_view valueName(SwizzleType value);
std::string_view valueName(SwizzleMode value);
std::string_view valueName(ParallelType value);
std::string_view valueName(IterType value);
std::string_view valueName(CommunicationType value);

/// The last value of each enumeration: with the names above, what text may say.
template <typename Enum>
inline constexpr Enum kLastValue = Enum{};
template <>
inline constexpr UnaryOpType kLastValue<UnaryOpType> = UnaryOpType::IsReal;
template <>
inline constexpr BinaryOpType kLastValue<BinaryOpType> = BinaryOpType::Complex;
template <>
inline constexpr TernaryOpType kLastValue<TernaryOpType> = TernaryOpType::Where;
template <>
inline constexpr LoadStoreOpType kLastValue<LoadStoreOpType> =
    LoadStoreOpType::CpAsyncBulkTensorTile;
template <>
inline constexpr CacheOp kLastValue<CacheOp> = CacheOp::Global;
template <>
inline constexpr RNGOpType kLastValue<RNGOpType> = RNGOpType::UniformOfThreads;
template <>
inline constexpr SwizzleType kLastValue<SwizzleType> = SwizzleType::CyclicShift;
template <>
inline constexpr SwizzleMode kLastValue<SwizzleMode> = SwizzleMode::Loop;
template <>
inline constexpr ParallelType kLastValue<ParallelType> = ParallelType::Serial;
template <>
inline constexpr IterType kLastValue<IterType> = IterType::Symbolic;
template <>
inline constexpr CommunicationType kLastValue<CommunicationType> = CommunicationType::Alltoall;

/// All values of an enumeration, in order.
template <typename Enum>
std::vector<Enum> allValues() {
  std::vector<Enum> values;
  for (int i = 0; i <= static_cast<int>(kLastValue<Enum>); ++i) {
    values.push_back(static_cast<Enum>(i));
  }
  return values;
}

inline std::string fieldText(bool value) { return value ? "true" : "false"; }
inline std::string fieldText(int64_t value) { return text(value); }
inline std::string fieldText(const DeviceMesh& mesh) { return mesh.toString(); }
/// "{true, false}"
std::string fieldText(const std::vector<bool>& flags);
/// "3 stages, 2 ahead"
std::string fieldText(const CircularBufferOptions& options);
template <typename Enum>
  requires std::is_enum_v<Enum>
std::string fieldText(Enum value) {
  return std::string(valueName(value));
}
template <typename T>
std::string fieldText(const std::optional<T>& value) {
  return value ? fieldText(*value) : "none";
}

/// The value of that name.
template <typename Enum>
std::optional<Enum> valueNamed(std::string_view name) {
  for (const Enum value : allValues<Enum>()) {
    if (valueName(value) == name) {
      return value;
    }
  }
  return std::nullopt;
}

// Each reads what `fieldText` writes, or fails with what was expected.
void readField(TextCursor& at, bool& value);
void readField(TextCursor& at, int64_t& value);
void readField(TextCursor& at, DeviceMesh& mesh);
void readField(TextCursor& at, std::vector<bool>& flags);
void readField(TextCursor& at, CircularBufferOptions& options);
template <typename Enum>
  requires std::is_enum_v<Enum>
void readField(TextCursor& at, Enum& value) {
  const auto named = valueNamed<Enum>(at.seenName());
  if (!named) {
    at.fail(text("one of ", join(allValues<Enum>(), ", ", [](Enum e) { return valueName(e); })));
  }
  at.takeName("a name");
  value = *named;
}

}  // namespace nvfuser
