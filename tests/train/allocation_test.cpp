// Law 1, measured: preparing a program takes exactly the plan's bytes from the system in one allocation, for
// 50 random valid configurations, and running it takes no further arena. This program's own operator new does
// the counting, so what the backend reports about itself is checked too.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "core/config/validate.h"
#include "core/model/parameters.h"
#include "core/program/estimate.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/model_fixture.h"
#include "tests/support/random_config.h"

namespace {

// Allocations aligned to a page: arenas. Everything else a program allocates is aligned to less.
constexpr std::size_t kPage = 4096;
std::atomic<int64_t> page_allocations{0}, page_bytes{0};

}  // namespace

// The replaceable functions of [new.delete]; all other forms call these two.
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  if (align >= kPage) {
    ++page_allocations;
    page_bytes += static_cast<int64_t>(size);
  }
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace lathe::testing {
namespace {

constexpr uint64_t kSeed = 20261205;

TEST(Allocation, FiftyRandomConfigurations_TakeExactlyThePlan) {
  const auto backend = make_cpu_backend();
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", configuration " << i);
    const RunConfig config = random_config(random);
    ASSERT_TRUE(validate(config).empty());
    EstimateRequest request;
    request.target = backend->device().target;
    const Estimate expected = estimate(config, request);

    ModelOptions options;
    options.build = training_options(config, request.target);
    page_allocations = page_bytes = 0;
    TestModel model(*backend, config, options);
    EXPECT_EQ(page_allocations, 1);
    EXPECT_EQ(page_bytes, model.plan().arena_bytes);
    EXPECT_EQ(page_bytes, expected.arena_bytes) << "the estimate isn't the allocation";
    EXPECT_EQ(model.executable().memory().arena_bytes, page_bytes);

    // The number people read in the form, from the architecture alone, is what lies in memory.
    int64_t elements = 0;
    for (const Parameter& parameter : model.program().parameters) {
      elements += static_cast<int64_t>(model.values(parameter.weight).size());
    }
    EXPECT_EQ(elements, parameter_count(config));
    EXPECT_EQ(elements, expected.parameters);

    const Batch batch = random_batch(config, kSeed);
    model.accumulate({batch, batch});
    model.update({.learning_rate = 1e-3, .valid_tokens = 2 * batch.valid_tokens});
    if (options.build.evaluate) model.evaluate(batch);
    if (options.build.generate) {
      model.prefill({1, 2});
      model.decode(0, 2);
    }
    EXPECT_EQ(page_allocations, 1) << "running took another arena";
  }
}

}  // namespace
}  // namespace lathe::testing
