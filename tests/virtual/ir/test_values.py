"""Values: operators of unsigned integers, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gridstride.virtual.ir.builder import NULL, Builder, Value, constant

Binary = Callable[[Value, Value], Value]
UNSIGNED: dict[str, Binary] = {
    "add i32": lambda x, y: x + y,
    "sub i32": lambda x, y: x - y,
    "mul i32": lambda x, y: x * y,
    "udiv i32": lambda x, y: x // y,
    "urem i32": lambda x, y: x % y,
    "and i32": lambda x, y: x & y,
    "or i32": lambda x, y: x | y,
    "xor i32": lambda x, y: x ^ y,
    "shl i32": lambda x, y: x << y,
    "lshr i32": lambda x, y: x >> y,
    "icmp eq i32": lambda x, y: x == y,
    "icmp ne i32": lambda x, y: x != y,
    "icmp ult i32": lambda x, y: x < y,
    "icmp ule i32": lambda x, y: x <= y,
    "icmp ugt i32": lambda x, y: x > y,
    "icmp uge i32": lambda x, y: x >= y,
}


def value(b: Builder, type_: str, name: str = "%x") -> Value:
    return Value(name, type_, b)


@pytest.mark.parametrize("instruction", UNSIGNED)
def test_an_operator_writes_one_instruction_for_unsigned_integers(instruction: str) -> None:
    b = Builder()
    result = UNSIGNED[instruction](value(b, "i32"), value(b, "i32", "%y"))
    assert b.lines == [f"  {result.name} = {instruction} %x, %y"]


def test_a_comparison_gives_a_truth_value_for_each_lane() -> None:
    b = Builder()
    assert (value(b, "<32 x i32>") < value(b, "<32 x i32>", "%y")).type == "<32 x i1>"


def test_an_integer_is_a_constant_of_the_other_operands_type() -> None:
    b = Builder()
    _ = value(b, "<32 x i8>") & 255
    assert b.lines == ["  %v1 = and <32 x i8> %x, splat (i8 -1)"]


@pytest.mark.parametrize(
    ("write", "instruction"),
    [
        (lambda x: 3 + x, "add i64 3, %x"),
        (lambda x: 3 - x, "sub i64 3, %x"),
        (lambda x: 3 * x, "mul i64 3, %x"),
        (lambda x: 1 << x, "shl i64 1, %x"),
    ],
)
def test_an_integer_on_the_left_stays_there(write: Callable[[Value], Value], instruction: str) -> None:
    b = Builder()
    write(value(b, "i64"))
    assert b.lines == [f"  %v1 = {instruction}"]


def test_inverting_turns_every_bit() -> None:
    b = Builder()
    _ = ~value(b, "i32")
    assert b.lines == ["  %v1 = xor i32 %x, -1"]


def test_a_constant_on_the_left_takes_the_other_operands_builder() -> None:
    b = Builder()
    _ = constant("i32", 7) | value(b, "i32")
    assert b.lines == ["  %v1 = or i32 7, %x"]


def test_two_constants_are_refused() -> None:
    with pytest.raises(TypeError, match=r"add of the constants i32 1 and i32 2: compute with Python's integers"):
        _ = constant("i32", 1) + constant("i32", 2)


def test_a_builders_own_constant_has_operators() -> None:
    b = Builder()
    _ = b.constant("i32", 1) + constant("i32", 2)
    assert b.lines == ["  %v1 = add i32 1, 2"]


def test_operands_of_two_types_are_refused() -> None:
    b = Builder()
    with pytest.raises(TypeError, match=r"add of i32 %x and i64 %y: types differ, use b\.resize or b\.splat"):
        _ = value(b, "i32") + value(b, "i64", "%y")


@pytest.mark.parametrize("type_", ["float", "double", "<32 x float>"])
def test_floats_have_no_operators(type_: str) -> None:
    b = Builder()
    with pytest.raises(TypeError, match=r"operators are for integers, use b\.op"):
        _ = value(b, type_) * value(b, type_, "%y")


def test_floats_are_not_compared_by_operators() -> None:
    b = Builder()
    with pytest.raises(TypeError, match=r"operators are for integers, use b\.compare"):
        _ = value(b, "float") < value(b, "float", "%y")


@pytest.mark.parametrize("type_", ["float", "ptr"])
def test_an_integer_beside_what_is_no_integer_is_refused(type_: str) -> None:
    b = Builder()
    with pytest.raises(TypeError, match="only integers take an integer, pointers take NULL"):
        _ = value(b, type_) == 0


def test_a_python_float_is_refused() -> None:
    b = Builder()
    with pytest.raises(TypeError, match=r"1\.5: the operand is neither a value nor an integer"):
        _ = value(b, "i32") + 1.5  # type: ignore[operator]


def test_pointers_are_equal_or_not() -> None:
    b = Builder()
    assert (value(b, "ptr") != NULL).type == "i1"
    assert b.lines == ["  %v1 = icmp ne ptr %x, null"]


def test_pointers_have_no_order() -> None:
    b = Builder()
    with pytest.raises(TypeError, match="ult of ptr %x and ptr %y"):
        _ = value(b, "ptr") < value(b, "ptr", "%y")


@pytest.mark.parametrize(
    "decide",
    [lambda x: not x, lambda x: x and x, lambda x: 1 if x else 2, lambda x: x < x < x],
    ids=["not", "and", "if", "chain"],
)
def test_python_does_not_decide_by_a_value(decide: Callable[[Value], object]) -> None:
    b = Builder()
    with pytest.raises(TypeError, match=r"is not known while the code is written: use b\.if_, b\.select, &, \| or ~"):
        decide(value(b, "i32"))
