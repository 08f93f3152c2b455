"""The table of mutants (tests/mutants/*.txt), and the library with all of them; what tools/mutants.py works with."""

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "mutants"
FOLDER = ROOT / "build" / "mutants"
TREE = FOLDER / "tree"
LIBRARY = FOLDER / "build" / "lib"

MUTANT_SOURCE = """\
#include <support/mutant.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

// By system calls, for some tests put functions of their own in the place of the C library's.
static void note(const char* path, int number) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = std::to_string(number) + "\\n";
  syscall(SYS_write, fd, line.data(), line.size());
  syscall(SYS_close, fd);
}

bool nvfuser::mutant(int number) {
  static const int chosen = [] {
    const char* const given = std::getenv("NVFUSER_MUTANT");
    return given != nullptr ? std::atoi(given) : -1;
  }();
  static const char* const reached = std::getenv("NVFUSER_MUTANT_REACHED");
  static std::atomic<bool> noted[2000];
  if (reached != nullptr && !noted[number].exchange(true)) note(reached, number);
  return chosen == number;
}
"""
MUTANT_HEADER = "#pragma once\nnamespace nvfuser {\nbool mutant(int number);\n}\n"


# The table --------------------------------------------------------------------------------------


@dataclass
class Mutant:
    path: str
    area: str
    note: str  # what is wrong
    original: str
    mutated: str
    equivalent: str  # why no test can notice, or ""
    pattern: re.Pattern  # finds the original: its group "at"
    number: int = 0

    @property
    def key(self):
        return hashlib.sha256(f"{self.path}\0{self.pattern.pattern}\0{self.mutated}".encode()).hexdigest()[:16]

    @property
    def text_of_kernels(self):
        return self.path.startswith("runtime/")

    def __str__(self):
        return f"{self.number} {self.path}: {self.note}"


_SPACE = r"(?:\s|//[^\n]*\n)"


def _spaced(text):
    """A pattern of the text: where it has white space, any and comments may be."""
    lead = _SPACE + "*" if text[:1].isspace() else ""
    tail = _SPACE + "*" if text[-1:].isspace() and text.strip() else ""
    return lead + f"{_SPACE}+".join(re.escape(word) for word in text.split()) + tail


def read_table():
    mutants, path, note = [], None, ""
    for file in sorted(TABLE.glob("*.txt")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            where = f"{file.relative_to(ROOT)}:{number}"
            if line.startswith("## "):
                path = line[3:].strip()
            elif line.startswith("  = "):
                mutants[-1].equivalent = line[4:].strip()
            elif line.startswith("  "):
                found = re.fullmatch(r"\s*(.*?)«(.+?)⇒(.*?)»(.*)", line)
                if not found:
                    raise SystemExit(f"{where}: no «original ⇒ mutated» in it")
                before, original, mutated, after = found.groups()
                text = f"{_spaced(before)}(?P<at>{_spaced(original.strip())}){_spaced(after)}"
                mutants.append(Mutant(path, file.stem, note, original.strip(), mutated.strip(), "", re.compile(text)))
            elif line.strip() and not line.startswith("#"):
                note = line.strip()
    for number, mutant in enumerate(mutants):
        mutant.number = number
    return mutants


def place(mutant, source):
    """Where its original is in the source: it is there once."""
    found = list(mutant.pattern.finditer(source))
    if len(found) != 1:
        raise SystemExit(f"{mutant}\n    «{mutant.original}» is in {mutant.path} {len(found)} times, not once")
    return found[0].span("at")


# The library with all of them -------------------------------------------------------------------


def chosen(mutants, original):
    """C++ that does what the first chosen one of these does, or the original."""
    if original.endswith((";", "}")):
        turns = [f"if (::nvfuser::mutant({m.number})) {{ {m.mutated} }} else" for m in mutants]
        return f"{' '.join(turns)} {{ {original} }}"
    turns = [f"::nvfuser::mutant({m.number}) ? ({m.mutated}) : " for m in mutants]
    return f"({''.join(turns)}({original}))"


def with_choices(path, mutants, source):
    spans = {}
    for mutant in mutants:
        spans.setdefault(place(mutant, source), []).append(mutant)

    def rendered(begin, end, inside):
        """The source from begin to end with choices at these spans: the outer ones hold the inner ones."""
        text, at = "", begin
        for span in sorted(inside, key=lambda span: (span[0], -span[1])):
            if span[0] < at:
                if span[1] > at:
                    raise SystemExit(f"{path}: two mutants overlap at {source[span[0] : span[1]]!r}")
                continue  # in one that was rendered
            inner = [other for other in inside if span[0] <= other[0] and other[1] <= span[1] and other != span]
            text += source[at : span[0]] + chosen(spans[span], rendered(*span, inner))
            at = span[1]
        return text + source[at:end]

    return f'#include <support/mutant.h>\n#line 1 "{TREE / path}"\n{rendered(0, len(source), spans)}'


def snippets_with_choice(source, numbers):
    """codegen/snippets.cpp: the text of a file of runtime/ is that of the chosen mutant's."""
    of = "".join(f'  if (path == "{path}" && ({" || ".join(f"mutant({n})" for n in those)})) '
                 f'return "mutants/" + text(std::getenv("NVFUSER_MUTANT"), "/", path);\n'
                 for path, those in numbers.items())  # fmt: skip
    helper = f"static std::string ofMutant(std::string_view path) {{\n{of}  return std::string(path);\n}}\n\n"
    asked = source.replace("file.path == path", "file.path == ofMutant(path)")
    asked = asked.replace("paths.push_back", 'if (!file.path.starts_with("mutants/")) paths.push_back')
    asked = asked.replace("std::string_view runtimeFile", helper + "std::string_view runtimeFile", 1)
    return f"#include <support/mutant.h>\n#include <cstdlib>\n#include <string>\n{asked}"


def copied_tree(mutants):
    """{path: text} of what the library is built of, with choices."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = ("CMakeLists.txt", "cmake/", "csrc/", "runtime/", "LICENSE")
    files = {path: (ROOT / path).read_text() for path in listed.split() if path.startswith(wanted)}
    for path in sorted({m.path for m in mutants}):
        those = [m for m in mutants if m.path == path]
        if not those[0].text_of_kernels:
            files[path] = with_choices(path, those, files[path])
            continue
        for mutant in those:
            begin, end = place(mutant, files[path])
            text = files[path][:begin] + mutant.mutated + files[path][end:]
            files[f"runtime/mutants/{mutant.number}/{path.removeprefix('runtime/')}"] = text
    numbers = {}
    for mutant in mutants:
        if mutant.text_of_kernels:
            numbers.setdefault(mutant.path.removeprefix("runtime/"), []).append(mutant.number)
    snippets = "csrc/codegen/snippets.cpp"
    files[snippets] = snippets_with_choice(files[snippets], numbers)
    files["csrc/support/mutant.h"], files["csrc/support/mutant.cpp"] = MUTANT_HEADER, MUTANT_SOURCE
    return files


def build(_):
    files = copied_tree(read_table())
    for path, text in files.items():
        there = TREE / path
        there.parent.mkdir(parents=True, exist_ok=True)
        if not there.exists() or there.read_text() != text:
            there.write_text(text)
    for file in [file for file in TREE.rglob("*") if file.is_file()]:
        if str(file.relative_to(TREE)) not in files:
            file.unlink()
    shutil.rmtree(TREE / ".venv", ignore_errors=True)
    tools = [ROOT / ".venv" / "bin" / name for name in ("cmake", "ninja")]
    settings = ["BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_BENCHMARKS", "BUILD_PYTHON", "WERROR"]
    command = [tools[0], "-S", TREE, "-B", FOLDER / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools[1]}"]
    command += [f"-DNVFUSER_{name}=OFF" for name in settings]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return subprocess.call([tools[0], "--build", FOLDER / "build", "--target", "nvfuser", "--", "-k", "0"])
