#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <runtime/host_compiler/host_compiler.h>
#include <runtime/host_compiler/process.h>
#include <support/cancellation.h>
#include <support/error.h>

using namespace nvfuser;

namespace {

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A shell script in `folder` that plays a compiler.
std::string script(const TemporaryDirectory& folder, const std::string& name,
                   const std::string& body) {
  folder.write(name, "#!/bin/sh\n" + body);
  std::string path = folder.path() + "/" + name;
  chmod(path.c_str(), 0700);
  return path;
}

HostCompiler playedBy(const std::string& path) {
  HostCompiler compiler;
  compiler.command = {path};
  compiler.identity = "played";
  return compiler;
}

int openDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) {
    count += access(text("/proc/self/fd/", fd).c_str(), F_OK) == 0;
  }
  return count;
}

}  // namespace

TEST_CASE("host compiler: text becomes a function") {
  SharedObject object = compileSharedObject(
      {.text = "extern \"C\" int add(int a, int b) { return a + b; }", .flags = {"-O1"}});
  auto add = reinterpret_cast<int (*)(int, int)>(object.symbol("add"));
  CHECK(add(2, 40) == 42);
  CHECK_THROWS_AS(object.symbol("subtract"), InternalError);
}

TEST_CASE("host compiler: kernels may call libm and the compiler's own helpers") {
  SharedObject object = compileSharedObject(
      {.text =
           "extern \"C\" float sinf(float);\n"
           "extern \"C\" float f(float x) { return sinf(x); }\n"
           "extern \"C\" long g(long x) { return (long)(((__int128)x << 70) / (x + 1) >> 60); }",
       .flags = hostFlags(hostCompiler())});
  CHECK(reinterpret_cast<float (*)(float)>(object.symbol("f"))(0) == 0);
  CHECK(reinterpret_cast<long (*)(long)>(object.symbol("g"))(1) == 512);
}

TEST_CASE("host compiler: a later object is not mistaken for an earlier one") {
  for (int round = 0; round < 5; round++) {
    SharedObject object = compileSharedObject(
        {.text = text("extern \"C\" int value() { return ", round, "; }"), .flags = {"-O0"}});
    CHECK(reinterpret_cast<int (*)()>(object.symbol("value"))() == round);
  }
}

TEST_CASE("host compiler: bad text is refused with the compiler's words") {
  try {
    compileSharedObject({.text = "extern \"C\" int f() { return undeclared_name; }", .flags = {}});
    FAIL("compiled");
  } catch (const CompileError& error) {
    CHECK(error.log().find("undeclared_name") != std::string::npos);
    CHECK(error.log().find("kernel.cpp:1") != std::string::npos);
    CHECK(std::string(error.what()).find("failed with exit code 1") != std::string::npos);
  }
}

TEST_CASE("host compiler: an unresolved name is an error at load, not a crash at run") {
  CHECK_THROWS_AS(compileSharedObject({.text = "extern \"C\" int nowhere();\n"
                                               "extern \"C\" int f() { return nowhere(); }",
                                       .flags = {}}),
                  CompileError);
  CHECK_THROWS_AS(loadSharedObject("not an ELF file"), CompileError);
}

TEST_CASE("host compiler: one that hangs is stopped at the deadline, with its children") {
  TemporaryDirectory folder;
  for (std::string body : {std::string("sleep 100 & sleep 100\n"), std::string("kill -STOP $$\n"),
                           std::string("exec >/dev/null 2>&1; sleep 100\n")}) {
    std::string path = script(folder, text("hung", body.size()), "echo started\n" + body);
    int before = openDescriptors();
    auto begin = std::chrono::steady_clock::now();
    try {
      compileHostText(playedBy(path), {.text = "", .flags = {}, .deadline_s = 0.3});
      FAIL("returned");
    } catch (const CompileError& error) {
      CHECK(std::string(error.what()).find("was stopped after 0.3 s") != std::string::npos);
      CHECK(error.log() == "started\n");
    }
    CHECK(secondsSince(begin) < 1.3);
    CHECK(openDescriptors() == before);
  }
}

TEST_CASE("host compiler: one that nobody wants any more is stopped, with its children") {
  TemporaryDirectory folder;
  const std::string path = script(folder, "slow", "sleep 100 & sleep 100\n");
  const int before = openDescriptors();
  auto unwanted = std::make_shared<std::atomic<bool>>(false);
  const auto begin = std::chrono::steady_clock::now();
  std::thread caller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    unwanted->store(true);
  });
  CHECK_THROWS_AS(compileHostText(playedBy(path), {.text = "", .flags = {}, .unwanted = unwanted}),
                  Cancelled);
  caller.join();
  CHECK(secondsSince(begin) < 1.3);
  CHECK(openDescriptors() == before);
}

TEST_CASE("host compiler: one that says yes but writes nothing, or dies, is an error") {
  TemporaryDirectory folder;
  CHECK_THROWS_AS(compileHostText(playedBy(script(folder, "lazy", "exit 0\n")), {}), CompileError);
  CHECK_THROWS_AS(compileHostText(playedBy(script(folder, "dying", "kill -SEGV $$\n")), {}),
                  CompileError);
  CHECK_THROWS_AS(compileHostText(playedBy(folder.path() + "/absent"), {}), CompileError);
}

TEST_CASE("host compiler: a background process that keeps the output open does not hold us up") {
  TemporaryDirectory folder;
  auto begin = std::chrono::steady_clock::now();
  ProcessResult result =
      runProcess({.argv = {script(folder, "leaves", "echo said; sleep 50 &\n")}});
  CHECK(result.exit_code == 0);
  CHECK(result.output == "said\n");
  CHECK(secondsSince(begin) < 5);
}

TEST_CASE("process: arguments are never read by a shell") {
  TemporaryDirectory folder;
  std::string path = script(folder, "a b;$(touch x)'\n", "printf '%s|' \"$@\"\n");
  std::string odd = "; echo no $(id) `id` \"' \n\xff";
  ProcessResult result = runProcess({.argv = {path, odd, ""}, .working_directory = folder.path()});
  CHECK(result.exit_code == 0);
  CHECK(result.output == odd + "||");
  CHECK(access((folder.path() + "/x").c_str(), F_OK) != 0);
}

TEST_CASE("process: the environment is a short list") {
  setenv("LD_PRELOAD_LIKE_SECRET", "1", 1);
  ProcessResult result = runProcess({.argv = {"env"}});
  CHECK(result.output.find("SECRET") == std::string::npos);
  CHECK(result.output.find("PATH=") != std::string::npos);
  CHECK(result.output.find("LC_ALL=C") != std::string::npos);
  unsetenv("LD_PRELOAD_LIKE_SECRET");
}

TEST_CASE("process: long output is cut, not waited for") {
  ProcessResult result = runProcess({.argv = {"head", "-c", "1000000", "/dev/zero"},
                                     .working_directory = "",
                                     .output_limit = 1000});
  CHECK(result.exit_code == 0);
  CHECK(result.output.size() == 1000);
}

TEST_CASE("temporary directory: private, and gone afterwards with its files") {
  std::string path;
  {
    TemporaryDirectory folder;
    path = folder.path();
    struct stat info;
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
    folder.write("a", "bytes");
    CHECK_THROWS_AS(folder.write("a", "again"), UserError);
    std::string read;
    CHECK(folder.read("a", &read));
    CHECK(read == "bytes");
    CHECK(!folder.read("b", &read));
    mkdir((path + "/below").c_str(), 0700);
    REQUIRE(symlink("/etc", (path + "/below/link").c_str()) == 0);
  }
  CHECK(access(path.c_str(), F_OK) != 0);
  CHECK(access("/etc/passwd", F_OK) == 0);
}

TEST_CASE("host compiler: CXX may be a path with spaces or a command with words") {
  TemporaryDirectory folder;
  std::string path = script(folder, "my compiler", "echo 'fake++ 1.0'\n");
  CHECK(findHostCompiler(path).identity == path + " | fake++ 1.0");
  HostCompiler two = findHostCompiler("env g++");
  REQUIRE(two.command.size() == 2);
  CHECK(two.command[1] == "g++");
  // A wrong CXX is passed over.
  CHECK(findHostCompiler("/no/such/compiler").command.size() >= 1);
}

TEST_CASE("host compiler: none at all says what was tried") {
  std::string before = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  std::string why;
  CHECK(findHostCompiler("", &why).command.empty());
  setenv("PATH", before.c_str(), 1);
  CHECK(why.find("g++: not found") != std::string::npos);
  CHECK(why.find("python3 -m ziglang c++: not found") != std::string::npos);
}
