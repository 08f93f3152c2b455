// Options of the calls in a `with` block, and what NVFUSER_DUMP shows there as text.

#include <memory>
#include <string>
#include <vector>

#include "direct/bindings.h"
#include "direct/executors.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <support/dump.h>

namespace nvfuser::python {

namespace {

class CallOptions {
 public:
  CallOptions(const std::vector<std::string>& enable, const std::vector<std::string>& disable,
              bool capture)
      : options_(optionsOf(enable, disable).value_or(Options::current())) {
    if (capture) {
      options_ = options_.to(std::make_shared<DumpSink>(
          [text = text_](std::string_view dumped) { text->append(dumped); }));
    }
  }
  void enter() { guard_ = std::make_unique<OptionsGuard>(options_); }
  void leave() { guard_.reset(); }
  std::string dumped() const { return *text_; }

 private:
  const std::shared_ptr<std::string> text_ = std::make_shared<std::string>();
  Options options_;
  std::unique_ptr<OptionsGuard> guard_;
};

}  // namespace

void bindCallOptions(nb::module_& direct) {
  using namespace nb::literals;
  using Names = std::vector<std::string>;
  nb::class_<CallOptions>(
      direct, "CallOptions",
      "`with CallOptions(…) as options:` switches options on and off for this thread's calls. With "
      "`capture`, what they dump is kept instead of written to the standard output.")
      .def(nb::init<const Names&, const Names&, bool>(), "enable"_a = Names(),
           "disable"_a = Names(), "capture"_a = false)
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<CallOptions&>(self).enter();
             return nb::borrow(self);
           })
      .def(
          "__exit__", [](CallOptions& self, nb::handle, nb::handle, nb::handle) { self.leave(); },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none())
      .def("dumped", &CallOptions::dumped, "What was captured.");
}

}  // namespace nvfuser::python
