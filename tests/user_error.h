/// What a wrong use says.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include <support/error.h>

namespace nvfuser {

/// The message of the `UserError` that `use` ends with, or what it ended with instead.
inline std::string messageOf(const std::function<void()>& use) {
  try {
    use();
  } catch (const UserError& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("not a user error: ") + e.what();
  }
  return "no error";
}

struct BadUse {
  std::string words;  ///< what the message must contain
  std::function<void()> use;
};

inline void checkAll(const std::vector<BadUse>& uses) {
  for (const BadUse& bad : uses) {
    const std::string message = messageOf(bad.use);
    CAPTURE(message);
    CHECK_MESSAGE(message.find(bad.words) != std::string::npos, bad.words);
  }
}

}  // namespace nvfuser
