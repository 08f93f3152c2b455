/// `Fusion::fromText`: a Fusion from the text that `Fusion::toString` makes of it. Lines are sorted
/// by their sections first, because a section may name what another one describes: scalars, then
/// tensors with their axes, then what is read, computed and written.
#include <algorithm>

#include <ir/axis_reader.h>
#include <ir/builder.h>
#include <ir/field_text.h>
#include <ir/operation_reader.h>

namespace nvfuser {

namespace {

class FusionReader {
 public:
  explicit FusionReader(std::string_view text) { sort(text); }

  std::unique_ptr<Fusion> read() {
    settle();
    each("%scalars", [&](TextCursor& at) { scalars_.declare(at); });
    transforms();
    each("Inputs:", [&](TextCursor& at) { input(at); });
    each("%kernel_math", [&](TextCursor& at) { computation(at); });
    each("Outputs:", [&](TextCursor& at) { output(at); });
    each("%sizes", [&](TextCursor& at) { sizes(at); });
    each("%stand_ins", [&](TextCursor& at) { standIn(at); });
    each("%kernel", [&](TextCursor& at) { hint(at); });
    names_.finish(*fusion_);
    fusion_->verify();
    return std::move(fusion_);
  }

 private:
  static constexpr std::string_view kSections[] = {"Inputs:",     "Outputs:", "%kernel_math",
                                                   "%transforms", "%scalars", "%sizes",
                                                   "%stand_ins",  "%kernel"};

  /// Lines of each section, without its first and last.
  void sort(std::string_view text) {
    std::string_view section;
    for (size_t number = 1; !text.empty(); ++number) {
      const size_t end = std::min(text.find('\n'), text.size());
      TextCursor at(text.substr(0, end), number);
      text.remove_prefix(std::min(end + 1, text.size()));
      const auto named = std::find_if(std::begin(kSections), std::end(kSections),
                                      [&](auto name) { return isHeading(at, name); });
      if (named != std::end(kSections)) {
        section = *named;
      } else if (!at.atEnd() && at.rest() != "}") {
        if (section.empty()) {
          at.fail(nvfuser::text("a section, one of ", join(kSections, ", ")));
        }
        lines_[section].push_back(at);
      }
    }
  }

  static bool isHeading(TextCursor& at, std::string_view name) {
    return at.sees(name) && (name.ends_with(":") || at.rest().substr(name.size()) == " {");
  }

  template <typename Read>
  void each(std::string_view section, const Read& read) {
    for (TextCursor at : lines_[section]) {
      read(at);
    }
  }

  /// Before axes are made: their kinds depend on it.
  void settle() {
    each("%kernel", [&](TextCursor& at) {
      if (at.seenName() == "axes_are_settled") {
        fusion_->settleAxes();
      }
    });
  }

  // ---- tensors and their axes

  void transforms() {
    std::optional<TensorReader::Entry> entry;
    auto finish = [&] {
      if (entry) {
        tensors_.make(std::move(*entry));
      }
    };
    each("%transforms", [&](TextCursor& at) {
      if (at.sees("T")) {
        finish();
        entry = tensors_.head(at);
      } else if (!entry) {
        at.fail("a tensor");
      } else if (!tensors_.field(at, *entry)) {
        transform(at);
      }
      at.expectEnd("behind what is said of a tensor");
    });
    finish();
  }

  /// "Split: iS1{i2}, factor = 128 -> iS10{…}, iS11{128}".
  void transform(TextCursor& at) {
    const auto operation = operationNamed(at, at.takeName("a transform, or a field of a tensor"));
    at.expect(":", "behind the name of a transform");
    Operands operands;
    elements(
        at, *operation, "->", [&](TextCursor& a) { return axes_.axis(a); }, LiteralTypes::ofSizes(),
        operands.inputs);
    do {
      operands.outputs.push_back(axes_.axis(at));
    } while (at.take(","));
    operation->make(fusion_.get(), std::move(operands));
  }

  // ---- operations

  std::unique_ptr<OperationReader> operationNamed(TextCursor& at, std::string_view name) {
    auto operation = OperationReader::of(name);
    if (operation == nullptr) {
      at.refuse(text("there is no operation '", name, "'"));
    }
    return operation;
  }

  /// Operands and fields until `close`.
  template <typename ReadOperand>
  void elements(TextCursor& at, OperationReader& operation, std::string_view close,
                const ReadOperand& read, const LiteralTypes& types, std::vector<Val*>& operands) {
    for (bool is_first = true; !at.take(close); is_first = false) {
      if (!is_first) {
        at.expect(",", text("or '", close, "' behind an operand or a field"));
      }
      const std::string_view name = at.seenName();
      if (operation.hasField(name)) {
        at.advance(name.size());
        operation.readField(name, at, [&](TextCursor& a) { return scalars_.read(a, types); });
      } else if (at.rest().substr(name.size()).starts_with(" = ")) {
        at.fail(text("a field, one of: ", operation.fieldNames()));
      } else {
        operands.push_back(read(at));
      }
    }
  }

  Val* operand(TextCursor& at, const LiteralTypes& types) {
    return at.sees("T") ? tensors_.named(at) : scalars_.read(at, types);
  }

  /// "T3_l_float[…] = div( T0, T2 )".
  void computation(TextCursor& at) {
    Operands operands;
    do {
      Val* result = at.sees("T") ? tensors_.tensor(at) : scalars_.read(at, LiteralTypes{});
      if (result->definition() != nullptr || result->isFusionInput()) {
        at.refuse(text(result->toInlineString(), " is computed, or an input, already"));
      }
      operands.outputs.push_back(result);
    } while (at.take(","));
    at.expect("=", "behind what is computed");
    const auto operation = operationNamed(at, at.takeName("an operation"));
    at.expect("(", "before operands");
    const DataType dtype = operands.outputs.front()->dtype();
    const LiteralTypes types = LiteralTypes::ofOperands(operation->kind(), dtype);
    elements(
        at, *operation, ")", [&](TextCursor& a) { return operand(a, types); },
        LiteralTypes::of(dtype), operands.inputs);
    at.expectEnd("behind an operation");
    operation->make(fusion_.get(), std::move(operands));
  }

  // ---- what is read and written

  void input(TextCursor& at) {
    fusion_->addInput(at.sees("T") ? tensors_.tensor(at) : scalars_.read(at, LiteralTypes{}));
    at.expectEnd("behind an input");
  }

  void output(TextCursor& at) {
    TensorView* tv = tensors_.tensor(at);
    Val* storage = nullptr;
    if (at.take("storage(")) {
      storage = tensors_.named(at);
      at.expect(")", "behind the tensor whose storage is used");
    }
    const bool hidden = at.take("hidden");
    const bool evaluate = at.take("evaluate");
    at.expectEnd("behind an output");
    if (!hidden) {
      fusion_->addOutput(tv);
    }
    if (storage != nullptr) {
      fusion_->aliasOutputToInput(
          tv, storage, evaluate ? AllocationType::Evaluate : AllocationType::ReuseBuffer);
    }
  }

  // ---- the rest

  /// "same_count( i0, i2 ) "words"".
  void sizes(TextCursor& at) {
    const LiteralTypes types = LiteralTypes::ofSizes();
    SizeRequirement sizes{};
    const bool counts = at.take("same_count(");
    if (!counts && !at.take("not_zero(")) {
      at.fail("'same_count(' or 'not_zero('");
    }
    sizes.kind = counts ? SizeRequirement::Kind::SameCount : SizeRequirement::Kind::NotZero;
    sizes.found = scalars_.read(at, types);
    if (at.take(",")) {
      sizes.needed = scalars_.read(at, types);
    }
    at.expect(")", "behind sizes");
    sizes.message = message(at);
    at.expectEnd("behind a message");
    fusion_->requireSizes(std::move(sizes));
  }

  static std::string message(TextCursor& at) {
    at.expect("\"", "before a message");
    std::string words;
    for (; !at.takeDirectly('"'); at.advance(1)) {
      const std::string_view c = at.here();
      if (c.empty()) {
        at.fail("'\"' behind a message");
      }
      if (c.starts_with("\\") && c.size() > 1) {
        at.advance(1);
        words += c[1] == 'n' ? '\n' : c[1];
      } else {
        words += c[0];
      }
    }
    return words;
  }

  void standIn(TextCursor& at) {
    IterDomain* stand_in = axes_.axis(at);
    at.expect("for", "behind an axis that stands for another");
    fusion_->registerExactMapping(stand_in, axes_.axis(at));
    at.expectEnd("behind axes");
  }

  void hint(TextCursor& at) {
    const std::string_view name = at.takeName("a field of the kernel");
    bool found = name == "axes_are_settled";
    forEachField<KernelHints>([&](const auto& field) {
      if (field.name != name) {
        return;
      }
      found = true;
      auto& value = fusion_->kernelHints().*(field.member);
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
        value = true;
      } else {
        at.expect("=", "behind the name of a field");
        readField(at, value);
      }
    });
    if (!found) {
      at.refuse(text("a kernel has no field '", name, "'"));
    }
    at.expectEnd("behind a field");
  }

  std::unique_ptr<Fusion> fusion_ = std::make_unique<Fusion>();
  NodeNames names_;
  ScalarReader scalars_{*fusion_, names_};
  AxisReader axes_{*fusion_, names_, scalars_};
  TensorReader tensors_{*fusion_, names_, axes_};
  std::map<std::string_view, std::vector<TextCursor>> lines_;
};

}  // namespace

std::unique_ptr<Fusion> Fusion::fromText(std::string_view text) {
  return FusionReader(text).read();
}

}  // namespace nvfuser
