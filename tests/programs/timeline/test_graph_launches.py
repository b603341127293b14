"""What graphs cost the host, and how their nodes run."""

from __future__ import annotations

import pytest

from gridstride.programs.timeline.durations import Work
from gridstride.programs.timeline.model import LEGACY, Timeline
from gridstride.programs.timeline.summary import totals

from .timelines import HALF, ONE, done, with_streams


# -- graphs -----------------------------------------------------------------------------------------------------------
def test_an_instance_costs_the_host_more_than_taking_over_another_graph_and_that_more_than_one_node() -> None:
    hosts = {}
    for call in ("instantiated", "updated", "node set", "launched"):
        timeline = with_streams("h200")
        timeline.graph_call(call, 20)
        hosts[call] = timeline.now_us
    assert hosts["instantiated"] > hosts["updated"] > hosts["node set"] > hosts["launched"] == 0


def test_a_graph_is_cheaper_than_its_launches() -> None:
    small = Work(3.0, {"blocks": 0.1})
    launches, graph = with_streams("h200"), with_streams("h200")
    for _ in range(20):
        launches.launch("k", small, ONE)
    graph.begin_graph(ONE, 20)
    for node in range(20):
        graph.node(node, [node - 1] if node else [])
        graph.launch("k", small, ONE)
    graph.end_graph()
    assert graph.now_us < launches.now_us / 5
    assert len(done(graph)) == len(done(launches)) == 20
    assert totals(graph).modelled_us < totals(launches).modelled_us


def test_nodes_run_as_their_edges_say_and_the_stream_after_them(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 3)
    for node, after in ((1, []), (2, []), (3, [1])):
        timeline.node(node, after)
        timeline.launch(f"node {node}", HALF, LEGACY)
    timeline.end_graph()
    timeline.launch("after", HALF, ONE)
    one, two, three, after = done(timeline)
    assert one.start_us == two.start_us
    assert three.start_us == one.end_us
    assert after.start_us == three.end_us
    assert [each.graph for each in (one, three, after)] == [1, 1, 0]


def test_a_childs_nodes_stand_where_the_child_does(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 3)
    timeline.node(1, [])
    timeline.launch("before", HALF, LEGACY)
    timeline.node(2, [1])
    timeline.begin_graph(LEGACY, 1)
    timeline.node(20, [])
    timeline.launch("inside", HALF, LEGACY)
    timeline.end_graph()
    timeline.node(3, [2])
    timeline.launch("behind", HALF, LEGACY)
    timeline.end_graph()
    before, inside, behind = done(timeline)
    assert before.end_us == inside.start_us
    assert inside.end_us == behind.start_us


def test_a_node_that_is_switched_off_still_stands_between_others(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 3)
    timeline.node(1, [])
    timeline.launch("first", HALF, LEGACY)
    timeline.node(2, [1])
    timeline.node(3, [2])
    timeline.launch("last", HALF, LEGACY)
    timeline.end_graph()
    first, last = done(timeline)
    assert last.start_us == first.end_us


def test_a_condition_takes_time_on_the_device_and_none_of_the_host(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 1)
    timeline.node(1, [])
    given = timeline.now_us
    for _ in range(2):
        timeline.graph_call("condition", 1)
        timeline.begin_graph(LEGACY, 1)
        timeline.node(10, [])
        timeline.launch("body", HALF, LEGACY)
        timeline.end_graph()
    timeline.graph_call("condition", 1)
    timeline.end_graph()
    timeline.launch("after", HALF, ONE)
    first, body, second, again, third, after = done(timeline)
    assert [each.kind for each in (first, second, third)] == ["condition"] * 3
    assert first.end_us - first.start_us == pytest.approx(timeline.times["condition_us"])
    assert [body.start_us, second.start_us, again.start_us] == [first.end_us, body.end_us, second.end_us]
    assert third.end_us == after.start_us
    assert timeline.now_us == given + timeline.times["launch_call_us"]
