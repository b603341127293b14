"""Control, barriers, what lanes do together, and matrices.

isa.py has the meaning of the columns, forms.py that of the indented lines.
"""

ROWS = """
opcode         | class   | operands | target        | writes    | result  | meaning  | order | cluster | pointer
# Control
bra            | branch  | 1        | -             | -         | uniform | used     | -     | -       | -
brx            | branch  | 2        | -             | -         | uniform | used     | -     | -       | -
call           | call    | 3-4      | -             | first     | varying | ends     | holds | -       | -
ret exit trap  | leave   | 0        | -             | -         | uniform | used     | -     | -       | -
brkpt          | other   | 0        | -             | -         | uniform | nothing  | -     | -       | -
# Barriers and hints
bar            | barrier | forms    | -             | red       | group   | used     | holds | cluster | -
    [cta] sync : u32 u32?
    [cta] arrive : u32 u32
    [cta] red popc u32 : u32= u32 x x?
    [cta] red and/or pred : pred= u32 x x?
    warp sync : b32
barrier        | barrier | forms    | cluster:sm_90 | red       | group   | used     | holds | cluster | -
    [cta] sync [aligned] : u32 u32?
    [cta] arrive [aligned] : u32 u32
    [cta] red [aligned] popc u32 : u32= u32 x x?
    [cta] red [aligned] and/or pred : pred= u32 x x?
    cluster arrive [release/relaxed] [aligned] :
    cluster wait [acquire] [aligned] :
released       | other   | added    | -             | first     | group   | nothing  | -     | -       | -
griddepcontrol | other   | forms    | sm_90         | -         | uniform | nothing  | -     | -       | -
    wait/launch_dependents :
nanosleep      | other   | forms    | -             | -         | uniform | nothing  | polls | -       | -
    u32 : u32
setmaxnreg     | other   | forms    | sm_90a        | -         | uniform | nothing  | -     | -       | -
    inc/dec sync aligned u32 : #24-256+8
pmevent        | other   | forms    | -             | -         | uniform | nothing  | -     | -       | -
    [mask] : #
# Between lanes
activemask     | warp    | forms    | -             | first     | varying | nothing  | -     | -       | -
    b32 : b32=
elect          | warp    | forms    | sm_90         | first     | varying | operands | -     | -       | -
    sync : b32=_|p b32
shfl           | warp    | forms    | -             | first     | varying | lanes    | meets | -       | -
    sync up/down/bfly/idx b32 : T=_|p? T u32 u32 b32
    up/down/bfly/idx b32 : T=_|p? T u32 u32
vote           | warp    | forms    | -             | first     | group   | lanes    | meets | -       | -
    sync all/any/uni pred : pred= pred b32
    sync ballot b32 : b32= pred b32
    all/any/uni pred : pred= pred
    ballot b32 : b32= pred
match          | warp    | forms    | -             | first     | varying | lanes    | meets | -       | -
    any sync b32/b64 : b32= T b32
    all sync b32/b64 : b32=_|p? T b32
redux          | warp    | forms    | sm_80         | first     | group   | lanes    | meets | -       | -
    sync add/min/max WORD : T= T b32
    sync LOGIC b32 : T= T b32
# Matrices
ldmatrix       | memory  | forms    | sm_75         | first     | varying | loaded   | -     | -       | -
    sync aligned m8n8 x1/x2/x4 [trans] [OWN] b16 : b32=* []
stmatrix       | memory  | forms    | sm_90         | -         | uniform | used     | -     | -       | -
    sync aligned m8n8 x1/x2/x4 [trans] [OWN] b16 : [] b32*
movmatrix      | move    | forms    | sm_75         | first     | varying | lanes    | -     | -       | -
    sync aligned m8n8 trans b16 : b32= b32
mma            | tensor  | forms    | sp:sm_80      | first     | varying | product  | meets | -       | -
    sync aligned m8n8k4 row/col row/col f16 f16 f16 f16 : b32=*4 b32*2 b32*2 b32*4
    sync aligned m8n8k4 row/col row/col f32 f16 f16 f16 : f32=*8 b32*2 b32*2 b32*4
    sync aligned m8n8k4 row/col row/col f32 f16 f16 f32 : f32=*8 b32*2 b32*2 f32*8
    sync aligned m16n8k8 row col f16 f16 f16 f16 : b32=*2 b32*2 b32 b32*2
    sync aligned m16n8k8 row col f32 f16 f16 f32 : f32=*4 b32*2 b32 f32*4
    sync aligned m16n8k8 row col f32 bf16 bf16 f32 : f32=*4 b32*2 b32 f32*4
    sync aligned m16n8k16 row col f16 f16 f16 f16 : b32=*2 b32*4 b32*2 b32*2
    sync aligned m16n8k16 row col f32 f16 f16 f32 : f32=*4 b32*4 b32*2 f32*4
    sync aligned m16n8k16 row col f32 bf16 bf16 f32 : f32=*4 b32*4 b32*2 f32*4
    sync aligned m16n8k4 row col f32 tf32 tf32 f32 : f32=*4 b32*2 b32 f32*4
    sync aligned m16n8k8 row col f32 tf32 tf32 f32 : f32=*4 b32*4 b32*2 f32*4
    sync aligned m16n8k16 row col f32 FP8 FP8 f32 : f32=*4 b32*2 b32 f32*4
    sync aligned m16n8k16 row col f16 FP8 FP8 f16 : b32=*2 b32*2 b32 b32*2
    sync aligned m16n8k32 row col f32 FP8 FP8 f32 : f32=*4 b32*4 b32*2 f32*4
    sync aligned m16n8k32 row col f16 FP8 FP8 f16 : b32=*2 b32*4 b32*2 b32*2
    sync aligned m8n8k16 row col [satfinite] s32 s8/u8 s8/u8 s32 : s32=*2 b32 b32 s32*2
    sync aligned m16n8k16 row col [satfinite] s32 s8/u8 s8/u8 s32 : s32=*4 b32*2 b32 s32*4
    sync aligned m16n8k32 row col [satfinite] s32 s8/u8 s8/u8 s32 : s32=*4 b32*4 b32*2 s32*4
    sync aligned m8n8k32 row col [satfinite] s32 s4/u4 s4/u4 s32 : s32=*2 b32 b32 s32*2
    sync aligned m16n8k32 row col [satfinite] s32 s4/u4 s4/u4 s32 : s32=*4 b32*2 b32 s32*4
    sync aligned m16n8k64 row col [satfinite] s32 s4/u4 s4/u4 s32 : s32=*4 b32*4 b32*2 s32*4
    sync aligned m8n8k128 row col s32 b1 b1 s32 xor/and popc : s32=*2 b32 b32 s32*2
    sync aligned m16n8k128 row col s32 b1 b1 s32 xor/and popc : s32=*4 b32*2 b32 s32*4
    sync aligned m16n8k256 row col s32 b1 b1 s32 xor/and popc : s32=*4 b32*4 b32*2 s32*4
    sync aligned m8n8k4 row col [ROUND] f64 f64 f64 f64 : f64=*2 f64 f64 f64*2
    sync aligned m16n8k4 row col [ROUND] f64 f64 f64 f64 : f64=*4 f64*2 f64 f64*4
    sync aligned m16n8k8 row col [ROUND] f64 f64 f64 f64 : f64=*4 f64*4 f64*2 f64*4
    sync aligned m16n8k16 row col [ROUND] f64 f64 f64 f64 : f64=*4 f64*8 f64*4 f64*4
    SPARSE sync aligned m16n8k16 row col f16 f16 f16 f16 : b32=*2 b32*2 b32*2 b32*2 b32 #0-3
    SPARSE sync aligned m16n8k16 row col f32 f16 f16 f32 : f32=*4 b32*2 b32*2 f32*4 b32 #0-3
    SPARSE sync aligned m16n8k16 row col f32 bf16 bf16 f32 : f32=*4 b32*2 b32*2 f32*4 b32 #0-3
    SPARSE sync aligned m16n8k32 row col f16 f16 f16 f16 : b32=*2 b32*4 b32*4 b32*2 b32 #0-1
    SPARSE sync aligned m16n8k32 row col f32 f16 f16 f32 : f32=*4 b32*4 b32*4 f32*4 b32 #0-1
    SPARSE sync aligned m16n8k32 row col f32 bf16 bf16 f32 : f32=*4 b32*4 b32*4 f32*4 b32 #0-1
    SPARSE sync aligned m16n8k8 row col f32 tf32 tf32 f32 : f32=*4 b32*2 b32*2 f32*4 b32 #0-3
    SPARSE sync aligned m16n8k16 row col f32 tf32 tf32 f32 : f32=*4 b32*4 b32*4 f32*4 b32 #0-1
    SPARSE sync aligned m16n8k64 row col f32 FP8 FP8 f32 : f32=*4 b32*4 b32*4 f32*4 b32 #0
    SPARSE sync aligned m16n8k32 row col [satfinite] s32 s8/u8 s8/u8 s32 : s32=*4 b32*2 b32*2 s32*4 b32 #0-1
    SPARSE sync aligned m16n8k64 row col [satfinite] s32 s8/u8 s8/u8 s32 : s32=*4 b32*4 b32*4 s32*4 b32 #0
    SPARSE sync aligned m16n8k64 row col [satfinite] s32 s4/u4 s4/u4 s32 : s32=*4 b32*2 b32*2 s32*4 b32 #0-1
    SPARSE sync aligned m16n8k128 row col [satfinite] s32 s4/u4 s4/u4 s32 : s32=*4 b32*4 b32*4 s32*4 b32 #0
wmma           | tensor  | forms    | -             | first     | varying | product  | meets | -       | -
    load a/b sync [aligned] row/col TILE16 [global/OWN] f16 : b32=*8 [] u32?
    load a/b sync [aligned] row/col m16n16k16 [global/OWN] bf16 : b32=*4 [] u32?
    load a sync [aligned] row/col m32n8k16 [global/OWN] bf16 : b32=*8 [] u32?
    load b sync [aligned] row/col m32n8k16 [global/OWN] bf16 : b32=*2 [] u32?
    load a sync [aligned] row/col m8n32k16 [global/OWN] bf16 : b32=*2 [] u32?
    load b sync [aligned] row/col m8n32k16 [global/OWN] bf16 : b32=*8 [] u32?
    load a/b sync [aligned] row/col m16n16k16 [global/OWN] s8/u8 : b32=*2 [] u32?
    load a sync [aligned] row/col m32n8k16 [global/OWN] s8/u8 : b32=*4 [] u32?
    load b sync [aligned] row/col m32n8k16 [global/OWN] s8/u8 : b32= [] u32?
    load a sync [aligned] row/col m8n32k16 [global/OWN] s8/u8 : b32= [] u32?
    load b sync [aligned] row/col m8n32k16 [global/OWN] s8/u8 : b32=*4 [] u32?
    load a/b sync [aligned] row/col m16n16k8 [global/OWN] tf32 : b32=*4 [] u32?
    load a/b sync [aligned] row/col m8n8k4 [global/OWN] f64 : f64= [] u32?
    load a/b sync [aligned] row/col m8n8k32 [global/OWN] s4/u4 : b32= [] u32?
    load a/b sync [aligned] row/col m8n8k128 [global/OWN] b1 : b32= [] u32?
    load c sync [aligned] row/col TILE16 [global/OWN] f16 : b32=*4 [] u32?
    load c sync [aligned] row/col TILE16/m16n16k8 [global/OWN] f32 : f32=*8 [] u32?
    load c sync [aligned] row/col TILE16 [global/OWN] s32 : s32=*8 [] u32?
    load c sync [aligned] row/col m8n8k32/m8n8k128 [global/OWN] s32 : s32=*2 [] u32?
    load c sync [aligned] row/col m8n8k4 [global/OWN] f64 : f64=*2 [] u32?
    store d sync [aligned] row/col TILE16 [global/OWN] f16 : [] b32*4 u32?
    store d sync [aligned] row/col TILE16/m16n16k8 [global/OWN] f32 : [] f32*8 u32?
    store d sync [aligned] row/col TILE16 [global/OWN] s32 : [] s32*8 u32?
    store d sync [aligned] row/col m8n8k32/m8n8k128 [global/OWN] s32 : [] s32*2 u32?
    store d sync [aligned] row/col m8n8k4 [global/OWN] f64 : [] f64*2 u32?
    mma sync [aligned] row/col row/col TILE16 f16 f16 : b32=*4 b32*8 b32*8 b32*4
    mma sync [aligned] row/col row/col TILE16 f16 f32 : b32=*4 b32*8 b32*8 f32*8
    mma sync [aligned] row/col row/col TILE16 f32 f16 : f32=*8 b32*8 b32*8 b32*4
    mma sync [aligned] row/col row/col TILE16 f32 f32 : f32=*8 b32*8 b32*8 f32*8
    mma sync [aligned] row/col row/col m16n16k16 f32 bf16 bf16 f32 : f32=*8 b32*4 b32*4 f32*8
    mma sync [aligned] row/col row/col m32n8k16 f32 bf16 bf16 f32 : f32=*8 b32*8 b32*2 f32*8
    mma sync [aligned] row/col row/col m8n32k16 f32 bf16 bf16 f32 : f32=*8 b32*2 b32*8 f32*8
    mma sync [aligned] row/col row/col m16n16k8 f32 tf32 tf32 f32 : f32=*8 b32*4 b32*4 f32*8
    mma sync [aligned] row/col row/col m8n8k4 [ROUND] f64 f64 f64 f64 : f64=*2 f64 f64 f64*2
    mma sync [aligned] row/col row/col m16n16k16 [satfinite] s32 s8/u8 s8/u8 s32 : s32=*8 b32*2 b32*2 s32*8
    mma sync [aligned] row/col row/col m32n8k16 [satfinite] s32 s8/u8 s8/u8 s32 : s32=*8 b32*4 b32 s32*8
    mma sync [aligned] row/col row/col m8n32k16 [satfinite] s32 s8/u8 s8/u8 s32 : s32=*8 b32 b32*4 s32*8
    mma sync [aligned] row/col row/col m8n8k32 [satfinite] s32 s4/u4 s4/u4 s32 : s32=*2 b32 b32 s32*2
    mma xor/and popc sync [aligned] row/col row/col m8n8k128 s32 b1 b1 s32 : s32=*2 b32 b32 s32*2
wgmma          | tensor  | forms    | sm_90a        | mma_async | varying | product  | meets | -       | -
    fence/commit_group sync aligned :
    wait_group sync aligned : #0-7
    mma_async sync aligned N8xK16 f16 f16 f16 : b32=*n/4 b64 b64 pred #-1/1 #-1/1 #0-1 #0-1
    mma_async sync aligned N8xK16 f16 f16 f16 : b32=*n/4 b32*4 b64 pred #-1/1 #-1/1 #0-1
    mma_async sync aligned N8xK16 f32 f16 f16 : f32=*n/2 b64 b64 pred #-1/1 #-1/1 #0-1 #0-1
    mma_async sync aligned N8xK16 f32 f16 f16 : f32=*n/2 b32*4 b64 pred #-1/1 #-1/1 #0-1
    mma_async sync aligned N8xK16 f32 bf16 bf16 : f32=*n/2 b64 b64 pred #-1/1 #-1/1 #0-1 #0-1
    mma_async sync aligned N8xK16 f32 bf16 bf16 : f32=*n/2 b32*4 b64 pred #-1/1 #-1/1 #0-1
    mma_async sync aligned N8xK8 f32 tf32 tf32 : f32=*n/2 b64 b64 pred #-1/1 #-1/1
    mma_async sync aligned N8xK8 f32 tf32 tf32 : f32=*n/2 b32*4 b64 pred #-1/1 #-1/1
    mma_async sync aligned N8xK32 f16 FP8 FP8 : b32=*n/4 b64 b64 pred #-1/1 #-1/1
    mma_async sync aligned N8xK32 f16 FP8 FP8 : b32=*n/4 b32*4 b64 pred #-1/1 #-1/1
    mma_async sync aligned N8xK32 f32 FP8 FP8 : f32=*n/2 b64 b64 pred #-1/1 #-1/1
    mma_async sync aligned N8xK32 f32 FP8 FP8 : f32=*n/2 b32*4 b64 pred #-1/1 #-1/1
    mma_async sync aligned N16xK32 [satfinite] s32 s8/u8 s8/u8 : s32=*n/2 b64 b64 pred
    mma_async sync aligned N16xK32 [satfinite] s32 s8/u8 s8/u8 : s32=*n/2 b32*4 b64 pred
    mma_async sync aligned N16xK256 s32 b1 b1 and popc : s32=*n/2 b64 b64 pred
    mma_async sync aligned N16xK256 s32 b1 b1 and popc : s32=*n/2 b32*4 b64 pred
    mma_async sp sync aligned N8xK32 f16 f16 f16 : b32=*n/4 b64 b64 b32 #0-1 pred #-1/1 #-1/1 #0-1 #0-1
    mma_async sp sync aligned N8xK32 f16 f16 f16 : b32=*n/4 b32*4 b64 b32 #0-1 pred #-1/1 #-1/1 #0-1
    mma_async sp sync aligned N8xK32 f32 f16 f16 : f32=*n/2 b64 b64 b32 #0-1 pred #-1/1 #-1/1 #0-1 #0-1
    mma_async sp sync aligned N8xK32 f32 f16 f16 : f32=*n/2 b32*4 b64 b32 #0-1 pred #-1/1 #-1/1 #0-1
    mma_async sp sync aligned N8xK32 f32 bf16 bf16 : f32=*n/2 b64 b64 b32 #0-1 pred #-1/1 #-1/1 #0-1 #0-1
    mma_async sp sync aligned N8xK32 f32 bf16 bf16 : f32=*n/2 b32*4 b64 b32 #0-1 pred #-1/1 #-1/1 #0-1
    mma_async sp sync aligned N8xK16 f32 tf32 tf32 : f32=*n/2 b64 b64 b32 #0-1 pred #-1/1 #-1/1
    mma_async sp sync aligned N8xK16 f32 tf32 tf32 : f32=*n/2 b32*4 b64 b32 #0-1 pred #-1/1 #-1/1
    mma_async sp sync aligned N8xK64 f16 FP8 FP8 : b32=*n/4 b64 b64 b32 #0 pred #-1/1 #-1/1
    mma_async sp sync aligned N8xK64 f16 FP8 FP8 : b32=*n/4 b32*4 b64 b32 #0 pred #-1/1 #-1/1
    mma_async sp sync aligned N8xK64 f32 FP8 FP8 : f32=*n/2 b64 b64 b32 #0 pred #-1/1 #-1/1
    mma_async sp sync aligned N8xK64 f32 FP8 FP8 : f32=*n/2 b32*4 b64 b32 #0 pred #-1/1 #-1/1
    mma_async sp sync aligned N16xK64 [satfinite] s32 s8/u8 s8/u8 : s32=*n/2 b64 b64 b32 #0 pred
    mma_async sp sync aligned N16xK64 [satfinite] s32 s8/u8 s8/u8 : s32=*n/2 b32*4 b64 b32 #0 pred
tcgen05        | other   | 0-12     | sm_100a       | ld        | uniform | ends     | -     | -       | -
"""
