"""The first click of somebody without an invite: a swarm of their own, and a chat that answers."""

import pytest
from helpers.application import Wait, english, qapp_args, wait
from helpers.daemon_process import LOOPBACK, DaemonProcess
from helpers.screen import button, shown
from potluck_app.pages.chat.page import ChatPage
from potluck_app.pages.first_run.page import FirstRunPage
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.window import MainWindow
from pytestqt.qtbot import QtBot

pytestmark = pytest.mark.screen

__all__ = ["english", "qapp_args", "wait"]


def test_one_click_leads_to_a_chat_and_another_to_an_answer(qtbot: QtBot, wait: Wait) -> None:
    with DaemonProcess(LOOPBACK) as daemon:
        link = DaemonLink(daemon.socket)
        window = MainWindow(link)
        qtbot.addWidget(window)
        link.status_changed.connect(window.show_status)
        link.start()
        window.show()
        wait(lambda: isinstance(window.currentWidget(), FirstRunPage))
        button(window, "Try it on this computer").click()
        wait(lambda: isinstance(window.page, ChatPage))
        page = window.page
        assert isinstance(page, ChatPage)
        button(page, "What is Potluck?").click()
        wait(lambda: bool(page.conversation) and page.conversation[-1].role == "assistant")
        assert "run large language models together" in page.conversation[-1].content
        assert any("answered by" in text for text in shown(page)), shown(page)
        window.hide()
        link.stop()
