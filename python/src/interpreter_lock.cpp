#include "interpreter_lock.h"

#include <unistd.h>

namespace nvfuser::python {

void askForLock(void (*ask)(void* argument), void* argument) noexcept {
  try {
    ask(argument);
  } catch (...) {  // nothing but the end of this thread comes here
    while (true) {
      pause();
    }
  }
}

}  // namespace nvfuser::python
