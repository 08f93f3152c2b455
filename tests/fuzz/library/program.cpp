#include <fuzz/library/program.h>

#include <algorithm>
#include <set>

#include <support/error.h>

namespace nvfuser::fuzz {

Argument value(int64_t id) { return {.kind = Argument::Kind::Value, .integer = id}; }
Argument integer(int64_t number) { return {.kind = Argument::Kind::Int, .integer = number}; }
Argument real(double number) { return {.kind = Argument::Kind::Double, .real = number}; }
Argument truth(bool flag) { return {.kind = Argument::Kind::Bool, .integer = flag ? 1 : 0}; }
Argument dtypeOf(DataType dtype) { return {.kind = Argument::Kind::Dtype, .dtype = dtype}; }
Argument integers(const std::vector<int64_t>& numbers) {
  Argument list{.kind = Argument::Kind::List};
  for (int64_t number : numbers) {
    list.items.push_back(integer(number));
  }
  return list;
}
Argument named(std::string name, Argument argument) {
  argument.name = std::move(name);
  return argument;
}

std::string_view modeName(ValueMode mode) {
  switch (mode) {
    case ValueMode::Exact:
      return "exact";
    case ValueMode::Normal:
      return "normal";
    case ValueMode::Special:
      return "special";
  }
  return "";
}

namespace {

/// A number that reads back as a Double: with a point, an exponent or a name.
std::string realText(double number) {
  std::string digits = text(number);
  return digits.find_first_of(".einf") == std::string::npos ? digits + ".0" : digits;
}

std::string argumentText(const Argument& argument) {
  const std::string prefix = argument.name.empty() ? "" : argument.name + "=";
  switch (argument.kind) {
    case Argument::Kind::None:
      return prefix + "None";
    case Argument::Kind::Value:
      return text(prefix, "v", argument.integer);
    case Argument::Kind::Bool:
      return prefix + (argument.integer != 0 ? "True" : "False");
    case Argument::Kind::Int:
      return text(prefix, argument.integer);
    case Argument::Kind::Double:
      return prefix + realText(argument.real);
    case Argument::Kind::Dtype:
      return text(prefix, "dtype:", dataTypeName(argument.dtype));
    case Argument::Kind::List:
      return text(prefix, "[", join(argument.items, ", ", argumentText), "]");
  }
  return "";
}

std::string listText(const std::vector<int64_t>& numbers) {
  return text("[", join(numbers, ","), "]");
}

}  // namespace

std::string Program::toString() const {
  std::string out = text("fuzz 1\nseed ", seed, "\nmode ", modeName(mode), "\nvalues ", value_seed,
                         "\nschedule ", schedule_seed, " steps ", schedule_steps, "\nindex ",
                         wide_index ? "wide" : "narrow", "\n", sizes_vary ? "sizes vary\n" : "");
  for (const Input& input : inputs) {
    append(out, text("input v", input.id, " ", dataTypeName(input.dtype),
                     " sizes=", listText(input.sizes), " strides=", listText(input.strides),
                     " offset=", input.offset, " axes=[",
                     join(input.axes, ",", [](char letter) { return std::string(1, letter); }),
                     "] contiguity=", listText(input.contiguity)));
    if (!input.order.empty()) {
      append(out, " order=" + listText(input.order));
    }
    if (input.below != 0) {
      append(out, text(" below=", input.below));
    }
    if (input.same >= 0) {
      append(out, text(" same=v", input.same));
    }
    out += '\n';
  }
  for (const ScalarInput& scalar : scalars) {
    append(out, text("scalar v", scalar.id, " ", dataTypeName(scalar.dtype), " ",
                     realText(scalar.value), "\n"));
  }
  for (const Again& further : again) {
    out += "again";
    for (const Again::Layout& layout : further.layouts) {
      append(out, text(" v", layout.id, " sizes=", listText(layout.sizes),
                       " strides=", listText(layout.strides), " offset=", layout.offset));
    }
    for (const auto& [id, number] : further.scalars) {
      append(out, text(" v", id, "=", realText(number)));
    }
    out += '\n';
  }
  for (const Call& call : calls) {
    append(out, text(join(call.results, ", ",
                          [](int64_t id) { return id < 0 ? std::string("_") : text("v", id); }),
                     " = ", call.operation, "(", join(call.arguments, ", ", argumentText), ")\n"));
  }
  for (int64_t output : outputs) {
    append(out, text("output v", output, "\n"));
  }
  if (!devices.empty()) {
    append(out, text("devices ", listText(devices), "\n"));
  }
  for (const Share& share : shares) {
    append(out, text("share v", share.id, " ", listText(share.cut), "\n"));
  }
  for (const Update& update : updates) {
    append(out, text("update v", update.result, " in v", update.input, "\n"));
  }
  return out;
}

namespace {

/// One line, read from left to right.
class Line {
 public:
  Line(std::string_view line, int64_t number) : rest_(line), number_(number) { skipBlanks(); }

  bool atEnd() const { return rest_.empty(); }
  bool accept(std::string_view token) {
    if (!rest_.starts_with(token)) {
      return false;
    }
    rest_.remove_prefix(token.size());
    skipBlanks();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) {
      wrong(text("\"", token, "\""));
    }
  }
  /// Letters, digits, and what numbers and names of dtypes have.
  std::string_view word() {
    size_t end = 0;
    while (end < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[end])) != 0 ||
            std::string_view("_.+-<>:").find(rest_[end]) != std::string_view::npos)) {
      ++end;
    }
    if (end == 0) {
      wrong("a word");
    }
    std::string_view result = rest_.substr(0, end);
    rest_.remove_prefix(end);
    skipBlanks();
    return result;
  }
  template <typename Number>
  Number number() {
    const std::string_view digits = word();
    Number result{};
    const char* end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, result).ptr != end) {
      wrong("a number", digits);
    }
    return result;
  }
  int64_t id() {
    if (accept("_")) {
      return -1;
    }
    expect("v");
    return number<int64_t>();
  }
  DataType dtype() {
    std::string_view name = word();
    const std::optional<DataType> found = dataTypeFromName(name);
    if (!found) {
      wrong("a dtype", name);
    }
    return *found;
  }
  std::vector<int64_t> list() {
    std::vector<int64_t> numbers;
    expect("[");
    while (!accept("]")) {
      numbers.push_back(number<int64_t>());
      accept(",");
    }
    return numbers;
  }
  [[noreturn]] void wrong(std::string_view wanted, std::string_view found = {}) const {
    userError("fuzz file, line ", number_, ": expected ", wanted, ", found \"",
              found.empty() ? rest_ : found, "\"");
  }

 private:
  void skipBlanks() {
    while (!rest_.empty() && rest_.front() == ' ') {
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
  int64_t number_;
};

bool isId(std::string_view word) {
  return word.size() > 1 && word[0] == 'v' &&
         std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Argument parseArgument(Line& line) {
  if (line.accept("[")) {
    Argument list{.kind = Argument::Kind::List};
    while (!line.accept("]")) {
      list.items.push_back(parseArgument(line));
      line.accept(",");
    }
    return list;
  }
  if (line.accept("dtype:")) {
    return dtypeOf(line.dtype());
  }
  const std::string_view word = line.word();
  if (line.accept("=")) {
    return named(std::string(word), parseArgument(line));
  }
  if (isId(word)) {
    return {.kind = Argument::Kind::Value, .integer = std::stoll(std::string(word.substr(1)))};
  }
  if (word == "None") {
    return {};
  }
  if (word == "True" || word == "False") {
    return truth(word == "True");
  }
  const char* end = word.data() + word.size();
  int64_t whole = 0;
  if (std::from_chars(word.data(), end, whole).ptr == end) {
    return integer(whole);
  }
  double number = 0;
  if (std::from_chars(word.data(), end, number).ptr != end) {
    line.wrong("an argument", word);
  }
  return real(number);
}

Input parseInput(Line& line) {
  Input input;
  input.id = line.id();
  input.dtype = line.dtype();
  while (!line.atEnd()) {
    if (line.accept("sizes=")) {
      input.sizes = line.list();
    } else if (line.accept("strides=")) {
      input.strides = line.list();
    } else if (line.accept("offset=")) {
      input.offset = line.number<int64_t>();
    } else if (line.accept("axes=[")) {
      while (!line.accept("]")) {
        input.axes += line.word();
        line.accept(",");
      }
    } else if (line.accept("contiguity=")) {
      input.contiguity = line.list();
    } else if (line.accept("order=")) {
      input.order = line.list();
    } else if (line.accept("below=")) {
      input.below = line.number<int64_t>();
    } else if (line.accept("same=")) {
      input.same = line.id();
    } else {
      line.wrong("a property of an input");
    }
  }
  const size_t rank = input.sizes.size();
  if (input.strides.size() != rank || input.axes.size() != rank ||
      input.contiguity.size() != rank || (!input.order.empty() && input.order.size() != rank)) {
    line.wrong(text("sizes, strides, axes and contiguity of one length"));
  }
  return input;
}

Again parseAgain(Line& line) {
  Again again;
  while (!line.atEnd()) {
    const int64_t id = line.id();
    if (line.accept("=")) {
      again.scalars[id] = line.number<double>();
      continue;
    }
    Again::Layout layout{.id = id, .sizes = {}, .strides = {}};
    line.expect("sizes=");
    layout.sizes = line.list();
    line.expect("strides=");
    layout.strides = line.list();
    line.expect("offset=");
    layout.offset = line.number<int64_t>();
    if (layout.sizes.size() != layout.strides.size()) {
      line.wrong("sizes and strides of one length");
    }
    again.layouts.push_back(std::move(layout));
  }
  return again;
}

}  // namespace

Program parseProgram(std::string_view file) {
  Program program;
  int64_t number = 0;
  bool has_version = false;
  while (!file.empty()) {
    const size_t end = file.find('\n');
    Line line(file.substr(0, end), ++number);
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 1);
    if (line.atEnd() || line.accept("#")) {
      continue;
    }
    if (line.accept("fuzz ")) {
      if (line.number<int64_t>() != 1) {
        line.wrong("version 1");
      }
      has_version = true;
    } else if (line.accept("seed ")) {
      program.seed = line.number<uint64_t>();
    } else if (line.accept("mode ")) {
      const std::string_view mode = line.word();
      program.mode = mode == "exact"     ? ValueMode::Exact
                     : mode == "special" ? ValueMode::Special
                                         : ValueMode::Normal;
      if (mode != modeName(program.mode)) {
        line.wrong("exact, normal or special", mode);
      }
    } else if (line.accept("values ")) {
      program.value_seed = line.number<uint64_t>();
    } else if (line.accept("schedule ")) {
      program.schedule_seed = line.number<uint64_t>();
      line.expect("steps ");
      program.schedule_steps = line.number<int64_t>();
    } else if (line.accept("index ")) {
      program.wide_index = line.word() == "wide";
    } else if (line.accept("input ")) {
      program.inputs.push_back(parseInput(line));
    } else if (line.accept("scalar ")) {
      ScalarInput scalar;
      scalar.id = line.id();
      scalar.dtype = line.dtype();
      scalar.value = line.number<double>();
      program.scalars.push_back(scalar);
    } else if (line.accept("sizes ")) {
      line.expect("vary");
      program.sizes_vary = true;
    } else if (line.accept("again")) {
      program.again.push_back(parseAgain(line));
    } else if (line.accept("output ")) {
      program.outputs.push_back(line.id());
    } else if (line.accept("update ")) {
      Update update;
      update.result = line.id();
      line.expect("in ");
      update.input = line.id();
      program.updates.push_back(update);
    } else if (line.accept("devices ")) {
      program.devices = line.list();
    } else if (line.accept("share ")) {
      Share share;
      share.id = line.id();
      share.cut = line.list();
      program.shares.push_back(share);
    } else {
      Call call;
      do {
        call.results.push_back(line.id());
      } while (line.accept(","));
      line.expect("=");
      call.operation = line.word();
      line.expect("(");
      while (!line.accept(")")) {
        call.arguments.push_back(parseArgument(line));
        line.accept(",");
      }
      program.calls.push_back(std::move(call));
    }
  }
  if (!has_version) {
    userError("fuzz file: there is no line \"fuzz 1\"; files come from ./dev fuzz");
  }
  return program;
}

void collectValues(const Argument& argument, std::vector<int64_t>& ids) {
  if (argument.kind == Argument::Kind::Value) {
    ids.push_back(argument.integer);
  }
  for (const Argument& item : argument.items) {
    collectValues(item, ids);
  }
}

Program callOf(const Program& program, size_t call) {
  Program result = program;
  result.again.clear();
  if (call == 0) {
    return result;
  }
  const Again& again = program.again.at(call - 1);
  for (Input& input : result.inputs) {
    for (const Again::Layout& layout : again.layouts) {
      if (layout.id == input.id) {
        input.sizes = layout.sizes;
        input.strides = layout.strides;
        input.offset = layout.offset;
      }
    }
  }
  for (ScalarInput& scalar : result.scalars) {
    auto found = again.scalars.find(scalar.id);
    scalar.value = found != again.scalars.end() ? found->second : scalar.value;
  }
  return result;
}

Program withoutDeadCode(const Program& program) {
  std::set<int64_t> needed(program.outputs.begin(), program.outputs.end());
  for (const Update& update : program.updates) {
    needed.insert({update.result, update.input});
  }
  Program result = program;
  result.calls.clear();
  for (auto call = program.calls.rbegin(); call != program.calls.rend(); ++call) {
    if (std::none_of(call->results.begin(), call->results.end(),
                     [&](int64_t id) { return needed.count(id) != 0; })) {
      continue;
    }
    std::vector<int64_t> ids;
    for (const Argument& argument : call->arguments) {
      collectValues(argument, ids);
    }
    needed.insert(ids.begin(), ids.end());
    result.calls.push_back(*call);
  }
  std::reverse(result.calls.begin(), result.calls.end());
  std::set<int64_t> kept = needed;
  for (const Call& call : result.calls) {
    kept.insert(call.results.begin(), call.results.end());
  }
  std::erase_if(result.shares, [&](const Share& share) { return kept.count(share.id) == 0; });
  for (bool grown = true; grown;) {
    grown = false;
    for (const Input& input : program.inputs) {
      if (needed.count(input.id) != 0 && input.same >= 0) {
        grown = needed.insert(input.same).second || grown;
      }
    }
  }
  std::erase_if(result.inputs, [&](const Input& input) { return needed.count(input.id) == 0; });
  std::erase_if(result.scalars,
                [&](const ScalarInput& scalar) { return needed.count(scalar.id) == 0; });
  for (Again& again : result.again) {
    std::erase_if(again.layouts,
                  [&](const Again::Layout& layout) { return needed.count(layout.id) == 0; });
    std::erase_if(again.scalars,
                  [&](const auto& scalar) { return needed.count(scalar.first) == 0; });
  }
  return result;
}

}  // namespace nvfuser::fuzz
