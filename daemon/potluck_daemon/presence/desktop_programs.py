"""Programs that are no games although they use the GPU or fill the screen, and the judgement of GPU use.

Only the guesses (full-screen windows, use of the GPU) look here; the user's always-yield list outranks it.
"""

from __future__ import annotations

from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.probe import Sighting
from potluck_daemon.presence.processes import Program

WEAK_SHARE = 0.4  # of the share that makes a program likely to be a game: full-screen with this much is one

_COMPOSITORS = """
    xorg xwayland x xvfb gnome-shell mutter kwin_x11 kwin_wayland plasmashell sway hyprland wayfire labwc weston
    niri cosmic-comp cosmic-panel picom compton openbox xfwm4 xfdesktop muffin cinnamon marco budgie-wm gala i3
    waybar krunner ksplashqml
"""
_SCREEN_SAVERS = """
    xscreensaver xscreensaver-gfx xscreensaver-systemd xscreensaver-auth swaylock i3lock xlock
    kscreenlocker_greet gnome-screensaver cinnamon-screensaver mate-screensaver light-locker xtrlock
    gdm-x-session sddm-greeter sddm-greeter-qt6 lightdm-gtk-greeter
"""
_BROWSERS = """
    firefox firefox-bin firefox-esr librewolf zen zen-bin chrome google-chrome chromium chromium-browser brave
    brave-browser vivaldi vivaldi-bin opera msedge microsoft-edge epiphany falkon qutebrowser webkitwebprocess
    qtwebengineprocess
"""
_PLAYERS = """
    vlc mpv totem celluloid smplayer mplayer haruna dragon kaffeine parole showtime clapper kodi kodi.bin
    jellyfinmediaplayer plex plexmediaplayer stremio freetube obs ffmpeg ffplay gst-launch-1.0 feh eog gwenview
    okular evince soffice.bin impressive
"""
_LAUNCHERS = """
    steam steamwebhelper lutris heroic bottles itch minigalaxy gamehub discord vesktop fossilize_replay
    fossilize-replay slack teams zoom code codium electron spotify signal thunderbird telegram-desktop
    element-desktop kitty alacritty wezterm-gui ghostty foot gnome-terminal- konsole nautilus dolphin
    gnome-control-c systemsettings
"""
_WITH_SPACES = ("web content", "gpu process")  # of browsers

NOT_GAMES = frozenset((_COMPOSITORS + _SCREEN_SAVERS + _BROWSERS + _PLAYERS + _LAUNCHERS).split()).union(_WITH_SPACES)


def is_desktop_program(program: Program) -> bool:
    return not NOT_GAMES.isdisjoint((*program.names, program.app))


def gpu_use(program: Program, percent: float, *, busy_percent: float, pci: str) -> Sighting | None:
    """Judge a program by its share of a GPU: likely a game from `busy_percent` on, a weak sign for less."""
    if percent < busy_percent * WEAK_SHARE or is_desktop_program(program):
        return None
    certainty = Certainty.LIKELY if percent >= busy_percent else Certainty.WEAK
    return Sighting(Reason.GPU_BUSY, program.app, certainty, program.app, pci)
