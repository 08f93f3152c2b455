// The objects that were of use last, and threads that use them at the same time.
#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <support/recently_used.h>

using namespace nvfuser;

namespace {

std::atomic<int> alive = 0;

struct Number {
  explicit Number(int its_value) : value(its_value) { ++alive; }
  ~Number() { --alive; }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  int value;
  std::atomic<int> users = 0;
};

using Numbers = RecentlyUsed<Number, 4>;

/// Uses the number, and says which ones were looked at on the way.
bool use(Numbers& numbers, int value, std::vector<int>& seen) {
  seen.clear();
  return numbers.useOne([&](Number& number) {
    seen.push_back(number.value);
    return number.value == value;
  });
}

}  // namespace

TEST_CASE("recently used: the last one of use is tried first, and few are kept") {
  {
    Numbers numbers;
    std::vector<int> seen;
    CHECK(!use(numbers, 1, seen));
    for (int value = 1; value <= 4; ++value) {
      numbers.keep(std::make_unique<Number>(value));
    }
    CHECK(use(numbers, 2, seen));
    CHECK(seen.front() == 4);
    CHECK(use(numbers, 2, seen));
    CHECK(seen == std::vector<int>{2});
    CHECK(!use(numbers, 5, seen));
    CHECK(seen.size() == 4);
    for (int value = 5; value < 100; ++value) {
      numbers.keep(std::make_unique<Number>(value));
      CHECK(alive <= 4);
    }
    CHECK(use(numbers, 99, seen));
    CHECK(seen == std::vector<int>{99});
  }
  CHECK(alive == 0);
}

TEST_CASE("recently used: what is in use is passed over, and goes back where others were kept") {
  Numbers numbers;
  std::vector<int> seen;
  numbers.keep(std::make_unique<Number>(1));
  const bool used = numbers.useOne([&](Number&) {
    CHECK(!use(numbers, 1, seen));
    CHECK(seen.empty());
    numbers.keep(std::make_unique<Number>(2));
    return true;
  });
  CHECK(used);
  CHECK(use(numbers, 1, seen));
  CHECK(use(numbers, 2, seen));
  CHECK(alive == 2);
}

TEST_CASE("recently used: one whose use throws is dropped") {
  Numbers numbers;
  std::vector<int> seen;
  numbers.keep(std::make_unique<Number>(1));
  CHECK_THROWS_AS(numbers.useOne([](Number&) -> bool { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(!use(numbers, 1, seen));
  CHECK(alive == 0);
}

TEST_CASE("recently used: from many threads, each object is used by one of them at a time") {
  {
    Numbers numbers;
    std::atomic<int> together = 0;
    const auto work = [&](int seed) {
      for (int i = 0; i < 5000; ++i) {
        const int wanted = (seed + i / 100) % 6;
        const bool found = numbers.useOne([&](Number& number) {
          together += number.users.fetch_add(1) == 0 ? 0 : 1;
          const bool is_it = number.value == wanted;
          number.users.fetch_sub(1);
          return is_it;
        });
        if (!found) {
          numbers.keep(std::make_unique<Number>(wanted));
        }
      }
    };
    std::vector<std::thread> threads;
    for (int seed = 0; seed < 4; ++seed) {
      threads.emplace_back(work, seed);
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(together == 0);
    CHECK(alive <= 4);
  }
  CHECK(alive == 0);
}
