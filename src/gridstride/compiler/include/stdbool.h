// bool, true and false belong to C++.
#pragma once
