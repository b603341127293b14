// Host only: nothing of it exists on the device, and a kernel file that merely includes it still compiles.
#pragma once
