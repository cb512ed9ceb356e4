<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name></name>
    <message>
        <source>you</source>
        <translation>dir</translation>
    </message>
    <message>
        <source>The compute engine is not set up yet. Set it up on the page Settings.</source>
        <translation>Die Rechenumgebung ist noch nicht eingerichtet. Richte sie auf der Seite Einstellungen ein.</translation>
    </message>
    <message>
        <source>this computer starts</source>
        <translation>dieser Computer startet</translation>
    </message>
    <message>
        <source>Waiting for the first word…</source>
        <translation>Wartet auf das erste Wort&#xa0;…</translation>
    </message>
    <message>
        <source>The chat service was stopped.</source>
        <translation>Der Chat-Dienst wurde beendet.</translation>
    </message>
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
    <message>
        <source>Picture (PNG)</source>
        <translation>Bild (PNG)</translation>
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
        <source>{size} of experts in RAM</source>
        <translation>{size} an Experten im RAM</translation>
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
        <source>Waiting to be let into the swarm “{swarm}”: {names}. Decide on the page Swarm.</source>
        <translation>Warten darauf, in den Schwarm „{swarm}“ gelassen zu werden: {names}. Entscheide auf der Seite Schwarm.</translation>
    </message>
    <message>
        <source>{name} asks to be one of your computers. Confirm it on the page Swarm.</source>
        <translation>{name} möchte einer deiner Computer sein. Bestätige ihn auf der Seite Schwarm.</translation>
    </message>
    <message>
        <source>Somebody waits to be let in</source>
        <translation>Jemand wartet auf Aufnahme</translation>
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
        <source>Swarm</source>
        <translation>Schwarm</translation>
    </message>
    <message>
        <source>Rules</source>
        <translation>Regeln</translation>
    </message>
    <message>
        <source>Connect</source>
        <translation>Verbinden</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
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
        <source>layers {blocks} of {model}</source>
        <translation>die Schichten {blocks} von {model}</translation>
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
        <source>in a moment</source>
        <translation>gleich</translation>
    </message>
    <message>
        <source>when you&apos;ve been away for a while</source>
        <translation>wenn du eine Weile weg bist</translation>
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
        <source>Getting ready, usually within a minute: {step}…</source>
        <translation>Wird vorbereitet, meist in unter einer Minute: {step}&#xa0;…</translation>
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
        <translation>Im Einsatz mit {percent}&#xa0;%</translation>
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
            <numerusform>Noch %n Sitzung</numerusform>
            <numerusform>Noch %n Sitzungen</numerusform>
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
        <source>Your invite is over</source>
        <translation>Deine Einladung gilt nicht mehr</translation>
    </message>
    <message>
        <source>{left}. Shuts down by {time}.</source>
        <translation>{left}. Endet spätestens um {time}.</translation>
    </message>
    <message>
        <source>The pause ends at {time}.</source>
        <translation>Die Pause endet um {time}.</translation>
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
        <source>Never step aside for {program}</source>
        <translation>Nie für {program} Platz machen</translation>
    </message>
    <message>
        <source>Today: {sent} sent, {received} received</source>
        <translation>Heute: {sent} gesendet, {received} empfangen</translation>
    </message>
    <message>
        <source>Try again now</source>
        <translation>Jetzt noch einmal versuchen</translation>
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
        <source>Nobody serves layer {layers}.</source>
        <translation>Niemand stellt Schicht {layers} bereit.</translation>
    </message>
    <message>
        <source>About {rate} for you.</source>
        <translation>Etwa {rate} für dich.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers} and complete the model.</source>
        <translation>Ein weiterer Computer würde die Schichten {layers} bereitstellen und das Modell vervollständigen.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers}. Others would still be missing.</source>
        <translation>Ein weiterer Computer würde die Schichten {layers} bereitstellen. Andere würden weiter fehlen.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers} and let {percent} % more answers run at once.</source>
        <translation>Mit einem weiteren Computer für die Schichten {layers} könnten {percent}&#xa0;% mehr Antworten zugleich laufen.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers}, in case another one leaves.</source>
        <translation>Ein weiterer Computer würde die Schichten {layers} bereitstellen, falls ein anderer geht.</translation>
    </message>
    <message>
        <source>Only one computer serves layer {layers}.</source>
        <translation>Nur ein Computer stellt Schicht {layers} bereit.</translation>
    </message>
    <message>
        <source>Only one computer serves layers {layers}.</source>
        <translation>Nur ein Computer stellt die Schichten {layers} bereit.</translation>
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
        <source>In Admin Panel, Settings, Connections, add an OpenAI API connection:</source>
        <translation>Füge unter Administrationsbereich, Einstellungen, Verbindungen eine OpenAI-API-Verbindung hinzu:</translation>
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
        <source>Save the picture</source>
        <translation>Bild speichern</translation>
    </message>
    <message>
        <source>The picture is in {file}.</source>
        <translation>Das Bild ist in {file}.</translation>
    </message>
    <message>
        <source>Applications of the desktop</source>
        <translation>Anwendungen der Arbeitsumgebung</translation>
    </message>
    <message>
        <source>Can&apos;t join the swarm yet: {why}</source>
        <translation>Der Schwarm ist noch nicht erreichbar: {why}</translation>
    </message>
    <message>
        <source>Can&apos;t join the swarm yet: {why}. Trying again.</source>
        <translation>Der Schwarm ist noch nicht erreichbar: {why}. Neuer Versuch folgt.</translation>
    </message>
    <message>
        <source>Can&apos;t tell whether you&apos;re away, so not serving</source>
        <translation>Nicht im Einsatz, weil nicht erkennbar ist, ob du weg bist</translation>
    </message>
    <message>
        <source>Checking whether you need the computer</source>
        <translation>Prüft, ob du den Computer brauchst</translation>
    </message>
    <message>
        <source>Desktop session</source>
        <translation>Sitzung der Arbeitsumgebung</translation>
    </message>
    <message>
        <source>Finishing the open sessions, then shutting down</source>
        <translation>Beendet die offenen Sitzungen und fährt dann herunter</translation>
    </message>
    <message>
        <source>Full-screen windows</source>
        <translation>Vollbildfenster</translation>
    </message>
    <message>
        <source>Full-screen windows (Wayland)</source>
        <translation>Vollbildfenster (Wayland)</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>GPU memory</source>
        <translation>Grafikspeicher</translation>
    </message>
    <message>
        <source>Giving way to {who}</source>
        <translation>Macht Platz für {who}</translation>
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
        <source>Giving way: other programs need the memory</source>
        <translation>Macht Platz: Andere Programme brauchen den Speicher</translation>
    </message>
    <message>
        <source>Giving way: other programs need the memory of {who}</source>
        <translation>Macht Platz: Andere Programme brauchen den Speicher von {who}</translation>
    </message>
    <message>
        <source>Idle time ({name})</source>
        <translation>Leerlaufzeit ({name})</translation>
    </message>
    <message>
        <source>Memory ran out, so the engine starts again with less (to choose how much: serve.memory_limit_mb)</source>
        <translation>Der Speicher ging aus, daher startet die Engine neu mit weniger (wie viel, legt serve.memory_limit_mb fest)</translation>
    </message>
    <message>
        <source>Metered network</source>
        <translation>Getaktetes Netz</translation>
    </message>
    <message>
        <source>No swarm joined yet</source>
        <translation>Noch in keinem Schwarm</translation>
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
        <source>Not serving while you use the computer</source>
        <translation>Nicht im Einsatz, während du den Computer benutzt</translation>
    </message>
    <message>
        <source>Not serving: somebody stopped the engine&apos;s process</source>
        <translation>Stellt nichts bereit: Jemand hat den Prozess der Engine angehalten</translation>
    </message>
    <message>
        <source>Not serving: {file} changed on disk</source>
        <translation>Stellt nichts bereit: {file} hat sich auf der Festplatte geändert</translation>
    </message>
    <message>
        <source>Outside your serving hours</source>
        <translation>Außerhalb deiner Spendezeiten</translation>
    </message>
    <message>
        <source>Paused by you</source>
        <translation>Von dir pausiert</translation>
    </message>
    <message>
        <source>Paused by you until the game ends</source>
        <translation>Von dir pausiert, bis das Spiel endet</translation>
    </message>
    <message>
        <source>Potluck is slow here: {why}. To mend it: {advice}</source>
        <translation>Potluck rechnet hier langsam: {why}. So lässt es sich beheben: {advice}</translation>
    </message>
    <message>
        <source>Potluck keeps failing at {what}. To see more: potluck logs</source>
        <translation>Potluck scheitert immer wieder an: {what}. Mehr dazu: potluck logs</translation>
    </message>
    <message>
        <source>Potluck {version} is offered; see: potluck update --check</source>
        <translation>Potluck {version} ist da; mehr mit: potluck update --check</translation>
    </message>
    <message>
        <source>Python {version} is not supported</source>
        <translation>Python {version} wird nicht unterstützt</translation>
    </message>
    <message>
        <source>Serving {what}</source>
        <translation>Stellt {what} bereit</translation>
    </message>
    <message>
        <source>Serving {what} slowly, because {who} is hot</source>
        <translation>Stellt {what} langsam bereit, weil es zu heiß wird: {who}</translation>
    </message>
    <message>
        <source>Serving {what} slowly, to stay below the power cap of {who}</source>
        <translation>Stellt {what} langsam bereit, um unter der Leistungsgrenze zu bleiben: {who}</translation>
    </message>
    <message>
        <source>Serving {what} slowly, while you use the computer</source>
        <translation>Stellt {what} langsam bereit, während du den Computer benutzt</translation>
    </message>
    <message>
        <source>Starting the engine</source>
        <translation>Startet die Engine</translation>
    </message>
    <message>
        <source>Starting up</source>
        <translation>Startet</translation>
    </message>
    <message>
        <source>TCP port {port} is free</source>
        <translation>TCP-Port {port} ist frei</translation>
    </message>
    <message>
        <source>The computer is going to sleep</source>
        <translation>Der Computer geht in den Ruhezustand</translation>
    </message>
    <message>
        <source>The daemon runs version {theirs}, this program is {ours}</source>
        <translation>Der Dienst läuft in Version {theirs}, dieses Programm ist {ours}</translation>
    </message>
    <message>
        <source>The engine crashed with {name}</source>
        <translation>Die Engine ist mit {name} abgestürzt</translation>
    </message>
    <message>
        <source>The engine ended by itself</source>
        <translation>Die Engine hat sich von selbst beendet</translation>
    </message>
    <message>
        <source>The engine ended with code {number}</source>
        <translation>Die Engine endete mit Code {number}</translation>
    </message>
    <message>
        <source>The engine failed</source>
        <translation>Die Engine hatte einen Fehler</translation>
    </message>
    <message>
        <source>The engine gave up: {why}</source>
        <translation>Die Engine hat aufgegeben: {why}</translation>
    </message>
    <message>
        <source>The engine is not set up yet</source>
        <translation>Die Engine ist noch nicht eingerichtet</translation>
    </message>
    <message>
        <source>The engine was ended because {why}</source>
        <translation>Die Engine wurde beendet: {why}</translation>
    </message>
    <message>
        <source>The engine was ended by signal {name}</source>
        <translation>Die Engine wurde durch das Signal {name} beendet</translation>
    </message>
    <message>
        <source>The engine was killed by another program</source>
        <translation>Ein anderes Programm hat die Engine beendet</translation>
    </message>
    <message>
        <source>The engine&apos;s packages are not installed</source>
        <translation>Die Pakete der Engine sind nicht installiert</translation>
    </message>
    <message>
        <source>Today&apos;s electricity budget is used up: {used} of {all}</source>
        <translation>Das Strombudget von heute ist verbraucht: {used} von {all}</translation>
    </message>
    <message>
        <source>Too hot: {who}</source>
        <translation>Zu heiß: {who}</translation>
    </message>
    <message>
        <source>Waiting for you to confirm this computer on your other one</source>
        <translation>Wartet, bis du diesen Computer auf deinem anderen bestätigst</translation>
    </message>
    <message>
        <source>Agents</source>
        <translation>Agenten</translation>
    </message>
    <message>
        <source>Battery</source>
        <translation>Akku</translation>
    </message>
    <message>
        <source>Layer {number} is gone. Waiting for a server.</source>
        <translation>Schicht {number} ist weg. Warte auf einen Server.</translation>
    </message>
    <message>
        <source>Layers {number} and {last} are gone. Waiting for a server.</source>
        <translation>Schichten {number} und {last} sind weg. Warte auf einen Server.</translation>
    </message>
    <message>
        <source>Layers {number} are gone. Waiting for a server.</source>
        <translation>Schichten {number} sind weg. Warte auf einen Server.</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Arbeitsspeicher</translation>
    </message>
    <message>
        <source>Memory ran out, so the engine takes less for a day. To choose how much: serve.memory_limit_mb</source>
        <translation>Der Speicher ging aus, daher nimmt sich die Engine einen Tag lang weniger. Wie viel, legt serve.memory_limit_mb fest</translation>
    </message>
    <message>
        <source>Potluck is paused, but forgets it when it restarts: {why}</source>
        <translation>Potluck pausiert, vergisst das aber beim nächsten Start: {why}</translation>
    </message>
    <message>
        <source>Potluck serves again, but forgets it when it restarts: {why}</source>
        <translation>Potluck läuft weiter, vergisst das aber beim nächsten Start: {why}</translation>
    </message>
    <message>
        <source>Power</source>
        <translation>Leistung</translation>
    </message>
    <message>
        <source>Sleep</source>
        <translation>Ruhezustand</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>The daemon is older than this program</source>
        <translation>Der Dienst ist älter als dieses Programm</translation>
    </message>
    <message>
        <source>The disk is nearly full: {free} are free, {least} must stay free</source>
        <translation>Die Festplatte ist fast voll: {free} sind frei, {least} müssen frei bleiben</translation>
    </message>
    <message>
        <source>This computer returned wrong results: found by {name}</source>
        <translation>Dieser Computer hat falsche Ergebnisse geliefert: bemerkt von {name}</translation>
    </message>
    <message>
        <source>`potluck logs` has the details</source>
        <translation>`potluck logs` zeigt die Einzelheiten</translation>
    </message>
    <message>
        <source>`potluck programs always NAME` for a game that is missed</source>
        <translation>`potluck programs always NAME` für ein Spiel, das übersehen wird</translation>
    </message>
    <message>
        <source>`potluck programs always NAME` for each game</source>
        <translation>`potluck programs always NAME` für jedes Spiel</translation>
    </message>
    <message>
        <source>`potluck swarm show` prints it</source>
        <translation>`potluck swarm show` gibt ihn aus</translation>
    </message>
    <message>
        <source>`{what}` does not end</source>
        <translation>`{what}` endet nicht</translation>
    </message>
    <message>
        <source>`{what}` failed: {why}</source>
        <translation>`{what}` ist fehlgeschlagen: {why}</translation>
    </message>
    <message>
        <source>a SOCKS proxy needs the package socksio</source>
        <translation>ein SOCKS-Proxy braucht das Paket socksio</translation>
    </message>
    <message>
        <source>a bootstrap peer does not answer</source>
        <translation>ein Einstiegsknoten antwortet nicht</translation>
    </message>
    <message>
        <source>a desktop runs, but Potluck was not told where its windows are</source>
        <translation>eine Arbeitsumgebung läuft, aber Potluck wurde nicht gesagt, wo ihre Fenster sind</translation>
    </message>
    <message>
        <source>a desktop runs, but its windows cannot be seen: games that do not announce themselves are missed</source>
        <translation>Eine Arbeitsumgebung läuft, aber ihre Fenster sind nicht zu sehen: Spiele, die sich nicht melden, werden übersehen</translation>
    </message>
    <message>
        <source>a driver or torch build that does not fit?</source>
        <translation>passt der Treiber oder der Build von PyTorch nicht?</translation>
    </message>
    <message>
        <source>a full address ends in its peer id: {what}</source>
        <translation>eine vollständige Adresse endet mit der Kennung des Peers: {what}</translation>
    </message>
    <message>
        <source>a hub name looks like owner/model</source>
        <translation>ein Name im Hub sieht so aus: eigentümer/modell</translation>
    </message>
    <message>
        <source>a link</source>
        <translation>ein Link</translation>
    </message>
    <message>
        <source>a request has at most {count} bytes</source>
        <translation>eine Anfrage hat höchstens {count} Bytes</translation>
    </message>
    <message>
        <source>a service on the {what} bus does not answer</source>
        <translation>ein Dienst am {what}-Bus antwortet nicht</translation>
    </message>
    <message>
        <source>a swarm cannot have this {what}</source>
        <translation>ein Schwarm kann kein solches {what} haben</translation>
    </message>
    <message>
        <source>a tensor cannot be converted: {why}</source>
        <translation>ein Tensor lässt sich nicht umwandeln: {why}</translation>
    </message>
    <message>
        <source>accept its terms on its page, then log in with `hf auth login` or set HF_TOKEN</source>
        <translation>stimme auf seiner Seite den Bedingungen zu und melde dich dann mit `hf auth login` an oder setze HF_TOKEN</translation>
    </message>
    <message>
        <source>adapters in .bin files are pickles and are never opened; save it again with a newer peft</source>
        <translation>Adapter in .bin-Dateien sind Pickles und werden nie geöffnet; speichere ihn mit einem neueren peft noch einmal</translation>
    </message>
    <message>
        <source>adapters of the kind {what} are not supported, only LORA</source>
        <translation>Adapter der Art {what} werden nicht unterstützt, nur LORA</translation>
    </message>
    <message>
        <source>all addresses are private, and no member has tried yet whether it reaches this machine</source>
        <translation>alle Adressen sind privat, und noch kein Mitglied hat versucht, diesen Computer zu erreichen</translation>
    </message>
    <message>
        <source>an address looks like {what}</source>
        <translation>eine Adresse sieht so aus: {what}</translation>
    </message>
    <message>
        <source>an admin may invite people: potluck members promote</source>
        <translation>einladen dürfen Admins: potluck members promote</translation>
    </message>
    <message>
        <source>an administrator has the daemon started for all users</source>
        <translation>jemand mit Verwaltungsrechten lässt den Dienst für alle starten</translation>
    </message>
    <message>
        <source>an administrator starts it for all users</source>
        <translation>jemand mit Verwaltungsrechten startet es für alle</translation>
    </message>
    <message>
        <source>an engine needs 2 GB; this machine can only use a swarm</source>
        <translation>eine Rechenumgebung braucht 2 GB; dieser Computer kann einen Schwarm nur nutzen</translation>
    </message>
    <message>
        <source>an older version of it still runs: potluck drain, then potluck start</source>
        <translation>es läuft noch eine ältere Version: potluck drain, dann potluck start</translation>
    </message>
    <message>
        <source>an open swarm has no members</source>
        <translation>ein offener Schwarm hat keine Mitglieder</translation>
    </message>
    <message>
        <source>an open swarm keeps its model</source>
        <translation>ein offener Schwarm behält sein Modell</translation>
    </message>
    <message>
        <source>an update is already running</source>
        <translation>eine Aktualisierung läuft schon</translation>
    </message>
    <message>
        <source>another node already runs with this identity</source>
        <translation>ein anderer Knoten läuft bereits mit dieser Identität</translation>
    </message>
    <message>
        <source>another program had TCP port {port}; Potluck listens at TCP port {other} instead</source>
        <translation>ein anderes Programm belegte TCP-Port {port}; Potluck lauscht stattdessen an TCP-Port {other}</translation>
    </message>
    <message>
        <source>another program listens at TCP port {port}, which the engine needs</source>
        <translation>ein anderes Programm hört auf TCP-Port {port}, den die Engine braucht</translation>
    </message>
    <message>
        <source>another program, maybe another user&apos;s</source>
        <translation>einem anderen Programm, vielleicht eines anderen Benutzers</translation>
    </message>
    <message>
        <source>another update is running</source>
        <translation>eine andere Aktualisierung läuft schon</translation>
    </message>
    <message>
        <source>apt, pip, ... as the docs say</source>
        <translation>apt, pip, ... wie in der Anleitung</translation>
    </message>
    <message>
        <source>are you logged in at the screen?</source>
        <translation>bist du am Bildschirm angemeldet?</translation>
    </message>
    <message>
        <source>as root if the daemon is the system&apos;s; else: chown it to yourself</source>
        <translation>als root, wenn der Dienst dem System gehört; sonst mit chown dir selbst zuweisen</translation>
    </message>
    <message>
        <source>as you asked</source>
        <translation>wie gewünscht</translation>
    </message>
    <message>
        <source>ask for another one</source>
        <translation>bitte um eine neue</translation>
    </message>
    <message>
        <source>ask its founder to create the swarm anew</source>
        <translation>bitte den Gründer, den Schwarm neu anzulegen</translation>
    </message>
    <message>
        <source>ask one of them</source>
        <translation>frage eine dieser Personen</translation>
    </message>
    <message>
        <source>ask the person who invited you for a new invite</source>
        <translation>bitte die Person, die dich eingeladen hat, um eine neue Einladung</translation>
    </message>
    <message>
        <source>asking the publisher</source>
        <translation>der Herausgeber wird gefragt</translation>
    </message>
    <message>
        <source>at midnight</source>
        <translation>um Mitternacht</translation>
    </message>
    <message>
        <source>begin it with /</source>
        <translation>beginne ihn mit /</translation>
    </message>
    <message>
        <source>begin it with / or ~</source>
        <translation>beginne ihn mit / oder ~</translation>
    </message>
    <message>
        <source>cannot ask the hub: {why}</source>
        <translation>der Hub lässt sich nicht fragen: {why}</translation>
    </message>
    <message>
        <source>cannot listen on {host} port {number}: {why}</source>
        <translation>auf {host}, Port {number}, lässt sich nicht lauschen: {why}</translation>
    </message>
    <message>
        <source>cannot listen on {host}, port {port}: {why}</source>
        <translation>an {host}, Port {port}, kann nicht gelauscht werden: {why}</translation>
    </message>
    <message>
        <source>cannot make a folder for sockets in {path}: {why}</source>
        <translation>in {path} lässt sich kein Ordner für Sockets anlegen: {why}</translation>
    </message>
    <message>
        <source>cannot open {path}: {why}</source>
        <translation>{path} lässt sich nicht öffnen: {why}</translation>
    </message>
    <message>
        <source>cannot reach the hub to fetch {name}, and it is not in the cache: {why}</source>
        <translation>der Hub ist nicht erreichbar, um {name} zu laden, und auf dem Datenträger liegt es nicht: {why}</translation>
    </message>
    <message>
        <source>cannot reach the hub: {why}</source>
        <translation>der Hub ist nicht erreichbar: {why}</translation>
    </message>
    <message>
        <source>cannot read {path}: {why}</source>
        <translation>{path} lässt sich nicht lesen: {why}</translation>
    </message>
    <message>
        <source>cannot run {path}: {why}</source>
        <translation>{path} lässt sich nicht ausführen: {why}</translation>
    </message>
    <message>
        <source>cannot search the hub without the compute engine</source>
        <translation>ohne die Rechenumgebung lässt sich der Hub nicht durchsuchen</translation>
    </message>
    <message>
        <source>cannot start {path}: {why}</source>
        <translation>{path} lässt sich nicht starten: {why}</translation>
    </message>
    <message>
        <source>cannot use the identity file {path}: {why}</source>
        <translation>die Identitätsdatei {path} ist unbrauchbar: {why}</translation>
    </message>
    <message>
        <source>cannot use {path}: {why}</source>
        <translation>{path} lässt sich nicht verwenden: {why}</translation>
    </message>
    <message>
        <source>cannot write {path}: {why}</source>
        <translation>in {path} lässt sich nicht schreiben: {why}</translation>
    </message>
    <message>
        <source>cannot write: {why}</source>
        <translation>Schreiben nicht möglich: {why}</translation>
    </message>
    <message>
        <source>check HTTPS_PROXY, ALL_PROXY and NO_PROXY</source>
        <translation>prüfe HTTPS_PROXY, ALL_PROXY und NO_PROXY</translation>
    </message>
    <message>
        <source>check the network; is another member&apos;s computer or the meeting point online?</source>
        <translation>prüfe das Netzwerk; ist der Computer eines anderen Mitglieds oder der Treffpunkt online?</translation>
    </message>
    <message>
        <source>check the spelling; for a private model log in with `hf auth login` or set HF_TOKEN</source>
        <translation>prüfe die Schreibweise; für ein privates Modell melde dich mit `hf auth login` an oder setze HF_TOKEN</translation>
    </message>
    <message>
        <source>check this computer&apos;s network</source>
        <translation>prüfe das Netz dieses Computers</translation>
    </message>
    <message>
        <source>check whether something alters downloads, then try again: it continues where it stopped</source>
        <translation>prüfe, ob etwas Downloads verändert, und versuche es noch einmal: Es geht dort weiter, wo es aufgehört hat</translation>
    </message>
    <message>
        <source>checking this machine</source>
        <translation>dieser Computer wird geprüft</translation>
    </message>
    <message>
        <source>choose a checkpoint in bfloat16, float16, FP8, GPTQ or AWQ; --quantization holds its weights in fewer bits</source>
        <translation>wähle ein Modell in bfloat16, float16, FP8, GPTQ oder AWQ; --quantization hält seine Gewichte in weniger Bits</translation>
    </message>
    <message>
        <source>choose a decoder-only model</source>
        <translation>wähle ein Modell, das nur Text erzeugt</translation>
    </message>
    <message>
        <source>choose a folder with config.json and .safetensors files, or one that contains such folders</source>
        <translation>wähle einen Ordner mit config.json und .safetensors-Dateien oder einen, der solche Ordner enthält</translation>
    </message>
    <message>
        <source>choose a model of another family</source>
        <translation>wähle ein Modell einer anderen Familie</translation>
    </message>
    <message>
        <source>choose a model whose family is part of transformers</source>
        <translation>wähle ein Modell, dessen Familie zu transformers gehört</translation>
    </message>
    <message>
        <source>choose a shorter runtime folder</source>
        <translation>wähle einen kürzeren Laufzeitordner</translation>
    </message>
    <message>
        <source>choose another folder with --folder</source>
        <translation>wähle mit --folder einen anderen Ordner</translation>
    </message>
    <message>
        <source>choose another model</source>
        <translation>wähle ein anderes Modell</translation>
    </message>
    <message>
        <source>choose another name</source>
        <translation>wähle einen anderen Namen</translation>
    </message>
    <message>
        <source>choose another place</source>
        <translation>wähle einen anderen Ort</translation>
    </message>
    <message>
        <source>choose another port, or 0 for any free one</source>
        <translation>wähle einen anderen Port, oder 0 für irgendeinen freien</translation>
    </message>
    <message>
        <source>choose another variant: {what}</source>
        <translation>wähle eine andere Variante: {what}</translation>
    </message>
    <message>
        <source>choose another with --port</source>
        <translation>wähle einen anderen mit --port</translation>
    </message>
    <message>
        <source>choose one in the usual layout: gptq or gptq_v2, or gemm of AWQ</source>
        <translation>wähle eines in der üblichen Anordnung: gptq oder gptq_v2, oder gemm von AWQ</translation>
    </message>
    <message>
        <source>choose the same model in safetensors, such as GPTQ or AWQ if it should be small</source>
        <translation>wähle dasselbe Modell in Safetensors, etwa GPTQ oder AWQ, wenn es klein sein soll</translation>
    </message>
    <message>
        <source>close programs that keep this computer busy</source>
        <translation>schließe Programme, die den Computer auslasten</translation>
    </message>
    <message>
        <source>compare the setting updates.key with the publisher&apos;s page</source>
        <translation>vergleiche die Einstellung updates.key mit der Seite des Herausgebers</translation>
    </message>
    <message>
        <source>config.json and the tensors belong to different models</source>
        <translation>config.json und die Tensoren gehören zu verschiedenen Modellen</translation>
    </message>
    <message>
        <source>config.json is damaged: {what} is {number}, above {limit}</source>
        <translation>config.json ist beschädigt: {what} ist {number}, mehr als {limit}</translation>
    </message>
    <message>
        <source>connect it; without a network only a swarm on this machine works</source>
        <translation>verbinde ihn; ohne Netz geht nur ein Schwarm auf diesem Computer</translation>
    </message>
    <message>
        <source>copy it again from the publisher</source>
        <translation>kopiere ihn noch einmal von der Herausgeberin</translation>
    </message>
    <message>
        <source>copy the adapter again</source>
        <translation>kopiere den Adapter noch einmal</translation>
    </message>
    <message>
        <source>copy the whole checkpoint, or give its hub name</source>
        <translation>kopiere das ganze Modell oder gib seinen Namen im Hub an</translation>
    </message>
    <message>
        <source>correct HTTPS_PROXY, ALL_PROXY or NO_PROXY</source>
        <translation>berichtige HTTPS_PROXY, ALL_PROXY oder NO_PROXY</translation>
    </message>
    <message>
        <source>correct it with: potluck config edit</source>
        <translation>berichtige sie mit: potluck config edit</translation>
    </message>
    <message>
        <source>correct or unset {name}</source>
        <translation>berichtige oder entferne {name}</translation>
    </message>
    <message>
        <source>could not be checked ({why})</source>
        <translation>ließ sich nicht prüfen ({why})</translation>
    </message>
    <message>
        <source>create a public one: potluck swarm create --public</source>
        <translation>lege einen öffentlichen an: potluck swarm create --public</translation>
    </message>
    <message>
        <source>create another swarm: potluck swarm create</source>
        <translation>erstelle einen anderen Schwarm: potluck swarm create</translation>
    </message>
    <message>
        <source>did you mean {other}?</source>
        <translation>meintest du {other}?</translation>
    </message>
    <message>
        <source>do it on the computer that joined the swarm first</source>
        <translation>tu es auf dem Computer, der dem Schwarm zuerst beigetreten ist</translation>
    </message>
    <message>
        <source>does it belong to you?</source>
        <translation>gehört es dir?</translation>
    </message>
    <message>
        <source>download it again to {folder}</source>
        <translation>lade es noch einmal nach {folder} herunter</translation>
    </message>
    <message>
        <source>download it again, or ask its author</source>
        <translation>lade es noch einmal herunter oder frage, wer es gemacht hat</translation>
    </message>
    <message>
        <source>download the checkpoint again</source>
        <translation>lade das Modell noch einmal herunter</translation>
    </message>
    <message>
        <source>download the checkpoint again, or choose another one</source>
        <translation>lade das Modell noch einmal herunter oder wähle ein anderes</translation>
    </message>
    <message>
        <source>earnings are not booked: {why}</source>
        <translation>Verdientes wird nicht gebucht: {why}</translation>
    </message>
    <message>
        <source>end it, or: potluck config set serve.listen /ip4/0.0.0.0/tcp/PORT,/ip6/::/tcp/PORT</source>
        <translation>beende es, oder: potluck config set serve.listen /ip4/0.0.0.0/tcp/PORT,/ip6/::/tcp/PORT</translation>
    </message>
    <message>
        <source>end one of your invites, or ask the founder for more seats</source>
        <translation>beende eine deiner Einladungen oder bitte den Gründer um mehr Plätze</translation>
    </message>
    <message>
        <source>end that program, or: potluck config set gateway.port NUMBER</source>
        <translation>beende dieses Programm, oder: potluck config set gateway.port NUMMER</translation>
    </message>
    <message>
        <source>expected {one} or {other} beside config.json</source>
        <translation>neben config.json wird {one} oder {other} erwartet</translation>
    </message>
    <message>
        <source>fetching</source>
        <translation>wird geholt</translation>
    </message>
    <message>
        <source>four random words are good</source>
        <translation>vier zufällige Wörter sind gut</translation>
    </message>
    <message>
        <source>give a checkpoint with a transformers configuration</source>
        <translation>gib ein Modell mit einer Konfiguration von transformers an</translation>
    </message>
    <message>
        <source>give a folder in the Hugging Face layout</source>
        <translation>gib einen Ordner an, wie Hugging Face ihn aufbaut</translation>
    </message>
    <message>
        <source>give a folder with a config.json, or a hub name</source>
        <translation>gib einen Ordner mit config.json oder einen Namen im Hub an</translation>
    </message>
    <message>
        <source>give it a user</source>
        <translation>gib ihm einen Benutzer</translation>
    </message>
    <message>
        <source>given wattage</source>
        <translation>angegebene Leistung</translation>
    </message>
    <message>
        <source>in a moment, or when you resume</source>
        <translation>gleich, oder wenn du fortsetzt</translation>
    </message>
    <message>
        <source>install NVIDIA&apos;s driver {number} or newer to use {who}; this machine has {driver}</source>
        <translation>für {who} ist NVIDIAs Treiber {number} oder ein neuerer nötig; dieser Computer hat {driver}</translation>
    </message>
    <message>
        <source>install Potluck again</source>
        <translation>installiere Potluck neu</translation>
    </message>
    <message>
        <source>install Potluck again, or install uv</source>
        <translation>installiere Potluck neu, oder installiere uv</translation>
    </message>
    <message>
        <source>install it, or name an HTTP proxy instead</source>
        <translation>installiere es oder nenne stattdessen einen HTTP-Proxy</translation>
    </message>
    <message>
        <source>install or repair NVIDIA&apos;s driver, then restart the machine</source>
        <translation>installiere oder repariere NVIDIAs Treiber und starte den Computer neu</translation>
    </message>
    <message>
        <source>install potluck with the extra `client`</source>
        <translation>installiere potluck mit dem Zusatz `client`</translation>
    </message>
    <message>
        <source>install potluck with the extra `engine`</source>
        <translation>installiere potluck mit dem Zusatz `engine`</translation>
    </message>
    <message>
        <source>install that version again, or move the file away: then a new ledger begins</source>
        <translation>installiere jene Version wieder, oder verschiebe die Datei: dann beginnt ein neues Kontobuch</translation>
    </message>
    <message>
        <source>install the missing package: pip install {what}</source>
        <translation>installiere das fehlende Paket: pip install {what}</translation>
    </message>
    <message>
        <source>install the package with the app, see docs/install.md</source>
        <translation>installiere das Paket mit der App, siehe docs/install.md</translation>
    </message>
    <message>
        <source>installing {number} packages</source>
        <translation>{number} Pakete werden installiert</translation>
    </message>
    <message>
        <source>is its disk connected? Else {advice}</source>
        <translation>ist die Platte angeschlossen? Sonst: {advice}</translation>
    </message>
    <message>
        <source>is its disk or network share still there?</source>
        <translation>ist die Festplatte oder Netzwerkfreigabe noch da?</translation>
    </message>
    <message>
        <source>is the disk full?</source>
        <translation>ist die Festplatte voll?</translation>
    </message>
    <message>
        <source>is the disk mounted read-only?</source>
        <translation>ist die Festplatte nur lesbar eingehängt?</translation>
    </message>
    <message>
        <source>is there enough memory?</source>
        <translation>ist genug Speicher frei?</translation>
    </message>
    <message>
        <source>it belongs to another user</source>
        <translation>er gehört jemand anderem</translation>
    </message>
    <message>
        <source>it did not finish</source>
        <translation>es wurde nicht fertig</translation>
    </message>
    <message>
        <source>it did not free its memory</source>
        <translation>sie gab ihren Speicher nicht frei</translation>
    </message>
    <message>
        <source>it did not start in time</source>
        <translation>es ist nicht rechtzeitig gestartet</translation>
    </message>
    <message>
        <source>it did not stop</source>
        <translation>sie hielt nicht an</translation>
    </message>
    <message>
        <source>it ended with code {number}</source>
        <translation>es endete mit Code {number}</translation>
    </message>
    <message>
        <source>it ended with code {number}: {why}</source>
        <translation>es endete mit Code {number}: {why}</translation>
    </message>
    <message>
        <source>it has 14 groups of four letters</source>
        <translation>er hat 14 Gruppen zu vier Buchstaben</translation>
    </message>
    <message>
        <source>it says {time}</source>
        <translation>sie zeigt {time}</translation>
    </message>
    <message>
        <source>it is of another version (pipe {theirs}, the daemon {ours}); set it up again: potluck setup</source>
        <translation>es hat eine andere Version (Pipe {theirs}, der Dienst {ours}); richte es neu ein: potluck setup</translation>
    </message>
    <message>
        <source>The setting serve.enabled is gone. It was off, so Potluck is paused until you resume</source>
        <translation>Die Einstellung serve.enabled gibt es nicht mehr. Sie war aus, also pausiert Potluck, bis du fortsetzt</translation>
    </message>
    <message>
        <source>Who can use the gateway?</source>
        <translation>Wer kann das Gateway benutzen?</translation>
    </message>
    <message>
        <source>it stopped answering</source>
        <translation>sie antwortete nicht mehr</translation>
    </message>
    <message>
        <source>it takes {used} of memory, more than {all}, which limits.ram_mb allows</source>
        <translation>sie belegt {used} Speicher, mehr als die {all}, die limits.ram_mb erlaubt</translation>
    </message>
    <message>
        <source>it was ended by signal {name}</source>
        <translation>es wurde durch das Signal {name} beendet</translation>
    </message>
    <message>
        <source>it was trained for another model, or its files do not belong together</source>
        <translation>er wurde für ein anderes Modell trainiert, oder seine Dateien gehören nicht zusammen</translation>
    </message>
    <message>
        <source>its configuration and its tensors do not belong together</source>
        <translation>seine Konfiguration und seine Tensoren gehören nicht zusammen</translation>
    </message>
    <message>
        <source>its layers exchange several hidden states for each token</source>
        <translation>seine Schichten tauschen für jedes Token mehrere Zwischenzustände aus</translation>
    </message>
    <message>
        <source>its layers need the tokens besides the hidden states</source>
        <translation>seine Schichten brauchen auch die Token selbst</translation>
    </message>
    <message>
        <source>its layers share keys and values across the whole depth</source>
        <translation>seine Schichten teilen sich Schlüssel und Werte über die ganze Tiefe</translation>
    </message>
    <message>
        <source>its log has the reason; please report it</source>
        <translation>der Grund steht im Protokoll; bitte melde ihn</translation>
    </message>
    <message>
        <source>its process was stopped</source>
        <translation>ihr Prozess wurde angehalten</translation>
    </message>
    <message>
        <source>join again: potluck join</source>
        <translation>tritt noch einmal bei: potluck join</translation>
    </message>
    <message>
        <source>join one with: potluck join</source>
        <translation>tritt einem bei mit: potluck join EINLADUNG</translation>
    </message>
    <message>
        <source>join the swarm there with an invite for one machine: potluck members add-computer</source>
        <translation>tritt dort dem Schwarm mit einer Einladung für einen Computer bei: potluck members add-computer</translation>
    </message>
    <message>
        <source>kernels of the {what} package</source>
        <translation>Kernel des Pakets {what}</translation>
    </message>
    <message>
        <source>keyboard or mouse</source>
        <translation>Tastatur oder Maus</translation>
    </message>
    <message>
        <source>layer {block} of {model}</source>
        <translation>die Schicht {block} von {model}</translation>
    </message>
    <message>
        <source>leave it first: potluck leave {name}</source>
        <translation>verlasse ihn zuerst: potluck leave {name}</translation>
    </message>
    <message>
        <source>leave out the revision to use main</source>
        <translation>lass die Revision weg, um main zu nehmen</translation>
    </message>
    <message>
        <source>leave the swarm first, or delete it by force: it is downloaded again when it is needed</source>
        <translation>verlass zuerst den Schwarm oder lösche es mit Gewalt: bei Bedarf wird es neu heruntergeladen</translation>
    </message>
    <message>
        <source>leave those that you don&apos;t use</source>
        <translation>verlasse die, die du nicht brauchst</translation>
    </message>
    <message>
        <source>log in with `hf auth login` or set HF_TOKEN</source>
        <translation>melde dich mit `hf auth login` an oder setze HF_TOKEN</translation>
    </message>
    <message>
        <source>logind does not let us finish before sleep</source>
        <translation>logind lässt vor dem Ruhezustand keine Zeit</translation>
    </message>
    <message>
        <source>look at {file}</source>
        <translation>sieh in {file} nach</translation>
    </message>
    <message>
        <source>look for another name</source>
        <translation>suche nach einem anderen Namen</translation>
    </message>
    <message>
        <source>looking up the packages</source>
        <translation>die Pakete werden nachgeschlagen</translation>
    </message>
    <message>
        <source>macOS {version} is too old for torch</source>
        <translation>macOS {version} ist zu alt für PyTorch</translation>
    </message>
    <message>
        <source>macOS {version}, {architecture}</source>
        <translation>macOS {version}, {architecture}</translation>
    </message>
    <message>
        <source>make room on the disk</source>
        <translation>schaffe Platz auf der Festplatte</translation>
    </message>
    <message>
        <source>make room, or choose a folder on another disk with --folder</source>
        <translation>schaff Platz oder wähle mit --folder einen Ordner auf einer anderen Platte</translation>
    </message>
    <message>
        <source>make room: settings and history cannot be kept</source>
        <translation>schaffe Platz: Einstellungen und Verlauf lassen sich nicht behalten</translation>
    </message>
    <message>
        <source>make the backup on the computer that joined the swarm first</source>
        <translation>mach die Sicherung auf dem Computer, der dem Schwarm zuerst beigetreten ist</translation>
    </message>
    <message>
        <source>members in the same network reach it; others through a relay, unless {port} is forwarded</source>
        <translation>Mitglieder im selben Netz erreichen ihn; andere über ein Relais, wenn {port} nicht weitergeleitet wird</translation>
    </message>
    <message>
        <source>metrics.port {port} cannot be listened on: {why}</source>
        <translation>an metrics.port {port} kann Potluck nicht lauschen: {why}</translation>
    </message>
    <message>
        <source>models of the family {family} cannot be split: their loop over layers is unknown</source>
        <translation>Modelle der Familie {family} lassen sich nicht aufteilen: ihre Schleife über die Schichten ist unbekannt</translation>
    </message>
    <message>
        <source>models of the family {family} cannot be split: they have an encoder and a decoder</source>
        <translation>Modelle der Familie {family} lassen sich nicht aufteilen: sie haben einen Encoder und einen Decoder</translation>
    </message>
    <message>
        <source>models of the family {family} cannot be split: {why}</source>
        <translation>Modelle der Familie {family} lassen sich nicht aufteilen: {why}</translation>
    </message>
    <message>
        <source>models of the family {family} have no {what}</source>
        <translation>Modelle der Familie {family} haben kein {what}</translation>
    </message>
    <message>
        <source>name a time: potluck pause 2h</source>
        <translation>nenne eine Zeit: potluck pause 2h</translation>
    </message>
    <message>
        <source>name an HTTP proxy instead</source>
        <translation>nenne stattdessen einen HTTP-Proxy</translation>
    </message>
    <message>
        <source>name one of: {names}</source>
        <translation>nenne einen davon: {names}</translation>
    </message>
    <message>
        <source>no GPU found; the processor serves instead, which is slow but works</source>
        <translation>keine Grafikkarte gefunden; stattdessen rechnet der Prozessor, langsam, aber es geht</translation>
    </message>
    <message>
        <source>no GPU reports its memory</source>
        <translation>keine Grafikkarte meldet ihren Speicher</translation>
    </message>
    <message>
        <source>no GPU reports its power</source>
        <translation>keine Grafikkarte meldet ihre Leistung</translation>
    </message>
    <message>
        <source>no Wayland compositor at {path} ({why})</source>
        <translation>kein Wayland-Compositor unter {path} ({why})</translation>
    </message>
    <message>
        <source>no Wayland session</source>
        <translation>keine Wayland-Sitzung</translation>
    </message>
    <message>
        <source>no X11 display</source>
        <translation>keine X11-Anzeige</translation>
    </message>
    <message>
        <source>no X11 display ({why})</source>
        <translation>keine X11-Anzeige ({why})</translation>
    </message>
    <message>
        <source>no answer within {number} s</source>
        <translation>keine Antwort innerhalb von {number} s</translation>
    </message>
    <message>
        <source>no battery</source>
        <translation>kein Akku</translation>
    </message>
    <message>
        <source>no bootstrap peer answers ({number} tried)</source>
        <translation>kein Einstiegsknoten antwortet ({number} versucht)</translation>
    </message>
    <message>
        <source>no computer named {name} asks to be yours</source>
        <translation>kein Computer namens {name} möchte deiner werden</translation>
    </message>
    <message>
        <source>no decoder is known for models of the family {family}</source>
        <translation>für Modelle der Familie {family} ist kein Decoder bekannt</translation>
    </message>
    <message>
        <source>no desktop is watched</source>
        <translation>Keine Arbeitsumgebung wird beobachtet</translation>
    </message>
    <message>
        <source>no desktop runs</source>
        <translation>keine Arbeitsumgebung läuft</translation>
    </message>
    <message>
        <source>no folder</source>
        <translation>kein Ordner</translation>
    </message>
    <message>
        <source>no game is running as far as Potluck can see</source>
        <translation>soweit Potluck sehen kann, läuft kein Spiel</translation>
    </message>
    <message>
        <source>no ioreg ({why})</source>
        <translation>ioreg fehlt ({why})</translation>
    </message>
    <message>
        <source>no key of yours is on this computer</source>
        <translation>auf diesem Computer liegt kein Schlüssel von dir</translation>
    </message>
    <message>
        <source>no keyboard or mouse is listed</source>
        <translation>keine Tastatur oder Maus gefunden</translation>
    </message>
    <message>
        <source>no member has stored this server&apos;s announcement</source>
        <translation>kein Mitglied hat die Ankündigung dieses Servers gespeichert</translation>
    </message>
    <message>
        <source>no member is online who could let you in</source>
        <translation>kein Mitglied ist online, das dich einlassen könnte</translation>
    </message>
    <message>
        <source>no method {name}</source>
        <translation>keine Methode {name}</translation>
    </message>
    <message>
        <source>no part of {what} is a stack of {number} layers that is known</source>
        <translation>kein Teil von {what} ist ein bekannter Stapel von {number} Schichten</translation>
    </message>
    <message>
        <source>no permission to speak to the daemon at {path}</source>
        <translation>keine Berechtigung, mit dem Dienst unter {path} zu sprechen</translation>
    </message>
    <message>
        <source>no port is chosen yet; the daemon chooses one when it starts</source>
        <translation>noch kein Port gewählt; der Dienst wählt einen, wenn er startet</translation>
    </message>
    <message>
        <source>no sensor reports a temperature</source>
        <translation>kein Sensor meldet eine Temperatur</translation>
    </message>
    <message>
        <source>no source of updates is set</source>
        <translation>keine Quelle für Aktualisierungen ist eingestellt</translation>
    </message>
    <message>
        <source>no swarm is joined</source>
        <translation>keinem Schwarm beigetreten</translation>
    </message>
    <message>
        <source>no {what} bus ({why})</source>
        <translation>kein {what}-Bus ({why})</translation>
    </message>
    <message>
        <source>nobody</source>
        <translation>niemand</translation>
    </message>
    <message>
        <source>nobody in the swarm is called {name}</source>
        <translation>niemand im Schwarm heißt {name}</translation>
    </message>
    <message>
        <source>note its recovery code (potluck members recovery-code), appoint an admin, or add --yes</source>
        <translation>schreibe seinen Wiederherstellungscode auf (potluck members recovery-code), ernenne einen Admin oder füge --yes an</translation>
    </message>
    <message>
        <source>nothing is reported about {name}</source>
        <translation>über {name} liegt keine Meldung vor</translation>
    </message>
    <message>
        <source>nothing shows windows here: games that do not announce themselves are missed</source>
        <translation>Hier zeigt nichts Fenster: Spiele, die sich nicht melden, werden übersehen</translation>
    </message>
    <message>
        <source>old invites that name nobody else don&apos;t work; end that program, then: potluck pause, potluck resume</source>
        <translation>alte Einladungen, die niemand anderen nennen, gelten nicht; beende jenes Programm, dann: potluck pause, potluck resume</translation>
    </message>
    <message>
        <source>on a new computer: potluck members recover</source>
        <translation>auf einem neuen Computer: potluck members recover</translation>
    </message>
    <message>
        <source>one block&apos;s weights are shared between many layers</source>
        <translation>viele Schichten teilen sich dieselben Gewichte</translation>
    </message>
    <message>
        <source>only IPv6 is public; members without IPv6 cannot dial this machine</source>
        <translation>nur IPv6 ist öffentlich; Mitglieder ohne IPv6 erreichen diesen Computer nicht</translation>
    </message>
    <message>
        <source>only a public swarm has enrollers</source>
        <translation>nur öffentliche Schwärme haben Personen, die andere einlassen</translation>
    </message>
    <message>
        <source>only plain LoRA of linear parts of layers can be served</source>
        <translation>nur einfaches LoRA linearer Teile von Schichten kann bereitgestellt werden</translation>
    </message>
    <message>
        <source>only the founder and admins of the swarm can do this</source>
        <translation>das können nur der Gründer und die Admins des Schwarms</translation>
    </message>
    <message>
        <source>only the founder of the swarm can do this</source>
        <translation>das kann nur, wer den Schwarm gegründet hat</translation>
    </message>
    <message>
        <source>only the founder&apos;s computer has the recovery code</source>
        <translation>nur der Computer der Gründung hat den Wiederherstellungscode</translation>
    </message>
    <message>
        <source>or the file is damaged</source>
        <translation>oder die Datei ist beschädigt</translation>
    </message>
    <message>
        <source>packages cannot be installed: {why}</source>
        <translation>Pakete lassen sich nicht installieren: {why}</translation>
    </message>
    <message>
        <source>pause first</source>
        <translation>pausiere zuerst</translation>
    </message>
    <message>
        <source>pause first: potluck pause</source>
        <translation>pausiere zuerst: potluck pause</translation>
    </message>
    <message>
        <source>put the right file back</source>
        <translation>lege die richtige Datei zurück</translation>
    </message>
    <message>
        <source>put the right files back; if the new ones are right, delete {path} and {file}</source>
        <translation>lege die richtigen Dateien zurück; wenn die neuen richtig sind, lösche {path} und {file}</translation>
    </message>
    <message>
        <source>reinstall potluck</source>
        <translation>installiere potluck neu</translation>
    </message>
    <message>
        <source>reinstall the `hivemind` package for this kind of machine</source>
        <translation>installiere das Paket `hivemind` für diese Art Computer neu</translation>
    </message>
    <message>
        <source>remove it if it is a link, and make room if the disk is full</source>
        <translation>entferne es, wenn es ein Link ist, und schaff Platz, wenn die Platte voll ist</translation>
    </message>
    <message>
        <source>remove it or choose another runtime folder</source>
        <translation>lösche ihn oder wähle einen anderen Laufzeitordner</translation>
    </message>
    <message>
        <source>remove one that you don&apos;t use: potluck members remove NAME --machine COMPUTER</source>
        <translation>entferne einen, den du nicht benutzt: potluck members remove NAME --machine COMPUTER</translation>
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
        <source>restore a backup: potluck ledger restore FILE</source>
        <translation>spiele eine Sicherung ein: potluck ledger restore DATEI</translation>
    </message>
    <message>
        <source>run `potluck start` in a terminal of the desktop</source>
        <translation>Führe `potluck start` in einem Terminal der Arbeitsumgebung aus</translation>
    </message>
    <message>
        <source>save it as safetensors first, with save_pretrained() of Transformers</source>
        <translation>speichere es erst als Safetensors, mit save_pretrained() von Transformers</translation>
    </message>
    <message>
        <source>see `potluck doctor`</source>
        <translation>siehe `potluck doctor`</translation>
    </message>
    <message>
        <source>see serve.python</source>
        <translation>siehe serve.python</translation>
    </message>
    <message>
        <source>see that the index of packages is the right one (UV_DEFAULT_INDEX)</source>
        <translation>prüfe, ob der Paketindex der richtige ist (UV_DEFAULT_INDEX)</translation>
    </message>
    <message>
        <source>see the publisher&apos;s page</source>
        <translation>sieh auf der Seite des Herausgebers nach</translation>
    </message>
    <message>
        <source>see why: potluck logs</source>
        <translation>warum, zeigt: potluck logs</translation>
    </message>
    <message>
        <source>serve it, or ask a member for an invite</source>
        <translation>stelle selbst Blöcke bereit oder bitte ein Mitglied um eine Einladung</translation>
    </message>
    <message>
        <source>serve.device is {name}, but no GPU is found</source>
        <translation>serve.device ist {name}, aber keine Grafikkarte wurde gefunden</translation>
    </message>
    <message>
        <source>serve.swarm is {name}, which is not a swarm you joined</source>
        <translation>serve.swarm ist {name}, ein Schwarm, dem du nicht beigetreten bist</translation>
    </message>
    <message>
        <source>set SSL_CERT_FILE to the right certificates</source>
        <translation>setze SSL_CERT_FILE auf die richtigen Zertifikate</translation>
    </message>
    <message>
        <source>set XDG_RUNTIME_DIR to a folder with a shorter one</source>
        <translation>setze XDG_RUNTIME_DIR auf einen Ordner mit einem kürzeren Pfad</translation>
    </message>
    <message>
        <source>set the clock</source>
        <translation>stelle die Uhr</translation>
    </message>
    <message>
        <source>set the clock: others ignore announcements from the past</source>
        <translation>stelle die Uhr: Ankündigungen aus der Vergangenheit beachtet niemand</translation>
    </message>
    <message>
        <source>set this computer&apos;s clock</source>
        <translation>stelle die Uhr dieses Computers</translation>
    </message>
    <message>
        <source>set updates.url and updates.key, as published</source>
        <translation>setze updates.url und updates.key, wie veröffentlicht</translation>
    </message>
    <message>
        <source>start again</source>
        <translation>starte neu</translation>
    </message>
    <message>
        <source>start it with: potluck start</source>
        <translation>starte ihn mit: potluck start</translation>
    </message>
    <message>
        <source>start it with: potluck start; see why: potluck logs</source>
        <translation>starte ihn mit: potluck start; warum, zeigt: potluck logs</translation>
    </message>
    <message>
        <source>start the daemon with: potluck start</source>
        <translation>starte den Dienst mit: potluck start</translation>
    </message>
    <message>
        <source>start this program again</source>
        <translation>starte dieses Programm neu</translation>
    </message>
    <message>
        <source>switching to the earlier environment</source>
        <translation>es wird auf die frühere Umgebung umgestellt</translation>
    </message>
    <message>
        <source>switching to the new environment</source>
        <translation>es wird auf die neue Umgebung umgestellt</translation>
    </message>
    <message>
        <source>tell the publisher</source>
        <translation>melde es der Herausgeberin</translation>
    </message>
    <message>
        <source>testing the earlier environment</source>
        <translation>die frühere Umgebung wird getestet</translation>
    </message>
    <message>
        <source>testing the existing environment</source>
        <translation>die vorhandene Umgebung wird getestet</translation>
    </message>
    <message>
        <source>testing the new environment</source>
        <translation>die neue Umgebung wird getestet</translation>
    </message>
    <message>
        <source>the GPU</source>
        <translation>die GPU</translation>
    </message>
    <message>
        <source>the NVIDIA driver does not answer</source>
        <translation>der NVIDIA-Treiber antwortet nicht</translation>
    </message>
    <message>
        <source>the NVIDIA driver says: {why}</source>
        <translation>der NVIDIA-Treiber meldet: {why}</translation>
    </message>
    <message>
        <source>the Wayland compositor does not answer</source>
        <translation>der Wayland-Compositor antwortet nicht</translation>
    </message>
    <message>
        <source>the Wayland compositor does not report idle time</source>
        <translation>der Wayland-Compositor meldet keine Leerlaufzeit</translation>
    </message>
    <message>
        <source>the Wayland compositor refuses to answer</source>
        <translation>der Wayland-Compositor verweigert die Antwort</translation>
    </message>
    <message>
        <source>the Wayland compositor went away</source>
        <translation>der Wayland-Compositor ist weg</translation>
    </message>
    <message>
        <source>the X server does not answer</source>
        <translation>der X-Server antwortet nicht</translation>
    </message>
    <message>
        <source>the X server does not report idle time</source>
        <translation>der X-Server meldet keine Leerlaufzeit</translation>
    </message>
    <message>
        <source>the adapter began as {what}, which changes the model&apos;s own weights</source>
        <translation>der Adapter begann als {what}, das die Gewichte des Modells selbst ändert</translation>
    </message>
    <message>
        <source>the adapter changes biases, which is not plain LoRA</source>
        <translation>der Adapter ändert Biaswerte, das ist kein einfaches LoRA</translation>
    </message>
    <message>
        <source>the adapter uses {what}, which is not plain LoRA</source>
        <translation>der Adapter nutzt {what}, das ist kein einfaches LoRA</translation>
    </message>
    <message>
        <source>the adapter&apos;s {what} has a regular expression, which is never run</source>
        <translation>{what} des Adapters enthält einen regulären Ausdruck, der nie ausgeführt wird</translation>
    </message>
    <message>
        <source>the address must begin with https://</source>
        <translation>die Adresse muss mit https:// beginnen</translation>
    </message>
    <message>
        <source>the address of the proxy cannot be read</source>
        <translation>die Adresse des Proxys ist nicht lesbar</translation>
    </message>
    <message>
        <source>the battery</source>
        <translation>der Akku</translation>
    </message>
    <message>
        <source>the check for updates failed: {why}</source>
        <translation>die Suche nach Aktualisierungen ist gescheitert: {why}</translation>
    </message>
    <message>
        <source>the checkpoint has {what}, which the model does not know</source>
        <translation>die Dateien enthalten {what}, das im Modell nicht vorkommt</translation>
    </message>
    <message>
        <source>the checkpoint lacks {what}</source>
        <translation>dem Modell fehlt {what}</translation>
    </message>
    <message>
        <source>the checkpoint lacks {what} and {number} more</source>
        <translation>dem Modell fehlen {what} und {number} weitere</translation>
    </message>
    <message>
        <source>the checkpoint&apos;s quantization_config is not valid: {why}</source>
        <translation>„quantization_config“ des Modells ist ungültig: {why}</translation>
    </message>
    <message>
        <source>the clock is not synchronised; it says {time}</source>
        <translation>die Uhr wird nicht abgeglichen; sie zeigt {time}</translation>
    </message>
    <message>
        <source>the clock says {time}, which is in the past</source>
        <translation>die Uhr zeigt {time}, das ist in der Vergangenheit</translation>
    </message>
    <message>
        <source>the code is incomplete or has a wrong letter in it</source>
        <translation>der Code ist unvollständig oder enthält einen falschen Buchstaben</translation>
    </message>
    <message>
        <source>the computer</source>
        <translation>der Computer</translation>
    </message>
    <message>
        <source>the daemon could not handle its message: {why}</source>
        <translation>der Dienst konnte ihre Nachricht nicht verarbeiten: {why}</translation>
    </message>
    <message>
        <source>the daemon does not answer: {why}</source>
        <translation>der Dienst antwortet nicht: {why}</translation>
    </message>
    <message>
        <source>the daemon does not know this yet ({what})</source>
        <translation>der Dienst kennt das noch nicht ({what})</translation>
    </message>
    <message>
        <source>the daemon is already running as process {number}</source>
        <translation>der Dienst läuft schon als Prozess {number}</translation>
    </message>
    <message>
        <source>the daemon is not running</source>
        <translation>der Dienst läuft nicht</translation>
    </message>
    <message>
        <source>the daemon runs version {theirs}, but {ours} is installed</source>
        <translation>der Dienst läuft in Version {theirs}, installiert ist aber {ours}</translation>
    </message>
    <message>
        <source>the daemon was killed or has crashed</source>
        <translation>der Dienst wurde beendet oder ist abgestürzt</translation>
    </message>
    <message>
        <source>the daemon&apos;s answer is not understood: {why}</source>
        <translation>die Antwort des Dienstes ist unverständlich: {why}</translation>
    </message>
    <message>
        <source>the defaults hold where the file cannot be obeyed</source>
        <translation>wo die Datei nicht zu verstehen ist, gilt der Standard</translation>
    </message>
    <message>
        <source>the desktop makes no control groups for applications</source>
        <translation>die Arbeitsumgebung legt keine Kontrollgruppen für Anwendungen an</translation>
    </message>
    <message>
        <source>the engine does not work here: {why}</source>
        <translation>die Engine funktioniert hier nicht: {why}</translation>
    </message>
    <message>
        <source>the engine failed unexpectedly</source>
        <translation>die Engine hatte einen unerwarteten Fehler</translation>
    </message>
    <message>
        <source>the engine is being set up already</source>
        <translation>die Engine wird schon eingerichtet</translation>
    </message>
    <message>
        <source>the engine listens at TCP port {port}</source>
        <translation>die Rechenumgebung wartet an TCP-Port {port}</translation>
    </message>
    <message>
        <source>the engine may be using them</source>
        <translation>die Engine benutzt sie vielleicht</translation>
    </message>
    <message>
        <source>the engine needs {names}, which is not installed</source>
        <translation>die Engine braucht {names}, was nicht installiert ist</translation>
    </message>
    <message>
        <source>the engine serves {name}</source>
        <translation>die Engine bietet {name} an</translation>
    </message>
    <message>
        <source>the engine&apos;s Python cannot be run: {why}</source>
        <translation>das Python der Rechenumgebung lässt sich nicht starten: {why}</translation>
    </message>
    <message>
        <source>the engine&apos;s TCP port</source>
        <translation>der TCP-Port der Rechenumgebung</translation>
    </message>
    <message>
        <source>the engine&apos;s packages are installed</source>
        <translation>die Pakete der Rechenumgebung sind installiert</translation>
    </message>
    <message>
        <source>the environment lies in {path} already</source>
        <translation>die Umgebung liegt schon in {path}</translation>
    </message>
    <message>
        <source>the family {family} is unknown to the installed transformers</source>
        <translation>die Familie {family} ist dem installierten transformers unbekannt</translation>
    </message>
    <message>
        <source>the family {family} needs code from the checkpoint, which is never run</source>
        <translation>die Familie {family} braucht Programmcode aus dem Modell, der nie ausgeführt wird</translation>
    </message>
    <message>
        <source>the file: {why}</source>
        <translation>die Datei: {why}</translation>
    </message>
    <message>
        <source>the folder must be absolute</source>
        <translation>der Ordner muss ganz angegeben sein</translation>
    </message>
    <message>
        <source>the folder of a checkpoint must be absolute</source>
        <translation>der Ordner eines Checkpoints muss ganz angegeben sein</translation>
    </message>
    <message>
        <source>the founder may promote you anew</source>
        <translation>der Gründer kann dich neu ernennen</translation>
    </message>
    <message>
        <source>the gateway is not understood: {why}</source>
        <translation>das Gateway wird nicht verstanden: {why}</translation>
    </message>
    <message>
        <source>the hub answered {number}</source>
        <translation>der Hub antwortete mit {number}</translation>
    </message>
    <message>
        <source>the hub answered {number} for {name}</source>
        <translation>der Hub antwortete für {name} mit {number}</translation>
    </message>
    <message>
        <source>the hub did not answer in time</source>
        <translation>der Hub hat nicht rechtzeitig geantwortet</translation>
    </message>
    <message>
        <source>the hub refuses access to {name}</source>
        <translation>der Hub verweigert den Zugriff auf {name}</translation>
    </message>
    <message>
        <source>the hub sends no valid etag for {file}</source>
        <translation>der Hub schickt keine gültige Prüfmarke für {file}</translation>
    </message>
    <message>
        <source>the hub&apos;s answer cannot be read</source>
        <translation>die Antwort des Hubs ist nicht lesbar</translation>
    </message>
    <message>
        <source>the request did not arrive in time</source>
        <translation>die Anfrage kam nicht rechtzeitig an</translation>
    </message>
    <message>
        <source>the settings file has no mistakes</source>
        <translation>die Datei der Einstellungen hat keine Fehler</translation>
    </message>
    <message>
        <source>this daemon belongs to another user</source>
        <translation>dieser Dienst gehört jemand anderem</translation>
    </message>
    <message>
        <source>this version of Potluck has no torch of variant {what} for this computer</source>
        <translation>diese Version von Potluck hat kein PyTorch der Variante {what} für diesen Computer</translation>
    </message>
    <message>
        <source>too many connections</source>
        <translation>zu viele Verbindungen</translation>
    </message>
    <message>
        <source>too many subscribers</source>
        <translation>zu viele Abonnenten</translation>
    </message>
    <message>
        <source>version {offered} failed; {number} is in use again</source>
        <translation>Version {offered} ist gescheitert; {number} wird wieder benutzt</translation>
    </message>
    <message>
        <source>when you join with a new invite</source>
        <translation>wenn du mit einer neuen Einladung beitrittst</translation>
    </message>
    <message>
        <source>{file} is of a newer Potluck; what this one does not know stays in it and has no effect</source>
        <translation>{file} stammt von einem neueren Potluck; was dieses nicht kennt, bleibt darin und wirkt nicht</translation>
    </message>
    <message>
        <source>{key}: {why}</source>
        <translation>{key}: {why}</translation>
    </message>
    <message>
        <source>{method} failed inside the daemon</source>
        <translation>{method} ist im Dienst fehlgeschlagen</translation>
    </message>
    <message>
        <source>{name} is not a section of the file</source>
        <translation>{name} ist kein Abschnitt der Datei</translation>
    </message>
    <message>
        <source>{path} is too long a path for a socket</source>
        <translation>{path} ist als Pfad für einen Socket zu lang</translation>
    </message>
    <message>
        <source>{place} has version {theirs}; this Potluck knows version {ours}</source>
        <translation>{place} hat Version {theirs}; dieses Potluck kennt Version {ours}</translation>
    </message>
    <message>
        <source>{what} is stored quantised, which is supported for layers alone</source>
        <translation>{what} liegt quantisiert vor, was nur für Schichten unterstützt wird</translation>
    </message>
    <message>
        <source>{who}&apos;s {what} returned wrong results: found by {name}</source>
        <translation>{what} von {who} hat falsche Ergebnisse geliefert: bemerkt von {name}</translation>
    </message>
    <message>
        <source>{why}: start it in another way, or let the tray app do so</source>
        <translation>{why}: starte es auf andere Weise oder überlass es der Tray-App</translation>
    </message>
    <message>
        <source>{why}: variant {what}</source>
        <translation>{why}: Variante {what}</translation>
    </message>
    <message>
        <source>the invite has been used up</source>
        <translation>die Einladung ist aufgebraucht</translation>
    </message>
    <message>
        <source>Are the settings right?</source>
        <translation>Stimmen die Einstellungen?</translation>
    </message>
    <message>
        <source>As Ollama&apos;s address, in programs that speak only its API:</source>
        <translation>Als Ollamas Adresse, in Programmen, die nur dessen API sprechen:</translation>
    </message>
    <message>
        <source>Can a GPU be used?</source>
        <translation>Kann eine GPU benutzt werden?</translation>
    </message>
    <message>
        <source>Can games be seen?</source>
        <translation>Können Spiele erkannt werden?</translation>
    </message>
    <message>
        <source>Can others reach this computer?</source>
        <translation>Können andere diesen Computer erreichen?</translation>
    </message>
    <message>
        <source>Can the engine use its port?</source>
        <translation>Kann die Rechenumgebung ihren Port benutzen?</translation>
    </message>
    <message>
        <source>Can the folder be used?</source>
        <translation>Kann der Ordner benutzt werden?</translation>
    </message>
    <message>
        <source>Can this system run PyTorch?</source>
        <translation>Kann PyTorch auf diesem System laufen?</translation>
    </message>
    <message>
        <source>Can&apos;t join {name}: {why}</source>
        <translation>Kann {name} nicht beitreten: {why}</translation>
    </message>
    <message>
        <source>Does the daemon run?</source>
        <translation>Läuft der Dienst?</translation>
    </message>
    <message>
        <source>Does the swarm answer?</source>
        <translation>Antwortet der Schwarm?</translation>
    </message>
    <message>
        <source>Does this Python fit?</source>
        <translation>Passt dieses Python?</translation>
    </message>
    <message>
        <source>GPU use</source>
        <translation>Nutzung der GPU</translation>
    </message>
    <message>
        <source>In Cline&apos;s settings:</source>
        <translation>In den Einstellungen von Cline:</translation>
    </message>
    <message>
        <source>In {file}:</source>
        <translation>In {file}:</translation>
    </message>
    <message>
        <source>Is the clock right?</source>
        <translation>Geht die Uhr richtig?</translation>
    </message>
    <message>
        <source>Is the engine installed?</source>
        <translation>Ist die Rechenumgebung installiert?</translation>
    </message>
    <message>
        <source>Is there enough memory?</source>
        <translation>Ist genug Speicher da?</translation>
    </message>
    <message>
        <source>Is there room on the disk?</source>
        <translation>Ist Platz auf dem Datenträger?</translation>
    </message>
    <message>
        <source>Loading programs</source>
        <translation>Programme werden geladen</translation>
    </message>
    <message>
        <source>Loading the model&apos;s first and last parts</source>
        <translation>Die ersten und letzten Teile des Modells werden geladen</translation>
    </message>
    <message>
        <source>Logins and screen lock</source>
        <translation>Anmeldungen und Bildschirmsperre</translation>
    </message>
    <message>
        <source>Nothing is in the way any more; waiting a moment</source>
        <translation>Nichts steht mehr im Weg; kurz warten</translation>
    </message>
    <message>
        <source>Paused by you until you resume</source>
        <translation>Von dir pausiert, bis du fortsetzt</translation>
    </message>
    <message>
        <source>Potluck has no system service on a Mac</source>
        <translation>Auf einem Mac hat Potluck keinen Systemdienst</translation>
    </message>
    <message>
        <source>Running programs</source>
        <translation>Laufende Programme</translation>
    </message>
    <message>
        <source>This month&apos;s use can&apos;t be read from the ledger, so its caps count as used up</source>
        <translation>Der Verbrauch dieses Monats lässt sich nicht aus dem Kontobuch lesen, daher gelten seine Grenzen als erreicht</translation>
    </message>
    <message>
        <source>Today&apos;s use can&apos;t be read from the ledger, so its caps count as used up</source>
        <translation>Der heutige Verbrauch lässt sich nicht aus dem Kontobuch lesen, daher gelten seine Grenzen als erreicht</translation>
    </message>
    <message>
        <source>Waiting for a member of {name} to let you in</source>
        <translation>Warten, bis ein Mitglied von {name} dich hereinlässt</translation>
    </message>
    <message>
        <source>another program uses port {port}</source>
        <translation>ein anderes Programm nutzt den Port {port}</translation>
    </message>
    <message>
        <source>ask it for the other swarm&apos;s model, or: potluck gateway stop</source>
        <translation>frage es nach dem Modell des anderen Schwarms, oder: potluck gateway stop</translation>
    </message>
    <message>
        <source>ask one of its members for an invite; it begins with `potluck4:`</source>
        <translation>bitte ein Mitglied um eine Einladung; sie beginnt mit `potluck4:`</translation>
    </message>
    <message>
        <source>choose another one: potluck config set gateway.port {other}</source>
        <translation>wähle einen anderen: potluck config set gateway.port {other}</translation>
    </message>
    <message>
        <source>close other programs, or serve fewer layers: serve.num_blocks</source>
        <translation>schließe andere Programme, oder stelle weniger Schichten bereit: serve.num_blocks</translation>
    </message>
    <message>
        <source>converted layers would take more than the {number} MB they may have on disk</source>
        <translation>umgewandelte Schichten würden mehr als die erlaubten {number} MB auf der Platte belegen</translation>
    </message>
    <message>
        <source>copy the tokenizer files too</source>
        <translation>kopiere auch die Dateien des Tokenizers</translation>
    </message>
    <message>
        <source>delete it, and it is downloaded again: potluck models delete {draft}</source>
        <translation>lösche es, dann wird es neu heruntergeladen: potluck models delete {draft}</translation>
    </message>
    <message>
        <source>downloading {what} ({number} of {all})</source>
        <translation>lädt {what} herunter ({number} von {all})</translation>
    </message>
    <message>
        <source>gateway.address {address} cannot be listened on: {why}</source>
        <translation>gateway.address {address} kann nicht geöffnet werden: {why}</translation>
    </message>
    <message>
        <source>install Potluck elsewhere, for example in /opt, see docs/headless.md</source>
        <translation>installiere Potluck anderswo, zum Beispiel in /opt, siehe docs/headless.md</translation>
    </message>
    <message>
        <source>layers {blocks} are served by few</source>
        <translation>die Schichten {blocks} stellen nur wenige bereit</translation>
    </message>
    <message>
        <source>layers {blocks} were served by nobody</source>
        <translation>die Schichten {blocks} stellte niemand bereit</translation>
    </message>
    <message>
        <source>make room, or use another disk: potluck config set serve.models_folder DIR</source>
        <translation>schaffe Platz oder nimm einen anderen Datenträger: potluck config set serve.models_folder DIR</translation>
    </message>
    <message>
        <source>members get a drafting model from the hub, not from a folder</source>
        <translation>Mitglieder laden ein Entwurfsmodell aus dem Hub, nicht aus einem Ordner</translation>
    </message>
    <message>
        <source>memory is short</source>
        <translation>der Speicher ist knapp</translation>
    </message>
    <message>
        <source>name a small model of the same family, or none</source>
        <translation>nenne ein kleines Modell derselben Familie oder none</translation>
    </message>
    <message>
        <source>no GPU reports its use by program</source>
        <translation>keine GPU meldet, welches Programm sie benutzt</translation>
    </message>
    <message>
        <source>no span of this model can start at layer {number}, which uses the tokens that the layer before it chose</source>
        <translation>kein Abschnitt dieses Modells kann bei Block {number} beginnen, denn er nutzt die Token, die der Block davor gewählt hat</translation>
    </message>
    <message>
        <source>nobody can remove the founder</source>
        <translation>niemand kann den Gründer entfernen</translation>
    </message>
    <message>
        <source>only programs of this machine reach the gateway, with a key</source>
        <translation>nur Programme dieses Computers erreichen das Gateway, mit einem Schlüssel</translation>
    </message>
    <message>
        <source>paste only the invite: the line that begins with `potluck4:`</source>
        <translation>füge nur die Einladung ein: die Zeile, die mit `potluck4:` beginnt</translation>
    </message>
    <message>
        <source>paste only the one that you want to use</source>
        <translation>füge nur die ein, die du verwenden willst</translation>
    </message>
    <message>
        <source>port {number} (gateway.port) is taken by {holder}</source>
        <translation>Port {number} (gateway.port) ist belegt von {holder}</translation>
    </message>
    <message>
        <source>put it on the hub, and give its name there</source>
        <translation>lade es in den Hub und nenne seinen Namen dort</translation>
    </message>
    <message>
        <source>save it with `potluck members backup`, then leave the swarm and join again</source>
        <translation>sichere ihn mit `potluck members backup`, verlasse dann den Schwarm und tritt neu bei</translation>
    </message>
    <message>
        <source>serve fewer layers, or the number format of the checkpoint, which needs no converted files</source>
        <translation>stelle weniger Schichten bereit oder das Zahlenformat des Modells, das keine umgewandelten Dateien braucht</translation>
    </message>
    <message>
        <source>several are called {name}</source>
        <translation>mehrere heißen {name}</translation>
    </message>
    <message>
        <source>start at layer {number}</source>
        <translation>beginne bei Block {number}</translation>
    </message>
    <message>
        <source>start at layer {number} or {other}</source>
        <translation>beginne bei Block {number} oder {other}</translation>
    </message>
    <message>
        <source>the checkpoint has no output head</source>
        <translation>dem Checkpoint fehlt die Ausgabeschicht</translation>
    </message>
    <message>
        <source>the checkpoint lacks tensors of layers {blocks}</source>
        <translation>dem Checkpoint fehlen Tensoren der Schichten {blocks}</translation>
    </message>
    <message>
        <source>the files of layer {number} have changed since they were served</source>
        <translation>die Dateien von Block {number} sind nicht mehr die, die bereitgestellt wurden</translation>
    </message>
    <message>
        <source>the files of {draft} are not those that the swarm&apos;s leaders chose</source>
        <translation>die Dateien von {draft} sind nicht die, die der Gründer oder ein Admin gewählt hat</translation>
    </message>
    <message>
        <source>the gateway stays for the swarm {name}</source>
        <translation>das Gateway bleibt für den Schwarm {name}</translation>
    </message>
    <message>
        <source>the invite has expired</source>
        <translation>die Einladung ist abgelaufen</translation>
    </message>
    <message>
        <source>the invite is damaged</source>
        <translation>die Einladung ist beschädigt</translation>
    </message>
    <message>
        <source>the invite is incomplete</source>
        <translation>die Einladung ist unvollständig</translation>
    </message>
    <message>
        <source>the invite is incomplete or has a wrong letter in it</source>
        <translation>die Einladung ist unvollständig oder hat einen falschen Buchstaben</translation>
    </message>
    <message>
        <source>the invite was ended, or it was not made by somebody who may invite</source>
        <translation>die Einladung wurde beendet, oder sie stammt von jemandem, der nicht einladen darf</translation>
    </message>
    <message>
        <source>the ledger is not open yet</source>
        <translation>das Kontobuch ist noch nicht geöffnet</translation>
    </message>
    <message>
        <source>the ledger {path} cannot be used: {why}</source>
        <translation>das Kontobuch {path} ist unbrauchbar: {why}</translation>
    </message>
    <message>
        <source>the ledger {path} was made by another version</source>
        <translation>das Kontobuch {path} stammt von einer anderen Version</translation>
    </message>
    <message>
        <source>the list of processes cannot be read ({why})</source>
        <translation>die Liste der Prozesse ist nicht lesbar ({why})</translation>
    </message>
    <message>
        <source>the memory</source>
        <translation>der Arbeitsspeicher</translation>
    </message>
    <message>
        <source>the model&apos;s output head is no plain matrix</source>
        <translation>die Ausgabeschicht des Modells ist keine einfache Matrix</translation>
    </message>
    <message>
        <source>the node is closed</source>
        <translation>der Knoten ist geschlossen</translation>
    </message>
    <message>
        <source>the package index does not have {what}</source>
        <translation>der Paketindex enthält nicht: {what}</translation>
    </message>
    <message>
        <source>the password needs at least {number} letters</source>
        <translation>das Passwort braucht mindestens {number} Zeichen</translation>
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
        <source>the peer-to-peer library is not installed</source>
        <translation>die Netzbibliothek ist nicht installiert</translation>
    </message>
    <message>
        <source>the peer-to-peer process closed the connection</source>
        <translation>der Netzprozess hat die Verbindung geschlossen</translation>
    </message>
    <message>
        <source>the peer-to-peer process did not start within {number} s</source>
        <translation>der Peer-to-Peer-Prozess ist nicht innerhalb von {number} s gestartet</translation>
    </message>
    <message>
        <source>the peer-to-peer process does not start: {why}</source>
        <translation>der Netzprozess startet nicht: {why}</translation>
    </message>
    <message>
        <source>the peer-to-peer process ended unexpectedly</source>
        <translation>der Netzprozess ist unerwartet beendet worden</translation>
    </message>
    <message>
        <source>the peer-to-peer process is gone</source>
        <translation>der Netzprozess läuft nicht mehr</translation>
    </message>
    <message>
        <source>the processor</source>
        <translation>Prozessor</translation>
    </message>
    <message>
        <source>the programs that run cannot be listed here</source>
        <translation>laufende Programme lassen sich hier nicht auflisten</translation>
    </message>
    <message>
        <source>the proxy does not reach {host}</source>
        <translation>der Proxy erreicht {host} nicht</translation>
    </message>
    <message>
        <source>the publisher did not answer within {time} s</source>
        <translation>der Herausgeber hat nicht innerhalb von {time} s geantwortet</translation>
    </message>
    <message>
        <source>the quantised matrix {what} {why}</source>
        <translation>die quantisierte Matrix {what} ist unbrauchbar: {why}</translation>
    </message>
    <message>
        <source>the receipt of {name}: {why}</source>
        <translation>der Beleg von {name}: {why}</translation>
    </message>
    <message>
        <source>the rest of what it joined for</source>
        <translation>der Rest von dem, wofür er beitrat</translation>
    </message>
    <message>
        <source>the screen is locked</source>
        <translation>der Bildschirm ist gesperrt</translation>
    </message>
    <message>
        <source>the set-up ended: {why}</source>
        <translation>die Einrichtung endete: {why}</translation>
    </message>
    <message>
        <source>the settings before this mistake stay in force</source>
        <translation>die Einstellungen vor diesem Fehler gelten weiter</translation>
    </message>
    <message>
        <source>the swarm cannot be found by others yet</source>
        <translation>andere können den Schwarm noch nicht finden</translation>
    </message>
    <message>
        <source>the swarm does not admit this computer: {why}</source>
        <translation>der Schwarm lässt diesen Computer nicht zu: {why}</translation>
    </message>
    <message>
        <source>the swarm {name} cannot be found</source>
        <translation>der Schwarm {name} ist nicht zu finden</translation>
    </message>
    <message>
        <source>the swarm {name} runs {model}</source>
        <translation>im Schwarm {name} läuft {model}</translation>
    </message>
    <message>
        <source>the swarm&apos;s directory did not answer in time</source>
        <translation>das Verzeichnis des Schwarms hat nicht rechtzeitig geantwortet</translation>
    </message>
    <message>
        <source>the swarm&apos;s model is being changed already</source>
        <translation>das Modell des Schwarms wird schon gewechselt</translation>
    </message>
    <message>
        <source>the system service can&apos;t see {path}: its sandbox hides home and temporary folders</source>
        <translation>der Systemdienst kann {path} nicht sehen: seine Sandbox verbirgt Home-Verzeichnisse und temporäre Ordner</translation>
    </message>
    <message>
        <source>the tray app is not installed beside this program</source>
        <translation>die App ist neben diesem Programm nicht installiert</translation>
    </message>
    <message>
        <source>the update cannot be stored: {why}</source>
        <translation>die Aktualisierung lässt sich nicht speichern: {why}</translation>
    </message>
    <message>
        <source>the update cannot be unpacked: {why}</source>
        <translation>das Update lässt sich nicht entpacken: {why}</translation>
    </message>
    <message>
        <source>the update does not run here</source>
        <translation>das Update läuft hier nicht</translation>
    </message>
    <message>
        <source>the update is not signed by the publisher you trust; nothing was changed</source>
        <translation>die Aktualisierung ist nicht von dem Herausgeber signiert, dem du vertraust; nichts wurde geändert</translation>
    </message>
    <message>
        <source>the update says it is {version}, not {other}</source>
        <translation>das Update nennt sich {version}, nicht {other}</translation>
    </message>
    <message>
        <source>the update&apos;s description has expired: the publisher is gone, or somebody hides newer ones</source>
        <translation>die Beschreibung der Aktualisierung ist abgelaufen: den Herausgeber gibt es nicht mehr, oder jemand hält neuere zurück</translation>
    </message>
    <message>
        <source>the update&apos;s description is from the future</source>
        <translation>die Beschreibung der Aktualisierung ist aus der Zukunft</translation>
    </message>
    <message>
        <source>the update&apos;s description is too large</source>
        <translation>die Beschreibung des Updates ist zu groß</translation>
    </message>
    <message>
        <source>the update&apos;s description makes no sense: {why}</source>
        <translation>die Beschreibung des Updates ergibt keinen Sinn: {why}</translation>
    </message>
    <message>
        <source>the {what} bus went away</source>
        <translation>der {what}-Bus ist weg</translation>
    </message>
    <message>
        <source>there are {number} different invites in this text: {names}</source>
        <translation>in diesem Text sind {number} verschiedene Einladungen: {names}</translation>
    </message>
    <message>
        <source>there are {number} keys already</source>
        <translation>es gibt schon {number} Schlüssel</translation>
    </message>
    <message>
        <source>there are {what}</source>
        <translation>es gibt {what}</translation>
    </message>
    <message>
        <source>there are: {what}</source>
        <translation>es gibt: {what}</translation>
    </message>
    <message>
        <source>there is a GPU, but its driver does not answer: {why}</source>
        <translation>eine Grafikkarte ist da, aber ihr Treiber antwortet nicht: {why}</translation>
    </message>
    <message>
        <source>there is a file {path} already</source>
        <translation>eine Datei {path} gibt es schon</translation>
    </message>
    <message>
        <source>there is a key {name} already</source>
        <translation>den Schlüssel {name} gibt es schon</translation>
    </message>
    <message>
        <source>there is a swarm named {name} already</source>
        <translation>einen Schwarm namens {name} gibt es schon</translation>
    </message>
    <message>
        <source>there is no earlier environment to go back to</source>
        <translation>es gibt keine frühere Umgebung, zu der es zurückginge</translation>
    </message>
    <message>
        <source>there is no earlier version to go back to</source>
        <translation>es gibt keine frühere Version</translation>
    </message>
    <message>
        <source>there is no folder {path}</source>
        <translation>den Ordner {path} gibt es nicht</translation>
    </message>
    <message>
        <source>there is no invite in this text</source>
        <translation>in diesem Text ist keine Einladung</translation>
    </message>
    <message>
        <source>there is no invite {what}</source>
        <translation>die Einladung {what} gibt es nicht</translation>
    </message>
    <message>
        <source>there is no key {name}</source>
        <translation>den Schlüssel {name} gibt es nicht</translation>
    </message>
    <message>
        <source>there is no model {name} on the hub, or you may not see it</source>
        <translation>im Hub gibt es kein Modell {name}, oder du darfst es nicht sehen</translation>
    </message>
    <message>
        <source>there is no setting {name}</source>
        <translation>die Einstellung {name} gibt es nicht</translation>
    </message>
    <message>
        <source>there is no variant {what}</source>
        <translation>die Variante {what} gibt es nicht</translation>
    </message>
    <message>
        <source>this backup was made by a newer version</source>
        <translation>diese Sicherung stammt von einer neueren Version</translation>
    </message>
    <message>
        <source>this cannot be decided: {why}</source>
        <translation>das lässt sich nicht entscheiden: {why}</translation>
    </message>
    <message>
        <source>this checkpoint is stored quantised ({format}) in the layout {what}, which is not supported</source>
        <translation>dieses Modell ist quantisiert gespeichert ({format}), in der Anordnung {what}, die nicht unterstützt wird</translation>
    </message>
    <message>
        <source>this checkpoint is stored quantised ({format}), and the package that reads it is not installed</source>
        <translation>dieses Modell liegt quantisiert vor ({format}), und das Paket, das es liest, fehlt</translation>
    </message>
    <message>
        <source>this checkpoint is stored quantised ({format}), {why}</source>
        <translation>dieses Modell liegt quantisiert vor ({format}), {why}</translation>
    </message>
    <message>
        <source>this computer cannot add others to your name</source>
        <translation>dieser Computer kann keine anderen in deinem Namen hinzufügen</translation>
    </message>
    <message>
        <source>this computer is already in the swarm {name}</source>
        <translation>dieser Computer ist schon im Schwarm {name}</translation>
    </message>
    <message>
        <source>this computer was removed from {name}, but holds your key there</source>
        <translation>dieser Computer wurde aus {name} entfernt, hat aber deinen Schlüssel dort</translation>
    </message>
    <message>
        <source>this daemon is the machine&apos;s own service, which only root can change</source>
        <translation>dieser Dienst gehört dem System, nur root kann ihn ändern</translation>
    </message>
    <message>
        <source>this desktop shows no windows: games of its menu are noticed when they are busy</source>
        <translation>Diese Arbeitsumgebung zeigt keine Fenster: Spiele aus ihrem Menü werden bemerkt, wenn sie rechnen</translation>
    </message>
    <message>
        <source>this desktop tells no program about its windows</source>
        <translation>diese Arbeitsumgebung zeigt keinem Programm ihre Fenster</translation>
    </message>
    <message>
        <source>this installation is updated by the tool that installed it</source>
        <translation>diese Installation aktualisiert das Werkzeug, das sie installiert hat</translation>
    </message>
    <message>
        <source>this installation lacks {name}</source>
        <translation>dieser Installation fehlt {name}</translation>
    </message>
    <message>
        <source>this invite has expired</source>
        <translation>diese Einladung ist abgelaufen</translation>
    </message>
    <message>
        <source>this invite was made by a newer version</source>
        <translation>diese Einladung stammt von einer neueren Version</translation>
    </message>
    <message>
        <source>this invite was made by an older version</source>
        <translation>diese Einladung stammt aus einer älteren Version</translation>
    </message>
    <message>
        <source>this is a Wayland session</source>
        <translation>dies ist eine Wayland-Sitzung</translation>
    </message>
    <message>
        <source>this is not a backup of Potluck, or it is damaged</source>
        <translation>das ist keine Sicherung von Potluck, oder sie ist beschädigt</translation>
    </message>
    <message>
        <source>this is not an invite</source>
        <translation>das ist keine Einladung</translation>
    </message>
    <message>
        <source>this is not the link of a swarm</source>
        <translation>das ist kein Link zu einem Schwarm</translation>
    </message>
    <message>
        <source>this is not the recovery code of {name}</source>
        <translation>das ist nicht der Wiederherstellungscode von {name}</translation>
    </message>
    <message>
        <source>this is the computer that you are using</source>
        <translation>das ist der Computer, den du gerade benutzt</translation>
    </message>
    <message>
        <source>this is the link of the swarm {name}, which lets nobody in</source>
        <translation>das ist der Link des Schwarms {name}, der niemanden hereinlässt</translation>
    </message>
    <message>
        <source>this is you</source>
        <translation>das bist du selbst</translation>
    </message>
    <message>
        <source>this machine has a public address; a firewall may still be in the way, no member has tried yet</source>
        <translation>dieser Computer hat eine öffentliche Adresse; eine Firewall kann im Weg sein, noch kein Mitglied hat es versucht</translation>
    </message>
    <message>
        <source>this machine has no network</source>
        <translation>dieser Computer hat kein Netz</translation>
    </message>
    <message>
        <source>this machine has no {program}</source>
        <translation>auf diesem Computer fehlt {program}</translation>
    </message>
    <message>
        <source>this machine&apos;s clock differs from the swarm&apos;s by more than 3 s</source>
        <translation>die Uhr dieses Computers weicht mehr als 3 s von der des Schwarms ab</translation>
    </message>
    <message>
        <source>this model cannot be split: {why} ({what})</source>
        <translation>dieses Modell lässt sich nicht aufteilen: {why} ({what})</translation>
    </message>
    <message>
        <source>this network</source>
        <translation>dieses Netz</translation>
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
        <source>this password does not open the backup</source>
        <translation>dieses Passwort öffnet die Sicherung nicht</translation>
    </message>
    <message>
        <source>this text is too long to look for an invite in it</source>
        <translation>dieser Text ist zu lang, um darin eine Einladung zu suchen</translation>
    </message>
    <message>
        <source>this works, but more slowly; for direct connections forward {port} in the router</source>
        <translation>das geht, aber langsamer; für direkte Verbindungen leite im Router weiter: {port}</translation>
    </message>
    <message>
        <source>timedatectl set-ntp true, and compare with another clock now</source>
        <translation>timedatectl set-ntp true, und vergleiche jetzt mit einer anderen Uhr</translation>
    </message>
    <message>
        <source>to see more, in a terminal: potluck update --check</source>
        <translation>mehr zeigt im Terminal: potluck update --check</translation>
    </message>
    <message>
        <source>to stop serving: potluck pause until I resume</source>
        <translation>um nicht mehr bereitzustellen: potluck pause until I resume</translation>
    </message>
    <message>
        <source>too many people joined from your part of the network today; try again tomorrow</source>
        <translation>aus deinem Teil des Netzes sind heute zu viele Leute beigetreten; versuche es morgen wieder</translation>
    </message>
    <message>
        <source>torch is built for the GNU C library, which this system does not use</source>
        <translation>PyTorch braucht die GNU-C-Bibliothek, die dieses System nicht verwendet</translation>
    </message>
    <message>
        <source>torch is not built for Macs with Intel processors any more</source>
        <translation>für Macs mit Intel-Prozessor gibt es PyTorch nicht mehr</translation>
    </message>
    <message>
        <source>try a newer transformers</source>
        <translation>versuche es mit einem neueren transformers</translation>
    </message>
    <message>
        <source>try again</source>
        <translation>versuche es noch einmal</translation>
    </message>
    <message>
        <source>try again later</source>
        <translation>versuche es später noch einmal</translation>
    </message>
    <message>
        <source>try again later to use the GPU: potluck setup --variant {what}</source>
        <translation>Versuche es später noch einmal, um die Grafikkarte zu nutzen: potluck setup --variant {what}</translation>
    </message>
    <message>
        <source>try again later; check the network and the setting updates.url</source>
        <translation>versuche es später noch einmal; prüfe das Netz und die Einstellung updates.url</translation>
    </message>
    <message>
        <source>try again once this machine serves</source>
        <translation>versuche es wieder, wenn dieser Computer Blöcke bereitstellt</translation>
    </message>
    <message>
        <source>try again when a leader&apos;s computer has been online</source>
        <translation>versuche es wieder, wenn ein Computer des Gründers oder eines Admins online war</translation>
    </message>
    <message>
        <source>try again when another member is online</source>
        <translation>versuche es wieder, wenn ein anderes Mitglied online ist</translation>
    </message>
    <message>
        <source>try again: it continues where it stopped</source>
        <translation>versuche es noch einmal: Es geht dort weiter, wo es aufgehört hat</translation>
    </message>
    <message>
        <source>try another mirror</source>
        <translation>versuche einen anderen Spiegelserver</translation>
    </message>
    <message>
        <source>try another revision</source>
        <translation>versuche es mit einer anderen Revision</translation>
    </message>
    <message>
        <source>try other words</source>
        <translation>suche mit anderen Wörtern</translation>
    </message>
    <message>
        <source>type a name instead</source>
        <translation>gib stattdessen einen Namen ein</translation>
    </message>
    <message>
        <source>unpacking</source>
        <translation>wird ausgepackt</translation>
    </message>
    <message>
        <source>update Potluck, then try again</source>
        <translation>aktualisiere Potluck und versuche es noch einmal</translation>
    </message>
    <message>
        <source>update again</source>
        <translation>aktualisiere noch einmal</translation>
    </message>
    <message>
        <source>update it to macOS {version} or newer</source>
        <translation>aktualisiere auf macOS {version} oder neuer</translation>
    </message>
    <message>
        <source>updates are not fetched from {host}</source>
        <translation>von {host} werden keine Updates geholt</translation>
    </message>
    <message>
        <source>updates.key is no Ed25519 key in base64</source>
        <translation>updates.key ist kein Ed25519-Schlüssel in base64</translation>
    </message>
    <message>
        <source>use Python 3.11, 3.12 or 3.13</source>
        <translation>verwende Python 3.11, 3.12 oder 3.13</translation>
    </message>
    <message>
        <source>use a distribution with glibc, or the container image</source>
        <translation>nimm eine Distribution mit glibc oder das Container-Image</translation>
    </message>
    <message>
        <source>use letters, digits, dots, dashes, underscores</source>
        <translation>nimm Buchstaben, Ziffern, Punkte, Binde- und Unterstriche</translation>
    </message>
    <message>
        <source>use one of their ids: {what}</source>
        <translation>nimm eine ihrer Kennungen: {what}</translation>
    </message>
    <message>
        <source>use this Mac to chat and to look; let another machine serve</source>
        <translation>nutze diesen Mac zum Chatten und Nachsehen; lass einen anderen Computer rechnen</translation>
    </message>
    <message>
        <source>use up to 40 letters, digits, dashes and underscores, such as home-llama</source>
        <translation>nimm bis zu 40 Buchstaben, Ziffern, Binde- und Unterstriche, etwa home-llama</translation>
    </message>
    <message>
        <source>uv, which fetches the engine&apos;s packages, is missing</source>
        <translation>uv, das die Pakete der Rechenumgebung holt, fehlt</translation>
    </message>
    <message>
        <source>variant {what} is not to be had here; this one computes on the processor too, and takes more room</source>
        <translation>Die Pakete der Variante {what} sind hier nicht zu bekommen; diese rechnet ebenfalls auf dem Prozessor und braucht mehr Platz</translation>
    </message>
    <message>
        <source>version {offered} is offered, but {number} was earlier: somebody shows an old description</source>
        <translation>Version {offered} wird angeboten, früher aber {number}: Jemand zeigt eine alte Beschreibung</translation>
    </message>
    <message>
        <source>version {version} comes without a file for this installation</source>
        <translation>Version {version} bringt keine Datei für diese Installation mit</translation>
    </message>
    <message>
        <source>version {version} is not complete</source>
        <translation>Version {version} ist unvollständig</translation>
    </message>
    <message>
        <source>version {version} runs</source>
        <translation>Version {version} läuft</translation>
    </message>
    <message>
        <source>wait for its end</source>
        <translation>warte auf ihr Ende</translation>
    </message>
    <message>
        <source>wait for its end: potluck status</source>
        <translation>warte, bis es endet: potluck status</translation>
    </message>
    <message>
        <source>wait until that is done</source>
        <translation>warte, bis das fertig ist</translation>
    </message>
    <message>
        <source>wait until that is done, or cancel it</source>
        <translation>warte, bis das fertig ist, oder brich es ab</translation>
    </message>
    <message>
        <source>wait until that is done, or end it</source>
        <translation>warte, bis das fertig ist, oder beende es</translation>
    </message>
    <message>
        <source>waiting for open sessions to end</source>
        <translation>wartet auf das Ende offener Sitzungen</translation>
    </message>
    <message>
        <source>waiting for your other computer to let this one in</source>
        <translation>wartet darauf, dass dein anderer Computer diesen einlässt</translation>
    </message>
    <message>
        <source>what is booked of {name} is not what its receipt says</source>
        <translation>was von {name} gebucht ist, entspricht nicht seinem Beleg</translation>
    </message>
    <message>
        <source>when Potluck is started again</source>
        <translation>wenn Potluck wieder gestartet wird</translation>
    </message>
    <message>
        <source>when it draws less power</source>
        <translation>wenn weniger Leistung gebraucht wird</translation>
    </message>
    <message>
        <source>when it has cooled down</source>
        <translation>wenn es sich abgekühlt hat</translation>
    </message>
    <message>
        <source>when some are deleted, or when limits.disk_mb is larger</source>
        <translation>wenn welche gelöscht sind oder die Grenze höher ist</translation>
    </message>
    <message>
        <source>when the computer is plugged in</source>
        <translation>wenn der Computer am Strom ist</translation>
    </message>
    <message>
        <source>when the computer wakes up</source>
        <translation>wenn der Computer aufwacht</translation>
    </message>
    <message>
        <source>when the game ends, or when you resume</source>
        <translation>wenn das Spiel endet oder du fortsetzt</translation>
    </message>
    <message>
        <source>when the network is not metered</source>
        <translation>wenn das Netz nicht getaktet ist</translation>
    </message>
    <message>
        <source>when the next month begins</source>
        <translation>wenn der nächste Monat beginnt</translation>
    </message>
    <message>
        <source>when the right file is back</source>
        <translation>wenn die richtige Datei wieder da ist</translation>
    </message>
    <message>
        <source>when the time is over, or when you resume</source>
        <translation>wenn die Zeit um ist oder du fortsetzt</translation>
    </message>
    <message>
        <source>when there is room, or when limits.disk_free_mb is smaller</source>
        <translation>wenn Platz da ist oder weniger frei bleiben muss</translation>
    </message>
    <message>
        <source>when you enter another invite</source>
        <translation>wenn du eine andere Einladung eingibst</translation>
    </message>
    <message>
        <source>when you join or create a swarm</source>
        <translation>wenn du einem Schwarm beitrittst oder einen gründest</translation>
    </message>
    <message>
        <source>when you resume</source>
        <translation>wenn du fortsetzt</translation>
    </message>
    <message>
        <source>when you set it up: in the app, or with `potluck setup`</source>
        <translation>wenn du sie einrichtest: in der App oder mit `potluck setup`</translation>
    </message>
    <message>
        <source>when you switch when.only_when_idle off</source>
        <translation>wenn du when.only_when_idle ausschaltest</translation>
    </message>
    <message>
        <source>when your next serving hours begin</source>
        <translation>wenn deine nächsten Spendezeiten beginnen</translation>
    </message>
    <message>
        <source>which is not supported</source>
        <translation>was nicht unterstützt wird</translation>
    </message>
    <message>
        <source>which needs {what}</source>
        <translation>wofür {what} nötig ist</translation>
    </message>
    <message>
        <source>whoever has a key also reaches the gateway by {ways}</source>
        <translation>wer einen Schlüssel hat, erreicht das Gateway auch über {ways}</translation>
    </message>
    <message>
        <source>windows can be seen</source>
        <translation>Fenster sind zu sehen</translation>
    </message>
    <message>
        <source>with the next try, or when you resume</source>
        <translation>beim nächsten Versuch, oder wenn du fortsetzt</translation>
    </message>
    <message>
        <source>you already have a swarm named {name}</source>
        <translation>du hast schon einen Schwarm namens {name}</translation>
    </message>
    <message>
        <source>you are a guest yourself</source>
        <translation>du bist selbst noch nicht bestätigt</translation>
    </message>
    <message>
        <source>you are in too many swarms for one backup</source>
        <translation>du bist in zu vielen Schwärmen für eine Sicherung</translation>
    </message>
    <message>
        <source>you decided as much as one appointment allows</source>
        <translation>du hast so viel entschieden, wie eine Ernennung erlaubt</translation>
    </message>
    <message>
        <source>you did not join a swarm named {name}</source>
        <translation>du bist keinem Schwarm namens {name} beigetreten</translation>
    </message>
    <message>
        <source>you founded {name}: if you leave, nobody can appoint admins, invite or confirm people, or remove them</source>
        <translation>du hast {name} gegründet: Wenn du gehst, kann niemand mehr Admins ernennen, Leute einladen, bestätigen oder entfernen</translation>
    </message>
    <message>
        <source>you have {number} computers in this swarm, which is all that one person may</source>
        <translation>du hast {number} Computer in diesem Schwarm, mehr darf eine Person nicht haben</translation>
    </message>
    <message>
        <source>you joined no swarm yet</source>
        <translation>du bist noch keinem Schwarm beigetreten</translation>
    </message>
    <message>
        <source>you joined several swarms</source>
        <translation>du bist mehreren Schwärmen beigetreten</translation>
    </message>
    <message>
        <source>your key is on another computer</source>
        <translation>dein Schlüssel ist auf einem anderen Computer</translation>
    </message>
    <message>
        <source>your open invites would let in more people than you may invite</source>
        <translation>mit deinen offenen Einladungen kämen mehr Leute herein, als du einladen darfst</translation>
    </message>
    <message>
        <source>{addr} names a peer in an unknown way</source>
        <translation>{addr} nennt einen Peer auf unbekannte Weise</translation>
    </message>
    <message>
        <source>{advice}, or choose a model on this computer</source>
        <translation>{advice} oder wähle ein Modell auf diesem Computer</translation>
    </message>
    <message>
        <source>{advice}, or give a local folder</source>
        <translation>{advice} oder gib einen Ordner auf diesem Computer an</translation>
    </message>
    <message>
        <source>{advice}, then try again: it continues where it stopped</source>
        <translation>{advice} und versuche es noch einmal: Es geht dort weiter, wo es aufgehört hat</translation>
    </message>
    <message>
        <source>{advice}; if others can use this swarm, your invite is out of date</source>
        <translation>{advice}; wenn andere diesen Schwarm nutzen können, ist deine Einladung veraltet</translation>
    </message>
    <message>
        <source>{architecture}, C library {version}</source>
        <translation>{architecture}, C-Bibliothek {version}</translation>
    </message>
    <message>
        <source>{draft} cannot draft for {model}: its tokenizer differs</source>
        <translation>{draft} kann für {model} nichts entwerfen: sein Tokenizer ist ein anderer</translation>
    </message>
    <message>
        <source>{draft} is too large to draft: {size}</source>
        <translation>{draft} ist als Entwurfsmodell zu groß: {size}</translation>
    </message>
    <message>
        <source>{family} cannot be computed: models of this family are not supported</source>
        <translation>{family} kann nicht berechnet werden: Modelle dieser Familie werden nicht unterstützt</translation>
    </message>
    <message>
        <source>{file} arrived damaged</source>
        <translation>{file} kam beschädigt an</translation>
    </message>
    <message>
        <source>{file} breaks off in the middle of a line</source>
        <translation>{file} bricht mitten in einer Zeile ab</translation>
    </message>
    <message>
        <source>{file} cannot be fetched from {host}: {why}</source>
        <translation>{file} lässt sich nicht von {host} holen: {why}</translation>
    </message>
    <message>
        <source>{file} changed on disk</source>
        <translation>{file} hat sich auf der Platte geändert</translation>
    </message>
    <message>
        <source>{file} changed on disk. You still serve what was loaded from it.</source>
        <translation>{file} hat sich auf der Festplatte geändert. Du stellst weiter bereit, was daraus geladen wurde.</translation>
    </message>
    <message>
        <source>{file} changes no layer, or changes one twice</source>
        <translation>{file} ändert keine Schicht oder eine zweimal</translation>
    </message>
    <message>
        <source>{file} contains {what}, which does not belong to a layer of a block</source>
        <translation>{file} enthält {what}, das zu keiner Schicht gehört</translation>
    </message>
    <message>
        <source>{file} contains {what}, which its configuration or the model does not have</source>
        <translation>{file} enthält {what}, das in der Konfiguration oder im Modell fehlt</translation>
    </message>
    <message>
        <source>{file} does not contain two matrices of rank {number} for {what}</source>
        <translation>{file} enthält keine zwei Matrizen vom Rang {number} für {what}</translation>
    </message>
    <message>
        <source>{file} has lost its last lines; back to the default: {keys}</source>
        <translation>{file} hat die letzten Zeilen verloren; wieder auf dem Standard: {keys}</translation>
    </message>
    <message>
        <source>{file} has no model_type</source>
        <translation>in {file} fehlt „model_type“</translation>
    </message>
    <message>
        <source>{file} is damaged: it does not map tensors to safetensors files beside it</source>
        <translation>{file} ist beschädigt: es nennt nicht, in welchen Safetensors-Dateien die Tensoren liegen</translation>
    </message>
    <message>
        <source>{file} is damaged: it is not a JSON object</source>
        <translation>{file} ist beschädigt: kein JSON-Objekt</translation>
    </message>
    <message>
        <source>{file} is damaged: {why}</source>
        <translation>{file} ist beschädigt: {why}</translation>
    </message>
    <message>
        <source>{file} is empty or missing; `version = {number}` in it would mean the defaults</source>
        <translation>{file} ist leer oder fehlt; `version = {number}` darin hieße die Vorgaben</translation>
    </message>
    <message>
        <source>{file} is missing from the checkpoint</source>
        <translation>{file} fehlt im Modell</translation>
    </message>
    <message>
        <source>{file} is missing from {folder}</source>
        <translation>{file} fehlt in {folder}</translation>
    </message>
    <message>
        <source>{file} is not a valid configuration: {why}</source>
        <translation>{file} ist keine gültige Konfiguration: {why}</translation>
    </message>
    <message>
        <source>{file} is not the file that this version was made with</source>
        <translation>{file} ist nicht die Datei, mit der diese Version gemacht wurde</translation>
    </message>
    <message>
        <source>{file} is not valid TOML: {why}</source>
        <translation>{file} ist kein gültiges TOML: {why}</translation>
    </message>
    <message>
        <source>{file} lacks a tensor that the index lists: {what}</source>
        <translation>in {file} fehlt ein Tensor aus dem Verzeichnis: {what}</translation>
    </message>
    <message>
        <source>{file} was damaged and cannot be repaired</source>
        <translation>{file} ist beschädigt und lässt sich nicht reparieren</translation>
    </message>
    <message>
        <source>{folder} has its weights in GGUF, which is not supported</source>
        <translation>{folder} hat seine Gewichte in GGUF, was nicht unterstützt wird</translation>
    </message>
    <message>
        <source>{folder} has no safetensors weights</source>
        <translation>{folder} enthält keine Gewichte im Format Safetensors</translation>
    </message>
    <message>
        <source>{folder} has only .bin files, which are pickles; servers and clients never open them</source>
        <translation>{folder} enthält nur .bin-Dateien (Pickles); Potluck öffnet solche nie</translation>
    </message>
    <message>
        <source>{folder} is not a checkpoint: it has no config.json</source>
        <translation>{folder} ist kein Modell: config.json fehlt</translation>
    </message>
    <message>
        <source>{folder} is not a local checkpoint of a decoder</source>
        <translation>{folder} ist kein lokaler Checkpoint eines Decoders</translation>
    </message>
    <message>
        <source>{folder} is not an adapter that can be served: it has no {file}</source>
        <translation>{folder} ist kein Adapter, der bereitgestellt werden kann: {file} fehlt</translation>
    </message>
    <message>
        <source>{free} are free, {least} are needed at most</source>
        <translation>{free} sind frei, höchstens {least} sind nötig</translation>
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
        <source>{host} has a certificate that is not trusted</source>
        <translation>dem Zertifikat von {host} wird nicht vertraut</translation>
    </message>
    <message>
        <source>{model} has no usable {file}</source>
        <translation>{model} hat keine brauchbare Datei {file}</translation>
    </message>
    <message>
        <source>{name} cannot name a swarm</source>
        <translation>{name} taugt nicht als Name eines Schwarms</translation>
    </message>
    <message>
        <source>{name} does not answer</source>
        <translation>{name} antwortet nicht</translation>
    </message>
    <message>
        <source>{name} does not name a peer</source>
        <translation>{name} nennt keinen Peer</translation>
    </message>
    <message>
        <source>{name} does not report idle time</source>
        <translation>{name} meldet keine Leerlaufzeit</translation>
    </message>
    <message>
        <source>{name} does not run</source>
        <translation>{name} läuft nicht</translation>
    </message>
    <message>
        <source>{name} has no computer named {what}</source>
        <translation>{name} hat keinen Computer namens {what}</translation>
    </message>
    <message>
        <source>{name} has no file {file} on the hub</source>
        <translation>{name} hat im Hub keine Datei {file}</translation>
    </message>
    <message>
        <source>{name} has no such revision</source>
        <translation>{name} hat keine solche Revision</translation>
    </message>
    <message>
        <source>{name} is a member already</source>
        <translation>{name} ist schon Mitglied</translation>
    </message>
    <message>
        <source>{name} is an open swarm, which has no members</source>
        <translation>{name} ist ein offener Schwarm ohne Mitglieder</translation>
    </message>
    <message>
        <source>{name} is gated: its owner must grant you access</source>
        <translation>{name} ist nicht frei zugänglich: Sein Eigentümer muss dir Zugriff geben</translation>
    </message>
    <message>
        <source>{name} is gone</source>
        <translation>{name} gibt es nicht mehr</translation>
    </message>
    <message>
        <source>{name} is ignored: {why}</source>
        <translation>{name} wird nicht beachtet: {why}</translation>
    </message>
    <message>
        <source>{name} is neither a folder nor a hub name</source>
        <translation>{name} ist weder ein Ordner noch ein Name im Hub</translation>
    </message>
    <message>
        <source>{name} is no name for a key</source>
        <translation>{name} taugt nicht als Name eines Schlüssels</translation>
    </message>
    <message>
        <source>{name} is not among the downloaded models</source>
        <translation>{name} ist keines der heruntergeladenen Modelle</translation>
    </message>
    <message>
        <source>{name} is not confirmed yet</source>
        <translation>{name} ist noch nicht bestätigt</translation>
    </message>
    <message>
        <source>{name} is open to everybody, so it has no members</source>
        <translation>{name} steht allen offen und hat keine Mitglieder</translation>
    </message>
    <message>
        <source>{name} names certificates that are not there</source>
        <translation>{name} nennt Zertifikate, die es nicht gibt</translation>
    </message>
    <message>
        <source>{name} relies on this machine to be found</source>
        <translation>{name} ist nur über diesen Computer zu finden</translation>
    </message>
    <message>
        <source>{name} removed this computer from the swarm {what}</source>
        <translation>{name} hat diesen Computer aus dem Schwarm {what} entfernt</translation>
    </message>
    <message>
        <source>{name} was damaged and could not be repaired; the damaged file is {path}</source>
        <translation>{name} war beschädigt und ließ sich nicht reparieren; die beschädigte Datei ist {path}</translation>
    </message>
    <message>
        <source>{name} was damaged and has been repaired; the damaged file is {path}</source>
        <translation>{name} war beschädigt und ist repariert; die beschädigte Datei ist {path}</translation>
    </message>
    <message>
        <source>{number} W a busy core</source>
        <translation>{number} W je beschäftigtem Kern</translation>
    </message>
    <message>
        <source>{number} of {all} addresses of {name} answer</source>
        <translation>{number} von {all} Adressen antworten: {name}</translation>
    </message>
    <message>
        <source>{number} of {all} members that tried reached this machine directly</source>
        <translation>{number} von {all} Mitgliedern haben diesen Computer direkt erreicht</translation>
    </message>
    <message>
        <source>{number} of {all} members that tried reached this machine directly: it serves through a relay</source>
        <translation>{number} von {all} Mitgliedern, die es versuchten, erreichten diesen Computer direkt: er arbeitet über ein Relay</translation>
    </message>
    <message>
        <source>{path} belongs to somebody else</source>
        <translation>{path} gehört jemand anderem</translation>
    </message>
    <message>
        <source>{path} belongs to user {number}, who is not known here</source>
        <translation>{path} gehört dem hier unbekannten Benutzer {number}</translation>
    </message>
    <message>
        <source>{path} cannot be read: {why}</source>
        <translation>{path} lässt sich nicht lesen: {why}</translation>
    </message>
    <message>
        <source>{path} cannot be written</source>
        <translation>in {path} kann nicht geschrieben werden</translation>
    </message>
    <message>
        <source>{path} has no model</source>
        <translation>in {path} liegt kein Modell</translation>
    </message>
    <message>
        <source>{path} is on a file system that does not run programs</source>
        <translation>{path} liegt auf einem Dateisystem, das keine Programme ausführt</translation>
    </message>
    <message>
        <source>{path} is too long a path for sockets</source>
        <translation>{path} ist als Pfad für Sockets zu lang</translation>
    </message>
    <message>
        <source>{path} is {what}, and root does not follow it</source>
        <translation>{path} ist {what}, und root folgt dem nicht</translation>
    </message>
    <message>
        <source>{path}, where the engine was to be installed, does not exist</source>
        <translation>{path}, wo die Engine installiert werden sollte, gibt es nicht</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}</source>
        <translation>{place}: eine Einstellung {key} gibt es nicht</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}; did you mean {other}?</source>
        <translation>{place}: eine Einstellung {key} gibt es nicht; ist {other} gemeint?</translation>
    </message>
    <message>
        <source>{place}: {key} is gone; {advice}</source>
        <translation>{place}: {key} gibt es nicht mehr; {advice}</translation>
    </message>
    <message>
        <source>{place}: {key}: {why}</source>
        <translation>{place}: {key}: {why}</translation>
    </message>
    <message>
        <source>{program} (process {pid})</source>
        <translation>{program} (Prozess {pid})</translation>
    </message>
    <message>
        <source>{section}.address {name} can be reached from other machines, so nothing listens there (set {section}.allow_remote if that is what you want)</source>
        <translation>{section}.address {name} ist von anderen Computern aus erreichbar, deshalb antwortet dort nichts (setze {section}.allow_remote, wenn du das willst)</translation>
    </message>
    <message>
        <source>{section}.address {name} is not an IP address (127.0.0.1 is this machine only)</source>
        <translation>{section}.address {name} ist keine IP-Adresse (127.0.0.1 ist nur dieser Computer)</translation>
    </message>
    <message>
        <source>{served} (loading {target})</source>
        <translation>{served} (lädt {target})</translation>
    </message>
    <message>
        <source>{served} (moving to {target})</source>
        <translation>{served} (dann {target})</translation>
    </message>
    <message>
        <source>{text}</source>
        <translation>{text}</translation>
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
        <source>{time} s after {who} is done</source>
        <translation>{time} s nachdem {who} fertig ist</translation>
    </message>
    <message>
        <source>{what} ({advice})</source>
        <translation>{what} ({advice})</translation>
    </message>
    <message>
        <source>{what} ({why})</source>
        <translation>{what} ({why})</translation>
    </message>
    <message>
        <source>{what} has the shape {number} in the checkpoint, but the configuration says {other}</source>
        <translation>{what} hat im Modell die Form {number}, laut Konfiguration aber {other}</translation>
    </message>
    <message>
        <source>{what} is neither an invite nor a swarm you joined</source>
        <translation>{what} ist weder eine Einladung noch ein Schwarm, dem du beigetreten bist</translation>
    </message>
    <message>
        <source>{what} is not a multiaddr</source>
        <translation>{what} ist keine Multiadresse</translation>
    </message>
    <message>
        <source>{what} is not installed beside this Python</source>
        <translation>{what} ist neben diesem Python nicht installiert</translation>
    </message>
    <message>
        <source>{what} is stored as {format}, which this version of torch does not know</source>
        <translation>{what} liegt als {format} vor, das diese Version von torch nicht kennt</translation>
    </message>
    <message>
        <source>{what}, so this address is for now</source>
        <translation>{what}, diese Adresse gilt also nur für jetzt</translation>
    </message>
    <message>
        <source>{what}, {other}</source>
        <translation>{what}, {other}</translation>
    </message>
    <message>
        <source>{what}: {why}</source>
        <translation>{what}: {why}</translation>
    </message>
    <message>
        <source>{what}; it is now called {file}</source>
        <translation>{what}; sie heißt jetzt {file}</translation>
    </message>
    <message>
        <source>{what}; {other}</source>
        <translation>{what}; {other}</translation>
    </message>
    <message>
        <source>{who} can be used</source>
        <translation>{who} kann genutzt werden</translation>
    </message>
    <message>
        <source>{who} can be used, with driver {driver}</source>
        <translation>{who} kann genutzt werden, mit Treiber {driver}</translation>
    </message>
    <message>
        <source>{who} cannot be used by torch {version}</source>
        <translation>{who} kann torch {version} nicht nutzen</translation>
    </message>
    <message>
        <source>{who} has ended; waiting a moment</source>
        <translation>{who} ist zu Ende; wartet kurz</translation>
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
        <source>Programs that keep a graphics card busy</source>
        <translation>Programme, die eine Grafikkarte auslasten</translation>
    </message>
    <message>
        <source>Programs that need the memory</source>
        <translation>Programme, die den Speicher brauchen</translation>
    </message>
    <message>
        <source>Starting the swarm…</source>
        <translation>Der Schwarm wird gegründet&#xa0;…</translation>
    </message>
    <message>
        <source>Joining the swarm…</source>
        <translation>Dem Schwarm wird beigetreten&#xa0;…</translation>
    </message>
    <message>
        <source>Asking who is in the swarm…</source>
        <translation>Es wird gefragt, wer im Schwarm ist&#xa0;…</translation>
    </message>
    <message>
        <source>Finding out how others can reach this computer…</source>
        <translation>Es wird geprüft, wie andere diesen Computer erreichen&#xa0;…</translation>
    </message>
    <message>
        <source>Asking the others about the other model…</source>
        <translation>Die anderen werden nach dem anderen Modell gefragt&#xa0;…</translation>
    </message>
    <message>
        <source>Searching for models…</source>
        <translation>Modelle werden gesucht&#xa0;…</translation>
    </message>
    <message>
        <source>Looking for models on this computer…</source>
        <translation>Modelle auf diesem Computer werden gesucht&#xa0;…</translation>
    </message>
    <message>
        <source>Deleting the files…</source>
        <translation>Die Dateien werden gelöscht&#xa0;…</translation>
    </message>
    <message>
        <source>Checking this computer…</source>
        <translation>Dieser Computer wird geprüft&#xa0;…</translation>
    </message>
    <message>
        <source>Writing the report…</source>
        <translation>Der Bericht wird geschrieben&#xa0;…</translation>
    </message>
    <message>
        <source>Looking at this computer…</source>
        <translation>Dieser Computer wird angesehen&#xa0;…</translation>
    </message>
    <message>
        <source>Encrypting your keys…</source>
        <translation>Deine Schlüssel werden verschlüsselt&#xa0;…</translation>
    </message>
    <message>
        <source>Reading the backup…</source>
        <translation>Die Sicherung wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>Looking for a newer version…</source>
        <translation>Nach einer neueren Version wird gesucht&#xa0;…</translation>
    </message>
    <message>
        <source>Starting the address for other programs…</source>
        <translation>Die Adresse für andere Programme wird gestartet&#xa0;…</translation>
    </message>
    <message>
        <source>Waiting for Potluck…</source>
        <translation>Warten auf Potluck&#xa0;…</translation>
    </message>
    <message>
        <source>This takes about {seconds} s.</source>
        <translation>Das dauert etwa {seconds} s.</translation>
    </message>
    <message>
        <source>{seconds} s so far.</source>
        <translation>Bisher {seconds} s.</translation>
    </message>
</context>
<context>
    <name>ActivitySection</name>
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
        <source>Show more</source>
        <translation>Mehr zeigen</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>Was geschah</translation>
    </message>
    <message>
        <source>Show less</source>
        <translation>Weniger zeigen</translation>
    </message>
    <message>
        <source>Nothing here yet</source>
        <translation>Hier ist noch nichts</translation>
    </message>
    <message>
        <source>Never step aside for {program}</source>
        <translation>Nie für {program} Platz machen</translation>
    </message>
    <message>
        <source>Never for this app</source>
        <translation>Nie für dieses Programm</translation>
    </message>
    <message>
        <source>Keep serving while {program} runs</source>
        <translation>Im Einsatz bleiben, während {program} läuft</translation>
    </message>
    <message>
        <source>Potluck now keeps serving while {program} runs.</source>
        <translation>Potluck bleibt jetzt im Einsatz, während {program} läuft.</translation>
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
        <translation>Potluck startet&#xa0;…</translation>
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
        <translation>Sicherung speichern&#xa0;…</translation>
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
    <name>BackupSection</name>
    <message>
        <source>This computer has no keys of its own.</source>
        <translation>Dieser Computer hat keine eigenen Schlüssel.</translation>
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
        <source>tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>Keine Grenze</translation>
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
        <source>Longest answer</source>
        <translation>Längste Antwort</translation>
    </message>
    <message>
        <source>About 75 words are 100 tokens.</source>
        <translation>Etwa 75 Wörter sind 100 Token.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
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
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>Optionen</translation>
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
        <source>More</source>
        <translation>Mehr</translation>
    </message>
    <message>
        <source>Who can read along</source>
        <translation>Wer mitlesen kann</translation>
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
        <source>Your messages pass through the computers that serve this model. Their owners can read them, and nobody else can. Don&apos;t write what they should not know.

Conversations are kept on this computer only.</source>
        <translation>Deine Nachrichten laufen durch die Computer, die dieses Modell bereitstellen. Deren Besitzer können sie lesen, sonst niemand. Schreibe nichts, was sie nicht wissen sollen.

Gespräche bleiben nur auf diesem Computer.</translation>
    </message>
    <message>
        <source>Asking…</source>
        <translation>Frage wird gestellt&#xa0;…</translation>
    </message>
    <message>
        <source>People serving this model can read your messages.</source>
        <translation>Wer dieses Modell bereitstellt, kann deine Nachrichten lesen.</translation>
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
    <name>ConfirmDialog</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>ConnectPage</name>
    <message>
        <source>Connect</source>
        <translation>Verbinden</translation>
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
        <source>Revoke the key of {program}</source>
        <translation>Schlüssel von {program} sperren</translation>
    </message>
    <message>
        <source>Revoke…</source>
        <translation>Sperren&#xa0;…</translation>
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
        <source>That program can no longer use the swarm&apos;s model.</source>
        <translation>Dieses Programm kann das Modell des Schwarms nicht mehr nutzen.</translation>
    </message>
    <message>
        <source>Revoke</source>
        <translation>Sperren</translation>
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
        <source>Programs that speak OpenAI&apos;s, Anthropic&apos;s or Ollama&apos;s API can use the swarm&apos;s model through this computer.</source>
        <translation>Programme, die mit OpenAI, Anthropic oder Ollama sprechen können, nutzen über diesen Computer das Modell des Schwarms.</translation>
    </message>
    <message>
        <source>Always on</source>
        <translation>Immer an</translation>
    </message>
    <message>
        <source>Starts with Potluck and keeps running. Otherwise it ends when nobody asks, or when a game starts.</source>
        <translation>Startet mit Potluck und läuft weiter. Sonst endet sie, wenn niemand fragt oder ein Spiel beginnt.</translation>
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
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
    <message>
        <source>Rename or delete</source>
        <translation>Umbenennen oder löschen</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
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
    <name>DevicesSection</name>
    <message>
        <source>Set up…</source>
        <translation>Einrichten&#xa0;…</translation>
    </message>
    <message>
        <source>The compute engine is not installed yet.</source>
        <translation>Die Rechenumgebung ist noch nicht installiert.</translation>
    </message>
    <message>
        <source>Several graphics cards share the layers. Choose none, and Potluck takes the fastest.</source>
        <translation>Mehrere Grafikkarten teilen sich die Schichten. Ohne Auswahl nimmt Potluck das schnellste Gerät.</translation>
    </message>
</context>
<context>
    <name>DiagnosticsSection</name>
    <message>
        <source>Run a check-up</source>
        <translation>Prüfung starten</translation>
    </message>
    <message>
        <source>Not checked yet</source>
        <translation>Noch nicht geprüft</translation>
    </message>
    <message>
        <source>A check-up covers the installation, disk, graphics card, network and swarm.</source>
        <translation>Geprüft werden Installation, Festplatte, Grafikkarte, Netz und Schwarm.</translation>
    </message>
    <message>
        <source>Checking…</source>
        <translation>Prüfe&#xa0;…</translation>
    </message>
    <message>
        <source>Checked {done} of {all}…</source>
        <translation>{done} von {all} geprüft&#xa0;…</translation>
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
        <source>Save a report</source>
        <translation>Bericht speichern</translation>
    </message>
    <message>
        <source>Report (*.zip)</source>
        <translation>Bericht (*.zip)</translation>
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
        <source>Save a report…</source>
        <translation>Bericht speichern&#xa0;…</translation>
    </message>
    <message>
        <source>Copy system info</source>
        <translation>Systemdaten kopieren</translation>
    </message>
    <message>
        <source>Check-up</source>
        <translation>Prüfung</translation>
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
    <name>EarningsSection</name>
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
        <translation>Leute</translation>
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
        <source>Points by time</source>
        <translation>Punkte nach Zeit</translation>
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
        <source>Points by model</source>
        <translation>Punkte nach Modell</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>No points in this period.</source>
        <translation>Keine Punkte in diesem Zeitraum.</translation>
    </message>
    <message>
        <source>Share…</source>
        <translation>Teilen&#xa0;…</translation>
    </message>
    <message>
        <source>By model</source>
        <translation>Nach Modell</translation>
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
        <source>Show as chart</source>
        <translation>Als Diagramm zeigen</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Points move your requests up the queue. They are not money.</source>
        <translation>Mit Punkten kommen deine Anfragen früher dran. Sie sind kein Geld.</translation>
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
    <name>EngineSection</name>
    <message>
        <source>Looking at this computer…</source>
        <translation>Dieser Computer wird angesehen&#xa0;…</translation>
    </message>
    <message>
        <source>Installation progress</source>
        <translation>Fortschritt der Installation</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
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
        <translation>Variante oder Ordner ändern&#xa0;…</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
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
        <source>Folder: {folder}</source>
        <translation>Ordner: {folder}</translation>
    </message>
    <message>
        <source>Newer packages are available. Update when it suits you.</source>
        <translation>Neuere Pakete sind verfügbar. Aktualisiere, wann es dir passt.</translation>
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
        <source>Potluck takes what is free and steps aside for games. The page Rules changes how much, and when.</source>
        <translation>Potluck nimmt, was frei ist, und macht Spielen Platz. Wie viel und wann, ändert die Seite Regeln.</translation>
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
        <translation>Wiederherstellungscode zeigen&#xa0;…</translation>
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
        <source>Change the rules</source>
        <translation>Regeln ändern</translation>
    </message>
    <message>
        <source>Paste another</source>
        <translation>Andere einfügen</translation>
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
        <source>Pause</source>
        <translation>Pausieren</translation>
    </message>
    <message>
        <source>Show all detectors</source>
        <translation>Alle Melder zeigen</translation>
    </message>
    <message>
        <source>Points by time and by model, electricity, export</source>
        <translation>Punkte nach Zeit und Modell, Strom, Export</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ertrag</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Dieser Computer</translation>
    </message>
    <message>
        <source>Its load now</source>
        <translation>Seine Last jetzt</translation>
    </message>
</context>
<context>
    <name>InvitingCard</name>
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
        <translation>Beenden&#xa0;…</translation>
    </message>
    <message>
        <source>End: {invite}</source>
        <translation>Beenden: {invite}</translation>
    </message>
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
        <source>For how many people, and how long</source>
        <translation>Für wie viele und wie lange</translation>
    </message>
    <message>
        <source>Paste the message into a mail or chat that you trust: whoever has it can join.</source>
        <translation>Füge die Nachricht in eine Mail oder einen Chat ein, dem du vertraust: Wer sie hat, kann beitreten.</translation>
    </message>
    <message>
        <source>This link opens Potluck where the invite is entered. It lets nobody in, so it&apos;s no secret.</source>
        <translation>Dieser Link öffnet Potluck dort, wo man die Einladung eingibt. Er lässt niemanden herein und ist kein Geheimnis.</translation>
    </message>
    <message>
        <source>QR code and link</source>
        <translation>QR-Code und Link</translation>
    </message>
    <message>
        <source>Copy an invite</source>
        <translation>Einladung kopieren</translation>
    </message>
    <message>
        <source>Join my Potluck swarm “{swarm}”: install Potluck, then paste this invite:</source>
        <translation>Komm in meinen Potluck-Schwarm „{swarm}“: Installiere Potluck und füge dann diese Einladung ein:</translation>
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
        <source>What should friends call you?</source>
        <translation>Wie sollen Freunde dich nennen?</translation>
    </message>
    <message>
        <source>What should this computer be called?</source>
        <translation>Wie soll dieser Computer heißen?</translation>
    </message>
    <message>
        <source>Invite others later. A small demo model is included.</source>
        <translation>Lade andere später ein. Ein kleines Demomodell ist dabei.</translation>
    </message>
    <message>
        <source>Paste the invite, or the whole message that it came in</source>
        <translation>Füge die Einladung ein oder die ganze Nachricht, in der sie kam</translation>
    </message>
    <message>
        <source>Your name or nickname</source>
        <translation>Dein Name oder Spitzname</translation>
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
    <name>LayerStrip</name>
    <message>
        <source>Layers of the model</source>
        <translation>Schichten des Modells</translation>
    </message>
</context>
<context>
    <name>LayersCard</name>
    <message>
        <source>Download progress</source>
        <translation>Fortschritt des Downloads</translation>
    </message>
    <message>
        <source>{swarm} runs {model}</source>
        <translation>{swarm} betreibt {model}</translation>
    </message>
    <message>
        <source>As of {time}.</source>
        <translation>Stand: {time}.</translation>
    </message>
    <message>
        <source>Downloading…</source>
        <translation>Lädt herunter&#xa0;…</translation>
    </message>
</context>
<context>
    <name>LimitsSection</name>
    <message>
        <source>No limit</source>
        <translation>Keine Grenze</translation>
    </message>
    <message>
        <source>This month so far: {sent} sent, {received} received</source>
        <translation>Diesen Monat bisher: {sent} gesendet, {received} empfangen</translation>
    </message>
    <message>
        <source>All that fits</source>
        <translation>Alles, was passt</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Arbeitsspeicher</translation>
    </message>
    <message>
        <source>System memory for Potluck as a whole</source>
        <translation>Arbeitsspeicher für ganz Potluck</translation>
    </message>
    <message>
        <source>Always left free for other programs</source>
        <translation>Bleibt immer frei für andere Programme</translation>
    </message>
    <message>
        <source>Layers to serve</source>
        <translation>Anzahl der Schichten</translation>
    </message>
    <message>
        <source>Processor cores to use</source>
        <translation>Genutzte Prozessorkerne</translation>
    </message>
    <message>
        <source>Half of them</source>
        <translation>Die Hälfte</translation>
    </message>
    <message>
        <source>Mbit/s</source>
        <translation>Mbit/s</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Netzwerk</translation>
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
        <source>Choose their folder on the page Swarm.</source>
        <translation>Wähle ihren Ordner auf der Seite Schwarm.</translation>
    </message>
    <message>
        <source>Downloads wait while less is free.</source>
        <translation>Downloads warten, solange weniger frei ist.</translation>
    </message>
    <message>
        <source>Disk</source>
        <translation>Festplatte</translation>
    </message>
    <message>
        <source>Space for downloaded models</source>
        <translation>Platz für heruntergeladene Modelle</translation>
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
        <source>Measured</source>
        <translation>Gemessen</translation>
    </message>
</context>
<context>
    <name>LoadSection</name>
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
        <source>Processor</source>
        <translation>Prozessor</translation>
    </message>
    <message>
        <source>Graphics card</source>
        <translation>Grafikkarte</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Arbeitsspeicher</translation>
    </message>
    <message>
        <source>{all} %, Potluck {ours} %</source>
        <translation>{all}&#xa0;%, Potluck {ours}&#xa0;%</translation>
    </message>
</context>
<context>
    <name>LoadingPlaceholder</name>
    <message>
        <source>Not loaded</source>
        <translation>Nicht geladen</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Lädt&#xa0;…</translation>
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
    <name>LoginSection</name>
    <message>
        <source>It follows your rules.</source>
        <translation>Nach deinen Regeln.</translation>
    </message>
    <message>
        <source>Start donating</source>
        <translation>Mit dem Spenden beginnen</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Wenn du dich anmeldest</translation>
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
    <name>MainWindow</name>
    <message>
        <source>Connecting…</source>
        <translation>Verbindet&#xa0;…</translation>
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
        <source>{swarm} is open to everybody</source>
        <translation>{swarm} steht allen offen</translation>
    </message>
    <message>
        <source>It has no members. Everybody who finds it can use it.</source>
        <translation>Er hat keine Mitglieder. Wer ihn findet, kann ihn benutzen.</translation>
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
        <source>Remove…</source>
        <translation>Entfernen&#xa0;…</translation>
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
        <source>Change {name}</source>
        <translation>{name} ändern</translation>
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
    <name>MessageCode</name>
    <message>
        <source>Code</source>
        <translation>Code</translation>
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
        <translation>In einem Ordner suchen&#xa0;…</translation>
    </message>
    <message>
        <source>Models to choose from</source>
        <translation>Modelle zur Auswahl</translation>
    </message>
    <message>
        <source>Searching Hugging Face…</source>
        <translation>Hugging Face wird durchsucht&#xa0;…</translation>
    </message>
    <message>
        <source>Looking on this computer…</source>
        <translation>Dieser Computer wird durchsucht&#xa0;…</translation>
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
    <name>ModelsCard</name>
    <message>
        <source>Computed here</source>
        <translation>Hier berechnet</translation>
    </message>
    <message>
        <source>On the disk</source>
        <translation>Auf der Festplatte</translation>
    </message>
    <message>
        <source>Nothing is served now.</source>
        <translation>Gerade wird nichts bereitgestellt.</translation>
    </message>
    <message>
        <source>Delete prepared layers</source>
        <translation>Vorbereitete Schichten löschen</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
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
        <source>Choose…</source>
        <translation>Auswählen …</translation>
    </message>
    <message>
        <source>serving now</source>
        <translation>jetzt im Einsatz</translation>
    </message>
    <message>
        <source>used by {swarms}</source>
        <translation>benutzt von {swarms}</translation>
    </message>
    <message>
        <source>incomplete</source>
        <translation>unvollständig</translation>
    </message>
    <message>
        <source>Delete {model}</source>
        <translation>{model} löschen</translation>
    </message>
    <message>
        <source>Frees {size}. Potluck downloads the model again when it needs it.</source>
        <translation>Gibt {size} frei. Potluck lädt das Modell bei Bedarf erneut herunter.</translation>
    </message>
    <message>
        <source>Delete {model}?</source>
        <translation>{model} löschen?</translation>
    </message>
    <message>
        <source>Freed {size}.</source>
        <translation>{size} freigegeben.</translation>
    </message>
    <message>
        <source>Models go to {folder} from now on. Move those you have there yourself.</source>
        <translation>Modelle kommen von jetzt an nach {folder}. Verschiebe vorhandene selbst dorthin.</translation>
    </message>
    <message>
        <source>Choose a folder for models</source>
        <translation>Ordner für Modelle wählen</translation>
    </message>
</context>
<context>
    <name>OtherComputer</name>
    <message>
        <source>Restore backup…</source>
        <translation>Sicherung einspielen&#xa0;…</translation>
    </message>
    <message>
        <source>Password of the backup</source>
        <translation>Passwort der Sicherung</translation>
    </message>
    <message>
        <source>There, Swarm has “Your computers”, which can show an invite to enter above. If that computer is gone, restore the backup of your keys.</source>
        <translation>Dort gibt es auf der Seite Schwarm „Deine Computer“; dort erscheint eine Einladung, die du oben eingibst. Wenn jener Computer weg ist, stelle die Sicherung deiner Schlüssel wieder her.</translation>
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
        <translation>Computer hinzufügen&#xa0;…</translation>
    </message>
    <message>
        <source>{name} is one of your computers now.</source>
        <translation>{name} ist jetzt einer deiner Computer.</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Entfernen&#xa0;…</translation>
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
        <source>{name} (this computer)</source>
        <translation>{name} (dieser Computer)</translation>
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
        <source>The others learn of it when this computer serves again.</source>
        <translation>Die anderen erfahren davon, wenn dieser Computer wieder etwas bereitstellt.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal</translation>
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
        <source>Installation and updates</source>
        <translation>Installation und Updates</translation>
    </message>
    <message>
        <source>The compute engine, and newer versions of Potluck</source>
        <translation>Die Rechenumgebung und neuere Versionen von Potluck</translation>
    </message>
    <message>
        <source>Compute engine</source>
        <translation>Rechenumgebung</translation>
    </message>
    <message>
        <source>Backup</source>
        <translation>Sicherung</translation>
    </message>
    <message>
        <source>Your keys, and the founder&apos;s recovery code</source>
        <translation>Deine Schlüssel und der Wiederherstellungscode des Gründers</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>Diagnose</translation>
    </message>
    <message>
        <source>A check-up, a report for people who help, detectors and the log</source>
        <translation>Eine Prüfung, ein Bericht für Helfer, die Melder und das Protokoll</translation>
    </message>
    <message>
        <source>This app</source>
        <translation>Diese App</translation>
    </message>
    <message>
        <source>News</source>
        <translation>Neuigkeiten</translation>
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
    <name>ProgramListsSection</name>
    <message>
        <source>Always step aside for</source>
        <translation>Immer Platz machen für</translation>
    </message>
    <message>
        <source>Potluck stops whenever one runs.</source>
        <translation>Potluck hält an, sobald eins davon läuft.</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>Nie Platz machen für</translation>
    </message>
    <message>
        <source>Programs that Potluck mistakes for games.</source>
        <translation>Programme, die Potluck für Spiele hält.</translation>
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
    <name>RulesPage</name>
    <message>
        <source>Rules</source>
        <translation>Regeln</translation>
    </message>
    <message>
        <source>Programs</source>
        <translation>Programme</translation>
    </message>
    <message>
        <source>Programs that Potluck always or never steps aside for</source>
        <translation>Programme, für die Potluck immer oder nie Platz macht</translation>
    </message>
    <message>
        <source>More limits</source>
        <translation>Weitere Grenzen</translation>
    </message>
    <message>
        <source>Memory, network, disk and electricity</source>
        <translation>Speicher, Netzwerk, Festplatte und Strom</translation>
    </message>
</context>
<context>
    <name>ScheduleSection</name>
    <message>
        <source>Hours of the week for donating</source>
        <translation>Stunden der Woche zum Spenden</translation>
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
        <source>At least one hour must stay. To stop donating, pause until you resume.</source>
        <translation>Mindestens eine Stunde muss bleiben. Um nicht mehr zu spenden, pausiere, bis du fortsetzt.</translation>
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
        <source>Time to start the next round undisturbed.</source>
        <translation>Zeit, um ungestört die nächste Runde zu beginnen.</translation>
    </message>
    <message>
        <source>s</source>
        <translation>s</translation>
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
        <source>Games come first</source>
        <translation>Spiele gehen vor</translation>
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
        <source>Only while I&apos;m away</source>
        <translation>Nur wenn ich weg bin</translation>
    </message>
    <message>
        <source>Away after</source>
        <translation>Weg nach</translation>
    </message>
    <message>
        <source>This long without keyboard or mouse.</source>
        <translation>So lange ohne Tastatur und Maus.</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <source>Step aside for other users of this computer</source>
        <translation>Für andere Benutzer dieses Computers Platz machen</translation>
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
        <source>Hours of the week</source>
        <translation>Stunden der Woche</translation>
    </message>
</context>
<context>
    <name>SetUpPlan</name>
    <message>
        <source>Another folder…</source>
        <translation>Anderer Ordner&#xa0;…</translation>
    </message>
    <message>
        <source>Another build</source>
        <translation>Andere Variante</translation>
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
    <name>Sidebar</name>
    <message>
        <source>Pages</source>
        <translation>Seiten</translation>
    </message>
</context>
<context>
    <name>SwarmPage</name>
    <message>
        <source>Swarm</source>
        <translation>Schwarm</translation>
    </message>
    <message>
        <source>Your computers</source>
        <translation>Deine Computer</translation>
    </message>
    <message>
        <source>Those that serve in your name. Add another one, or remove a lost one.</source>
        <translation>Die in deinem Namen bereitstellen. Füge einen hinzu oder entferne einen verlorenen.</translation>
    </message>
    <message>
        <source>Models on this computer</source>
        <translation>Modelle auf diesem Computer</translation>
    </message>
    <message>
        <source>What is computed here, and how much of the disk models take.</source>
        <translation>Was hier berechnet wird und wie viel Platz Modelle belegen.</translation>
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
        <translation>Modell wechseln&#xa0;…</translation>
    </message>
    <message>
        <source>Leave…</source>
        <translation>Verlassen&#xa0;…</translation>
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
        <source>sped up by {model}</source>
        <translation>beschleunigt von {model}</translation>
    </message>
    <message>
        <source>Change {name}</source>
        <translation>{name} ändern</translation>
    </message>
    <message>
        <source>Reading the files of {model}…</source>
        <translation>Die Dateien von {model} werden gelesen&#xa0;…</translation>
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
        <source>You founded this swarm, and this computer forgets the founder&apos;s key. Write down its recovery code, without which nobody can ever appoint admins again: {code}</source>
        <translation>Du hast diesen Schwarm gegründet, und dieser Computer vergisst den Schlüssel des Gründers. Schreibe den Wiederherstellungscode auf, ohne den nie wieder jemand Admins ernennen kann: {code}</translation>
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
        <source>It has no admin, so nobody can invite, confirm or remove people either.</source>
        <translation>Es gibt keinen Admin, daher kann auch niemand mehr Leute einladen, bestätigen oder entfernen.</translation>
    </message>
</context>
<context>
    <name>TodaySection</name>
    <message>
        <source>points earned</source>
        <translation>Punkte verdient</translation>
    </message>
    <message>
        <source>tokens served</source>
        <translation>Token bereitgestellt</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message numerus="yes">
        <source>%n people</source>
        <translation>
            <numerusform>%n Person</numerusform>
            <numerusform>%n Personen</numerusform>
        </translation>
    </message>
    <message>
        <source>You helped {people}.</source>
        <translation>Du hast {people} geholfen.</translation>
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
        <translation>Version {version} ist verfügbar&#xa0;…</translation>
    </message>
</context>
<context>
    <name>UpdatesSection</name>
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
        <source>Updates</source>
        <translation>Aktualisierungen</translation>
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
        <translation>Entfernen&#xa0;…</translation>
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
</TS>
