"""The grammar of single instructions up to sm_90a, as ptxas 13.0 holds to it: modifiers, types and operands.

A line is `opcodes | modifiers : operands`. A modifier is a word or `a/b/c` (one of them), in brackets where it may be
missing; a word in capitals stands for a class. Their order does not matter but among types. Operands:

    T T1 T2 u32 …   a register or constant of the last, first, second type, or of the type named
    =               only a register: a destination (`_` may stand for it where the sign is `=_`)
    +               the register may be wider (and need not have the type's sign)
    *n              a vector of n; `*` of any length
    |p  |p?         beside a predicate destination, which may be missing where `?` stands
    []  [t]         an address; one with coordinates (of a tensor)
    #  #a-b  #a/b   an integer constant; in a range; out of a list
    m               whatever mov takes: also special registers and names, and vectors that make up the type
    v               a 32-bit integer register, with a selector or not, or a constant
    x               anything
    ?               at the end of an operand: it and what follows may be missing

Opcodes without a line (call, branches, bulk copies, matrices, textures) are checked where they are lowered.
"""

from __future__ import annotations

CLASSES: dict[str, str] = {
    "INT": "u16/u32/u64/s16/s32/s64",
    "WIDE": "u32/s32/u64/s64",
    "WORD": "u32/s32",
    "BITS": "b16/b32/b64/pred",
    "ROUND": "rn/rz/rm/rp",
    "SCALAR": "b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64",
    "MEMORY": "b8/b16/b32/b64/u8/u16/u32/u64/s8/s16/s32/s64/f32/f64",
    "SHORT": "b8/b16/b32/u8/u16/u32/s8/s16/s32/f32",
    "NARROW": "u8/s8/u16/s16/u32/s32/u64/s64",
    "ORDER": "eq/ne/lt/le/gt/ge",
    "UNORDERED": "equ/neu/ltu/leu/gtu/geu/num/nan",
    "SCOPE": "cta/cluster/gpu/sys",
    "WHOLE": "rni/rzi/rmi/rpi",
    "LOGIC": "and/or/xor",
    "HALVES": "f16/f16x2/bf16/bf16x2",
    "EVICT": "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate",
    "SHARED": "shared/shared::cta/shared::cluster",
    "OWN": "shared/shared::cta",
    "ANY": "global/const/local/param/param::entry/param::func/shared/shared::cta/shared::cluster",
    "SEEN": "global/const/local/shared/shared::cta/shared::cluster",
    "VISIBLE": "global/shared/shared::cta/shared::cluster",
    "WRITABLE": "global/local/param/param::func/shared/shared::cta/shared::cluster",
    "SEM": "relaxed/acquire/release/acq_rel",
    "KEEP": "L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged",
    "PREFETCH": "L2::64B/L2::128B/L2::256B",
}

FORMS = """
add sub | INT : T= T T
add sub | sat s32 : T= T T
add | u16x2/s16x2 : T= T T
add sub addc subc | cc WIDE : T= T T
addc subc | WIDE/u16/s16 : T= T T
mul | lo/hi INT : T= T T
mul | wide u16/s16 : b32= T T
mul | wide WORD : b64= T T
mad | lo/hi INT : T= T T T
mad | hi sat s32 : T= T T T
mad | wide u16/s16 : b32= T T b32
mad | wide WORD : b64= T T b64
mad madc | lo/hi cc WIDE : T= T T T
madc | lo/hi WIDE/u16/s16 : T= T T T
madc | hi sat s32 : T= T T T
mul24 | lo/hi WORD : T= T T
mad24 | lo/hi WORD : T= T T T
mad24 | hi sat s32 : T= T T T
sad | INT : T= T T T
div rem | INT : T= T T
abs neg | s16/s32/s64 : T= T
min max | INT/u16x2/s16x2 : T= T T
min max | relu s32/s16x2 : T= T T
popc clz | b32/b64 : u32= T
bfind | [shiftamt] WIDE : u32= T
brev | b32/b64 : T= T
fns | b32 : b32= b32 b32 b32
bfe | WIDE : T= T u32 u32
bfi | b32/b64 : T= T T u32 u32
szext | clamp/wrap WORD : T= T u32
bmsk | clamp/wrap b32 : T= u32 u32
dp4a | WORD WORD : b32= T1 T2 b32
dp2a | lo/hi WORD WORD : b32= T1 T2 b32
and or xor | BITS : T= T T
not | BITS : T= T
cnot | b16/b32/b64 : T= T
lop3 | b32 : T= T T T #
lop3 | or/and b32 : T=_|p T T T # pred
shl | b16/b32/b64 : T= T u32
shr | b16/b32/b64/INT : T= T u32
shf | l/r wrap/clamp b32 : T= T T u32
prmt | b32 [f4e/b4e/rc8/ecl/ecr/rc16] : T= T T T
mov | b16/b32/b64/b128/INT/f32/f64/pred : m= m
mov | v2/v4 b32/WORD : m= m
selp | SCALAR : T= T T pred
slct | SCALAR s32 : T1= T1 T1 T2
slct | [ftz] SCALAR f32 : T1= T1 T1 T2
copysign | f32/f64 : T= T T
setp | ORDER/lo/ls/hi/hs u16/u32/u64 : pred=_|p? T T
setp | ORDER s16/s32/s64 : pred=_|p? T T
setp | eq/ne b16/b32/b64 : pred=_|p? T T
setp | ORDER/UNORDERED [ftz] f32 : pred=_|p? T T
setp | ORDER/UNORDERED f64 : pred=_|p? T T
setp | ORDER/lo/ls/hi/hs LOGIC u16/u32/u64 : pred=_|p? T T pred
setp | ORDER LOGIC s16/s32/s64 : pred=_|p? T T pred
setp | eq/ne LOGIC b16/b32/b64 : pred=_|p? T T pred
setp | ORDER/UNORDERED LOGIC [ftz] f32 : pred=_|p? T T pred
setp | ORDER/UNORDERED LOGIC f64 : pred=_|p? T T pred
setp | ORDER/UNORDERED [ftz] f16 : pred= T T
setp | ORDER/UNORDERED bf16 : pred= T T
setp | ORDER/UNORDERED LOGIC [ftz] f16 : pred= T T pred
setp | ORDER/UNORDERED LOGIC bf16 : pred= T T pred
setp | ORDER/UNORDERED [ftz] f16x2 : pred=_|p? T T
setp | ORDER/UNORDERED bf16x2 : pred=_|p? T T
setp | ORDER/UNORDERED LOGIC [ftz] f16x2 : pred=_|p? T T pred
setp | ORDER/UNORDERED LOGIC bf16x2 : pred=_|p? T T pred
set | ORDER/lo/ls/hi/hs u32/s32/f32 u16/u32/u64 : T1= T T
set | ORDER u32/s32/f32 s16/s32/s64 : T1= T T
set | eq/ne u32/s32/f32 b16/b32/b64 : T1= T T
set | ORDER/UNORDERED [ftz] u32/s32/f32 f32 : T1= T T
set | ORDER/UNORDERED u32/s32/f32 f64 : T1= T T
set | ORDER/lo/ls/hi/hs LOGIC u32/s32/f32 u16/u32/u64 : T1= T T pred
set | ORDER LOGIC u32/s32/f32 s16/s32/s64 : T1= T T pred
set | eq/ne LOGIC u32/s32/f32 b16/b32/b64 : T1= T T pred
set | ORDER/UNORDERED LOGIC [ftz] u32/s32/f32 f32 : T1= T T pred
set | ORDER/UNORDERED LOGIC u32/s32/f32 f64 : T1= T T pred
set | ORDER/UNORDERED bf16 f16 : T1= T T
set | ORDER/UNORDERED [ftz] f16/u16/s16/u32/s32 f16 : T1= T T
set | ORDER/UNORDERED bf16/u16/s16/u32/s32 bf16 : T1= T T
set | ORDER/UNORDERED [ftz] f16x2/u32/s32 f16x2 : T1= T T
set | ORDER/UNORDERED bf16x2/u32/s32 bf16x2 : T1= T T
set | ORDER/UNORDERED LOGIC bf16 f16 : T1= T T pred
set | ORDER/UNORDERED LOGIC [ftz] f16/u16/s16/u32/s32 f16 : T1= T T pred
set | ORDER/UNORDERED LOGIC bf16/u16/s16/u32/s32 bf16 : T1= T T pred
set | ORDER/UNORDERED LOGIC [ftz] f16x2/u32/s32 f16x2 : T1= T T pred
set | ORDER/UNORDERED LOGIC bf16x2/u32/s32 bf16x2 : T1= T T pred
add sub mul | [ROUND] [ftz] [sat] f32 : T= T T
add sub mul | [ROUND] f64 : T= T T
add sub mul | [rn] [ftz] [sat] f16/f16x2 : T= T T
add sub mul | [rn] bf16/bf16x2 : T= T T
fma | ROUND [ftz] [sat] f32 : T= T T T
fma | ROUND f64 : T= T T T
fma | rn [ftz] [sat] f16/f16x2 : T= T T T
fma | rn [ftz] relu f16/f16x2 : T= T T T
fma | rn [relu] bf16/bf16x2 : T= T T T
fma | rn oob [relu] HALVES : T= T T T
mad | ROUND [ftz] [sat] f32 : T= T T T
mad | ROUND f64 : T= T T T
div | ROUND/approx/full [ftz] f32 : T= T T
div | ROUND f64 : T= T T
rcp sqrt | ROUND/approx [ftz] f32 : T= T
rcp | ROUND [ftz] f64 : T= T
sqrt | ROUND f64 : T= T
rcp rsqrt | approx ftz f64 : T= T
rsqrt | approx [ftz] f32 : T= T
rsqrt | approx f64 : T= T
sin cos lg2 | approx [ftz] f32 : T= T
ex2 | approx [ftz] f32 : T= T
ex2 | approx f16/f16x2 : T= T
ex2 | approx ftz bf16/bf16x2 : T= T
tanh | approx f32/HALVES : T= T
abs neg | [ftz] f32/f16/f16x2 : T= T
abs neg | f64/bf16/bf16x2 : T= T
testp | finite/infinite/number/notanumber/normal/subnormal f32/f64 : pred= T
min max | [ftz] [NaN] f32/f16/f16x2 : T= T T
min max | [ftz] [NaN] xorsign abs f32/f16/f16x2 : T= T T
min max | f64 : T= T T
min max | [NaN] bf16/bf16x2 : T= T T
min max | [NaN] xorsign abs bf16/bf16x2 : T= T T
cvt | [sat] NARROW NARROW : T1=+ T2+
cvt | WHOLE [ftz] [sat] NARROW f32 : T1=+ T2+
cvt | WHOLE [sat] NARROW f16/f64 : T1=+ T2+
cvt | WHOLE NARROW bf16 : T1=+ T2+
cvt | WHOLE [ftz] [sat] f32 f32 : T1=+ T2+
cvt | WHOLE [sat] f16 f16 : T1=+ T2+
cvt | WHOLE [sat] f64 f64 : T1=+ T2+
cvt | WHOLE bf16 bf16 : T1=+ T2+
cvt | ROUND [ftz] [sat] f32 NARROW : T1=+ T2+
cvt | ROUND [sat] f16/f64 NARROW : T1=+ T2+
cvt | ROUND bf16 NARROW : T1=+ T2+
cvt | [sat] f16 f16 : T1=+ T2+
cvt | bf16 bf16 : T1=+ T2+
cvt | [sat] f16 bf16 : T1=+ T2+
cvt | bf16 f16 : T1=+ T2+
cvt | [ftz] [sat] f32 f16/f32 : T1=+ T2+
cvt | [ftz] f32 bf16 : T1=+ T2+
cvt | [ftz] [sat] f64 f32 : T1=+ T2+
cvt | [sat] f64 f16/f64 : T1=+ T2+
cvt | f64 bf16 : T1=+ T2+
cvt | ROUND [ftz] [sat] f16 f32 : T1=+ T2+
cvt | ROUND [sat] f16 f64 : T1=+ T2+
cvt | ROUND [ftz] bf16 f32 : T1=+ T2+
cvt | ROUND bf16 f16/f64 : T1=+ T2+
cvt | ROUND [sat] f16 bf16 : T1=+ T2+
cvt | ROUND [ftz] f32 bf16 : T1=+ T2+
cvt | ROUND [ftz] [sat] f32 f64 : T1=+ T2+
cvt | ROUND f64 bf16 : T1=+ T2+
cvt | rn/rz [relu] [satfinite] f16/bf16 f32 : T1=+ T2+
cvt | rn/rz [relu] [satfinite] f16x2/bf16x2 f32 : T1= T2 T2
cvt | rn/rz [relu] tf32 f32 : b32= T2
cvt | rna [satfinite] tf32 f32 : b32= T2
cvt | rn satfinite [relu] e4m3x2/e5m2x2 f32 : b16= f32 f32
cvt | rn satfinite [relu] e4m3x2/e5m2x2 f16x2 : b16= T2
cvt | rn [relu] f16x2 e4m3x2/e5m2x2 : T1= b16
cvt | pack sat u16/s16 s32 : b32= s32 s32
cvt | pack sat u8/s8/u4/s4/u2/s2 s32 b32 : b32= s32 s32 b32
cvta | global/const/local/param/param::entry/SHARED u32/u64 : T= m
cvta | to global/const/local/param/param::entry/SHARED u32/u64 : T= T
isspacep | global/const/local/param/param::entry/SHARED : pred= x
vadd vsub vabsdiff vmin vmax | WORD WORD WORD [sat] : v= v v v?
vadd vsub vabsdiff vmin vmax | WORD WORD WORD [sat] [add/min/max] : v= v v v
vshl vshr | WORD WORD u32 [sat] clamp/wrap : v= v v v?
vshl vshr | WORD WORD u32 [sat] clamp/wrap [add/min/max] : v= v v v
vmad | WORD WORD WORD [po] [sat] [shr7/shr15] : v= v v v
vset | WORD WORD ORDER : v= v v v?
vset | WORD WORD ORDER [add/min/max] : v= v v v
vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 | WORD WORD WORD [sat] : v= v v v
vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 | WORD WORD WORD [sat] : v= v v v
vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 | WORD WORD WORD add : v= v v v
vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 | WORD WORD WORD add : v= v v v
vset2 vset4 | WORD WORD ORDER [add] : v= v v v
activemask | b32 : b32=
elect | sync : b32=_|p b32
nanosleep | u32 : u32
setmaxnreg | inc/dec sync aligned u32 : #24-256
pmevent | [mask] : #
bar | [cta] sync : u32 u32?
bar | [cta] arrive : u32 u32
bar | [cta] red popc u32 : u32= u32 x x?
bar | [cta] red and/or pred : pred= u32 x x?
bar | warp sync : b32
barrier | [cta] sync [aligned] : u32 u32?
barrier | [cta] arrive [aligned] : u32 u32
barrier | [cta] red [aligned] popc u32 : u32= u32 x x?
barrier | [cta] red [aligned] and/or pred : pred= u32 x x?
barrier | cluster arrive [release/relaxed] [aligned] :
barrier | cluster wait [acquire] [aligned] :
griddepcontrol | wait/launch_dependents :
shfl | sync up/down/bfly/idx b32 : T=_|p? T u32 u32 b32
shfl | up/down/bfly/idx b32 : T=_|p? T u32 u32
vote | sync all/any/uni pred : pred= pred b32
vote | sync ballot b32 : b32= pred b32
vote | all/any/uni pred : pred= pred
vote | ballot b32 : b32= pred
match | any sync b32/b64 : b32= T b32
match | all sync b32/b64 : b32=_|p? T b32
redux | sync add/min/max WORD : T= T b32
redux | sync LOGIC b32 : T= T b32
membar | cta/gl/sys :
membar | proxy alias :
stacksave stackrestore alloca | u32/u64 : x x? x?
ld | [weak] [ANY] [ca/cg/cs/lu/cv] [PREFETCH] [L2::cache_hint] MEMORY/b128 : T=+ [] u64?
ld | [weak] [ANY] [EVICT] [PREFETCH] [L2::cache_hint] MEMORY/b128 : T=+ [] u64?
ld | volatile [SEEN] [PREFETCH] MEMORY/b128 : T=+ []
ld | relaxed/acquire SCOPE [VISIBLE] [EVICT] [PREFETCH] [L2::cache_hint] MEMORY/b128 : T=+ [] u64?
ld | mmio relaxed sys [global] MEMORY : T=+ []
ld | global [ca/cg/cs] nc [PREFETCH] [L2::cache_hint] MEMORY/b128 : T=+ [] u64?
ld | [weak] global nc [EVICT] [PREFETCH] [L2::cache_hint] MEMORY/b128 : T=+ [] u64?
ld | [weak] [ANY] [ca/cg/cs/lu/cv] [EVICT] [PREFETCH] [L2::cache_hint] v2 MEMORY : T=+* [] u64?
ld | [weak] [ANY] [ca/cg/cs/lu/cv] [EVICT] [PREFETCH] [L2::cache_hint] v4 SHORT : T=+* [] u64?
ld | volatile [SEEN] [PREFETCH] v2 MEMORY : T=+* []
ld | volatile [SEEN] [PREFETCH] v4 SHORT : T=+* []
ld | relaxed/acquire SCOPE [VISIBLE] [EVICT] [PREFETCH] [L2::cache_hint] v2 MEMORY : T=+* [] u64?
ld | relaxed/acquire SCOPE [VISIBLE] [EVICT] [PREFETCH] [L2::cache_hint] v4 SHORT : T=+* [] u64?
ld | [weak] global nc [EVICT] [PREFETCH] [L2::cache_hint] v2 MEMORY : T=+* [] u64?
ld | [weak] global nc [EVICT] [PREFETCH] [L2::cache_hint] v4 SHORT : T=+* [] u64?
ldu | [global] MEMORY/b128 : T=+ []
ldu | [global] v2 MEMORY : T=+* []
ldu | [global] v4 SHORT : T=+* []
st | [weak] [WRITABLE] [wb/cg/cs/wt] [EVICT] [L2::cache_hint] MEMORY/b128 : [] T+ u64?
st | volatile [SEEN] MEMORY/b128 : [] T+
st | relaxed/release SCOPE [VISIBLE] [EVICT] [L2::cache_hint] MEMORY/b128 : [] T+ u64?
st | mmio relaxed sys [global] MEMORY : [] T+
st | [weak] [WRITABLE] [wb/cg/cs/wt] [EVICT] [L2::cache_hint] v2 MEMORY : [] T+* u64?
st | [weak] [WRITABLE] [wb/cg/cs/wt] [EVICT] [L2::cache_hint] v4 SHORT : [] T+* u64?
st | volatile [SEEN] v2 MEMORY : [] T+*
st | volatile [SEEN] v4 SHORT : [] T+*
st | relaxed/release SCOPE [VISIBLE] [EVICT] [L2::cache_hint] v2 MEMORY : [] T+* u64?
st | relaxed/release SCOPE [VISIBLE] [EVICT] [L2::cache_hint] v4 SHORT : [] T+* u64?
st | async [weak] [mbarrier::complete_tx::bytes] [shared::cluster] b32/b64/u32/u64/s32/s64/f32/f64 : [] T []
st | async [weak] [mbarrier::complete_tx::bytes] [shared::cluster] v2 b32/b64/u32/u64/s32/s64/f32/f64 : [] T* []
st | async [weak] [mbarrier::complete_tx::bytes] [shared::cluster] v4 b32/u32/s32/f32 : [] T* []
mapa | [shared::cluster] u32/u64 : T= x u32
getctarank | [shared::cluster] u32/u64 : u32= T
prefetch | [global/local] L1/L2 : []
prefetch | [global] L2::evict_last/L2::evict_normal : []
prefetch | [const/param] tensormap : []
prefetchu | L1 : []
applypriority | [global] L2::evict_normal : [] #128/128
discard | [global] L2 : [] #128/128
createpolicy | fractional KEEP [L2::evict_unchanged] b64 : b64= x?
createpolicy | fractional KEEP L2::evict_first b64 : b64= x?
createpolicy | range [global] KEEP [L2::evict_unchanged] b64 : b64= [] u32 u32
createpolicy | range [global] KEEP L2::evict_first b64 : b64= [] u32 u32
createpolicy | cvt L2 b64 : b64= b64
atom | [SEM] [SCOPE] [VISIBLE] add u32/s32/u64/f32/f64 [L2::cache_hint] : T=_ [] T u64?
atom | [SEM] [SCOPE] [VISIBLE] add/min/max [noftz] HALVES [L2::cache_hint] : T=_ [] T u64?
atom | [SEM] [SCOPE] [VISIBLE] min/max WIDE [L2::cache_hint] : T=_ [] T u64?
atom | [SEM] [SCOPE] [VISIBLE] inc/dec u32 [L2::cache_hint] : T=_ [] T u64?
atom | [SEM] [SCOPE] [VISIBLE] LOGIC b32/b64 [L2::cache_hint] : T=_ [] T u64?
atom | [SEM] [SCOPE] [VISIBLE] exch b32/b64/b128 [L2::cache_hint] : T=_ [] T u64?
atom | [SEM] [SCOPE] [VISIBLE] cas b16/b32/b64/b128 [L2::cache_hint] : T=_ [] T T u64?
atom | [SEM] [SCOPE] [global] v2/v4 add f32 [L2::cache_hint] : T=_* [] T* u64?
atom | [SEM] [SCOPE] [global] v2/v4/v8 add/min/max noftz f16/bf16 [L2::cache_hint] : T=_* [] T* u64?
atom | [SEM] [SCOPE] [global] v2/v4 add/min/max noftz f16x2/bf16x2 [L2::cache_hint] : T=_* [] T* u64?
red | [relaxed/release] [SCOPE] [VISIBLE] add u32/s32/u64/f32/f64 [L2::cache_hint] : [] T u64?
red | [relaxed/release] [SCOPE] [VISIBLE] add/min/max [noftz] HALVES [L2::cache_hint] : [] T u64?
red | [relaxed/release] [SCOPE] [VISIBLE] min/max WIDE [L2::cache_hint] : [] T u64?
red | [relaxed/release] [SCOPE] [VISIBLE] inc/dec u32 [L2::cache_hint] : [] T u64?
red | [relaxed/release] [SCOPE] [VISIBLE] LOGIC b32/b64 [L2::cache_hint] : [] T u64?
red | [relaxed/release] [SCOPE] [global] v2/v4 add f32 [L2::cache_hint] : [] T* u64?
red | [relaxed/release] [SCOPE] [global] v2/v4/v8 add/min/max noftz f16/bf16 [L2::cache_hint] : [] T* u64?
red | [relaxed/release] [SCOPE] [global] v2/v4 add/min/max noftz f16x2/bf16x2 [L2::cache_hint] : [] T* u64?
red | async [relaxed] [cluster] mbarrier::complete_tx::bytes [shared::cluster] inc/dec/min/max/add/and/or/xor\
 b32/b64/u32/s32/u64 : [] T []
fence | [sc/acq_rel/acquire/release] SCOPE :
fence | proxy alias/async/async.global/async.shared::cta/async.shared::cluster :
fence | proxy async global/shared::cta/shared::cluster :
fence | proxy tensormap::generic release SCOPE :
fence | proxy tensormap::generic acquire SCOPE : [] #128/128
fence | [proxy] [async::generic] acquire sync_restrict::shared::cluster cluster :
fence | [proxy] [async::generic] release sync_restrict::shared::cta cluster :
fence | mbarrier_init release cluster :
cp | async ca OWN global [PREFETCH] [L2::cache_hint] : [] [] #4/8/16 x? x?
cp | async cg OWN global [PREFETCH] [L2::cache_hint] : [] [] #16/16 x? x?
cp | async commit_group/wait_all :
cp | async wait_group : #
cp | async mbarrier arrive [noinc] [OWN] b64 : []
mbarrier | init [OWN] b64 : [] u32
mbarrier | inval [OWN] b64 : []
mbarrier | arrive/arrive_drop [SHARED] b64 : b64=_ [] u32?
mbarrier | arrive/arrive_drop release/relaxed cta/cluster [SHARED] b64 : b64=_ [] u32?
mbarrier | arrive/arrive_drop noComplete [OWN] b64 : b64=_ [] u32
mbarrier | arrive/arrive_drop noComplete release cta [OWN] b64 : b64=_ [] u32
mbarrier | arrive/arrive_drop expect_tx [SHARED] b64 : b64=_ [] u32
mbarrier | arrive/arrive_drop expect_tx release/relaxed cta/cluster [SHARED] b64 : b64=_ [] u32
mbarrier | expect_tx/complete_tx [SHARED] b64 : [] u32
mbarrier | expect_tx/complete_tx relaxed cta/cluster [SHARED] b64 : [] u32
mbarrier | test_wait [OWN] b64 : pred= [] b64
mbarrier | test_wait acquire/relaxed cta/cluster [OWN] b64 : pred= [] b64
mbarrier | test_wait parity [OWN] b64 : pred= [] u32
mbarrier | test_wait parity acquire/relaxed cta/cluster [OWN] b64 : pred= [] u32
mbarrier | try_wait [OWN] b64 : pred= [] b64 u32?
mbarrier | try_wait acquire/relaxed cta/cluster [OWN] b64 : pred= [] b64 u32?
mbarrier | try_wait parity [OWN] b64 : pred= [] u32 u32?
mbarrier | try_wait parity acquire/relaxed cta/cluster [OWN] b64 : pred= [] u32 u32?
mbarrier | pending_count b64 : u32= b64
tensormap | replace tile global_address [global/shared::cta] b1024 b64 : [] b64
tensormap | replace tile rank [global/shared::cta] b1024 b32 : [] b32
tensormap | replace tile box_dim/global_dim/element_stride [global/shared::cta] b1024 b32 : [] #0-4 b32
tensormap | replace tile global_stride [global/shared::cta] b1024 b64 : [] #0-4 b64
tensormap | replace tile elemtype/interleave_layout/swizzle_mode/fill_mode [global/shared::cta] b1024 b32 : [] #
tensormap | cp_fenceproxy global shared::cta tensormap::generic release SCOPE sync aligned : [] [] #128/128
ldmatrix | sync aligned m8n8 x1/x2/x4 [trans] [OWN] b16 : b32=* []
stmatrix | sync aligned m8n8 x1/x2/x4 [trans] [OWN] b16 : [] b32*
movmatrix | sync aligned m8n8 trans b16 : b32= b32
"""
