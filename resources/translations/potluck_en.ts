<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name></name>
    <message numerus="yes">
        <source>%n session(s) left</source>
        <translation>
            <numerusform>%n session left</numerusform>
            <numerusform>%n sessions left</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n entries written to {file}.</source>
        <translation>
            <numerusform>%n entry written to {file}.</numerusform>
            <numerusform>%n entries written to {file}.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Watching for games and activity (%n detector(s) not working)</source>
        <translation>
            <numerusform>Watching for games and activity (%n detector not working)</numerusform>
            <numerusform>Watching for games and activity (%n detectors not working)</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n layer(s), status unknown.</source>
        <translation>
            <numerusform>%n layer, status unknown.</numerusform>
            <numerusform>%n layers, status unknown.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>All %n layer(s) online.</source>
        <translation>
            <numerusform>The %n layer is online.</numerusform>
            <numerusform>All %n layers online.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>{name} and %n other(s)</source>
        <translation>
            <numerusform>{name} and %n other</numerusform>
            <numerusform>{name} and %n others</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Fits with %n friend(s) like you</source>
        <translation>
            <numerusform>Fits with %n friend like you</numerusform>
            <numerusform>Fits with %n friends like you</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>BackupForm</name>
    <message numerus="yes">
        <source>The password needs at least %n letters.</source>
        <translation>
            <numerusform>The password needs at least %n letter.</numerusform>
            <numerusform>The password needs at least %n letters.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ConnectPage</name>
    <message numerus="yes">
        <source>%n answer(s), {tokens} tokens</source>
        <translation>
            <numerusform>%n answer, {tokens} tokens</numerusform>
            <numerusform>%n answers, {tokens} tokens</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DiagnosticsSection</name>
    <message numerus="yes">
        <source>%n check(s) found nothing wrong</source>
        <translation>
            <numerusform>%n check found nothing wrong</numerusform>
            <numerusform>%n checks found nothing wrong</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>EarningsSection</name>
    <message numerus="yes">
        <source>person(s) helped</source>
        <translation>
            <numerusform>person helped</numerusform>
            <numerusform>people helped</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>LoadSection</name>
    <message numerus="yes">
        <source>open session(s)</source>
        <translation>
            <numerusform>open session</numerusform>
            <numerusform>open sessions</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>MembersCard</name>
    <message numerus="yes">
        <source>%n more. Search for a name.</source>
        <translation>
            <numerusform>%n more. Search for a name.</numerusform>
            <numerusform>%n more. Search for a name.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SwarmsCard</name>
    <message numerus="yes">
        <source>%n layer(s)</source>
        <translation>
            <numerusform>%n layer</numerusform>
            <numerusform>%n layers</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TodaySection</name>
    <message numerus="yes">
        <source>%n people</source>
        <translation>
            <numerusform>%n person</numerusform>
            <numerusform>%n people</numerusform>
        </translation>
    </message>
</context>
</TS>
