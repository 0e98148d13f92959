// libvips for Swift: the variadic calls that Swift cannot import.
#pragma once
#include <vips/vips.h>
