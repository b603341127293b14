"""Texels in memory: read by format as register bits, or as numbers that the filter blends."""

from __future__ import annotations

from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.texture.filtering import FLOAT16, FOUR, four

WORDS = "<4 x i32>"

SRGB = """
00000d00110013801500164017801860190019a01a401ae01b801c201c801ce01d501dc01e301eb01f301fb02018206020b020f8214821a0
21f0224822a82300236023d024182450248824c024f82530257025b025f02630267026b827002748279027e0281828402868289028b828e0
291029402968299829c829f82a282a602a902ac02b002b302b602ba02bd02c082c282c402c602c802ca02cc02ce02d002d202d482d682d88
2db02dd02df82e182e402e682e882eb02ed82f002f282f502f802fa02fd0300030103028304030583070308830a030b830d030e831003118
3130314831603180319831b031d031e832003220323832583270329032b032c832e83308332833403360338033a033c033e0340034103420
343034403450346834783488349834a834c034d034e034f03508351835283540355035683578359035a035b035c835e035f0360836183630
3640365836703688369836b036c836d836f0370837203738375037683780379037b037c037e037f038083810382038283838384838503860
386838783888389038a038b038b838c838d838e038f039003908391839283938394839503960397039803990399839a839b839c839d839e8
39f83a083a183a283a383a483a583a683a783a883a983aa83ab83ac83ad83ae83af83b083b183b283b403b503b603b703b803b903ba03bb0
3bd03be03bf03c00
"""
"""What a linear light an sRGB byte is: 256 f16 numbers in hexadecimal, recorded on an H200 (8 significant bits)."""

_BYTES = (1, 1, 2, 2, 4, 4, 2, 4)


def emit_texels(m: IrModule) -> None:
    """gs_texel_raw, gs_texel_bits, gs_texel_values."""
    m.preamble.append(f"@gs_srgb = private constant [256 x i16] [{_table()}]")
    _raw(m)
    _bits(m)
    _values(m)


def _table() -> str:
    words = "".join(SRGB.split())
    return ", ".join(f"i16 {int(words[i : i + 4], 16)}" for i in range(0, 1024, 4))


def _raw(m: IrModule) -> None:
    """A texel's channels as they are: integers extended to 32 bits, floats as f32 bits; missing ones are 0."""
    with m.function(WORDS, "gs_texel_raw", "object* object", "ptr place") as (b, (object_, pointer)):
        format_, channels = object_.format, object_.channels
        one_channel, two_channels = channels == 1, channels == 2
        for number, size in enumerate(_BYTES):
            with b.if_(format_ == number):
                for n, chosen in ((1, one_channel), (2, two_channels), (4, None)):
                    if chosen is None:
                        b.ret(_channels(b, pointer, number, size, n))
                        continue
                    with b.if_(chosen):
                        b.ret(_channels(b, pointer, number, size, n))
                    b.terminated = False
            b.terminated = False
        b.ret(constant(WORDS, 0))


def _channels(b: Builder, pointer: Value, number: int, size: int, n: int) -> Value:
    """`n` channels of one texel as four words."""
    type_ = f"<{n} x i{8 * size}>"
    value = b.load(type_, pointer, align=size)
    if number == FLOAT16:
        half = b.bitcast(value, f"<{n} x half>")
        value = b.bitcast(b.define(f"<{n} x float>", f"fpext {half!r} to <{n} x float>"), f"<{n} x i32>")
    elif size < 4:
        word = "sext" if number % 2 else "zext"
        value = b.define(f"<{n} x i32>", f"{word} {value!r} to <{n} x i32>")
    if n == 4:
        return value
    zeros = constant(f"<{n} x i32>", 0)
    return b.shuffle(value, [i if i < n else n for i in range(4)], zeros)


def _bits(m: IrModule) -> None:
    """A texel as a point read returns it: null is the border; integers as fractions where the texture says so."""
    with m.function(WORDS, "gs_texel_bits", "object* object", "ptr place") as (b, (object_, pointer)):
        with b.if_(pointer == NULL):
            b.ret(_border(b, object_))
        b.terminated = False
        raw = b.call(WORDS, "gs_texel_raw", object_, pointer)
        format_ = object_.format
        floats = object_.floats != 0
        is_integer = floats & (format_ < FLOAT16)
        with b.if_(~is_integer):
            b.ret(raw)
        b.terminated = False
        b.ret(_fractions(b, object_, raw, format_))


def _border(b: Builder, object_: Record) -> Value:
    """The border's bits; channels that the texels lack are 0."""
    return b.load(WORDS, object_.field("border"), align=4)


def _fractions(b: Builder, object_: Record, raw: Value, format_: Value) -> Value:
    number = b.define("<4 x float>", f"sitofp {raw!r} to <4 x float>")
    most = constant("float", 255.0)
    for index, value in ((1, 127.0), (2, 65535.0), (3, 32767.0)):
        most = b.select(format_ == index, constant("float", value), most)
    fraction = b.op("fdiv", number, b.splat(most, 4))
    fraction = b.intrinsic("maxnum", fraction, constant("<4 x float>", -1.0))
    words = b.bitcast(fraction, WORDS)
    light = b.alloca(WORDS, align=16)
    b.store(words, light)
    with b.if_(object_.srgb != 0):
        half = b.define("<4 x float>", f"fpext {_light(b, raw)!r} to <4 x float>")
        b.store(b.shuffle(b.bitcast(half, WORDS), [0, 1, 2, 7], words), light)
    return b.load(WORDS, light)


def _light(b: Builder, raw: Value) -> Value:
    """Bytes of sRGB as linear light, <4 x half>."""
    table, result = Value("@gs_srgb", "ptr"), constant("<4 x i16>", 0)
    for j in range(4):
        index = b.resize(b.extract(raw, j) & 255, "i64")
        entry = b.load("i16", b.offset(table, index << 1))
        result = b.insert(result, entry, j)
    return b.bitcast(result, "<4 x half>")


def _values(m: IrModule) -> None:
    """A texel for the filter, <4 x double>: floats with f32's subnormals as zeros; integers in 16 bits, signed bytes as
    they are; of sRGB the colours as light and alpha as an integer.
    """
    with m.function(FOUR, "gs_texel_values", "object* object", "ptr place") as (b, (object_, pointer)):
        format_ = object_.format
        raw, format_slot = b.alloca(WORDS, align=16), b.alloca("i32")
        b.store(format_, format_slot)
        with b.if_(pointer != NULL):
            b.store(b.call(WORDS, "gs_texel_raw", object_, pointer), raw)
        with b.if_(pointer == NULL):
            b.store(_border(b, object_), raw)
            with b.if_(format_ < FLOAT16):
                b.ret(_border_values(b, object_, b.load(WORDS, raw), format_))
            b.terminated = False
        words = b.load(WORDS, raw)
        with b.if_(format_ >= FLOAT16, likely=True):
            number = b.bitcast(words, "<4 x float>")
            tiny = b.compare("olt", b.intrinsic("fabs", number), constant("<4 x float>", 2.0**-126))
            number = b.select(tiny, b.intrinsic("copysign", constant("<4 x float>", 0.0), number), number)
            b.ret(b.define(FOUR, f"fpext {number!r} to {FOUR}"))
        b.terminated = False
        values = b.define(FOUR, f"sitofp {words!r} to {FOUR}")
        byte = b.splat(format_ == 0, 4)
        values = b.op("fmul", values, b.select(byte, four(257.0), four(1.0)))
        short = b.splat(format_ == 3, 4)
        values = b.select(short, b.intrinsic("maxnum", values, four(-32767.0)), values)
        result = b.alloca(FOUR, align=32)
        b.store(values, result)
        with b.if_(object_.srgb != 0):
            light = b.define(FOUR, f"fpext {_light(b, words)!r} to {FOUR}")
            b.store(b.shuffle(light, [0, 1, 2, 7], values), result)
        b.ret(b.load(FOUR, result))


def _border_values(b: Builder, object_: Record, words: Value, format_: Value) -> Value:
    """The border of normalised integers, whose bits are of the fraction, in the units of `gs_texel_values`."""
    fraction = b.define(FOUR, f"fpext {b.bitcast(words, '<4 x float>')!r} to {FOUR}")
    unit = constant("double", 65535.0)
    for index, value in ((1, 127.0), (3, 32767.0)):
        unit = b.select(format_ == index, constant("double", value), unit)
    rounded = b.intrinsic("rint", b.op("fmul", fraction, b.splat(unit, 4)))
    linear = b.splat(object_.srgb != 0, 4)
    colour = b.shuffle(fraction, [0, 1, 2, 7], rounded)
    return b.select(linear, colour, rounded)
