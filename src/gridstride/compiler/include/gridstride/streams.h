// The names of C++'s streams, so that what a header declares of them is read as the host functions they are.
#pragma once
namespace std {
template <class Char> struct char_traits;
template <class Char, class Traits = char_traits<Char>> class basic_ostream;
template <class Char, class Traits = char_traits<Char>> class basic_istream;
class ios_base {
public:
    using fmtflags = int;
    using iostate = int;
    // Enumerators take no memory: static members would be variables of every module.
    enum : fmtflags { dec = 1, fixed = 2, hex = 4, left = 8, right = 16, scientific = 32, skipws = 64 };
    enum : iostate { goodbit = 0, badbit = 1, eofbit = 2, failbit = 4 };
};
} // namespace std
