#include "definition.h"

namespace nvfuser::torchscript {

namespace {

void require(int status) {
  if (status != NVF_OK) {
    throw Refusal(nvf_last_error());
  }
}

}  // namespace

nvf_argument Argument::raw(std::vector<std::unique_ptr<std::vector<nvf_argument>>>& storage) const {
  nvf_argument raw = raw_;
  if (raw.kind == NVF_ARG_LIST) {
    storage.push_back(std::make_unique<std::vector<nvf_argument>>());
    std::vector<nvf_argument>& items = *storage.back();
    for (const Argument& item : items_) {
      items.push_back(item.raw(storage));
    }
    raw.count = static_cast<int64_t>(items.size());
    raw.items = items.data();
  }
  return raw;
}

Definition::Definition() {
  nvf_fusion* made = nullptr;
  require(nvf_fusion_create(&made));
  fusion_.reset(made, nvf_fusion_destroy);
}

Term Definition::tensorLike(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                            int32_t dtype) {
  Term term;
  const auto rank = static_cast<int64_t>(sizes.size());
  require(nvf_define_tensor_like(get(), rank, sizes.data(), strides.data(), dtype, &term.id));
  term.is_tensor = true;
  term.rank = rank;
  term.dtype = dtype;
  return term;
}

Term Definition::scalar(int32_t dtype) {
  Term term;
  require(nvf_define_scalar(get(), dtype, &term.id));
  term.dtype = dtype;
  return term;
}

std::vector<Term> Definition::callAll(const char* operation, Arguments arguments) {
  std::vector<std::unique_ptr<std::vector<nvf_argument>>> storage;
  std::vector<nvf_argument> raw;
  for (const Argument& argument : arguments) {
    raw.push_back(argument.raw(storage));
  }
  constexpr int64_t kCapacity = 64;
  int64_t ids[kCapacity];
  int64_t count = 0;
  require(nvf_op(get(), operation, raw.data(), static_cast<int64_t>(raw.size()), ids, kCapacity,
                 &count));
  std::vector<Term> results;
  for (int64_t i = 0; i < count; ++i) {
    Term term;
    term.id = ids[i];
    if (ids[i] >= 0) {
      int32_t is_tensor = 0;
      require(nvf_value_info(get(), ids[i], &is_tensor, &term.rank, &term.dtype));
      term.is_tensor = is_tensor != 0;
    }
    results.push_back(term);
  }
  return results;
}

void Definition::output(const Term& term) { require(nvf_add_output(get(), term.id)); }

std::string Definition::text() const {
  char* printed = nullptr;
  require(nvf_print(get(), &printed));
  std::string result = printed;
  nvf_free_text(printed);
  return result;
}

}  // namespace nvfuser::torchscript
