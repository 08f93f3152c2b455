/// Public name of <runtime/validation.h>.
#pragma once

#include <runtime/validation.h>
