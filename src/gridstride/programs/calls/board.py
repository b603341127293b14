"""What our libcudart calls: memory, modules and launches of the virtual GPU, as C sees them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NamedTuple

from gridstride.programs.calls.activity import CALLS, Activity, Call, Failures, Links
from gridstride.programs.calls.copy_log import CopyLog
from gridstride.programs.calls.device_attributes import attributes
from gridstride.programs.calls.graph_calls import GRAPH_CALLS
from gridstride.programs.calls.image_calls import IMAGE_CALLS, ImageCalls
from gridstride.programs.calls.late_work import MODELS_LATE, LateWork
from gridstride.programs.calls.limits import DeviceLimits
from gridstride.programs.calls.memory_calls import MEMORY_CALLS, MemoryCalls
from gridstride.programs.calls.module_calls import MODULE_CALLS, ModuleCalls
from gridstride.programs.calls.objects import KINDS
from gridstride.programs.calls.peers import Peers
from gridstride.programs.calls.program_code import UNUSABLE, ProgramCode
from gridstride.programs.calls.runtime_records import (
    CALLBACKS,
    CODE_CALLBACKS,
    LATE_CALLBACKS,
    ORDER,
    ORDER_CALLBACKS,
    TAIL,
    TIMELINE_CALLBACKS,
    BoardRecord,
)
from gridstride.programs.calls.status import Status, fault_status
from gridstride.programs.failed_calls.findings_of_calls import FailedCall, finding_of
from gridstride.programs.order.host_memory import HostMemory
from gridstride.programs.order.stream_order import MODELS_ORDER, StreamOrder
from gridstride.programs.process.reports import Reports
from gridstride.programs.timeline.calls import WAITED_FREE, CopyCall, TimelineCalls
from gridstride.programs.timeline.model import TO_PEER, WITHIN
from gridstride.protocol import LaunchError, Shape
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.virtual_kernel import VirtualKernel
from gridstride.virtual.machine import tiers

_OWN_CODE = {name: CODE_CALLBACKS[name] for name in ("code", "link_code", "code_image")}
_BOARD_CODE = {name: CODE_CALLBACKS[name] for name in ("load_code", "entry", "tensor_map")}
OF_THE_HOST = (
    "kernels run here when they are launched; if the host sets what this one waits for, behind its launch: "
    "`gridstride run --late` runs it when the host waits for it"
)
_SHAPES_KEPT = 4096
NOTHING_SHARED = -1
"""For `shared` of the record: the program may ask the system for such memory by itself."""


class VendorLibraries(NamedTuple):
    """NVIDIA's own libraries for what ours leave to them, where the toolkit has them."""

    runtime: str | None = None
    nvrtc: str | None = None
    jit_link: str | None = None


_NO_VENDORS = VendorLibraries()


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """What a program is to meet. `fails`: which call of each kind fails; `idle`: kernels are launched and do nothing;
    `memory`: as MemoryCalls has it.
    """

    vendors: VendorLibraries = _NO_VENDORS
    fails: Mapping[Call, int] = field(default_factory=dict)
    idle: bool = False
    devices: int = 1
    memory: int | None = None


class Board:
    """One virtual GPU behind the runtime of a program, or several that share its arena."""

    def __init__(self, device: VirtualGPU, reports: Reports, options: BoardOptions) -> None:
        fails, devices = options.fails, options.devices
        self.device, self.reports, self._idle = device, reports, options.idle
        self.activity = Activity(links=Links(devices))
        self._failures = Failures(dict(fails), self.activity)
        self._is_watched = bool(fails)
        """Whether anybody but the counts is told of copies: not in a plain run, which may make millions."""
        self._peers, self.limits = Peers(devices), DeviceLimits(device, self._catch_up)
        self.memory = MemoryCalls(device, reports, self.activity, self._failures, self._peers, options.memory)
        self._lock = threading.RLock()
        self._callbacks: list[Any] = []
        self._shapes: dict[bytes, tuple[VirtualKernel, Shape]] = {}
        self._attributes = attributes(device.model)
        self.modelled: TimelineCalls | None = None
        self.shows_timeline = False
        self._calls = TimelineCalls(device, devices)
        self._late: LateWork | None = None
        self._order: StreamOrder | None = None
        self._copies: CopyLog | None = None
        self.leaks_are_findings = device.sanitize
        self.interrupted: Callable[[], object] = lambda: None
        """Is told of Ctrl-C in a kernel, which cannot be raised into C."""
        code = ProgramCode(reports.say)
        self.modules = ModuleCalls(device, reports, self.memory, self._peers, code, self._catch_up)
        arena = device.arena
        owners = {
            **dict.fromkeys(MEMORY_CALLS, self.memory), **dict.fromkeys(MODULE_CALLS, self.modules),
            **dict.fromkeys(IMAGE_CALLS, ImageCalls(device, self._catch_up)), "limit": self.limits,
        }  # fmt: skip
        callbacks = [
            kind(self._guarded(getattr(owners.get(name, owner), name), kind))
            for owner, table in ((self, CALLBACKS), (code, _OWN_CODE), (self, _BOARD_CODE),
                                 (self._calls, TIMELINE_CALLBACKS), (self, LATE_CALLBACKS))
            for name, kind in table.items()
        ] + [kind() for kind in ORDER_CALLBACKS.values()]  # fmt: skip
        vendors = [path.encode() if path else None for path in options.vendors]
        reach = int(device.model.timeline["peer_gb_per_s"] > 0)
        self.record = BoardRecord(arena.base, arena.size, *vendors, device.sanitize, 0, 0, 0, devices, reach,
                                  NOTHING_SHARED, *callbacks)  # fmt: skip
        self._callbacks.append(callbacks)
        if not fails.keys() <= set(CALLS):
            self.tell_calls()

    def predict(self, *, shown: bool = False, pictured: bool = False) -> None:
        """Before the program begins: its events tell the time that the chip is predicted to take.

        `shown`: the whole timeline is reported when the program ends; `pictured`: its launches are, line by line.
        """
        if pictured:
            from gridstride.programs.calls.launch_pictures import LaunchPictures

            self._calls.pictures = LaunchPictures(self.device)
        self.shows_timeline = shown
        self.modelled, self._is_watched = self._calls, True
        self.memory.on_allocation = self._calls.allocated
        self.record.models = 1

    def be_late(self) -> None:
        """Before the program begins: its work is put off until the host waits for it."""
        self._is_watched = True
        self._late, self.memory.garbage = LateWork(), True  # zeros would be right where a late memset was to write them
        self.memory.make_room = self._catch_up
        self.record.models = MODELS_LATE
        self._listen(self._late, TIMELINE_CALLBACKS)

    def watch_order(self, host: HostMemory) -> None:
        """Before the program begins: work that uses the same bytes in no order is a finding."""
        order = self._order = StreamOrder(self.device, self.reports.finding, host)
        self._is_watched = True
        self.memory.on_allocation, self.memory.on_release = order.allocated, order.freed
        self.record.models, self.record.orders = MODELS_ORDER, 1
        self._listen(order, TIMELINE_CALLBACKS)
        self._listen(order, ORDER_CALLBACKS)

    def _listen(self, listener: object, calls: Mapping[str, Any]) -> None:
        """It is told of these instead of the board."""
        for name, kind in calls.items():
            callback = kind(self._guarded(getattr(listener, name), kind))
            setattr(self.record, name, callback)
            self._callbacks.append(callback)

    def tell_calls(self) -> None:
        """Before the program begins: what it calls is counted by name, and any of it can fail."""
        self.record.tells_calls = 1

    def log_copies(self, path: str) -> None:
        """Before the program begins: the bytes of its copies between host and device go into a file."""
        self._copies, self._is_watched = CopyLog(path), True

    def _guarded(self, function: Callable[..., Any], kind: Any) -> Callable[..., Any]:
        """Nothing may be raised into C: what nobody expected is a status, and said on stderr."""
        failed = {ctypes.c_int: int(Status.UNKNOWN), None: None}.get(kind._restype_, 0)

        @wraps(function)
        def guarded(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except KeyboardInterrupt:  # of a Python program: raised again when the call has come back to it
                self.interrupted()
                return None if kind._restype_ is None else 0
            except Exception as error:
                self.reports.say(f"{function.__name__} failed: {type(error).__name__}: {error}")
                return failed

        return guarded

    # -- launches -----------------------------------------------------------------------------------------------------
    def launch(self, order: int) -> int:
        """One launch; `order` is the address of a LaunchOrder."""
        raw = ctypes.string_at(order, ORDER.size)
        parameters, nbytes, stream, device = TAIL.unpack_from(raw, ORDER.size - TAIL.size)
        cached = self._shapes.get(raw[: -TAIL.size])
        kernel, shape = cached or self._new_shape(raw)
        packed = ctypes.string_at(parameters, nbytes)
        if self._failures.due("launch"):
            return Status.LAUNCH_OUT_OF_RESOURCES
        self.activity.launched(shape, device)
        if self._failures.due("kernel"):
            if self._late is None:
                self.reports.set_fault(Status.ILLEGAL_ADDRESS)
            else:
                self._late.put_off(stream, lambda: self.reports.set_fault(Status.ILLEGAL_ADDRESS))
            return Status.SUCCESS
        if self._idle:
            return Status.SUCCESS
        if self._late is None or shape.cooperative:  # one that is too large is refused by its launch
            self._catch_up()
            return self._run(kernel, shape, packed, stream, device)
        self._late.put_off(stream, lambda: self._run(kernel, shape, packed, stream, device))
        return Status.SUCCESS

    def called(self, name: bytes) -> int:
        """A function of the runtime, before it does anything."""
        function = name.decode()
        with self._lock:
            self.activity.functions[function] += 1
            return Status.UNKNOWN if self._failures.due(function) else Status.SUCCESS

    def put_off(self, stream: int, work: int, argument: int) -> None:
        """A C function's call is work of a stream."""
        assert self._late is not None
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(work)
        self._late.put_off(stream, lambda: run(argument))

    def give_back(self, address: int, stream: int, work: int, argument: int) -> None:
        """Memory that the host has freed, of which a C function's call gives the bytes back: in a stream, where it is
        not 0.
        """
        assert self._late is not None
        if not stream:
            self.memory.given_back(address)
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(work)
        self._late.give_back(address, stream, lambda: run(argument))

    def _catch_up(self) -> None:
        """Before what is put off would miss something, or be missed."""
        if self._late is not None:
            self._late.all()

    def _run(self, kernel: VirtualKernel, shape: Shape, packed: bytes, stream: int, device: int) -> int:
        gone = self._late.given_back() if self._late is not None else ()  # its lock is taken before the device's
        try:
            with self.device.lock:
                self._peers.show(self.device.arena, device, gone)
                if self._order is not None:
                    self._order.launch(kernel, shape, packed, stream)
                elif self.modelled is None:
                    kernel.launch(shape, packed)
                else:
                    elsewhere = self._peers.elsewhere(device)
                    counts, crossing = self.modelled.launch(kernel, shape, packed, stream, device, elsewhere)
                    self.activity.observed(counts)
                    for pair, nbytes in crossing.items():
                        self.activity.crossed(nbytes, *pair)
        except KernelFault as fault:
            return self._faulted(fault)
        except LaunchError as error:
            self.reports.say(str(error))
            return Status.COOPERATIVE_LAUNCH_TOO_LARGE if shape.cooperative else Status.INVALID_VALUE
        except UNUSABLE as error:
            self.reports.say(f"{kernel.title} cannot be compiled: {error}")
            return Status.NO_KERNEL_IMAGE
        except MemoryError as error:
            self.reports.say(f"{kernel.title}: {error}")
            return Status.MEMORY_ALLOCATION
        return Status.SUCCESS

    def _new_shape(self, raw: bytes) -> tuple[VirtualKernel, Shape]:
        """What all but the parameters of an order say, remembered: programs launch the same way many times."""
        number, gx, gy, gz, bx, by, bz, cx, cy, cz, cooperative, shared, part, *_ = ORDER.unpack(raw)
        cluster = (cx, cy, cz) if cx or cy or cz else None
        shape = Shape((gx, gy, gz), (bx, by, bz), shared, cooperative=bool(cooperative), cluster=cluster,
                      multiprocessors=self.modules.partitions[part])  # fmt: skip
        if len(self._shapes) >= _SHAPES_KEPT:
            self._shapes.clear()
        cached = self._shapes[raw[: -TAIL.size]] = (self.modules.kernels[number], shape)
        return cached

    def _faulted(self, fault: KernelFault) -> int:
        """A fault of hardware's ends the device for the program; what only the sanitizer sees is reported."""
        self.reports.findings(fault)
        if self._late is None and any(finding.kind == "deadlock" for finding in fault.findings):
            self.reports.say(OF_THE_HOST)
        status = next((s for s in map(fault_status, fault.findings) if s is not None), Status.SUCCESS)
        if status is not Status.SUCCESS:
            self.reports.set_fault(status)
        return Status.SUCCESS

    def copy(self, *words: int) -> int:
        """`words`: the fields of CopyCall."""
        nbytes, kind, waits = words[0], words[1], words[4]
        if self._is_watched or kind == TO_PEER:
            return self._watched_copy(CopyCall(*words))
        self.activity.copied(nbytes, kind)
        if waits and kind != WITHIN:
            self._host_waited()
        return Status.SUCCESS

    def _watched_copy(self, call: CopyCall) -> int:
        nbytes, kind = call.nbytes, call.kind
        if self._failures.due("copy"):
            return Status.UNKNOWN
        if self._late is not None:
            self._late.copied(call.stream)
        self.activity.copied(nbytes, kind)
        self._log(call)
        direct = kind == TO_PEER and self._peers.are_enabled(call.from_device, call.to_device)
        if kind == TO_PEER:
            self.activity.copied_to_peer(nbytes, call.from_device, call.to_device, direct=direct)
        if call.waits and kind not in (WITHIN, TO_PEER):
            self._host_waited()
        if self.modelled is not None:
            self.modelled.copy(call, direct=direct)
        if self._order is not None:
            self._order.copy(call)
        return Status.SUCCESS

    def _log(self, call: CopyCall) -> None:
        """What a copy carries, where that is kept: the one who looks is not the program."""
        if self._copies is None:
            return
        if self._order is not None:
            self._order.using(1)
        self._copies.copied(call.nbytes, call.kind, call.origin)
        if self._order is not None:
            self._order.using(-1)

    def waited(self, what: int, number: int) -> None:
        if what == WAITED_FREE:
            self.activity.freed_launches += self.activity.unwaited_launches
        if self._late is not None:
            self._late.waited(what, number)
        self._host_waited()
        if self.modelled is not None:
            self.modelled.wait(what, number)
        if self._order is not None:
            self._order.waited(what, number)

    def graph_call(self, what: int, nodes: int) -> None:
        call = GRAPH_CALLS[what]
        with self._lock:
            self.activity.graph_called(call)
        if self.modelled is not None:
            self.modelled.graph_call(call, nodes)

    def object(self, kind: int, change: int) -> None:
        """A stream, say, was made (1) or destroyed (-1)."""
        with self._lock:
            self.activity.objects[KINDS[kind]] += change

    def _host_waited(self) -> None:
        self.activity.unwaited_launches = 0
        self.activity.waits += 1
        self.memory.host_waited()

    # -- the rest ----------------------------------------------------------------------------------------------------
    def attribute(self, number: int, value: Any) -> int:
        if number not in self._attributes:
            return Status.INVALID_VALUE
        value[0] = self._attributes[number]
        return Status.SUCCESS

    def settle(self) -> None:
        """The program is about to end."""
        tiers.settle()

    def failed(self, *words: Any) -> None:
        """A call at whose error the program has not looked; `words`: `failed` of runtime.h."""
        function, kernel, error, meaning, site, stack, frames, times = words
        call = FailedCall(function.decode(), kernel and kernel.decode(), error.decode(), meaning.decode(), site,
                          stack[:frames], times)  # fmt: skip
        if self.leaks_are_findings and (finding := finding_of(call)) is not None:
            self.reports.findings(KernelFault((finding,)))

    def finish(self) -> int:
        """The program has ended by itself: what it did is reported, and what it never gave back under the sanitizer.

        The exit status where its own is 0.
        """
        self.activity.children(self.device.child_grids)
        self.activity.pool_allocations, self.activity.pool_growths = (
            self.memory.pools.allocations,
            self.memory.pools.growths,
        )
        if self.modelled is not None:
            self.activity.times = self.modelled.finished()
            if self.shows_timeline:
                self.reports.timeline(self.modelled.report())
            if self._calls.pictures is not None:
                self.reports.launches(self._calls.pictures.words())
        self.reports.activity(self.activity.as_dict())
        if self.leaks_are_findings:
            for leak in self.device.leaks():
                self.reports.finding(self._peers.leak_in_words(leak))
        return int(self.device.sanitize and self.reports.alone and self.reports.any)
