/// The table of options as docs/options.md.
#include <support/options.h>
#include <support/text.h>

namespace nvfuser {

std::string optionsPage() {
  std::string page =
      "<!-- Generated from csrc/support/options.def by tests/golden/options_page.cpp; do not edit. "
      "-->\n"
      "# Options\n\n"
      "All variables may be spelled `NVFUSER_X` or `PYTORCH_NVFUSER_X`. The first three hold lists "
      "of names,\n"
      "separated by commas, some with arguments: "
      "`NVFUSER_DUMP=cuda_kernel,lower_verbose(allocate)`. They are read once,\n"
      "when first needed. A wrong name is one warning, which lists the known ones.\n\n"
      "In C++ `Options::current().dump(\"kernel_ir\").disable(\"index_hoist\")` makes the same "
      "choice for "
      "one compilation\n"
      "(`CompileParams::options`) or for all calls of a scope (`OptionsGuard`); there a wrong name "
      "is an error.\n"
      "[debug.md](debug.md) shows what to use when.\n";
  auto section = [&](std::string_view title, OptionKind kind, std::string_view columns) {
    append(page, text("\n## ", title, "\n\n", columns));
    for (const OptionInfo& row : optionsTable()) {
      if (row.kind != kind) {
        continue;
      }
      std::string name = row.arguments.empty() ? text("`", row.name, "`")
                                               : text("`", row.name, "(", row.arguments, ")`");
      if (row.kind == OptionKind::Setting) {
        name = text("`NVFUSER_", row.name, "`");
      }
      append(page, text("| ", name, " | ", row.meaning));
      static constexpr std::string_view kLayers[] = {"", " (Python)", " (TorchScript)",
                                                     " (accepted, no effect)"};
      page += kLayers[static_cast<size_t>(row.layer)];
      if (row.kind == OptionKind::Setting) {
        page += row.fallback.empty() ? std::string(" | none") : text(" | ", row.fallback);
      }
      page += " |\n";
    }
  };
  section("`NVFUSER_DUMP`: what to show", OptionKind::Dump, "| name | shows |\n|---|---|\n");
  section("`NVFUSER_ENABLE`: off unless named", OptionKind::Enable,
          "| name | turns on |\n|---|---|\n");
  section("`NVFUSER_DISABLE`: on unless named", OptionKind::Disable,
          "| name | turns off |\n|---|---|\n");
  section("Settings", OptionKind::Setting, "| variable | meaning | default |\n|---|---|---|\n");
  section("Variables of the system that are looked at", OptionKind::System,
          "| variable | for what |\n|---|---|\n");
  return page;
}

}  // namespace nvfuser
