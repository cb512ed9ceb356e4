<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="es" sourcelanguage="en">
<context>
    <name></name>
    <message>
        <source>The answer is too long.</source>
        <translation>La respuesta es demasiado larga.</translation>
    </message>
    <message>
        <source>The answer took too long.</source>
        <translation>La respuesta ha tardado demasiado.</translation>
    </message>
    <message>
        <source>The connection was lost before the answer was complete.</source>
        <translation>La conexión se perdió antes de completar la respuesta.</translation>
    </message>
    <message>
        <source>Potluck received an answer that it does not understand.</source>
        <translation>Potluck ha recibido una respuesta que no entiende.</translation>
    </message>
    <message>
        <source>All that fits</source>
        <translation>Todo lo que quepa</translation>
    </message>
    <message>
        <source>With less memory, Potluck serves fewer layers. A change reloads them.</source>
        <translation>Con menos memoria, Potluck sirve menos capas. Un cambio las vuelve a cargar.</translation>
    </message>
    <message>
        <source>Memory for Potluck</source>
        <translation>Memoria para Potluck</translation>
    </message>
    <message>
        <source>Above this, Potluck slows down.</source>
        <translation>Por encima, Potluck va más despacio.</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>Sin límite</translation>
    </message>
    <message>
        <source>Above this, Potluck slows down, even if a graphics card computes.</source>
        <translation>Por encima, Potluck va más despacio, aunque calcule una tarjeta gráfica.</translation>
    </message>
    <message>
        <source>Temperature limit</source>
        <translation>Límite de temperatura</translation>
    </message>
    <message>
        <source>Power limit</source>
        <translation>Límite de potencia</translation>
    </message>
    <message>
        <source>Potluck {ours} of {limit}</source>
        <translation>Potluck {ours} de {limit}</translation>
    </message>
    <message>
        <source>Potluck {ours}</source>
        <translation>Potluck {ours}</translation>
    </message>
    <message>
        <source>{free} of {all} free</source>
        <translation>{free} de {all} libres</translation>
    </message>
    <message>
        <source>other programs {others}</source>
        <translation>otros programas {others}</translation>
    </message>
    <message>
        <source>selected automatically</source>
        <translation>elegido automáticamente</translation>
    </message>
    <message>
        <source>Problem</source>
        <translation>Problema</translation>
    </message>
    <message>
        <source>Warning</source>
        <translation>Aviso</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Nota</translation>
    </message>
    <message>
        <source>Fine</source>
        <translation>Correcto</translation>
    </message>
    <message>
        <source>Table (CSV)</source>
        <translation>Tabla (CSV)</translation>
    </message>
    <message>
        <source>Export all entries</source>
        <translation>Exportar todas las entradas</translation>
    </message>
    <message numerus="yes">
        <source>%n entries written to {file}.</source>
        <translation>
            <numerusform>%n entrada escrita en {file}.</numerusform>
            <numerusform>%n entradas escritas en {file}.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Swarm “{swarm}”, %n layer(s)</source>
        <translation>
            <numerusform>Enjambre «{swarm}», %n capa</numerusform>
            <numerusform>Enjambre «{swarm}», %n capas</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Here: {layers} (%n)</source>
        <translation>
            <numerusform>Aquí: {layers} (%n)</numerusform>
            <numerusform>Aquí: {layers} (%n)</numerusform>
        </translation>
    </message>
    <message>
        <source>Computed on {device}, {dtype}</source>
        <translation>Se calcula en: {device}, {dtype}</translation>
    </message>
    <message>
        <source>weights in {format}</source>
        <translation>pesos en {format}</translation>
    </message>
    <message>
        <source>{size} of weights in device memory</source>
        <translation>{size} de pesos en la memoria del dispositivo</translation>
    </message>
    <message>
        <source>{size} loaded for each step</source>
        <translation>{size} cargados en cada paso</translation>
    </message>
    <message>
        <source>Potluck needs attention</source>
        <translation>Potluck necesita tu atención</translation>
    </message>
    <message>
        <source>Potluck was updated</source>
        <translation>Potluck se ha actualizado</translation>
    </message>
    <message>
        <source>Milestone</source>
        <translation>Hito</translation>
    </message>
    <message>
        <source>You earned {points} points. Thank you!</source>
        <translation>Has ganado {points} puntos. ¡Gracias!</translation>
    </message>
    <message>
        <source>Every layer of {model} is served. You can chat now.</source>
        <translation>Cada capa de {model} está servida. Ya puedes chatear.</translation>
    </message>
    <message>
        <source>The model is complete</source>
        <translation>El modelo está completo</translation>
    </message>
    <message>
        <source>A layer is missing</source>
        <translation>Falta una capa</translation>
    </message>
    <message>
        <source>{names} joined the swarm “{swarm}”.</source>
        <translation>{names} se ha unido al enjambre «{swarm}».</translation>
    </message>
    <message>
        <source>A friend joined</source>
        <translation>Se ha unido un amigo</translation>
    </message>
    <message>
        <source>Waiting to be let into the swarm “{swarm}”: {names}. Decide on the page People.</source>
        <translation>Esperan entrar en el enjambre «{swarm}»: {names}. Decide en la página Personas.</translation>
    </message>
    <message>
        <source>Somebody waits to be let in</source>
        <translation>Alguien espera entrar</translation>
    </message>
    <message>
        <source>{name} asks to be one of your computers. Confirm it on the page People.</source>
        <translation>{name} pide ser uno de tus ordenadores. Confírmalo en la página Personas.</translation>
    </message>
    <message>
        <source>Another computer of yours?</source>
        <translation>¿Otro ordenador tuyo?</translation>
    </message>
    <message>
        <source>Potluck {version} is available.</source>
        <translation>Potluck {version} está disponible.</translation>
    </message>
    <message>
        <source>An update is ready</source>
        <translation>Hay una actualización lista</translation>
    </message>
    <message>
        <source>Paused since {time}. Resume from the tray menu.</source>
        <translation>En pausa desde {time}. Reanuda desde el menú de la bandeja.</translation>
    </message>
    <message>
        <source>Still paused</source>
        <translation>Sigue en pausa</translation>
    </message>
    <message>
        <source>Home</source>
        <translation>Inicio</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ganancias</translation>
    </message>
    <message>
        <source>When to donate</source>
        <translation>Cuándo donar</translation>
    </message>
    <message>
        <source>Limits</source>
        <translation>Límites</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelos</translation>
    </message>
    <message>
        <source>People</source>
        <translation>Personas</translation>
    </message>
    <message>
        <source>Activity</source>
        <translation>Actividad</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Use in other apps</source>
        <translation>En otras apps</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Ajustes</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>Diagnóstico</translation>
    </message>
    <message>
        <source>Installation</source>
        <translation>Instalación</translation>
    </message>
    <message>
        <source>Welcome</source>
        <translation>Te damos la bienvenida</translation>
    </message>
    <message>
        <source>Pause for an hour</source>
        <translation>Pausar una hora</translation>
    </message>
    <message>
        <source>Pause until tomorrow, {time}</source>
        <translation>Pausar hasta mañana, {time}</translation>
    </message>
    <message>
        <source>Pause until the game ends</source>
        <translation>Pausar hasta que acabe el juego</translation>
    </message>
    <message>
        <source>Pause until I resume</source>
        <translation>Pausar hasta que yo reanude</translation>
    </message>
    <message>
        <source>Not serving</source>
        <translation>Sin servir</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>Iniciando</translation>
    </message>
    <message>
        <source>Loading layers</source>
        <translation>Carga capas</translation>
    </message>
    <message>
        <source>layers {blocks} of {model} (loading {target})</source>
        <translation>las capas {blocks} de {model} (cargando {target})</translation>
    </message>
    <message>
        <source>layers {blocks} of {model} (moving to {target})</source>
        <translation>las capas {blocks} de {model} (luego {target})</translation>
    </message>
    <message>
        <source>layers {blocks} of {model}</source>
        <translation>las capas {blocks} de {model}</translation>
    </message>
    <message>
        <source>You stopped donating</source>
        <translation>Has dejado de donar</translation>
    </message>
    <message>
        <source>The compute engine is not set up yet</source>
        <translation>El motor de cálculo aún no está instalado</translation>
    </message>
    <message>
        <source>Can&apos;t tell whether you&apos;re away, so not serving. Turn off “Only while I&apos;m away” to serve anyway</source>
        <translation>No sirve porque no puede saber si estás ausente. Desactiva «Solo cuando no estoy» para servir igualmente</translation>
    </message>
    <message>
        <source>This month&apos;s upload of {all} is used up</source>
        <translation>La subida de {all} de este mes se ha agotado</translation>
    </message>
    <message>
        <source>This month&apos;s download of {all} is used up</source>
        <translation>La descarga de {all} de este mes se ha agotado</translation>
    </message>
    <message>
        <source>when you turn it off</source>
        <translation>cuando lo desactives</translation>
    </message>
    <message>
        <source>Models fill their {all} on the disk</source>
        <translation>Los modelos ocupan sus {all} del disco</translation>
    </message>
    <message>
        <source>Today&apos;s upload of {all} is used up</source>
        <translation>La subida de hoy ({all}) está agotada</translation>
    </message>
    <message>
        <source>Today&apos;s download of {all} is used up</source>
        <translation>La descarga de hoy ({all}) está agotada</translation>
    </message>
    <message>
        <source>The disk is nearly full: {free} left</source>
        <translation>El disco está casi lleno: quedan {free}</translation>
    </message>
    <message>
        <source>only {free} free at {path}</source>
        <translation>solo {free} libres en {path}</translation>
    </message>
    <message>
        <source>{free} free for models at {path}</source>
        <translation>{free} libres para modelos en {path}</translation>
    </message>
    <message>
        <source>{free} of {all} available</source>
        <translation>{free} de {all} disponibles</translation>
    </message>
    <message>
        <source>when the time is over</source>
        <translation>cuando pase el tiempo</translation>
    </message>
    <message>
        <source>in a moment</source>
        <translation>en un momento</translation>
    </message>
    <message>
        <source>when you&apos;ve been away for a while</source>
        <translation>cuando lleves un rato ausente</translation>
    </message>
    <message>
        <source>when you start donating again</source>
        <translation>cuando vuelvas a donar</translation>
    </message>
    <message>
        <source>when you set it up</source>
        <translation>cuando lo instales</translation>
    </message>
    <message>
        <source>when the disk has more space</source>
        <translation>cuando haya más espacio en el disco</translation>
    </message>
    <message>
        <source>when you delete a model or raise the limit</source>
        <translation>cuando borres un modelo o subas el límite</translation>
    </message>
    <message>
        <source>Joining the swarm</source>
        <translation>Uniéndose al enjambre</translation>
    </message>
    <message>
        <source>Serving</source>
        <translation>Sirviendo</translation>
    </message>
    <message>
        <source>Stepping aside</source>
        <translation>Haciéndose a un lado</translation>
    </message>
    <message>
        <source>You are not confirmed yet: that happens when a leader&apos;s computer is online.</source>
        <translation>Aún no estás confirmado: ocurre cuando está en línea un ordenador de quien fundó el enjambre o de un administrador.</translation>
    </message>
    <message>
        <source>Not known yet</source>
        <translation>Aún no se sabe</translation>
    </message>
    <message>
        <source>Stepped aside</source>
        <translation>A un lado</translation>
    </message>
    <message>
        <source>Getting ready</source>
        <translation>Se está preparando</translation>
    </message>
    <message>
        <source>Away</source>
        <translation>Ausente</translation>
    </message>
    <message>
        <source>Serves layers {layers}</source>
        <translation>Ofrece las capas {layers}</translation>
    </message>
    <message>
        <source>Serves layer {layers}</source>
        <translation>Ofrece la capa {layers}</translation>
    </message>
    <message>
        <source>{time} ms away</source>
        <translation>a {time} ms</translation>
    </message>
    <message>
        <source>{names} and {name}</source>
        <translation>{names} y {name}</translation>
    </message>
    <message numerus="yes">
        <source>{name} and %n other(s)</source>
        <translation>
            <numerusform>{name} y %n persona más</numerusform>
            <numerusform>{name} y %n personas más</numerusform>
        </translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>En pausa</translation>
    </message>
    <message>
        <source>Something failed</source>
        <translation>Algo ha fallado</translation>
    </message>
    <message>
        <source>Running</source>
        <translation>En marcha</translation>
    </message>
    <message>
        <source>Checking this computer</source>
        <translation>Comprobando este ordenador</translation>
    </message>
    <message>
        <source>Looking up the packages</source>
        <translation>Buscando los paquetes</translation>
    </message>
    <message>
        <source>Installing</source>
        <translation>Instalando</translation>
    </message>
    <message>
        <source>Testing on this computer</source>
        <translation>Probando en este ordenador</translation>
    </message>
    <message>
        <source>Activating</source>
        <translation>Activando</translation>
    </message>
    <message>
        <source>{name}, for NVIDIA graphics cards</source>
        <translation>{name}, para tarjetas gráficas NVIDIA</translation>
    </message>
    <message>
        <source>{name}, for older NVIDIA graphics cards or drivers</source>
        <translation>{name}, para tarjetas o controladores NVIDIA antiguos</translation>
    </message>
    <message>
        <source>{name}, for AMD graphics cards</source>
        <translation>{name}, para tarjetas gráficas AMD</translation>
    </message>
    <message>
        <source>{name}, for Intel graphics cards</source>
        <translation>{name}, para tarjetas gráficas Intel</translation>
    </message>
    <message>
        <source>Getting ready: {step}…</source>
        <translation type="unfinished">Preparando: {step}…</translation>
    </message>
    <message>
        <source>Downloading {what}</source>
        <translation>Descargando {what}</translation>
    </message>
    <message>
        <source>Downloads up to {download} and takes {disk} on the disk.</source>
        <translation>Descarga hasta {download} y ocupa {disk} en el disco.</translation>
    </message>
    <message>
        <source>{name}, for the processor</source>
        <translation>{name}, para el procesador</translation>
    </message>
    <message>
        <source>{name}, for Macs with Apple&apos;s processor</source>
        <translation>{name}, para Mac con procesador de Apple</translation>
    </message>
    <message>
        <source>Detecting something now</source>
        <translation>Detecta algo ahora</translation>
    </message>
    <message>
        <source>Not working</source>
        <translation>No funciona</translation>
    </message>
    <message>
        <source>Active, nothing detected</source>
        <translation>Activo, nada detectado</translation>
    </message>
    <message>
        <source>Resting while Potluck is not serving</source>
        <translation>En reposo mientras Potluck no sirve</translation>
    </message>
    <message>
        <source>Not available on this computer</source>
        <translation>No disponible en este ordenador</translation>
    </message>
    <message>
        <source>Off in your settings</source>
        <translation>Desactivado en tus ajustes</translation>
    </message>
    <message>
        <source>Known only to a newer version</source>
        <translation>Solo lo conoce una versión más nueva</translation>
    </message>
    <message numerus="yes">
        <source>Watching for games and activity (%n detector(s) not working)</source>
        <translation>
            <numerusform>Atento a juegos y actividad (%n detector no funciona)</numerusform>
            <numerusform>Atento a juegos y actividad (%n detectores no funcionan)</numerusform>
        </translation>
    </message>
    <message>
        <source>Watching for games and activity</source>
        <translation>Atento a juegos y actividad</translation>
    </message>
    <message>
        <source>Detectors are resting</source>
        <translation>Los detectores están en reposo</translation>
    </message>
    <message>
        <source>Potluck is not running</source>
        <translation>Potluck no está en marcha</translation>
    </message>
    <message>
        <source>Your settings and points are safe.</source>
        <translation>Tus ajustes y puntos están a salvo.</translation>
    </message>
    <message>
        <source>Potluck ended unexpectedly</source>
        <translation>Potluck se ha cerrado inesperadamente</translation>
    </message>
    <message>
        <source>Serving at {percent} %</source>
        <translation>Sirviendo al {percent} %</translation>
    </message>
    <message>
        <source>Waiting to be let in</source>
        <translation>Esperando entrar</translation>
    </message>
    <message>
        <source>Finishing</source>
        <translation>Terminando</translation>
    </message>
    <message>
        <source>Shutting down</source>
        <translation>Apagándose</translation>
    </message>
    <message numerus="yes">
        <source>%n session(s) left</source>
        <translation>
            <numerusform>queda %n sesión</numerusform>
            <numerusform>quedan %n sesiones</numerusform>
        </translation>
    </message>
    <message>
        <source>Serves again at {time}.</source>
        <translation>Vuelve a servir a las {time}.</translation>
    </message>
    <message>
        <source>Serves again {condition}.</source>
        <translation>Vuelve a servir: {condition}.</translation>
    </message>
    <message>
        <source>Full speed again at {time}.</source>
        <translation>A toda velocidad de nuevo a las {time}.</translation>
    </message>
    <message>
        <source>Full speed again {condition}.</source>
        <translation>A toda velocidad de nuevo: {condition}.</translation>
    </message>
    <message>
        <source>Tries again at {time}.</source>
        <translation>Lo intenta de nuevo a las {time}.</translation>
    </message>
    <message>
        <source>Tries again {condition}.</source>
        <translation>Lo intenta de nuevo: {condition}.</translation>
    </message>
    <message>
        <source>Potluck stopped responding</source>
        <translation>Potluck ha dejado de responder</translation>
    </message>
    <message>
        <source>It may come back by itself.</source>
        <translation>Puede que vuelva a responder por sí solo.</translation>
    </message>
    <message>
        <source>Removed from the swarm</source>
        <translation>Fuera del enjambre</translation>
    </message>
    <message>
        <source>{left}. Shuts down by {time}.</source>
        <translation>{left}. Se apaga antes de las {time}.</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Reanudar</translation>
    </message>
    <message>
        <source>Keep serving</source>
        <translation>Seguir sirviendo</translation>
    </message>
    <message>
        <source>Serve now</source>
        <translation>Servir ahora</translation>
    </message>
    <message>
        <source>Start donating again</source>
        <translation>Volver a donar</translation>
    </message>
    <message>
        <source>Try again now</source>
        <translation>Reintentar ahora</translation>
    </message>
    <message>
        <source>Never step aside for {program}…</source>
        <translation>No apartarse nunca por {program}…</translation>
    </message>
    <message>
        <source>Keep serving whenever {program} runs? You can change this later in Activity.</source>
        <translation>¿Seguir sirviendo mientras funcione {program}? Puedes cambiarlo después en Actividad.</translation>
    </message>
    <message>
        <source>Today: {sent} sent, {received} received, {energy}</source>
        <translation>Hoy: {sent} enviados, {received} recibidos, {energy}</translation>
    </message>
    <message>
        <source>{number} tokens/s</source>
        <translation>{number} tokens/s</translation>
    </message>
    <message>
        <source>{number} bn</source>
        <translation>{number} mil M</translation>
    </message>
    <message>
        <source>{number} M</source>
        <translation>{number} M</translation>
    </message>
    <message>
        <source>{used} of {all}</source>
        <translation>{used} de {all}</translation>
    </message>
    <message>
        <source>{size}/s</source>
        <translation>{size}/s</translation>
    </message>
    <message>
        <source>about {time} left</source>
        <translation>faltan unos {time}</translation>
    </message>
    <message>
        <source>processor</source>
        <translation>procesador</translation>
    </message>
    <message>
        <source>graphics card {number}</source>
        <translation>tarjeta gráfica {number}</translation>
    </message>
    <message>
        <source>What to do: {advice}.</source>
        <translation>Qué hacer: {advice}.</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Hoy</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Ayer</translation>
    </message>
    <message>
        <source>d MMM yyyy</source>
        <translation>d MMM yyyy</translation>
    </message>
    <message>
        <source>TCP port {number}</source>
        <translation>puerto TCP {number}</translation>
    </message>
    <message>
        <source>{name}: {watts} W (measured).</source>
        <translation>{name}: {watts} W (medidos).</translation>
    </message>
    <message>
        <source>While serving: {watts} W (from your settings).</source>
        <translation>Al servir: {watts} W (según tus ajustes).</translation>
    </message>
    <message>
        <source>{name}: {watts} W (estimated).</source>
        <translation>{name}: {watts} W (estimados).</translation>
    </message>
    <message>
        <source>{coverage} (at {time})</source>
        <translation>{coverage} (a las {time})</translation>
    </message>
    <message>
        <source>You serve none.</source>
        <translation>Tú no sirves ninguna.</translation>
    </message>
    <message>
        <source>You serve {layers}.</source>
        <translation>Tú sirves {layers}.</translation>
    </message>
    <message numerus="yes">
        <source>%n layer(s), status unknown.</source>
        <translation>
            <numerusform>%n capa, estado desconocido.</numerusform>
            <numerusform>%n capas, estado desconocido.</numerusform>
        </translation>
    </message>
    <message>
        <source>Nobody serves layer {layer}.</source>
        <translation>Nadie ofrece la capa {layer}.</translation>
    </message>
    <message>
        <source>Nobody serves layers {layers}.</source>
        <translation>Nadie sirve las capas {layers}.</translation>
    </message>
    <message numerus="yes">
        <source>All %n layer(s) online.</source>
        <translation>
            <numerusform>La única capa está en línea.</numerusform>
            <numerusform>Las %n capas están en línea.</numerusform>
        </translation>
    </message>
    <message>
        <source>Total capacity: about {rate}.</source>
        <translation>Capacidad total: unos {rate}.</translation>
    </message>
    <message>
        <source>The framed layers limit it: {layers}.</source>
        <translation>Las capas enmarcadas la limitan: {layers}.</translation>
    </message>
    <message>
        <source>Only the founder and admins can invite people.</source>
        <translation>Solo quien fundó el enjambre y los administradores pueden invitar.</translation>
    </message>
    <message>
        <source>Only the founder and admins can invite people. Ask {names}.</source>
        <translation>Solo quien fundó el enjambre y los administradores pueden invitar. Pregunta a {names}.</translation>
    </message>
    <message>
        <source>Founder</source>
        <translation>Fundó el enjambre</translation>
    </message>
    <message>
        <source>Admin</source>
        <translation>Administra</translation>
    </message>
    <message>
        <source>lets newcomers in</source>
        <translation>deja entrar a los nuevos</translation>
    </message>
    <message>
        <source>waits to be let in</source>
        <translation>espera entrar</translation>
    </message>
    <message>
        <source>not confirmed yet</source>
        <translation>aún sin confirmar</translation>
    </message>
    <message>
        <source>known since {day}</source>
        <translation>desde el {day}</translation>
    </message>
    <message>
        <source>invited by {name}</source>
        <translation>invitado por {name}</translation>
    </message>
    <message>
        <source>on probation</source>
        <translation>a prueba</translation>
    </message>
    <message>
        <source>Last hour: {mean} tokens/s on average, {most} at most</source>
        <translation>Última hora: {mean} tokens/s de media, {most} como máximo</translation>
    </message>
    <message>
        <source>Last hour: {mean} % on average, {most} % at most</source>
        <translation>Última hora: {mean} % de media, {most} % como máximo</translation>
    </message>
    <message numerus="yes">
        <source>{number} token(s)</source>
        <translation>
            <numerusform>{number} token</numerusform>
            <numerusform>{number} tokens</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>you helped %n people with {tokens}</source>
        <translation>
            <numerusform>ayudaste a %n persona con {tokens}</numerusform>
            <numerusform>ayudaste a %n personas con {tokens}</numerusform>
        </translation>
    </message>
    <message>
        <source>you served {tokens}</source>
        <translation>serviste {tokens}</translation>
    </message>
    <message>
        <source>you helped {people} with {tokens}</source>
        <translation>has ayudado a {people} con {tokens}</translation>
    </message>
    <message>
        <source>stepped aside for {time} of {game}</source>
        <translation>cediste el paso a {game} durante {time}</translation>
    </message>
    <message>
        <source>you stepped aside for {time} of {game}</source>
        <translation>cediste el paso a {game} durante {time}</translation>
    </message>
    <message>
        <source>Today: {one} and {other}.</source>
        <translation>Hoy {one} y {other}.</translation>
    </message>
    <message>
        <source>Today: {one}.</source>
        <translation>Hoy {one}.</translation>
    </message>
    <message>
        <source>In Admin Panel, Settings, Connections, add an OpenAI API connection:</source>
        <translation>En Panel de administración, Ajustes, Conexiones, añade una conexión a la API de OpenAI:</translation>
    </message>
    <message>
        <source>In config.yaml, below “models”:</source>
        <translation>En config.yaml, bajo «models»:</translation>
    </message>
    <message>
        <source>In a terminal:</source>
        <translation>En una terminal:</translation>
    </message>
    <message>
        <source>With OpenAI&apos;s package (pip install openai):</source>
        <translation>Con el paquete de OpenAI (pip install openai):</translation>
    </message>
    <message>
        <source>answered by {names}</source>
        <translation>respondido por {names}</translation>
    </message>
    <message>
        <source>Explain language models in three sentences.</source>
        <translation>Explica en tres frases los modelos de lenguaje.</translation>
    </message>
    <message>
        <source>Suggest a dinner for five friends.</source>
        <translation>Propón una cena para cinco amigos.</translation>
    </message>
    <message>
        <source>Write a haiku about sharing.</source>
        <translation>Escribe un haiku sobre compartir.</translation>
    </message>
    <message>
        <source>size unknown</source>
        <translation>tamaño desconocido</translation>
    </message>
    <message>
        <source>licence {name}</source>
        <translation>licencia {name}</translation>
    </message>
    <message>
        <source>licence unknown</source>
        <translation>licencia desconocida</translation>
    </message>
    <message>
        <source>on this computer</source>
        <translation>en este ordenador</translation>
    </message>
    <message>
        <source>to be downloaded</source>
        <translation>se descargará</translation>
    </message>
    <message>
        <source>its owner must grant you access</source>
        <translation>su propietario debe concederte acceso</translation>
    </message>
    <message>
        <source>Fits on this computer</source>
        <translation>Cabe en este ordenador</translation>
    </message>
    <message numerus="yes">
        <source>Fits with %n friend(s) like you</source>
        <translation>
            <numerusform>Cabe con %n amigo como tú</numerusform>
            <numerusform>Cabe con %n amigos como tú</numerusform>
        </translation>
    </message>
    <message>
        <source>its TCP port</source>
        <translation>su puerto TCP</translation>
    </message>
    <message>
        <source>Others reach this computer: members have tried.</source>
        <translation>Los demás llegan a este ordenador: otros miembros lo han probado.</translation>
    </message>
    <message>
        <source>This computer has a public address, but no member has tried yet to reach it.</source>
        <translation>Este ordenador tiene una dirección pública, pero ningún miembro ha intentado aún llegar a él.</translation>
    </message>
    <message>
        <source>Others reach this computer through a relay. It is faster if your router forwards {port}.</source>
        <translation>Los demás llegan a este ordenador a través de un relé. Irá más rápido si tu router redirige {port}.</translation>
    </message>
    <message>
        <source>Newcomers reach the swarm through other computers that the invite names.</source>
        <translation>Quien llega nuevo entra al enjambre por otros ordenadores que figuran en la invitación.</translation>
    </message>
    <message>
        <source>Only computers in your own network can reach this one. For friends elsewhere, let your router forward {port}.</source>
        <translation>Solo los ordenadores de tu propia red llegan a este. Para los amigos de fuera, haz que tu router redirija {port}.</translation>
    </message>
    <message>
        <source>This swarm is for this computer alone.</source>
        <translation>Este enjambre es solo para este ordenador.</translation>
    </message>
    <message>
        <source>Other computers cannot reach this one. Connect it to a network before you send an invite.</source>
        <translation>Los demás ordenadores no llegan a este. Conéctalo a una red antes de enviar una invitación.</translation>
    </message>
    <message>
        <source>Picture (PNG)</source>
        <translation>Imagen (PNG)</translation>
    </message>
    <message>
        <source>Save the picture</source>
        <translation>Guardar la imagen</translation>
    </message>
    <message>
        <source>The picture is in {file}.</source>
        <translation>La imagen está en {file}.</translation>
    </message>
    <message>
        <source>Can&apos;t join the swarm yet: {why}. Trying again.</source>
        <translation>Aún no se puede entrar en el enjambre: {why}. Se vuelve a intentar.</translation>
    </message>
    <message>
        <source>The daemon runs version {theirs}, this program is {ours}</source>
        <translation>El servicio es de la versión {theirs} y este programa de la {ours}</translation>
    </message>
    <message>
        <source>ask the person who invited you for a new invite</source>
        <translation>pide una invitación nueva a quien te invitó</translation>
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
        <translation>ningún nodo de entrada responde ({number} intentados)</translation>
    </message>
    <message>
        <source>no member is online who could let you in</source>
        <translation>no hay ningún miembro en línea que pueda dejarte entrar</translation>
    </message>
    <message>
        <source>removed from the swarm</source>
        <translation>eliminado del enjambre</translation>
    </message>
    <message>
        <source>restart the daemon: potluck drain, then potluck start</source>
        <translation>reinicia el servicio: potluck drain y después potluck start</translation>
    </message>
    <message>
        <source>start this program again</source>
        <translation>vuelve a iniciar este programa</translation>
    </message>
    <message>
        <source>the engine failed unexpectedly</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the invite has been used up</source>
        <translation>la invitación está agotada</translation>
    </message>
    <message>
        <source>the invite has expired</source>
        <translation>la invitación ha caducado</translation>
    </message>
    <message>
        <source>the invite was ended, or it was not made by somebody who may invite</source>
        <translation>la invitación se anuló o no la hizo alguien que pueda invitar</translation>
    </message>
    <message>
        <source>the peer does not show that it belongs to the swarm</source>
        <translation>el otro nodo no demuestra que pertenece al enjambre</translation>
    </message>
    <message>
        <source>the peer knows too little of the swarm; try again when it has met others</source>
        <translation>el otro nodo sabe muy poco del enjambre; inténtalo cuando haya encontrado a otros</translation>
    </message>
    <message>
        <source>the rest of what it joined for</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the swarm does not admit this computer: {why}</source>
        <translation>el enjambre no admite este ordenador: {why}</translation>
    </message>
    <message>
        <source>this node has just started</source>
        <translation>este nodo acaba de arrancar</translation>
    </message>
    <message>
        <source>this node lets nobody in</source>
        <translation>este nodo no deja entrar a nadie</translation>
    </message>
    <message>
        <source>too many people joined from your part of the network today; try again tomorrow</source>
        <translation>hoy ha entrado demasiada gente desde tu parte de la red; vuelve a intentarlo mañana</translation>
    </message>
    <message>
        <source>try again when another member is online</source>
        <translation>inténtalo cuando otro miembro esté en línea</translation>
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
        <translation>Actividad</translation>
    </message>
    <message>
        <source>Everything</source>
        <translation>Todo</translation>
    </message>
    <message>
        <source>Stepped aside</source>
        <translation>A un lado</translation>
    </message>
    <message>
        <source>Problems</source>
        <translation>Problemas</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Mostrar</translation>
    </message>
    <message>
        <source>Nothing here yet</source>
        <translation>Aún no hay nada</translation>
    </message>
    <message>
        <source>Keep serving while {program} runs</source>
        <translation>Seguir sirviendo mientras funciona {program}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Quitar</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>No apartarse nunca por</translation>
    </message>
    <message>
        <source>Potluck now keeps serving while {program} runs.</source>
        <translation>Potluck sigue sirviendo ahora mientras funciona {program}.</translation>
    </message>
    <message>
        <source>Show more</source>
        <translation>Mostrar más</translation>
    </message>
    <message>
        <source>Never for this app</source>
        <translation>Nunca por esta aplicación</translation>
    </message>
    <message>
        <source>Never step aside for {program}</source>
        <translation>No apartarse nunca por {program}</translation>
    </message>
    <message>
        <source>Step aside for {program} again</source>
        <translation>Volver a apartarse por {program}</translation>
    </message>
    <message>
        <source>Potluck steps aside for {program} again.</source>
        <translation>Potluck vuelve a apartarse por {program}.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Deshacer</translation>
    </message>
</context>
<context>
    <name>AwayPage</name>
    <message>
        <source>Start Potluck</source>
        <translation>Iniciar Potluck</translation>
    </message>
    <message>
        <source>Show log</source>
        <translation>Mostrar el registro</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Reiniciar</translation>
    </message>
    <message>
        <source>Potluck is being updated</source>
        <translation>Potluck se está actualizando</translation>
    </message>
    <message>
        <source>The new version starts in a moment.</source>
        <translation>La nueva versión arranca en un momento.</translation>
    </message>
    <message>
        <source>Potluck was updated</source>
        <translation>Potluck se ha actualizado</translation>
    </message>
    <message>
        <source>Starting Potluck…</source>
        <translation>Potluck se está iniciando…</translation>
    </message>
</context>
<context>
    <name>BackupForm</name>
    <message>
        <source>Password</source>
        <translation>Contraseña</translation>
    </message>
    <message>
        <source>Password again</source>
        <translation>Contraseña otra vez</translation>
    </message>
    <message>
        <source>Save backup…</source>
        <translation>Guardar copia…</translation>
    </message>
    <message>
        <source>If this computer breaks, a backup makes a new one yours, in all your swarms. Keep the file and the password apart.</source>
        <translation>Si este ordenador se rompe, con la copia otro pasa a ser tuyo en todos tus enjambres. Guarda el archivo y la contraseña por separado.</translation>
    </message>
    <message>
        <source>Backup of your keys</source>
        <translation>Copia de tus claves</translation>
    </message>
    <message>
        <source>Your keys are in {file}.</source>
        <translation>Tus claves están en {file}.</translation>
    </message>
    <message numerus="yes">
        <source>The password needs at least %n letters.</source>
        <translation>
            <numerusform>La contraseña necesita al menos %n letra.</numerusform>
            <numerusform>La contraseña necesita al menos %n letras.</numerusform>
        </translation>
    </message>
    <message>
        <source>The two passwords differ.</source>
        <translation>Las dos contraseñas son distintas.</translation>
    </message>
    <message>
        <source>Save backup</source>
        <translation>Guardar copia</translation>
    </message>
</context>
<context>
    <name>ChatOptions</name>
    <message>
        <source>Instructions</source>
        <translation>Instrucciones</translation>
    </message>
    <message>
        <source>For example: Answer in one sentence.</source>
        <translation>Por ejemplo: Responde en una frase.</translation>
    </message>
    <message>
        <source>At 0 the likeliest word always comes next; about 1 gives more variety.</source>
        <translation>Con 0 sigue siempre la palabra más probable; con cerca de 1 hay más variedad.</translation>
    </message>
    <message>
        <source>The model reads them before each conversation.</source>
        <translation>El modelo las lee antes de cada conversación.</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>Opciones</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatura</translation>
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
        <translation>Conversación nueva</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Enviar</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Detener</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Tú</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Editar</translation>
    </message>
    <message>
        <source>Copy the answer</source>
        <translation>Copiar la respuesta</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
    </message>
    <message>
        <source>Asking…</source>
        <translation>Preguntando…</translation>
    </message>
    <message>
        <source>The compute engine is not set up yet. Set it up on the page Installation.</source>
        <translation>El motor de cálculo aún no está instalado. Instálalo en la página Instalación.</translation>
    </message>
    <message>
        <source>People serving this model can read your messages.</source>
        <translation>Quienes sirven este modelo pueden leer tus mensajes.</translation>
    </message>
    <message>
        <source>this computer starts</source>
        <translation>este ordenador arranca</translation>
    </message>
    <message>
        <source>Waiting for the first word…</source>
        <translation>Esperando la primera palabra…</translation>
    </message>
    <message>
        <source>The chat service was stopped.</source>
        <translation>El servicio de chat se detuvo.</translation>
    </message>
    <message>
        <source>This conversation could not be kept. Is the disk full?</source>
        <translation>No se pudo guardar la conversación. ¿Está lleno el disco?</translation>
    </message>
    <message>
        <source>No answer. A small model only continues a text: begin a sentence.</source>
        <translation>Sin respuesta. Un modelo pequeño solo continúa un texto: empieza una frase.</translation>
    </message>
    <message>
        <source>Join or start a swarm to chat.</source>
        <translation>Únete a un enjambre o crea uno para chatear.</translation>
    </message>
    <message>
        <source>No model to talk to yet</source>
        <translation>Aún no hay modelo con el que hablar</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>Preguntar de nuevo</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>Detenido.</translation>
    </message>
    <message>
        <source>Talk to {model}</source>
        <translation>Habla con {model}</translation>
    </message>
</context>
<context>
    <name>CommandStarter</name>
    <message>
        <source>Potluck does not start. The log says more: potluck logs</source>
        <translation>Potluck no arranca. El registro dice más: potluck logs</translation>
    </message>
</context>
<context>
    <name>ConversationList</name>
    <message>
        <source>Search</source>
        <translation>Buscar</translation>
    </message>
    <message>
        <source>Search in conversations</source>
        <translation>Buscar en las conversaciones</translation>
    </message>
    <message>
        <source>Conversations are kept on this computer only.</source>
        <translation>Las conversaciones se guardan solo en este ordenador.</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Conversaciones</translation>
    </message>
    <message>
        <source>No conversation has these words.</source>
        <translation>Ninguna conversación tiene estas palabras.</translation>
    </message>
    <message>
        <source>No conversations yet.</source>
        <translation>Aún no hay conversaciones.</translation>
    </message>
    <message>
        <source>Search to find older ones.</source>
        <translation>Busca para encontrar las más antiguas.</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Abrir</translation>
    </message>
    <message>
        <source>Open “{title}”</source>
        <translation>Abrir «{title}»</translation>
    </message>
    <message>
        <source>Delete “{title}”</source>
        <translation>Borrar «{title}»</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Borrar</translation>
    </message>
    <message>
        <source>Delete the conversation “{title}”?</source>
        <translation>¿Borrar la conversación «{title}»?</translation>
    </message>
</context>
<context>
    <name>CopyButton</name>
    <message>
        <source>Copy</source>
        <translation>Copiar</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Copiado</translation>
    </message>
</context>
<context>
    <name>DetectorsCard</name>
    <message>
        <source>Detectors</source>
        <translation>Detectores</translation>
    </message>
</context>
<context>
    <name>DeviceCards</name>
    <message>
        <source>Several graphics cards share the layers. Choose none, and Potluck takes the fastest.</source>
        <translation>Varias tarjetas gráficas se reparten las capas. Si no eliges ninguna, Potluck usa la más rápida.</translation>
    </message>
</context>
<context>
    <name>Devices</name>
    <message>
        <source>In use</source>
        <translation>En uso</translation>
    </message>
    <message>
        <source>Not in use</source>
        <translation>Sin usar</translation>
    </message>
</context>
<context>
    <name>DiagnosticsPage</name>
    <message>
        <source>Diagnostics</source>
        <translation>Diagnóstico</translation>
    </message>
    <message>
        <source>Check now</source>
        <translation>Comprobar ahora</translation>
    </message>
    <message>
        <source>Not checked yet</source>
        <translation>Aún sin comprobar</translation>
    </message>
    <message>
        <source>Checking…</source>
        <translation>Comprobando…</translation>
    </message>
    <message>
        <source>Checked {done} of {all}…</source>
        <translation>{done} de {all} comprobados…</translation>
    </message>
    <message>
        <source>A check-up covers the installation, disk, graphics card, network and swarm.</source>
        <translation>Se revisan la instalación, el disco, la tarjeta gráfica, la red y el enjambre.</translation>
    </message>
    <message>
        <source>Checked {time}.</source>
        <translation>Revisado: {time}.</translation>
    </message>
    <message numerus="yes">
        <source>%n check(s) found nothing wrong</source>
        <translation>
            <numerusform>%n comprobación sin problemas</numerusform>
            <numerusform>%n comprobaciones sin problemas</numerusform>
        </translation>
    </message>
    <message>
        <source>Report (*.zip)</source>
        <translation>Informe (*.zip)</translation>
    </message>
    <message>
        <source>Save a report</source>
        <translation>Guardar un informe</translation>
    </message>
    <message>
        <source>Saved {file} ({size}): {parts}.</source>
        <translation>Guardado {file} ({size}): {parts}.</translation>
    </message>
    <message>
        <source>Copied, without keys or addresses.</source>
        <translation>Copiado, sin claves ni direcciones.</translation>
    </message>
    <message>
        <source>Check-up progress</source>
        <translation>Progreso de la revisión</translation>
    </message>
    <message>
        <source>A report holds settings, history and log, without keys, invites, addresses or your user name.</source>
        <translation>Un informe contiene ajustes, historial y registro, sin claves, invitaciones, direcciones ni tu nombre de usuario.</translation>
    </message>
    <message>
        <source>Check-up</source>
        <translation>Comprobación</translation>
    </message>
    <message>
        <source>Save a report…</source>
        <translation>Guardar informe…</translation>
    </message>
    <message>
        <source>Copy system info</source>
        <translation>Copiar datos del sistema</translation>
    </message>
    <message>
        <source>Get help</source>
        <translation>Obtener ayuda</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Registro</translation>
    </message>
</context>
<context>
    <name>EarningsPage</name>
    <message>
        <source>Earnings</source>
        <translation>Ganancias</translation>
    </message>
    <message>
        <source>Day</source>
        <translation>Día</translation>
    </message>
    <message>
        <source>Week</source>
        <translation>Semana</translation>
    </message>
    <message>
        <source>Month</source>
        <translation>Mes</translation>
    </message>
    <message>
        <source>Period</source>
        <translation>Periodo</translation>
    </message>
    <message>
        <source>points earned</source>
        <translation>puntos ganados</translation>
    </message>
    <message>
        <source>tokens served</source>
        <translation>tokens servidos</translation>
    </message>
    <message numerus="yes">
        <source>person(s) helped</source>
        <translation>
            <numerusform>persona ayudada</numerusform>
            <numerusform>personas ayudadas</numerusform>
        </translation>
    </message>
    <message>
        <source>People</source>
        <translation>Personas</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>Earned</source>
        <translation>Ganado</translation>
    </message>
    <message>
        <source>Points earned</source>
        <translation>Puntos ganados</translation>
    </message>
    <message>
        <source>Points by model</source>
        <translation>Puntos por modelo</translation>
    </message>
    <message>
        <source>No points in this period.</source>
        <translation>Sin puntos en este periodo.</translation>
    </message>
    <message>
        <source>Share…</source>
        <translation>Compartir…</translation>
    </message>
    <message>
        <source>My computer&apos;s day with Potluck</source>
        <translation>El día de mi ordenador con Potluck</translation>
    </message>
    <message>
        <source>My computer&apos;s week with Potluck</source>
        <translation>La semana de mi ordenador con Potluck</translation>
    </message>
    <message>
        <source>My computer&apos;s month with Potluck</source>
        <translation>El mes de mi ordenador con Potluck</translation>
    </message>
    <message>
        <source>People share their graphics cards, and together they run large language models.</source>
        <translation>La gente comparte sus tarjetas gráficas y juntos ejecutan grandes modelos de lenguaje.</translation>
    </message>
    <message>
        <source>{amount} points</source>
        <translation>{amount} puntos</translation>
    </message>
    <message>
        <source>Points move your requests up the queue. They are not money.</source>
        <translation>Los puntos adelantan tus peticiones en la cola. No son dinero.</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Cuándo</translation>
    </message>
    <message>
        <source>Points by time</source>
        <translation>Puntos por tiempo</translation>
    </message>
    <message>
        <source>Show as table</source>
        <translation>Mostrar como tabla</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modelo</translation>
    </message>
    <message>
        <source>Show as chart</source>
        <translation>Mostrar como gráfico</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportar…</translation>
    </message>
    <message>
        <source>By model</source>
        <translation>Por modelo</translation>
    </message>
</context>
<context>
    <name>EnergyCard</name>
    <message>
        <source>electricity used</source>
        <translation>electricidad usada</translation>
    </message>
    <message>
        <source>cost (no price set)</source>
        <translation>coste (sin precio indicado)</translation>
    </message>
    <message>
        <source>time served</source>
        <translation>tiempo sirviendo</translation>
    </message>
    <message numerus="yes">
        <source>day(s) in a row</source>
        <translation>
            <numerusform>día seguido</numerusform>
            <numerusform>días seguidos</numerusform>
        </translation>
    </message>
    <message>
        <source>Energy and time</source>
        <translation>Energía y tiempo</translation>
    </message>
    <message>
        <source>cost at your price</source>
        <translation>coste a tu precio</translation>
    </message>
</context>
<context>
    <name>EnginePanel</name>
    <message>
        <source>Looking at this computer…</source>
        <translation>Examinando este equipo…</translation>
    </message>
    <message>
        <source>Installation progress</source>
        <translation>Progreso de la instalación</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>Actualizar</translation>
    </message>
    <message>
        <source>Go back to the previous one</source>
        <translation>Volver al anterior</translation>
    </message>
    <message>
        <source>Change build or folder…</source>
        <translation>Cambiar variante o carpeta…</translation>
    </message>
    <message>
        <source>Using your own Python environment.</source>
        <translation>Usa tu propio entorno de Python.</translation>
    </message>
    <message>
        <source>Ready: {devices}.</source>
        <translation>Listo: {devices}.</translation>
    </message>
    <message>
        <source>PyTorch build: {variant}</source>
        <translation>Variante de PyTorch: {variant}</translation>
    </message>
    <message>
        <source>Newer packages are available. Update when it suits you.</source>
        <translation>Hay paquetes más nuevos. Actualiza cuando te venga bien.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Cancelar</translation>
    </message>
    <message>
        <source>Folder: {folder}</source>
        <translation>Carpeta: {folder}</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
    </message>
</context>
<context>
    <name>FirstRunPage</name>
    <message>
        <source>Back</source>
        <translation>Atrás</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Continuar</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>Más tarde</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Este ordenador</translation>
    </message>
    <message>
        <source>How much, and when</source>
        <translation>Cuánto y cuándo</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Cuando inicies sesión</translation>
    </message>
    <message>
        <source>Potluck computes on the device marked here.</source>
        <translation>Potluck calcula en el dispositivo marcado aquí.</translation>
    </message>
    <message>
        <source>You come first</source>
        <translation>Tú vas primero</translation>
    </message>
    <message>
        <source>Welcome to Potluck</source>
        <translation>Te damos la bienvenida a Potluck</translation>
    </message>
    <message>
        <source>Try it on this computer</source>
        <translation>Probarlo en este ordenador</translation>
    </message>
    <message>
        <source>Trying it sets up the compute engine first. {sizes}</source>
        <translation>Para probarlo, primero se instala el motor de cálculo. {sizes}</translation>
    </message>
    <message>
        <source>Lend a swarm the power that you do not need.</source>
        <translation>Presta a un enjambre la potencia que no necesitas.</translation>
    </message>
    <message>
        <source>Compute engine</source>
        <translation>Motor de cálculo</translation>
    </message>
    <message>
        <source>Potluck chooses the PyTorch build that fits this computer.</source>
        <translation>Potluck elige la variante de PyTorch adecuada para este ordenador.</translation>
    </message>
    <message>
        <source>Choose a swarm</source>
        <translation>Elige un enjambre</translation>
    </message>
    <message>
        <source>A swarm is a group of people who run a model together.</source>
        <translation>Un enjambre es un grupo de personas que ejecutan juntas un modelo.</translation>
    </message>
    <message>
        <source>Your computer</source>
        <translation>Tu ordenador</translation>
    </message>
    <message>
        <source>You can change this later in When to donate and Limits.</source>
        <translation>Puedes cambiarlo después en Cuándo donar y Límites.</translation>
    </message>
    <message>
        <source>Start at log-in</source>
        <translation>Inicio de sesión</translation>
    </message>
    <message>
        <source>Nothing starts by itself unless you turn it on.</source>
        <translation>Nada arranca solo si no lo activas.</translation>
    </message>
    <message>
        <source>{step} of {all}</source>
        <translation>{step} de {all}</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Listo</translation>
    </message>
    <message>
        <source>You are in the swarm “{swarm}”, which runs {model}.</source>
        <translation>Estás en el enjambre «{swarm}», que hace funcionar {model}.</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Pasos</translation>
    </message>
    <message>
        <source>How it works</source>
        <translation>Cómo funciona</translation>
    </message>
    <message>
        <source>Run large models together</source>
        <translation>Ejecutar juntos modelos grandes</translation>
    </message>
    <message>
        <source>Your computer serves some layers of a model. Others serve the rest, and all can use it.</source>
        <translation>Tu ordenador sirve algunas capas de un modelo. Otros sirven el resto y todos pueden usarlo.</translation>
    </message>
    <message>
        <source>When a game starts, Potluck frees the graphics memory within a second.</source>
        <translation>Cuando empieza un juego, Potluck libera la memoria gráfica en un segundo.</translation>
    </message>
    <message>
        <source>They see your internet address, your layers and your speed. People serving a model can read the messages you send to it.</source>
        <translation>Ven tu dirección de internet, tus capas y tu velocidad. Quienes sirven un modelo pueden leer los mensajes que le envías.</translation>
    </message>
    <message>
        <source>No account, no telemetry. Your files stay private, and nobody can run code here.</source>
        <translation>Sin cuenta ni telemetría. Tus archivos siguen siendo privados y nadie puede ejecutar código aquí.</translation>
    </message>
    <message>
        <source>Your games come first</source>
        <translation>Tus juegos van primero</translation>
    </message>
    <message>
        <source>Earn points</source>
        <translation>Gana puntos</translation>
    </message>
    <message>
        <source>Serving others earns points, which move your requests up the queue. They are not money.</source>
        <translation>Servir a otros da puntos, que adelantan tus peticiones en la cola. No son dinero.</translation>
    </message>
    <message>
        <source>What others can see</source>
        <translation>Qué pueden ver los demás</translation>
    </message>
    <message>
        <source>Members of your swarm</source>
        <translation>Los miembros de tu enjambre</translation>
    </message>
    <message>
        <source>Nobody else</source>
        <translation>Nadie más</translation>
    </message>
</context>
<context>
    <name>FounderKeyCard</name>
    <message>
        <source>Show recovery code…</source>
        <translation>Mostrar el código de recuperación…</translation>
    </message>
    <message>
        <source>If you lose this computer, only the recovery code lets you remove admins and appoint new ones.</source>
        <translation>Si pierdes este ordenador, solo con el código de recuperación podrás quitar y nombrar administradores.</translation>
    </message>
    <message>
        <source>Founder&apos;s key</source>
        <translation>Clave de fundación</translation>
    </message>
    <message>
        <source>I have a recovery code</source>
        <translation>Tengo un código de recuperación</translation>
    </message>
    <message>
        <source>Become the founder again</source>
        <translation>Recuperar la clave</translation>
    </message>
    <message>
        <source>Recovery code</source>
        <translation>Código de recuperación</translation>
    </message>
    <message>
        <source>14 groups of four letters</source>
        <translation>14 grupos de cuatro letras</translation>
    </message>
    <message>
        <source>Write it down and keep it safe: whoever has it is the founder of {swarm}.</source>
        <translation>Apúntalo y guárdalo bien: quien lo tiene controla {swarm} como quien lo fundó.</translation>
    </message>
    <message>
        <source>This computer has the founder&apos;s key again.</source>
        <translation>Este ordenador vuelve a tener la clave de fundación.</translation>
    </message>
</context>
<context>
    <name>GameQuestion</name>
    <message>
        <source>It is a game</source>
        <translation>Es un juego</translation>
    </message>
    <message>
        <source>Not a game</source>
        <translation>No es un juego</translation>
    </message>
    <message>
        <source>Is {program} a game?</source>
        <translation>¿Es {program} un juego?</translation>
    </message>
</context>
<context>
    <name>HomePage</name>
    <message>
        <source>Home</source>
        <translation>Inicio</translation>
    </message>
    <message>
        <source>Pause longer</source>
        <translation>Pausar más tiempo</translation>
    </message>
    <message>
        <source>Potluck {version} is available.</source>
        <translation>Potluck {version} está disponible.</translation>
    </message>
    <message>
        <source>What&apos;s new</source>
        <translation>Novedades</translation>
    </message>
    <message>
        <source>Set up the compute engine</source>
        <translation>Instalar el motor de cálculo</translation>
    </message>
    <message>
        <source>Show progress</source>
        <translation>Ver el progreso</translation>
    </message>
    <message>
        <source>Show all detectors</source>
        <translation>Ver todos los detectores</translation>
    </message>
    <message>
        <source>No swarm joined</source>
        <translation>En ningún enjambre</translation>
    </message>
    <message>
        <source>Invite someone</source>
        <translation>Invitar a alguien</translation>
    </message>
    <message>
        <source>{model}, swarm “{swarm}”</source>
        <translation>{model}, enjambre «{swarm}»</translation>
    </message>
</context>
<context>
    <name>InstallationPage</name>
    <message>
        <source>Installation</source>
        <translation>Instalación</translation>
    </message>
    <message>
        <source>Compute engine</source>
        <translation>Motor de cálculo</translation>
    </message>
    <message>
        <source>Updates</source>
        <translation>Actualizaciones</translation>
    </message>
</context>
<context>
    <name>InvitingCard</name>
    <message>
        <source>Copy invite</source>
        <translation>Copiar invitación</translation>
    </message>
    <message>
        <source>Send it over a channel you trust: whoever has it can join.</source>
        <translation>Envíala por un medio de confianza: quien la tenga puede unirse.</translation>
    </message>
    <message>
        <source>People</source>
        <translation>Personas</translation>
    </message>
    <message>
        <source>How many people can join with it</source>
        <translation>Cuántas pueden unirse con ella</translation>
    </message>
    <message>
        <source>Days</source>
        <translation>Días</translation>
    </message>
    <message>
        <source>How long they can join with it</source>
        <translation>Durante cuánto tiempo pueden unirse</translation>
    </message>
    <message>
        <source>Invite someone</source>
        <translation>Invitar a alguien</translation>
    </message>
    <message>
        <source>Open invites</source>
        <translation>Invitaciones abiertas</translation>
    </message>
    <message>
        <source>{used} of {people} used</source>
        <translation>{used} de {people} usadas</translation>
    </message>
    <message>
        <source>until {day}</source>
        <translation>hasta el {day}</translation>
    </message>
    <message>
        <source>Open to everybody</source>
        <translation>Abierta a todos</translation>
    </message>
    <message>
        <source>End…</source>
        <translation>Anular…</translation>
    </message>
    <message>
        <source>End: {invite}</source>
        <translation>Anular: {invite}</translation>
    </message>
    <message>
        <source>End this invite?</source>
        <translation>¿Anular esta invitación?</translation>
    </message>
    <message>
        <source>End the invite</source>
        <translation>Anular la invitación</translation>
    </message>
    <message>
        <source>Nobody can join with it any more. People who joined with it and are confirmed stay members. The others have to ask for another invite.</source>
        <translation>Ya nadie podrá unirse con ella. Quien se unió con ella y ya está confirmado sigue siendo miembro. Los demás tendrán que pedir otra.</translation>
    </message>
    <message>
        <source>The invite has ended.</source>
        <translation>La invitación está anulada.</translation>
    </message>
    <message>
        <source>Invite {id}</source>
        <translation>Invitación {id}</translation>
    </message>
    <message>
        <source>Invite copied. Anybody can join with it, so it&apos;s no secret.</source>
        <translation>Invitación copiada. Cualquiera puede entrar con ella, así que no es un secreto.</translation>
    </message>
    <message numerus="yes">
        <source>Invite copied. %n people can join with it until {day}.</source>
        <translation>
            <numerusform>Invitación copiada. %n persona puede unirse con ella hasta el {day}.</numerusform>
            <numerusform>Invitación copiada. %n personas pueden unirse con ella hasta el {day}.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>JoinForm</name>
    <message>
        <source>Join this swarm</source>
        <translation>Unirse a este enjambre</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>Elegir un modelo</translation>
    </message>
    <message>
        <source>I use Potluck on another computer</source>
        <translation>Uso Potluck en otro ordenador</translation>
    </message>
    <message>
        <source>Invite others from Home. A small demo model is included.</source>
        <translation>Invita a otros desde Inicio. Se incluye un pequeño modelo de demostración.</translation>
    </message>
    <message>
        <source>Start a new swarm</source>
        <translation>Crear un enjambre nuevo</translation>
    </message>
    <message>
        <source>Enter the invite to the swarm “{swarm}” that its members sent you.</source>
        <translation>Introduce la invitación al enjambre «{swarm}» que te enviaron sus miembros.</translation>
    </message>
    <message>
        <source>Serve the new swarm with this computer, instead of “{swarm}”</source>
        <translation>Servir el nuevo enjambre con este ordenador, en lugar de «{swarm}»</translation>
    </message>
    <message>
        <source>Start this swarm</source>
        <translation>Crear este enjambre</translation>
    </message>
    <message>
        <source>Start a swarm with the demo model</source>
        <translation>Crear un enjambre con el modelo de prueba</translation>
    </message>
    <message>
        <source>I have an invite</source>
        <translation>Tengo una invitación</translation>
    </message>
    <message>
        <source>Anybody may join, on probation at first</source>
        <translation>Cualquiera puede unirse, al principio a prueba</translation>
    </message>
    <message>
        <source>Invite</source>
        <translation>Invitación</translation>
    </message>
    <message>
        <source>Another model: its name on Hugging Face, or a folder</source>
        <translation>Otro modelo: su nombre en Hugging Face o una carpeta</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modelo</translation>
    </message>
</context>
<context>
    <name>LayersCard</name>
    <message>
        <source>Who serves the model</source>
        <translation>Quién ofrece el modelo</translation>
    </message>
    <message>
        <source>As of {time}.</source>
        <translation>A las {time}.</translation>
    </message>
    <message>
        <source>you</source>
        <translation>tú</translation>
    </message>
    <message>
        <source>Served by {people}.</source>
        <translation>Lo ofrecen: {people}.</translation>
    </message>
</context>
<context>
    <name>LimitsPage</name>
    <message>
        <source>Limits</source>
        <translation>Límites</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>Sin límite</translation>
    </message>
    <message>
        <source>All that fits</source>
        <translation>Todo lo que quepa</translation>
    </message>
    <message>
        <source>System memory for Potluck as a whole</source>
        <translation>Memoria del sistema para todo Potluck</translation>
    </message>
    <message>
        <source>Layers to serve</source>
        <translation>Número de capas</translation>
    </message>
    <message>
        <source>Upload speed</source>
        <translation>Velocidad de subida</translation>
    </message>
    <message>
        <source>Download speed</source>
        <translation>Velocidad de descarga</translation>
    </message>
    <message>
        <source>Upload per day</source>
        <translation>Subida al día</translation>
    </message>
    <message>
        <source>Download per day</source>
        <translation>Descarga al día</translation>
    </message>
    <message>
        <source>Upload per month</source>
        <translation>Subida al mes</translation>
    </message>
    <message>
        <source>Download per month</source>
        <translation>Descarga al mes</translation>
    </message>
    <message>
        <source>When a day&apos;s or a month&apos;s data is used up, Potluck stops until the next one begins.</source>
        <translation>Cuando se agotan los datos de un día o de un mes, Potluck se detiene hasta que empiece el siguiente.</translation>
    </message>
    <message>
        <source>Choose their folder on Models.</source>
        <translation>Elige su carpeta en Modelos.</translation>
    </message>
    <message>
        <source>Downloads wait while less is free.</source>
        <translation>Las descargas esperan si hay menos espacio.</translation>
    </message>
    <message>
        <source>Space for downloaded models</source>
        <translation>Espacio para modelos descargados</translation>
    </message>
    <message>
        <source>Price per kilowatt-hour</source>
        <translation>Precio por kilovatio hora</translation>
    </message>
    <message>
        <source>In your currency. Earnings then shows your costs.</source>
        <translation>En tu moneda. Ganancias muestra entonces tus costes.</translation>
    </message>
    <message>
        <source>Not set</source>
        <translation>Sin indicar</translation>
    </message>
    <message>
        <source>Cost per day</source>
        <translation>Coste al día</translation>
    </message>
    <message>
        <source>Potluck stops for the day when the cost reaches this.</source>
        <translation>Al llegar a este coste, Potluck para por hoy.</translation>
    </message>
    <message>
        <source>Power while serving</source>
        <translation>Potencia al servir</translation>
    </message>
    <message>
        <source>Enter the reading of a power meter, if you have one.</source>
        <translation>Escribe la lectura de un medidor, si tienes uno.</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Memoria</translation>
    </message>
    <message>
        <source>This month so far: {sent} sent, {received} received</source>
        <translation>Este mes hasta ahora: {sent} enviados, {received} recibidos</translation>
    </message>
    <message>
        <source>Always left free for other programs</source>
        <translation>Siempre libre para otros programas</translation>
    </message>
    <message>
        <source>Half of them</source>
        <translation>La mitad</translation>
    </message>
    <message>
        <source>Processor cores to use</source>
        <translation>Núcleos del procesador</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Red</translation>
    </message>
    <message>
        <source>Mbit/s</source>
        <translation>Mbit/s</translation>
    </message>
    <message>
        <source>Disk</source>
        <translation>Disco</translation>
    </message>
    <message>
        <source>Always left free on the disk</source>
        <translation>Siempre libre en el disco</translation>
    </message>
    <message>
        <source>Electricity</source>
        <translation>Electricidad</translation>
    </message>
    <message>
        <source>Measured</source>
        <translation>Medida</translation>
    </message>
</context>
<context>
    <name>LogView</name>
    <message>
        <source>Log of the daemon</source>
        <translation>Registro del servicio</translation>
    </message>
</context>
<context>
    <name>Login</name>
    <message>
        <source>It follows your rules.</source>
        <translation>Siguiendo tus reglas.</translation>
    </message>
    <message>
        <source>Start donating</source>
        <translation>Empezar a donar</translation>
    </message>
    <message>
        <source>Set in {file}</source>
        <translation>Definido en {file}</translation>
    </message>
    <message>
        <source>Set up for all users of this computer.</source>
        <translation>Configurado para todos los usuarios de este ordenador.</translation>
    </message>
    <message>
        <source>Not available on this computer.</source>
        <translation>No disponible en este ordenador.</translation>
    </message>
    <message>
        <source>Show Potluck in the tray</source>
        <translation>Mostrar Potluck en la bandeja</translation>
    </message>
    <message>
        <source>Without a window.</source>
        <translation>Sin ventana.</translation>
    </message>
</context>
<context>
    <name>MachineCard</name>
    <message>
        <source>Processor</source>
        <translation>Procesador</translation>
    </message>
    <message>
        <source>Graphics card</source>
        <translation>Tarjeta gráfica</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Memoria</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Este ordenador</translation>
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
        <translation>Conectando…</translation>
    </message>
    <message>
        <source>Potluck {installed} is installed, and this window still runs {running}. Restarting it ends your chat, but not your serving.</source>
        <translation>Potluck {installed} está instalado y esta ventana aún usa {running}. Reiniciarla cierra tu chat, pero sigues sirviendo.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Reiniciar</translation>
    </message>
</context>
<context>
    <name>MembersCard</name>
    <message>
        <source>Search by name</source>
        <translation>Buscar por nombre</translation>
    </message>
    <message>
        <source>Search people by name</source>
        <translation>Buscar personas por nombre</translation>
    </message>
    <message>
        <source>Members</source>
        <translation>Miembros</translation>
    </message>
    <message>
        <source>Nobody has that name.</source>
        <translation>Nadie se llama así.</translation>
    </message>
    <message>
        <source>Nobody else has joined yet.</source>
        <translation>Todavía no se ha unido nadie más.</translation>
    </message>
    <message numerus="yes">
        <source>%n more. Search for a name.</source>
        <translation>
            <numerusform>%n más. Busca por nombre.</numerusform>
            <numerusform>%n más. Busca por nombre.</numerusform>
        </translation>
    </message>
    <message>
        <source>{name} (you)</source>
        <translation>{name} (tú)</translation>
    </message>
    <message>
        <source>Let in</source>
        <translation>Dejar entrar</translation>
    </message>
    <message>
        <source>Let {name} in</source>
        <translation>Dejar entrar a {name}</translation>
    </message>
    <message>
        <source>Make ordinary member</source>
        <translation>Quitar administración</translation>
    </message>
    <message>
        <source>Make admin</source>
        <translation>Nombrar administrador</translation>
    </message>
    <message>
        <source>Make {name} an ordinary member</source>
        <translation>Quitar la administración a {name}</translation>
    </message>
    <message>
        <source>Make {name} an admin</source>
        <translation>Nombrar administrador a {name}</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Quitar…</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>Quitar a {name}</translation>
    </message>
    <message>
        <source>{name} is a member now.</source>
        <translation>{name} ya es miembro.</translation>
    </message>
    <message>
        <source>{name} is an admin now.</source>
        <translation>{name} ya administra el enjambre.</translation>
    </message>
    <message>
        <source>{name} is an ordinary member now.</source>
        <translation>{name} ya no administra el enjambre.</translation>
    </message>
    <message>
        <source>Remove {name} from {swarm}?</source>
        <translation>¿Quitar a {name} de {swarm}?</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Quitar</translation>
    </message>
    <message>
        <source>Within a minute, their computers serve nobody here and nobody serves them. This cannot be undone. They can only come back with an invite.</source>
        <translation>En menos de un minuto sus ordenadores dejan de servir aquí y nadie los atiende. No se puede deshacer. Solo pueden volver con una invitación.</translation>
    </message>
    <message>
        <source>Also end the invite they used, which still lets people in</source>
        <translation>Anular también la invitación que usó, que aún deja entrar a otros</translation>
    </message>
    <message>
        <source>{name} was removed.</source>
        <translation>Se ha quitado a {name}.</translation>
    </message>
</context>
<context>
    <name>ModelPicker</name>
    <message>
        <source>Search</source>
        <translation>Buscar</translation>
    </message>
    <message>
        <source>Name of a model on Hugging Face</source>
        <translation>Nombre de un modelo en Hugging Face</translation>
    </message>
    <message>
        <source>Look in a folder…</source>
        <translation>Buscar en una carpeta…</translation>
    </message>
    <message>
        <source>Models to choose from</source>
        <translation>Modelos para elegir</translation>
    </message>
    <message>
        <source>Searching Hugging Face…</source>
        <translation>Buscando en Hugging Face…</translation>
    </message>
    <message>
        <source>Looking on this computer…</source>
        <translation>Buscando en este ordenador…</translation>
    </message>
    <message>
        <source>Choose a folder with a model</source>
        <translation>Elige una carpeta con un modelo</translation>
    </message>
    <message>
        <source>This computer now lends a model {size}. That decides how many friends a model needs.</source>
        <translation>Este ordenador presta ahora {size} a un modelo. De eso depende cuántos amigos necesita un modelo.</translation>
    </message>
    <message>
        <source>No model has such a name.</source>
        <translation>Ningún modelo se llama así.</translation>
    </message>
    <message>
        <source>Choose</source>
        <translation>Elegir</translation>
    </message>
    <message>
        <source>Choose {model}</source>
        <translation>Elegir {model}</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>Modelos</translation>
    </message>
    <message>
        <source>What the swarm needs</source>
        <translation>Qué necesita el enjambre</translation>
    </message>
    <message>
        <source>On the disk</source>
        <translation>En el disco</translation>
    </message>
    <message>
        <source>Download progress</source>
        <translation>Progreso de la descarga</translation>
    </message>
    <message>
        <source>On this computer</source>
        <translation>En este ordenador</translation>
    </message>
    <message>
        <source>Join a swarm. This computer then takes the layers that the swarm needs most.</source>
        <translation>Únete a un enjambre. Este ordenador tomará entonces las capas que más faltan.</translation>
    </message>
    <message>
        <source>Not serving a model</source>
        <translation>No se sirve ningún modelo</translation>
    </message>
    <message>
        <source>Downloading…</source>
        <translation>Descargando…</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Cargando…</translation>
    </message>
    <message>
        <source>Layers {layers}</source>
        <translation>Capas {layers}</translation>
    </message>
    <message numerus="yes">
        <source>%n server(s)</source>
        <translation>
            <numerusform>%n servidor</numerusform>
            <numerusform>%n servidores</numerusform>
        </translation>
    </message>
    <message>
        <source>nobody</source>
        <translation>nadie</translation>
    </message>
    <message>
        <source>Moving to {folder}: {progress}</source>
        <translation>Moviendo a {folder}: {progress}</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Borrar</translation>
    </message>
    <message>
        <source>Delete prepared layers</source>
        <translation>Borrar las capas preparadas</translation>
    </message>
    <message>
        <source>{size}. Potluck makes them again when needed.</source>
        <translation>{size}. Potluck las vuelve a crear si hacen falta.</translation>
    </message>
    <message>
        <source>Layers prepared for this computer</source>
        <translation>Capas preparadas para este ordenador</translation>
    </message>
    <message>
        <source>{used} used, {free} free</source>
        <translation>{used} en uso, {free} libres</translation>
    </message>
    <message>
        <source>serving now</source>
        <translation>en servicio</translation>
    </message>
    <message>
        <source>incomplete</source>
        <translation>incompleto</translation>
    </message>
    <message>
        <source>Frees {size}. Potluck downloads the model again when it needs it.</source>
        <translation>Libera {size}. Potluck vuelve a descargar el modelo si lo necesita.</translation>
    </message>
    <message>
        <source>Freed {size}.</source>
        <translation>{size} liberados.</translation>
    </message>
    <message>
        <source>Choose a folder for models</source>
        <translation>Elige una carpeta para los modelos</translation>
    </message>
    <message>
        <source>Move…</source>
        <translation>Mover…</translation>
    </message>
    <message>
        <source>Move the models to another folder</source>
        <translation>Mover los modelos a otra carpeta</translation>
    </message>
    <message>
        <source>used by {swarms}</source>
        <translation>usado por {swarms}</translation>
    </message>
    <message>
        <source>Delete {model}</source>
        <translation>Borrar {model}</translation>
    </message>
    <message>
        <source>Delete {model}?</source>
        <translation>¿Borrar {model}?</translation>
    </message>
</context>
<context>
    <name>NeverYield</name>
    <message>
        <source>Never step aside</source>
        <translation>No apartarse nunca</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Cancelar</translation>
    </message>
</context>
<context>
    <name>NowCard</name>
    <message>
        <source>tokens/s</source>
        <translation>tokens/s</translation>
    </message>
    <message numerus="yes">
        <source>open session(s)</source>
        <translation>
            <numerusform>sesión abierta</numerusform>
            <numerusform>sesiones abiertas</numerusform>
        </translation>
    </message>
    <message>
        <source>tokens today</source>
        <translation>tokens hoy</translation>
    </message>
    <message>
        <source>Tokens a second in the last hour</source>
        <translation>Tokens por segundo en la última hora</translation>
    </message>
    <message>
        <source>Right now</source>
        <translation>Ahora mismo</translation>
    </message>
</context>
<context>
    <name>OtherAppsPage</name>
    <message>
        <source>Use in other apps</source>
        <translation>En otras apps</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Dirección</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>Copiar la dirección</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Iniciar</translation>
    </message>
    <message>
        <source>Make a key</source>
        <translation>Crear una clave</translation>
    </message>
    <message>
        <source>New key</source>
        <translation>Clave nueva</translation>
    </message>
    <message>
        <source>Copy the new key</source>
        <translation>Copiar la clave nueva</translation>
    </message>
    <message>
        <source>Known once it runs</source>
        <translation>Se sabrá cuando esté en marcha</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Detener</translation>
    </message>
    <message>
        <source>No program has a key yet.</source>
        <translation>Ningún programa tiene clave todavía.</translation>
    </message>
    <message>
        <source>Revoke…</source>
        <translation>Revocar…</translation>
    </message>
    <message>
        <source>Revoke the key of {program}</source>
        <translation>Revocar la clave de {program}</translation>
    </message>
    <message>
        <source>Made {day}</source>
        <translation>Creada el {day}</translation>
    </message>
    <message numerus="yes">
        <source>%n answer(s), {tokens} tokens</source>
        <translation>
            <numerusform>%n respuesta, {tokens} tokens</numerusform>
            <numerusform>%n respuestas, {tokens} tokens</numerusform>
        </translation>
    </message>
    <message>
        <source>The key of {program}. Copy it now: Potluck keeps only its hash, and shows it this once.</source>
        <translation>La clave de {program}. Cópiala ahora: Potluck solo guarda su huella y la muestra una única vez.</translation>
    </message>
    <message>
        <source>Revoke the key of {program}?</source>
        <translation>¿Revocar la clave de {program}?</translation>
    </message>
    <message>
        <source>Revoke</source>
        <translation>Revocar</translation>
    </message>
    <message>
        <source>That program can no longer use the swarm&apos;s model.</source>
        <translation>Ese programa ya no podrá usar el modelo del enjambre.</translation>
    </message>
    <message>
        <source>Ready: {model}.</source>
        <translation>Lista: {model}.</translation>
    </message>
    <message>
        <source>Ends at {time} if nobody asks.</source>
        <translation>Termina a las {time} si nadie pregunta.</translation>
    </message>
    <message>
        <source>It does not run.</source>
        <translation>No está en marcha.</translation>
    </message>
    <message>
        <source>Programs that speak OpenAI&apos;s or Ollama&apos;s API can use the swarm&apos;s model through this computer.</source>
        <translation>Los programas que hablan la API de OpenAI u Ollama pueden usar el modelo del enjambre a través de este ordenador.</translation>
    </message>
    <message>
        <source>Always on</source>
        <translation>Siempre activa</translation>
    </message>
    <message>
        <source>Starts with Potluck and keeps running. Otherwise it ends when you stop Potluck.</source>
        <translation>Se inicia con Potluck y sigue en marcha. Si no, termina cuando detienes Potluck.</translation>
    </message>
    <message>
        <source>Name of the program</source>
        <translation>Nombre del programa</translation>
    </message>
    <message>
        <source>Give each program a key of its own. Whoever has one asks in your name.</source>
        <translation>Da a cada programa su propia clave. Quien tenga una pregunta en tu nombre.</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Claves</translation>
    </message>
</context>
<context>
    <name>OtherComputer</name>
    <message>
        <source>Restore backup…</source>
        <translation>Restaurar copia…</translation>
    </message>
    <message>
        <source>Password of the backup</source>
        <translation>Contraseña de la copia</translation>
    </message>
    <message>
        <source>There, People has “Add a computer…”, which shows an invite to enter above. If that computer is gone, restore the backup of your keys.</source>
        <translation>Allí, en Personas, «Añadir un ordenador…» muestra una invitación para introducir aquí arriba. Si ya no tienes ese ordenador, restaura la copia de tus claves.</translation>
    </message>
    <message>
        <source>My other computer</source>
        <translation>Mi otro ordenador</translation>
    </message>
    <message>
        <source>Restore backup</source>
        <translation>Restaurar copia</translation>
    </message>
</context>
<context>
    <name>OwnComputers</name>
    <message>
        <source>Add a computer…</source>
        <translation>Añadir un ordenador…</translation>
    </message>
    <message>
        <source>Your computers</source>
        <translation>Tus ordenadores</translation>
    </message>
    <message>
        <source>{name} is one of your computers now.</source>
        <translation>{name} ya es uno de tus ordenadores.</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Quitar…</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>Quitar a {name}</translation>
    </message>
    <message>
        <source>Invite for the other computer</source>
        <translation>Invitación para el otro ordenador</translation>
    </message>
    <message>
        <source>Copy the invite</source>
        <translation>Copiar la invitación</translation>
    </message>
    <message>
        <source>Invite for the other computer as a QR code</source>
        <translation>Invitación para el otro ordenador como código QR</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>Ocultar</translation>
    </message>
    <message>
        <source>On the other computer, enter this invite under “I have an invite”. Then confirm the computer here. The invite works once, until {time}.</source>
        <translation>En el otro ordenador, introduce esta invitación en «Tengo una invitación». Después confírmalo aquí. La invitación sirve una vez, hasta las {time}.</translation>
    </message>
    <message>
        <source>Confirm</source>
        <translation>Confirmar</translation>
    </message>
    <message>
        <source>Confirm {name}</source>
        <translation>Confirmar {name}</translation>
    </message>
    <message>
        <source>{name} asks to be one of your computers</source>
        <translation>{name} pide ser uno de tus ordenadores</translation>
    </message>
    <message>
        <source>Confirm it only if it is yours and you have just entered the invite there.</source>
        <translation>Confírmalo solo si es tuyo y acabas de introducir allí la invitación.</translation>
    </message>
    <message>
        <source>Remove {name}?</source>
        <translation>¿Quitar {name}?</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Quitar</translation>
    </message>
    <message>
        <source>That computer loses access to the swarm for good, within a minute. Your other computers stay.</source>
        <translation>Ese ordenador pierde para siempre el acceso al enjambre en menos de un minuto. Tus otros ordenadores se quedan.</translation>
    </message>
    <message>
        <source>{name} was removed.</source>
        <translation>Se ha quitado a {name}.</translation>
    </message>
</context>
<context>
    <name>Page</name>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
    </message>
</context>
<context>
    <name>PeoplePage</name>
    <message>
        <source>People</source>
        <translation>Personas</translation>
    </message>
    <message>
        <source>The others learn of it when this computer serves again.</source>
        <translation>Los demás se enteran cuando este ordenador vuelve a servir.</translation>
    </message>
    <message>
        <source>{swarm} is open to everybody</source>
        <translation>{swarm} está abierto a todos</translation>
    </message>
    <message>
        <source>It has no members. Everybody who finds it can use it.</source>
        <translation>No tiene miembros. Quien lo encuentra puede usarlo.</translation>
    </message>
</context>
<context>
    <name>PointsCard</name>
    <message>
        <source>Points earned in the last 24 hours</source>
        <translation>Puntos ganados en las últimas 24 horas</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ganancias</translation>
    </message>
    <message>
        <source>Show all earnings</source>
        <translation>Ver todas las ganancias</translation>
    </message>
    <message>
        <source>Points today</source>
        <translation>Puntos de hoy</translation>
    </message>
    <message numerus="yes">
        <source>from %n people</source>
        <translation>
            <numerusform>de %n persona</numerusform>
            <numerusform>de %n personas</numerusform>
        </translation>
    </message>
    <message>
        <source>No points yet today</source>
        <translation>Aún sin puntos hoy</translation>
    </message>
    <message>
        <source>{amount} points in the last 24 hours</source>
        <translation>{amount} puntos en las últimas 24 horas</translation>
    </message>
</context>
<context>
    <name>PreferencesPage</name>
    <message>
        <source>Settings</source>
        <translation>Ajustes</translation>
    </message>
    <message>
        <source>System</source>
        <translation>Sistema</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Idioma</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Claro</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Oscuro</translation>
    </message>
    <message>
        <source>Colours</source>
        <translation>Colores</translation>
    </message>
    <message>
        <source>The app speaks the chosen language once it has started again. Serving goes on.</source>
        <translation>La aplicación hablará el idioma elegido cuando se reinicie. El servicio continúa.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Reiniciar</translation>
    </message>
    <message>
        <source>A friend joined</source>
        <translation>Se ha unido un amigo</translation>
    </message>
    <message>
        <source>The model is complete</source>
        <translation>El modelo está completo</translation>
    </message>
    <message>
        <source>A layer is missing</source>
        <translation>Falta una capa</translation>
    </message>
    <message>
        <source>An update is ready</source>
        <translation>Hay una actualización lista</translation>
    </message>
    <message>
        <source>Milestones</source>
        <translation>Hitos</translation>
    </message>
    <message>
        <source>Problems, and a pause that you may have forgotten</source>
        <translation>Problemas y una pausa que quizá hayas olvidado</translation>
    </message>
    <message>
        <source>Notifications</source>
        <translation>Notificaciones</translation>
    </message>
    <message>
        <source>This app</source>
        <translation>Esta aplicación</translation>
    </message>
    <message>
        <source>Each tells one piece of news, once.</source>
        <translation>Cada una cuenta una novedad, una sola vez.</translation>
    </message>
    <message>
        <source>News</source>
        <translation>Novedades</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Al iniciar sesión</translation>
    </message>
</context>
<context>
    <name>ProgramList</name>
    <message>
        <source>Add</source>
        <translation>Añadir</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Quitar</translation>
    </message>
    <message>
        <source>Remove {program}</source>
        <translation>Quitar {program}</translation>
    </message>
    <message>
        <source>Program for the list: {list}</source>
        <translation>Programa para la lista: {list}</translation>
    </message>
    <message>
        <source>A running program, or its name</source>
        <translation>Un programa abierto o su nombre</translation>
    </message>
</context>
<context>
    <name>Question</name>
    <message>
        <source>Cancel</source>
        <translation>Cancelar</translation>
    </message>
</context>
<context>
    <name>QuestionField</name>
    <message>
        <source>Ask something</source>
        <translation>Pregunta algo</translation>
    </message>
    <message>
        <source>Question</source>
        <translation>Pregunta</translation>
    </message>
</context>
<context>
    <name>RecipeCard</name>
    <message>
        <source>Program</source>
        <translation>Programa</translation>
    </message>
    <message>
        <source>What to enter</source>
        <translation>Qué introducir</translation>
    </message>
    <message>
        <source>Copy the recipe</source>
        <translation>Copiar la receta</translation>
    </message>
    <message>
        <source>Recipes</source>
        <translation>Recetas</translation>
    </message>
    <message>
        <source>YOUR-KEY</source>
        <translation>TU-CLAVE</translation>
    </message>
    <message>
        <source>MODEL</source>
        <translation>MODELO</translation>
    </message>
</context>
<context>
    <name>SetUpOffer</name>
    <message>
        <source>Set up…</source>
        <translation>Instalar…</translation>
    </message>
    <message>
        <source>The compute engine is not installed yet.</source>
        <translation>El motor de cálculo aún no está instalado.</translation>
    </message>
</context>
<context>
    <name>SetUpPlan</name>
    <message>
        <source>Another folder…</source>
        <translation>Otra carpeta…</translation>
    </message>
    <message>
        <source>Another build</source>
        <translation>Otra versión</translation>
    </message>
    <message>
        <source>PyTorch build</source>
        <translation>Variante de PyTorch</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Carpeta</translation>
    </message>
    <message>
        <source>Download and install</source>
        <translation>Descargar e instalar</translation>
    </message>
    <message>
        <source>This version of Potluck lacks the packages of the best build ({variant}).</source>
        <translation>A esta versión de Potluck le faltan los paquetes de la mejor variante ({variant}).</translation>
    </message>
    <message>
        <source>Potluck has not been tested with this build. It is used only if it passes a test here.</source>
        <translation>Potluck no se ha probado con esta variante. Solo se usa si aquí pasa una prueba.</translation>
    </message>
    <message>
        <source>Free some space, or choose another folder below.</source>
        <translation>Libera espacio o elige otra carpeta abajo.</translation>
    </message>
    <message>
        <source>Choose a folder for the compute engine</source>
        <translation>Elige una carpeta para el motor de cálculo</translation>
    </message>
    <message>
        <source>Another folder for the compute engine</source>
        <translation>Otra carpeta para el motor de cálculo</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
    </message>
</context>
<context>
    <name>SettingsForm</name>
    <message>
        <source>Update Potluck to use this.</source>
        <translation>Actualiza Potluck para usar esto.</translation>
    </message>
    <message>
        <source>Set by the environment variable {variable}.</source>
        <translation>Fijado por la variable de entorno {variable}.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Deshacer</translation>
    </message>
    <message>
        <source>Saved.</source>
        <translation>Guardado.</translation>
    </message>
</context>
<context>
    <name>SharePanel</name>
    <message>
        <source>All that fits</source>
        <translation>Todo lo que quepa</translation>
    </message>
    <message>
        <source>Half</source>
        <translation>La mitad</translation>
    </message>
    <message>
        <source>A quarter</source>
        <translation>Un cuarto</translation>
    </message>
    <message>
        <source>At full speed</source>
        <translation>A toda velocidad</translation>
    </message>
    <message>
        <source>At half speed</source>
        <translation>A media velocidad</translation>
    </message>
    <message>
        <source>Not at all</source>
        <translation>Nada</translation>
    </message>
    <message>
        <source>Memory to donate</source>
        <translation>Memoria que donas</translation>
    </message>
    <message>
        <source>Games always come first.</source>
        <translation>Los juegos siempre van primero.</translation>
    </message>
    <message>
        <source>{device} has {size}. Potluck leaves enough for other programs.</source>
        <translation>{device} tiene {size}. Potluck deja suficiente para otros programas.</translation>
    </message>
    <message>
        <source>Donate while I use the computer</source>
        <translation>Donar mientras uso el ordenador</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Pages</source>
        <translation>Páginas</translation>
    </message>
</context>
<context>
    <name>Strip</name>
    <message>
        <source>Layers of the model</source>
        <translation>Capas del modelo</translation>
    </message>
</context>
<context>
    <name>SwarmsCard</name>
    <message>
        <source>Join or start another swarm</source>
        <translation>Unirse a otro enjambre o crear uno</translation>
    </message>
    <message>
        <source>Your swarms</source>
        <translation>Tus enjambres</translation>
    </message>
    <message numerus="yes">
        <source>%n layer(s)</source>
        <translation>
            <numerusform>%n capa</numerusform>
            <numerusform>%n capas</numerusform>
        </translation>
    </message>
    <message>
        <source>open to all</source>
        <translation>abierto a todos</translation>
    </message>
    <message>
        <source>chosen for this computer</source>
        <translation>elegido para este ordenador</translation>
    </message>
    <message>
        <source>Serve this one</source>
        <translation>Servir este</translation>
    </message>
    <message>
        <source>Serve {swarm}</source>
        <translation>Servir {swarm}</translation>
    </message>
    <message>
        <source>Change the model…</source>
        <translation>Cambiar el modelo…</translation>
    </message>
    <message>
        <source>Change the model of {swarm}</source>
        <translation>Cambiar el modelo de {swarm}</translation>
    </message>
    <message>
        <source>Leave…</source>
        <translation>Salir…</translation>
    </message>
    <message>
        <source>Leave {swarm}</source>
        <translation>Salir de {swarm}</translation>
    </message>
    <message>
        <source>Change the model of {swarm} to {model}?</source>
        <translation>¿Cambiar el modelo de {swarm} por {model}?</translation>
    </message>
    <message>
        <source>Change the model</source>
        <translation>Cambiar el modelo</translation>
    </message>
    <message>
        <source>Everybody in the swarm gets the new model, and their computers download it. Conversations with the present model end within ten minutes. Invites stay valid.</source>
        <translation>Todos los miembros del enjambre reciben el modelo nuevo y sus ordenadores lo descargan. Las conversaciones con el modelo actual terminan en diez minutos como mucho. Las invitaciones siguen siendo válidas.</translation>
    </message>
    <message>
        <source>Reading the files of {model}…</source>
        <translation>Leyendo los archivos de {model}…</translation>
    </message>
    <message>
        <source>{swarm} keeps its model. {why}</source>
        <translation>{swarm} conserva su modelo. {why}</translation>
    </message>
    <message>
        <source>{swarm} serves {model} now. Members that are online follow within seconds.</source>
        <translation>{swarm} sirve ahora {model}. Los miembros en línea lo siguen en segundos.</translation>
    </message>
    <message>
        <source>Leave the swarm {swarm}?</source>
        <translation>¿Salir del enjambre {swarm}?</translation>
    </message>
    <message>
        <source>Leave</source>
        <translation>Salir</translation>
    </message>
    <message>
        <source>You need a new invite to come back. You keep your points.</source>
        <translation>Para volver necesitas una invitación nueva. Conservas tus puntos.</translation>
    </message>
    <message>
        <source>You founded this swarm, and the founder&apos;s key on this computer is deleted. Without its recovery code (page People), nobody can ever appoint admins again.</source>
        <translation>Fundaste este enjambre, y la clave de fundación de este ordenador se borra. Sin su código de recuperación (página Personas), nadie podrá volver a nombrar administradores.</translation>
    </message>
    <message>
        <source>It has no admin, so nobody can invite, confirm or remove people either.</source>
        <translation>No hay administradores, así que tampoco podrá nadie invitar, confirmar ni quitar a nadie.</translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>Resume</source>
        <translation>Reanudar</translation>
    </message>
    <message>
        <source>Open Potluck</source>
        <translation>Abrir Potluck</translation>
    </message>
    <message>
        <source>Show notifications</source>
        <translation>Mostrar notificaciones</translation>
    </message>
    <message>
        <source>Quit the app</source>
        <translation>Cerrar la aplicación</translation>
    </message>
    <message>
        <source>Version {version} is available…</source>
        <translation>Versión {version} disponible…</translation>
    </message>
    <message>
        <source>Start donating again</source>
        <translation>Volver a donar</translation>
    </message>
    <message>
        <source>Stop donating</source>
        <translation>Dejar de donar</translation>
    </message>
</context>
<context>
    <name>Updates</name>
    <message>
        <source>Check now</source>
        <translation>Comprobar ahora</translation>
    </message>
    <message>
        <source>Version</source>
        <translation>Versión</translation>
    </message>
    <message>
        <source>Look for updates</source>
        <translation>Buscar actualizaciones</translation>
    </message>
    <message>
        <source>Once a day. The publisher sees your internet address.</source>
        <translation>Una vez al día. El editor ve tu dirección de internet.</translation>
    </message>
    <message>
        <source>{version}. Checked {time}.</source>
        <translation>{version}. Comprobado: {time}.</translation>
    </message>
    <message>
        <source>Version {version}, {day}</source>
        <translation>Versión {version}, {day}</translation>
    </message>
    <message>
        <source>Open sessions get up to ten minutes to finish. If the new version does not start, Potluck returns to this one.</source>
        <translation>Las sesiones abiertas tienen hasta diez minutos. Si la nueva versión no arranca, Potluck vuelve a esta.</translation>
    </message>
    <message>
        <source>Install this version the way you installed Potluck: with apt, or pip.</source>
        <translation>Instálala como instalaste Potluck: con apt o pip.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
    </message>
    <message>
        <source>No update source. Set updates.url and updates.key to choose one.</source>
        <translation>Sin origen de actualizaciones. Elige uno con updates.url y updates.key.</translation>
    </message>
    <message>
        <source>Progress of the update</source>
        <translation>Progreso de la actualización</translation>
    </message>
    <message>
        <source>Install version {version}</source>
        <translation>Instalar la versión {version}</translation>
    </message>
</context>
<context>
    <name>Waiting</name>
    <message>
        <source>Not loaded</source>
        <translation>Sin cargar</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Cargando…</translation>
    </message>
</context>
<context>
    <name>WeekGrid</name>
    <message>
        <source>donating</source>
        <translation>donando</translation>
    </message>
    <message>
        <source>not donating</source>
        <translation>sin donar</translation>
    </message>
</context>
<context>
    <name>WhenPage</name>
    <message>
        <source>When to donate</source>
        <translation>Cuándo donar</translation>
    </message>
    <message>
        <source>Always step aside for</source>
        <translation>Apartarse siempre por</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>No apartarse nunca por</translation>
    </message>
    <message>
        <source>Games come first</source>
        <translation>Los juegos van primero</translation>
    </message>
    <message>
        <source>What counts as a game</source>
        <translation>Qué cuenta como juego</translation>
    </message>
    <message>
        <source>Wait after a game</source>
        <translation>Espera tras un juego</translation>
    </message>
    <message>
        <source>s</source>
        <translation>s</translation>
    </message>
    <message>
        <source>Programs that keep a graphics card busy</source>
        <translation>Programas que ocupan una tarjeta gráfica</translation>
    </message>
    <message>
        <source>Programs that need the memory</source>
        <translation>Programas que necesitan la memoria</translation>
    </message>
    <message>
        <source>While you are here</source>
        <translation>Mientras estás aquí</translation>
    </message>
    <message>
        <source>Speed while I use the computer</source>
        <translation>Velocidad mientras uso el ordenador</translation>
    </message>
    <message>
        <source>Away after</source>
        <translation>Ausente tras</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <source>Hours of the week</source>
        <translation>Horas de la semana</translation>
    </message>
    <message>
        <source>At any time</source>
        <translation>A cualquier hora</translation>
    </message>
    <message>
        <source>Hours of the week for donating</source>
        <translation>Horas de la semana para donar</translation>
    </message>
    <message>
        <source>Potluck stops whenever one runs.</source>
        <translation>Potluck para cuando funciona alguno.</translation>
    </message>
    <message>
        <source>Programs that Potluck mistakes for games.</source>
        <translation>Programas que Potluck confunde con juegos.</translation>
    </message>
    <message>
        <source>Donate on battery power</source>
        <translation>Donar también con batería</translation>
    </message>
    <message>
        <source>Donate on metered networks</source>
        <translation>Donar también en redes de uso medido</translation>
    </message>
    <message>
        <source>At any time. Click or drag to leave hours out.</source>
        <translation>A cualquier hora. Pulsa o arrastra para excluir horas.</translation>
    </message>
    <message>
        <source>Only during the filled hours.</source>
        <translation>Solo en las horas marcadas.</translation>
    </message>
    <message>
        <source>Your exact hours: {hours}. Painting rounds them to full hours.</source>
        <translation>Tus horas exactas: {hours}. Al pintar se redondean a horas completas.</translation>
    </message>
    <message>
        <source>At least one hour must stay. To stop donating, use the tray menu.</source>
        <translation>Debe quedar al menos una hora. Para dejar de donar, usa el menú de la bandeja.</translation>
    </message>
    <message>
        <source>Potluck now steps aside whenever {program} runs.</source>
        <translation>Potluck se aparta ahora cuando funciona {program}.</translation>
    </message>
    <message>
        <source>Potluck now keeps serving while {program} runs.</source>
        <translation>Potluck sigue sirviendo ahora mientras funciona {program}.</translation>
    </message>
    <message>
        <source>{program} is no longer on a list.</source>
        <translation>{program} ya no está en ninguna lista.</translation>
    </message>
    <message>
        <source>Time to start the next round undisturbed.</source>
        <translation>Tiempo para empezar la siguiente partida con calma.</translation>
    </message>
    <message>
        <source>Keep using the other graphics cards</source>
        <translation>Seguir usando las otras tarjetas gráficas</translation>
    </message>
    <message>
        <source>Free only the card that the game uses.</source>
        <translation>Liberar solo la tarjeta que usa el juego.</translation>
    </message>
    <message>
        <source>When a game starts, Potluck frees its graphics memory within a second.</source>
        <translation>Cuando empieza un juego, Potluck libera la memoria gráfica en un segundo.</translation>
    </message>
    <message>
        <source>Games started by Steam</source>
        <translation>Juegos iniciados por Steam</translation>
    </message>
    <message>
        <source>Games that use GameMode</source>
        <translation>Juegos que usan GameMode</translation>
    </message>
    <message>
        <source>Windows games in Proton or Wine</source>
        <translation>Juegos de Windows en Proton o Wine</translation>
    </message>
    <message>
        <source>Programs in gamescope</source>
        <translation>Programas en gamescope</translation>
    </message>
    <message>
        <source>Busy full-screen programs</source>
        <translation>Programas a pantalla completa ocupados</translation>
    </message>
    <message>
        <source>Video players, browsers and screen savers do not count.</source>
        <translation>No cuentan reproductores, navegadores ni salvapantallas.</translation>
    </message>
    <message>
        <source>Only while I&apos;m away</source>
        <translation>Solo cuando no estoy</translation>
    </message>
    <message>
        <source>This long without keyboard or mouse.</source>
        <translation>Este tiempo sin teclado ni ratón.</translation>
    </message>
    <message>
        <source>Step aside for other users of this computer</source>
        <translation>Apartarse por otros usuarios de este ordenador</translation>
    </message>
    <message>
        <source>Only at night</source>
        <translation>Solo de noche</translation>
    </message>
    <message>
        <source>Not at night</source>
        <translation>De noche no</translation>
    </message>
    <message>
        <source>On the move</source>
        <translation>En movimiento</translation>
    </message>
</context>
<context>
    <name>WrongResultsCard</name>
    <message>
        <source>Wrong results</source>
        <translation>Resultados incorrectos</translation>
    </message>
    <message>
        <source>{name}&apos;s {machine}</source>
        <translation>{machine} de {name}</translation>
    </message>
    <message>
        <source>{computer} returned wrong results</source>
        <translation>{computer} devolvió resultados incorrectos</translation>
    </message>
    <message>
        <source>This computer returned wrong results</source>
        <translation>Este equipo devolvió resultados incorrectos</translation>
    </message>
    <message>
        <source>Stop serving</source>
        <translation>Dejar de servir</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>Quitar…</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>Quitar {name}</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>Descartar</translation>
    </message>
    <message>
        <source>Dismiss the reports about {name}</source>
        <translation>Descartar los avisos sobre {name}</translation>
    </message>
    <message>
        <source>Found by {people}.</source>
        <translation>Detectado por {people}.</translation>
    </message>
    <message>
        <source>Found by {people}, confirmed by your server.</source>
        <translation>Detectado por {people}, confirmado por tu servidor.</translation>
    </message>
    <message>
        <source>Found by {people}, not confirmed by your server.</source>
        <translation>Detectado por {people}, no confirmado por tu servidor.</translation>
    </message>
    <message>
        <source>Its memory was damaged: test it, and that of the graphics card.</source>
        <translation>Su memoria estaba dañada: pruébala, y también la de la tarjeta gráfica.</translation>
    </message>
    <message>
        <source>If a graphics card or memory is overclocked, undo that.</source>
        <translation>Si la tarjeta gráfica o la memoria tienen overclocking, quítalo.</translation>
    </message>
    <message>
        <source>It loaded the model again on {day} and found nothing wrong in its memory.</source>
        <translation>Volvió a cargar el modelo el {day} y no encontró errores en su memoria.</translation>
    </message>
    <message>
        <source>This computer serves nobody until you resume.</source>
        <translation>Este equipo no sirve a nadie hasta que reanudes.</translation>
    </message>
    <message>
        <source>Dismissed.</source>
        <translation>Descartado.</translation>
    </message>
    <message>
        <source>Remove {name} from {swarm}?</source>
        <translation>¿Quitar {name} de {swarm}?</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Quitar</translation>
    </message>
    <message>
        <source>Within a minute, it serves nobody here. This cannot be undone. Other computers of theirs stay.</source>
        <translation>En un minuto dejará de servir aquí. Esto no se puede deshacer. Los demás equipos de esa persona se quedan.</translation>
    </message>
    <message>
        <source>{name} was removed.</source>
        <translation>{name} se quitó.</translation>
    </message>
</context>
<context>
    <name>_DeviceCard</name>
    <message>
        <source>Use {device}</source>
        <translation>Usar {device}</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatura</translation>
    </message>
    <message>
        <source>Power</source>
        <translation>Potencia</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Memoria</translation>
    </message>
    <message>
        <source>These limits hold for each graphics card in use. Changing one here changes it for all.</source>
        <translation>Estos límites valen para cada tarjeta gráfica en uso. Si cambias uno aquí, cambia para todas.</translation>
    </message>
    <message>
        <source>Not in use</source>
        <translation>Sin usar</translation>
    </message>
    <message>
        <source>In use, selected automatically</source>
        <translation>En uso, elegido automáticamente</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>En uso</translation>
    </message>
</context>
<context>
    <name>_Load</name>
    <message>
        <source>{name} in the last hour</source>
        <translation>{name} en la última hora</translation>
    </message>
</context>
<context>
    <name>_MadeInvite</name>
    <message>
        <source>The invite as a QR code</source>
        <translation>La invitación como código QR</translation>
    </message>
    <message>
        <source>The swarm&apos;s link</source>
        <translation>El enlace del enjambre</translation>
    </message>
    <message>
        <source>Copy the link</source>
        <translation>Copiar el enlace</translation>
    </message>
    <message>
        <source>A phone can read the invite here and send it on.</source>
        <translation>Un móvil puede leer la invitación aquí y reenviarla.</translation>
    </message>
    <message>
        <source>This link opens Potluck where the invite is entered. It lets nobody in, so it&apos;s no secret.</source>
        <translation>Este enlace abre Potluck donde se introduce la invitación. No deja entrar a nadie, así que no es secreto.</translation>
    </message>
</context>
</TS>
