"""A tray host that tests can look into: StatusNotifierWatcher and notifications on a session bus, as a panel has them.

Reads an icon's tooltip and menu as a panel would, over D-Bus, and clicks its entries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dbus_fast import BusType, Message, MessageType, PropertyAccess, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property, dbus_signal

_WATCHER = "org.kde.StatusNotifierWatcher"
_ITEM = "org.kde.StatusNotifierItem"
_MENU = "com.canonical.dbusmenu"
_PATIENCE_S = 120.0


class _Watcher(ServiceInterface):
    def __init__(self) -> None:
        super().__init__(_WATCHER)
        self.items: list[str] = []

    @dbus_method()
    def RegisterStatusNotifierItem(self, service: s):  # type: ignore[name-defined]  # noqa: F821, N802
        self.items.append(service)
        self.StatusNotifierItemRegistered(service)

    @dbus_method()
    def RegisterStatusNotifierHost(self, service: s):  # type: ignore[name-defined]  # noqa: F821, N802
        pass

    @dbus_property(access=PropertyAccess.READ)
    def RegisteredStatusNotifierItems(self) -> "as":  # type: ignore[name-defined]  # noqa: F722, N802
        return self.items

    @dbus_property(access=PropertyAccess.READ)
    def IsStatusNotifierHostRegistered(self) -> b:  # type: ignore[name-defined]  # noqa: F821, N802
        return True

    @dbus_property(access=PropertyAccess.READ)
    def ProtocolVersion(self) -> i:  # type: ignore[name-defined]  # noqa: F821, N802
        return 0

    @dbus_signal()
    def StatusNotifierItemRegistered(self, service) -> s:  # type: ignore[no-untyped-def, name-defined]  # noqa: F821, N802
        return service


@dataclass(frozen=True, slots=True)
class MenuEntry:
    id: int
    label: str
    enabled: bool


class TrayHost:
    """`start`, then `item()`; `leave()` takes the host off the bus as a crashed panel would."""

    def __init__(self, bus_address: str) -> None:
        self._address = bus_address
        self._watcher = _Watcher()
        self._bus: MessageBus | None = None

    async def start(self) -> None:
        self._bus = await MessageBus(bus_address=self._address, bus_type=BusType.SESSION).connect()
        self._bus.export("/StatusNotifierWatcher", self._watcher)
        await self._bus.request_name(_WATCHER)

    async def leave(self) -> None:
        assert self._bus is not None
        self._bus.disconnect()
        await self._bus.wait_for_disconnect()
        self._bus = None

    @property
    def num_items(self) -> int:
        """How many icons were ever registered."""
        return len(self._watcher.items)

    async def item(self) -> TrayItem:
        """The newest icon that was registered; waits for one."""
        await eventually(lambda: bool(self._watcher.items))
        name = self._watcher.items[-1]
        destination, slash, path = name.partition("/")
        assert self._bus is not None
        return TrayItem(self._bus, destination, slash + path if slash else "/StatusNotifierItem")


class TrayItem:
    """One icon, seen from the panel."""

    def __init__(self, bus: MessageBus, destination: str, path: str) -> None:
        self._bus, self._destination, self._path = bus, destination, path

    async def tooltip(self) -> str:
        """Title and text of the tooltip, joined."""
        _, _, title, text = await self._property("ToolTip")
        return f"{title}\n{text}"

    async def icon_pixels(self) -> bytes:
        """The largest picture of the icon, as ARGB bytes."""
        pictures = await self._property("IconPixmap")
        return bytes(max(pictures, key=lambda picture: picture[0])[2])

    async def menu(self) -> list[MenuEntry]:
        path = await self._property("Menu")
        _, layout = await self._call(path, _MENU, "GetLayout", "iias", [0, -1, []])
        entries = []
        for child in layout[2]:
            number, properties = child.value[0], child.value[1]
            if not properties.get("visible", Variant("b", True)).value:
                continue
            label = properties.get("label", Variant("s", "")).value.replace("_", "")
            entries.append(MenuEntry(number, label, properties.get("enabled", Variant("b", True)).value))
        return [entry for entry in entries if entry.label]

    async def click(self, label: str) -> None:
        path = await self._property("Menu")
        (entry,) = [entry for entry in await self.menu() if entry.label == label]
        await self._call(path, _MENU, "Event", "isvu", [entry.id, "clicked", Variant("i", 0), 0])

    async def activate(self) -> None:
        """A left click on the icon."""
        await self._call(self._path, _ITEM, "Activate", "ii", [0, 0])

    async def wait_tooltip(self, text: str) -> None:
        async def says_it() -> bool:
            return text in await self.tooltip()

        await eventually(says_it)

    async def _property(self, name: str) -> Any:
        (value,) = await self._call(self._path, "org.freedesktop.DBus.Properties", "Get", "ss", [_ITEM, name])
        return value.value

    async def _call(self, path: str, interface: str, member: str, signature: str, body: list[Any]) -> list[Any]:
        message = Message(self._destination, path, interface, member, signature=signature, body=body)
        answer = await self._bus.call(message)
        assert answer is not None
        assert answer.message_type is MessageType.METHOD_RETURN, answer.body
        return list(answer.body)


async def eventually(is_so: Callable[[], Any]) -> None:
    """Ask again and again until `is_so()` (or what it awaits) holds; the test fails after two minutes."""
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            answer = is_so()
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer:
                return
            await asyncio.sleep(0.01)  # a figure is read off it
