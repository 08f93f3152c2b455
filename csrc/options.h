/// Public name of <support/options.h>.
#pragma once

#include <support/options.h>
