"""Every text of the app is translated into every language, and the compiled files are those of the sources."""

import ast
import re
import shutil
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

from PySide6.QtCore import QTranslator

ROOT = Path(__file__).parents[4]
_PLACE = re.compile(r"\{\w+\}|%n")


def _load() -> ModuleType:
    loader = SourceFileLoader("translations", str(ROOT / ".ci" / "translations"))
    module = module_from_spec(spec_from_loader("translations", loader))
    loader.exec_module(module)
    return module


tool = _load()


def messages(path: Path) -> dict[tuple[str, str], ElementTree.Element]:
    found = {}
    for context in ElementTree.parse(path).iter("context"):
        for message in context.iter("message"):
            found[context.findtext("name") or "", message.findtext("source") or ""] = message
    return found


def forms(message: ElementTree.Element) -> list[str]:
    translation = message.find("translation")
    plurals = [form.text or "" for form in translation.iter("numerusform")]
    return plurals or [translation.text or ""]


def test_no_text_is_missing_left_over_or_unfinished(tmp_path: Path) -> None:
    for language in tool.LANGUAGES:
        kept = tool.FOLDER / f"potluck_{language}.ts"
        fresh = tmp_path / kept.name
        shutil.copy(kept, fresh)
        tool.collect(fresh, language)
        assert messages(fresh).keys() == messages(kept).keys(), "run .ci/translations, then translate what is new"
        for (context, source), message in messages(fresh).items():
            translation = message.find("translation")
            assert translation.get("type") is None, f"unfinished in {language}: {context}: {source}"
            assert all(forms(message)), f"empty in {language}: {context}: {source}"
        tool.compile_to(kept, tmp_path / "fresh.qm")
        assert (tmp_path / "fresh.qm").read_bytes() == kept.with_suffix(".qm").read_bytes(), "run .ci/translations"


def test_no_text_is_where_the_tool_that_collects_texts_does_not_look() -> None:
    for path in (ROOT / "app" / "potluck_app").rglob("*.py"):
        formatted = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.JoinedStr))
        for call in (part for node in formatted for part in ast.walk(node) if isinstance(part, ast.Call)):
            is_text = ast.unparse(call.func) in ("tr", "self.tr") and isinstance(call.args[0], ast.Constant)
            assert not is_text, f"{path.name}:{call.lineno}: within an f-string, so nobody could translate it"


def test_a_translation_has_the_places_of_its_text() -> None:
    for language in tool.LANGUAGES:
        for (_, source), message in messages(tool.FOLDER / f"potluck_{language}.ts").items():
            *few, many = forms(message)
            assert sorted(_PLACE.findall(many)) == sorted(_PLACE.findall(source)), source
            for form in few:  # "one person" needs no number
                assert set(_PLACE.findall(source)) - set(_PLACE.findall(form)) <= {"%n"}, source


def test_plural_forms_are_those_of_the_language() -> None:
    for language, one, many in (
        ("en", "1 session left", "2 sessions left"),
        ("de", "Noch 1 Sitzung", "Noch 2 Sitzungen"),
        ("es", "Queda 1 sesión", "Quedan 2 sesiones"),
    ):
        translator = QTranslator()
        assert translator.load(f"potluck_{language}", str(tool.FOLDER))
        assert translator.translate("", "%n session(s) left", "", 1).replace("%n", "1") == one
        assert translator.translate("", "%n session(s) left", "", 2).replace("%n", "2") == many
