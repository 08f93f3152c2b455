/// Public name of what <ir/type.h> declares of it.
#pragma once

#include <ir/type.h>
