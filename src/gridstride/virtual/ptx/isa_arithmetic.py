"""Arithmetic, logic, comparison, conversion and movement of registers.

isa.py has the meaning of the columns, forms.py that of the indented lines.
"""

ROWS = """
opcode      | class        | operands | target | writes | result  | meaning  | order | cluster | pointer
# Integers
add         | arithmetic   | forms    | -      | first  | affine  | operands | -     | -       | 1-
    INT : T= T T
    sat s32 : T= T T
    u16x2/s16x2 : T= T T
    cc WIDE : T= T T
    [ROUND] [ftz] [sat] f32 : T= T T
    [ROUND] f64 : T= T T
    [rn] [ftz] [sat] f16/f16x2 : T= T T
    [rn] bf16/bf16x2 : T= T T
sub         | arithmetic   | forms    | -      | first  | affine  | decided  | -     | -       | 1
    INT : T= T T
    sat s32 : T= T T
    cc WIDE : T= T T
    [ROUND] [ftz] [sat] f32 : T= T T
    [ROUND] f64 : T= T T
    [rn] [ftz] [sat] f16/f16x2 : T= T T
    [rn] bf16/bf16x2 : T= T T
addc subc   | arithmetic   | forms    | -      | first  | varying | operands | -     | -       | -
    cc WIDE : T= T T
    WIDE/u16/s16 : T= T T
mul         | multiply     | forms    | -      | first  | affine  | operands | -     | -       | -
    lo/hi INT : T= T T
    wide u16/s16 : b32= T T
    wide WORD : b64= T T
    [ROUND] [ftz] [sat] f32 : T= T T
    [ROUND] f64 : T= T T
    [rn] [ftz] [sat] f16/f16x2 : T= T T
    [rn] bf16/bf16x2 : T= T T
mad         | multiply_add | forms    | -      | first  | affine  | operands | -     | -       | 3
    lo/hi INT : T= T T T
    hi sat s32 : T= T T T
    wide u16/s16 : b32= T T b32
    wide WORD : b64= T T b64
    lo/hi cc WIDE : T= T T T
    ROUND [ftz] [sat] f32 : T= T T T
    ROUND f64 : T= T T T
madc        | multiply     | forms    | -      | first  | varying | operands | -     | -       | -
    lo/hi cc WIDE : T= T T T
    lo/hi WIDE/u16/s16 : T= T T T
    hi sat s32 : T= T T T
mul24       | multiply     | forms    | -      | first  | uniform | operands | -     | -       | -
    lo/hi WORD : T= T T
mad24       | multiply_add | forms    | -      | first  | uniform | operands | -     | -       | -
    lo/hi WORD : T= T T T
    hi sat s32 : T= T T T
sad         | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    INT : T= T T T
div         | division     | forms    | -      | first  | uniform | operands | -     | -       | -
    INT : T= T T
    ROUND/approx/full [ftz] f32 : T= T T
    ROUND f64 : T= T T
rem         | division     | forms    | -      | first  | uniform | operands | -     | -       | -
    INT : T= T T
abs neg     | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    s16/s32/s64 : T= T
    [ftz] f32/f16/f16x2 : T= T
    f64/bf16/bf16x2 : T= T
min max     | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    INT/u16x2/s16x2 : T= T T
    relu s32/s16x2 : T= T T
    [ftz] [NaN] f32/f16/f16x2 : T= T T
    [ftz] [NaN] xorsign abs f32/f16/f16x2 : T= T T
    f64 : T= T T
    [NaN] bf16/bf16x2 : T= T T
    [NaN] xorsign abs bf16/bf16x2 : T= T T
dp4a        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    WORD WORD : b32= T1 T2 b32
dp2a        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    lo/hi WORD WORD : b32= T1 T2 b32
# Bits
popc clz    | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    b32/b64 : u32= T
bfind       | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    [shiftamt] WIDE : u32= T
brev        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    b32/b64 : T= T
fns         | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    b32 : b32= b32 b32 b32
bfe         | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    WIDE : T= T u32 u32
bfi         | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    b32/b64 : T= T T u32 u32
szext       | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    clamp/wrap WORD : T= T u32
bmsk        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    clamp/wrap b32 : T= u32 u32
and or      | arithmetic   | forms    | -      | first  | affine  | decided  | -     | -       | -
    BITS : T= T T
xor         | arithmetic   | forms    | -      | first  | uniform | decided  | -     | -       | -
    BITS : T= T T
not         | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    BITS : T= T
cnot        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    b16/b32/b64 : T= T
lop3        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    b32 : T= T T T #
    or/and b32 : T=_|p T T T # pred
shl         | arithmetic   | forms    | -      | first  | affine  | operands | -     | -       | -
    b16/b32/b64 : T= T u32
shr         | arithmetic   | forms    | -      | first  | affine  | operands | -     | -       | -
    b16/b32/b64/INT : T= T u32
shf         | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    l/r wrap/clamp b32 : T= T T u32
prmt        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    b32 [f4e/b4e/rc8/ecl/ecr/rc16] : T= T T T
# Movement, selection, comparison
mov         | move         | forms    | -      | first  | affine  | decided  | -     | -       | 1-
    b16/b32/b64/b128/INT/f32/f64/pred : m= m
    v2/v4 b32/WORD : m= m
selp        | move         | forms    | -      | first  | uniform | decided  | -     | -       | 1-2
    SCALAR : T= T T pred
slct        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    SCALAR s32 : T1= T1 T1 T2
    [ftz] SCALAR f32 : T1= T1 T1 T2
setp        | arithmetic   | forms    | -      | first  | uniform | decided  | -     | -       | -
    ORDER/lo/ls/hi/hs u16/u32/u64 : pred=_|p? T T
    ORDER s16/s32/s64 : pred=_|p? T T
    eq/ne b16/b32/b64 : pred=_|p? T T
    ORDER/UNORDERED [ftz] f32 : pred=_|p? T T
    ORDER/UNORDERED f64 : pred=_|p? T T
    ORDER/lo/ls/hi/hs LOGIC u16/u32/u64 : pred=_|p? T T pred
    ORDER LOGIC s16/s32/s64 : pred=_|p? T T pred
    eq/ne LOGIC b16/b32/b64 : pred=_|p? T T pred
    ORDER/UNORDERED LOGIC [ftz] f32 : pred=_|p? T T pred
    ORDER/UNORDERED LOGIC f64 : pred=_|p? T T pred
    ORDER/UNORDERED [ftz] f16 : pred= T T
    ORDER/UNORDERED bf16 : pred= T T
    ORDER/UNORDERED LOGIC [ftz] f16 : pred= T T pred
    ORDER/UNORDERED LOGIC bf16 : pred= T T pred
    ORDER/UNORDERED [ftz] f16x2 : pred=_|p? T T
    ORDER/UNORDERED bf16x2 : pred=_|p? T T
    ORDER/UNORDERED LOGIC [ftz] f16x2 : pred=_|p? T T pred
    ORDER/UNORDERED LOGIC bf16x2 : pred=_|p? T T pred
set         | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    ORDER/lo/ls/hi/hs u32/s32/f32 u16/u32/u64 : T1= T T
    ORDER u32/s32/f32 s16/s32/s64 : T1= T T
    eq/ne u32/s32/f32 b16/b32/b64 : T1= T T
    ORDER/UNORDERED [ftz] u32/s32/f32 f32 : T1= T T
    ORDER/UNORDERED u32/s32/f32 f64 : T1= T T
    ORDER/lo/ls/hi/hs LOGIC u32/s32/f32 u16/u32/u64 : T1= T T pred
    ORDER LOGIC u32/s32/f32 s16/s32/s64 : T1= T T pred
    eq/ne LOGIC u32/s32/f32 b16/b32/b64 : T1= T T pred
    ORDER/UNORDERED LOGIC [ftz] u32/s32/f32 f32 : T1= T T pred
    ORDER/UNORDERED LOGIC u32/s32/f32 f64 : T1= T T pred
    ORDER/UNORDERED bf16 f16 : T1= T T
    ORDER/UNORDERED [ftz] f16/u16/s16/u32/s32 f16 : T1= T T
    ORDER/UNORDERED bf16/u16/s16/u32/s32 bf16 : T1= T T
    ORDER/UNORDERED [ftz] f16x2/u32/s32 f16x2 : T1= T T
    ORDER/UNORDERED bf16x2/u32/s32 bf16x2 : T1= T T
    ORDER/UNORDERED LOGIC bf16 f16 : T1= T T pred
    ORDER/UNORDERED LOGIC [ftz] f16/u16/s16/u32/s32 f16 : T1= T T pred
    ORDER/UNORDERED LOGIC bf16/u16/s16/u32/s32 bf16 : T1= T T pred
    ORDER/UNORDERED LOGIC [ftz] f16x2/u32/s32 f16x2 : T1= T T pred
    ORDER/UNORDERED LOGIC bf16x2/u32/s32 bf16x2 : T1= T T pred
testp       | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    finite/infinite/number/notanumber/normal/subnormal f32/f64 : pred= T
copysign    | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    f32/f64 : T= T T
# Floating point
fma         | multiply_add | forms    | -      | first  | uniform | operands | -     | -       | -
    ROUND [ftz] [sat] f32 : T= T T T
    ROUND f64 : T= T T T
    rn [ftz] [sat] f16/f16x2 : T= T T T
    rn [ftz] relu f16/f16x2 : T= T T T
    rn [relu] bf16/bf16x2 : T= T T T
    rn oob [relu] HALVES : T= T T T
rcp         | root         | forms    | -      | first  | uniform | operands | -     | -       | -
    ROUND/approx [ftz] f32 : T= T
    ROUND [ftz] f64 : T= T
    approx ftz f64 : T= T
sqrt        | root         | forms    | -      | first  | uniform | operands | -     | -       | -
    ROUND/approx [ftz] f32 : T= T
    ROUND f64 : T= T
rsqrt       | special      | forms    | -      | first  | uniform | operands | -     | -       | -
    approx ftz f64 : T= T
    approx [ftz] f32 : T= T
    approx f64 : T= T
sin cos lg2 | special      | forms    | -      | first  | uniform | operands | -     | -       | -
    approx [ftz] f32 : T= T
ex2         | special      | forms    | -      | first  | uniform | operands | -     | -       | -
    approx [ftz] f32 : T= T
    approx f16/f16x2 : T= T
    approx ftz bf16/bf16x2 : T= T
tanh        | special      | forms    | -      | first  | uniform | operands | -     | -       | -
    approx f32/HALVES : T= T
# Conversion
cvt         | convert      | forms    | -      | first  | affine  | operands | -     | -       | -
    [sat] NARROW NARROW : T1=+ T2+
    WHOLE [ftz] [sat] NARROW f32 : T1=+ T2+
    WHOLE [sat] NARROW f16/f64 : T1=+ T2+
    WHOLE NARROW bf16 : T1=+ T2+
    WHOLE [ftz] [sat] f32 f32 : T1=+ T2+
    WHOLE [sat] f16 f16 : T1=+ T2+
    WHOLE [sat] f64 f64 : T1=+ T2+
    WHOLE bf16 bf16 : T1=+ T2+
    ROUND [ftz] [sat] f32 NARROW : T1=+ T2+
    ROUND [sat] f16/f64 NARROW : T1=+ T2+
    ROUND bf16 NARROW : T1=+ T2+
    [sat] f16 f16 : T1=+ T2+
    bf16 bf16 : T1=+ T2+
    [sat] f16 bf16 : T1=+ T2+
    bf16 f16 : T1=+ T2+
    [ftz] [sat] f32 f16/f32 : T1=+ T2+
    [ftz] f32 bf16 : T1=+ T2+
    [ftz] [sat] f64 f32 : T1=+ T2+
    [sat] f64 f16/f64 : T1=+ T2+
    f64 bf16 : T1=+ T2+
    ROUND [ftz] [sat] f16 f32 : T1=+ T2+
    ROUND [sat] f16 f64 : T1=+ T2+
    ROUND [ftz] bf16 f32 : T1=+ T2+
    ROUND bf16 f16/f64 : T1=+ T2+
    ROUND [sat] f16 bf16 : T1=+ T2+
    ROUND [ftz] f32 bf16 : T1=+ T2+
    ROUND [ftz] [sat] f32 f64 : T1=+ T2+
    ROUND f64 bf16 : T1=+ T2+
    rn/rz [relu] [satfinite] f16/bf16 f32 : T1=+ T2+
    rn/rz [relu] [satfinite] f16x2/bf16x2 f32 : T1= T2 T2
    rn/rz [relu] tf32 f32 : b32= T2
    rna [satfinite] tf32 f32 : b32= T2
    rn satfinite [relu] e4m3x2/e5m2x2 f32 : b16= f32 f32
    rn satfinite [relu] e4m3x2/e5m2x2 f16x2 : b16= T2
    rn [relu] f16x2 e4m3x2/e5m2x2 : T1= b16
    pack sat u16/s16 s32 : b32= s32 s32
    pack sat u8/s8/u4/s4/u2/s2 s32 b32 : b32= s32 s32 b32
# Video
vadd vsub vabsdiff vmin vmax | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    WORD WORD WORD [sat] : v= v v v?
    WORD WORD WORD [sat] [add/min/max] : v= v v v
vshl vshr   | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    WORD WORD u32 [sat] clamp/wrap : v= v v v?
    WORD WORD u32 [sat] clamp/wrap [add/min/max] : v= v v v
vmad        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    WORD WORD WORD [po] [sat] [shr7/shr15] : v= v v v
vset        | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    WORD WORD ORDER : v= v v v?
    WORD WORD ORDER [add/min/max] : v= v v v
vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 | arithmetic | forms | - | first | uniform | operands | - | - | -
    WORD WORD WORD [sat] : v= v v v
    WORD WORD WORD add : v= v v v
vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 | arithmetic | forms | - | first | uniform | operands | - | - | -
    WORD WORD WORD [sat] : v= v v v
    WORD WORD WORD add : v= v v v
vset2 vset4 | arithmetic   | forms    | -      | first  | uniform | operands | -     | -       | -
    WORD WORD ORDER [add] : v= v v v
"""
