<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name></name>
    <message numerus="yes">
        <source>Others have signed for %n credit(s) of work. Thank you!</source>
        <translation>
            <numerusform>Others have signed for %n credit of work. Thank you!</numerusform>
            <numerusform>Others have signed for %n credits of work. Thank you!</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n session(s) left</source>
        <translation>
            <numerusform>%n session left</numerusform>
            <numerusform>%n sessions left</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n way(s) to notice that you need the computer</source>
        <translation>
            <numerusform>%n way to notice that you need the computer</numerusform>
            <numerusform>%n ways to notice that you need the computer</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n do(es) not work</source>
        <translation>
            <numerusform>%n does not work</numerusform>
            <numerusform>%n do not work</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n block(s)</source>
        <translation>
            <numerusform>%n block</numerusform>
            <numerusform>%n blocks</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>each served at least %n time(s)</source>
        <translation>
            <numerusform>each served at least once</numerusform>
            <numerusform>each served at least %n times</numerusform>
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
        <source>Swarm “{swarm}”, %n block(s) in all</source>
        <translation>
            <numerusform>Swarm “{swarm}”, %n block in all</numerusform>
            <numerusform>Swarm “{swarm}”, %n blocks in all</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n of them here: {blocks}</source>
        <translation>
            <numerusform>%n of them here: {blocks}</numerusform>
            <numerusform>%n of them here: {blocks}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>CreditCard</name>
    <message numerus="yes">
        <source>from %n people</source>
        <translation>
            <numerusform>from one person</numerusform>
            <numerusform>from %n people</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DiagnosticsPage</name>
    <message numerus="yes">
        <source>%n check(s) found nothing wrong</source>
        <translation>
            <numerusform>%n check found nothing wrong</numerusform>
            <numerusform>%n checks found nothing wrong</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>EarningsPage</name>
    <message numerus="yes">
        <source>person(s) helped</source>
        <translation>
            <numerusform>person helped</numerusform>
            <numerusform>people helped</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>EnergyCard</name>
    <message numerus="yes">
        <source>day(s) in a row</source>
        <translation>
            <numerusform>day in a row</numerusform>
            <numerusform>days in a row</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message numerus="yes">
        <source>%n server(s)</source>
        <translation>
            <numerusform>%n server</numerusform>
            <numerusform>%n servers</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>NowCard</name>
    <message numerus="yes">
        <source>open session(s)</source>
        <translation>
            <numerusform>open session</numerusform>
            <numerusform>open sessions</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SwarmsCard</name>
    <message numerus="yes">
        <source>%n block(s)</source>
        <translation>
            <numerusform>%n block</numerusform>
            <numerusform>%n blocks</numerusform>
        </translation>
    </message>
</context>
</TS>
