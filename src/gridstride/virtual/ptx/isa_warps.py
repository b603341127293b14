"""Control, barriers, what lanes do together, and matrices.

isa.py has the meaning of the columns, forms.py that of the indented lines.
"""

ROWS = """
opcode         | class   | operands | target        | writes    | result  | meaning  | order | cluster
# Control
bra            | branch  | 1        | -             | -         | uniform | used     | -     | -
brx            | branch  | 2        | -             | -         | uniform | used     | -     | -
call           | call    | 3-4      | -             | first     | varying | ends     | holds | -
ret exit trap  | leave   | 0        | -             | -         | uniform | used     | -     | -
brkpt          | other   | 0        | -             | -         | uniform | nothing  | -     | -
# Barriers and hints
bar            | barrier | forms    | -             | red       | group   | used     | holds | cluster
    [cta] sync : u32 u32?
    [cta] arrive : u32 u32
    [cta] red popc u32 : u32= u32 x x?
    [cta] red and/or pred : pred= u32 x x?
    warp sync : b32
barrier        | barrier | forms    | cluster:sm_90 | red       | group   | used     | holds | cluster
    [cta] sync [aligned] : u32 u32?
    [cta] arrive [aligned] : u32 u32
    [cta] red [aligned] popc u32 : u32= u32 x x?
    [cta] red [aligned] and/or pred : pred= u32 x x?
    cluster arrive [release/relaxed] [aligned] :
    cluster wait [acquire] [aligned] :
released       | other   | added    | -             | first     | group   | nothing  | -     | -
griddepcontrol | other   | forms    | sm_90         | -         | uniform | nothing  | -     | -
    wait/launch_dependents :
nanosleep      | other   | forms    | -             | -         | uniform | nothing  | polls | -
    u32 : u32
setmaxnreg     | other   | forms    | sm_90a        | -         | uniform | nothing  | -     | -
    inc/dec sync aligned u32 : #24-256+8
pmevent        | other   | forms    | -             | -         | uniform | nothing  | -     | -
    [mask] : #
# Between lanes
activemask     | warp    | forms    | -             | first     | varying | nothing  | -     | -
    b32 : b32=
elect          | warp    | forms    | sm_90         | first     | varying | operands | -     | -
    sync : b32=_|p b32
shfl           | warp    | forms    | -             | first     | varying | lanes    | meets | -
    sync up/down/bfly/idx b32 : T=_|p? T u32 u32 b32
    up/down/bfly/idx b32 : T=_|p? T u32 u32
vote           | warp    | forms    | -             | first     | group   | lanes    | meets | -
    sync all/any/uni pred : pred= pred b32
    sync ballot b32 : b32= pred b32
    all/any/uni pred : pred= pred
    ballot b32 : b32= pred
match          | warp    | forms    | -             | first     | varying | lanes    | meets | -
    any sync b32/b64 : b32= T b32
    all sync b32/b64 : b32=_|p? T b32
redux          | warp    | forms    | sm_80         | first     | group   | lanes    | meets | -
    sync add/min/max WORD : T= T b32
    sync LOGIC b32 : T= T b32
# Matrices
ldmatrix       | memory  | forms    | sm_75         | first     | varying | loaded   | -     | -
    sync aligned m8n8 x1/x2/x4 [trans] [OWN] b16 : b32=* []
stmatrix       | memory  | forms    | sm_90         | -         | uniform | used     | -     | -
    sync aligned m8n8 x1/x2/x4 [trans] [OWN] b16 : [] b32*
movmatrix      | move    | forms    | sm_75         | first     | varying | lanes    | -     | -
    sync aligned m8n8 trans b16 : b32= b32
mma            | tensor  | 4-12     | sp:sm_80      | first     | varying | product  | meets | -
wmma           | tensor  | 2-4      | -             | first     | varying | product  | meets | -
wgmma          | tensor  | 0-12     | sm_90a        | mma_async | varying | product  | meets | -
tcgen05        | other   | 0-12     | sm_100a       | ld        | uniform | ends     | -     | -
"""
