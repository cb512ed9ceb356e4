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
        <source>The connection was lost before the answer was complete.</source>
        <translation>Die Verbindung brach ab, bevor die Antwort vollständig war.</translation>
    </message>
    <message>
        <source>Potluck received an answer that it does not understand.</source>
        <translation>Potluck hat eine Antwort erhalten, die es nicht versteht.</translation>
    </message>
    <message>
        <source>All that fits</source>
        <translation>Alles, was passt</translation>
    </message>
    <message>
        <source>With less memory, Potluck serves fewer layers. A change reloads them.</source>
        <translation>Mit weniger Speicher stellt Potluck weniger Schichten bereit. Eine Änderung lädt sie neu.</translation>
    </message>
    <message>
        <source>Memory for Potluck</source>
        <translation>Speicher für Potluck</translation>
    </message>
    <message>
        <source>Above this, Potluck slows down.</source>
        <translation>Darüber wird Potluck langsamer.</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>Keine Grenze</translation>
    </message>
    <message>
        <source>Above this, Potluck slows down, even if a graphics card computes.</source>
        <translation>Darüber wird Potluck langsamer, auch wenn eine Grafikkarte rechnet.</translation>
    </message>
    <message>
        <source>Temperature limit</source>
        <translation>Temperaturgrenze</translation>
    </message>
    <message>
        <source>Power limit</source>
        <translation>Leistungsgrenze</translation>
    </message>
    <message>
        <source>Potluck {ours} of {limit}</source>
        <translation>Potluck {ours} von {limit}</translation>
    </message>
    <message>
        <source>Potluck {ours}</source>
        <translation>Potluck {ours}</translation>
    </message>
    <message>
        <source>{free} of {all} free</source>
        <translation>{free} von {all} frei</translation>
    </message>
    <message>
        <source>other programs {others}</source>
        <translation>andere Programme {others}</translation>
    </message>
    <message>
        <source>selected automatically</source>
        <translation>automatisch gewählt</translation>
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
        <source>Table (CSV)</source>
        <translation>Tabelle (CSV)</translation>
    </message>
    <message>
        <source>Export all entries</source>
        <translation>Alle Einträge exportieren</translation>
    </message>
    <message numerus="yes">
        <source>%n entries written to {file}.</source>
        <translation>
            <numerusform>%n Eintrag in {file} geschrieben.</numerusform>
            <numerusform>%n Einträge in {file} geschrieben.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Swarm “{swarm}”, %n layer(s)</source>
        <translation>
            <numerusform>Schwarm „{swarm}“, %n Schicht</numerusform>
            <numerusform>Schwarm „{swarm}“, %n Schichten</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Here: {layers} (%n)</source>
        <translation>
            <numerusform>Hier: {layers} (%n)</numerusform>
            <numerusform>Hier: {layers} (%n)</numerusform>
        </translation>
    </message>
    <message>
        <source>Computed on {device}, {dtype}</source>
        <translation>Berechnet mit: {device}, {dtype}</translation>
    </message>
    <message>
        <source>weights in {format}</source>
        <translation>Gewichte in {format}</translation>
    </message>
    <message>
        <source>{size} of weights in device memory</source>
        <translation>{size} Gewichte im Gerätespeicher</translation>
    </message>
    <message>
        <source>{size} loaded for each step</source>
        <translation>{size} je Schritt nachgeladen</translation>
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
        <source>Milestone</source>
        <translation>Meilenstein</translation>
    </message>
    <message>
        <source>You earned {points} points. Thank you!</source>
        <translation>Du hast {points} Punkte verdient. Danke!</translation>
    </message>
    <message>
        <source>Every layer of {model} is served. You can chat now.</source>
        <translation>Jede Schicht von {model} wird bereitgestellt. Du kannst jetzt chatten.</translation>
    </message>
    <message>
        <source>The model is complete</source>
        <translation>Das Modell ist vollständig</translation>
    </message>
    <message>
        <source>A layer is missing</source>
        <translation>Eine Schicht fehlt</translation>
    </message>
    <message>
        <source>{names} joined the swarm “{swarm}”.</source>
        <translation>{names} ist dem Schwarm „{swarm}“ beigetreten.</translation>
    </message>
    <message>
        <source>A friend joined</source>
        <translation>Ein Freund ist beigetreten</translation>
    </message>
    <message>
        <source>Waiting to be let into the swarm “{swarm}”: {names}. Decide on the page People.</source>
        <translation>Warten auf Aufnahme in den Schwarm „{swarm}“: {names}. Entscheide auf der Seite Leute.</translation>
    </message>
    <message>
        <source>Somebody waits to be let in</source>
        <translation>Jemand wartet auf Aufnahme</translation>
    </message>
    <message>
        <source>{name} asks to be one of your computers. Confirm it on the page People.</source>
        <translation>{name} möchte einer deiner Computer werden. Bestätige ihn auf der Seite Leute.</translation>
    </message>
    <message>
        <source>Another computer of yours?</source>
        <translation>Noch ein Computer von dir?</translation>
    </message>
    <message>
        <source>Potluck {version} is available.</source>
        <translation>Potluck {version} ist verfügbar.</translation>
    </message>
    <message>
        <source>An update is ready</source>
        <translation>Ein Update ist bereit</translation>
    </message>
    <message>
        <source>Paused since {time}. Resume from the tray menu.</source>
        <translation>Pausiert seit {time}. Weiter geht es im Menü der Leiste.</translation>
    </message>
    <message>
        <source>Still paused</source>
        <translation>Immer noch pausiert</translation>
    </message>
    <message>
        <source>Home</source>
        <translation>Übersicht</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ertrag</translation>
    </message>
    <message>
        <source>When to donate</source>
        <translation>Spendezeiten</translation>
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
        <source>People</source>
        <translation>Leute</translation>
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
        <source>Use in other apps</source>
        <translation>In anderen Apps</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
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
        <source>Starting</source>
        <translation>Startet</translation>
    </message>
    <message>
        <source>Loading layers</source>
        <translation>Lädt Schichten</translation>
    </message>
    <message>
        <source>layers {blocks} of {model} (loading {target})</source>
        <translation>die Schichten {blocks} von {model} (lädt {target})</translation>
    </message>
    <message>
        <source>layers {blocks} of {model} (moving to {target})</source>
        <translation>die Schichten {blocks} von {model} (dann {target})</translation>
    </message>
    <message>
        <source>layers {blocks} of {model}</source>
        <translation>die Schichten {blocks} von {model}</translation>
    </message>
    <message>
        <source>You stopped donating</source>
        <translation>Du hast das Spenden beendet</translation>
    </message>
    <message>
        <source>The compute engine is not set up yet</source>
        <translation>Die Rechenumgebung ist noch nicht eingerichtet</translation>
    </message>
    <message>
        <source>Can&apos;t tell whether you&apos;re away, so not serving. Turn off “Only while I&apos;m away” to serve anyway</source>
        <translation>Nicht im Einsatz, weil nicht erkennbar ist, ob du weg bist. Schalte „Nur wenn ich weg bin“ aus, um trotzdem zu spenden</translation>
    </message>
    <message>
        <source>This month&apos;s upload of {all} is used up</source>
        <translation>Der Upload dieses Monats von {all} ist aufgebraucht</translation>
    </message>
    <message>
        <source>This month&apos;s download of {all} is used up</source>
        <translation>Der Download dieses Monats von {all} ist aufgebraucht</translation>
    </message>
    <message>
        <source>when you turn it off</source>
        <translation>wenn du das ausschaltest</translation>
    </message>
    <message>
        <source>Models fill their {all} on the disk</source>
        <translation>Die Modelle füllen ihre {all} auf der Festplatte</translation>
    </message>
    <message>
        <source>Today&apos;s upload of {all} is used up</source>
        <translation>Der heutige Upload von {all} ist verbraucht</translation>
    </message>
    <message>
        <source>Today&apos;s download of {all} is used up</source>
        <translation>Der heutige Download von {all} ist verbraucht</translation>
    </message>
    <message>
        <source>The disk is nearly full: {free} left</source>
        <translation>Die Festplatte ist fast voll: noch {free} frei</translation>
    </message>
    <message>
        <source>only {free} free at {path}</source>
        <translation>nur {free} frei unter {path}</translation>
    </message>
    <message>
        <source>{free} free for models at {path}</source>
        <translation>{free} frei für Modelle unter {path}</translation>
    </message>
    <message>
        <source>{free} of {all} available</source>
        <translation>{free} von {all} verfügbar</translation>
    </message>
    <message>
        <source>when the time is over</source>
        <translation>wenn die Zeit um ist</translation>
    </message>
    <message>
        <source>in a moment</source>
        <translation>gleich</translation>
    </message>
    <message>
        <source>when you&apos;ve been away for a while</source>
        <translation>wenn du eine Weile weg bist</translation>
    </message>
    <message>
        <source>when you start donating again</source>
        <translation>wenn du wieder spendest</translation>
    </message>
    <message>
        <source>when you set it up</source>
        <translation>wenn du sie einrichtest</translation>
    </message>
    <message>
        <source>when the disk has more space</source>
        <translation>wenn die Festplatte mehr Platz hat</translation>
    </message>
    <message>
        <source>when you delete a model or raise the limit</source>
        <translation>wenn du ein Modell löschst oder die Grenze anhebst</translation>
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
        <source>You are not confirmed yet: that happens when a leader&apos;s computer is online.</source>
        <translation>Du bist noch nicht bestätigt: Das geschieht, sobald ein Computer des Gründers oder eines Admins online ist.</translation>
    </message>
    <message>
        <source>Not known yet</source>
        <translation>Noch nicht bekannt</translation>
    </message>
    <message>
        <source>Stepped aside</source>
        <translation>Macht Platz</translation>
    </message>
    <message>
        <source>Getting ready</source>
        <translation>Macht sich bereit</translation>
    </message>
    <message>
        <source>Away</source>
        <translation>Nicht da</translation>
    </message>
    <message>
        <source>Serves layers {layers}</source>
        <translation>Stellt die Schichten {layers} bereit</translation>
    </message>
    <message>
        <source>Serves layer {layers}</source>
        <translation>Stellt die Schicht {layers} bereit</translation>
    </message>
    <message>
        <source>{time} ms away</source>
        <translation>{time} ms entfernt</translation>
    </message>
    <message>
        <source>{names} and {name}</source>
        <translation>{names} und {name}</translation>
    </message>
    <message numerus="yes">
        <source>{name} and %n other(s)</source>
        <translation>
            <numerusform>{name} und %n weiteren Person</numerusform>
            <numerusform>{name} und %n weiteren Leuten</numerusform>
        </translation>
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
        <source>Checking this computer</source>
        <translation>Prüft diesen Computer</translation>
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
        <source>Testing on this computer</source>
        <translation>Probelauf auf diesem Computer</translation>
    </message>
    <message>
        <source>Activating</source>
        <translation>Aktiviert</translation>
    </message>
    <message>
        <source>{name}, for NVIDIA graphics cards</source>
        <translation>{name}, für Grafikkarten von NVIDIA</translation>
    </message>
    <message>
        <source>{name}, for older NVIDIA graphics cards or drivers</source>
        <translation>{name}, für ältere Grafikkarten oder Treiber von NVIDIA</translation>
    </message>
    <message>
        <source>{name}, for AMD graphics cards</source>
        <translation>{name}, für Grafikkarten von AMD</translation>
    </message>
    <message>
        <source>{name}, for Intel graphics cards</source>
        <translation>{name}, für Grafikkarten von Intel</translation>
    </message>
    <message>
        <source>Getting ready: {step}…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Downloading {what}</source>
        <translation>Lädt {what} herunter</translation>
    </message>
    <message>
        <source>Downloads up to {download} and takes {disk} on the disk.</source>
        <translation>Lädt höchstens {download} herunter und belegt {disk} auf der Festplatte.</translation>
    </message>
    <message>
        <source>{name}, for the processor</source>
        <translation>{name}, für den Prozessor</translation>
    </message>
    <message>
        <source>{name}, for Macs with Apple&apos;s processor</source>
        <translation>{name}, für Macs mit Apples Prozessor</translation>
    </message>
    <message>
        <source>Detecting something now</source>
        <translation>Erkennt gerade etwas</translation>
    </message>
    <message>
        <source>Not working</source>
        <translation>Funktioniert nicht</translation>
    </message>
    <message>
        <source>Active, nothing detected</source>
        <translation>Aktiv, nichts erkannt</translation>
    </message>
    <message>
        <source>Resting while Potluck is not serving</source>
        <translation>Ruht, solange Potluck nicht im Einsatz ist</translation>
    </message>
    <message>
        <source>Not available on this computer</source>
        <translation>Auf diesem Computer nicht verfügbar</translation>
    </message>
    <message>
        <source>Off in your settings</source>
        <translation>In deinen Einstellungen ausgeschaltet</translation>
    </message>
    <message>
        <source>Known only to a newer version</source>
        <translation>Nur einer neueren Version bekannt</translation>
    </message>
    <message numerus="yes">
        <source>Watching for games and activity (%n detector(s) not working)</source>
        <translation>
            <numerusform>Achtet auf Spiele und Aktivität (%n Melder funktioniert nicht)</numerusform>
            <numerusform>Achtet auf Spiele und Aktivität (%n Melder funktionieren nicht)</numerusform>
        </translation>
    </message>
    <message>
        <source>Watching for games and activity</source>
        <translation>Achtet auf Spiele und Aktivität</translation>
    </message>
    <message>
        <source>Detectors are resting</source>
        <translation>Die Melder ruhen</translation>
    </message>
    <message>
        <source>Potluck is not running</source>
        <translation>Potluck läuft nicht</translation>
    </message>
    <message>
        <source>Your settings and points are safe.</source>
        <translation>Deine Einstellungen und Punkte sind sicher.</translation>
    </message>
    <message>
        <source>Potluck ended unexpectedly</source>
        <translation>Potluck wurde unerwartet beendet</translation>
    </message>
    <message>
        <source>Serving at {percent} %</source>
        <translation>Im Einsatz mit {percent} %</translation>
    </message>
    <message>
        <source>Waiting to be let in</source>
        <translation>Wartet auf Aufnahme</translation>
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
        <source>Potluck stopped responding</source>
        <translation>Potluck antwortet nicht mehr</translation>
    </message>
    <message>
        <source>It may come back by itself.</source>
        <translation>Vielleicht antwortet es von selbst wieder.</translation>
    </message>
    <message>
        <source>Removed from the swarm</source>
        <translation>Aus dem Schwarm entfernt</translation>
    </message>
    <message>
        <source>{left}. Shuts down by {time}.</source>
        <translation>{left}. Endet spätestens um {time}.</translation>
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
        <source>Keep serving whenever {program} runs? You can change this later in Activity.</source>
        <translation>Weiter im Einsatz bleiben, wenn {program} läuft? Unter Verlauf kannst du das später ändern.</translation>
    </message>
    <message>
        <source>Today: {sent} sent, {received} received, {energy}</source>
        <translation>Heute: {sent} gesendet, {received} empfangen, {energy}</translation>
    </message>
    <message>
        <source>{number} tokens/s</source>
        <translation>{number} Token/s</translation>
    </message>
    <message>
        <source>{number} bn</source>
        <translation>{number} Mrd.</translation>
    </message>
    <message>
        <source>{number} M</source>
        <translation>{number} Mio.</translation>
    </message>
    <message>
        <source>{used} of {all}</source>
        <translation>{used} von {all}</translation>
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
        <source>processor</source>
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
        <source>d MMM yyyy</source>
        <translation>d. MMM yyyy</translation>
    </message>
    <message>
        <source>TCP port {number}</source>
        <translation>TCP-Port {number}</translation>
    </message>
    <message>
        <source>{name}: {watts} W (measured).</source>
        <translation>{name}: {watts} W (gemessen).</translation>
    </message>
    <message>
        <source>While serving: {watts} W (from your settings).</source>
        <translation>Im Einsatz: {watts} W (aus deinen Einstellungen).</translation>
    </message>
    <message>
        <source>{name}: {watts} W (estimated).</source>
        <translation>{name}: {watts} W (geschätzt).</translation>
    </message>
    <message>
        <source>{coverage} (at {time})</source>
        <translation>{coverage} (Stand {time})</translation>
    </message>
    <message>
        <source>You serve none.</source>
        <translation>Du stellst keine bereit.</translation>
    </message>
    <message>
        <source>You serve {layers}.</source>
        <translation>Du stellst {layers} bereit.</translation>
    </message>
    <message numerus="yes">
        <source>%n layer(s), status unknown.</source>
        <translation>
            <numerusform>%n Schicht, Stand unbekannt.</numerusform>
            <numerusform>%n Schichten, Stand unbekannt.</numerusform>
        </translation>
    </message>
    <message>
        <source>Nobody serves layer {layer}.</source>
        <translation>Niemand stellt die Schicht {layer} bereit.</translation>
    </message>
    <message>
        <source>Nobody serves layers {layers}.</source>
        <translation>Niemand stellt die Schichten {layers} bereit.</translation>
    </message>
    <message numerus="yes">
        <source>All %n layer(s) online.</source>
        <translation>
            <numerusform>Die %n Schicht ist online.</numerusform>
            <numerusform>Alle %n Schichten sind online.</numerusform>
        </translation>
    </message>
    <message>
        <source>Total capacity: about {rate}.</source>
        <translation>Gesamtleistung: etwa {rate}.</translation>
    </message>
    <message>
        <source>The framed layers limit it: {layers}.</source>
        <translation>Die umrahmten Schichten begrenzen sie: {layers}.</translation>
    </message>
    <message>
        <source>Only the founder and admins can invite people.</source>
        <translation>Nur der Gründer und die Admins können einladen.</translation>
    </message>
    <message>
        <source>Only the founder and admins can invite people. Ask {names}.</source>
        <translation>Nur der Gründer und die Admins können einladen. Frag {names}.</translation>
    </message>
    <message>
        <source>Founder</source>
        <translation>Gründer</translation>
    </message>
    <message>
        <source>Admin</source>
        <translation>Admin</translation>
    </message>
    <message>
        <source>lets newcomers in</source>
        <translation>lässt Neue herein</translation>
    </message>
    <message>
        <source>waits to be let in</source>
        <translation>wartet auf Aufnahme</translation>
    </message>
    <message>
        <source>not confirmed yet</source>
        <translation>noch nicht bestätigt</translation>
    </message>
    <message>
        <source>known since {day}</source>
        <translation>bekannt seit {day}</translation>
    </message>
    <message>
        <source>invited by {name}</source>
        <translation>eingeladen von {name}</translation>
    </message>
    <message>
        <source>on probation</source>
        <translation>auf Probe</translation>
    </message>
    <message>
        <source>Last hour: {mean} tokens/s on average, {most} at most</source>
        <translation>Letzte Stunde: im Mittel {mean} Token/s, höchstens {most}</translation>
    </message>
    <message>
        <source>Last hour: {mean} % on average, {most} % at most</source>
        <translation>Letzte Stunde: im Mittel {mean} %, höchstens {most} %</translation>
    </message>
    <message numerus="yes">
        <source>{number} token(s)</source>
        <translation>
            <numerusform>{number} Token</numerusform>
            <numerusform>{number} Token</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>you helped %n people with {tokens}</source>
        <translation>
            <numerusform>%n Person mit {tokens} geholfen</numerusform>
            <numerusform>%n Leuten mit {tokens} geholfen</numerusform>
        </translation>
    </message>
    <message>
        <source>you served {tokens}</source>
        <translation>{tokens} bereitgestellt</translation>
    </message>
    <message>
        <source>you helped {people} with {tokens}</source>
        <translation>{people} mit {tokens} geholfen</translation>
    </message>
    <message>
        <source>stepped aside for {time} of {game}</source>
        <translation>{time} lang {game} Platz gemacht</translation>
    </message>
    <message>
        <source>you stepped aside for {time} of {game}</source>
        <translation>{time} lang {game} Platz gemacht</translation>
    </message>
    <message>
        <source>Today: {one} and {other}.</source>
        <translation>Heute: {one} und {other}.</translation>
    </message>
    <message>
        <source>Today: {one}.</source>
        <translation>Heute: {one}.</translation>
    </message>
    <message>
        <source>In Admin Panel, Settings, Connections, add an OpenAI API connection:</source>
        <translation>Füge unter Administrationsbereich, Einstellungen, Verbindungen eine OpenAI-API-Verbindung hinzu:</translation>
    </message>
    <message>
        <source>In config.yaml, below “models”:</source>
        <translation>In config.yaml, unter „models“:</translation>
    </message>
    <message>
        <source>In a terminal:</source>
        <translation>In einem Terminal:</translation>
    </message>
    <message>
        <source>With OpenAI&apos;s package (pip install openai):</source>
        <translation>Mit dem Paket von OpenAI (pip install openai):</translation>
    </message>
    <message>
        <source>answered by {names}</source>
        <translation>beantwortet von {names}</translation>
    </message>
    <message>
        <source>Explain language models in three sentences.</source>
        <translation>Erkläre Sprachmodelle in drei Sätzen.</translation>
    </message>
    <message>
        <source>Suggest a dinner for five friends.</source>
        <translation>Schlage ein Abendessen für fünf Freunde vor.</translation>
    </message>
    <message>
        <source>Write a haiku about sharing.</source>
        <translation>Schreibe ein Haiku über das Teilen.</translation>
    </message>
    <message>
        <source>size unknown</source>
        <translation>Größe unbekannt</translation>
    </message>
    <message>
        <source>licence {name}</source>
        <translation>Lizenz {name}</translation>
    </message>
    <message>
        <source>licence unknown</source>
        <translation>Lizenz unbekannt</translation>
    </message>
    <message>
        <source>on this computer</source>
        <translation>auf diesem Computer</translation>
    </message>
    <message>
        <source>to be downloaded</source>
        <translation>wird heruntergeladen</translation>
    </message>
    <message>
        <source>its owner must grant you access</source>
        <translation>sein Eigentümer muss dir Zugriff geben</translation>
    </message>
    <message>
        <source>Fits on this computer</source>
        <translation>Passt auf diesen Computer</translation>
    </message>
    <message numerus="yes">
        <source>Fits with %n friend(s) like you</source>
        <translation>
            <numerusform>Passt mit einem Freund wie dir</numerusform>
            <numerusform>Passt mit %n Freunden wie dir</numerusform>
        </translation>
    </message>
    <message>
        <source>its TCP port</source>
        <translation>seinen TCP-Port</translation>
    </message>
    <message>
        <source>Others reach this computer: members have tried.</source>
        <translation>Andere erreichen diesen Computer: Mitglieder haben es versucht.</translation>
    </message>
    <message>
        <source>This computer has a public address, but no member has tried yet to reach it.</source>
        <translation>Dieser Computer hat eine öffentliche Adresse, aber noch kein Mitglied hat versucht, ihn zu erreichen.</translation>
    </message>
    <message>
        <source>Others reach this computer through a relay. It is faster if your router forwards {port}.</source>
        <translation>Andere erreichen diesen Computer über ein Relais. Es geht schneller, wenn dein Router {port} weiterleitet.</translation>
    </message>
    <message>
        <source>Newcomers reach the swarm through other computers that the invite names.</source>
        <translation>Neue erreichen den Schwarm über andere Computer, die in der Einladung stehen.</translation>
    </message>
    <message>
        <source>Only computers in your own network can reach this one. For friends elsewhere, let your router forward {port}.</source>
        <translation>Nur Computer in deinem eigenen Netz erreichen diesen hier. Lass für Freunde anderswo deinen Router {port} weiterleiten.</translation>
    </message>
    <message>
        <source>This swarm is for this computer alone.</source>
        <translation>Dieser Schwarm ist nur für diesen Computer gedacht.</translation>
    </message>
    <message>
        <source>Other computers cannot reach this one. Connect it to a network before you send an invite.</source>
        <translation>Andere Computer erreichen diesen hier nicht. Verbinde ihn mit einem Netz, bevor du eine Einladung sendest.</translation>
    </message>
    <message>
        <source>Picture (PNG)</source>
        <translation>Bild (PNG)</translation>
    </message>
    <message>
        <source>Save the picture</source>
        <translation>Bild speichern</translation>
    </message>
    <message>
        <source>The picture is in {file}.</source>
        <translation>Das Bild ist in {file}.</translation>
    </message>
    <message>
        <source>Can&apos;t join the swarm yet: {why}. Trying again.</source>
        <translation>Der Schwarm ist noch nicht erreichbar: {why}. Neuer Versuch folgt.</translation>
    </message>
    <message>
        <source>The daemon runs version {theirs}, this program is {ours}</source>
        <translation>Der Dienst läuft in Version {theirs}, dieses Programm ist {ours}</translation>
    </message>
    <message>
        <source>ask the person who invited you for a new invite</source>
        <translation>bitte die Person, die dich eingeladen hat, um eine neue Einladung</translation>
    </message>
    <message>
        <source>blocks {blocks} are served by few</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>blocks {blocks} were served by nobody</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>its log has the reason; please report it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>no bootstrap peer answers ({number} tried)</source>
        <translation>kein Einstiegsknoten antwortet ({number} versucht)</translation>
    </message>
    <message>
        <source>no member is online who could let you in</source>
        <translation>kein Mitglied ist online, das dich einlassen könnte</translation>
    </message>
    <message>
        <source>removed from the swarm</source>
        <translation>aus dem Schwarm entfernt</translation>
    </message>
    <message>
        <source>restart the daemon: potluck drain, then potluck start</source>
        <translation>starte den Dienst neu: potluck drain, dann potluck start</translation>
    </message>
    <message>
        <source>start this program again</source>
        <translation>starte dieses Programm neu</translation>
    </message>
    <message>
        <source>the engine failed unexpectedly</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the invite has been used up</source>
        <translation>die Einladung ist aufgebraucht</translation>
    </message>
    <message>
        <source>the invite has expired</source>
        <translation>die Einladung ist abgelaufen</translation>
    </message>
    <message>
        <source>the invite was ended, or it was not made by somebody who may invite</source>
        <translation>die Einladung wurde beendet, oder sie stammt von jemandem, der nicht einladen darf</translation>
    </message>
    <message>
        <source>the peer does not show that it belongs to the swarm</source>
        <translation>die Gegenstelle zeigt nicht, dass sie zum Schwarm gehört</translation>
    </message>
    <message>
        <source>the peer knows too little of the swarm; try again when it has met others</source>
        <translation>die Gegenstelle weiß zu wenig über den Schwarm; versuche es wieder, wenn sie andere getroffen hat</translation>
    </message>
    <message>
        <source>the rest of what it joined for</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the swarm does not admit this computer: {why}</source>
        <translation>der Schwarm lässt diesen Computer nicht zu: {why}</translation>
    </message>
    <message>
        <source>this node has just started</source>
        <translation>dieser Knoten ist gerade erst gestartet</translation>
    </message>
    <message>
        <source>this node lets nobody in</source>
        <translation>dieser Knoten lässt niemanden ein</translation>
    </message>
    <message>
        <source>too many people joined from your part of the network today; try again tomorrow</source>
        <translation>aus deinem Teil des Netzes sind heute zu viele Leute beigetreten; versuche es morgen wieder</translation>
    </message>
    <message>
        <source>try again when another member is online</source>
        <translation>versuche es wieder, wenn ein anderes Mitglied online ist</translation>
    </message>
    <message>
        <source>waiting for your other computer to let this one in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{advice}; if others can use this swarm, your invite is out of date</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{text}</source>
        <translation>{text}</translation>
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
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
    <message>
        <source>Nothing here yet</source>
        <translation>Hier ist noch nichts</translation>
    </message>
    <message>
        <source>Keep serving while {program} runs</source>
        <translation>Im Einsatz bleiben, während {program} läuft</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>Nie Platz machen für</translation>
    </message>
    <message>
        <source>Potluck now keeps serving while {program} runs.</source>
        <translation>Potluck bleibt jetzt im Einsatz, während {program} läuft.</translation>
    </message>
    <message>
        <source>Show more</source>
        <translation>Mehr zeigen</translation>
    </message>
    <message>
        <source>Never for this app</source>
        <translation>Nie für dieses Programm</translation>
    </message>
    <message>
        <source>Never step aside for {program}</source>
        <translation>Nie für {program} Platz machen</translation>
    </message>
    <message>
        <source>Step aside for {program} again</source>
        <translation>Für {program} wieder Platz machen</translation>
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
        <source>Start Potluck</source>
        <translation>Potluck starten</translation>
    </message>
    <message>
        <source>Show log</source>
        <translation>Protokoll zeigen</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Neu starten</translation>
    </message>
    <message>
        <source>Potluck is being updated</source>
        <translation>Potluck wird aktualisiert</translation>
    </message>
    <message>
        <source>The new version starts in a moment.</source>
        <translation>Die neue Version startet gleich.</translation>
    </message>
    <message>
        <source>Potluck was updated</source>
        <translation>Potluck wurde aktualisiert</translation>
    </message>
    <message>
        <source>Starting Potluck…</source>
        <translation>Potluck startet …</translation>
    </message>
</context>
<context>
    <name>BackupForm</name>
    <message>
        <source>Password</source>
        <translation>Passwort</translation>
    </message>
    <message>
        <source>Password again</source>
        <translation>Passwort noch einmal</translation>
    </message>
    <message>
        <source>Save backup…</source>
        <translation>Sicherung speichern…</translation>
    </message>
    <message>
        <source>If this computer breaks, a backup makes a new one yours, in all your swarms. Keep the file and the password apart.</source>
        <translation>Wenn dieser Computer kaputtgeht, macht eine Sicherung einen neuen zu deinem, in allen deinen Schwärmen. Bewahre Datei und Passwort getrennt auf.</translation>
    </message>
    <message>
        <source>Backup of your keys</source>
        <translation>Sicherung deiner Schlüssel</translation>
    </message>
    <message>
        <source>Your keys are in {file}.</source>
        <translation>Deine Schlüssel sind in {file}.</translation>
    </message>
    <message numerus="yes">
        <source>The password needs at least %n letters.</source>
        <translation>
            <numerusform>Das Passwort braucht mindestens %n Buchstaben.</numerusform>
            <numerusform>Das Passwort braucht mindestens %n Buchstaben.</numerusform>
        </translation>
    </message>
    <message>
        <source>The two passwords differ.</source>
        <translation>Die zwei Passwörter sind verschieden.</translation>
    </message>
    <message>
        <source>Save backup</source>
        <translation>Sicherung speichern</translation>
    </message>
</context>
<context>
    <name>ChatOptions</name>
    <message>
        <source>Instructions</source>
        <translation>Anweisungen</translation>
    </message>
    <message>
        <source>For example: Answer in one sentence.</source>
        <translation>Zum Beispiel: Antworte in einem Satz.</translation>
    </message>
    <message>
        <source>At 0 the likeliest word always comes next; about 1 gives more variety.</source>
        <translation>Bei 0 folgt immer das wahrscheinlichste Wort, bei etwa 1 wird es abwechslungsreicher.</translation>
    </message>
    <message>
        <source>The model reads them before each conversation.</source>
        <translation>Das Modell liest sie vor jedem Gespräch.</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>Optionen</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
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
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Copy the answer</source>
        <translation>Antwort kopieren</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
    </message>
    <message>
        <source>Asking…</source>
        <translation>Frage wird gestellt …</translation>
    </message>
    <message>
        <source>The compute engine is not set up yet. Set it up on the page Installation.</source>
        <translation>Die Rechenumgebung ist noch nicht eingerichtet. Richte sie auf der Seite Installation ein.</translation>
    </message>
    <message>
        <source>People serving this model can read your messages.</source>
        <translation>Wer dieses Modell bereitstellt, kann deine Nachrichten lesen.</translation>
    </message>
    <message>
        <source>this computer starts</source>
        <translation>dieser Computer startet</translation>
    </message>
    <message>
        <source>Waiting for the first word…</source>
        <translation>Wartet auf das erste Wort …</translation>
    </message>
    <message>
        <source>The chat service was stopped.</source>
        <translation>Der Chat-Dienst wurde beendet.</translation>
    </message>
    <message>
        <source>This conversation could not be kept. Is the disk full?</source>
        <translation>Das Gespräch konnte nicht gespeichert werden. Ist die Festplatte voll?</translation>
    </message>
    <message>
        <source>No answer. A small model only continues a text: begin a sentence.</source>
        <translation>Keine Antwort. Ein kleines Modell setzt nur Texte fort: Beginne einen Satz.</translation>
    </message>
    <message>
        <source>Join or start a swarm to chat.</source>
        <translation>Tritt einem Schwarm bei oder gründe einen, um zu chatten.</translation>
    </message>
    <message>
        <source>No model to talk to yet</source>
        <translation>Noch kein Modell zum Reden</translation>
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
        <source>Talk to {model}</source>
        <translation>Sprich mit {model}</translation>
    </message>
</context>
<context>
    <name>CommandStarter</name>
    <message>
        <source>Potluck does not start. The log says more: potluck logs</source>
        <translation>Potluck startet nicht. Mehr steht im Protokoll: potluck logs</translation>
    </message>
</context>
<context>
    <name>ConversationList</name>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Search in conversations</source>
        <translation>In Gesprächen suchen</translation>
    </message>
    <message>
        <source>Conversations are kept on this computer only.</source>
        <translation>Gespräche bleiben auf diesem Computer.</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
    <message>
        <source>No conversation has these words.</source>
        <translation>Kein Gespräch enthält diese Wörter.</translation>
    </message>
    <message>
        <source>No conversations yet.</source>
        <translation>Noch keine Gespräche.</translation>
    </message>
    <message>
        <source>Search to find older ones.</source>
        <translation>Ältere findet die Suche.</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Open “{title}”</source>
        <translation>„{title}“ öffnen</translation>
    </message>
    <message>
        <source>Delete “{title}”</source>
        <translation>„{title}“ löschen</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Delete the conversation “{title}”?</source>
        <translation>Das Gespräch „{title}“ löschen?</translation>
    </message>
</context>
<context>
    <name>CopyButton</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
</context>
<context>
    <name>DetectorsCard</name>
    <message>
        <source>Detectors</source>
        <translation>Melder</translation>
    </message>
</context>
<context>
    <name>DeviceCards</name>
    <message>
        <source>Several graphics cards share the layers. Choose none, and Potluck takes the fastest.</source>
        <translation>Mehrere Grafikkarten teilen sich die Schichten. Ohne Auswahl nimmt Potluck das schnellste Gerät.</translation>
    </message>
</context>
<context>
    <name>Devices</name>
    <message>
        <source>In use</source>
        <translation>Wird benutzt</translation>
    </message>
    <message>
        <source>Not in use</source>
        <translation>Wird nicht benutzt</translation>
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
        <source>Checking…</source>
        <translation>Prüfe …</translation>
    </message>
    <message>
        <source>Checked {done} of {all}…</source>
        <translation>{done} von {all} geprüft …</translation>
    </message>
    <message>
        <source>A check-up covers the installation, disk, graphics card, network and swarm.</source>
        <translation>Geprüft werden Installation, Festplatte, Grafikkarte, Netz und Schwarm.</translation>
    </message>
    <message>
        <source>Checked {time}.</source>
        <translation>Geprüft: {time}.</translation>
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
        <source>Copied, without keys or addresses.</source>
        <translation>Kopiert, ohne Schlüssel und Adressen.</translation>
    </message>
    <message>
        <source>Check-up progress</source>
        <translation>Fortschritt der Prüfung</translation>
    </message>
    <message>
        <source>A report holds settings, history and log, without keys, invites, addresses or your user name.</source>
        <translation>Ein Bericht enthält Einstellungen, Verlauf und Protokoll, ohne Schlüssel, Einladungen, Adressen und deinen Benutzernamen.</translation>
    </message>
    <message>
        <source>Check-up</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Save a report…</source>
        <translation>Bericht speichern …</translation>
    </message>
    <message>
        <source>Copy system info</source>
        <translation>Systemdaten kopieren</translation>
    </message>
    <message>
        <source>Get help</source>
        <translation>Hilfe bekommen</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Protokoll</translation>
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
        <source>Period</source>
        <translation>Zeitraum</translation>
    </message>
    <message>
        <source>points earned</source>
        <translation>Punkte verdient</translation>
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
        <source>Earned</source>
        <translation>Verdient</translation>
    </message>
    <message>
        <source>Points earned</source>
        <translation>Verdiente Punkte</translation>
    </message>
    <message>
        <source>Points by model</source>
        <translation>Punkte nach Modell</translation>
    </message>
    <message>
        <source>No points in this period.</source>
        <translation>Keine Punkte in diesem Zeitraum.</translation>
    </message>
    <message>
        <source>Share…</source>
        <translation>Teilen …</translation>
    </message>
    <message>
        <source>My computer&apos;s day with Potluck</source>
        <translation>Ein Tag meines Computers mit Potluck</translation>
    </message>
    <message>
        <source>My computer&apos;s week with Potluck</source>
        <translation>Eine Woche meines Computers mit Potluck</translation>
    </message>
    <message>
        <source>My computer&apos;s month with Potluck</source>
        <translation>Ein Monat meines Computers mit Potluck</translation>
    </message>
    <message>
        <source>People share their graphics cards, and together they run large language models.</source>
        <translation>Menschen teilen ihre Grafikkarten und betreiben damit zusammen große Sprachmodelle.</translation>
    </message>
    <message>
        <source>{amount} points</source>
        <translation>{amount} Punkte</translation>
    </message>
    <message>
        <source>Points move your requests up the queue. They are not money.</source>
        <translation>Mit Punkten kommen deine Anfragen früher dran. Sie sind kein Geld.</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Wann</translation>
    </message>
    <message>
        <source>Points by time</source>
        <translation>Punkte nach Zeit</translation>
    </message>
    <message>
        <source>Show as table</source>
        <translation>Als Tabelle zeigen</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
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
        <source>cost (no price set)</source>
        <translation>Kosten (kein Preis angegeben)</translation>
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
        <source>Installation progress</source>
        <translation>Fortschritt der Installation</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>Aktualisieren</translation>
    </message>
    <message>
        <source>Go back to the previous one</source>
        <translation>Zurück zur vorigen</translation>
    </message>
    <message>
        <source>Change build or folder…</source>
        <translation>Variante oder Ordner ändern …</translation>
    </message>
    <message>
        <source>Using your own Python environment.</source>
        <translation>Nutzt deine eigene Python-Umgebung.</translation>
    </message>
    <message>
        <source>Ready: {devices}.</source>
        <translation>Bereit: {devices}.</translation>
    </message>
    <message>
        <source>PyTorch build: {variant}</source>
        <translation>PyTorch-Variante: {variant}</translation>
    </message>
    <message>
        <source>Newer packages are available. Update when it suits you.</source>
        <translation>Neuere Pakete sind verfügbar. Aktualisiere, wann es dir passt.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Folder: {folder}</source>
        <translation>Ordner: {folder}</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
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
        <source>Potluck computes on the device marked here.</source>
        <translation>Potluck rechnet auf dem hier markierten Gerät.</translation>
    </message>
    <message>
        <source>You come first</source>
        <translation>Du gehst vor</translation>
    </message>
    <message>
        <source>Welcome to Potluck</source>
        <translation>Willkommen bei Potluck</translation>
    </message>
    <message>
        <source>Try it on this computer</source>
        <translation>Auf diesem Computer ausprobieren</translation>
    </message>
    <message>
        <source>Trying it sets up the compute engine first. {sizes}</source>
        <translation>Dafür wird erst die Rechenumgebung eingerichtet. {sizes}</translation>
    </message>
    <message>
        <source>Lend a swarm the power that you do not need.</source>
        <translation>Leih einem Schwarm die Leistung, die du nicht brauchst.</translation>
    </message>
    <message>
        <source>Compute engine</source>
        <translation>Rechenumgebung</translation>
    </message>
    <message>
        <source>Potluck chooses the PyTorch build that fits this computer.</source>
        <translation>Potluck wählt die PyTorch-Variante, die zu diesem Computer passt.</translation>
    </message>
    <message>
        <source>Choose a swarm</source>
        <translation>Wähle einen Schwarm</translation>
    </message>
    <message>
        <source>A swarm is a group of people who run a model together.</source>
        <translation>Ein Schwarm ist eine Gruppe von Leuten, die zusammen ein Modell betreiben.</translation>
    </message>
    <message>
        <source>Your computer</source>
        <translation>Dein Computer</translation>
    </message>
    <message>
        <source>You can change this later in When to donate and Limits.</source>
        <translation>Unter Spendezeiten und Grenzen kannst du das später ändern.</translation>
    </message>
    <message>
        <source>Start at log-in</source>
        <translation>Start bei der Anmeldung</translation>
    </message>
    <message>
        <source>Nothing starts by itself unless you turn it on.</source>
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
        <source>How it works</source>
        <translation>So funktioniert es</translation>
    </message>
    <message>
        <source>Run large models together</source>
        <translation>Große Modelle gemeinsam betreiben</translation>
    </message>
    <message>
        <source>Your computer serves some layers of a model. Others serve the rest, and all can use it.</source>
        <translation>Dein Computer stellt einige Schichten eines Modells bereit. Andere stellen den Rest bereit, und alle können es nutzen.</translation>
    </message>
    <message>
        <source>When a game starts, Potluck frees the graphics memory within a second.</source>
        <translation>Startet ein Spiel, gibt Potluck den Grafikspeicher innerhalb einer Sekunde frei.</translation>
    </message>
    <message>
        <source>They see your internet address, your layers and your speed. People serving a model can read the messages you send to it.</source>
        <translation>Sie sehen deine Internetadresse, deine Schichten und dein Tempo. Wer ein Modell bereitstellt, kann deine Nachrichten an es lesen.</translation>
    </message>
    <message>
        <source>No account, no telemetry. Your files stay private, and nobody can run code here.</source>
        <translation>Kein Konto, keine Telemetrie. Deine Dateien bleiben privat, und niemand kann hier Programme ausführen.</translation>
    </message>
    <message>
        <source>Your games come first</source>
        <translation>Deine Spiele gehen vor</translation>
    </message>
    <message>
        <source>Earn points</source>
        <translation>Punkte verdienen</translation>
    </message>
    <message>
        <source>Serving others earns points, which move your requests up the queue. They are not money.</source>
        <translation>Für andere zu rechnen bringt Punkte. Damit kommen deine Anfragen früher dran. Sie sind kein Geld.</translation>
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
        <source>Nobody else</source>
        <translation>Sonst niemand</translation>
    </message>
</context>
<context>
    <name>FounderKeyCard</name>
    <message>
        <source>Show recovery code…</source>
        <translation>Wiederherstellungscode zeigen…</translation>
    </message>
    <message>
        <source>If you lose this computer, only the recovery code lets you remove admins and appoint new ones.</source>
        <translation>Wenn du diesen Computer verlierst, kannst du nur mit dem Wiederherstellungscode noch Admins entfernen und ernennen.</translation>
    </message>
    <message>
        <source>Founder&apos;s key</source>
        <translation>Schlüssel des Gründers</translation>
    </message>
    <message>
        <source>I have a recovery code</source>
        <translation>Ich habe einen Wiederherstellungscode</translation>
    </message>
    <message>
        <source>Become the founder again</source>
        <translation>Wieder Gründer werden</translation>
    </message>
    <message>
        <source>Recovery code</source>
        <translation>Wiederherstellungscode</translation>
    </message>
    <message>
        <source>14 groups of four letters</source>
        <translation>14 Gruppen zu vier Buchstaben</translation>
    </message>
    <message>
        <source>Write it down and keep it safe: whoever has it is the founder of {swarm}.</source>
        <translation>Schreib ihn auf und verwahre ihn sicher: Wer ihn hat, ist Gründer von {swarm}.</translation>
    </message>
    <message>
        <source>This computer has the founder&apos;s key again.</source>
        <translation>Dieser Computer hat den Schlüssel des Gründers wieder.</translation>
    </message>
</context>
<context>
    <name>GameQuestion</name>
    <message>
        <source>It is a game</source>
        <translation>Es ist ein Spiel</translation>
    </message>
    <message>
        <source>Not a game</source>
        <translation>Kein Spiel</translation>
    </message>
    <message>
        <source>Is {program} a game?</source>
        <translation>Ist {program} ein Spiel?</translation>
    </message>
</context>
<context>
    <name>HomePage</name>
    <message>
        <source>Home</source>
        <translation>Übersicht</translation>
    </message>
    <message>
        <source>Pause longer</source>
        <translation>Länger pausieren</translation>
    </message>
    <message>
        <source>Potluck {version} is available.</source>
        <translation>Potluck {version} ist verfügbar.</translation>
    </message>
    <message>
        <source>What&apos;s new</source>
        <translation>Was ist neu</translation>
    </message>
    <message>
        <source>Set up the compute engine</source>
        <translation>Rechenumgebung einrichten</translation>
    </message>
    <message>
        <source>Show progress</source>
        <translation>Fortschritt zeigen</translation>
    </message>
    <message>
        <source>Show all detectors</source>
        <translation>Alle Melder zeigen</translation>
    </message>
    <message>
        <source>No swarm joined</source>
        <translation>In keinem Schwarm</translation>
    </message>
    <message>
        <source>Invite someone</source>
        <translation>Jemanden einladen</translation>
    </message>
    <message>
        <source>{model}, swarm “{swarm}”</source>
        <translation>{model}, Schwarm „{swarm}“</translation>
    </message>
</context>
<context>
    <name>InstallationPage</name>
    <message>
        <source>Installation</source>
        <translation>Installation</translation>
    </message>
    <message>
        <source>Compute engine</source>
        <translation>Rechenumgebung</translation>
    </message>
    <message>
        <source>Updates</source>
        <translation>Aktualisierungen</translation>
    </message>
</context>
<context>
    <name>InvitingCard</name>
    <message>
        <source>Copy invite</source>
        <translation>Einladung kopieren</translation>
    </message>
    <message>
        <source>Send it over a channel you trust: whoever has it can join.</source>
        <translation>Schick sie auf einem Weg, dem du vertraust: Wer sie hat, kann beitreten.</translation>
    </message>
    <message>
        <source>People</source>
        <translation>Leute</translation>
    </message>
    <message>
        <source>How many people can join with it</source>
        <translation>So viele können damit beitreten</translation>
    </message>
    <message>
        <source>Days</source>
        <translation>Tage</translation>
    </message>
    <message>
        <source>How long they can join with it</source>
        <translation>So lange können sie damit beitreten</translation>
    </message>
    <message>
        <source>Invite someone</source>
        <translation>Jemanden einladen</translation>
    </message>
    <message>
        <source>Open invites</source>
        <translation>Offene Einladungen</translation>
    </message>
    <message>
        <source>{used} of {people} used</source>
        <translation>{used} von {people} benutzt</translation>
    </message>
    <message>
        <source>until {day}</source>
        <translation>bis {day}</translation>
    </message>
    <message>
        <source>Open to everybody</source>
        <translation>Offen für alle</translation>
    </message>
    <message>
        <source>End…</source>
        <translation>Beenden …</translation>
    </message>
    <message>
        <source>End: {invite}</source>
        <translation>Beenden: {invite}</translation>
    </message>
    <message>
        <source>End this invite?</source>
        <translation>Diese Einladung beenden?</translation>
    </message>
    <message>
        <source>End the invite</source>
        <translation>Einladung beenden</translation>
    </message>
    <message>
        <source>Nobody can join with it any more. People who joined with it and are confirmed stay members. The others have to ask for another invite.</source>
        <translation>Niemand kann mehr damit beitreten. Wer damit beigetreten und schon bestätigt ist, bleibt Mitglied. Die anderen brauchen eine neue Einladung.</translation>
    </message>
    <message>
        <source>The invite has ended.</source>
        <translation>Die Einladung ist beendet.</translation>
    </message>
    <message>
        <source>Invite {id}</source>
        <translation>Einladung {id}</translation>
    </message>
    <message>
        <source>Invite copied. Anybody can join with it, so it&apos;s no secret.</source>
        <translation>Einladung kopiert. Jeder kann damit beitreten, sie ist also kein Geheimnis.</translation>
    </message>
    <message numerus="yes">
        <source>Invite copied. %n people can join with it until {day}.</source>
        <translation>
            <numerusform>Einladung kopiert. Bis {day} kann %n Person damit beitreten.</numerusform>
            <numerusform>Einladung kopiert. Bis {day} können %n Leute damit beitreten.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>JoinForm</name>
    <message>
        <source>Join this swarm</source>
        <translation>Diesem Schwarm beitreten</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>Modell auswählen</translation>
    </message>
    <message>
        <source>I use Potluck on another computer</source>
        <translation>Ich nutze Potluck auf einem anderen Computer</translation>
    </message>
    <message>
        <source>Invite others from Home. A small demo model is included.</source>
        <translation>Unter Übersicht lädst du andere ein. Ein kleines Demo-Modell ist dabei.</translation>
    </message>
    <message>
        <source>Start a new swarm</source>
        <translation>Einen neuen Schwarm gründen</translation>
    </message>
    <message>
        <source>Enter the invite to the swarm “{swarm}” that its members sent you.</source>
        <translation>Gib die Einladung zum Schwarm „{swarm}“ ein, die dir seine Mitglieder geschickt haben.</translation>
    </message>
    <message>
        <source>Serve the new swarm with this computer, instead of “{swarm}”</source>
        <translation>Mit diesem Computer den neuen Schwarm unterstützen, statt „{swarm}“</translation>
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
        <source>Anybody may join, on probation at first</source>
        <translation>Jeder darf beitreten, zunächst auf Probe</translation>
    </message>
    <message>
        <source>Invite</source>
        <translation>Einladung</translation>
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
    <name>LayersCard</name>
    <message>
        <source>Who serves the model</source>
        <translation>Wer das Modell bereitstellt</translation>
    </message>
    <message>
        <source>As of {time}.</source>
        <translation>Stand: {time}.</translation>
    </message>
    <message>
        <source>you</source>
        <translation>dir</translation>
    </message>
    <message>
        <source>Served by {people}.</source>
        <translation>Bereitgestellt von {people}.</translation>
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
        <source>All that fits</source>
        <translation>Alles, was passt</translation>
    </message>
    <message>
        <source>System memory for Potluck as a whole</source>
        <translation>Arbeitsspeicher für ganz Potluck</translation>
    </message>
    <message>
        <source>Layers to serve</source>
        <translation>Anzahl der Schichten</translation>
    </message>
    <message>
        <source>Upload speed</source>
        <translation>Upload-Tempo</translation>
    </message>
    <message>
        <source>Download speed</source>
        <translation>Download-Tempo</translation>
    </message>
    <message>
        <source>Upload per day</source>
        <translation>Upload pro Tag</translation>
    </message>
    <message>
        <source>Download per day</source>
        <translation>Download pro Tag</translation>
    </message>
    <message>
        <source>Upload per month</source>
        <translation>Upload pro Monat</translation>
    </message>
    <message>
        <source>Download per month</source>
        <translation>Download pro Monat</translation>
    </message>
    <message>
        <source>When a day&apos;s or a month&apos;s data is used up, Potluck stops until the next one begins.</source>
        <translation>Sind die Daten eines Tages oder Monats aufgebraucht, hält Potluck an, bis der nächste beginnt.</translation>
    </message>
    <message>
        <source>Choose their folder on Models.</source>
        <translation>Ihren Ordner wählst du unter Modelle.</translation>
    </message>
    <message>
        <source>Downloads wait while less is free.</source>
        <translation>Downloads warten, solange weniger frei ist.</translation>
    </message>
    <message>
        <source>Space for downloaded models</source>
        <translation>Platz für heruntergeladene Modelle</translation>
    </message>
    <message>
        <source>Price per kilowatt-hour</source>
        <translation>Preis pro Kilowattstunde</translation>
    </message>
    <message>
        <source>In your currency. Earnings then shows your costs.</source>
        <translation>In deiner Währung. Der Ertrag zeigt dann deine Kosten.</translation>
    </message>
    <message>
        <source>Not set</source>
        <translation>Nicht angegeben</translation>
    </message>
    <message>
        <source>Cost per day</source>
        <translation>Kosten pro Tag</translation>
    </message>
    <message>
        <source>Potluck stops for the day when the cost reaches this.</source>
        <translation>Bei diesem Betrag hört Potluck für heute auf.</translation>
    </message>
    <message>
        <source>Power while serving</source>
        <translation>Leistung im Einsatz</translation>
    </message>
    <message>
        <source>Enter the reading of a power meter, if you have one.</source>
        <translation>Trage den Wert eines Messgeräts ein, wenn du eins hast.</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>This month so far: {sent} sent, {received} received</source>
        <translation>Diesen Monat bisher: {sent} gesendet, {received} empfangen</translation>
    </message>
    <message>
        <source>Always left free for other programs</source>
        <translation>Bleibt immer frei für andere Programme</translation>
    </message>
    <message>
        <source>Half of them</source>
        <translation>Die Hälfte</translation>
    </message>
    <message>
        <source>Processor cores to use</source>
        <translation>Genutzte Prozessorkerne</translation>
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
        <source>Disk</source>
        <translation>Festplatte</translation>
    </message>
    <message>
        <source>Always left free on the disk</source>
        <translation>Bleibt auf der Festplatte immer frei</translation>
    </message>
    <message>
        <source>Electricity</source>
        <translation>Strom</translation>
    </message>
    <message>
        <source>Measured</source>
        <translation>Gemessen</translation>
    </message>
</context>
<context>
    <name>LogView</name>
    <message>
        <source>Log of the daemon</source>
        <translation>Protokoll des Dienstes</translation>
    </message>
</context>
<context>
    <name>Login</name>
    <message>
        <source>It follows your rules.</source>
        <translation>Nach deinen Regeln.</translation>
    </message>
    <message>
        <source>Start donating</source>
        <translation>Mit dem Spenden beginnen</translation>
    </message>
    <message>
        <source>Set in {file}</source>
        <translation>Eingestellt in {file}</translation>
    </message>
    <message>
        <source>Set up for all users of this computer.</source>
        <translation>Für alle Benutzer dieses Computers eingerichtet.</translation>
    </message>
    <message>
        <source>Not available on this computer.</source>
        <translation>Auf diesem Computer nicht verfügbar.</translation>
    </message>
    <message>
        <source>Show Potluck in the tray</source>
        <translation>Potluck in der Leiste zeigen</translation>
    </message>
    <message>
        <source>Without a window.</source>
        <translation>Ohne Fenster.</translation>
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
        <source>{all} %, Potluck {ours} %</source>
        <translation>{all} %, Potluck {ours} %</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Connecting…</source>
        <translation>Verbindet …</translation>
    </message>
    <message>
        <source>Potluck {installed} is installed, and this window still runs {running}. Restarting it ends your chat, but not your serving.</source>
        <translation>Potluck {installed} ist installiert, dieses Fenster läuft noch mit {running}. Ein Neustart beendet deinen Chat, aber nicht deinen Einsatz.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Neu starten</translation>
    </message>
</context>
<context>
    <name>MembersCard</name>
    <message>
        <source>Search by name</source>
        <translation>Nach Namen suchen</translation>
    </message>
    <message>
        <source>Search people by name</source>
        <translation>Leute nach Namen suchen</translation>
    </message>
    <message>
        <source>Members</source>
        <translation>Mitglieder</translation>
    </message>
    <message>
        <source>Nobody has that name.</source>
        <translation>So heißt niemand.</translation>
    </message>
    <message>
        <source>Nobody else has joined yet.</source>
        <translation>Noch ist niemand sonst beigetreten.</translation>
    </message>
    <message numerus="yes">
        <source>%n more. Search for a name.</source>
        <translation>
            <numerusform>%n weitere Person. Suche nach einem Namen.</numerusform>
            <numerusform>%n weitere. Suche nach einem Namen.</numerusform>
        </translation>
    </message>
    <message>
        <source>{name} (you)</source>
        <translation>{name} (du)</translation>
    </message>
    <message>
        <source>Let in</source>
        <translation>Aufnehmen</translation>
    </message>
    <message>
        <source>Let {name} in</source>
        <translation>{name} aufnehmen</translation>
    </message>
    <message>
        <source>Make ordinary member</source>
        <translation>Admin-Rechte nehmen</translation>
    </message>
    <message>
        <source>Make admin</source>
        <translation>Zum Admin machen</translation>
    </message>
    <message>
        <source>Make {name} an ordinary member</source>
        <translation>{name} die Admin-Rechte nehmen</translation>
    </message>
    <message>
        <source>Make {name} an admin</source>
        <translation>{name} zum Admin machen</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Entfernen …</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>{name} entfernen</translation>
    </message>
    <message>
        <source>{name} is a member now.</source>
        <translation>{name} ist jetzt Mitglied.</translation>
    </message>
    <message>
        <source>{name} is an admin now.</source>
        <translation>{name} ist jetzt Admin.</translation>
    </message>
    <message>
        <source>{name} is an ordinary member now.</source>
        <translation>{name} ist jetzt ein gewöhnliches Mitglied.</translation>
    </message>
    <message>
        <source>Remove {name} from {swarm}?</source>
        <translation>{name} aus {swarm} entfernen?</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Within a minute, their computers serve nobody here and nobody serves them. This cannot be undone. They can only come back with an invite.</source>
        <translation>Nach höchstens einer Minute bedienen ihre Computer hier niemanden mehr, und niemand bedient sie. Das lässt sich nicht rückgängig machen. Zurück geht es nur mit einer Einladung.</translation>
    </message>
    <message>
        <source>Also end the invite they used, which still lets people in</source>
        <translation>Auch die benutzte Einladung beenden, mit der noch andere hereinkommen</translation>
    </message>
    <message>
        <source>{name} was removed.</source>
        <translation>{name} ist entfernt.</translation>
    </message>
</context>
<context>
    <name>ModelPicker</name>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Name of a model on Hugging Face</source>
        <translation>Name eines Modells auf Hugging Face</translation>
    </message>
    <message>
        <source>Look in a folder…</source>
        <translation>In einem Ordner suchen …</translation>
    </message>
    <message>
        <source>Models to choose from</source>
        <translation>Modelle zur Auswahl</translation>
    </message>
    <message>
        <source>Searching Hugging Face…</source>
        <translation>Hugging Face wird durchsucht …</translation>
    </message>
    <message>
        <source>Looking on this computer…</source>
        <translation>Dieser Computer wird durchsucht …</translation>
    </message>
    <message>
        <source>Choose a folder with a model</source>
        <translation>Ordner mit einem Modell wählen</translation>
    </message>
    <message>
        <source>This computer now lends a model {size}. That decides how many friends a model needs.</source>
        <translation>Dieser Computer gibt einem Modell jetzt {size}. Daraus ergibt sich, wie viele Freunde ein Modell braucht.</translation>
    </message>
    <message>
        <source>No model has such a name.</source>
        <translation>Kein Modell heißt so.</translation>
    </message>
    <message>
        <source>Choose</source>
        <translation>Auswählen</translation>
    </message>
    <message>
        <source>Choose {model}</source>
        <translation>{model} auswählen</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
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
        <source>Download progress</source>
        <translation>Fortschritt des Downloads</translation>
    </message>
    <message>
        <source>On this computer</source>
        <translation>Auf diesem Computer</translation>
    </message>
    <message>
        <source>Join a swarm. This computer then takes the layers that the swarm needs most.</source>
        <translation>Tritt einem Schwarm bei. Dieser Computer übernimmt dann die Schichten, die am meisten fehlen.</translation>
    </message>
    <message>
        <source>Not serving a model</source>
        <translation>Kein Modell im Einsatz</translation>
    </message>
    <message>
        <source>Downloading…</source>
        <translation>Lädt herunter …</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Lädt …</translation>
    </message>
    <message>
        <source>Layers {layers}</source>
        <translation>Schichten {layers}</translation>
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
        <source>Delete prepared layers</source>
        <translation>Vorbereitete Schichten löschen</translation>
    </message>
    <message>
        <source>{size}. Potluck makes them again when needed.</source>
        <translation>{size}. Potluck erzeugt sie bei Bedarf neu.</translation>
    </message>
    <message>
        <source>Layers prepared for this computer</source>
        <translation>Für diesen Computer vorbereitete Schichten</translation>
    </message>
    <message>
        <source>{used} used, {free} free</source>
        <translation>{used} belegt, {free} frei</translation>
    </message>
    <message>
        <source>serving now</source>
        <translation>jetzt im Einsatz</translation>
    </message>
    <message>
        <source>incomplete</source>
        <translation>unvollständig</translation>
    </message>
    <message>
        <source>Frees {size}. Potluck downloads the model again when it needs it.</source>
        <translation>Gibt {size} frei. Potluck lädt das Modell bei Bedarf erneut herunter.</translation>
    </message>
    <message>
        <source>Freed {size}.</source>
        <translation>{size} freigegeben.</translation>
    </message>
    <message>
        <source>Choose a folder for models</source>
        <translation>Ordner für Modelle wählen</translation>
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
        <source>used by {swarms}</source>
        <translation>benutzt von {swarms}</translation>
    </message>
    <message>
        <source>Delete {model}</source>
        <translation>{model} löschen</translation>
    </message>
    <message>
        <source>Delete {model}?</source>
        <translation>{model} löschen?</translation>
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
        <source>Tokens a second in the last hour</source>
        <translation>Token je Sekunde in der letzten Stunde</translation>
    </message>
    <message>
        <source>Right now</source>
        <translation>Gerade jetzt</translation>
    </message>
</context>
<context>
    <name>OtherAppsPage</name>
    <message>
        <source>Use in other apps</source>
        <translation>In anderen Apps</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>Adresse kopieren</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Starten</translation>
    </message>
    <message>
        <source>Make a key</source>
        <translation>Schlüssel anlegen</translation>
    </message>
    <message>
        <source>New key</source>
        <translation>Neuer Schlüssel</translation>
    </message>
    <message>
        <source>Copy the new key</source>
        <translation>Neuen Schlüssel kopieren</translation>
    </message>
    <message>
        <source>Known once it runs</source>
        <translation>Bekannt, sobald sie läuft</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>No program has a key yet.</source>
        <translation>Noch kein Programm hat einen Schlüssel.</translation>
    </message>
    <message>
        <source>Revoke…</source>
        <translation>Sperren …</translation>
    </message>
    <message>
        <source>Revoke the key of {program}</source>
        <translation>Schlüssel von {program} sperren</translation>
    </message>
    <message>
        <source>Made {day}</source>
        <translation>Angelegt am {day}</translation>
    </message>
    <message numerus="yes">
        <source>%n answer(s), {tokens} tokens</source>
        <translation>
            <numerusform>%n Antwort, {tokens} Token</numerusform>
            <numerusform>%n Antworten, {tokens} Token</numerusform>
        </translation>
    </message>
    <message>
        <source>The key of {program}. Copy it now: Potluck keeps only its hash, and shows it this once.</source>
        <translation>Der Schlüssel von {program}. Kopiere ihn jetzt: Potluck behält nur seine Prüfsumme und zeigt ihn nur dieses eine Mal.</translation>
    </message>
    <message>
        <source>Revoke the key of {program}?</source>
        <translation>Schlüssel von {program} sperren?</translation>
    </message>
    <message>
        <source>Revoke</source>
        <translation>Sperren</translation>
    </message>
    <message>
        <source>That program can no longer use the swarm&apos;s model.</source>
        <translation>Dieses Programm kann das Modell des Schwarms nicht mehr nutzen.</translation>
    </message>
    <message>
        <source>Ready: {model}.</source>
        <translation>Bereit: {model}.</translation>
    </message>
    <message>
        <source>Ends at {time} if nobody asks.</source>
        <translation>Endet um {time}, wenn niemand fragt.</translation>
    </message>
    <message>
        <source>It does not run.</source>
        <translation>Sie läuft nicht.</translation>
    </message>
    <message>
        <source>Programs that speak OpenAI&apos;s or Ollama&apos;s API can use the swarm&apos;s model through this computer.</source>
        <translation>Programme, die mit OpenAI oder Ollama sprechen können, nutzen über diesen Computer das Modell des Schwarms.</translation>
    </message>
    <message>
        <source>Always on</source>
        <translation>Immer an</translation>
    </message>
    <message>
        <source>Starts with Potluck and keeps running. Otherwise it ends when you stop Potluck.</source>
        <translation>Startet mit Potluck und läuft weiter. Sonst endet sie, wenn du Potluck beendest.</translation>
    </message>
    <message>
        <source>Name of the program</source>
        <translation>Name des Programms</translation>
    </message>
    <message>
        <source>Give each program a key of its own. Whoever has one asks in your name.</source>
        <translation>Gib jedem Programm einen eigenen Schlüssel. Wer einen hat, fragt in deinem Namen.</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Schlüssel</translation>
    </message>
</context>
<context>
    <name>OtherComputer</name>
    <message>
        <source>Restore backup…</source>
        <translation>Sicherung einspielen…</translation>
    </message>
    <message>
        <source>Password of the backup</source>
        <translation>Passwort der Sicherung</translation>
    </message>
    <message>
        <source>There, People has “Add a computer…”, which shows an invite to enter above. If that computer is gone, restore the backup of your keys.</source>
        <translation>Dort gibt es unter Leute „Computer hinzufügen…“: Das zeigt eine Einladung, die du hier oben eingibst. Gibt es den Computer nicht mehr, spiele die Sicherung deiner Schlüssel ein.</translation>
    </message>
    <message>
        <source>My other computer</source>
        <translation>Mein anderer Computer</translation>
    </message>
    <message>
        <source>Restore backup</source>
        <translation>Sicherung einspielen</translation>
    </message>
</context>
<context>
    <name>OwnComputers</name>
    <message>
        <source>Add a computer…</source>
        <translation>Computer hinzufügen…</translation>
    </message>
    <message>
        <source>Your computers</source>
        <translation>Deine Computer</translation>
    </message>
    <message>
        <source>{name} is one of your computers now.</source>
        <translation>{name} ist jetzt einer deiner Computer.</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Entfernen …</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>{name} entfernen</translation>
    </message>
    <message>
        <source>Invite for the other computer</source>
        <translation>Einladung für den anderen Computer</translation>
    </message>
    <message>
        <source>Copy the invite</source>
        <translation>Die Einladung kopieren</translation>
    </message>
    <message>
        <source>Invite for the other computer as a QR code</source>
        <translation>Einladung für den anderen Computer als QR-Code</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>Ausblenden</translation>
    </message>
    <message>
        <source>On the other computer, enter this invite under “I have an invite”. Then confirm the computer here. The invite works once, until {time}.</source>
        <translation>Gib diese Einladung auf dem anderen Computer unter „Ich habe eine Einladung“ ein. Bestätige den Computer danach hier. Die Einladung gilt einmal, bis {time}.</translation>
    </message>
    <message>
        <source>Confirm</source>
        <translation>Bestätigen</translation>
    </message>
    <message>
        <source>Confirm {name}</source>
        <translation>{name} bestätigen</translation>
    </message>
    <message>
        <source>{name} asks to be one of your computers</source>
        <translation>{name} möchte einer deiner Computer werden</translation>
    </message>
    <message>
        <source>Confirm it only if it is yours and you have just entered the invite there.</source>
        <translation>Bestätige ihn nur, wenn er dir gehört und du die Einladung gerade dort eingegeben hast.</translation>
    </message>
    <message>
        <source>Remove {name}?</source>
        <translation>{name} entfernen?</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>That computer loses access to the swarm for good, within a minute. Your other computers stay.</source>
        <translation>Dieser Computer verliert innerhalb einer Minute für immer den Zugang zum Schwarm. Deine anderen Computer bleiben.</translation>
    </message>
    <message>
        <source>{name} was removed.</source>
        <translation>{name} ist entfernt.</translation>
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
    <name>PeoplePage</name>
    <message>
        <source>People</source>
        <translation>Leute</translation>
    </message>
    <message>
        <source>The others learn of it when this computer serves again.</source>
        <translation>Die anderen erfahren davon, wenn dieser Computer wieder etwas bereitstellt.</translation>
    </message>
    <message>
        <source>{swarm} is open to everybody</source>
        <translation>{swarm} steht allen offen</translation>
    </message>
    <message>
        <source>It has no members. Everybody who finds it can use it.</source>
        <translation>Er hat keine Mitglieder. Wer ihn findet, kann ihn benutzen.</translation>
    </message>
</context>
<context>
    <name>PointsCard</name>
    <message>
        <source>Points earned in the last 24 hours</source>
        <translation>Verdiente Punkte der letzten 24 Stunden</translation>
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
        <source>Points today</source>
        <translation>Punkte heute</translation>
    </message>
    <message numerus="yes">
        <source>from %n people</source>
        <translation>
            <numerusform>von einer Person</numerusform>
            <numerusform>von %n Personen</numerusform>
        </translation>
    </message>
    <message>
        <source>No points yet today</source>
        <translation>Heute noch keine Punkte</translation>
    </message>
    <message>
        <source>{amount} points in the last 24 hours</source>
        <translation>{amount} Punkte in den letzten 24 Stunden</translation>
    </message>
</context>
<context>
    <name>PreferencesPage</name>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>System</source>
        <translation>System</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Sprache</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Colours</source>
        <translation>Farben</translation>
    </message>
    <message>
        <source>The app speaks the chosen language once it has started again. Serving goes on.</source>
        <translation>Die App spricht die gewählte Sprache, sobald sie neu gestartet ist. Die Bereitstellung läuft weiter.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Neu starten</translation>
    </message>
    <message>
        <source>A friend joined</source>
        <translation>Ein Freund ist beigetreten</translation>
    </message>
    <message>
        <source>The model is complete</source>
        <translation>Das Modell ist vollständig</translation>
    </message>
    <message>
        <source>A layer is missing</source>
        <translation>Eine Schicht fehlt</translation>
    </message>
    <message>
        <source>An update is ready</source>
        <translation>Ein Update ist bereit</translation>
    </message>
    <message>
        <source>Milestones</source>
        <translation>Meilensteine</translation>
    </message>
    <message>
        <source>Problems, and a pause that you may have forgotten</source>
        <translation>Probleme und eine Pause, die du vielleicht vergessen hast</translation>
    </message>
    <message>
        <source>Notifications</source>
        <translation>Benachrichtigungen</translation>
    </message>
    <message>
        <source>This app</source>
        <translation>Diese App</translation>
    </message>
    <message>
        <source>Each tells one piece of news, once.</source>
        <translation>Jede sagt eine Neuigkeit, einmal.</translation>
    </message>
    <message>
        <source>News</source>
        <translation>Neuigkeiten</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Wenn du dich anmeldest</translation>
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
    <name>RecipeCard</name>
    <message>
        <source>Program</source>
        <translation>Programm</translation>
    </message>
    <message>
        <source>What to enter</source>
        <translation>Was einzugeben ist</translation>
    </message>
    <message>
        <source>Copy the recipe</source>
        <translation>Rezept kopieren</translation>
    </message>
    <message>
        <source>Recipes</source>
        <translation>Rezepte</translation>
    </message>
    <message>
        <source>YOUR-KEY</source>
        <translation>DEIN-SCHLÜSSEL</translation>
    </message>
    <message>
        <source>MODEL</source>
        <translation>MODELL</translation>
    </message>
</context>
<context>
    <name>SetUpOffer</name>
    <message>
        <source>Set up…</source>
        <translation>Einrichten …</translation>
    </message>
    <message>
        <source>The compute engine is not installed yet.</source>
        <translation>Die Rechenumgebung ist noch nicht installiert.</translation>
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
        <source>PyTorch build</source>
        <translation>PyTorch-Variante</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>Download and install</source>
        <translation>Herunterladen und installieren</translation>
    </message>
    <message>
        <source>This version of Potluck lacks the packages of the best build ({variant}).</source>
        <translation>Dieser Version von Potluck fehlen die Pakete der besten Variante ({variant}).</translation>
    </message>
    <message>
        <source>Potluck has not been tested with this build. It is used only if it passes a test here.</source>
        <translation>Mit dieser Variante wurde Potluck noch nicht getestet. Sie wird nur genutzt, wenn sie hier einen Test besteht.</translation>
    </message>
    <message>
        <source>Free some space, or choose another folder below.</source>
        <translation>Schaffe Platz, oder wähle unten einen anderen Ordner.</translation>
    </message>
    <message>
        <source>Choose a folder for the compute engine</source>
        <translation>Ordner für die Rechenumgebung wählen</translation>
    </message>
    <message>
        <source>Another folder for the compute engine</source>
        <translation>Anderer Ordner für die Rechenumgebung</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
    </message>
</context>
<context>
    <name>SettingsForm</name>
    <message>
        <source>Update Potluck to use this.</source>
        <translation>Aktualisiere Potluck, um das zu nutzen.</translation>
    </message>
    <message>
        <source>Set by the environment variable {variable}.</source>
        <translation>Durch die Umgebungsvariable {variable} festgelegt.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Saved.</source>
        <translation>Gespeichert.</translation>
    </message>
</context>
<context>
    <name>SharePanel</name>
    <message>
        <source>All that fits</source>
        <translation>Alles, was passt</translation>
    </message>
    <message>
        <source>Half</source>
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
        <source>Memory to donate</source>
        <translation>Gespendeter Speicher</translation>
    </message>
    <message>
        <source>Games always come first.</source>
        <translation>Spiele gehen immer vor.</translation>
    </message>
    <message>
        <source>{device} has {size}. Potluck leaves enough for other programs.</source>
        <translation>{device} hat {size}. Potluck lässt anderen Programmen genug.</translation>
    </message>
    <message>
        <source>Donate while I use the computer</source>
        <translation>Spenden, während ich den Computer benutze</translation>
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
    <name>Strip</name>
    <message>
        <source>Layers of the model</source>
        <translation>Schichten des Modells</translation>
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
        <source>%n layer(s)</source>
        <translation>
            <numerusform>%n Schicht</numerusform>
            <numerusform>%n Schichten</numerusform>
        </translation>
    </message>
    <message>
        <source>open to all</source>
        <translation>offen für alle</translation>
    </message>
    <message>
        <source>chosen for this computer</source>
        <translation>für diesen Computer gewählt</translation>
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
        <source>Change the model…</source>
        <translation>Modell wechseln …</translation>
    </message>
    <message>
        <source>Change the model of {swarm}</source>
        <translation>Modell von {swarm} wechseln</translation>
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
        <source>Change the model of {swarm} to {model}?</source>
        <translation>Das Modell von {swarm} gegen {model} austauschen?</translation>
    </message>
    <message>
        <source>Change the model</source>
        <translation>Modell wechseln</translation>
    </message>
    <message>
        <source>Everybody in the swarm gets the new model, and their computers download it. Conversations with the present model end within ten minutes. Invites stay valid.</source>
        <translation>Alle im Schwarm bekommen das neue Modell, und ihre Computer laden es herunter. Gespräche mit dem jetzigen Modell enden innerhalb von zehn Minuten. Einladungen bleiben gültig.</translation>
    </message>
    <message>
        <source>Reading the files of {model}…</source>
        <translation>Die Dateien von {model} werden gelesen …</translation>
    </message>
    <message>
        <source>{swarm} keeps its model. {why}</source>
        <translation>{swarm} behält sein Modell. {why}</translation>
    </message>
    <message>
        <source>{swarm} serves {model} now. Members that are online follow within seconds.</source>
        <translation>{swarm} stellt jetzt {model} bereit. Mitglieder, die online sind, folgen in Sekunden.</translation>
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
        <source>You need a new invite to come back. You keep your points.</source>
        <translation>Zum Zurückkehren brauchst du eine neue Einladung. Deine Punkte behältst du.</translation>
    </message>
    <message>
        <source>You founded this swarm, and the founder&apos;s key on this computer is deleted. Without its recovery code (page People), nobody can ever appoint admins again.</source>
        <translation>Du hast diesen Schwarm gegründet, und der Gründerschlüssel auf diesem Computer wird gelöscht. Ohne den Wiederherstellungscode (Seite Leute) kann nie wieder jemand Admins ernennen.</translation>
    </message>
    <message>
        <source>It has no admin, so nobody can invite, confirm or remove people either.</source>
        <translation>Es gibt keinen Admin, daher kann auch niemand mehr Leute einladen, bestätigen oder entfernen.</translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
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
        <source>Version {version} is available…</source>
        <translation>Version {version} ist verfügbar …</translation>
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
        <source>Check now</source>
        <translation>Jetzt prüfen</translation>
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
        <source>Once a day. The publisher sees your internet address.</source>
        <translation>Einmal am Tag. Der Herausgeber sieht deine Internetadresse.</translation>
    </message>
    <message>
        <source>{version}. Checked {time}.</source>
        <translation>{version}. Geprüft: {time}.</translation>
    </message>
    <message>
        <source>Version {version}, {day}</source>
        <translation>Version {version}, {day}</translation>
    </message>
    <message>
        <source>Open sessions get up to ten minutes to finish. If the new version does not start, Potluck returns to this one.</source>
        <translation>Offene Sitzungen haben bis zu zehn Minuten Zeit. Startet die neue Version nicht, kehrt Potluck zu dieser zurück.</translation>
    </message>
    <message>
        <source>Install this version the way you installed Potluck: with apt, or pip.</source>
        <translation>Installiere sie so, wie du Potluck installiert hast: mit apt oder pip.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal versuchen</translation>
    </message>
    <message>
        <source>No update source. Set updates.url and updates.key to choose one.</source>
        <translation>Keine Quelle für Updates. Wähle eine mit updates.url und updates.key.</translation>
    </message>
    <message>
        <source>Progress of the update</source>
        <translation>Fortschritt der Aktualisierung</translation>
    </message>
    <message>
        <source>Install version {version}</source>
        <translation>Version {version} installieren</translation>
    </message>
</context>
<context>
    <name>Waiting</name>
    <message>
        <source>Not loaded</source>
        <translation>Nicht geladen</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Lädt …</translation>
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
        <translation>Spendezeiten</translation>
    </message>
    <message>
        <source>Always step aside for</source>
        <translation>Immer Platz machen für</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>Nie Platz machen für</translation>
    </message>
    <message>
        <source>Games come first</source>
        <translation>Spiele gehen vor</translation>
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
        <source>s</source>
        <translation>s</translation>
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
        <source>Away after</source>
        <translation>Weg nach</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
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
        <source>Hours of the week for donating</source>
        <translation>Stunden der Woche zum Spenden</translation>
    </message>
    <message>
        <source>Potluck stops whenever one runs.</source>
        <translation>Potluck hält an, sobald eins davon läuft.</translation>
    </message>
    <message>
        <source>Programs that Potluck mistakes for games.</source>
        <translation>Programme, die Potluck für Spiele hält.</translation>
    </message>
    <message>
        <source>Donate on battery power</source>
        <translation>Auch im Akkubetrieb spenden</translation>
    </message>
    <message>
        <source>Donate on metered networks</source>
        <translation>Auch in getakteten Netzen spenden</translation>
    </message>
    <message>
        <source>At any time. Click or drag to leave hours out.</source>
        <translation>Jederzeit. Klicke oder ziehe, um Stunden auszunehmen.</translation>
    </message>
    <message>
        <source>Only during the filled hours.</source>
        <translation>Nur in den gefüllten Stunden.</translation>
    </message>
    <message>
        <source>Your exact hours: {hours}. Painting rounds them to full hours.</source>
        <translation>Deine genauen Zeiten: {hours}. Malen rundet auf volle Stunden.</translation>
    </message>
    <message>
        <source>At least one hour must stay. To stop donating, use the tray menu.</source>
        <translation>Mindestens eine Stunde muss bleiben. Das Spenden beendest du im Menü der Leiste.</translation>
    </message>
    <message>
        <source>Potluck now steps aside whenever {program} runs.</source>
        <translation>Potluck macht jetzt Platz, sobald {program} läuft.</translation>
    </message>
    <message>
        <source>Potluck now keeps serving while {program} runs.</source>
        <translation>Potluck bleibt jetzt im Einsatz, während {program} läuft.</translation>
    </message>
    <message>
        <source>{program} is no longer on a list.</source>
        <translation>{program} steht auf keiner Liste mehr.</translation>
    </message>
    <message>
        <source>Time to start the next round undisturbed.</source>
        <translation>Zeit, um ungestört die nächste Runde zu beginnen.</translation>
    </message>
    <message>
        <source>Keep using the other graphics cards</source>
        <translation>Andere Grafikkarten weiter nutzen</translation>
    </message>
    <message>
        <source>Free only the card that the game uses.</source>
        <translation>Nur die Karte freigeben, die das Spiel nutzt.</translation>
    </message>
    <message>
        <source>When a game starts, Potluck frees its graphics memory within a second.</source>
        <translation>Startet ein Spiel, gibt Potluck den Grafikspeicher innerhalb einer Sekunde frei.</translation>
    </message>
    <message>
        <source>Games started by Steam</source>
        <translation>Von Steam gestartete Spiele</translation>
    </message>
    <message>
        <source>Games that use GameMode</source>
        <translation>Spiele, die GameMode nutzen</translation>
    </message>
    <message>
        <source>Windows games in Proton or Wine</source>
        <translation>Windows-Spiele mit Proton oder Wine</translation>
    </message>
    <message>
        <source>Programs in gamescope</source>
        <translation>Programme in gamescope</translation>
    </message>
    <message>
        <source>Busy full-screen programs</source>
        <translation>Ausgelastete Vollbildprogramme</translation>
    </message>
    <message>
        <source>Video players, browsers and screen savers do not count.</source>
        <translation>Videoplayer, Browser und Bildschirmschoner zählen nicht.</translation>
    </message>
    <message>
        <source>Only while I&apos;m away</source>
        <translation>Nur wenn ich weg bin</translation>
    </message>
    <message>
        <source>This long without keyboard or mouse.</source>
        <translation>So lange ohne Tastatur und Maus.</translation>
    </message>
    <message>
        <source>Step aside for other users of this computer</source>
        <translation>Für andere Benutzer dieses Computers Platz machen</translation>
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
</context>
<context>
    <name>WrongResultsCard</name>
    <message>
        <source>Wrong results</source>
        <translation>Falsche Ergebnisse</translation>
    </message>
    <message>
        <source>{name}&apos;s {machine}</source>
        <translation>{machine} von {name}</translation>
    </message>
    <message>
        <source>{computer} returned wrong results</source>
        <translation>{computer} hat falsche Ergebnisse geliefert</translation>
    </message>
    <message>
        <source>This computer returned wrong results</source>
        <translation>Dieser Computer hat falsche Ergebnisse geliefert</translation>
    </message>
    <message>
        <source>Stop serving</source>
        <translation>Nicht mehr bereitstellen</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Entfernen …</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>{name} entfernen</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Dismiss the reports about {name}</source>
        <translation>Die Meldungen über {name} verwerfen</translation>
    </message>
    <message>
        <source>Found by {people}.</source>
        <translation>Bemerkt von {people}.</translation>
    </message>
    <message>
        <source>Found by {people}, confirmed by your server.</source>
        <translation>Bemerkt von {people}, von deinem Server bestätigt.</translation>
    </message>
    <message>
        <source>Found by {people}, not confirmed by your server.</source>
        <translation>Bemerkt von {people}, von deinem Server nicht bestätigt.</translation>
    </message>
    <message>
        <source>Its memory was damaged: test it, and that of the graphics card.</source>
        <translation>Sein Speicher war beschädigt: Teste ihn und den der Grafikkarte.</translation>
    </message>
    <message>
        <source>If a graphics card or memory is overclocked, undo that.</source>
        <translation>Wenn Grafikkarte oder Speicher übertaktet sind, mach das rückgängig.</translation>
    </message>
    <message>
        <source>It loaded the model again on {day} and found nothing wrong in its memory.</source>
        <translation>Er hat das Modell am {day} neu geladen und in seinem Speicher keinen Fehler gefunden.</translation>
    </message>
    <message>
        <source>This computer serves nobody until you resume.</source>
        <translation>Dieser Computer stellt nichts bereit, bis du fortfährst.</translation>
    </message>
    <message>
        <source>Dismissed.</source>
        <translation>Verworfen.</translation>
    </message>
    <message>
        <source>Remove {name} from {swarm}?</source>
        <translation>{name} aus {swarm} entfernen?</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Within a minute, it serves nobody here. This cannot be undone. Other computers of theirs stay.</source>
        <translation>Innerhalb einer Minute stellt er hier nichts mehr bereit. Das lässt sich nicht rückgängig machen. Andere Computer der Person bleiben.</translation>
    </message>
    <message>
        <source>{name} was removed.</source>
        <translation>{name} wurde entfernt.</translation>
    </message>
</context>
<context>
    <name>_DeviceCard</name>
    <message>
        <source>Use {device}</source>
        <translation>{device} benutzen</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>Power</source>
        <translation>Leistung</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>These limits hold for each graphics card in use. Changing one here changes it for all.</source>
        <translation>Diese Grenzen gelten für jede benutzte Grafikkarte. Änderst du hier eine, ändert sie sich für alle.</translation>
    </message>
    <message>
        <source>Not in use</source>
        <translation>Wird nicht benutzt</translation>
    </message>
    <message>
        <source>In use, selected automatically</source>
        <translation>Wird benutzt, automatisch gewählt</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>Wird benutzt</translation>
    </message>
</context>
<context>
    <name>_Load</name>
    <message>
        <source>{name} in the last hour</source>
        <translation>{name} in der letzten Stunde</translation>
    </message>
</context>
<context>
    <name>_MadeInvite</name>
    <message>
        <source>The invite as a QR code</source>
        <translation>Die Einladung als QR-Code</translation>
    </message>
    <message>
        <source>The swarm&apos;s link</source>
        <translation>Der Link des Schwarms</translation>
    </message>
    <message>
        <source>Copy the link</source>
        <translation>Den Link kopieren</translation>
    </message>
    <message>
        <source>A phone can read the invite here and send it on.</source>
        <translation>Ein Handy kann die Einladung hier lesen und weiterschicken.</translation>
    </message>
    <message>
        <source>This link opens Potluck where the invite is entered. It lets nobody in, so it&apos;s no secret.</source>
        <translation>Dieser Link öffnet Potluck dort, wo man die Einladung eingibt. Er lässt niemanden herein und ist kein Geheimnis.</translation>
    </message>
</context>
</TS>
