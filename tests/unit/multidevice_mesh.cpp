// Meshes, what loops say of shardings, and what a device runs.
#include <doctest/doctest.h>

#include "user_error.h"
#include <multidevice/local_fusion.h>
#include <multidevice/sharding.h>
#include <multidevice/stages.h>
#include <ops/all_ops.h>

namespace nvfuser {
namespace {

using multidevice::makeLocal;
using multidevice::shardingOf;

TEST_CASE("multidevice mesh: places and teams, the last axis is DIDx") {
  const DeviceMesh mesh({4, 5, 6, 7, 8, 9}, {2, 3});
  CHECK(mesh.toString() == "DeviceMesh{4 5 6 | 7 8 9}");
  CHECK(mesh.size() == 6);
  CHECK(mesh.size(ParallelType::DIDx) == 3);
  CHECK(mesh.size(ParallelType::DIDy) == 2);
  CHECK(mesh.size(ParallelType::DIDz) == 1);
  CHECK(mesh.coordinate(8, ParallelType::DIDx) == 1);
  CHECK(mesh.coordinate(8, ParallelType::DIDy) == 1);
  CHECK(mesh.coordinate(8, ParallelType::DIDz) == 0);
  CHECK(!mesh.coordinate(3, ParallelType::DIDx));
  CHECK(mesh.team(8, ParallelType::DIDx) == std::vector<int64_t>{7, 8, 9});
  CHECK(mesh.team(8, ParallelType::DIDy) == std::vector<int64_t>{5, 8});
  CHECK(mesh.team(8, ParallelType::DIDz) == std::vector<int64_t>{8});
}

struct Matrix {
  Fusion fusion;
  FusionGuard guard{&fusion};
  DeviceMesh mesh{std::vector<int64_t>{0, 1}};
  TensorView* x = make();

  TensorView* make() {
    TensorView* tv = makeContigTensor(2);
    fusion.addInput(tv);
    tv->setDeviceMesh(mesh);
    return tv;
  }
  std::string refusal() {
    try {
      makeLocal(fusion);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE_FIXTURE(Matrix, "multidevice mesh: loops say what is cut") {
  CHECK(shardingOf(x).toString() == "whole");
  x->outer_split(1, 2);
  x->axis(1)->parallelize(ParallelType::DIDx);
  CHECK(shardingOf(x).toString() == "DIDx cuts axis 1");
}

TEST_CASE_FIXTURE(Matrix, "multidevice mesh: loops that are no sharding are refused") {
  fusion.addOutput(neg(x));
  x->split(0, 2);
  x->axis(1)->parallelize(ParallelType::DIDx);
  CHECK(contains(refusal(), "is not the outer part of one of its axes"));
  x->axis(1)->parallelize(ParallelType::Serial);
  x->axis(0)->parallelize(ParallelType::DIDx);
  CHECK(contains(refusal(), "has not 2 elements, as many as DeviceMesh{0 1}"));
}

TEST_CASE_FIXTURE(Matrix, "multidevice mesh: a constant size that cannot be shared is refused") {
  TensorView* y = makeContigConcreteTensor({5, 2});
  fusion.addInput(y);
  y->setDeviceMesh(mesh);
  y->outer_split(0, 2);
  y->axis(0)->parallelize(ParallelType::DIDx);
  fusion.addOutput(neg(y));
  CHECK(contains(refusal(), "has 5 elements, which 2 devices cannot share equally"));
}

TEST_CASE_FIXTURE(Matrix, "multidevice mesh: unlike meshes in one fusion are refused") {
  TensorView* out = neg(x);
  out->setDeviceMesh(DeviceMesh({1, 0}));
  fusion.addOutput(out);
  CHECK(contains(refusal(), "a stage is on one mesh"));
}

TEST_CASE_FIXTURE(Matrix,
                  "multidevice mesh: unlike meshes are stages, which say what goes between") {
  TensorView* y = neg(x);
  y->setDeviceMesh(mesh);
  TensorView* z = exp(y);
  z->setDeviceMesh(DeviceMesh({2, 3}));
  TensorView* back = add(y, abs(z));
  back->setDeviceMesh(mesh);
  fusion.addOutput(back);
  const multidevice::Stages stages = multidevice::makeStages(fusion);
  REQUIRE(stages.stages.size() == 3);
  CHECK(stages.devices() == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(stages.stages[0].handovers.empty());
  const auto& there = stages.stages[1].handovers;
  REQUIRE(there.size() == 1);
  REQUIRE(there[0].pieces.size() == 1);
  CHECK(there[0].pieces[0].team == std::vector<int64_t>{0, 2, 3});
  CHECK(contains(there[0].what, "from DeviceMesh{0 1} to DeviceMesh{2 3}"));
  REQUIRE(stages.stages[2].handovers.size() == 1);
  CHECK(stages.of_outputs[0].mesh == mesh);
  fusion.aliasOutputToInput(back, x, AllocationType::ReuseBuffer);
  CHECK_THROWS_WITH_AS(multidevice::makeStages(fusion),
                       doctest::Contains("cannot update inputs in place"), UserError);
}

TEST_CASE("multidevice mesh: a fusion without a mesh has no parts") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  fusion.addOutput(neg(x));
  CHECK_THROWS_WITH_AS(makeLocal(fusion), doctest::Contains("no tensor of the fusion is on a mesh"),
                       UserError);
}

TEST_CASE_FIXTURE(Matrix, "multidevice mesh: what a device runs has the sizes of its parts") {
  x->outer_split(0, 2);
  x->axis(0)->parallelize(ParallelType::DIDx);
  TensorView* total = sum(x, {0});
  fusion.addOutput(total);
  total->setDeviceMesh(mesh);
  const multidevice::LocalFusion local = makeLocal(fusion);
  CHECK(local.coordinates.empty());
  REQUIRE(local.exchanges.size() == 1);
  CHECK(contains(local.exchanges[0], "allreduce of T"));
  CHECK(contains(local.fusion->toString(), "allreduce( T"));
  CHECK(contains(local.fusion->toString(), "mesh = DeviceMesh{0 1}, reduction = add"));
}

}  // namespace
}  // namespace nvfuser
