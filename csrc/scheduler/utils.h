/// Everything that a program which schedules by hand needs. (A public header under this name; it
/// only forwards.)
#pragma once

#include <scheduler/cache_borders.h>
#include <scheduler/compute_at.h>
#include <scheduler/edit_dims.h>
#include <scheduler/parallelize_like.h>
#include <scheduler/propagate_schedule.h>
#include <scheduler/tools/inlining.h>
#include <scheduler/tools/maxinfo_propagator.h>
#include <scheduler/transform_replay.h>
