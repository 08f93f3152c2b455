#include <ir/operation_reader.h>

#include <map>

#include <ir/builder.h>
#include <ir/expr_visit.h>
#include <ir/field_text.h>
#include <ir/field_values.h>

namespace nvfuser {

namespace {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename Class>
class ReaderOf final : public OperationReader {
 public:
  using Fields = typename Class::Fields;
  explicit ReaderOf(Fields fields) : fields_(std::move(fields)) {}

  ExprKind kind() const override { return Class::kKind; }

  bool hasField(std::string_view name) const override {
    bool has = false;
    forEachField<Fields>(
        [&](const auto& field) { has |= field.place == FieldPlace::Named && field.name == name; });
    return has;
  }

  std::string fieldNames() const override {
    std::string names;
    forEachField<Fields>([&](const auto& field) {
      if (field.place == FieldPlace::Named) {
        append(names, text(names.empty() ? "" : ", ", field.name));
      }
    });
    return names;
  }

  void readField(std::string_view name, TextCursor& at,
                 const std::function<Val*(TextCursor&)>& scalar) override {
    forEachField<Fields>([&](const auto& field) {
      if (field.place == FieldPlace::Named && field.name == name) {
        readValue(at, fields_.*(field.member), scalar);
      }
    });
  }

  Expr* make(Fusion* fusion, Operands operands) const override {
    return IrBuilder::createInContainer<Class>(fusion, std::move(operands), fields_);
  }

 private:
  template <typename T>
  static void readValue(TextCursor& at, T& value, const std::function<Val*(TextCursor&)>& scalar) {
    if constexpr (std::is_same_v<T, bool>) {
      value = true;
      return;
    } else {
      at.expect("=", "behind the name of a field");
      if constexpr (kIsNode<T>) {
        value = scalar(at);
      } else if constexpr (kIsOptional<T>) {
        value.emplace();
        nvfuser::readField(at, *value);
      } else {
        nvfuser::readField(at, value);
      }
    }
  }

  Fields fields_;
};

using Make = std::function<std::unique_ptr<OperationReader>()>;

class Operations {
 public:
  Operations() {
#define X(Class) addAll<Class>();
#include <ir/expr_kinds.def>
#undef X
  }
  std::unique_ptr<OperationReader> of(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second();
  }

 private:
  template <typename Class>
  void addAll() {
    bool has_names = false;
    forEachField<typename Class::Fields>([&](const auto& field) {
      using T = std::decay_t<decltype(typename Class::Fields{}.*(field.member))>;
      if constexpr (std::is_enum_v<T>) {
        if (field.place != FieldPlace::InName) {
          return;
        }
        has_names = true;
        for (const T value : allValues<T>()) {
          typename Class::Fields fields{};
          fields.*(field.member) = value;
          add<Class>(text(Class::kName, valueName(value)), fields);
        }
      }
    });
    if (!has_names) {
      add<Class>(std::string(Class::kName), {});
    }
  }

  template <typename Class>
  void add(const std::string& name, typename Class::Fields fields) {
    const bool is_new =
        by_name_.emplace(name, [fields] { return std::make_unique<ReaderOf<Class>>(fields); })
            .second;
    check(is_new, text("two operations are named ", name));
  }

  std::map<std::string, Make, std::less<>> by_name_;
};

}  // namespace

std::unique_ptr<OperationReader> OperationReader::of(std::string_view name) {
  static const Operations kOperations;
  return kOperations.of(name);
}

}  // namespace nvfuser
