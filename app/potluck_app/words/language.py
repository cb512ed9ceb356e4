"""The language of the app: the user's own where the texts are translated, else English.

English is loaded like any other language, because its plural forms ("1 session", "2 sessions") are translations too.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLocale, QTranslator


def tr(text: str, disambiguation: str = "", n: int = -1) -> str:
    """Return the text of a module's function in the user's language; `n` chooses the plural form and replaces %n.

    For functions of modules only: within classes the tool that collects texts expects `self.tr`, with the class's name.
    """
    return QCoreApplication.translate("", text, disambiguation, n)


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:  # noqa: N802 (the name that the collecting tool knows)
    """Mark a text that is translated when it is shown; PySide's own function has a wrong type."""
    return text


def install(application: QCoreApplication, locale: QLocale | None = None) -> None:
    """Load the texts of a language, for what is made from then on. `locale`: None for the desktop's."""
    wanted = locale or QLocale.system()
    if wanted.language() is QLocale.Language.C:
        wanted = QLocale(QLocale.Language.English, QLocale.Country.UnitedKingdom)
    for before in application.findChildren(QTranslator):
        application.removeTranslator(before)
        before.deleteLater()
    translator = QTranslator(application)
    folder = str(resource_folder("translations"))
    if not translator.load(wanted, "potluck", "_", folder):
        translator.load("potluck_en", folder)
    QLocale.setDefault(wanted)
    application.installTranslator(translator)


def resource_folder(name: str) -> Path:
    """Return a folder of files that the app reads: in the package of a wheel, in resources/ of a checkout."""
    packaged = Path(__file__).parents[1] / name
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "resources" / name
