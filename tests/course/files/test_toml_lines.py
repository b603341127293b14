"""Lines of tables and keys in TOML."""

from __future__ import annotations

from gridstride.course.files.toml_lines import lines_of

TEXT = '''a = 1
text = """
b = 2
[no.table]
"""
[one.two]  # a comment
c = 3
[[list]]
d = 4
[[list]]
d = 5
[[list.inner]]
e = 6
'''


def test_tables_keys_and_entries_have_their_lines() -> None:
    lines = lines_of(TEXT)
    assert lines["a",] == 1
    assert lines["one", "two"] == 6
    assert lines["one", "two", "c"] == 7
    assert lines["list", 0, "d"] == 9
    assert lines["list", 1, "d"] == 11
    assert lines["list", 1, "inner", 0, "e"] == 13


def test_what_looks_like_a_key_inside_a_text_is_none() -> None:
    assert ("b",) not in lines_of(TEXT)
    assert ("no", "table") not in lines_of(TEXT)
