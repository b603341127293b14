"""Memory, addresses, atomics, fences, asynchronous copies, textures and surfaces.

isa.py has the meaning of the columns, forms.py that of the indented lines.
"""

ROWS = """
opcode        | class      | operands | target      | writes | result        | meaning  | order | cluster | pointer
# Addresses
cvta | move | forms | - | first | affine varying:local | operands | - | shared::cluster | 1
    global/const/local/param/param::entry/SHARED u32/u64 : T= m
    to global/const/local/param/param::entry/SHARED u32/u64 : T= T
isspacep      | arithmetic | forms    | -           | first  | uniform       | operands | -     | shared::cluster | -
    global/const/local/param/param::entry/SHARED : pred= x
istypep       | arithmetic | 2        | -           | first  | uniform       | operands | -     | -       | -
mapa          | arithmetic | forms    | sm_90       | first  | uniform       | operands | -     | always  | -
    [shared::cluster] u32/u64 : T= x u32
getctarank    | arithmetic | forms    | sm_90       | first  | uniform       | operands | -     | always  | -
    [shared::cluster] u32/u64 : u32= T
# Loads and stores
ld            | memory     | forms    | -           | first  | varying:local | loaded   | -     | shared::cluster | -
    [weak] [ANY] [ca/cg/cs/lu/cv] [PREFETCH] [HINT] MEMORY/b128 : T=+ [] u64?
    [weak] [ANY] [EVICT] [PREFETCH] [HINT] MEMORY/b128 : T=+ [] u64?
    volatile [SEEN] [PREFETCH] MEMORY/b128 : T=+ []
    relaxed/acquire SCOPE [VISIBLE] [EVICT] [PREFETCH] [HINT] MEMORY/b128 : T=+ [] u64?
    mmio relaxed sys [global] MEMORY : T=+ []
    global [ca/cg/cs] nc [PREFETCH] [HINT] MEMORY/b128 : T=+ [] u64?
    [weak] global nc [EVICT] [PREFETCH] [HINT] MEMORY/b128 : T=+ [] u64?
    [weak] [ANY] [ca/cg/cs/lu/cv] [EVICT] [PREFETCH] [HINT] v2 MEMORY : T=+* [] u64?
    [weak] [ANY] [ca/cg/cs/lu/cv] [EVICT] [PREFETCH] [HINT] v4 SHORT : T=+* [] u64?
    volatile [SEEN] [PREFETCH] v2 MEMORY : T=+* []
    volatile [SEEN] [PREFETCH] v4 SHORT : T=+* []
    relaxed/acquire SCOPE [VISIBLE] [EVICT] [PREFETCH] [HINT] v2 MEMORY : T=+* [] u64?
    relaxed/acquire SCOPE [VISIBLE] [EVICT] [PREFETCH] [HINT] v4 SHORT : T=+* [] u64?
    [weak] global nc [EVICT] [PREFETCH] [HINT] v2 MEMORY : T=+* [] u64?
    [weak] global nc [EVICT] [PREFETCH] [HINT] v4 SHORT : T=+* [] u64?
ldu           | memory     | forms    | -           | first  | varying:local | loaded   | -     | shared::cluster | -
    [global] MEMORY/b128 : T=+ []
    [global] v2 MEMORY : T=+* []
    [global] v4 SHORT : T=+* []
st            | memory     | forms    | async:sm_90 | -      | uniform       | used     | -     | shared::cluster | -
    [weak] [WRITABLE] [wb/cg/cs/wt] [EVICT] [HINT] MEMORY/b128 : [] T+ u64?
    volatile [SEEN] MEMORY/b128 : [] T+
    relaxed/release SCOPE [VISIBLE] [EVICT] [HINT] MEMORY/b128 : [] T+ u64?
    mmio relaxed sys [global] MEMORY : [] T+
    [weak] [WRITABLE] [wb/cg/cs/wt] [EVICT] [HINT] v2 MEMORY : [] T+* u64?
    [weak] [WRITABLE] [wb/cg/cs/wt] [EVICT] [HINT] v4 SHORT : [] T+* u64?
    volatile [SEEN] v2 MEMORY : [] T+*
    volatile [SEEN] v4 SHORT : [] T+*
    relaxed/release SCOPE [VISIBLE] [EVICT] [HINT] v2 MEMORY : [] T+* u64?
    relaxed/release SCOPE [VISIBLE] [EVICT] [HINT] v4 SHORT : [] T+* u64?
    async [weak] [mbarrier::complete_tx::bytes] [shared::cluster] b32/b64/u32/u64/s32/s64/f32/f64 : [] T []
    async [weak] [mbarrier::complete_tx::bytes] [shared::cluster] v2 b32/b64/u32/u64/s32/s64/f32/f64 : [] T* []
    async [weak] [mbarrier::complete_tx::bytes] [shared::cluster] v4 b32/u32/s32/f32 : [] T* []
multimem      | other      | 2-5      | sm_90       | first  | uniform       | ends     | -     | -       | -
# Caches
prefetch      | memory     | forms    | -           | -      | uniform       | nothing  | -     | -       | -
    [global/local] L1/L2 : []
    [global] L2::evict_last/L2::evict_normal : []
    [const/param] tensormap : []
prefetchu     | memory     | forms    | -           | -      | uniform       | nothing  | -     | -       | -
    L1 : []
applypriority | other      | forms    | -           | -      | uniform       | nothing  | -     | -       | -
    [global] L2::evict_normal : [] #128
discard       | other      | forms    | -           | -      | uniform       | nothing  | -     | -       | -
    [global] L2 : [] #128
createpolicy  | other      | forms    | sm_80       | first  | uniform       | operands | -     | -       | -
    fractional KEEP [L2::evict_unchanged] b64 : b64= x?
    fractional KEEP L2::evict_first b64 : b64= x?
    range [global] KEEP [L2::evict_unchanged] b64 : b64= [] u32 u32
    range [global] KEEP L2::evict_first b64 : b64= [] u32 u32
    cvt L2 b64 : b64= b64
# Atomics and fences
atom | memory | forms | - | first | varying | loaded | meets polls | shared::cluster | -
    [SEM] [SCOPE] [VISIBLE] add u32/s32/u64/f32/f64 [HINT] : T=_ [] T u64?
    [SEM] [SCOPE] [VISIBLE] add/min/max [noftz] HALVES [HINT] : T=_ [] T u64?
    [SEM] [SCOPE] [VISIBLE] min/max WIDE [HINT] : T=_ [] T u64?
    [SEM] [SCOPE] [VISIBLE] inc/dec u32 [HINT] : T=_ [] T u64?
    [SEM] [SCOPE] [VISIBLE] LOGIC b32/b64 [HINT] : T=_ [] T u64?
    [SEM] [SCOPE] [VISIBLE] exch b32/b64/b128 [HINT] : T=_ [] T u64?
    [SEM] [SCOPE] [VISIBLE] cas b16/b32/b64/b128 [HINT] : T=_ [] T T u64?
    [SEM] [SCOPE] [global] v2/v4 add f32 [HINT] : T=_* [] T* u64?
    [SEM] [SCOPE] [global] v2/v4/v8 add/min/max noftz f16/bf16 [HINT] : T=_* [] T* u64?
    [SEM] [SCOPE] [global] v2/v4 add/min/max noftz f16x2/bf16x2 [HINT] : T=_* [] T* u64?
red           | memory     | forms    | async:sm_90 | -      | uniform       | used     | meets | shared::cluster | -
    [relaxed/release] [SCOPE] [VISIBLE] add u32/s32/u64/f32/f64 [HINT] : [] T u64?
    [relaxed/release] [SCOPE] [VISIBLE] add/min/max [noftz] HALVES [HINT] : [] T u64?
    [relaxed/release] [SCOPE] [VISIBLE] min/max WIDE [HINT] : [] T u64?
    [relaxed/release] [SCOPE] [VISIBLE] inc/dec u32 [HINT] : [] T u64?
    [relaxed/release] [SCOPE] [VISIBLE] LOGIC b32/b64 [HINT] : [] T u64?
    [relaxed/release] [SCOPE] [global] v2/v4 add f32 [HINT] : [] T* u64?
    [relaxed/release] [SCOPE] [global] v2/v4/v8 add/min/max noftz f16/bf16 [HINT] : [] T* u64?
    [relaxed/release] [SCOPE] [global] v2/v4 add/min/max noftz f16x2/bf16x2 [HINT] : [] T* u64?
    async [relaxed] [cluster] mbarrier::complete_tx::bytes [shared::cluster] inc/dec u32 : [] T []
    async [relaxed] [cluster] mbarrier::complete_tx::bytes [shared::cluster] min/max WORD : [] T []
    async [relaxed] [cluster] mbarrier::complete_tx::bytes [shared::cluster] add u32/s32/u64 : [] T []
    async [relaxed] [cluster] mbarrier::complete_tx::bytes [shared::cluster] LOGIC b32 : [] T []
membar        | other      | forms    | -           | -      | uniform       | nothing  | polls | -       | -
    cta/gl/sys :
    proxy alias :
fence         | other      | forms    | -           | -      | uniform       | nothing  | polls | -       | -
    [sc/acq_rel/acquire/release] SCOPE :
    proxy alias/async/async.global/async.shared::cta/async.shared::cluster :
    proxy async global/shared::cta/shared::cluster :
    proxy tensormap::generic release SCOPE :
    proxy tensormap::generic acquire SCOPE : [] #128
    [proxy] [async::generic] acquire sync_restrict::shared::cluster cluster :
    [proxy] [async::generic] release sync_restrict::shared::cta cluster :
    mbarrier_init release cluster :
# Asynchronous copies
cp            | memory     | forms    | bulk:sm_90 sm_80 | -      | uniform       | used     | -     | -       | -
    async ca OWN global [PREFETCH] [HINT] : [] [] #4/8/16 x? x?
    async cg OWN global [PREFETCH] [HINT] : [] [] #16 x? x?
    async commit_group/wait_all :
    async wait_group : #
    async mbarrier arrive [noinc] [OWN] b64 : []
    async bulk commit_group :
    async bulk wait_group [read] : #
    async bulk shared::cluster/shared::cta global COUNTED [HINT] : [] [] u32 [] u64?
    async bulk shared::cluster global COUNTED multicast::cluster [HINT] : [] [] u32 [] u16 u64?
    async bulk shared::cluster shared::cta COUNTED : [] [] u32 []
    async bulk global shared::cta bulk_group [HINT] : [] [] u32 u64?
    async bulk prefetch L2 global [HINT] : [] u32 u64?
    reduce async bulk shared::cluster shared::cta COUNTED add u32/s32/u64 : [] [] u32 []
    reduce async bulk shared::cluster shared::cta COUNTED min/max WORD : [] [] u32 []
    reduce async bulk shared::cluster shared::cta COUNTED LOGIC b32 : [] [] u32 []
    reduce async bulk shared::cluster shared::cta COUNTED inc/dec u32 : [] [] u32 []
    reduce async bulk global shared::cta bulk_group [HINT] add u32/s32/u64/f32/f64 : [] [] u32 u64?
    reduce async bulk global shared::cta bulk_group [HINT] add noftz f16/bf16 : [] [] u32 u64?
    reduce async bulk global shared::cta bulk_group [HINT] min/max WIDE/f16/bf16 : [] [] u32 u64?
    reduce async bulk global shared::cta bulk_group [HINT] LOGIC b32/b64 : [] [] u32 u64?
    reduce async bulk global shared::cta bulk_group [HINT] inc/dec u32 : [] [] u32 u64?
    async bulk tensor RANK shared::cluster/shared::cta global [tile] COUNTED [HINT] : [] [t] [] u64?
    async bulk tensor RANK shared::cluster global [tile] COUNTED multicast::cluster [HINT] : [] [t] [] u16 u64?
    async bulk tensor IMAGE shared::cluster/shared::cta global im2col COUNTED [HINT] : [] [t] [] b16*d-2 u64?
    async bulk tensor IMAGE shared::cluster global im2col COUNTED multicast::cluster [HINT] : [] [t] [] b16*d-2 u16 u64?
    async bulk tensor RANK global shared::cta [tile] bulk_group [HINT] : [t] [] u64?
    async bulk tensor IMAGE global shared::cta im2col_no_offs bulk_group [HINT] : [t] [] u64?
    async bulk prefetch tensor RANK L2 global [tile] [HINT] : [t] u64?
    async bulk prefetch tensor IMAGE L2 global im2col [HINT] : [t] b16*d-2 u64?
    reduce async bulk tensor RANK global shared::cta REDUCTION [tile] bulk_group [HINT] : [t] [] u64?
    reduce async bulk tensor IMAGE global shared::cta REDUCTION im2col_no_offs bulk_group [HINT] : [t] [] u64?
mbarrier | other | forms | sm_80 | first | varying:arrive,arrive_drop | used | meets polls | shared::cluster | -
    init [OWN] b64 : [] u32
    inval [OWN] b64 : []
    arrive/arrive_drop [SHARED] b64 : b64=_ [] u32?
    arrive/arrive_drop release/relaxed cta/cluster [SHARED] b64 : b64=_ [] u32?
    arrive/arrive_drop noComplete [OWN] b64 : b64=_ [] u32
    arrive/arrive_drop noComplete release cta [OWN] b64 : b64=_ [] u32
    arrive/arrive_drop expect_tx [SHARED] b64 : b64=_ [] u32
    arrive/arrive_drop expect_tx release/relaxed cta/cluster [SHARED] b64 : b64=_ [] u32
    expect_tx/complete_tx [SHARED] b64 : [] u32
    expect_tx/complete_tx relaxed cta/cluster [SHARED] b64 : [] u32
    test_wait [OWN] b64 : pred= [] b64
    test_wait acquire/relaxed cta/cluster [OWN] b64 : pred= [] b64
    test_wait parity [OWN] b64 : pred= [] u32
    test_wait parity acquire/relaxed cta/cluster [OWN] b64 : pred= [] u32
    try_wait [OWN] b64 : pred= [] b64 u32?
    try_wait acquire/relaxed cta/cluster [OWN] b64 : pred= [] b64 u32?
    try_wait parity [OWN] b64 : pred= [] u32 u32?
    try_wait parity acquire/relaxed cta/cluster [OWN] b64 : pred= [] u32 u32?
    pending_count b64 : u32= b64
tensormap     | other      | forms    | sm_90a      | -      | uniform       | used     | -     | -       | -
    replace tile global_address [global/shared::cta] b1024 b64 : [] b64
    replace tile rank [global/shared::cta] b1024 b32 : [] b32
    replace tile box_dim/global_dim/element_stride [global/shared::cta] b1024 b32 : [] #0-4 b32
    replace tile global_stride [global/shared::cta] b1024 b64 : [] #0-3 b64
    replace tile elemtype [global/shared::cta] b1024 b32 : [] #0-12
    replace tile interleave_layout [global/shared::cta] b1024 b32 : [] #0-2
    replace tile swizzle_mode [global/shared::cta] b1024 b32 : [] #0-3
    replace tile fill_mode [global/shared::cta] b1024 b32 : [] #0-1
    cp_fenceproxy global shared::cta tensormap::generic release SCOPE sync aligned : [] [] #128
clusterlaunchcontrol | other      | 2        | sm_100      | first  | uniform       | used     | -     | -       | -
# Textures and surfaces
tex           | texture    | forms    | -           | first  | varying       | operands | -     | -       | -
    [base] TEXTURE v4 TEXEL s32/f32 : T1=*|p? [o] x? x?
    [base] TEXTURE v2 f16x2 s32/f32 : T1=*|p? [o] x? x?
    [base] 2dms/a2dms v4 TEXEL s32 : T1=*|p? [o] x? x?
    level TEXTURE v4 TEXEL s32/f32 : T1=*|p? [o] T x? x?
    level TEXTURE v2 f16x2 s32/f32 : T1=*|p? [o] T x? x?
    grad 1d/a1d v4 TEXEL f32 : T1=*|p? [o] f32 f32 x? x?
    grad 1d/a1d v2 f16x2 f32 : T1=*|p? [o] f32 f32 x? x?
    grad 2d/a2d v4 TEXEL f32 : T1=*|p? [o] f32*2 f32*2 x? x?
    grad 2d/a2d v2 f16x2 f32 : T1=*|p? [o] f32*2 f32*2 x? x?
    grad 3d/cube/acube v4 TEXEL f32 : T1=*|p? [o] f32*4 f32*4 x? x?
    grad 3d/cube/acube v2 f16x2 f32 : T1=*|p? [o] f32*4 f32*4 x? x?
tld4          | texture    | forms    | -           | first  | varying       | operands | -     | -       | -
    r/g/b/a 2d/a2d/cube/acube v4 TEXEL f32 : T1=*|p? [o] x? x?
    r/g/b/a 2d/a2d/cube/acube v2 f16x2 f32 : T1=*|p? [o] x? x?
txq           | query      | forms    | -           | first  | varying       | operands | -     | -       | -
    width/height/depth b32 : b32= [h]
    level width/height/depth b32 : b32= [h] u32
    channel_data_type/channel_order/normalized_coords/array_size/num_mipmap_levels/num_samples b32 : b32= [h]
    force_unnormalized_coords/filter_mode/addr_mode_0/addr_mode_1/addr_mode_2 b32 : b32= [h]
suld          | texture    | forms    | -           | first  | varying       | operands | -     | -       | -
    b SURFACE b8/b16/b32/b64 trap/clamp/zero : T=+ [o]
    b SURFACE v2 b8/b16/b32/b64 trap/clamp/zero : T=+* [o]
    b SURFACE v4 b8/b16/b32 trap/clamp/zero : T=+* [o]
sust          | texture    | forms    | -           | -      | uniform       | used     | -     | -       | -
    b SURFACE b8/b16/b32/b64 trap/clamp/zero : [o] T+
    b SURFACE v2 b8/b16/b32/b64 trap/clamp/zero : [o] T+*
    b SURFACE v4 b8/b16/b32 trap/clamp/zero : [o] T+*
    p SURFACE b32 trap/clamp/zero : [o] T
    p SURFACE v2/v4 b32 trap/clamp/zero : [o] T*
sured         | texture    | forms    | -           | -      | uniform       | used     | -     | -       | -
    b add 1d/2d/3d u32/s32/u64 trap/clamp/zero : [o] T
    b min/max 1d/2d/3d WIDE trap/clamp/zero : [o] T
    b and/or 1d/2d/3d b32 trap/clamp/zero : [o] T
    p add/min/max/and/or 1d/2d/3d b32/b64 trap/clamp/zero : [o] T
suq           | query      | forms    | -           | first  | varying       | operands | -     | -       | -
    width/height/depth/channel_data_type/channel_order/array_size/memory_layout b32 : b32= [h]
# The stack
alloca stacksave | other      | forms    | -           | first  | varying       | ends     | -     | -       | -
    u32/u64 : x x? x?
stackrestore  | other      | forms    | -           | -      | uniform       | ends     | -     | -       | -
    u32/u64 : x x? x?
"""
