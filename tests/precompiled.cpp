// Owns the precompiled header of all test programs (CMakeLists.txt).
#include "precompiled.h"
