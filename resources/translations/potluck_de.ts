<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name></name>
    <message>
        <source>The answer is too long.</source>
        <translation>Die Antwort ist zu lang.</translation>
    </message>
    <message>
        <source>The answer took too long.</source>
        <translation>Die Antwort hat zu lange gedauert.</translation>
    </message>
    <message>
        <source>The gateway went away before the answer was complete.</source>
        <translation>Der Chat-Zugang ist verschwunden, bevor die Antwort fertig war.</translation>
    </message>
    <message>
        <source>The gateway said something that is not understood.</source>
        <translation>Der Chat-Zugang hat etwas Unverständliches gesagt.</translation>
    </message>
    <message>
        <source>{free} of {all} free</source>
        <translation>{free} von {all} frei</translation>
    </message>
    <message>
        <source>{number} GB/s</source>
        <translation>{number} GB/s</translation>
    </message>
    <message>
        <source>{number} TFLOPS in {dtype}</source>
        <translation>{number} TFLOPS in {dtype}</translation>
    </message>
    <message>
        <source>chosen by itself</source>
        <translation>von selbst gewählt</translation>
    </message>
    <message>
        <source>Problem</source>
        <translation>Problem</translation>
    </message>
    <message>
        <source>Warning</source>
        <translation>Warnung</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Hinweis</translation>
    </message>
    <message>
        <source>Fine</source>
        <translation>In Ordnung</translation>
    </message>
    <message>
        <source>Measured by {name}: {watts} W lately.</source>
        <translation>Gemessen von {name}: zuletzt {watts} W.</translation>
    </message>
    <message>
        <source>As you gave it in the settings: {watts} W while serving.</source>
        <translation>Wie in deinen Einstellungen: {watts} W im Einsatz.</translation>
    </message>
    <message>
        <source>Estimated, not measured ({name}): {watts} W lately.</source>
        <translation>Geschätzt, nicht gemessen ({name}): zuletzt {watts} W.</translation>
    </message>
    <message numerus="yes">
        <source>%n entries written to {file}.</source>
        <translation>
            <numerusform>%n Eintrag in {file} geschrieben.</numerusform>
            <numerusform>%n Einträge in {file} geschrieben.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Swarm “{swarm}”, %n block(s) in all</source>
        <translation>
            <numerusform>Schwarm „{swarm}“, insgesamt %n Block</numerusform>
            <numerusform>Schwarm „{swarm}“, insgesamt %n Blöcke</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n of them here: {blocks}</source>
        <translation>
            <numerusform>%n davon hier: {blocks}</numerusform>
            <numerusform>%n davon hier: {blocks}</numerusform>
        </translation>
    </message>
    <message>
        <source>Computed on {device} in {dtype}</source>
        <translation>Gerechnet auf {device} in {dtype}</translation>
    </message>
    <message>
        <source>weights held in {format}</source>
        <translation>Gewichte gespeichert in {format}</translation>
    </message>
    <message>
        <source>{size} of weights stay in its memory</source>
        <translation>{size} an Gewichten bleiben in seinem Speicher</translation>
    </message>
    <message>
        <source>{size} pass through it each time</source>
        <translation>{size} laufen jedes Mal hindurch</translation>
    </message>
    <message>
        <source>{done} of {all}</source>
        <translation>{done} von {all}</translation>
    </message>
    <message>
        <source>{size} in a second</source>
        <translation>{size} pro Sekunde</translation>
    </message>
    <message>
        <source>Potluck needs attention</source>
        <translation>Potluck braucht dich</translation>
    </message>
    <message>
        <source>Potluck was updated</source>
        <translation>Potluck wurde aktualisiert</translation>
    </message>
    <message>
        <source>A milestone</source>
        <translation>Ein Meilenstein</translation>
    </message>
    <message numerus="yes">
        <source>Others have signed for %n credit(s) of work. Thank you!</source>
        <translation>
            <numerusform>Andere haben dir Arbeit im Wert von %n Credit bestätigt. Danke!</numerusform>
            <numerusform>Andere haben dir Arbeit im Wert von %n Credits bestätigt. Danke!</numerusform>
        </translation>
    </message>
    <message>
        <source>Paused since {time}. Resume from the menu when you like.</source>
        <translation>Pausiert seit {time}. Im Menü geht es weiter, wann du willst.</translation>
    </message>
    <message>
        <source>Still paused</source>
        <translation>Immer noch pausiert</translation>
    </message>
    <message>
        <source>Home</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ertrag</translation>
    </message>
    <message>
        <source>When to donate</source>
        <translation>Wann spenden</translation>
    </message>
    <message>
        <source>Limits</source>
        <translation>Grenzen</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Activity</source>
        <translation>Verlauf</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>Diagnose</translation>
    </message>
    <message>
        <source>Installation</source>
        <translation>Installation</translation>
    </message>
    <message>
        <source>What Potluck watches</source>
        <translation>Worauf Potluck achtet</translation>
    </message>
    <message>
        <source>Welcome</source>
        <translation>Willkommen</translation>
    </message>
    <message>
        <source>Pause for an hour</source>
        <translation>Eine Stunde pausieren</translation>
    </message>
    <message>
        <source>Pause until tomorrow, {time}</source>
        <translation>Bis morgen pausieren, {time}</translation>
    </message>
    <message>
        <source>Pause until the game ends</source>
        <translation>Pausieren, bis das Spiel endet</translation>
    </message>
    <message>
        <source>Pause until I resume</source>
        <translation>Pausieren, bis ich fortsetze</translation>
    </message>
    <message>
        <source>Not serving</source>
        <translation>Nicht im Einsatz</translation>
    </message>
    <message>
        <source>Finishing the open sessions, then shutting down</source>
        <translation>Beendet die offenen Sitzungen und fährt dann herunter</translation>
    </message>
    <message>
        <source>Paused by you until the game ends</source>
        <translation>Von dir pausiert, bis das Spiel endet</translation>
    </message>
    <message>
        <source>Paused by you</source>
        <translation>Von dir pausiert</translation>
    </message>
    <message>
        <source>Memory freed by you</source>
        <translation>Speicher von dir freigegeben</translation>
    </message>
    <message>
        <source>No swarm joined yet</source>
        <translation>Noch in keinem Schwarm</translation>
    </message>
    <message>
        <source>Serving is switched off in the settings</source>
        <translation>Das Spenden ist in den Einstellungen ausgeschaltet</translation>
    </message>
    <message>
        <source>The engine is not set up yet</source>
        <translation>Die Engine ist noch nicht eingerichtet</translation>
    </message>
    <message>
        <source>The computer goes to sleep</source>
        <translation>Der Computer geht schlafen</translation>
    </message>
    <message>
        <source>Starting up</source>
        <translation>Startet</translation>
    </message>
    <message>
        <source>Looking whether somebody needs the computer</source>
        <translation>Schaut, ob jemand den Computer braucht</translation>
    </message>
    <message>
        <source>Starting the engine</source>
        <translation>Startet die Engine</translation>
    </message>
    <message>
        <source>Loading blocks</source>
        <translation>Lädt Blöcke</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model} slowly, while you use the computer</source>
        <translation>Stellt die Blöcke {blocks} von {model} langsam bereit, während du den Computer benutzt</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model} slowly, because {who} is hot</source>
        <translation>Stellt die Blöcke {blocks} von {model} langsam bereit, weil {who} heiß ist</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model} slowly, to stay below the power cap of {who}</source>
        <translation>Stellt die Blöcke {blocks} von {model} langsam bereit, um unter der Leistungsgrenze von {who} zu bleiben</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model}</source>
        <translation>Stellt die Blöcke {blocks} von {model} bereit</translation>
    </message>
    <message>
        <source>Giving way to {who}, which fills the screen</source>
        <translation>Macht Platz für {who} im Vollbild</translation>
    </message>
    <message>
        <source>Giving way to {who}, which keeps the GPU busy</source>
        <translation>Macht Platz für {who}, das die Grafikkarte auslastet</translation>
    </message>
    <message>
        <source>Giving way to {who}, who sits at the computer</source>
        <translation>Macht Platz für {who} am Computer</translation>
    </message>
    <message>
        <source>Giving way to {who}</source>
        <translation>Macht Platz für {who}</translation>
    </message>
    <message>
        <source>Giving way: other programs need the memory of {who}</source>
        <translation>Macht Platz: Andere Programme brauchen den Speicher von {who}</translation>
    </message>
    <message>
        <source>Giving way: other programs need the memory</source>
        <translation>Macht Platz: Andere Programme brauchen den Speicher</translation>
    </message>
    <message>
        <source>There is enough memory again; waiting a moment</source>
        <translation>Es ist wieder genug Speicher da; wartet einen Moment</translation>
    </message>
    <message>
        <source>You are back at the computer; waiting a moment</source>
        <translation>Du bist wieder am Computer; wartet einen Moment</translation>
    </message>
    <message>
        <source>Plugged in again; waiting a moment</source>
        <translation>Wieder am Strom; wartet einen Moment</translation>
    </message>
    <message>
        <source>The network is not metered any more; waiting a moment</source>
        <translation>Das Netz ist nicht mehr getaktet; wartet einen Moment</translation>
    </message>
    <message>
        <source>It has cooled down; waiting a moment</source>
        <translation>Es hat sich abgekühlt; wartet einen Moment</translation>
    </message>
    <message>
        <source>{who} is over; waiting a moment</source>
        <translation>{who} ist vorbei; wartet einen Moment</translation>
    </message>
    <message>
        <source>Not serving on battery</source>
        <translation>Im Akkubetrieb wird nicht gespendet</translation>
    </message>
    <message>
        <source>Not serving over {who}, which is metered</source>
        <translation>Über {who} wird nicht gespendet, es ist getaktet</translation>
    </message>
    <message>
        <source>Too hot: {who}</source>
        <translation>Zu heiß: {who}</translation>
    </message>
    <message>
        <source>Serving only when nobody uses the computer, and nothing here can tell</source>
        <translation>Spendet nur, wenn niemand den Computer benutzt, und nichts hier kann das erkennen</translation>
    </message>
    <message>
        <source>Serving only when nobody uses the computer</source>
        <translation>Spendet nur, wenn niemand den Computer benutzt</translation>
    </message>
    <message>
        <source>Outside of the hours in which you serve</source>
        <translation>Außerhalb der Stunden, in denen du spendest</translation>
    </message>
    <message>
        <source>Today&apos;s upload is used up: {used} of {all} MiB</source>
        <translation>Das Hochladen für heute ist verbraucht: {used} von {all} MiB</translation>
    </message>
    <message>
        <source>Today&apos;s download is used up: {used} of {all} MiB</source>
        <translation>Das Herunterladen für heute ist verbraucht: {used} von {all} MiB</translation>
    </message>
    <message>
        <source>Today&apos;s electricity is used up: {used} of {all}</source>
        <translation>Der Strom für heute ist verbraucht: {used} von {all}</translation>
    </message>
    <message>
        <source>The disk is nearly full: {free} MiB are free, {least} must stay free</source>
        <translation>Die Festplatte ist fast voll: {free} MiB sind frei, {least} müssen frei bleiben</translation>
    </message>
    <message>
        <source>Downloaded checkpoints take {used} of {all} MiB</source>
        <translation>Geladene Modelle belegen {used} von {all} MiB</translation>
    </message>
    <message>
        <source>when Potluck is started again</source>
        <translation>wenn Potluck wieder gestartet wird</translation>
    </message>
    <message>
        <source>when the game ends, or when you resume</source>
        <translation>wenn das Spiel endet oder du fortsetzt</translation>
    </message>
    <message>
        <source>when the time is over, or when you resume</source>
        <translation>wenn die Zeit um ist oder du fortsetzt</translation>
    </message>
    <message>
        <source>when the moment is over, or when you resume</source>
        <translation>wenn der Moment um ist oder du fortsetzt</translation>
    </message>
    <message>
        <source>when it has been tried again, or when you resume</source>
        <translation>nach einem neuen Versuch oder wenn du fortsetzt</translation>
    </message>
    <message>
        <source>when you resume</source>
        <translation>wenn du fortsetzt</translation>
    </message>
    <message>
        <source>when you join or create a swarm</source>
        <translation>wenn du einem Schwarm beitrittst oder einen gründest</translation>
    </message>
    <message>
        <source>when you switch serve.enabled on</source>
        <translation>wenn du das Spenden wieder einschaltest</translation>
    </message>
    <message>
        <source>when you set it up: in the app, or with `potluck setup`</source>
        <translation>wenn du sie einrichtest: in der App oder mit `potluck setup`</translation>
    </message>
    <message>
        <source>when the computer wakes up</source>
        <translation>wenn der Computer aufwacht</translation>
    </message>
    <message>
        <source>when the computer is plugged in</source>
        <translation>wenn der Computer am Strom ist</translation>
    </message>
    <message>
        <source>when the network is not metered</source>
        <translation>wenn das Netz nicht getaktet ist</translation>
    </message>
    <message>
        <source>when it has cooled down</source>
        <translation>wenn es sich abgekühlt hat</translation>
    </message>
    <message>
        <source>when it draws less power</source>
        <translation>wenn weniger Leistung gebraucht wird</translation>
    </message>
    <message>
        <source>when keyboard and mouse have rested for a while</source>
        <translation>wenn Tastatur und Maus eine Weile geruht haben</translation>
    </message>
    <message>
        <source>when something can tell</source>
        <translation>wenn das etwas erkennen kann</translation>
    </message>
    <message>
        <source>when the next hours of when.hours begin</source>
        <translation>wenn deine nächsten Stunden beginnen</translation>
    </message>
    <message>
        <source>at midnight</source>
        <translation>um Mitternacht</translation>
    </message>
    <message>
        <source>when there is room, or when limits.disk_free_mb is smaller</source>
        <translation>wenn Platz da ist oder weniger frei bleiben muss</translation>
    </message>
    <message>
        <source>when some are deleted, or when limits.disk_mb is larger</source>
        <translation>wenn welche gelöscht sind oder die Grenze höher ist</translation>
    </message>
    <message>
        <source>{time} s after there is enough memory again</source>
        <translation>{time} s nachdem wieder genug Speicher da ist</translation>
    </message>
    <message>
        <source>{time} s after you are back at the computer</source>
        <translation>{time} s nachdem du wieder am Computer bist</translation>
    </message>
    <message>
        <source>{time} s after {who} has ended</source>
        <translation>{time} s nach dem Ende von {who}</translation>
    </message>
    <message>
        <source>{time} s after {who} is done</source>
        <translation>{time} s nachdem {who} fertig ist</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>Startet</translation>
    </message>
    <message>
        <source>Importing</source>
        <translation>Laden der Programme</translation>
    </message>
    <message>
        <source>Loading embeddings and head</source>
        <translation>Laden von Anfang und Ende des Modells</translation>
    </message>
    <message>
        <source>Measured {name}</source>
        <translation>{name} gemessen</translation>
    </message>
    <message>
        <source>no GPU is found; blocks are served by the processor, which is slow but works</source>
        <translation>keine Grafikkarte gefunden; Blöcke bedient der Prozessor, was langsam ist, aber geht</translation>
    </message>
    <message>
        <source>{who} cannot be used by torch {version}</source>
        <translation>{who} kann torch {version} nicht nutzen</translation>
    </message>
    <message>
        <source>{who} can be used, with driver {driver}</source>
        <translation>{who} kann genutzt werden, mit Treiber {driver}</translation>
    </message>
    <message>
        <source>{who} can be used</source>
        <translation>{who} kann genutzt werden</translation>
    </message>
    <message>
        <source>as you asked</source>
        <translation>wie gewünscht</translation>
    </message>
    <message>
        <source>install NVIDIA&apos;s driver {number} or newer to use {who}; this machine has none</source>
        <translation>für {who} ist NVIDIAs Treiber {number} oder ein neuerer nötig; dieser Computer hat keinen</translation>
    </message>
    <message>
        <source>install NVIDIA&apos;s driver {number} or newer to use {who}; this machine has {driver}</source>
        <translation>für {who} ist NVIDIAs Treiber {number} oder ein neuerer nötig; dieser Computer hat {driver}</translation>
    </message>
    <message>
        <source>graphics inside the processor share its memory; computing on them gains nothing</source>
        <translation>Grafik im Prozessor teilt sich dessen Speicher; auf ihr zu rechnen bringt nichts</translation>
    </message>
    <message>
        <source>{who} is older than what torch {version} has kernels for</source>
        <translation>{who} ist zu alt für torch {version}</translation>
    </message>
    <message>
        <source>{free} GB are free, {least} GB are needed at most</source>
        <translation>{free} GB sind frei, höchstens {least} GB sind nötig</translation>
    </message>
    <message>
        <source>packages are fetched through the proxy {host}</source>
        <translation>Pakete werden über den Proxy {host} geholt</translation>
    </message>
    <message>
        <source>{path} cannot be written</source>
        <translation>in {path} kann nicht geschrieben werden</translation>
    </message>
    <message>
        <source>{file} cannot be fetched from {host}: {why}</source>
        <translation>{file} lässt sich nicht von {host} holen: {why}</translation>
    </message>
    <message>
        <source>packages cannot be installed: {why}</source>
        <translation>Pakete lassen sich nicht installieren: {why}</translation>
    </message>
    <message>
        <source>the disk of {folder} is full</source>
        <translation>die Platte von {folder} ist voll</translation>
    </message>
    <message>
        <source>make room, or choose another folder, then try again: it goes on where it stopped</source>
        <translation>schaffe Platz oder wähle einen anderen Ordner, dann versuche es noch einmal: es geht weiter, wo es stehen blieb</translation>
    </message>
    <message>
        <source>choose another folder, or see whom it belongs to</source>
        <translation>wähle einen anderen Ordner oder sieh nach, wem er gehört</translation>
    </message>
    <message>
        <source>{host} cannot be found</source>
        <translation>{host} ist nicht zu finden</translation>
    </message>
    <message>
        <source>{host} does not answer</source>
        <translation>{host} antwortet nicht</translation>
    </message>
    <message>
        <source>see that this computer has a network, then try again: it goes on where it stopped</source>
        <translation>sieh nach, ob dieser Computer ein Netz hat, dann versuche es noch einmal: es geht weiter, wo es stehen blieb</translation>
    </message>
    <message>
        <source>try again: it goes on where it stopped</source>
        <translation>versuche es noch einmal: es geht weiter, wo es stehen blieb</translation>
    </message>
    <message>
        <source>{file} arrives damaged</source>
        <translation>{file} kommt beschädigt an</translation>
    </message>
    <message>
        <source>see whether something changes downloads, then try again: it goes on where it stopped</source>
        <translation>sieh nach, ob etwas Downloads verändert, dann versuche es noch einmal: es geht weiter, wo es stehen blieb</translation>
    </message>
    <message>
        <source>{what} is not offered where packages come from</source>
        <translation>{what} gibt es dort nicht, woher Pakete kommen</translation>
    </message>
    <message>
        <source>the engine does not answer</source>
        <translation>die Engine antwortet nicht</translation>
    </message>
    <message>
        <source>try again when the computer has less to do</source>
        <translation>versuche es noch einmal, wenn der Computer weniger zu tun hat</translation>
    </message>
    <message>
        <source>the proxy does not lead to {host}</source>
        <translation>der Proxy führt nicht zu {host}</translation>
    </message>
    <message>
        <source>{path} vanished while the engine was set up</source>
        <translation>{path} verschwand, während die Engine eingerichtet wurde</translation>
    </message>
    <message>
        <source>leave its folder alone, and try again</source>
        <translation>lass ihren Ordner in Ruhe und versuche es noch einmal</translation>
    </message>
    <message>
        <source>the engine does not work here: {why}</source>
        <translation>die Engine funktioniert hier nicht: {why}</translation>
    </message>
    <message>
        <source>the engine is being set up already</source>
        <translation>die Engine wird schon eingerichtet</translation>
    </message>
    <message>
        <source>wait until that is done, or cancel it</source>
        <translation>warte, bis das fertig ist, oder brich es ab</translation>
    </message>
    <message>
        <source>{what} ({number} of {all})</source>
        <translation>{what} ({number} von {all})</translation>
    </message>
    <message>
        <source>fetching</source>
        <translation>wird geholt</translation>
    </message>
    <message>
        <source>unpacking</source>
        <translation>wird ausgepackt</translation>
    </message>
    <message>
        <source>letting open sessions end</source>
        <translation>offene Sitzungen laufen aus</translation>
    </message>
    <message>
        <source>starting the new version</source>
        <translation>die neue Version startet</translation>
    </message>
    <message>
        <source>watching the new version</source>
        <translation>die neue Version wird beobachtet</translation>
    </message>
    <message>
        <source>going back to the version before</source>
        <translation>zurück zur vorigen Version</translation>
    </message>
    <message>
        <source>the last try was interrupted</source>
        <translation>der letzte Versuch wurde unterbrochen</translation>
    </message>
    <message>
        <source>nothing is lost: try again</source>
        <translation>nichts ist verloren: versuche es noch einmal</translation>
    </message>
    <message>
        <source>the publisher did not answer within {time} s</source>
        <translation>der Herausgeber hat nicht innerhalb von {time} s geantwortet</translation>
    </message>
    <message>
        <source>try again later; see that this computer has a network, and the setting updates.url</source>
        <translation>versuche es später noch einmal; sieh nach, ob dieser Computer Netz hat, und nach der Einstellung updates.url</translation>
    </message>
    <message>
        <source>the look for updates cannot be started: {why}</source>
        <translation>die Suche nach Aktualisierungen lässt sich nicht starten: {why}</translation>
    </message>
    <message>
        <source>is there enough memory?</source>
        <translation>ist genug Speicher frei?</translation>
    </message>
    <message>
        <source>the look for updates ended without a word, {why}</source>
        <translation>die Suche nach Aktualisierungen endete wortlos, {why}</translation>
    </message>
    <message>
        <source>the look for updates ended: {why}</source>
        <translation>die Suche nach Aktualisierungen endete: {why}</translation>
    </message>
    <message>
        <source>to see more, in a terminal: potluck update --check</source>
        <translation>mehr zeigt im Terminal: potluck update --check</translation>
    </message>
    <message>
        <source>asking the publisher</source>
        <translation>der Herausgeber wird gefragt</translation>
    </message>
    <message>
        <source>beginning</source>
        <translation>es geht los</translation>
    </message>
    <message>
        <source>updates cannot be had from {host}: {why}</source>
        <translation>von {host} sind keine Aktualisierungen zu bekommen: {why}</translation>
    </message>
    <message>
        <source>see that this computer has a network, and the setting updates.url</source>
        <translation>sieh nach, ob dieser Computer Netz hat, und nach der Einstellung updates.url</translation>
    </message>
    <message>
        <source>the connection ended before the update was here</source>
        <translation>die Verbindung endete, bevor die Aktualisierung da war</translation>
    </message>
    <message>
        <source>try again later; it goes on where it stopped</source>
        <translation>versuche es später noch einmal; es geht da weiter, wo es aufgehört hat</translation>
    </message>
    <message>
        <source>the server only trickles</source>
        <translation>der Server liefert nur tröpfchenweise</translation>
    </message>
    <message>
        <source>the update is not the file that was signed; nothing was changed</source>
        <translation>die Aktualisierung ist nicht die Datei, die signiert wurde; nichts wurde geändert</translation>
    </message>
    <message>
        <source>the update cannot be stored: {why}</source>
        <translation>die Aktualisierung lässt sich nicht speichern: {why}</translation>
    </message>
    <message>
        <source>make room on the disk</source>
        <translation>schaffe Platz auf der Festplatte</translation>
    </message>
    <message>
        <source>the update is not signed by the publisher you trust; nothing was changed</source>
        <translation>die Aktualisierung ist nicht von dem Herausgeber signiert, dem du vertraust; nichts wurde geändert</translation>
    </message>
    <message>
        <source>compare the setting updates.key with the publisher&apos;s page</source>
        <translation>vergleiche die Einstellung updates.key mit der Seite des Herausgebers</translation>
    </message>
    <message>
        <source>the update&apos;s description has expired: the publisher is gone, or somebody hides newer ones</source>
        <translation>die Beschreibung der Aktualisierung ist abgelaufen: den Herausgeber gibt es nicht mehr, oder jemand hält neuere zurück</translation>
    </message>
    <message>
        <source>version {offered} is offered, but {number} was before: somebody shows an old description</source>
        <translation>Version {offered} wird angeboten, vorher war es {number}: jemand zeigt eine alte Beschreibung</translation>
    </message>
    <message>
        <source>see the publisher&apos;s page</source>
        <translation>sieh auf der Seite des Herausgebers nach</translation>
    </message>
    <message>
        <source>the update&apos;s description is from the future</source>
        <translation>die Beschreibung der Aktualisierung ist aus der Zukunft</translation>
    </message>
    <message>
        <source>set this computer&apos;s clock</source>
        <translation>stelle die Uhr dieses Computers</translation>
    </message>
    <message>
        <source>version {offered} did not come up ({why}); {number} is in use again</source>
        <translation>Version {offered} kam nicht hoch ({why}); {number} ist wieder in Gebrauch</translation>
    </message>
    <message>
        <source>where updates come from is not said</source>
        <translation>es ist nicht gesagt, woher Aktualisierungen kommen</translation>
    </message>
    <message>
        <source>set updates.url and updates.key, as published</source>
        <translation>setze updates.url und updates.key, wie veröffentlicht</translation>
    </message>
    <message>
        <source>another update runs already</source>
        <translation>eine andere Aktualisierung läuft schon</translation>
    </message>
    <message>
        <source>an update runs already</source>
        <translation>eine Aktualisierung läuft schon</translation>
    </message>
    <message>
        <source>try again later</source>
        <translation>versuche es später noch einmal</translation>
    </message>
    <message>
        <source>try again</source>
        <translation>versuche es noch einmal</translation>
    </message>
    <message>
        <source>The daemon runs version {theirs}, this program is {ours}</source>
        <translation>Der Dienst läuft in Version {theirs}, dieses Programm ist {ours}</translation>
    </message>
    <message>
        <source>start this program again</source>
        <translation>starte dieses Programm neu</translation>
    </message>
    <message>
        <source>restart the daemon: potluck drain, then potluck start</source>
        <translation>starte den Dienst neu: potluck drain, dann potluck start</translation>
    </message>
    <message>
        <source>Joining the swarm</source>
        <translation>Tritt dem Schwarm bei</translation>
    </message>
    <message>
        <source>Serving</source>
        <translation>Im Einsatz</translation>
    </message>
    <message>
        <source>Stepping aside</source>
        <translation>Macht gerade Platz</translation>
    </message>
    <message>
        <source>Stepped aside</source>
        <translation>Macht Platz</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>Pausiert</translation>
    </message>
    <message>
        <source>Something failed</source>
        <translation>Etwas ist schiefgegangen</translation>
    </message>
    <message>
        <source>Running</source>
        <translation>Läuft</translation>
    </message>
    <message>
        <source>Looking at this computer</source>
        <translation>Dieser Computer wird angesehen</translation>
    </message>
    <message>
        <source>Looking up the packages</source>
        <translation>Pakete werden nachgeschlagen</translation>
    </message>
    <message>
        <source>Installing</source>
        <translation>Wird installiert</translation>
    </message>
    <message>
        <source>Trying it out on this computer</source>
        <translation>Wird auf diesem Computer ausprobiert</translation>
    </message>
    <message>
        <source>In use from now on</source>
        <translation>Ab jetzt in Gebrauch</translation>
    </message>
    <message>
        <source>{name}, for the processor</source>
        <translation>{name}, für den Prozessor</translation>
    </message>
    <message>
        <source>{name}, for graphics cards by NVIDIA</source>
        <translation>{name}, für Grafikkarten von NVIDIA</translation>
    </message>
    <message>
        <source>{name}, for older graphics cards or drivers by NVIDIA</source>
        <translation>{name}, für ältere Grafikkarten oder Treiber von NVIDIA</translation>
    </message>
    <message>
        <source>{name}, for graphics cards by AMD</source>
        <translation>{name}, für Grafikkarten von AMD</translation>
    </message>
    <message>
        <source>{name}, for Macs with Apple&apos;s processor</source>
        <translation>{name}, für Macs mit Apples Prozessor</translation>
    </message>
    <message>
        <source>{name}, for graphics cards by Intel</source>
        <translation>{name}, für Grafikkarten von Intel</translation>
    </message>
    <message>
        <source>Sees something now</source>
        <translation>Sieht gerade etwas</translation>
    </message>
    <message>
        <source>Does not work</source>
        <translation>Funktioniert nicht</translation>
    </message>
    <message>
        <source>Watching, nothing seen</source>
        <translation>Passt auf, sieht nichts</translation>
    </message>
    <message>
        <source>Resting, as there is nothing to give back</source>
        <translation>Ruht, denn es gibt nichts zurückzugeben</translation>
    </message>
    <message>
        <source>Not on this computer</source>
        <translation>Nicht auf diesem Computer</translation>
    </message>
    <message>
        <source>Not needed with these settings</source>
        <translation>Mit diesen Einstellungen nicht nötig</translation>
    </message>
    <message>
        <source>Known only to a newer version</source>
        <translation>Nur einer neueren Version bekannt</translation>
    </message>
    <message>
        <source>Potluck is not running</source>
        <translation>Potluck läuft nicht</translation>
    </message>
    <message>
        <source>Nothing is served until it runs. Your settings and what you earned are kept.</source>
        <translation>Bis es läuft, wird nichts bereitgestellt. Deine Einstellungen und dein Guthaben bleiben.</translation>
    </message>
    <message>
        <source>The daemon has ended.</source>
        <translation>Der Dienst hat sich beendet.</translation>
    </message>
    <message>
        <source>Serving at {percent} %</source>
        <translation>Im Einsatz mit {percent} %</translation>
    </message>
    <message>
        <source>Finishing</source>
        <translation>Kommt zum Ende</translation>
    </message>
    <message>
        <source>Shutting down</source>
        <translation>Fährt herunter</translation>
    </message>
    <message numerus="yes">
        <source>%n session(s) left</source>
        <translation>
            <numerusform>noch %n Sitzung</numerusform>
            <numerusform>noch %n Sitzungen</numerusform>
        </translation>
    </message>
    <message>
        <source>{left}; shuts down at {time} at the latest.</source>
        <translation>{left}; fährt spätestens um {time} herunter.</translation>
    </message>
    <message>
        <source>Serves again at {time}.</source>
        <translation>Um {time} wieder im Einsatz.</translation>
    </message>
    <message>
        <source>Serves again {condition}.</source>
        <translation>Wieder im Einsatz: {condition}.</translation>
    </message>
    <message>
        <source>Full speed again at {time}.</source>
        <translation>Um {time} wieder mit voller Kraft.</translation>
    </message>
    <message>
        <source>Full speed again {condition}.</source>
        <translation>Wieder mit voller Kraft: {condition}.</translation>
    </message>
    <message>
        <source>Tries again at {time}.</source>
        <translation>Neuer Versuch um {time}.</translation>
    </message>
    <message>
        <source>Tries again {condition}.</source>
        <translation>Neuer Versuch: {condition}.</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Keep serving</source>
        <translation>Weitermachen</translation>
    </message>
    <message>
        <source>Serve now</source>
        <translation>Jetzt loslegen</translation>
    </message>
    <message>
        <source>Start donating again</source>
        <translation>Wieder spenden</translation>
    </message>
    <message>
        <source>Try again now</source>
        <translation>Jetzt noch einmal versuchen</translation>
    </message>
    <message>
        <source>Never step aside for {program}…</source>
        <translation>Nie für {program} Platz machen…</translation>
    </message>
    <message>
        <source>Go on serving whenever {program} runs, now and from now on? You can take it back on the Activity page.</source>
        <translation>Ab jetzt immer weitermachen, wenn {program} läuft? Auf der Seite Verlauf kannst du es zurücknehmen.</translation>
    </message>
    <message>
        <source>Watches nothing just now</source>
        <translation>Achtet gerade auf nichts</translation>
    </message>
    <message numerus="yes">
        <source>%n way(s) to notice that you need the computer</source>
        <translation>
            <numerusform>%n Weg zu merken, dass du den Computer brauchst</numerusform>
            <numerusform>%n Wege zu merken, dass du den Computer brauchst</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n do(es) not work</source>
        <translation>
            <numerusform>%n funktioniert nicht</numerusform>
            <numerusform>%n funktionieren nicht</numerusform>
        </translation>
    </message>
    <message>
        <source>Used today: {sent} sent, {received} received, {energy} of electricity</source>
        <translation>Heute verbraucht: {sent} gesendet, {received} empfangen, {energy} Strom</translation>
    </message>
    <message>
        <source>{energy} for {cost}</source>
        <translation>{energy} für {cost}</translation>
    </message>
    <message>
        <source>{number} tokens/s</source>
        <translation>{number} Token/s</translation>
    </message>
    <message>
        <source>{used} of {all}</source>
        <translation>{used} von {all}</translation>
    </message>
    <message>
        <source>Fetching {what}</source>
        <translation>Holt {what}</translation>
    </message>
    <message>
        <source>{size}/s</source>
        <translation>{size}/s</translation>
    </message>
    <message>
        <source>about {time} left</source>
        <translation>noch etwa {time}</translation>
    </message>
    <message>
        <source>Fetches {download} at most, and takes {disk} of the disk.</source>
        <translation>Holt höchstens {download} und belegt {disk} auf der Platte.</translation>
    </message>
    <message>
        <source>the processor</source>
        <translation>Prozessor</translation>
    </message>
    <message>
        <source>graphics card {number}</source>
        <translation>Grafikkarte {number}</translation>
    </message>
    <message>
        <source>What to do: {advice}.</source>
        <translation>Was du tun kannst: {advice}.</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
    <message>
        <source>none of them yours</source>
        <translation>keiner davon von dir</translation>
    </message>
    <message>
        <source>yours: {blocks}</source>
        <translation>deine: {blocks}</translation>
    </message>
    <message>
        <source>at {time} {coverage}</source>
        <translation>um {time} {coverage}</translation>
    </message>
    <message numerus="yes">
        <source>%n block(s)</source>
        <translation>
            <numerusform>%n Block</numerusform>
            <numerusform>%n Blöcke</numerusform>
        </translation>
    </message>
    <message>
        <source>Together the swarm serves up to {rate}</source>
        <translation>Zusammen schafft der Schwarm bis zu {rate}</translation>
    </message>
    <message>
        <source>blocks {blocks} (framed) set the limit.</source>
        <translation>die Blöcke {blocks} (eingerahmt) sind der Engpass.</translation>
    </message>
    <message>
        <source>coverage not known yet</source>
        <translation>Abdeckung noch nicht bekannt</translation>
    </message>
    <message>
        <source>nobody serves {blocks}</source>
        <translation>niemand stellt {blocks} bereit</translation>
    </message>
    <message numerus="yes">
        <source>each served at least %n time(s)</source>
        <translation>
            <numerusform>jeder mindestens einmal vorhanden</numerusform>
            <numerusform>jeder mindestens %n-mal vorhanden</numerusform>
        </translation>
    </message>
    <message>
        <source>the daemon is not running</source>
        <translation>der Dienst läuft nicht</translation>
    </message>
    <message>
        <source>start it with: potluck start</source>
        <translation>starte ihn mit: potluck start</translation>
    </message>
    <message>
        <source>no permission to speak to the daemon at {path}</source>
        <translation>keine Erlaubnis, mit dem Dienst unter {path} zu sprechen</translation>
    </message>
    <message>
        <source>it belongs to another user</source>
        <translation>er gehört jemand anderem</translation>
    </message>
    <message>
        <source>the daemon does not answer: {why}</source>
        <translation>der Dienst antwortet nicht: {why}</translation>
    </message>
    <message>
        <source>{method} failed inside the daemon</source>
        <translation>{method} ist im Dienst gescheitert</translation>
    </message>
    <message>
        <source>`potluck logs` has the details</source>
        <translation>Näheres zeigt `potluck logs`</translation>
    </message>
    <message>
        <source>this is not an invite</source>
        <translation>das ist keine Einladung</translation>
    </message>
    <message>
        <source>this invite was made by a newer version</source>
        <translation>diese Einladung stammt von einer neueren Version</translation>
    </message>
    <message>
        <source>update Potluck, then try again</source>
        <translation>aktualisiere Potluck und versuche es noch einmal</translation>
    </message>
    <message>
        <source>the invite is incomplete or has a wrong letter in it</source>
        <translation>die Einladung ist unvollständig oder hat einen falschen Buchstaben</translation>
    </message>
    <message>
        <source>the invite is incomplete</source>
        <translation>die Einladung ist unvollständig</translation>
    </message>
    <message>
        <source>the invite is damaged</source>
        <translation>die Einladung ist beschädigt</translation>
    </message>
    <message>
        <source>there is a swarm named {name} already</source>
        <translation>einen Schwarm namens {name} gibt es schon</translation>
    </message>
    <message>
        <source>choose another name</source>
        <translation>wähle einen anderen Namen</translation>
    </message>
    <message>
        <source>you did not join a swarm named {name}</source>
        <translation>du bist keinem Schwarm namens {name} beigetreten</translation>
    </message>
    <message>
        <source>no swarm is joined</source>
        <translation>keinem Schwarm beigetreten</translation>
    </message>
    <message>
        <source>join one with: potluck join INVITE</source>
        <translation>tritt einem bei mit: potluck join EINLADUNG</translation>
    </message>
    <message>
        <source>the swarm cannot be found by others yet</source>
        <translation>andere können den Schwarm noch nicht finden</translation>
    </message>
    <message>
        <source>try again once this machine serves</source>
        <translation>versuche es wieder, wenn dieser Computer Blöcke bereitstellt</translation>
    </message>
    <message>
        <source>the swarm {name} cannot be found</source>
        <translation>der Schwarm {name} ist nicht zu finden</translation>
    </message>
    <message>
        <source>serve it, or ask a member for an invite</source>
        <translation>stelle selbst Blöcke bereit oder bitte ein Mitglied um eine Einladung</translation>
    </message>
    <message>
        <source>the folder of a checkpoint must be absolute</source>
        <translation>der Ordner eines Checkpoints muss ganz angegeben sein</translation>
    </message>
    <message>
        <source>begin it with / or ~</source>
        <translation>beginne ihn mit / oder ~</translation>
    </message>
    <message>
        <source>the hub did not tell in time about {name}</source>
        <translation>der Hub hat nicht rechtzeitig über {name} Auskunft gegeben</translation>
    </message>
    <message>
        <source>cannot ask the hub about {name}</source>
        <translation>der Hub lässt sich nicht nach {name} fragen</translation>
    </message>
    <message>
        <source>models are being moved already</source>
        <translation>Modelle werden schon verschoben</translation>
    </message>
    <message>
        <source>wait until that is done</source>
        <translation>warte, bis das fertig ist</translation>
    </message>
    <message>
        <source>the engine may be using them</source>
        <translation>die Engine benutzt sie vielleicht</translation>
    </message>
    <message>
        <source>pause first</source>
        <translation>pausiere zuerst</translation>
    </message>
    <message>
        <source>the folder must be absolute</source>
        <translation>der Ordner muss ganz angegeben sein</translation>
    </message>
    <message>
        <source>begin it with /</source>
        <translation>beginne ihn mit /</translation>
    </message>
    <message>
        <source>the models lie there already</source>
        <translation>die Modelle liegen schon dort</translation>
    </message>
    <message>
        <source>one of the folders lies in the other</source>
        <translation>einer der Ordner liegt im anderen</translation>
    </message>
    <message>
        <source>choose a folder beside it</source>
        <translation>wähle einen Ordner daneben</translation>
    </message>
    <message>
        <source>choose another folder</source>
        <translation>wähle einen anderen Ordner</translation>
    </message>
    <message>
        <source>delete models that nobody uses, or choose another disk</source>
        <translation>lösche Modelle, die niemand benutzt, oder wähle eine andere Festplatte</translation>
    </message>
    <message>
        <source>cannot delete {path}: {why}</source>
        <translation>{path} lässt sich nicht löschen: {why}</translation>
    </message>
    <message>
        <source>cannot make {path}: {why}</source>
        <translation>{path} lässt sich nicht anlegen: {why}</translation>
    </message>
    <message>
        <source>cannot write {path}: {why}</source>
        <translation>in {path} lässt sich nicht schreiben: {why}</translation>
    </message>
    <message>
        <source>does it belong to you?</source>
        <translation>gehört es dir?</translation>
    </message>
    <message>
        <source>does the folder belong to you?</source>
        <translation>gehört der Ordner dir?</translation>
    </message>
    <message>
        <source>is the disk full?</source>
        <translation>ist die Festplatte voll?</translation>
    </message>
    <message>
        <source>there is a file {path} already</source>
        <translation>eine Datei {path} gibt es schon</translation>
    </message>
    <message>
        <source>choose another place</source>
        <translation>wähle einen anderen Ort</translation>
    </message>
    <message>
        <source>somebody needs the device now</source>
        <translation>jemand braucht das Gerät gerade</translation>
    </message>
    <message>
        <source>measure when the game has ended</source>
        <translation>miss, wenn das Spiel zu Ende ist</translation>
    </message>
    <message>
        <source>the engine&apos;s environment is missing</source>
        <translation>die Umgebung der Engine fehlt</translation>
    </message>
    <message>
        <source>make it with: potluck setup</source>
        <translation>richte sie ein mit: potluck setup</translation>
    </message>
    <message>
        <source>there is no earlier environment to go back to</source>
        <translation>es gibt keine frühere Umgebung, zu der es zurückginge</translation>
    </message>
    <message>
        <source>no game is running as far as one can see</source>
        <translation>soweit zu sehen ist, läuft kein Spiel</translation>
    </message>
    <message>
        <source>name a time: potluck pause 2h</source>
        <translation>nenne eine Zeit: potluck pause 2h</translation>
    </message>
    <message>
        <source>the programs that run cannot be listed here</source>
        <translation>laufende Programme lassen sich hier nicht auflisten</translation>
    </message>
    <message>
        <source>type a name instead</source>
        <translation>gib stattdessen einen Namen ein</translation>
    </message>
    <message>
        <source>this daemon is the machine&apos;s own service</source>
        <translation>dieser Dienst gehört dem Computer selbst</translation>
    </message>
    <message>
        <source>wait for its end</source>
        <translation>warte auf ihr Ende</translation>
    </message>
    <message>
        <source>the update does not begin</source>
        <translation>die Aktualisierung beginnt nicht</translation>
    </message>
    <message>
        <source>in a terminal: potluck update</source>
        <translation>im Terminal: potluck update</translation>
    </message>
    <message>
        <source>it did not start in time</source>
        <translation>es ist nicht rechtzeitig gestartet</translation>
    </message>
    <message>
        <source>it ended: {why}</source>
        <translation>es endete: {why}</translation>
    </message>
    <message>
        <source>cannot run {path}: {why}</source>
        <translation>{path} lässt sich nicht ausführen: {why}</translation>
    </message>
    <message>
        <source>Potluck {version} is offered; see: potluck update --check</source>
        <translation>Potluck {version} ist da; mehr mit: potluck update --check</translation>
    </message>
    <message>
        <source>the settings before this mistake stay in force</source>
        <translation>die Einstellungen vor diesem Fehler gelten weiter</translation>
    </message>
    <message>
        <source>the defaults hold where the file cannot be obeyed</source>
        <translation>wo die Datei nicht zu verstehen ist, gilt der Standard</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}; did you mean {other}?</source>
        <translation>{place}: eine Einstellung {key} gibt es nicht; ist {other} gemeint?</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}</source>
        <translation>{place}: eine Einstellung {key} gibt es nicht</translation>
    </message>
    <message>
        <source>earnings are not booked: {why}</source>
        <translation>Verdientes wird nicht gebucht: {why}</translation>
    </message>
    <message>
        <source>{file} was of a newer Potluck, and is now as before that, with what was changed since and is known here; not taken over: {keys}; the newer one is kept as {copy}</source>
        <translation>{file} war von einem neueren Potluck und ist nun wie davor, mit dem, was seither geändert wurde und hier bekannt ist; nicht übernommen: {keys}; die neuere liegt in {copy}</translation>
    </message>
    <message>
        <source>{file} was of a newer Potluck, and is now as before that, with what was changed since and is known here; the newer one is kept as {copy}</source>
        <translation>{file} war von einem neueren Potluck und ist nun wie davor, mit dem, was seither geändert wurde und hier bekannt ist; die neuere liegt in {copy}</translation>
    </message>
    <message>
        <source>only {free} MiB are free at {path}</source>
        <translation>nur {free} MiB sind frei in {path}</translation>
    </message>
    <message>
        <source>make room: settings and history cannot be kept</source>
        <translation>schaffe Platz: Einstellungen und Verlauf lassen sich nicht behalten</translation>
    </message>
    <message>
        <source>{free} GiB are free for downloaded checkpoints at {path}</source>
        <translation>{free} GiB sind frei für Checkpoints in {path}</translation>
    </message>
    <message>
        <source>make room, or use another disk: potluck models move DIR</source>
        <translation>schaffe Platz oder nimm eine andere Festplatte: potluck models move ORDNER</translation>
    </message>
    <message>
        <source>{free} of {all} GiB are available</source>
        <translation>{free} von {all} GiB sind verfügbar</translation>
    </message>
    <message>
        <source>an engine needs 2 GiB; this machine can only use a swarm</source>
        <translation>eine Engine braucht 2 GiB; dieser Computer kann einen Schwarm nur nutzen</translation>
    </message>
    <message>
        <source>end other programs, or serve fewer blocks: serve.num_blocks</source>
        <translation>beende andere Programme oder stelle weniger Blöcke bereit: serve.num_blocks</translation>
    </message>
    <message>
        <source>this machine has no network</source>
        <translation>dieser Computer hat kein Netz</translation>
    </message>
    <message>
        <source>connect it; without a network only a swarm on this machine works</source>
        <translation>verbinde ihn; ohne Netz geht nur ein Schwarm auf diesem Computer</translation>
    </message>
    <message>
        <source>{number} of {all} members that tried reached this machine directly: it serves through a relay</source>
        <translation>{number} von {all} Mitgliedern, die es versuchten, erreichten diesen Computer direkt: er arbeitet über ein Relay</translation>
    </message>
    <message>
        <source>it works, but more slowly; to be reached directly forward {port} in the router</source>
        <translation>es geht, aber langsamer; um direkt erreichbar zu sein, leite {port} im Router weiter</translation>
    </message>
    <message>
        <source>the engine needs {names}, which is not installed</source>
        <translation>die Engine braucht {names}, was nicht installiert ist</translation>
    </message>
    <message>
        <source>no port is chosen yet; the daemon does so when it starts</source>
        <translation>noch ist kein Port gewählt; das tut der Dienst, wenn er startet</translation>
    </message>
    <message>
        <source>the engine serves, but nobody listens at TCP port {port}</source>
        <translation>die Engine arbeitet, aber niemand hört auf TCP-Port {port}</translation>
    </message>
    <message>
        <source>another program listens at TCP port {port}, which the engine needs</source>
        <translation>ein anderes Programm hört auf TCP-Port {port}, den die Engine braucht</translation>
    </message>
    <message>
        <source>there is a GPU, but its driver does not answer: {why}</source>
        <translation>eine Grafikkarte ist da, aber ihr Treiber antwortet nicht: {why}</translation>
    </message>
    <message>
        <source>install or repair NVIDIA&apos;s driver, then restart the machine</source>
        <translation>installiere oder repariere NVIDIAs Treiber und starte den Computer neu</translation>
    </message>
    <message>
        <source>a GPU without NVIDIA&apos;s driver is found; it is used if torch is a build for it</source>
        <translation>eine Grafikkarte ohne NVIDIAs Treiber ist da; sie wird genutzt, wenn torch für sie gebaut ist</translation>
    </message>
    <message>
        <source>no GPU is found; blocks are served by the CPU, which is slow but works</source>
        <translation>keine Grafikkarte gefunden; Blöcke rechnet der Prozessor, was langsam ist, aber geht</translation>
    </message>
    <message>
        <source>torch {version} computes on the CPU only; the GPU is not used</source>
        <translation>torch {version} rechnet nur auf dem Prozessor; die Grafikkarte wird nicht genutzt</translation>
    </message>
    <message>
        <source>nobody keeps the clock right; it says {time}</source>
        <translation>niemand stellt die Uhr; sie zeigt {time}</translation>
    </message>
    <message>
        <source>timedatectl set-ntp true, and compare with another clock now</source>
        <translation>timedatectl set-ntp true, und vergleiche jetzt mit einer anderen Uhr</translation>
    </message>
    <message>
        <source>{name} is found through this machine</source>
        <translation>{name} ist über diesen Computer zu finden</translation>
    </message>
    <message>
        <source>{number} of {all} addresses where {name} is found answer</source>
        <translation>{number} von {all} Adressen, unter denen {name} zu finden ist, antworten</translation>
    </message>
    <message>
        <source>ask a member for a new invite: potluck swarm invite; check the network</source>
        <translation>bitte ein Mitglied um eine neue Einladung: potluck swarm invite; prüfe das Netz</translation>
    </message>
    <message>
        <source>{number} blocks of {name} are served by nobody</source>
        <translation>{number} Blöcke von {name} stellt niemand bereit</translation>
    </message>
    <message>
        <source>invite more members: potluck swarm invite</source>
        <translation>lade mehr Mitglieder ein: potluck swarm invite</translation>
    </message>
</context>
<context>
    <name>ActivityPage</name>
    <message>
        <source>Activity</source>
        <translation>Verlauf</translation>
    </message>
    <message>
        <source>Everything</source>
        <translation>Alles</translation>
    </message>
    <message>
        <source>Stepped aside</source>
        <translation>Macht Platz</translation>
    </message>
    <message>
        <source>Problems</source>
        <translation>Probleme</translation>
    </message>
    <message>
        <source>What to show</source>
        <translation>Was gezeigt wird</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Schaue nach …</translation>
    </message>
    <message>
        <source>Show more</source>
        <translation>Mehr zeigen</translation>
    </message>
    <message>
        <source>Nothing of this kind has happened yet.</source>
        <translation>So etwas ist noch nicht vorgekommen.</translation>
    </message>
    <message>
        <source>Nothing here</source>
        <translation>Hier ist nichts</translation>
    </message>
    <message>
        <source>Never for this app</source>
        <translation>Nie für dieses Programm</translation>
    </message>
    <message>
        <source>Go on serving whenever {program} runs</source>
        <translation>Immer weitermachen, wenn {program} läuft</translation>
    </message>
    <message>
        <source>Never step aside for {program}</source>
        <translation>Nie für {program} Platz machen</translation>
    </message>
    <message>
        <source>Never stepped aside for</source>
        <translation>Dafür wird nie Platz gemacht</translation>
    </message>
    <message>
        <source>Take back</source>
        <translation>Zurücknehmen</translation>
    </message>
    <message>
        <source>Step aside for {program} again</source>
        <translation>Für {program} wieder Platz machen</translation>
    </message>
    <message>
        <source>Potluck goes on serving while {program} runs.</source>
        <translation>Potluck macht weiter, während {program} läuft.</translation>
    </message>
    <message>
        <source>Potluck steps aside for {program} again.</source>
        <translation>Potluck macht für {program} wieder Platz.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
</context>
<context>
    <name>AwayPage</name>
    <message>
        <source>Start it</source>
        <translation>Starten</translation>
    </message>
    <message>
        <source>Potluck is being updated</source>
        <translation>Potluck wird aktualisiert</translation>
    </message>
    <message>
        <source>The new version starts in a moment; if it does not, this one does.</source>
        <translation>Gleich startet die neue Version; wenn nicht, dann diese hier.</translation>
    </message>
    <message>
        <source>Potluck was updated</source>
        <translation>Potluck wurde aktualisiert</translation>
    </message>
</context>
<context>
    <name>BlockStrip</name>
    <message>
        <source>Blocks of the model</source>
        <translation>Blöcke des Modells</translation>
    </message>
</context>
<context>
    <name>ChatPage</name>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neues Gespräch</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Du</translation>
    </message>
    <message>
        <source>Asking…</source>
        <translation>Frage wird gestellt …</translation>
    </message>
    <message>
        <source>Getting ready: {step}…</source>
        <translation>Vorbereitung: {step} …</translation>
    </message>
    <message>
        <source>Waiting for the first word…</source>
        <translation>Wartet auf das erste Wort …</translation>
    </message>
    <message>
        <source>The gateway was stopped.</source>
        <translation>Der Chat-Zugang wurde beendet.</translation>
    </message>
    <message>
        <source>The model added nothing. A small one only continues a text: begin a sentence.</source>
        <translation>Das Modell hat nichts ergänzt. Ein kleines führt Texte nur fort: Beginne einen Satz.</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>Noch einmal fragen</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>Angehalten.</translation>
    </message>
    <message>
        <source>A chat needs a swarm: join one, or start one.</source>
        <translation>Ein Chat braucht einen Schwarm: Tritt einem bei oder gründe einen.</translation>
    </message>
    <message>
        <source>Nobody to talk to yet</source>
        <translation>Noch niemand zum Reden da</translation>
    </message>
    <message>
        <source>Each answer is computed by the members who serve its blocks. They can read what you write, so never send what they must not know. Your questions spend the credit that this computer earned.</source>
        <translation>Jede Antwort rechnen die Mitglieder, die die Blöcke bereitstellen. Sie können mitlesen, was du schreibst: Sende nie, was sie nicht wissen dürfen. Deine Fragen verbrauchen das Guthaben, das dieser Computer verdient hat.</translation>
    </message>
    <message>
        <source>Talk to {model}</source>
        <translation>Sprich mit {model}</translation>
    </message>
    <message>
        <source>Servers can read along. Your credit: {credit}</source>
        <translation>Server können mitlesen. Dein Guthaben: {credit}</translation>
    </message>
</context>
<context>
    <name>CommandStarter</name>
    <message>
        <source>The daemon does not start.</source>
        <translation>Der Dienst startet nicht.</translation>
    </message>
</context>
<context>
    <name>CreditCard</name>
    <message>
        <source>Credit earned in the last 24 hours</source>
        <translation>Guthaben der letzten 24 Stunden</translation>
    </message>
    <message numerus="yes">
        <source>from %n people</source>
        <translation>
            <numerusform>von einer Person</numerusform>
            <numerusform>von %n Personen</numerusform>
        </translation>
    </message>
    <message>
        <source>nothing signed for yet</source>
        <translation>noch nichts bestätigt</translation>
    </message>
    <message>
        <source>{amount} credits in the last 24 hours</source>
        <translation>{amount} Credits in den letzten 24 Stunden</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ertrag</translation>
    </message>
    <message>
        <source>Show all earnings</source>
        <translation>Ganzen Ertrag zeigen</translation>
    </message>
    <message>
        <source>Credit today</source>
        <translation>Guthaben heute</translation>
    </message>
</context>
<context>
    <name>Devices</name>
    <message>
        <source>Measuring: {step}</source>
        <translation>Messe: {step}</translation>
    </message>
    <message>
        <source>Measure again</source>
        <translation>Noch einmal messen</translation>
    </message>
    <message>
        <source>Measure the speed</source>
        <translation>Geschwindigkeit messen</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>Wird benutzt</translation>
    </message>
    <message>
        <source>Not in use</source>
        <translation>Wird nicht benutzt</translation>
    </message>
    <message>
        <source>Set it up…</source>
        <translation>Einrichten…</translation>
    </message>
    <message>
        <source>The engine that computes is not installed yet.</source>
        <translation>Die Engine, die rechnet, ist noch nicht installiert.</translation>
    </message>
    <message>
        <source>Progress of measuring</source>
        <translation>Fortschritt der Messung</translation>
    </message>
</context>
<context>
    <name>DiagnosticsPage</name>
    <message>
        <source>Diagnostics</source>
        <translation>Diagnose</translation>
    </message>
    <message>
        <source>Check now</source>
        <translation>Jetzt prüfen</translation>
    </message>
    <message>
        <source>Not checked yet</source>
        <translation>Noch nicht geprüft</translation>
    </message>
    <message>
        <source>A check-up looks at the installation, the disk, the graphics card, the network and the swarm.</source>
        <translation>Geprüft werden Installation, Festplatte, Grafikkarte, Netzwerk und Schwarm.</translation>
    </message>
    <message>
        <source>Checking…</source>
        <translation>Prüfe …</translation>
    </message>
    <message>
        <source>Checked {done} of {all}…</source>
        <translation>{done} von {all} geprüft …</translation>
    </message>
    <message>
        <source>Checked at {time}.</source>
        <translation>Geprüft um {time}.</translation>
    </message>
    <message numerus="yes">
        <source>%n check(s) found nothing wrong</source>
        <translation>
            <numerusform>%n Prüfung ohne Befund</numerusform>
            <numerusform>%n Prüfungen ohne Befund</numerusform>
        </translation>
    </message>
    <message>
        <source>Report (*.zip)</source>
        <translation>Bericht (*.zip)</translation>
    </message>
    <message>
        <source>Save a report</source>
        <translation>Bericht speichern</translation>
    </message>
    <message>
        <source>Saved {file} ({size}): {parts}.</source>
        <translation>{file} gespeichert ({size}): {parts}.</translation>
    </message>
    <message>
        <source>Copied. It names versions, devices and what is watched, no keys and no addresses.</source>
        <translation>Kopiert. Darin stehen Versionen, Geräte und worauf geachtet wird, keine Schlüssel und keine Adressen.</translation>
    </message>
    <message>
        <source>Check-up</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Progress of the check-up</source>
        <translation>Fortschritt der Prüfung</translation>
    </message>
    <message>
        <source>For somebody who helps you</source>
        <translation>Für jemanden, der dir hilft</translation>
    </message>
    <message>
        <source>A report holds the settings, the history and the log. Keys, invites, addresses and your user name are taken out.</source>
        <translation>Ein Bericht enthält Einstellungen, Verlauf und Protokoll. Schlüssel, Einladungen, Adressen und dein Benutzername sind entfernt.</translation>
    </message>
    <message>
        <source>Save a report…</source>
        <translation>Bericht speichern …</translation>
    </message>
    <message>
        <source>Copy system info</source>
        <translation>Systemangaben kopieren</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Protokoll</translation>
    </message>
    <message>
        <source>Log of the daemon</source>
        <translation>Protokoll des Dienstes</translation>
    </message>
</context>
<context>
    <name>EarningsPage</name>
    <message>
        <source>Earnings</source>
        <translation>Ertrag</translation>
    </message>
    <message>
        <source>Day</source>
        <translation>Tag</translation>
    </message>
    <message>
        <source>Week</source>
        <translation>Woche</translation>
    </message>
    <message>
        <source>Month</source>
        <translation>Monat</translation>
    </message>
    <message>
        <source>Stretch of time</source>
        <translation>Zeitraum</translation>
    </message>
    <message>
        <source>credits earned</source>
        <translation>Credits verdient</translation>
    </message>
    <message>
        <source>credits spent</source>
        <translation>Credits ausgegeben</translation>
    </message>
    <message>
        <source>tokens served</source>
        <translation>Token bereitgestellt</translation>
    </message>
    <message numerus="yes">
        <source>person(s) helped</source>
        <translation>
            <numerusform>Person unterstützt</numerusform>
            <numerusform>Personen unterstützt</numerusform>
        </translation>
    </message>
    <message>
        <source>People</source>
        <translation>Personen</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>Spent</source>
        <translation>Ausgegeben</translation>
    </message>
    <message>
        <source>Earned</source>
        <translation>Verdient</translation>
    </message>
    <message>
        <source>Credits earned</source>
        <translation>Verdiente Credits</translation>
    </message>
    <message>
        <source>Credits by time</source>
        <translation>Credits nach Zeit</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Wann</translation>
    </message>
    <message>
        <source>Show as table</source>
        <translation>Als Tabelle zeigen</translation>
    </message>
    <message>
        <source>Credits by model</source>
        <translation>Credits nach Modell</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>No model has earned anything in this time.</source>
        <translation>In dieser Zeit hat kein Modell etwas verdient.</translation>
    </message>
    <message>
        <source>Adding up…</source>
        <translation>Rechne zusammen …</translation>
    </message>
    <message>
        <source>Balance: {balance} credits. Since the beginning {earned} earned and {spent} spent.</source>
        <translation>Stand: {balance} Credits. Seit Beginn {earned} verdient und {spent} ausgegeben.</translation>
    </message>
    <message>
        <source>{amount} credits</source>
        <translation>{amount} Credits</translation>
    </message>
    <message>
        <source>Show as chart</source>
        <translation>Als Diagramm zeigen</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportieren …</translation>
    </message>
    <message>
        <source>A credit is 10¹² parameter-tokens of work that somebody signed for. It is no money: it buys an earlier place in the queues of those who trust you.</source>
        <translation>Ein Credit sind 10¹² Parameter-Token an Arbeit, die jemand bestätigt hat. Er ist kein Geld: Er bringt dich in den Warteschlangen derer nach vorn, die dir vertrauen.</translation>
    </message>
    <message>
        <source>By model</source>
        <translation>Nach Modell</translation>
    </message>
</context>
<context>
    <name>EnergyCard</name>
    <message>
        <source>electricity used</source>
        <translation>Strom verbraucht</translation>
    </message>
    <message>
        <source>cost, no price is set</source>
        <translation>Kosten, kein Preis angegeben</translation>
    </message>
    <message>
        <source>time served</source>
        <translation>Zeit im Einsatz</translation>
    </message>
    <message numerus="yes">
        <source>day(s) in a row</source>
        <translation>
            <numerusform>Tag in Folge</numerusform>
            <numerusform>Tage in Folge</numerusform>
        </translation>
    </message>
    <message>
        <source>Energy and time</source>
        <translation>Energie und Zeit</translation>
    </message>
    <message>
        <source>cost at your price</source>
        <translation>Kosten zu deinem Preis</translation>
    </message>
</context>
<context>
    <name>EnginePanel</name>
    <message>
        <source>Looking at this computer…</source>
        <translation>Dieser Computer wird angesehen…</translation>
    </message>
    <message>
        <source>Progress of the installation</source>
        <translation>Fortschritt der Installation</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Renew it</source>
        <translation>Erneuern</translation>
    </message>
    <message>
        <source>Use the one before again</source>
        <translation>Zurück zur vorigen</translation>
    </message>
    <message>
        <source>Another build or folder…</source>
        <translation>Andere Ausgabe…</translation>
    </message>
    <message>
        <source>It computes in a Python that you look after yourself.</source>
        <translation>Es rechnet in einem Python, um das du dich selbst kümmerst.</translation>
    </message>
    <message>
        <source>Ready. It computes on: {devices}.</source>
        <translation>Bereit. Es rechnet auf: {devices}.</translation>
    </message>
    <message>
        <source>Build of torch: {variant}</source>
        <translation>Ausgabe von torch: {variant}</translation>
    </message>
    <message>
        <source>Folder: {folder}</source>
        <translation>Ordner: {folder}</translation>
    </message>
    <message>
        <source>This version of Potluck comes with newer packages; renew it when it suits you.</source>
        <translation>Diese Version von Potluck bringt neuere Pakete mit; erneuere sie, wann es dir passt.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
    </message>
</context>
<context>
    <name>Export</name>
    <message>
        <source>Table (CSV)</source>
        <translation>Tabelle (CSV)</translation>
    </message>
    <message>
        <source>Export all entries</source>
        <translation>Alle Einträge exportieren</translation>
    </message>
</context>
<context>
    <name>FirstRunPage</name>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Weiter</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>Später</translation>
    </message>
    <message>
        <source>What computes</source>
        <translation>Was rechnet</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Dieser Computer</translation>
    </message>
    <message>
        <source>How much, and when</source>
        <translation>Wie viel und wann</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Wenn du dich anmeldest</translation>
    </message>
    <message>
        <source>Bring a few blocks to the table</source>
        <translation>Bring ein paar Blöcke mit</translation>
    </message>
    <message>
        <source>Lend a swarm what your computer does not need.</source>
        <translation>Leih einem Schwarm, was dein Computer nicht braucht.</translation>
    </message>
    <message>
        <source>Potluck takes the build of torch that fits this computer.</source>
        <translation>Potluck nimmt die Ausgabe von torch, die zu diesem Computer passt.</translation>
    </message>
    <message>
        <source>Which swarm?</source>
        <translation>Welcher Schwarm?</translation>
    </message>
    <message>
        <source>People who run one model together. An invite is the key to it.</source>
        <translation>Menschen, die zusammen ein Modell betreiben. Eine Einladung ist der Schlüssel dazu.</translation>
    </message>
    <message>
        <source>What you bring</source>
        <translation>Was du mitbringst</translation>
    </message>
    <message>
        <source>Measuring takes a moment; you need not wait for it.</source>
        <translation>Das Messen dauert einen Moment; du musst nicht darauf warten.</translation>
    </message>
    <message>
        <source>You come first</source>
        <translation>Du gehst vor</translation>
    </message>
    <message>
        <source>Change it whenever you like, under When to donate and Limits.</source>
        <translation>Du kannst es jederzeit ändern, unter „Wann spenden“ und „Grenzen“.</translation>
    </message>
    <message>
        <source>From now on</source>
        <translation>Von jetzt an</translation>
    </message>
    <message>
        <source>Nothing starts by itself unless you switch it on.</source>
        <translation>Nichts startet von selbst, wenn du es nicht einschaltest.</translation>
    </message>
    <message>
        <source>{step} of {all}</source>
        <translation>{step} von {all}</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Fertig</translation>
    </message>
    <message>
        <source>You are in the swarm “{swarm}”, which runs {model}.</source>
        <translation>Du bist im Schwarm „{swarm}“, der {model} betreibt.</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>What this is</source>
        <translation>Was das ist</translation>
    </message>
    <message>
        <source>Together you run what nobody can run alone</source>
        <translation>Zusammen betreibt ihr, was allein niemand kann</translation>
    </message>
    <message>
        <source>A large language model is cut into blocks. Your computer serves a few of them, others serve the rest, and everybody in the swarm can use the whole.</source>
        <translation>Ein großes Sprachmodell wird in Blöcke geteilt. Dein Computer stellt einige bereit, andere den Rest, und alle im Schwarm können das Ganze benutzen.</translation>
    </message>
    <message>
        <source>Your games come first</source>
        <translation>Deine Spiele gehen vor</translation>
    </message>
    <message>
        <source>When one starts, its graphics memory is free within a second. Later it goes on by itself.</source>
        <translation>Startet eines, ist sein Grafikspeicher in einer Sekunde frei. Danach geht es von selbst weiter.</translation>
    </message>
    <message>
        <source>What you give, you get back</source>
        <translation>Was du gibst, bekommst du zurück</translation>
    </message>
    <message>
        <source>Work for others earns credit. It is no money: it lets your own requests go first.</source>
        <translation>Arbeit für andere bringt Guthaben. Es ist kein Geld: Es lässt deine eigenen Anfragen vor.</translation>
    </message>
    <message>
        <source>What others can see</source>
        <translation>Was andere sehen können</translation>
    </message>
    <message>
        <source>Members of your swarm</source>
        <translation>Mitglieder deines Schwarms</translation>
    </message>
    <message>
        <source>Your internet address, which blocks you serve and how fast. If you chat, those who serve the model can read what you write. Never send what they must not know.</source>
        <translation>Deine Internetadresse, welche Blöcke du bereitstellst und wie schnell. Wenn du chattest, können die, die das Modell bereitstellen, mitlesen. Sende nie, was sie nicht wissen dürfen.</translation>
    </message>
    <message>
        <source>Nobody else</source>
        <translation>Sonst niemand</translation>
    </message>
    <message>
        <source>No account and no telemetry. Your files stay yours: no code comes from others.</source>
        <translation>Kein Konto, keine Telemetrie. Deine Dateien bleiben deine: Von anderen kommt kein Code.</translation>
    </message>
</context>
<context>
    <name>HomePage</name>
    <message>
        <source>Home</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>Pause longer</source>
        <translation>Länger pausieren</translation>
    </message>
    <message>
        <source>Copy invite</source>
        <translation>Einladung kopieren</translation>
    </message>
    <message>
        <source>Version {version} of Potluck is offered.</source>
        <translation>Version {version} von Potluck ist da.</translation>
    </message>
    <message>
        <source>See what changes</source>
        <translation>Was sich ändert</translation>
    </message>
    <message>
        <source>Set up what computes</source>
        <translation>Einrichten, was rechnet</translation>
    </message>
    <message>
        <source>See how far it is</source>
        <translation>Ansehen, wie weit es ist</translation>
    </message>
    <message>
        <source>No swarm joined</source>
        <translation>In keinem Schwarm</translation>
    </message>
    <message>
        <source>{model}, swarm “{swarm}”</source>
        <translation>{model}, Schwarm „{swarm}“</translation>
    </message>
    <message>
        <source>Show what Potluck watches to step aside in time</source>
        <translation>Zeigt, worauf Potluck achtet, um rechtzeitig Platz zu machen</translation>
    </message>
    <message>
        <source>Copies an invite to this swarm; whoever has it can serve and use the model</source>
        <translation>Kopiert eine Einladung in diesen Schwarm; wer sie hat, kann das Modell bereitstellen und benutzen</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
</context>
<context>
    <name>InstallationPage</name>
    <message>
        <source>Installation</source>
        <translation>Installation</translation>
    </message>
    <message>
        <source>What computes</source>
        <translation>Was rechnet</translation>
    </message>
    <message>
        <source>Updates</source>
        <translation>Aktualisierungen</translation>
    </message>
</context>
<context>
    <name>JoinForm</name>
    <message>
        <source>Join this swarm</source>
        <translation>Diesem Schwarm beitreten</translation>
    </message>
    <message>
        <source>Start this swarm</source>
        <translation>Diesen Schwarm gründen</translation>
    </message>
    <message>
        <source>Start a swarm with the demo model</source>
        <translation>Schwarm mit dem Demo-Modell gründen</translation>
    </message>
    <message>
        <source>I have an invite</source>
        <translation>Ich habe eine Einladung</translation>
    </message>
    <message>
        <source>Invite</source>
        <translation>Einladung</translation>
    </message>
    <message>
        <source>I want to start one</source>
        <translation>Ich will einen gründen</translation>
    </message>
    <message>
        <source>Others join with an invite that you copy from Home. A small model to try it with is included.</source>
        <translation>Andere kommen mit einer Einladung dazu, die du auf „Start“ kopierst. Ein kleines Modell zum Ausprobieren ist dabei.</translation>
    </message>
    <message>
        <source>Another model: its name on Hugging Face, or a folder</source>
        <translation>Anderes Modell: Name auf Hugging Face oder ein Ordner</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
</context>
<context>
    <name>LimitsPage</name>
    <message>
        <source>Limits</source>
        <translation>Grenzen</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>Keine Grenze</translation>
    </message>
    <message>
        <source>Computes on</source>
        <translation>Gerechnet wird auf</translation>
    </message>
    <message>
        <source>Several graphics cards hold the blocks together. With none chosen, the best one is taken.</source>
        <translation>Mehrere Grafikkarten halten die Blöcke gemeinsam. Ist keine gewählt, wird die beste genommen.</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>GiB</source>
        <translation>GiB</translation>
    </message>
    <message>
        <source>On the graphics card, or in the computer without one</source>
        <translation>Auf der Grafikkarte oder, ohne eine, im Computer</translation>
    </message>
    <message>
        <source>Never takes more, so fewer blocks may be served. A change loads the blocks again.</source>
        <translation>Mehr wird nie genommen, also vielleicht weniger Blöcke bereitgestellt. Eine Änderung lädt die Blöcke neu.</translation>
    </message>
    <message>
        <source>What fits</source>
        <translation>Was passt</translation>
    </message>
    <message>
        <source>In the computer, engine and network together</source>
        <translation>Im Computer, Engine und Netzwerk zusammen</translation>
    </message>
    <message>
        <source>Always left free for other programs</source>
        <translation>Bleibt immer frei für andere Programme</translation>
    </message>
    <message>
        <source>Blocks to serve</source>
        <translation>Blöcke, die du bereitstellst</translation>
    </message>
    <message>
        <source>Processor cores to compute with</source>
        <translation>Prozessorkerne zum Rechnen</translation>
    </message>
    <message>
        <source>Half of them</source>
        <translation>Die Hälfte</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Netzwerk</translation>
    </message>
    <message>
        <source>Mbit/s</source>
        <translation>Mbit/s</translation>
    </message>
    <message>
        <source>Upload</source>
        <translation>Hochladen</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>Herunterladen</translation>
    </message>
    <message>
        <source>Upload in a day</source>
        <translation>Hochladen am Tag</translation>
    </message>
    <message>
        <source>Download in a day</source>
        <translation>Herunterladen am Tag</translation>
    </message>
    <message>
        <source>Disk</source>
        <translation>Festplatte</translation>
    </message>
    <message>
        <source>Downloaded models may take</source>
        <translation>Geladene Modelle dürfen belegen</translation>
    </message>
    <message>
        <source>Where they lie is on the page Models.</source>
        <translation>Wo sie liegen, steht auf der Seite „Modelle“.</translation>
    </message>
    <message>
        <source>Always left free on the disk</source>
        <translation>Bleibt auf der Festplatte immer frei</translation>
    </message>
    <message>
        <source>No download begins when less is free.</source>
        <translation>Ist weniger frei, beginnt kein Download.</translation>
    </message>
    <message>
        <source>Heat and power</source>
        <translation>Wärme und Leistung</translation>
    </message>
    <message>
        <source>Above these, it computes more slowly until it is below them again.</source>
        <translation>Darüber wird langsamer gerechnet, bis es wieder darunter ist.</translation>
    </message>
    <message>
        <source>Temperature of a graphics card</source>
        <translation>Temperatur einer Grafikkarte</translation>
    </message>
    <message>
        <source>Temperature of the processor</source>
        <translation>Temperatur des Prozessors</translation>
    </message>
    <message>
        <source>Power of a graphics card</source>
        <translation>Leistung einer Grafikkarte</translation>
    </message>
    <message>
        <source>Electricity</source>
        <translation>Strom</translation>
    </message>
    <message>
        <source>Price of a kilowatt-hour</source>
        <translation>Preis einer Kilowattstunde</translation>
    </message>
    <message>
        <source>In your currency. With it, Earnings shows what donating costs.</source>
        <translation>In deiner Währung. Damit zeigt „Ertrag“, was das Spenden kostet.</translation>
    </message>
    <message>
        <source>Not known</source>
        <translation>Nicht bekannt</translation>
    </message>
    <message>
        <source>Costs in a day</source>
        <translation>Kosten am Tag</translation>
    </message>
    <message>
        <source>When they are reached, donating rests until midnight.</source>
        <translation>Sind sie erreicht, ruht das Spenden bis Mitternacht.</translation>
    </message>
    <message>
        <source>Power that donating takes</source>
        <translation>Leistung, die das Spenden braucht</translation>
    </message>
    <message>
        <source>From a meter at the plug, if you have one.</source>
        <translation>Von einem Messgerät an der Steckdose, falls du eins hast.</translation>
    </message>
    <message>
        <source>Measured</source>
        <translation>Gemessen</translation>
    </message>
</context>
<context>
    <name>Login</name>
    <message>
        <source>Start donating</source>
        <translation>Mit dem Spenden beginnen</translation>
    </message>
    <message>
        <source>By the rules that you have set.</source>
        <translation>Nach den Regeln, die du gesetzt hast.</translation>
    </message>
    <message>
        <source>Show Potluck in the tray</source>
        <translation>Potluck in der Leiste zeigen</translation>
    </message>
    <message>
        <source>Without a window.</source>
        <translation>Ohne Fenster.</translation>
    </message>
    <message>
        <source>By {file}</source>
        <translation>Durch {file}</translation>
    </message>
    <message>
        <source>It is arranged for everybody here.</source>
        <translation>Das ist hier für alle so eingerichtet.</translation>
    </message>
    <message>
        <source>This computer does not offer it.</source>
        <translation>Dieser Computer bietet das nicht an.</translation>
    </message>
</context>
<context>
    <name>MachineCard</name>
    <message>
        <source>Processor</source>
        <translation>Prozessor</translation>
    </message>
    <message>
        <source>Graphics card</source>
        <translation>Grafikkarte</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Dieser Computer</translation>
    </message>
    <message>
        <source>{all} %, of which Potluck {ours} %</source>
        <translation>{all} %, davon Potluck {ours} %</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Looking for the daemon.</source>
        <translation>Sucht den Dienst.</translation>
    </message>
    <message>
        <source>Version {installed} of Potluck is installed; this window is still of version {running}. A restart stops nothing and ends only a conversation in Chat.</source>
        <translation>Version {installed} von Potluck ist installiert; dieses Fenster ist noch von Version {running}. Ein Neustart hält nichts an und beendet nur ein Gespräch im Chat.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Neu starten</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Schaue nach …</translation>
    </message>
    <message>
        <source>Served here</source>
        <translation>Hier bereitgestellt</translation>
    </message>
    <message>
        <source>What the swarm needs</source>
        <translation>Was der Schwarm braucht</translation>
    </message>
    <message>
        <source>On the disk</source>
        <translation>Auf der Festplatte</translation>
    </message>
    <message>
        <source>Progress of the download</source>
        <translation>Fortschritt des Downloads</translation>
    </message>
    <message>
        <source>Join a swarm, and this computer takes the blocks that it lacks most.</source>
        <translation>Tritt einem Schwarm bei, und dieser Computer nimmt die Blöcke, die dort am meisten fehlen.</translation>
    </message>
    <message>
        <source>Nothing is served</source>
        <translation>Nichts wird bereitgestellt</translation>
    </message>
    <message>
        <source>Downloading: {progress}</source>
        <translation>Lädt herunter: {progress}</translation>
    </message>
    <message>
        <source>Loading: {progress}</source>
        <translation>Lädt: {progress}</translation>
    </message>
    <message>
        <source>Blocks {blocks}</source>
        <translation>Blöcke {blocks}</translation>
    </message>
    <message numerus="yes">
        <source>%n server(s)</source>
        <translation>
            <numerusform>%n Server</numerusform>
            <numerusform>%n Server</numerusform>
        </translation>
    </message>
    <message>
        <source>nobody</source>
        <translation>niemand</translation>
    </message>
    <message>
        <source>Moving to {folder}: {progress}</source>
        <translation>Zieht um nach {folder}: {progress}</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>{size}, made again when needed</source>
        <translation>{size}, werden bei Bedarf neu gemacht</translation>
    </message>
    <message>
        <source>Blocks prepared for this computer</source>
        <translation>Für diesen Computer vorbereitete Blöcke</translation>
    </message>
    <message>
        <source>Delete prepared blocks</source>
        <translation>Vorbereitete Blöcke löschen</translation>
    </message>
    <message>
        <source>{used} used, {free} free on this disk</source>
        <translation>{used} belegt, {free} auf dieser Festplatte frei</translation>
    </message>
    <message>
        <source>Move…</source>
        <translation>Verschieben …</translation>
    </message>
    <message>
        <source>Move the models to another folder</source>
        <translation>Die Modelle in einen anderen Ordner verschieben</translation>
    </message>
    <message>
        <source>served now</source>
        <translation>gerade im Einsatz</translation>
    </message>
    <message>
        <source>used by {swarms}</source>
        <translation>benutzt von {swarms}</translation>
    </message>
    <message>
        <source>not complete</source>
        <translation>nicht vollständig</translation>
    </message>
    <message>
        <source>Delete {model}</source>
        <translation>{model} löschen</translation>
    </message>
    <message>
        <source>{size} become free. If the model is needed again, it is downloaded again.</source>
        <translation>{size} werden frei. Wird das Modell wieder gebraucht, wird es neu heruntergeladen.</translation>
    </message>
    <message>
        <source>Delete {model}?</source>
        <translation>{model} löschen?</translation>
    </message>
    <message>
        <source>{size} are free again.</source>
        <translation>{size} sind wieder frei.</translation>
    </message>
    <message>
        <source>Folder for models</source>
        <translation>Ordner für Modelle</translation>
    </message>
</context>
<context>
    <name>NeverYield</name>
    <message>
        <source>Never step aside</source>
        <translation>Nie Platz machen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>NowCard</name>
    <message>
        <source>tokens/s</source>
        <translation>Token/s</translation>
    </message>
    <message numerus="yes">
        <source>open session(s)</source>
        <translation>
            <numerusform>offene Sitzung</numerusform>
            <numerusform>offene Sitzungen</numerusform>
        </translation>
    </message>
    <message>
        <source>tokens today</source>
        <translation>Token heute</translation>
    </message>
    <message>
        <source>Right now</source>
        <translation>Gerade jetzt</translation>
    </message>
</context>
<context>
    <name>Page</name>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
    </message>
</context>
<context>
    <name>ProgramList</name>
    <message>
        <source>Add</source>
        <translation>Hinzufügen</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove {program}</source>
        <translation>{program} entfernen</translation>
    </message>
    <message>
        <source>Program for the list: {list}</source>
        <translation>Programm für die Liste: {list}</translation>
    </message>
    <message>
        <source>A running program, or its name</source>
        <translation>Ein laufendes Programm oder sein Name</translation>
    </message>
</context>
<context>
    <name>Question</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>QuestionField</name>
    <message>
        <source>Ask something</source>
        <translation>Frag etwas</translation>
    </message>
    <message>
        <source>Question</source>
        <translation>Frage</translation>
    </message>
</context>
<context>
    <name>SetUpPlan</name>
    <message>
        <source>Another folder…</source>
        <translation>Anderer Ordner…</translation>
    </message>
    <message>
        <source>Another build</source>
        <translation>Andere Ausgabe</translation>
    </message>
    <message>
        <source>Build of torch</source>
        <translation>Ausgabe von torch</translation>
    </message>
    <message>
        <source>Where it will lie</source>
        <translation>Wo es liegen wird</translation>
    </message>
    <message>
        <source>Fetch and install</source>
        <translation>Holen und installieren</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
    </message>
    <message>
        <source>This version of Potluck comes without the packages of the best build ({variant}).</source>
        <translation>Diese Version von Potluck kommt ohne die Pakete der besten Ausgabe ({variant}).</translation>
    </message>
    <message>
        <source>Nobody of Potluck&apos;s has tried this build yet. It is used only if it passes its trial here.</source>
        <translation>Von Potluck hat diese Ausgabe noch niemand ausprobiert. Sie wird nur benutzt, wenn sie hier ihre Probe besteht.</translation>
    </message>
    <message>
        <source>Make room, or choose another folder below.</source>
        <translation>Schaffe Platz oder wähle unten einen anderen Ordner.</translation>
    </message>
    <message>
        <source>A folder for what computes</source>
        <translation>Ein Ordner für das, was rechnet</translation>
    </message>
    <message>
        <source>Another folder for what computes</source>
        <translation>Anderer Ordner für das, was rechnet</translation>
    </message>
</context>
<context>
    <name>SettingsForm</name>
    <message>
        <source>The daemon does not know this yet; update it.</source>
        <translation>Der Dienst kennt das noch nicht; aktualisiere ihn.</translation>
    </message>
    <message>
        <source>Fixed by {variable} in the daemon&apos;s environment.</source>
        <translation>Festgelegt durch {variable} in der Umgebung des Dienstes.</translation>
    </message>
    <message>
        <source>Saved, and in use.</source>
        <translation>Gespeichert und in Kraft.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
</context>
<context>
    <name>SharePanel</name>
    <message>
        <source>What fits</source>
        <translation>Was passt</translation>
    </message>
    <message>
        <source>Half of it</source>
        <translation>Die Hälfte</translation>
    </message>
    <message>
        <source>A quarter</source>
        <translation>Ein Viertel</translation>
    </message>
    <message>
        <source>At full speed</source>
        <translation>Mit voller Kraft</translation>
    </message>
    <message>
        <source>At half speed</source>
        <translation>Mit halber Kraft</translation>
    </message>
    <message>
        <source>Not at all</source>
        <translation>Gar nicht</translation>
    </message>
    <message>
        <source>Memory to give</source>
        <translation>Speicher, den du gibst</translation>
    </message>
    <message>
        <source>Donate while I use the computer</source>
        <translation>Spenden, während ich den Computer benutze</translation>
    </message>
    <message>
        <source>Games come first in any case.</source>
        <translation>Spiele gehen auf jeden Fall vor.</translation>
    </message>
    <message>
        <source>{device} has {size}. What other programs need stays free.</source>
        <translation>{device} hat {size}. Was andere Programme brauchen, bleibt frei.</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Pages</source>
        <translation>Seiten</translation>
    </message>
</context>
<context>
    <name>SwarmsCard</name>
    <message>
        <source>Join or start another swarm</source>
        <translation>Anderem Schwarm beitreten oder einen gründen</translation>
    </message>
    <message>
        <source>Your swarms</source>
        <translation>Deine Schwärme</translation>
    </message>
    <message numerus="yes">
        <source>%n block(s)</source>
        <translation>
            <numerusform>%n Block</numerusform>
            <numerusform>%n Blöcke</numerusform>
        </translation>
    </message>
    <message>
        <source>open to everybody</source>
        <translation>offen für alle</translation>
    </message>
    <message>
        <source>served now</source>
        <translation>gerade im Einsatz</translation>
    </message>
    <message>
        <source>Serve this one</source>
        <translation>Diesen unterstützen</translation>
    </message>
    <message>
        <source>Serve {swarm}</source>
        <translation>{swarm} unterstützen</translation>
    </message>
    <message>
        <source>Leave…</source>
        <translation>Verlassen …</translation>
    </message>
    <message>
        <source>Leave {swarm}</source>
        <translation>{swarm} verlassen</translation>
    </message>
    <message>
        <source>Leave the swarm {swarm}?</source>
        <translation>Den Schwarm {swarm} verlassen?</translation>
    </message>
    <message>
        <source>Leave</source>
        <translation>Verlassen</translation>
    </message>
    <message>
        <source>Only a new invite brings you back. What you earned stays.</source>
        <translation>Nur eine neue Einladung bringt dich zurück. Was du verdient hast, bleibt.</translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Free my memory now</source>
        <translation>Meinen Speicher jetzt freigeben</translation>
    </message>
    <message>
        <source>Open Potluck</source>
        <translation>Potluck öffnen</translation>
    </message>
    <message>
        <source>Show notifications</source>
        <translation>Benachrichtigungen zeigen</translation>
    </message>
    <message>
        <source>Quit the app</source>
        <translation>App beenden</translation>
    </message>
    <message>
        <source>Version {version} is offered…</source>
        <translation>Version {version} ist da…</translation>
    </message>
    <message>
        <source>Start donating again</source>
        <translation>Wieder spenden</translation>
    </message>
    <message>
        <source>Stop donating</source>
        <translation>Nicht mehr spenden</translation>
    </message>
</context>
<context>
    <name>Updates</name>
    <message>
        <source>Look now</source>
        <translation>Jetzt nachsehen</translation>
    </message>
    <message>
        <source>Version</source>
        <translation>Version</translation>
    </message>
    <message>
        <source>Look for updates</source>
        <translation>Nach Aktualisierungen sehen</translation>
    </message>
    <message>
        <source>Once a day the publisher is asked for the newest version, and learns your address.</source>
        <translation>Einmal am Tag wird der Herausgeber nach der neuesten Version gefragt; er erfährt deine Adresse.</translation>
    </message>
    <message>
        <source>Progress of the update</source>
        <translation>Fortschritt der Aktualisierung</translation>
    </message>
    <message>
        <source>{version}. Looked at {time}.</source>
        <translation>{version}. Nachgesehen: {time}.</translation>
    </message>
    <message>
        <source>Version {version} of {day}</source>
        <translation>Version {version}, {day}</translation>
    </message>
    <message>
        <source>Install version {version}</source>
        <translation>Version {version} installieren</translation>
    </message>
    <message>
        <source>Open sessions may end first, for ten minutes at most; then they go on elsewhere. If the new version does not come up, this one is used again by itself.</source>
        <translation>Offene Sitzungen dürfen vorher enden, höchstens zehn Minuten lang; dann gehen sie anderswo weiter. Startet die neue Version nicht, wird von selbst wieder diese benutzt.</translation>
    </message>
    <message>
        <source>What installed Potluck also updates it: apt, or pip. Install the new version with that.</source>
        <translation>Was Potluck installiert hat, aktualisiert es auch: apt oder pip. Installiere die neue Version damit.</translation>
    </message>
    <message>
        <source>Look again</source>
        <translation>Noch einmal nachsehen</translation>
    </message>
    <message>
        <source>This installation has no publisher to ask. The settings updates.url and updates.key name one.</source>
        <translation>Diese Installation hat keinen Herausgeber, den sie fragen könnte. Die Einstellungen updates.url und updates.key nennen einen.</translation>
    </message>
</context>
<context>
    <name>WatchingPage</name>
    <message>
        <source>What Potluck watches</source>
        <translation>Worauf Potluck achtet</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
</context>
<context>
    <name>WeekGrid</name>
    <message>
        <source>donating</source>
        <translation>Spenden</translation>
    </message>
    <message>
        <source>not donating</source>
        <translation>kein Spenden</translation>
    </message>
</context>
<context>
    <name>WhenPage</name>
    <message>
        <source>When to donate</source>
        <translation>Wann spenden</translation>
    </message>
    <message>
        <source>Hours of the week in which to donate</source>
        <translation>Stunden der Woche, in denen gespendet wird</translation>
    </message>
    <message>
        <source>Always step aside for</source>
        <translation>Immer Platz machen für</translation>
    </message>
    <message>
        <source>Whenever one of these runs, it has the computer for itself.</source>
        <translation>Läuft eines davon, hat es den Computer für sich allein.</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>Nie Platz machen für</translation>
    </message>
    <message>
        <source>Programs that look like a game and are none.</source>
        <translation>Programme, die wie ein Spiel aussehen und keines sind.</translation>
    </message>
    <message>
        <source>At any time. Click hours or drag over them to leave them out.</source>
        <translation>Jederzeit. Klicke Stunden an oder ziehe darüber, um sie auszulassen.</translation>
    </message>
    <message>
        <source>Only in the filled hours.</source>
        <translation>Nur in den ausgefüllten Stunden.</translation>
    </message>
    <message>
        <source>Your settings are exact to the minute: {hours}. Painting rounds them to hours.</source>
        <translation>Deine Einstellung gilt auf die Minute: {hours}. Malen rundet sie auf Stunden.</translation>
    </message>
    <message>
        <source>No hour is left, so nothing was changed. To stop donating, use the menu.</source>
        <translation>Keine Stunde bliebe übrig, daher wurde nichts geändert. Zum Aufhören gibt es das Menü.</translation>
    </message>
    <message>
        <source>From now on, Potluck steps aside whenever {program} runs.</source>
        <translation>Ab jetzt macht Potluck Platz, wenn {program} läuft.</translation>
    </message>
    <message>
        <source>From now on, Potluck goes on serving while {program} runs.</source>
        <translation>Ab jetzt macht Potluck weiter, während {program} läuft.</translation>
    </message>
    <message>
        <source>{program} is judged by what it does again.</source>
        <translation>Bei {program} zählt wieder, was es tut.</translation>
    </message>
    <message>
        <source>Games come first</source>
        <translation>Spiele gehen vor</translation>
    </message>
    <message>
        <source>When a game starts, its graphics memory is free within a second. Donating goes on by itself.</source>
        <translation>Startet ein Spiel, ist sein Grafikspeicher in einer Sekunde frei. Das Spenden geht von selbst weiter.</translation>
    </message>
    <message>
        <source>What counts as a game</source>
        <translation>Was als Spiel zählt</translation>
    </message>
    <message>
        <source>Wait after a game</source>
        <translation>Warten nach einem Spiel</translation>
    </message>
    <message>
        <source>Enough to start the next round undisturbed.</source>
        <translation>Genug, um ungestört die nächste Runde zu starten.</translation>
    </message>
    <message>
        <source>s</source>
        <translation>s</translation>
    </message>
    <message>
        <source>Go on with the other graphics cards</source>
        <translation>Mit den anderen Grafikkarten weitermachen</translation>
    </message>
    <message>
        <source>Step aside only on the card that the game uses, if that is known.</source>
        <translation>Nur auf der Karte Platz machen, die das Spiel benutzt, wenn das bekannt ist.</translation>
    </message>
    <message>
        <source>Games that Steam runs</source>
        <translation>Spiele, die Steam startet</translation>
    </message>
    <message>
        <source>Games that ask for GameMode</source>
        <translation>Spiele, die GameMode benutzen</translation>
    </message>
    <message>
        <source>Windows games with Proton or Wine</source>
        <translation>Windows-Spiele mit Proton oder Wine</translation>
    </message>
    <message>
        <source>What runs in gamescope</source>
        <translation>Was in gamescope läuft</translation>
    </message>
    <message>
        <source>Full-screen programs that are busy</source>
        <translation>Beschäftigte Programme im Vollbild</translation>
    </message>
    <message>
        <source>Players of videos, browsers and screen savers do not count.</source>
        <translation>Videoplayer, Browser und Bildschirmschoner zählen nicht.</translation>
    </message>
    <message>
        <source>Programs that keep a graphics card busy</source>
        <translation>Programme, die eine Grafikkarte auslasten</translation>
    </message>
    <message>
        <source>Programs that need the memory</source>
        <translation>Programme, die den Speicher brauchen</translation>
    </message>
    <message>
        <source>While you are here</source>
        <translation>Während du da bist</translation>
    </message>
    <message>
        <source>Speed while I use the computer</source>
        <translation>Tempo, während ich den Computer benutze</translation>
    </message>
    <message>
        <source>100 % is as fast as it can.</source>
        <translation>100 % ist so schnell es geht.</translation>
    </message>
    <message>
        <source>Donate only while I am away</source>
        <translation>Nur spenden, wenn ich weg bin</translation>
    </message>
    <message>
        <source>Away after</source>
        <translation>Weg nach</translation>
    </message>
    <message>
        <source>Keyboard and mouse have not been touched for so long.</source>
        <translation>So lange wurden Tastatur und Maus nicht berührt.</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <source>Step aside for other users who sit at the computer</source>
        <translation>Platz machen für andere, die am Computer sitzen</translation>
    </message>
    <message>
        <source>Hours of the week</source>
        <translation>Stunden der Woche</translation>
    </message>
    <message>
        <source>At any time</source>
        <translation>Jederzeit</translation>
    </message>
    <message>
        <source>Only at night</source>
        <translation>Nur nachts</translation>
    </message>
    <message>
        <source>Not at night</source>
        <translation>Nicht nachts</translation>
    </message>
    <message>
        <source>On the move</source>
        <translation>Unterwegs</translation>
    </message>
    <message>
        <source>Donate on battery as well</source>
        <translation>Auch im Akkubetrieb spenden</translation>
    </message>
    <message>
        <source>Donate over a metered network as well</source>
        <translation>Auch über ein getaktetes Netz spenden</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Wenn du dich anmeldest</translation>
    </message>
</context>
</TS>
