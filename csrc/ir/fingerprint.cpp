/// Fingerprints of scalars: two scalars are the same if these 128 bits are.
///
/// A fingerprint is mixed from what a scalar is: a constant's dtype and value, a symbol's identity,
/// a named scalar's name, or an operation with its fields and the fingerprints of its operands.
/// So two that are computed in the same way meet, whichever nodes they are made of, and comparing
/// costs the same for any depth. Two 64-bit lanes go through different mixers; that two different
/// scalars of a process meet by chance is out of question (2^-90 for a hundred thousand of them).
#include <bit>
#include <functional>

#include <ir/expr_visit.h>

namespace nvfuser {

namespace {

/// The finaliser of SplitMix64: each bit of the result depends on each of the word.
uint64_t mixed(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

class Mixer {
 public:
  void add(uint64_t word) {
    high_ = mixed(high_ + word + 0x9e3779b97f4a7c15U);
    low_ = mixed(std::rotl(low_, 23) ^ (word * 0xd6e8feb86659fd93U) ^ 0xa0761d6478bd642fU);
  }
  void add(Fingerprint part) {
    add(part.high);
    add(part.low);
    has_symbol_ |= part.hasSymbol();
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) {
      add(static_cast<uint64_t>(static_cast<unsigned char>(c)));
    }
  }
  void addIdentity(const void* node) {
    add(static_cast<uint64_t>(std::bit_cast<uintptr_t>(node)));
    has_symbol_ = true;
  }
  void addSymbol(std::string_view name) {
    add(name);
    has_symbol_ = true;
  }
  /// 0 is for "not known", the lowest bit says whether there is a symbol.
  Fingerprint result() const {
    return {high_ == 0 ? 1 : high_, ((low_ << 1) | 2U) ^ static_cast<uint64_t>(has_symbol_)};
  }

 private:
  uint64_t high_ = 0;
  uint64_t low_ = 0;
  bool has_symbol_ = false;
};

enum Sort : uint64_t { kIdentity = 1, kConstant, kNamed, kComputed };

void addConstant(Mixer& mixer, const Val* val) {
  const PolymorphicValue& value = val->value();
  mixer.add(kConstant);
  mixer.add(static_cast<uint64_t>(val->vtype()));
  mixer.add(static_cast<uint64_t>(val->dtype().type));
  // A value has its dtype's kind, so equal constants have equal bits; only the sign of zero and the
  // bits of NaN are left to be made one.
  auto bitsOf = [](double number) {
    return number == 0 ? 0 : number != number ? 1 : std::bit_cast<uint64_t>(number);
  };
  if (value.is<double>() || value.is<std::complex<double>>()) {
    const auto number = value.as<std::complex<double>>();
    mixer.add(bitsOf(number.real()));
    mixer.add(bitsOf(number.imag()));
  } else {
    mixer.add(static_cast<uint64_t>(value.as<int64_t>()));
  }
}

/// Whether the expression makes one scalar, the same in each evaluation.
bool isFunction(const Expr* def) { return def->outputs().size() == 1 && def->isDeterministic(); }

}  // namespace

/// Computes fingerprints of a scalar and of what it is computed from, operands first.
class FingerprintReader {
 public:
  static Fingerprint of(const Val* val) {
    std::vector<const Val*> open{val};
    while (!open.empty()) {
      const Val* top = open.back();
      if (known(top) || !pushUnknownOperands(top, open)) {
        if (!known(top)) {
          remember(top, compute(top));
        }
        open.pop_back();
      }
    }
    return read(val);
  }
  static bool known(const Val* val) {
    return val->fingerprint_low_.load(std::memory_order_relaxed) != 0 &&
           val->fingerprint_high_.load(std::memory_order_relaxed) != 0;
  }
  static Fingerprint read(const Val* val) {
    return {val->fingerprint_high_.load(std::memory_order_relaxed),
            val->fingerprint_low_.load(std::memory_order_relaxed)};
  }

 private:
  static const Expr* functionOf(const Val* val) {
    const Expr* def = val->isScalar() && !val->isConst() ? val->definition() : nullptr;
    return def != nullptr && isFunction(def) ? def : nullptr;
  }

  static bool pushUnknownOperands(const Val* val, std::vector<const Val*>& open) {
    const Expr* def = functionOf(val);
    if (def == nullptr) {
      return false;
    }
    const size_t before = open.size();
    for (const Val* in : def->inputs()) {
      if (!known(in)) {
        open.push_back(in);
      }
    }
    return open.size() > before;
  }

  static Fingerprint compute(const Val* val) {
    Mixer mixer;
    if (val->isScalar() && val->isConst()) {
      addConstant(mixer, val);
    } else if (val->isA<NamedScalar>()) {
      mixer.add(kNamed);
      mixer.addSymbol(val->as<NamedScalar>()->symbol());
    } else if (const Expr* def = functionOf(val)) {
      mixer.add(kComputed);
      mixer.add(static_cast<uint64_t>(val->dtype().type));
      mixer.add(static_cast<uint64_t>(def->kind()));
      mixer.add(def->inputs().size());
      for (const Val* in : def->inputs()) {
        mixer.add(read(in));
      }
      forEachFieldOf(def, [&](const auto&, const auto& value) { addValue(mixer, value); });
    } else {
      mixer.add(kIdentity);
      mixer.addIdentity(val);
    }
    return mixer.result();
  }

  template <typename T>
  static void addValue(Mixer& mixer, const T& value) {
    if constexpr (std::is_pointer_v<T>) {
      mixer.addIdentity(value);
    } else if constexpr (requires { value.has_value(); }) {
      mixer.add(value ? uint64_t{2} + static_cast<uint64_t>(*value) : uint64_t{1});
    } else if constexpr (requires { value.devices(); }) {
      mixer.add(value.toString());
    } else if constexpr (requires { value.size(); }) {
      mixer.add(value.size());
      for (const auto entry : value) {
        mixer.add(static_cast<uint64_t>(entry));
      }
    } else {
      mixer.add(static_cast<uint64_t>(value));
    }
  }

  static void remember(const Val* val, Fingerprint fingerprint) {
    val->fingerprint_high_.store(fingerprint.high, std::memory_order_relaxed);
    val->fingerprint_low_.store(fingerprint.low, std::memory_order_relaxed);
  }
};

Fingerprint Val::fingerprint() const {
  return FingerprintReader::known(this) ? FingerprintReader::read(this)
                                        : FingerprintReader::of(this);
}

void Val::forgetFingerprint() noexcept {
  // What is computed from a scalar is known only while the scalar is, so that a walk ends where
  // nothing is known, and forgetting costs no more than remembering did. Those that are still to be
  // looked at are a list through their own fingerprints: a roll back may happen for lack of memory.
  Val* open = nullptr;
  const auto forget = [&open](Val* val) {
    if (FingerprintReader::known(val)) {
      val->fingerprint_high_.store(0, std::memory_order_relaxed);
      val->fingerprint_low_.store(reinterpret_cast<uintptr_t>(open), std::memory_order_relaxed);
      open = val;
    }
  };
  forget(this);
  while (open != nullptr) {
    Val* const val = open;
    open = reinterpret_cast<Val*>(val->fingerprint_low_.exchange(0, std::memory_order_relaxed));
    for (const Expr* use : val->uses_) {
      for (Val* out : use->outputs()) {
        if (out->isScalar()) {
          forget(out);
        }
      }
    }
  }
}

}  // namespace nvfuser
