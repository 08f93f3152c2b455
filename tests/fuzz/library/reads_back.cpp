#include <fuzz/library/reads_back.h>

namespace nvfuser::fuzz {

std::unique_ptr<Fusion> readBack(const Fusion& fusion) {
  const std::string text = fusion.toString();
  std::unique_ptr<Fusion> read;
  try {
    read = Fusion::fromText(text);
  } catch (const std::exception& error) {
    throw InternalError(nvfuser::text("a Fusion's text is not read: ", error.what(), "\n", text));
  }
  const std::string again = read->toString();
  check(again == text, nvfuser::text("a Fusion's text reads back as another one:\n", text,
                                     "reads back as\n", again));
  check(read->sameDefinition(fusion), nvfuser::text("what a text reads back as is equal:\n", text));
  check(read->hash() == fusion.hash(), "what a text reads back as has the same hash");
  return read;
}

}  // namespace nvfuser::fuzz
