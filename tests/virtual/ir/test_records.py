"""Records: fields of a struct as attributes."""

from __future__ import annotations

import pytest

from gridstride.virtual.abi.layout import Layout
from gridstride.virtual.abi.layout_table import LAYOUTS
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A struct that points to its like."""
    layout = Layout("test_node", "count:i32 next:test_node* limits:i64[3] bytes:ptr", align=8)
    monkeypatch.setitem(LAYOUTS, layout.name, layout)
    return layout


@pytest.fixture
def b() -> Builder:
    return Builder()


@pytest.fixture
def record(b: Builder, node: Layout) -> Record:
    return b.record(Value("%node", "ptr"), node)


def test_reading_an_attribute_loads_the_field(b: Builder, record: Record) -> None:
    assert record.count.type == "i32"
    assert b.lines == ["  %v1 = load i32, ptr %node"]


def test_setting_an_attribute_stores_the_field(b: Builder, record: Record) -> None:
    record.count = Value("%x", "i32")
    assert b.lines == ["  store i32 %x, ptr %node"]


def test_an_integer_is_stored_in_the_fields_type(b: Builder, record: Record) -> None:
    record.limits[0] = -1
    assert b.lines[-1] == "  store i64 -1, ptr %v1"


def test_adding_to_an_attribute_loads_and_stores(b: Builder, record: Record) -> None:
    record.count += 1
    assert b.lines == ["  %v1 = load i32, ptr %node", "  %v2 = add i32 %v1, 1", "  store i32 %v2, ptr %node"]


def test_an_element_with_a_number_lies_at_a_constant_offset(b: Builder, record: Record) -> None:
    assert record.limits[2].type == "i64"
    assert b.lines[0] == "  %v1 = getelementptr i8, ptr %node, i64 32"


def test_an_element_with_a_value_lies_at_a_computed_offset(b: Builder, record: Record) -> None:
    _ = record.limits[Value("%i", "i64", b)]
    assert b.lines[:3] == [
        "  %v1 = getelementptr i8, ptr %node, i64 16",
        "  %v2 = mul i64 %i, 8",
        "  %v3 = getelementptr i8, ptr %v1, i64 %v2",
    ]


def test_a_pointer_with_a_target_is_a_record_again(b: Builder, record: Record) -> None:
    assert record.next.next.count.type == "i32"
    assert [line.split(" = ")[1] for line in b.lines if "load" in line] == [
        "load ptr, ptr %v1", "load ptr, ptr %v3", "load i32, ptr %v4",
    ]  # fmt: skip


def test_an_index_of_a_record_moves_by_records(b: Builder, record: Record, node: Layout) -> None:
    assert record[2].count.type == "i32"
    assert b.lines[0] == f"  %v1 = getelementptr i8, ptr %node, i64 {2 * node.size}"


def test_field_gives_the_address(b: Builder, record: Record) -> None:
    assert record.field("limits", 1).type == "ptr"
    assert b.lines == ["  %v1 = getelementptr i8, ptr %node, i64 24"]


def test_an_unknown_attribute_names_the_fields(record: Record) -> None:
    with pytest.raises(AttributeError, match="test_node has no field 'size': count, next, limits, bytes"):
        _ = record.size


def test_setting_an_unknown_attribute_names_the_fields(record: Record) -> None:
    with pytest.raises(AttributeError, match="test_node has no field 'size': count, next, limits, bytes"):
        record.size = 1


def test_a_field_takes_only_a_value_of_its_type(record: Record) -> None:
    with pytest.raises(TypeError, match="count of test_node is of type i32, not i64 5"):
        record.count = constant("i64", 5)


def test_a_pointer_takes_no_integer(record: Record) -> None:
    with pytest.raises(TypeError, match="next of test_node is of type ptr, not 0"):
        record.next = 0


def test_a_pointer_takes_null(b: Builder, record: Record) -> None:
    record.next = NULL
    assert b.lines[-1] == "  store ptr null, ptr %v1"


def test_an_array_is_no_value(record: Record) -> None:
    with pytest.raises(TypeError, match="limits is an array: index it, or take its address with"):
        _ = record.limits.name


def test_an_array_is_not_set_at_once(record: Record) -> None:
    with pytest.raises(TypeError, match="limits of test_node is an array of 3: set one of its elements"):
        record.limits = 1


def test_a_plain_pointer_has_no_fields(record: Record) -> None:
    with pytest.raises(AttributeError):
        _ = record.bytes.count


def test_a_parameter_with_a_layouts_name_and_a_star_is_a_record(node: Layout) -> None:
    m = IrModule()
    with m.function("i32", "read", "test_node* node", "i32 x") as (b, (parameter, x)):
        b.ret(parameter.count + x)
    assert m.functions[0].startswith("define i32 @read(ptr %node, i32 %x)")
    assert "load i32, ptr %node" in m.functions[0]
