"""What several pages are made of: parts of cards, buttons, fields, notices, dialogs, icons and the theme.

A widget knows words and colours, but neither pages nor the daemon. Every control has a name for screen readers, works
with the keyboard, and is not changed by the wheel. Texts that others chose are shown as they are, never as markup.
Colours, sizes and distances come from `theme` alone, in light and dark.
"""
