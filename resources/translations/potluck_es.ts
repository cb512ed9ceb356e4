<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="es" sourcelanguage="en">
<context>
    <name></name>
    <message>
        <source>you</source>
        <translation>ti</translation>
    </message>
    <message>
        <source>The compute engine is not set up yet. Set it up on the page Settings.</source>
        <translation>El motor de cálculo aún no está configurado. Configúralo en la página Ajustes.</translation>
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
    <message>
        <source>Picture (PNG)</source>
        <translation>Imagen (PNG)</translation>
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
        <source>{size} of experts in RAM</source>
        <translation>{size} de expertos en la RAM</translation>
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
        <source>Waiting to be let into the swarm “{swarm}”: {names}. Decide on the page Swarm.</source>
        <translation>Esperan entrar en el enjambre «{swarm}»: {names}. Decide en la página Enjambre.</translation>
    </message>
    <message>
        <source>{name} asks to be one of your computers. Confirm it on the page Swarm.</source>
        <translation>{name} pide ser uno de tus ordenadores. Confírmalo en la página Enjambre.</translation>
    </message>
    <message>
        <source>Somebody waits to be let in</source>
        <translation>Alguien espera entrar</translation>
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
        <source>Swarm</source>
        <translation>Enjambre</translation>
    </message>
    <message>
        <source>Rules</source>
        <translation>Reglas</translation>
    </message>
    <message>
        <source>Connect</source>
        <translation>Conectar</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Ajustes</translation>
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
        <source>layers {blocks} of {model}</source>
        <translation>las capas {blocks} de {model}</translation>
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
        <source>in a moment</source>
        <translation>en un momento</translation>
    </message>
    <message>
        <source>when you&apos;ve been away for a while</source>
        <translation>cuando lleves un rato ausente</translation>
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
        <source>Getting ready, usually within a minute: {step}…</source>
        <translation>Preparando, por lo general en menos de un minuto: {step}…</translation>
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
        <translation>Sirviendo al {percent}&#xa0;%</translation>
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
            <numerusform>Queda %n sesión</numerusform>
            <numerusform>Quedan %n sesiones</numerusform>
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
        <source>Your invite is over</source>
        <translation>Tu invitación ya no vale</translation>
    </message>
    <message>
        <source>{left}. Shuts down by {time}.</source>
        <translation>{left}. Se apaga antes de las {time}.</translation>
    </message>
    <message>
        <source>The pause ends at {time}.</source>
        <translation>La pausa termina a las {time}.</translation>
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
        <source>Never step aside for {program}</source>
        <translation>No apartarse nunca por {program}</translation>
    </message>
    <message>
        <source>Today: {sent} sent, {received} received</source>
        <translation>Hoy: {sent} enviados, {received} recibidos</translation>
    </message>
    <message>
        <source>Try again now</source>
        <translation>Reintentar ahora</translation>
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
        <source>Nobody serves layer {layers}.</source>
        <translation>Nadie sirve la capa {layers}.</translation>
    </message>
    <message>
        <source>About {rate} for you.</source>
        <translation>Unos {rate} para ti.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers} and complete the model.</source>
        <translation>Un ordenador más serviría las capas {layers} y completaría el modelo.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers}. Others would still be missing.</source>
        <translation>Un ordenador más serviría las capas {layers}. Aún faltarían otras.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers} and let {percent} % more answers run at once.</source>
        <translation>Un ordenador más serviría las capas {layers} y permitiría un {percent}&#xa0;% más de respuestas a la vez.</translation>
    </message>
    <message>
        <source>One more computer would serve layers {layers}, in case another one leaves.</source>
        <translation>Un ordenador más serviría las capas {layers}, por si otro se va.</translation>
    </message>
    <message>
        <source>Only one computer serves layer {layers}.</source>
        <translation>Solo un ordenador sirve la capa {layers}.</translation>
    </message>
    <message>
        <source>Only one computer serves layers {layers}.</source>
        <translation>Solo un ordenador sirve las capas {layers}.</translation>
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
        <source>In Admin Panel, Settings, Connections, add an OpenAI API connection:</source>
        <translation>En Panel de administración, Ajustes, Conexiones, añade una conexión a la API de OpenAI:</translation>
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
        <source>Save the picture</source>
        <translation>Guardar la imagen</translation>
    </message>
    <message>
        <source>The picture is in {file}.</source>
        <translation>La imagen está en {file}.</translation>
    </message>
    <message>
        <source>Applications of the desktop</source>
        <translation>Aplicaciones del escritorio</translation>
    </message>
    <message>
        <source>Can&apos;t join the swarm yet: {why}</source>
        <translation>Aún no se puede entrar en el enjambre: {why}</translation>
    </message>
    <message>
        <source>Can&apos;t join the swarm yet: {why}. Trying again.</source>
        <translation>Aún no se puede entrar en el enjambre: {why}. Se vuelve a intentar.</translation>
    </message>
    <message>
        <source>Can&apos;t tell whether you&apos;re away, so not serving</source>
        <translation>No sirve porque no puede saber si estás ausente</translation>
    </message>
    <message>
        <source>Checking whether you need the computer</source>
        <translation>Comprueba si necesitas el ordenador</translation>
    </message>
    <message>
        <source>Desktop session</source>
        <translation>Sesión de escritorio</translation>
    </message>
    <message>
        <source>Finishing the open sessions, then shutting down</source>
        <translation>Termina las sesiones abiertas y luego se apaga</translation>
    </message>
    <message>
        <source>Full-screen windows</source>
        <translation>Ventanas a pantalla completa</translation>
    </message>
    <message>
        <source>Full-screen windows (Wayland)</source>
        <translation>Ventanas a pantalla completa (Wayland)</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>GPU memory</source>
        <translation>Memoria gráfica</translation>
    </message>
    <message>
        <source>Giving way to {who}</source>
        <translation>Se aparta por {who}</translation>
    </message>
    <message>
        <source>Giving way to {who}, which fills the screen</source>
        <translation>Se aparta por {who}, que ocupa la pantalla</translation>
    </message>
    <message>
        <source>Giving way to {who}, which keeps the GPU busy</source>
        <translation>Se aparta por {who}, que ocupa la tarjeta gráfica</translation>
    </message>
    <message>
        <source>Giving way to {who}, who sits at the computer</source>
        <translation>Se aparta por {who}, que está ante el ordenador</translation>
    </message>
    <message>
        <source>Giving way: other programs need the memory</source>
        <translation>Se aparta: otros programas necesitan la memoria</translation>
    </message>
    <message>
        <source>Giving way: other programs need the memory of {who}</source>
        <translation>Se aparta: otros programas necesitan la memoria de {who}</translation>
    </message>
    <message>
        <source>Idle time ({name})</source>
        <translation>Tiempo inactivo ({name})</translation>
    </message>
    <message>
        <source>Memory ran out, so the engine starts again with less (to choose how much: serve.memory_limit_mb)</source>
        <translation>Se agotó la memoria, así que el motor arranca de nuevo con menos (para elegir cuánta: serve.memory_limit_mb)</translation>
    </message>
    <message>
        <source>Metered network</source>
        <translation>Red de uso medido</translation>
    </message>
    <message>
        <source>No swarm joined yet</source>
        <translation>Aún en ningún enjambre</translation>
    </message>
    <message>
        <source>Not serving on battery</source>
        <translation>Con batería no se dona</translation>
    </message>
    <message>
        <source>Not serving over {who}, which is metered</source>
        <translation>No se dona por {who}, que es de uso medido</translation>
    </message>
    <message>
        <source>Not serving while you use the computer</source>
        <translation>No sirve mientras usas el ordenador</translation>
    </message>
    <message>
        <source>Not serving: somebody stopped the engine&apos;s process</source>
        <translation>No se sirve nada: alguien ha detenido el proceso del motor</translation>
    </message>
    <message>
        <source>Not serving: {file} changed on disk</source>
        <translation>No se sirve nada: {file} ha cambiado en el disco</translation>
    </message>
    <message>
        <source>Outside your serving hours</source>
        <translation>Fuera de tus horas de donación</translation>
    </message>
    <message>
        <source>Paused by you</source>
        <translation>Pausado por ti</translation>
    </message>
    <message>
        <source>Paused by you until the game ends</source>
        <translation>Pausado por ti hasta que acabe el juego</translation>
    </message>
    <message>
        <source>Potluck is slow here: {why}. To mend it: {advice}</source>
        <translation>Potluck calcula con lentitud aquí: {why}. Para arreglarlo: {advice}</translation>
    </message>
    <message>
        <source>Potluck keeps failing at {what}. To see more: potluck logs</source>
        <translation>Potluck falla una y otra vez en: {what}. Para ver más: potluck logs</translation>
    </message>
    <message>
        <source>Potluck {version} is offered; see: potluck update --check</source>
        <translation>hay Potluck {version}; más con: potluck update --check</translation>
    </message>
    <message>
        <source>Python {version} is not supported</source>
        <translation>Python {version} no es compatible</translation>
    </message>
    <message>
        <source>Serving {what}</source>
        <translation>Sirve {what}</translation>
    </message>
    <message>
        <source>Serving {what} slowly, because {who} is hot</source>
        <translation>Sirve {what} despacio por el calor: {who}</translation>
    </message>
    <message>
        <source>Serving {what} slowly, to stay below the power cap of {who}</source>
        <translation>Sirve {what} despacio para no pasar el límite de potencia: {who}</translation>
    </message>
    <message>
        <source>Serving {what} slowly, while you use the computer</source>
        <translation>Sirve {what} despacio mientras usas el ordenador</translation>
    </message>
    <message>
        <source>Starting the engine</source>
        <translation>Arranca el motor</translation>
    </message>
    <message>
        <source>Starting up</source>
        <translation>Arrancando</translation>
    </message>
    <message>
        <source>TCP port {port} is free</source>
        <translation>el puerto TCP {port} está libre</translation>
    </message>
    <message>
        <source>The computer is going to sleep</source>
        <translation>El ordenador se va a suspender</translation>
    </message>
    <message>
        <source>The daemon runs version {theirs}, this program is {ours}</source>
        <translation>El servicio es de la versión {theirs} y este programa de la {ours}</translation>
    </message>
    <message>
        <source>The engine crashed with {name}</source>
        <translation>El motor falló con {name}</translation>
    </message>
    <message>
        <source>The engine ended by itself</source>
        <translation>El motor terminó por sí solo</translation>
    </message>
    <message>
        <source>The engine ended with code {number}</source>
        <translation>El motor terminó con el código {number}</translation>
    </message>
    <message>
        <source>The engine failed</source>
        <translation>El motor falló</translation>
    </message>
    <message>
        <source>The engine gave up: {why}</source>
        <translation>El motor se rindió: {why}</translation>
    </message>
    <message>
        <source>The engine is not set up yet</source>
        <translation>El motor aún no está instalado</translation>
    </message>
    <message>
        <source>The engine was ended because {why}</source>
        <translation>Se cerró el motor: {why}</translation>
    </message>
    <message>
        <source>The engine was ended by signal {name}</source>
        <translation>La señal {name} cerró el motor</translation>
    </message>
    <message>
        <source>The engine was killed by another program</source>
        <translation>Otro programa mató el motor</translation>
    </message>
    <message>
        <source>The engine&apos;s packages are not installed</source>
        <translation>Los paquetes del motor no están instalados</translation>
    </message>
    <message>
        <source>Today&apos;s electricity budget is used up: {used} of {all}</source>
        <translation>El presupuesto de electricidad de hoy está agotado: {used} de {all}</translation>
    </message>
    <message>
        <source>Too hot: {who}</source>
        <translation>Demasiado calor: {who}</translation>
    </message>
    <message>
        <source>Waiting for you to confirm this computer on your other one</source>
        <translation>Esperando a que confirmes este ordenador en el otro</translation>
    </message>
    <message>
        <source>Agents</source>
        <translation>Agentes</translation>
    </message>
    <message>
        <source>Battery</source>
        <translation>Batería</translation>
    </message>
    <message>
        <source>Layer {number} is gone. Waiting for a server.</source>
        <translation>La capa {number} no está. Esperando un servidor.</translation>
    </message>
    <message>
        <source>Layers {number} and {last} are gone. Waiting for a server.</source>
        <translation>Las capas {number} y {last} no están. Esperando un servidor.</translation>
    </message>
    <message>
        <source>Layers {number} are gone. Waiting for a server.</source>
        <translation>Las capas {number} no están. Esperando un servidor.</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Memoria</translation>
    </message>
    <message>
        <source>Memory ran out, so the engine takes less for a day. To choose how much: serve.memory_limit_mb</source>
        <translation>Se agotó la memoria, así que el motor toma menos durante un día. Para elegir cuánta: serve.memory_limit_mb</translation>
    </message>
    <message>
        <source>Potluck is paused, but forgets it when it restarts: {why}</source>
        <translation>Potluck está en pausa, pero lo olvidará al reiniciarse: {why}</translation>
    </message>
    <message>
        <source>Potluck serves again, but forgets it when it restarts: {why}</source>
        <translation>Potluck vuelve a servir, pero lo olvidará al reiniciarse: {why}</translation>
    </message>
    <message>
        <source>Power</source>
        <translation>Potencia</translation>
    </message>
    <message>
        <source>Sleep</source>
        <translation>Suspensión</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatura</translation>
    </message>
    <message>
        <source>The daemon is older than this program</source>
        <translation>El servicio es más antiguo que este programa</translation>
    </message>
    <message>
        <source>The disk is nearly full: {free} are free, {least} must stay free</source>
        <translation>El disco está casi lleno: {free} libres, {least} deben quedar libres</translation>
    </message>
    <message>
        <source>This computer returned wrong results: found by {name}</source>
        <translation>Este ordenador devolvió resultados incorrectos: lo detectó {name}</translation>
    </message>
    <message>
        <source>`potluck logs` has the details</source>
        <translation>`potluck logs` muestra los detalles</translation>
    </message>
    <message>
        <source>`potluck programs always NAME` for a game that is missed</source>
        <translation>`potluck programs always NAME` para un juego que se pase por alto</translation>
    </message>
    <message>
        <source>`potluck programs always NAME` for each game</source>
        <translation>`potluck programs always NAME` para cada juego</translation>
    </message>
    <message>
        <source>`potluck swarm show` prints it</source>
        <translation>`potluck swarm show` lo muestra</translation>
    </message>
    <message>
        <source>`{what}` does not end</source>
        <translation>`{what}` no termina</translation>
    </message>
    <message>
        <source>`{what}` failed: {why}</source>
        <translation>`{what}` ha fallado: {why}</translation>
    </message>
    <message>
        <source>a SOCKS proxy needs the package socksio</source>
        <translation>un proxy SOCKS necesita el paquete socksio</translation>
    </message>
    <message>
        <source>a bootstrap peer does not answer</source>
        <translation>un nodo de entrada no responde</translation>
    </message>
    <message>
        <source>a desktop runs, but Potluck was not told where its windows are</source>
        <translation>hay un escritorio en marcha, pero Potluck no sabe dónde están sus ventanas</translation>
    </message>
    <message>
        <source>a desktop runs, but its windows cannot be seen: games that do not announce themselves are missed</source>
        <translation>hay un escritorio en marcha, pero no se ven sus ventanas: se pasan por alto los juegos que no se anuncian</translation>
    </message>
    <message>
        <source>a driver or torch build that does not fit?</source>
        <translation>¿no encaja el controlador o la compilación de PyTorch?</translation>
    </message>
    <message>
        <source>a full address ends in its peer id: {what}</source>
        <translation>una dirección completa termina en el identificador del par: {what}</translation>
    </message>
    <message>
        <source>a hub name looks like owner/model</source>
        <translation>un nombre del hub tiene la forma propietario/modelo</translation>
    </message>
    <message>
        <source>a link</source>
        <translation>un enlace</translation>
    </message>
    <message>
        <source>a request has at most {count} bytes</source>
        <translation>una petición tiene como máximo {count} bytes</translation>
    </message>
    <message>
        <source>a service on the {what} bus does not answer</source>
        <translation>un servicio del bus {what} no responde</translation>
    </message>
    <message>
        <source>a swarm cannot have this {what}</source>
        <translation>un enjambre no puede tener este {what}</translation>
    </message>
    <message>
        <source>a tensor cannot be converted: {why}</source>
        <translation>no se puede convertir un tensor: {why}</translation>
    </message>
    <message>
        <source>accept its terms on its page, then log in with `hf auth login` or set HF_TOKEN</source>
        <translation>acepta las condiciones en su página y luego inicia sesión con `hf auth login` o define HF_TOKEN</translation>
    </message>
    <message>
        <source>adapters in .bin files are pickles and are never opened; save it again with a newer peft</source>
        <translation>los adaptadores en archivos .bin son pickles y nunca se abren; guárdalo otra vez con un peft más nuevo</translation>
    </message>
    <message>
        <source>adapters of the kind {what} are not supported, only LORA</source>
        <translation>no se admiten adaptadores de tipo {what}, solo LORA</translation>
    </message>
    <message>
        <source>all addresses are private, and no member has tried yet whether it reaches this machine</source>
        <translation>todas las direcciones son privadas y ningún miembro ha probado aún a llegar a este ordenador</translation>
    </message>
    <message>
        <source>an address looks like {what}</source>
        <translation>una dirección tiene esta forma: {what}</translation>
    </message>
    <message>
        <source>an admin may invite people: potluck members promote</source>
        <translation>un administrador puede invitar: potluck members promote</translation>
    </message>
    <message>
        <source>an administrator has the daemon started for all users</source>
        <translation>un administrador hace que el servicio se inicie para todos</translation>
    </message>
    <message>
        <source>an administrator starts it for all users</source>
        <translation>un administrador lo inicia para todos los usuarios</translation>
    </message>
    <message>
        <source>an engine needs 2 GB; this machine can only use a swarm</source>
        <translation>un motor necesita 2 GB; este ordenador solo puede usar un enjambre</translation>
    </message>
    <message>
        <source>an older version of it still runs: potluck drain, then potluck start</source>
        <translation>aún se ejecuta una versión anterior: potluck drain y después potluck start</translation>
    </message>
    <message>
        <source>an open swarm has no members</source>
        <translation>un enjambre abierto no tiene miembros</translation>
    </message>
    <message>
        <source>an open swarm keeps its model</source>
        <translation>un enjambre abierto conserva su modelo</translation>
    </message>
    <message>
        <source>an update is already running</source>
        <translation>ya hay una actualización en marcha</translation>
    </message>
    <message>
        <source>another node already runs with this identity</source>
        <translation>otro nodo ya funciona con esta identidad</translation>
    </message>
    <message>
        <source>another program had TCP port {port}; Potluck listens at TCP port {other} instead</source>
        <translation>otro programa ocupaba el puerto TCP {port}; Potluck escucha en el puerto TCP {other}</translation>
    </message>
    <message>
        <source>another program listens at TCP port {port}, which the engine needs</source>
        <translation>otro programa escucha en el puerto TCP {port}, que el motor necesita</translation>
    </message>
    <message>
        <source>another program, maybe another user&apos;s</source>
        <translation>otro programa, quizá de otro usuario</translation>
    </message>
    <message>
        <source>another update is running</source>
        <translation>ya hay otra actualización en marcha</translation>
    </message>
    <message>
        <source>apt, pip, ... as the docs say</source>
        <translation>apt, pip, ... como dice la documentación</translation>
    </message>
    <message>
        <source>are you logged in at the screen?</source>
        <translation>¿has iniciado sesión en la pantalla?</translation>
    </message>
    <message>
        <source>as root if the daemon is the system&apos;s; else: chown it to yourself</source>
        <translation>como root si el servicio es del sistema; si no, asígnatelo con chown</translation>
    </message>
    <message>
        <source>as you asked</source>
        <translation>como has pedido</translation>
    </message>
    <message>
        <source>ask for another one</source>
        <translation>pide otra</translation>
    </message>
    <message>
        <source>ask its founder to create the swarm anew</source>
        <translation>pide a quien fundó el enjambre que lo cree de nuevo</translation>
    </message>
    <message>
        <source>ask one of them</source>
        <translation>pídeselo a una de esas personas</translation>
    </message>
    <message>
        <source>ask the person who invited you for a new invite</source>
        <translation>pide una invitación nueva a quien te invitó</translation>
    </message>
    <message>
        <source>asking the publisher</source>
        <translation>preguntando al editor</translation>
    </message>
    <message>
        <source>at midnight</source>
        <translation>a medianoche</translation>
    </message>
    <message>
        <source>begin it with /</source>
        <translation>empiézala con /</translation>
    </message>
    <message>
        <source>begin it with / or ~</source>
        <translation>empiézala con / o ~</translation>
    </message>
    <message>
        <source>cannot ask the hub: {why}</source>
        <translation>no se puede consultar el hub: {why}</translation>
    </message>
    <message>
        <source>cannot listen on {host} port {number}: {why}</source>
        <translation>no se puede escuchar en {host}, puerto {number}: {why}</translation>
    </message>
    <message>
        <source>cannot listen on {host}, port {port}: {why}</source>
        <translation>no se puede escuchar en {host}, puerto {port}: {why}</translation>
    </message>
    <message>
        <source>cannot make a folder for sockets in {path}: {why}</source>
        <translation>no se puede crear una carpeta para sockets en {path}: {why}</translation>
    </message>
    <message>
        <source>cannot open {path}: {why}</source>
        <translation>no se puede abrir {path}: {why}</translation>
    </message>
    <message>
        <source>cannot reach the hub to fetch {name}, and it is not in the cache: {why}</source>
        <translation>no se puede contactar con el hub para descargar {name}, y no está en el disco: {why}</translation>
    </message>
    <message>
        <source>cannot reach the hub: {why}</source>
        <translation>no se puede contactar con el hub: {why}</translation>
    </message>
    <message>
        <source>cannot read {path}: {why}</source>
        <translation>no se puede leer {path}: {why}</translation>
    </message>
    <message>
        <source>cannot run {path}: {why}</source>
        <translation>no se puede ejecutar {path}: {why}</translation>
    </message>
    <message>
        <source>cannot search the hub without the compute engine</source>
        <translation>sin el motor de cálculo no se puede buscar en el hub</translation>
    </message>
    <message>
        <source>cannot start {path}: {why}</source>
        <translation>no se puede iniciar {path}: {why}</translation>
    </message>
    <message>
        <source>cannot use the identity file {path}: {why}</source>
        <translation>el archivo de identidad {path} no se puede usar: {why}</translation>
    </message>
    <message>
        <source>cannot use {path}: {why}</source>
        <translation>no se puede usar {path}: {why}</translation>
    </message>
    <message>
        <source>cannot write {path}: {why}</source>
        <translation>no se puede escribir {path}: {why}</translation>
    </message>
    <message>
        <source>cannot write: {why}</source>
        <translation>no se puede escribir: {why}</translation>
    </message>
    <message>
        <source>check HTTPS_PROXY, ALL_PROXY and NO_PROXY</source>
        <translation>comprueba HTTPS_PROXY, ALL_PROXY y NO_PROXY</translation>
    </message>
    <message>
        <source>check the network; is another member&apos;s computer or the meeting point online?</source>
        <translation>comprueba la red; ¿está en línea el ordenador de otro miembro o el punto de encuentro?</translation>
    </message>
    <message>
        <source>check the spelling; for a private model log in with `hf auth login` or set HF_TOKEN</source>
        <translation>revisa la ortografía; para un modelo privado inicia sesión con `hf auth login` o define HF_TOKEN</translation>
    </message>
    <message>
        <source>check this computer&apos;s network</source>
        <translation>comprueba la red de este ordenador</translation>
    </message>
    <message>
        <source>check whether something alters downloads, then try again: it continues where it stopped</source>
        <translation>comprueba si algo altera las descargas y vuelve a intentarlo: continúa donde se quedó</translation>
    </message>
    <message>
        <source>checking this machine</source>
        <translation>se comprueba este ordenador</translation>
    </message>
    <message>
        <source>choose a checkpoint in bfloat16, float16, FP8, GPTQ or AWQ; --quantization holds its weights in fewer bits</source>
        <translation>elige un modelo en bfloat16, float16, FP8, GPTQ o AWQ; --quantization guarda sus pesos en menos bits</translation>
    </message>
    <message>
        <source>choose a decoder-only model</source>
        <translation>elige un modelo que solo genere texto</translation>
    </message>
    <message>
        <source>choose a folder with config.json and .safetensors files, or one that contains such folders</source>
        <translation>elige una carpeta con config.json y archivos .safetensors, o una que contenga tales carpetas</translation>
    </message>
    <message>
        <source>choose a model of another family</source>
        <translation>elige un modelo de otra familia</translation>
    </message>
    <message>
        <source>choose a model whose family is part of transformers</source>
        <translation>elige un modelo cuya familia forme parte de transformers</translation>
    </message>
    <message>
        <source>choose a shorter runtime folder</source>
        <translation>elige una carpeta de ejecución más corta</translation>
    </message>
    <message>
        <source>choose another folder with --folder</source>
        <translation>elige otra carpeta con --folder</translation>
    </message>
    <message>
        <source>choose another model</source>
        <translation>elige otro modelo</translation>
    </message>
    <message>
        <source>choose another name</source>
        <translation>elige otro nombre</translation>
    </message>
    <message>
        <source>choose another place</source>
        <translation>elige otro lugar</translation>
    </message>
    <message>
        <source>choose another port, or 0 for any free one</source>
        <translation>elige otro puerto, o 0 para cualquiera libre</translation>
    </message>
    <message>
        <source>choose another variant: {what}</source>
        <translation>elige otra variante: {what}</translation>
    </message>
    <message>
        <source>choose another with --port</source>
        <translation>elige otro con --port</translation>
    </message>
    <message>
        <source>choose one in the usual layout: gptq or gptq_v2, or gemm of AWQ</source>
        <translation>elige uno en la disposición habitual: gptq o gptq_v2, o gemm de AWQ</translation>
    </message>
    <message>
        <source>choose the same model in safetensors, such as GPTQ or AWQ if it should be small</source>
        <translation>elige el mismo modelo en safetensors, como GPTQ o AWQ si debe ser pequeño</translation>
    </message>
    <message>
        <source>close programs that keep this computer busy</source>
        <translation>cierra programas que ocupan el ordenador</translation>
    </message>
    <message>
        <source>compare the setting updates.key with the publisher&apos;s page</source>
        <translation>compara el ajuste updates.key con la página del editor</translation>
    </message>
    <message>
        <source>config.json and the tensors belong to different models</source>
        <translation>config.json y los tensores son de modelos distintos</translation>
    </message>
    <message>
        <source>config.json is damaged: {what} is {number}, above {limit}</source>
        <translation>config.json está dañado: {what} es {number}, más que {limit}</translation>
    </message>
    <message>
        <source>connect it; without a network only a swarm on this machine works</source>
        <translation>conéctalo; sin red solo funciona un enjambre en este ordenador</translation>
    </message>
    <message>
        <source>copy it again from the publisher</source>
        <translation>cópiala otra vez del editor</translation>
    </message>
    <message>
        <source>copy the adapter again</source>
        <translation>copia el adaptador otra vez</translation>
    </message>
    <message>
        <source>copy the whole checkpoint, or give its hub name</source>
        <translation>copia el modelo entero o indica su nombre en el hub</translation>
    </message>
    <message>
        <source>correct HTTPS_PROXY, ALL_PROXY or NO_PROXY</source>
        <translation>corrige HTTPS_PROXY, ALL_PROXY o NO_PROXY</translation>
    </message>
    <message>
        <source>correct it with: potluck config edit</source>
        <translation>corrígelo con: potluck config edit</translation>
    </message>
    <message>
        <source>correct or unset {name}</source>
        <translation>corrige o elimina {name}</translation>
    </message>
    <message>
        <source>could not be checked ({why})</source>
        <translation>no se pudo comprobar ({why})</translation>
    </message>
    <message>
        <source>create a public one: potluck swarm create --public</source>
        <translation>crea uno público: potluck swarm create --public</translation>
    </message>
    <message>
        <source>create another swarm: potluck swarm create</source>
        <translation>crea otro enjambre: potluck swarm create</translation>
    </message>
    <message>
        <source>did you mean {other}?</source>
        <translation>¿querías decir {other}?</translation>
    </message>
    <message>
        <source>do it on the computer that joined the swarm first</source>
        <translation>hazlo en el ordenador que se unió primero al enjambre</translation>
    </message>
    <message>
        <source>does it belong to you?</source>
        <translation>¿es tuyo?</translation>
    </message>
    <message>
        <source>download it again to {folder}</source>
        <translation>descárgalo otra vez en {folder}</translation>
    </message>
    <message>
        <source>download it again, or ask its author</source>
        <translation>descárgalo otra vez o pregunta a quien lo hizo</translation>
    </message>
    <message>
        <source>download the checkpoint again</source>
        <translation>descarga el modelo otra vez</translation>
    </message>
    <message>
        <source>download the checkpoint again, or choose another one</source>
        <translation>descarga el modelo otra vez o elige otro</translation>
    </message>
    <message>
        <source>earnings are not booked: {why}</source>
        <translation>lo ganado no se anota: {why}</translation>
    </message>
    <message>
        <source>end it, or: potluck config set serve.listen /ip4/0.0.0.0/tcp/PORT,/ip6/::/tcp/PORT</source>
        <translation>ciérralo, o: potluck config set serve.listen /ip4/0.0.0.0/tcp/PORT,/ip6/::/tcp/PORT</translation>
    </message>
    <message>
        <source>end one of your invites, or ask the founder for more seats</source>
        <translation>termina una de tus invitaciones o pide más plazas a quien fundó el enjambre</translation>
    </message>
    <message>
        <source>end that program, or: potluck config set gateway.port NUMBER</source>
        <translation>termina ese programa, o: potluck config set gateway.port NÚMERO</translation>
    </message>
    <message>
        <source>expected {one} or {other} beside config.json</source>
        <translation>junto a config.json se espera {one} u {other}</translation>
    </message>
    <message>
        <source>fetching</source>
        <translation>descargando</translation>
    </message>
    <message>
        <source>four random words are good</source>
        <translation>cuatro palabras al azar van bien</translation>
    </message>
    <message>
        <source>give a checkpoint with a transformers configuration</source>
        <translation>indica un modelo con una configuración de transformers</translation>
    </message>
    <message>
        <source>give a folder in the Hugging Face layout</source>
        <translation>indica una carpeta con la estructura de Hugging Face</translation>
    </message>
    <message>
        <source>give a folder with a config.json, or a hub name</source>
        <translation>indica una carpeta con config.json o un nombre del hub</translation>
    </message>
    <message>
        <source>give it a user</source>
        <translation>asígnale un usuario</translation>
    </message>
    <message>
        <source>given wattage</source>
        <translation>potencia indicada</translation>
    </message>
    <message>
        <source>in a moment, or when you resume</source>
        <translation>en un momento, o cuando reanudes</translation>
    </message>
    <message>
        <source>install NVIDIA&apos;s driver {number} or newer to use {who}; this machine has {driver}</source>
        <translation>para usar {who} hace falta el controlador {number} de NVIDIA o uno más nuevo; este ordenador tiene el {driver}</translation>
    </message>
    <message>
        <source>install Potluck again</source>
        <translation>instala Potluck de nuevo</translation>
    </message>
    <message>
        <source>install Potluck again, or install uv</source>
        <translation>instala Potluck de nuevo o instala uv</translation>
    </message>
    <message>
        <source>install it, or name an HTTP proxy instead</source>
        <translation>instálalo o indica un proxy HTTP en su lugar</translation>
    </message>
    <message>
        <source>install or repair NVIDIA&apos;s driver, then restart the machine</source>
        <translation>instala o repara el controlador de NVIDIA y reinicia el ordenador</translation>
    </message>
    <message>
        <source>install potluck with the extra `client`</source>
        <translation>instala potluck con el extra `client`</translation>
    </message>
    <message>
        <source>install potluck with the extra `engine`</source>
        <translation>instala potluck con el extra `engine`</translation>
    </message>
    <message>
        <source>install that version again, or move the file away: then a new ledger begins</source>
        <translation>instala otra vez esa versión, o mueve el archivo a otro lugar: así empieza un libro nuevo</translation>
    </message>
    <message>
        <source>install the missing package: pip install {what}</source>
        <translation>instala el paquete que falta: pip install {what}</translation>
    </message>
    <message>
        <source>install the package with the app, see docs/install.md</source>
        <translation>instala el paquete con la aplicación, mira docs/install.md</translation>
    </message>
    <message>
        <source>installing {number} packages</source>
        <translation>se instalan {number} paquetes</translation>
    </message>
    <message>
        <source>is its disk connected? Else {advice}</source>
        <translation>¿está conectado su disco? Si no: {advice}</translation>
    </message>
    <message>
        <source>is its disk or network share still there?</source>
        <translation>¿sigue ahí su disco o su recurso de red?</translation>
    </message>
    <message>
        <source>is the disk full?</source>
        <translation>¿está lleno el disco?</translation>
    </message>
    <message>
        <source>is the disk mounted read-only?</source>
        <translation>¿está montado el disco solo para lectura?</translation>
    </message>
    <message>
        <source>is there enough memory?</source>
        <translation>¿hay memoria suficiente?</translation>
    </message>
    <message>
        <source>it belongs to another user</source>
        <translation>es de otro usuario</translation>
    </message>
    <message>
        <source>it did not finish</source>
        <translation>no terminó</translation>
    </message>
    <message>
        <source>it did not free its memory</source>
        <translation>no liberó su memoria</translation>
    </message>
    <message>
        <source>it did not start in time</source>
        <translation>no ha arrancado a tiempo</translation>
    </message>
    <message>
        <source>it did not stop</source>
        <translation>no se detuvo</translation>
    </message>
    <message>
        <source>it ended with code {number}</source>
        <translation>terminó con el código {number}</translation>
    </message>
    <message>
        <source>it ended with code {number}: {why}</source>
        <translation>terminó con el código {number}: {why}</translation>
    </message>
    <message>
        <source>it has 14 groups of four letters</source>
        <translation>tiene 14 grupos de cuatro letras</translation>
    </message>
    <message>
        <source>it says {time}</source>
        <translation>marca {time}</translation>
    </message>
    <message>
        <source>it is of another version (pipe {theirs}, the daemon {ours}); set it up again: potluck setup</source>
        <translation>es de otra versión (conducto {theirs}, el servicio {ours}); configúralo de nuevo: potluck setup</translation>
    </message>
    <message>
        <source>The setting serve.enabled is gone. It was off, so Potluck is paused until you resume</source>
        <translation>El ajuste serve.enabled ya no existe. Estaba desactivado, así que Potluck está en pausa hasta que reanudes</translation>
    </message>
    <message>
        <source>Who can use the gateway?</source>
        <translation>¿Quién puede usar la pasarela?</translation>
    </message>
    <message>
        <source>it stopped answering</source>
        <translation>dejó de responder</translation>
    </message>
    <message>
        <source>it takes {used} of memory, more than {all}, which limits.ram_mb allows</source>
        <translation>ocupa {used} de memoria, más de los {all} que permite limits.ram_mb</translation>
    </message>
    <message>
        <source>it was ended by signal {name}</source>
        <translation>lo cerró la señal {name}</translation>
    </message>
    <message>
        <source>it was trained for another model, or its files do not belong together</source>
        <translation>se entrenó para otro modelo o sus archivos no van juntos</translation>
    </message>
    <message>
        <source>its configuration and its tensors do not belong together</source>
        <translation>su configuración y sus tensores no van juntos</translation>
    </message>
    <message>
        <source>its layers exchange several hidden states for each token</source>
        <translation>sus capas intercambian varios estados ocultos por cada token</translation>
    </message>
    <message>
        <source>its layers need the tokens besides the hidden states</source>
        <translation>sus capas necesitan también los tokens</translation>
    </message>
    <message>
        <source>its layers share keys and values across the whole depth</source>
        <translation>sus capas comparten claves y valores en toda la profundidad</translation>
    </message>
    <message>
        <source>its log has the reason; please report it</source>
        <translation>el motivo está en su registro; por favor, comunícalo</translation>
    </message>
    <message>
        <source>its process was stopped</source>
        <translation>se detuvo su proceso</translation>
    </message>
    <message>
        <source>join again: potluck join</source>
        <translation>únete otra vez: potluck join</translation>
    </message>
    <message>
        <source>join one with: potluck join</source>
        <translation>únete a uno con: potluck join INVITACIÓN</translation>
    </message>
    <message>
        <source>join the swarm there with an invite for one machine: potluck members add-computer</source>
        <translation>únete allí al enjambre con una invitación para un solo ordenador: potluck members add-computer</translation>
    </message>
    <message>
        <source>kernels of the {what} package</source>
        <translation>núcleos del paquete {what}</translation>
    </message>
    <message>
        <source>keyboard or mouse</source>
        <translation>teclado o ratón</translation>
    </message>
    <message>
        <source>layer {block} of {model}</source>
        <translation>la capa {block} de {model}</translation>
    </message>
    <message>
        <source>leave it first: potluck leave {name}</source>
        <translation>sal de él primero: potluck leave {name}</translation>
    </message>
    <message>
        <source>leave out the revision to use main</source>
        <translation>omite la revisión para usar main</translation>
    </message>
    <message>
        <source>leave the swarm first, or delete it by force: it is downloaded again when it is needed</source>
        <translation>deja primero el enjambre o bórralo a la fuerza: se descarga de nuevo cuando haga falta</translation>
    </message>
    <message>
        <source>leave those that you don&apos;t use</source>
        <translation>abandona los que no uses</translation>
    </message>
    <message>
        <source>log in with `hf auth login` or set HF_TOKEN</source>
        <translation>inicia sesión con `hf auth login` o define HF_TOKEN</translation>
    </message>
    <message>
        <source>logind does not let us finish before sleep</source>
        <translation>logind no deja terminar antes de la suspensión</translation>
    </message>
    <message>
        <source>look at {file}</source>
        <translation>mira {file}</translation>
    </message>
    <message>
        <source>look for another name</source>
        <translation>busca otro nombre</translation>
    </message>
    <message>
        <source>looking up the packages</source>
        <translation>se buscan los paquetes</translation>
    </message>
    <message>
        <source>macOS {version} is too old for torch</source>
        <translation>macOS {version} es demasiado antiguo para PyTorch</translation>
    </message>
    <message>
        <source>macOS {version}, {architecture}</source>
        <translation>macOS {version}, {architecture}</translation>
    </message>
    <message>
        <source>make room on the disk</source>
        <translation>libera espacio en el disco</translation>
    </message>
    <message>
        <source>make room, or choose a folder on another disk with --folder</source>
        <translation>haz sitio o elige con --folder una carpeta en otro disco</translation>
    </message>
    <message>
        <source>make room: settings and history cannot be kept</source>
        <translation>libera espacio: no se pueden guardar los ajustes ni el historial</translation>
    </message>
    <message>
        <source>make the backup on the computer that joined the swarm first</source>
        <translation>haz la copia en el ordenador que se unió primero al enjambre</translation>
    </message>
    <message>
        <source>members in the same network reach it; others through a relay, unless {port} is forwarded</source>
        <translation>los miembros de la misma red llegan a él; los demás por un relé, salvo que se redirija {port}</translation>
    </message>
    <message>
        <source>metrics.port {port} cannot be listened on: {why}</source>
        <translation>no se puede escuchar en metrics.port {port}: {why}</translation>
    </message>
    <message>
        <source>models of the family {family} cannot be split: their loop over layers is unknown</source>
        <translation>los modelos de la familia {family} no se pueden dividir: se desconoce su bucle por las capas</translation>
    </message>
    <message>
        <source>models of the family {family} cannot be split: they have an encoder and a decoder</source>
        <translation>los modelos de la familia {family} no se pueden dividir: tienen un codificador y un decodificador</translation>
    </message>
    <message>
        <source>models of the family {family} cannot be split: {why}</source>
        <translation>los modelos de la familia {family} no se pueden dividir: {why}</translation>
    </message>
    <message>
        <source>models of the family {family} have no {what}</source>
        <translation>los modelos de la familia {family} no tienen {what}</translation>
    </message>
    <message>
        <source>name a time: potluck pause 2h</source>
        <translation>indica un tiempo: potluck pause 2h</translation>
    </message>
    <message>
        <source>name an HTTP proxy instead</source>
        <translation>indica un proxy HTTP en su lugar</translation>
    </message>
    <message>
        <source>name one of: {names}</source>
        <translation>indica uno de estos: {names}</translation>
    </message>
    <message>
        <source>no GPU found; the processor serves instead, which is slow but works</source>
        <translation>no se ha encontrado ninguna tarjeta gráfica; calcula el procesador, despacio pero funciona</translation>
    </message>
    <message>
        <source>no GPU reports its memory</source>
        <translation>ninguna tarjeta gráfica indica su memoria</translation>
    </message>
    <message>
        <source>no GPU reports its power</source>
        <translation>ninguna tarjeta gráfica indica su potencia</translation>
    </message>
    <message>
        <source>no Wayland compositor at {path} ({why})</source>
        <translation>no hay compositor de Wayland en {path} ({why})</translation>
    </message>
    <message>
        <source>no Wayland session</source>
        <translation>no hay sesión de Wayland</translation>
    </message>
    <message>
        <source>no X11 display</source>
        <translation>no hay pantalla X11</translation>
    </message>
    <message>
        <source>no X11 display ({why})</source>
        <translation>no hay pantalla X11 ({why})</translation>
    </message>
    <message>
        <source>no answer within {number} s</source>
        <translation>sin respuesta en {number} s</translation>
    </message>
    <message>
        <source>no battery</source>
        <translation>sin batería</translation>
    </message>
    <message>
        <source>no bootstrap peer answers ({number} tried)</source>
        <translation>ningún nodo de entrada responde ({number} intentados)</translation>
    </message>
    <message>
        <source>no computer named {name} asks to be yours</source>
        <translation>ningún ordenador llamado {name} pide ser tuyo</translation>
    </message>
    <message>
        <source>no decoder is known for models of the family {family}</source>
        <translation>no se conoce un decodificador para los modelos de la familia {family}</translation>
    </message>
    <message>
        <source>no desktop is watched</source>
        <translation>no se observa ningún escritorio</translation>
    </message>
    <message>
        <source>no desktop runs</source>
        <translation>no hay ningún escritorio en marcha</translation>
    </message>
    <message>
        <source>no folder</source>
        <translation>no es una carpeta</translation>
    </message>
    <message>
        <source>no game is running as far as Potluck can see</source>
        <translation>no hay ningún juego en marcha, que Potluck vea</translation>
    </message>
    <message>
        <source>no ioreg ({why})</source>
        <translation>falta ioreg ({why})</translation>
    </message>
    <message>
        <source>no key of yours is on this computer</source>
        <translation>en este ordenador no hay ninguna clave tuya</translation>
    </message>
    <message>
        <source>no keyboard or mouse is listed</source>
        <translation>no se ha encontrado teclado ni ratón</translation>
    </message>
    <message>
        <source>no member has stored this server&apos;s announcement</source>
        <translation>ningún miembro ha guardado el anuncio de este servidor</translation>
    </message>
    <message>
        <source>no member is online who could let you in</source>
        <translation>no hay ningún miembro en línea que pueda dejarte entrar</translation>
    </message>
    <message>
        <source>no method {name}</source>
        <translation>no hay ningún método {name}</translation>
    </message>
    <message>
        <source>no part of {what} is a stack of {number} layers that is known</source>
        <translation>ninguna parte de {what} es una pila conocida de {number} capas</translation>
    </message>
    <message>
        <source>no permission to speak to the daemon at {path}</source>
        <translation>sin permiso para hablar con el servicio en {path}</translation>
    </message>
    <message>
        <source>no port is chosen yet; the daemon chooses one when it starts</source>
        <translation>aún no hay puerto; el servicio elige uno al arrancar</translation>
    </message>
    <message>
        <source>no sensor reports a temperature</source>
        <translation>ningún sensor indica la temperatura</translation>
    </message>
    <message>
        <source>no source of updates is set</source>
        <translation>no hay ningún origen de actualizaciones</translation>
    </message>
    <message>
        <source>no swarm is joined</source>
        <translation>no te has unido a ningún enjambre</translation>
    </message>
    <message>
        <source>no {what} bus ({why})</source>
        <translation>no hay bus {what} ({why})</translation>
    </message>
    <message>
        <source>nobody</source>
        <translation>nadie</translation>
    </message>
    <message>
        <source>nobody in the swarm is called {name}</source>
        <translation>nadie en el enjambre se llama {name}</translation>
    </message>
    <message>
        <source>note its recovery code (potluck members recovery-code), appoint an admin, or add --yes</source>
        <translation>anota su código de recuperación (potluck members recovery-code), nombra a un administrador o añade --yes</translation>
    </message>
    <message>
        <source>nothing is reported about {name}</source>
        <translation>no hay ningún aviso sobre {name}</translation>
    </message>
    <message>
        <source>nothing shows windows here: games that do not announce themselves are missed</source>
        <translation>aquí nada muestra ventanas: se pasan por alto los juegos que no se anuncian</translation>
    </message>
    <message>
        <source>old invites that name nobody else don&apos;t work; end that program, then: potluck pause, potluck resume</source>
        <translation>las invitaciones antiguas que no nombran a nadie más no funcionan; cierra ese programa y luego: potluck pause, potluck resume</translation>
    </message>
    <message>
        <source>on a new computer: potluck members recover</source>
        <translation>en un ordenador nuevo: potluck members recover</translation>
    </message>
    <message>
        <source>one block&apos;s weights are shared between many layers</source>
        <translation>muchas capas comparten los mismos pesos</translation>
    </message>
    <message>
        <source>only IPv6 is public; members without IPv6 cannot dial this machine</source>
        <translation>solo IPv6 es pública; los miembros sin IPv6 no llegan a este ordenador</translation>
    </message>
    <message>
        <source>only a public swarm has enrollers</source>
        <translation>solo un enjambre público tiene personas que admiten a otras</translation>
    </message>
    <message>
        <source>only plain LoRA of linear parts of layers can be served</source>
        <translation>solo se puede servir LoRA simple de partes lineales de las capas</translation>
    </message>
    <message>
        <source>only the founder and admins of the swarm can do this</source>
        <translation>solo pueden hacerlo quien fundó el enjambre y sus administradores</translation>
    </message>
    <message>
        <source>only the founder of the swarm can do this</source>
        <translation>solo puede hacerlo quien fundó el enjambre</translation>
    </message>
    <message>
        <source>only the founder&apos;s computer has the recovery code</source>
        <translation>solo el ordenador fundador tiene el código de recuperación</translation>
    </message>
    <message>
        <source>or the file is damaged</source>
        <translation>o el archivo está dañado</translation>
    </message>
    <message>
        <source>packages cannot be installed: {why}</source>
        <translation>no se pueden instalar los paquetes: {why}</translation>
    </message>
    <message>
        <source>pause first</source>
        <translation>haz una pausa primero</translation>
    </message>
    <message>
        <source>pause first: potluck pause</source>
        <translation>pausa primero: potluck pause</translation>
    </message>
    <message>
        <source>put the right file back</source>
        <translation>vuelve a poner el archivo correcto</translation>
    </message>
    <message>
        <source>put the right files back; if the new ones are right, delete {path} and {file}</source>
        <translation>restaura los archivos correctos; si los nuevos son los correctos, borra {path} y {file}</translation>
    </message>
    <message>
        <source>reinstall potluck</source>
        <translation>reinstala potluck</translation>
    </message>
    <message>
        <source>reinstall the `hivemind` package for this kind of machine</source>
        <translation>reinstala el paquete `hivemind` para este tipo de ordenador</translation>
    </message>
    <message>
        <source>remove it if it is a link, and make room if the disk is full</source>
        <translation>quítalo si es un enlace y haz sitio si el disco está lleno</translation>
    </message>
    <message>
        <source>remove it or choose another runtime folder</source>
        <translation>bórrala o elige otra carpeta de ejecución</translation>
    </message>
    <message>
        <source>remove one that you don&apos;t use: potluck members remove NAME --machine COMPUTER</source>
        <translation>quita uno que no uses: potluck members remove NAME --machine COMPUTER</translation>
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
        <source>restore a backup: potluck ledger restore FILE</source>
        <translation>restaura una copia: potluck ledger restore ARCHIVO</translation>
    </message>
    <message>
        <source>run `potluck start` in a terminal of the desktop</source>
        <translation>ejecuta `potluck start` en un terminal del escritorio</translation>
    </message>
    <message>
        <source>save it as safetensors first, with save_pretrained() of Transformers</source>
        <translation>guárdalo antes como safetensors, con save_pretrained() de Transformers</translation>
    </message>
    <message>
        <source>see `potluck doctor`</source>
        <translation>mira `potluck doctor`</translation>
    </message>
    <message>
        <source>see serve.python</source>
        <translation>mira serve.python</translation>
    </message>
    <message>
        <source>see that the index of packages is the right one (UV_DEFAULT_INDEX)</source>
        <translation>comprueba que el índice de paquetes sea el correcto (UV_DEFAULT_INDEX)</translation>
    </message>
    <message>
        <source>see the publisher&apos;s page</source>
        <translation>consulta la página del editor</translation>
    </message>
    <message>
        <source>see why: potluck logs</source>
        <translation>para ver por qué: potluck logs</translation>
    </message>
    <message>
        <source>serve it, or ask a member for an invite</source>
        <translation>sírvelo o pide una invitación a un miembro</translation>
    </message>
    <message>
        <source>serve.device is {name}, but no GPU is found</source>
        <translation>serve.device es {name}, pero no se encuentra ninguna tarjeta gráfica</translation>
    </message>
    <message>
        <source>serve.swarm is {name}, which is not a swarm you joined</source>
        <translation>serve.swarm es {name}, un enjambre al que no te has unido</translation>
    </message>
    <message>
        <source>set SSL_CERT_FILE to the right certificates</source>
        <translation>pon en SSL_CERT_FILE los certificados correctos</translation>
    </message>
    <message>
        <source>set XDG_RUNTIME_DIR to a folder with a shorter one</source>
        <translation>define XDG_RUNTIME_DIR como una carpeta con una ruta más corta</translation>
    </message>
    <message>
        <source>set the clock</source>
        <translation>ajusta el reloj</translation>
    </message>
    <message>
        <source>set the clock: others ignore announcements from the past</source>
        <translation>ajusta el reloj: nadie hace caso de anuncios del pasado</translation>
    </message>
    <message>
        <source>set this computer&apos;s clock</source>
        <translation>ajusta el reloj de este ordenador</translation>
    </message>
    <message>
        <source>set updates.url and updates.key, as published</source>
        <translation>define updates.url y updates.key, tal como se publicaron</translation>
    </message>
    <message>
        <source>start again</source>
        <translation>inicia de nuevo</translation>
    </message>
    <message>
        <source>start it with: potluck start</source>
        <translation>inícialo con: potluck start</translation>
    </message>
    <message>
        <source>start it with: potluck start; see why: potluck logs</source>
        <translation>inícialo con: potluck start; para ver por qué: potluck logs</translation>
    </message>
    <message>
        <source>start the daemon with: potluck start</source>
        <translation>inicia el servicio con: potluck start</translation>
    </message>
    <message>
        <source>start this program again</source>
        <translation>vuelve a iniciar este programa</translation>
    </message>
    <message>
        <source>switching to the earlier environment</source>
        <translation>se cambia al entorno anterior</translation>
    </message>
    <message>
        <source>switching to the new environment</source>
        <translation>se cambia al entorno nuevo</translation>
    </message>
    <message>
        <source>tell the publisher</source>
        <translation>avisa al editor</translation>
    </message>
    <message>
        <source>testing the earlier environment</source>
        <translation>se prueba el entorno anterior</translation>
    </message>
    <message>
        <source>testing the existing environment</source>
        <translation>se prueba el entorno existente</translation>
    </message>
    <message>
        <source>testing the new environment</source>
        <translation>se prueba el entorno nuevo</translation>
    </message>
    <message>
        <source>the GPU</source>
        <translation>la GPU</translation>
    </message>
    <message>
        <source>the NVIDIA driver does not answer</source>
        <translation>el controlador NVIDIA no responde</translation>
    </message>
    <message>
        <source>the NVIDIA driver says: {why}</source>
        <translation>el controlador NVIDIA dice: {why}</translation>
    </message>
    <message>
        <source>the Wayland compositor does not answer</source>
        <translation>el compositor de Wayland no responde</translation>
    </message>
    <message>
        <source>the Wayland compositor does not report idle time</source>
        <translation>el compositor de Wayland no indica el tiempo inactivo</translation>
    </message>
    <message>
        <source>the Wayland compositor refuses to answer</source>
        <translation>el compositor de Wayland se niega a responder</translation>
    </message>
    <message>
        <source>the Wayland compositor went away</source>
        <translation>el compositor de Wayland ha desaparecido</translation>
    </message>
    <message>
        <source>the X server does not answer</source>
        <translation>el servidor X no responde</translation>
    </message>
    <message>
        <source>the X server does not report idle time</source>
        <translation>el servidor X no indica el tiempo inactivo</translation>
    </message>
    <message>
        <source>the adapter began as {what}, which changes the model&apos;s own weights</source>
        <translation>el adaptador empezó como {what}, que cambia los pesos del propio modelo</translation>
    </message>
    <message>
        <source>the adapter changes biases, which is not plain LoRA</source>
        <translation>el adaptador cambia sesgos, y eso no es LoRA sencillo</translation>
    </message>
    <message>
        <source>the adapter uses {what}, which is not plain LoRA</source>
        <translation>el adaptador usa {what}, y eso no es LoRA sencillo</translation>
    </message>
    <message>
        <source>the adapter&apos;s {what} has a regular expression, which is never run</source>
        <translation>{what} del adaptador contiene una expresión regular, que nunca se ejecuta</translation>
    </message>
    <message>
        <source>the address must begin with https://</source>
        <translation>la dirección debe empezar por https://</translation>
    </message>
    <message>
        <source>the address of the proxy cannot be read</source>
        <translation>la dirección del proxy no se puede leer</translation>
    </message>
    <message>
        <source>the battery</source>
        <translation>la batería</translation>
    </message>
    <message>
        <source>the check for updates failed: {why}</source>
        <translation>falló la búsqueda de actualizaciones: {why}</translation>
    </message>
    <message>
        <source>the checkpoint has {what}, which the model does not know</source>
        <translation>los archivos contienen {what}, que el modelo no conoce</translation>
    </message>
    <message>
        <source>the checkpoint lacks {what}</source>
        <translation>al modelo le falta {what}</translation>
    </message>
    <message>
        <source>the checkpoint lacks {what} and {number} more</source>
        <translation>al modelo le faltan {what} y {number} más</translation>
    </message>
    <message>
        <source>the checkpoint&apos;s quantization_config is not valid: {why}</source>
        <translation>«quantization_config» del modelo no es válido: {why}</translation>
    </message>
    <message>
        <source>the clock is not synchronised; it says {time}</source>
        <translation>el reloj no está sincronizado; marca {time}</translation>
    </message>
    <message>
        <source>the clock says {time}, which is in the past</source>
        <translation>el reloj marca {time}, que ya pasó</translation>
    </message>
    <message>
        <source>the code is incomplete or has a wrong letter in it</source>
        <translation>el código está incompleto o tiene una letra equivocada</translation>
    </message>
    <message>
        <source>the computer</source>
        <translation>el ordenador</translation>
    </message>
    <message>
        <source>the daemon could not handle its message: {why}</source>
        <translation>el servicio no pudo tratar su mensaje: {why}</translation>
    </message>
    <message>
        <source>the daemon does not answer: {why}</source>
        <translation>el servicio no responde: {why}</translation>
    </message>
    <message>
        <source>the daemon does not know this yet ({what})</source>
        <translation>el servicio aún no conoce esto ({what})</translation>
    </message>
    <message>
        <source>the daemon is already running as process {number}</source>
        <translation>el servicio ya está en marcha como proceso {number}</translation>
    </message>
    <message>
        <source>the daemon is not running</source>
        <translation>el servicio no está en marcha</translation>
    </message>
    <message>
        <source>the daemon runs version {theirs}, but {ours} is installed</source>
        <translation>el servicio usa la versión {theirs}, pero está instalada la {ours}</translation>
    </message>
    <message>
        <source>the daemon was killed or has crashed</source>
        <translation>el servicio fue terminado o se ha bloqueado</translation>
    </message>
    <message>
        <source>the daemon&apos;s answer is not understood: {why}</source>
        <translation>no se entiende la respuesta del servicio: {why}</translation>
    </message>
    <message>
        <source>the defaults hold where the file cannot be obeyed</source>
        <translation>donde no se entiende el archivo vale lo predeterminado</translation>
    </message>
    <message>
        <source>the desktop makes no control groups for applications</source>
        <translation>el escritorio no crea grupos de control para las aplicaciones</translation>
    </message>
    <message>
        <source>the engine does not work here: {why}</source>
        <translation>el motor no funciona aquí: {why}</translation>
    </message>
    <message>
        <source>the engine failed unexpectedly</source>
        <translation>el motor falló de forma inesperada</translation>
    </message>
    <message>
        <source>the engine is being set up already</source>
        <translation>el motor ya se está instalando</translation>
    </message>
    <message>
        <source>the engine listens at TCP port {port}</source>
        <translation>el motor escucha en el puerto TCP {port}</translation>
    </message>
    <message>
        <source>the engine may be using them</source>
        <translation>puede que el motor los esté usando</translation>
    </message>
    <message>
        <source>the engine needs {names}, which is not installed</source>
        <translation>el motor necesita {names}, que no está instalado</translation>
    </message>
    <message>
        <source>the engine serves {name}</source>
        <translation>el motor sirve {name}</translation>
    </message>
    <message>
        <source>the engine&apos;s Python cannot be run: {why}</source>
        <translation>no se puede ejecutar el Python del motor: {why}</translation>
    </message>
    <message>
        <source>the engine&apos;s TCP port</source>
        <translation>el puerto TCP del motor</translation>
    </message>
    <message>
        <source>the engine&apos;s packages are installed</source>
        <translation>los paquetes del motor están instalados</translation>
    </message>
    <message>
        <source>the environment lies in {path} already</source>
        <translation>el entorno ya está en {path}</translation>
    </message>
    <message>
        <source>the family {family} is unknown to the installed transformers</source>
        <translation>el transformers instalado no conoce la familia {family}</translation>
    </message>
    <message>
        <source>the family {family} needs code from the checkpoint, which is never run</source>
        <translation>la familia {family} necesita código del modelo, que nunca se ejecuta</translation>
    </message>
    <message>
        <source>the file: {why}</source>
        <translation>el archivo: {why}</translation>
    </message>
    <message>
        <source>the folder must be absolute</source>
        <translation>la carpeta debe darse completa</translation>
    </message>
    <message>
        <source>the folder of a checkpoint must be absolute</source>
        <translation>la carpeta de un checkpoint debe darse completa</translation>
    </message>
    <message>
        <source>the founder may promote you anew</source>
        <translation>quien fundó el enjambre puede nombrarte de nuevo</translation>
    </message>
    <message>
        <source>the gateway is not understood: {why}</source>
        <translation>no se entiende la pasarela: {why}</translation>
    </message>
    <message>
        <source>the hub answered {number}</source>
        <translation>el hub respondió {number}</translation>
    </message>
    <message>
        <source>the hub answered {number} for {name}</source>
        <translation>el hub respondió {number} para {name}</translation>
    </message>
    <message>
        <source>the hub did not answer in time</source>
        <translation>el hub no respondió a tiempo</translation>
    </message>
    <message>
        <source>the hub refuses access to {name}</source>
        <translation>el hub niega el acceso a {name}</translation>
    </message>
    <message>
        <source>the hub sends no valid etag for {file}</source>
        <translation>el hub no envía una marca válida para {file}</translation>
    </message>
    <message>
        <source>the hub&apos;s answer cannot be read</source>
        <translation>la respuesta del hub no se puede leer</translation>
    </message>
    <message>
        <source>the request did not arrive in time</source>
        <translation>la petición no llegó a tiempo</translation>
    </message>
    <message>
        <source>the settings file has no mistakes</source>
        <translation>el archivo de ajustes no tiene errores</translation>
    </message>
    <message>
        <source>this daemon belongs to another user</source>
        <translation>este servicio es de otro usuario</translation>
    </message>
    <message>
        <source>this version of Potluck has no torch of variant {what} for this computer</source>
        <translation>esta versión de Potluck no tiene PyTorch de la variante {what} para este ordenador</translation>
    </message>
    <message>
        <source>too many connections</source>
        <translation>demasiadas conexiones</translation>
    </message>
    <message>
        <source>too many subscribers</source>
        <translation>demasiados suscriptores</translation>
    </message>
    <message>
        <source>version {offered} failed; {number} is in use again</source>
        <translation>la versión {offered} falló; se vuelve a usar la {number}</translation>
    </message>
    <message>
        <source>when you join with a new invite</source>
        <translation>cuando te unas con otra invitación</translation>
    </message>
    <message>
        <source>{file} is of a newer Potluck; what this one does not know stays in it and has no effect</source>
        <translation>{file} es de un Potluck más reciente; lo que este no conoce se queda en él y no tiene efecto</translation>
    </message>
    <message>
        <source>{key}: {why}</source>
        <translation>{key}: {why}</translation>
    </message>
    <message>
        <source>{method} failed inside the daemon</source>
        <translation>{method} falló dentro del servicio</translation>
    </message>
    <message>
        <source>{name} is not a section of the file</source>
        <translation>{name} no es una sección del archivo</translation>
    </message>
    <message>
        <source>{path} is too long a path for a socket</source>
        <translation>{path} es una ruta demasiado larga para un socket</translation>
    </message>
    <message>
        <source>{place} has version {theirs}; this Potluck knows version {ours}</source>
        <translation>{place} tiene la versión {theirs}; este Potluck conoce la {ours}</translation>
    </message>
    <message>
        <source>{what} is stored quantised, which is supported for layers alone</source>
        <translation>{what} está cuantizado, algo que solo se admite en las capas</translation>
    </message>
    <message>
        <source>{who}&apos;s {what} returned wrong results: found by {name}</source>
        <translation>{what} de {who} devolvió resultados incorrectos: lo detectó {name}</translation>
    </message>
    <message>
        <source>{why}: start it in another way, or let the tray app do so</source>
        <translation>{why}: inícialo de otro modo o deja que lo haga la aplicación de la bandeja</translation>
    </message>
    <message>
        <source>{why}: variant {what}</source>
        <translation>{why}: variante {what}</translation>
    </message>
    <message>
        <source>the invite has been used up</source>
        <translation>la invitación está agotada</translation>
    </message>
    <message>
        <source>Are the settings right?</source>
        <translation>¿Son correctos los ajustes?</translation>
    </message>
    <message>
        <source>As Ollama&apos;s address, in programs that speak only its API:</source>
        <translation>Como dirección de Ollama, en los programas que solo hablan su API:</translation>
    </message>
    <message>
        <source>Can a GPU be used?</source>
        <translation>¿Se puede usar una GPU?</translation>
    </message>
    <message>
        <source>Can games be seen?</source>
        <translation>¿Se pueden detectar los juegos?</translation>
    </message>
    <message>
        <source>Can others reach this computer?</source>
        <translation>¿Pueden otros llegar a este ordenador?</translation>
    </message>
    <message>
        <source>Can the engine use its port?</source>
        <translation>¿Puede el motor usar su puerto?</translation>
    </message>
    <message>
        <source>Can the folder be used?</source>
        <translation>¿Se puede usar la carpeta?</translation>
    </message>
    <message>
        <source>Can this system run PyTorch?</source>
        <translation>¿Puede funcionar PyTorch en este sistema?</translation>
    </message>
    <message>
        <source>Can&apos;t join {name}: {why}</source>
        <translation>No se puede entrar en {name}: {why}</translation>
    </message>
    <message>
        <source>Does the daemon run?</source>
        <translation>¿Funciona el servicio?</translation>
    </message>
    <message>
        <source>Does the swarm answer?</source>
        <translation>¿Responde el enjambre?</translation>
    </message>
    <message>
        <source>Does this Python fit?</source>
        <translation>¿Sirve este Python?</translation>
    </message>
    <message>
        <source>GPU use</source>
        <translation>Uso de la GPU</translation>
    </message>
    <message>
        <source>In Cline&apos;s settings:</source>
        <translation>En los ajustes de Cline:</translation>
    </message>
    <message>
        <source>In {file}:</source>
        <translation>En {file}:</translation>
    </message>
    <message>
        <source>Is the clock right?</source>
        <translation>¿Está bien el reloj?</translation>
    </message>
    <message>
        <source>Is the engine installed?</source>
        <translation>¿Está instalado el motor?</translation>
    </message>
    <message>
        <source>Is there enough memory?</source>
        <translation>¿Hay suficiente memoria?</translation>
    </message>
    <message>
        <source>Is there room on the disk?</source>
        <translation>¿Hay sitio en el disco?</translation>
    </message>
    <message>
        <source>Loading programs</source>
        <translation>Cargando programas</translation>
    </message>
    <message>
        <source>Loading the model&apos;s first and last parts</source>
        <translation>Cargando la primera y la última parte del modelo</translation>
    </message>
    <message>
        <source>Logins and screen lock</source>
        <translation>Sesiones y bloqueo de pantalla</translation>
    </message>
    <message>
        <source>Nothing is in the way any more; waiting a moment</source>
        <translation>Ya nada lo impide; esperando un momento</translation>
    </message>
    <message>
        <source>Paused by you until you resume</source>
        <translation>En pausa hasta que reanudes</translation>
    </message>
    <message>
        <source>Potluck has no system service on a Mac</source>
        <translation>En un Mac, Potluck no tiene servicio del sistema</translation>
    </message>
    <message>
        <source>Running programs</source>
        <translation>Programas en ejecución</translation>
    </message>
    <message>
        <source>This month&apos;s use can&apos;t be read from the ledger, so its caps count as used up</source>
        <translation>El consumo de este mes no se puede leer del libro de cuentas, así que sus límites cuentan como alcanzados</translation>
    </message>
    <message>
        <source>Today&apos;s use can&apos;t be read from the ledger, so its caps count as used up</source>
        <translation>El consumo de hoy no se puede leer del libro de cuentas, así que sus límites cuentan como alcanzados</translation>
    </message>
    <message>
        <source>Waiting for a member of {name} to let you in</source>
        <translation>Esperando a que un miembro de {name} te deje entrar</translation>
    </message>
    <message>
        <source>another program uses port {port}</source>
        <translation>otro programa usa el puerto {port}</translation>
    </message>
    <message>
        <source>ask it for the other swarm&apos;s model, or: potluck gateway stop</source>
        <translation>pídale el modelo del otro enjambre, o: potluck gateway stop</translation>
    </message>
    <message>
        <source>ask one of its members for an invite; it begins with `potluck4:`</source>
        <translation>pide una invitación a un miembro; empieza por `potluck4:`</translation>
    </message>
    <message>
        <source>choose another one: potluck config set gateway.port {other}</source>
        <translation>elige otro: potluck config set gateway.port {other}</translation>
    </message>
    <message>
        <source>close other programs, or serve fewer layers: serve.num_blocks</source>
        <translation>cierra otros programas o sirve menos capas: serve.num_blocks</translation>
    </message>
    <message>
        <source>converted layers would take more than the {number} MB they may have on disk</source>
        <translation>las capas convertidas ocuparían más de los {number} MB permitidos en el disco</translation>
    </message>
    <message>
        <source>copy the tokenizer files too</source>
        <translation>copia también los archivos del tokenizador</translation>
    </message>
    <message>
        <source>delete it, and it is downloaded again: potluck models delete {draft}</source>
        <translation>bórralo y se descargará de nuevo: potluck models delete {draft}</translation>
    </message>
    <message>
        <source>downloading {what} ({number} of {all})</source>
        <translation>descargando {what} ({number} de {all})</translation>
    </message>
    <message>
        <source>gateway.address {address} cannot be listened on: {why}</source>
        <translation>no se puede escuchar en gateway.address {address}: {why}</translation>
    </message>
    <message>
        <source>install Potluck elsewhere, for example in /opt, see docs/headless.md</source>
        <translation>instala Potluck en otro lugar, por ejemplo en /opt, mira docs/headless.md</translation>
    </message>
    <message>
        <source>layers {blocks} are served by few</source>
        <translation>pocos sirven las capas {blocks}</translation>
    </message>
    <message>
        <source>layers {blocks} were served by nobody</source>
        <translation>nadie servía las capas {blocks}</translation>
    </message>
    <message>
        <source>make room, or use another disk: potluck config set serve.models_folder DIR</source>
        <translation>haz sitio o usa otro disco: potluck config set serve.models_folder DIR</translation>
    </message>
    <message>
        <source>members get a drafting model from the hub, not from a folder</source>
        <translation>los miembros obtienen el modelo de borrador del hub, no de una carpeta</translation>
    </message>
    <message>
        <source>memory is short</source>
        <translation>queda poca memoria</translation>
    </message>
    <message>
        <source>name a small model of the same family, or none</source>
        <translation>indica un modelo pequeño de la misma familia, o none</translation>
    </message>
    <message>
        <source>no GPU reports its use by program</source>
        <translation>ninguna GPU dice qué programa la usa</translation>
    </message>
    <message>
        <source>no span of this model can start at layer {number}, which uses the tokens that the layer before it chose</source>
        <translation>ningún tramo de este modelo puede empezar en el bloque {number}, que usa los tokens que eligió el bloque anterior</translation>
    </message>
    <message>
        <source>nobody can remove the founder</source>
        <translation>nadie puede quitar a quien fundó el enjambre</translation>
    </message>
    <message>
        <source>only programs of this machine reach the gateway, with a key</source>
        <translation>solo los programas de este ordenador llegan a la pasarela, con una clave</translation>
    </message>
    <message>
        <source>paste only the invite: the line that begins with `potluck4:`</source>
        <translation>pega solo la invitación: la línea que empieza por `potluck4:`</translation>
    </message>
    <message>
        <source>paste only the one that you want to use</source>
        <translation>pega solo la que quieras usar</translation>
    </message>
    <message>
        <source>port {number} (gateway.port) is taken by {holder}</source>
        <translation>el puerto {number} (gateway.port) está ocupado por {holder}</translation>
    </message>
    <message>
        <source>put it on the hub, and give its name there</source>
        <translation>súbelo al hub e indica su nombre allí</translation>
    </message>
    <message>
        <source>save it with `potluck members backup`, then leave the swarm and join again</source>
        <translation>guárdala con `potluck members backup`, deja el enjambre y vuelve a unirte</translation>
    </message>
    <message>
        <source>serve fewer layers, or the number format of the checkpoint, which needs no converted files</source>
        <translation>ofrece menos capas o el formato numérico del modelo, que no necesita archivos convertidos</translation>
    </message>
    <message>
        <source>several are called {name}</source>
        <translation>varios se llaman {name}</translation>
    </message>
    <message>
        <source>start at layer {number}</source>
        <translation>empieza en el bloque {number}</translation>
    </message>
    <message>
        <source>start at layer {number} or {other}</source>
        <translation>empieza en el bloque {number} o {other}</translation>
    </message>
    <message>
        <source>the checkpoint has no output head</source>
        <translation>al checkpoint le falta la capa de salida</translation>
    </message>
    <message>
        <source>the checkpoint lacks tensors of layers {blocks}</source>
        <translation>al punto de control le faltan tensores de las capas {blocks}</translation>
    </message>
    <message>
        <source>the files of layer {number} have changed since they were served</source>
        <translation>los archivos del bloque {number} han cambiado desde que se sirvieron</translation>
    </message>
    <message>
        <source>the files of {draft} are not those that the swarm&apos;s leaders chose</source>
        <translation>los archivos de {draft} no son los que eligió quien fundó el enjambre o un administrador</translation>
    </message>
    <message>
        <source>the gateway stays for the swarm {name}</source>
        <translation>la pasarela se queda para el enjambre {name}</translation>
    </message>
    <message>
        <source>the invite has expired</source>
        <translation>la invitación ha caducado</translation>
    </message>
    <message>
        <source>the invite is damaged</source>
        <translation>la invitación está dañada</translation>
    </message>
    <message>
        <source>the invite is incomplete</source>
        <translation>la invitación está incompleta</translation>
    </message>
    <message>
        <source>the invite is incomplete or has a wrong letter in it</source>
        <translation>la invitación está incompleta o tiene una letra equivocada</translation>
    </message>
    <message>
        <source>the invite was ended, or it was not made by somebody who may invite</source>
        <translation>la invitación se anuló o no la hizo alguien que pueda invitar</translation>
    </message>
    <message>
        <source>the ledger is not open yet</source>
        <translation>el libro de cuentas aún no está abierto</translation>
    </message>
    <message>
        <source>the ledger {path} cannot be used: {why}</source>
        <translation>el libro de cuentas {path} no se puede usar: {why}</translation>
    </message>
    <message>
        <source>the ledger {path} was made by another version</source>
        <translation>el libro de cuentas {path} es de otra versión</translation>
    </message>
    <message>
        <source>the list of processes cannot be read ({why})</source>
        <translation>no se puede leer la lista de procesos ({why})</translation>
    </message>
    <message>
        <source>the memory</source>
        <translation>la memoria</translation>
    </message>
    <message>
        <source>the model&apos;s output head is no plain matrix</source>
        <translation>la capa de salida del modelo no es una matriz simple</translation>
    </message>
    <message>
        <source>the node is closed</source>
        <translation>el nodo está cerrado</translation>
    </message>
    <message>
        <source>the package index does not have {what}</source>
        <translation>el índice de paquetes no tiene {what}</translation>
    </message>
    <message>
        <source>the password needs at least {number} letters</source>
        <translation>la contraseña necesita al menos {number} caracteres</translation>
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
        <source>the peer-to-peer library is not installed</source>
        <translation>la biblioteca de red no está instalada</translation>
    </message>
    <message>
        <source>the peer-to-peer process closed the connection</source>
        <translation>el proceso de red ha cerrado la conexión</translation>
    </message>
    <message>
        <source>the peer-to-peer process did not start within {number} s</source>
        <translation>el proceso entre pares no arrancó en {number} s</translation>
    </message>
    <message>
        <source>the peer-to-peer process does not start: {why}</source>
        <translation>el proceso de red no arranca: {why}</translation>
    </message>
    <message>
        <source>the peer-to-peer process ended unexpectedly</source>
        <translation>el proceso de red ha terminado de forma inesperada</translation>
    </message>
    <message>
        <source>the peer-to-peer process is gone</source>
        <translation>el proceso de red ya no está</translation>
    </message>
    <message>
        <source>the processor</source>
        <translation>el procesador</translation>
    </message>
    <message>
        <source>the programs that run cannot be listed here</source>
        <translation>aquí no se pueden listar los programas en marcha</translation>
    </message>
    <message>
        <source>the proxy does not reach {host}</source>
        <translation>el proxy no llega a {host}</translation>
    </message>
    <message>
        <source>the publisher did not answer within {time} s</source>
        <translation>el editor no ha respondido en {time} s</translation>
    </message>
    <message>
        <source>the quantised matrix {what} {why}</source>
        <translation>la matriz cuantizada {what} no se puede usar: {why}</translation>
    </message>
    <message>
        <source>the receipt of {name}: {why}</source>
        <translation>el recibo de {name}: {why}</translation>
    </message>
    <message>
        <source>the rest of what it joined for</source>
        <translation>el resto de aquello para lo que se unió</translation>
    </message>
    <message>
        <source>the screen is locked</source>
        <translation>la pantalla está bloqueada</translation>
    </message>
    <message>
        <source>the set-up ended: {why}</source>
        <translation>la instalación terminó: {why}</translation>
    </message>
    <message>
        <source>the settings before this mistake stay in force</source>
        <translation>siguen valiendo los ajustes de antes de este error</translation>
    </message>
    <message>
        <source>the swarm cannot be found by others yet</source>
        <translation>los demás aún no pueden encontrar el enjambre</translation>
    </message>
    <message>
        <source>the swarm does not admit this computer: {why}</source>
        <translation>el enjambre no admite este ordenador: {why}</translation>
    </message>
    <message>
        <source>the swarm {name} cannot be found</source>
        <translation>no se encuentra el enjambre {name}</translation>
    </message>
    <message>
        <source>the swarm {name} runs {model}</source>
        <translation>el enjambre {name} usa {model}</translation>
    </message>
    <message>
        <source>the swarm&apos;s directory did not answer in time</source>
        <translation>el directorio del enjambre no respondió a tiempo</translation>
    </message>
    <message>
        <source>the swarm&apos;s model is being changed already</source>
        <translation>el modelo del enjambre ya se está cambiando</translation>
    </message>
    <message>
        <source>the system service can&apos;t see {path}: its sandbox hides home and temporary folders</source>
        <translation>el servicio del sistema no puede ver {path}: su aislamiento oculta las carpetas personales y las temporales</translation>
    </message>
    <message>
        <source>the tray app is not installed beside this program</source>
        <translation>la aplicación no está instalada junto a este programa</translation>
    </message>
    <message>
        <source>the update cannot be stored: {why}</source>
        <translation>no se puede guardar la actualización: {why}</translation>
    </message>
    <message>
        <source>the update cannot be unpacked: {why}</source>
        <translation>no se puede desempaquetar la actualización: {why}</translation>
    </message>
    <message>
        <source>the update does not run here</source>
        <translation>la actualización no funciona aquí</translation>
    </message>
    <message>
        <source>the update is not signed by the publisher you trust; nothing was changed</source>
        <translation>la actualización no está firmada por el editor en el que confías; no se ha cambiado nada</translation>
    </message>
    <message>
        <source>the update says it is {version}, not {other}</source>
        <translation>la actualización dice ser {version}, no {other}</translation>
    </message>
    <message>
        <source>the update&apos;s description has expired: the publisher is gone, or somebody hides newer ones</source>
        <translation>la descripción de la actualización ha caducado: el editor ya no está o alguien oculta las más nuevas</translation>
    </message>
    <message>
        <source>the update&apos;s description is from the future</source>
        <translation>la descripción de la actualización es del futuro</translation>
    </message>
    <message>
        <source>the update&apos;s description is too large</source>
        <translation>la descripción de la actualización es demasiado grande</translation>
    </message>
    <message>
        <source>the update&apos;s description makes no sense: {why}</source>
        <translation>la descripción de la actualización no tiene sentido: {why}</translation>
    </message>
    <message>
        <source>the {what} bus went away</source>
        <translation>el bus {what} ha desaparecido</translation>
    </message>
    <message>
        <source>there are {number} different invites in this text: {names}</source>
        <translation>hay {number} invitaciones distintas en este texto: {names}</translation>
    </message>
    <message>
        <source>there are {number} keys already</source>
        <translation>ya hay {number} claves</translation>
    </message>
    <message>
        <source>there are {what}</source>
        <translation>hay {what}</translation>
    </message>
    <message>
        <source>there are: {what}</source>
        <translation>hay: {what}</translation>
    </message>
    <message>
        <source>there is a GPU, but its driver does not answer: {why}</source>
        <translation>hay una tarjeta gráfica, pero su controlador no responde: {why}</translation>
    </message>
    <message>
        <source>there is a file {path} already</source>
        <translation>ya hay un archivo {path}</translation>
    </message>
    <message>
        <source>there is a key {name} already</source>
        <translation>ya existe la clave {name}</translation>
    </message>
    <message>
        <source>there is a swarm named {name} already</source>
        <translation>ya hay un enjambre llamado {name}</translation>
    </message>
    <message>
        <source>there is no earlier environment to go back to</source>
        <translation>no hay un entorno anterior al que volver</translation>
    </message>
    <message>
        <source>there is no earlier version to go back to</source>
        <translation>no hay ninguna versión anterior</translation>
    </message>
    <message>
        <source>there is no folder {path}</source>
        <translation>no existe la carpeta {path}</translation>
    </message>
    <message>
        <source>there is no invite in this text</source>
        <translation>no hay ninguna invitación en este texto</translation>
    </message>
    <message>
        <source>there is no invite {what}</source>
        <translation>no existe la invitación {what}</translation>
    </message>
    <message>
        <source>there is no key {name}</source>
        <translation>no existe la clave {name}</translation>
    </message>
    <message>
        <source>there is no model {name} on the hub, or you may not see it</source>
        <translation>no hay ningún modelo {name} en el hub, o no puedes verlo</translation>
    </message>
    <message>
        <source>there is no setting {name}</source>
        <translation>no existe el ajuste {name}</translation>
    </message>
    <message>
        <source>there is no variant {what}</source>
        <translation>no existe la variante {what}</translation>
    </message>
    <message>
        <source>this backup was made by a newer version</source>
        <translation>esta copia es de una versión más nueva</translation>
    </message>
    <message>
        <source>this cannot be decided: {why}</source>
        <translation>esto no se puede decidir: {why}</translation>
    </message>
    <message>
        <source>this checkpoint is stored quantised ({format}) in the layout {what}, which is not supported</source>
        <translation>este modelo está guardado cuantizado ({format}), en la disposición {what}, que no se admite</translation>
    </message>
    <message>
        <source>this checkpoint is stored quantised ({format}), and the package that reads it is not installed</source>
        <translation>este modelo está cuantizado ({format}) y falta el paquete que lo lee</translation>
    </message>
    <message>
        <source>this checkpoint is stored quantised ({format}), {why}</source>
        <translation>este modelo está cuantizado ({format}), {why}</translation>
    </message>
    <message>
        <source>this computer cannot add others to your name</source>
        <translation>este ordenador no puede añadir otros a tu nombre</translation>
    </message>
    <message>
        <source>this computer is already in the swarm {name}</source>
        <translation>este ordenador ya está en el enjambre {name}</translation>
    </message>
    <message>
        <source>this computer was removed from {name}, but holds your key there</source>
        <translation>este ordenador fue eliminado de {name}, pero guarda tu clave allí</translation>
    </message>
    <message>
        <source>this daemon is the machine&apos;s own service, which only root can change</source>
        <translation>este servicio es el del propio ordenador y solo root puede cambiarlo</translation>
    </message>
    <message>
        <source>this desktop shows no windows: games of its menu are noticed when they are busy</source>
        <translation>este escritorio no muestra ventanas: los juegos de su menú se detectan cuando están activos</translation>
    </message>
    <message>
        <source>this desktop tells no program about its windows</source>
        <translation>este escritorio no informa a ningún programa de sus ventanas</translation>
    </message>
    <message>
        <source>this installation is updated by the tool that installed it</source>
        <translation>esta instalación la actualiza la herramienta que la instaló</translation>
    </message>
    <message>
        <source>this installation lacks {name}</source>
        <translation>a esta instalación le falta {name}</translation>
    </message>
    <message>
        <source>this invite has expired</source>
        <translation>esta invitación ha caducado</translation>
    </message>
    <message>
        <source>this invite was made by a newer version</source>
        <translation>esta invitación es de una versión más nueva</translation>
    </message>
    <message>
        <source>this invite was made by an older version</source>
        <translation>esta invitación es de una versión anterior</translation>
    </message>
    <message>
        <source>this is a Wayland session</source>
        <translation>esta es una sesión de Wayland</translation>
    </message>
    <message>
        <source>this is not a backup of Potluck, or it is damaged</source>
        <translation>esto no es una copia de Potluck, o está dañada</translation>
    </message>
    <message>
        <source>this is not an invite</source>
        <translation>esto no es una invitación</translation>
    </message>
    <message>
        <source>this is not the link of a swarm</source>
        <translation>esto no es el enlace de un enjambre</translation>
    </message>
    <message>
        <source>this is not the recovery code of {name}</source>
        <translation>no es el código de recuperación de {name}</translation>
    </message>
    <message>
        <source>this is the computer that you are using</source>
        <translation>este es el ordenador que estás usando</translation>
    </message>
    <message>
        <source>this is the link of the swarm {name}, which lets nobody in</source>
        <translation>este es el enlace del enjambre {name}, que no deja entrar a nadie</translation>
    </message>
    <message>
        <source>this is you</source>
        <translation>eres tú</translation>
    </message>
    <message>
        <source>this machine has a public address; a firewall may still be in the way, no member has tried yet</source>
        <translation>este ordenador tiene una dirección pública; un cortafuegos puede estorbar, aún no lo ha probado nadie</translation>
    </message>
    <message>
        <source>this machine has no network</source>
        <translation>este ordenador no tiene red</translation>
    </message>
    <message>
        <source>this machine has no {program}</source>
        <translation>este ordenador no tiene {program}</translation>
    </message>
    <message>
        <source>this machine&apos;s clock differs from the swarm&apos;s by more than 3 s</source>
        <translation>el reloj de este ordenador difiere más de 3 s del reloj del enjambre</translation>
    </message>
    <message>
        <source>this model cannot be split: {why} ({what})</source>
        <translation>este modelo no se puede dividir: {why} ({what})</translation>
    </message>
    <message>
        <source>this network</source>
        <translation>esta red</translation>
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
        <source>this password does not open the backup</source>
        <translation>esta contraseña no abre la copia</translation>
    </message>
    <message>
        <source>this text is too long to look for an invite in it</source>
        <translation>este texto es demasiado largo para buscar en él una invitación</translation>
    </message>
    <message>
        <source>this works, but more slowly; for direct connections forward {port} in the router</source>
        <translation>funciona, pero más despacio; para conexiones directas redirige en el router: {port}</translation>
    </message>
    <message>
        <source>timedatectl set-ntp true, and compare with another clock now</source>
        <translation>timedatectl set-ntp true, y compara ahora con otro reloj</translation>
    </message>
    <message>
        <source>to see more, in a terminal: potluck update --check</source>
        <translation>para ver más, en una terminal: potluck update --check</translation>
    </message>
    <message>
        <source>to stop serving: potluck pause until I resume</source>
        <translation>para dejar de servir: potluck pause until I resume</translation>
    </message>
    <message>
        <source>too many people joined from your part of the network today; try again tomorrow</source>
        <translation>hoy ha entrado demasiada gente desde tu parte de la red; vuelve a intentarlo mañana</translation>
    </message>
    <message>
        <source>torch is built for the GNU C library, which this system does not use</source>
        <translation>PyTorch está hecho para la biblioteca de C de GNU, que este sistema no usa</translation>
    </message>
    <message>
        <source>torch is not built for Macs with Intel processors any more</source>
        <translation>ya no hay PyTorch para Macs con procesador Intel</translation>
    </message>
    <message>
        <source>try a newer transformers</source>
        <translation>prueba con un transformers más nuevo</translation>
    </message>
    <message>
        <source>try again</source>
        <translation>inténtalo de nuevo</translation>
    </message>
    <message>
        <source>try again later</source>
        <translation>inténtalo más tarde</translation>
    </message>
    <message>
        <source>try again later to use the GPU: potluck setup --variant {what}</source>
        <translation>Inténtalo más tarde para usar la GPU: potluck setup --variant {what}</translation>
    </message>
    <message>
        <source>try again later; check the network and the setting updates.url</source>
        <translation>vuelve a intentarlo más tarde; comprueba la red y el ajuste updates.url</translation>
    </message>
    <message>
        <source>try again once this machine serves</source>
        <translation>inténtalo cuando este ordenador esté sirviendo</translation>
    </message>
    <message>
        <source>try again when a leader&apos;s computer has been online</source>
        <translation>inténtalo cuando haya estado en línea un ordenador de quien fundó el enjambre o de un administrador</translation>
    </message>
    <message>
        <source>try again when another member is online</source>
        <translation>inténtalo cuando otro miembro esté en línea</translation>
    </message>
    <message>
        <source>try again: it continues where it stopped</source>
        <translation>vuelve a intentarlo: continúa donde se quedó</translation>
    </message>
    <message>
        <source>try another mirror</source>
        <translation>prueba con otro servidor espejo</translation>
    </message>
    <message>
        <source>try another revision</source>
        <translation>prueba con otra revisión</translation>
    </message>
    <message>
        <source>try other words</source>
        <translation>prueba con otras palabras</translation>
    </message>
    <message>
        <source>type a name instead</source>
        <translation>escribe un nombre</translation>
    </message>
    <message>
        <source>unpacking</source>
        <translation>desempaquetando</translation>
    </message>
    <message>
        <source>update Potluck, then try again</source>
        <translation>actualiza Potluck e inténtalo de nuevo</translation>
    </message>
    <message>
        <source>update again</source>
        <translation>actualiza otra vez</translation>
    </message>
    <message>
        <source>update it to macOS {version} or newer</source>
        <translation>actualízalo a macOS {version} o posterior</translation>
    </message>
    <message>
        <source>updates are not fetched from {host}</source>
        <translation>no se descargan actualizaciones de {host}</translation>
    </message>
    <message>
        <source>updates.key is no Ed25519 key in base64</source>
        <translation>updates.key no es una clave Ed25519 en base64</translation>
    </message>
    <message>
        <source>use Python 3.11, 3.12 or 3.13</source>
        <translation>usa Python 3.11, 3.12 o 3.13</translation>
    </message>
    <message>
        <source>use a distribution with glibc, or the container image</source>
        <translation>usa una distribución con glibc o la imagen de contenedor</translation>
    </message>
    <message>
        <source>use letters, digits, dots, dashes, underscores</source>
        <translation>usa letras, cifras, puntos, guiones y guiones bajos</translation>
    </message>
    <message>
        <source>use one of their ids: {what}</source>
        <translation>usa uno de sus identificadores: {what}</translation>
    </message>
    <message>
        <source>use this Mac to chat and to look; let another machine serve</source>
        <translation>usa este Mac para chatear y mirar; deja que sirva otro ordenador</translation>
    </message>
    <message>
        <source>use up to 40 letters, digits, dashes and underscores, such as home-llama</source>
        <translation>usa hasta 40 letras, cifras, guiones y guiones bajos, por ejemplo home-llama</translation>
    </message>
    <message>
        <source>uv, which fetches the engine&apos;s packages, is missing</source>
        <translation>falta uv, que descarga los paquetes del motor</translation>
    </message>
    <message>
        <source>variant {what} is not to be had here; this one computes on the processor too, and takes more room</source>
        <translation>Los paquetes de la variante {what} no se pueden obtener aquí; esta también calcula en el procesador y ocupa más espacio</translation>
    </message>
    <message>
        <source>version {offered} is offered, but {number} was earlier: somebody shows an old description</source>
        <translation>se ofrece la versión {offered}, pero antes la {number}: alguien muestra una descripción vieja</translation>
    </message>
    <message>
        <source>version {version} comes without a file for this installation</source>
        <translation>la versión {version} no trae un archivo para esta instalación</translation>
    </message>
    <message>
        <source>version {version} is not complete</source>
        <translation>la versión {version} no está completa</translation>
    </message>
    <message>
        <source>version {version} runs</source>
        <translation>funciona la versión {version}</translation>
    </message>
    <message>
        <source>wait for its end</source>
        <translation>espera a que acabe</translation>
    </message>
    <message>
        <source>wait for its end: potluck status</source>
        <translation>espera a que termine: potluck status</translation>
    </message>
    <message>
        <source>wait until that is done</source>
        <translation>espera a que termine</translation>
    </message>
    <message>
        <source>wait until that is done, or cancel it</source>
        <translation>espera a que termine o cancélalo</translation>
    </message>
    <message>
        <source>wait until that is done, or end it</source>
        <translation>espera a que acabe o termínalo</translation>
    </message>
    <message>
        <source>waiting for open sessions to end</source>
        <translation>esperando a que acaben las sesiones abiertas</translation>
    </message>
    <message>
        <source>waiting for your other computer to let this one in</source>
        <translation>espera a que tu otro ordenador deje entrar a este</translation>
    </message>
    <message>
        <source>what is booked of {name} is not what its receipt says</source>
        <translation>lo anotado de {name} no es lo que dice su recibo</translation>
    </message>
    <message>
        <source>when Potluck is started again</source>
        <translation>cuando se inicie Potluck de nuevo</translation>
    </message>
    <message>
        <source>when it draws less power</source>
        <translation>cuando consuma menos</translation>
    </message>
    <message>
        <source>when it has cooled down</source>
        <translation>cuando se enfríe</translation>
    </message>
    <message>
        <source>when some are deleted, or when limits.disk_mb is larger</source>
        <translation>cuando se borren algunos o el límite sea mayor</translation>
    </message>
    <message>
        <source>when the computer is plugged in</source>
        <translation>cuando el ordenador esté enchufado</translation>
    </message>
    <message>
        <source>when the computer wakes up</source>
        <translation>cuando el ordenador despierte</translation>
    </message>
    <message>
        <source>when the game ends, or when you resume</source>
        <translation>cuando acabe el juego o reanudes</translation>
    </message>
    <message>
        <source>when the network is not metered</source>
        <translation>cuando la red no sea de uso medido</translation>
    </message>
    <message>
        <source>when the next month begins</source>
        <translation>cuando empiece el próximo mes</translation>
    </message>
    <message>
        <source>when the right file is back</source>
        <translation>cuando vuelva el archivo correcto</translation>
    </message>
    <message>
        <source>when the time is over, or when you resume</source>
        <translation>cuando pase el tiempo o reanudes</translation>
    </message>
    <message>
        <source>when there is room, or when limits.disk_free_mb is smaller</source>
        <translation>cuando haya sitio o deba quedar menos libre</translation>
    </message>
    <message>
        <source>when you enter another invite</source>
        <translation>cuando pegues otra invitación</translation>
    </message>
    <message>
        <source>when you join or create a swarm</source>
        <translation>cuando te unas a un enjambre o crees uno</translation>
    </message>
    <message>
        <source>when you resume</source>
        <translation>cuando reanudes</translation>
    </message>
    <message>
        <source>when you set it up: in the app, or with `potluck setup`</source>
        <translation>cuando lo instales: en la aplicación o con `potluck setup`</translation>
    </message>
    <message>
        <source>when you switch when.only_when_idle off</source>
        <translation>cuando desactives when.only_when_idle</translation>
    </message>
    <message>
        <source>when your next serving hours begin</source>
        <translation>cuando empiecen tus próximas horas de donación</translation>
    </message>
    <message>
        <source>which is not supported</source>
        <translation>lo que no se admite</translation>
    </message>
    <message>
        <source>which needs {what}</source>
        <translation>para lo que hace falta {what}</translation>
    </message>
    <message>
        <source>whoever has a key also reaches the gateway by {ways}</source>
        <translation>quien tiene una clave también llega a la pasarela por {ways}</translation>
    </message>
    <message>
        <source>windows can be seen</source>
        <translation>las ventanas se ven</translation>
    </message>
    <message>
        <source>with the next try, or when you resume</source>
        <translation>con el próximo intento, o cuando reanudes</translation>
    </message>
    <message>
        <source>you already have a swarm named {name}</source>
        <translation>ya tienes un enjambre llamado {name}</translation>
    </message>
    <message>
        <source>you are a guest yourself</source>
        <translation>tú tampoco tienes confirmación todavía</translation>
    </message>
    <message>
        <source>you are in too many swarms for one backup</source>
        <translation>estás en demasiados enjambres para una sola copia</translation>
    </message>
    <message>
        <source>you decided as much as one appointment allows</source>
        <translation>has decidido tanto como permite un nombramiento</translation>
    </message>
    <message>
        <source>you did not join a swarm named {name}</source>
        <translation>no te has unido a ningún enjambre llamado {name}</translation>
    </message>
    <message>
        <source>you founded {name}: if you leave, nobody can appoint admins, invite or confirm people, or remove them</source>
        <translation>fundaste {name}: si sales, nadie podrá nombrar administradores ni invitar, confirmar o quitar a nadie</translation>
    </message>
    <message>
        <source>you have {number} computers in this swarm, which is all that one person may</source>
        <translation>tienes {number} ordenadores en este enjambre, el máximo por persona</translation>
    </message>
    <message>
        <source>you joined no swarm yet</source>
        <translation>aún no te has unido a ningún enjambre</translation>
    </message>
    <message>
        <source>you joined several swarms</source>
        <translation>te has unido a varios enjambres</translation>
    </message>
    <message>
        <source>your key is on another computer</source>
        <translation>tu clave está en otro ordenador</translation>
    </message>
    <message>
        <source>your open invites would let in more people than you may invite</source>
        <translation>con tus invitaciones abiertas entraría más gente de la que puedes invitar</translation>
    </message>
    <message>
        <source>{addr} names a peer in an unknown way</source>
        <translation>{addr} nombra un par de una forma desconocida</translation>
    </message>
    <message>
        <source>{advice}, or choose a model on this computer</source>
        <translation>{advice} o elige un modelo de este ordenador</translation>
    </message>
    <message>
        <source>{advice}, or give a local folder</source>
        <translation>{advice} o indica una carpeta de este ordenador</translation>
    </message>
    <message>
        <source>{advice}, then try again: it continues where it stopped</source>
        <translation>{advice} y vuelve a intentarlo: continúa donde se quedó</translation>
    </message>
    <message>
        <source>{advice}; if others can use this swarm, your invite is out of date</source>
        <translation>{advice}; si otros pueden usar este enjambre, tu invitación está anticuada</translation>
    </message>
    <message>
        <source>{architecture}, C library {version}</source>
        <translation>{architecture}, biblioteca de C {version}</translation>
    </message>
    <message>
        <source>{draft} cannot draft for {model}: its tokenizer differs</source>
        <translation>{draft} no puede hacer borradores para {model}: su tokenizador es distinto</translation>
    </message>
    <message>
        <source>{draft} is too large to draft: {size}</source>
        <translation>{draft} es demasiado grande como modelo de borrador: {size}</translation>
    </message>
    <message>
        <source>{family} cannot be computed: models of this family are not supported</source>
        <translation>{family} no se puede calcular: los modelos de esta familia no se admiten</translation>
    </message>
    <message>
        <source>{file} arrived damaged</source>
        <translation>{file} ha llegado dañado</translation>
    </message>
    <message>
        <source>{file} breaks off in the middle of a line</source>
        <translation>{file} se interrumpe a mitad de una línea</translation>
    </message>
    <message>
        <source>{file} cannot be fetched from {host}: {why}</source>
        <translation>no se puede descargar {file} de {host}: {why}</translation>
    </message>
    <message>
        <source>{file} changed on disk</source>
        <translation>{file} ha cambiado en el disco</translation>
    </message>
    <message>
        <source>{file} changed on disk. You still serve what was loaded from it.</source>
        <translation>{file} ha cambiado en el disco. Sigues sirviendo lo que se cargó de ese archivo.</translation>
    </message>
    <message>
        <source>{file} changes no layer, or changes one twice</source>
        <translation>{file} no cambia ninguna capa o cambia una dos veces</translation>
    </message>
    <message>
        <source>{file} contains {what}, which does not belong to a layer of a block</source>
        <translation>{file} contiene {what}, que no pertenece a ninguna capa</translation>
    </message>
    <message>
        <source>{file} contains {what}, which its configuration or the model does not have</source>
        <translation>{file} contiene {what}, que falta en su configuración o en el modelo</translation>
    </message>
    <message>
        <source>{file} does not contain two matrices of rank {number} for {what}</source>
        <translation>{file} no contiene dos matrices de rango {number} para {what}</translation>
    </message>
    <message>
        <source>{file} has lost its last lines; back to the default: {keys}</source>
        <translation>{file} ha perdido sus últimas líneas; vuelve al valor predeterminado: {keys}</translation>
    </message>
    <message>
        <source>{file} has no model_type</source>
        <translation>a {file} le falta «model_type»</translation>
    </message>
    <message>
        <source>{file} is damaged: it does not map tensors to safetensors files beside it</source>
        <translation>{file} está dañado: no indica en qué archivos safetensors están los tensores</translation>
    </message>
    <message>
        <source>{file} is damaged: it is not a JSON object</source>
        <translation>{file} está dañado: no es un objeto JSON</translation>
    </message>
    <message>
        <source>{file} is damaged: {why}</source>
        <translation>{file} está dañado: {why}</translation>
    </message>
    <message>
        <source>{file} is empty or missing; `version = {number}` in it would mean the defaults</source>
        <translation>{file} está vacío o falta; `version = {number}` en él significaría los valores predeterminados</translation>
    </message>
    <message>
        <source>{file} is missing from the checkpoint</source>
        <translation>falta {file} en el modelo</translation>
    </message>
    <message>
        <source>{file} is missing from {folder}</source>
        <translation>falta {file} en {folder}</translation>
    </message>
    <message>
        <source>{file} is not a valid configuration: {why}</source>
        <translation>{file} no es una configuración válida: {why}</translation>
    </message>
    <message>
        <source>{file} is not the file that this version was made with</source>
        <translation>{file} no es el archivo con el que se hizo esta versión</translation>
    </message>
    <message>
        <source>{file} is not valid TOML: {why}</source>
        <translation>{file} no es TOML válido: {why}</translation>
    </message>
    <message>
        <source>{file} lacks a tensor that the index lists: {what}</source>
        <translation>a {file} le falta un tensor del índice: {what}</translation>
    </message>
    <message>
        <source>{file} was damaged and cannot be repaired</source>
        <translation>{file} está dañado y no se puede reparar</translation>
    </message>
    <message>
        <source>{folder} has its weights in GGUF, which is not supported</source>
        <translation>{folder} tiene sus pesos en GGUF, que no se admite</translation>
    </message>
    <message>
        <source>{folder} has no safetensors weights</source>
        <translation>{folder} no contiene pesos en formato safetensors</translation>
    </message>
    <message>
        <source>{folder} has only .bin files, which are pickles; servers and clients never open them</source>
        <translation>{folder} solo contiene archivos .bin (pickles); Potluck nunca los abre</translation>
    </message>
    <message>
        <source>{folder} is not a checkpoint: it has no config.json</source>
        <translation>{folder} no es un modelo: falta config.json</translation>
    </message>
    <message>
        <source>{folder} is not a local checkpoint of a decoder</source>
        <translation>{folder} no es un checkpoint local de un decodificador</translation>
    </message>
    <message>
        <source>{folder} is not an adapter that can be served: it has no {file}</source>
        <translation>{folder} no es un adaptador que se pueda ofrecer: falta {file}</translation>
    </message>
    <message>
        <source>{free} are free, {least} are needed at most</source>
        <translation>hay {free} libres; se necesitan como mucho {least}</translation>
    </message>
    <message>
        <source>{host} cannot be found</source>
        <translation>no se encuentra {host}</translation>
    </message>
    <message>
        <source>{host} does not answer</source>
        <translation>{host} no responde</translation>
    </message>
    <message>
        <source>{host} has a certificate that is not trusted</source>
        <translation>el certificado de {host} no es de confianza</translation>
    </message>
    <message>
        <source>{model} has no usable {file}</source>
        <translation>{model} no tiene un {file} utilizable</translation>
    </message>
    <message>
        <source>{name} cannot name a swarm</source>
        <translation>{name} no sirve como nombre de un enjambre</translation>
    </message>
    <message>
        <source>{name} does not answer</source>
        <translation>{name} no responde</translation>
    </message>
    <message>
        <source>{name} does not name a peer</source>
        <translation>{name} no nombra ningún par</translation>
    </message>
    <message>
        <source>{name} does not report idle time</source>
        <translation>{name} no indica el tiempo inactivo</translation>
    </message>
    <message>
        <source>{name} does not run</source>
        <translation>{name} no está en marcha</translation>
    </message>
    <message>
        <source>{name} has no computer named {what}</source>
        <translation>{name} no tiene ningún ordenador llamado {what}</translation>
    </message>
    <message>
        <source>{name} has no file {file} on the hub</source>
        <translation>{name} no tiene el archivo {file} en el hub</translation>
    </message>
    <message>
        <source>{name} has no such revision</source>
        <translation>{name} no tiene esa revisión</translation>
    </message>
    <message>
        <source>{name} is a member already</source>
        <translation>{name} ya es miembro</translation>
    </message>
    <message>
        <source>{name} is an open swarm, which has no members</source>
        <translation>{name} es un enjambre abierto, sin miembros</translation>
    </message>
    <message>
        <source>{name} is gated: its owner must grant you access</source>
        <translation>{name} tiene acceso restringido: su propietario debe concederte acceso</translation>
    </message>
    <message>
        <source>{name} is gone</source>
        <translation>{name} ya no existe</translation>
    </message>
    <message>
        <source>{name} is ignored: {why}</source>
        <translation>se ignora {name}: {why}</translation>
    </message>
    <message>
        <source>{name} is neither a folder nor a hub name</source>
        <translation>{name} no es ni una carpeta ni un nombre del hub</translation>
    </message>
    <message>
        <source>{name} is no name for a key</source>
        <translation>{name} no sirve como nombre de una clave</translation>
    </message>
    <message>
        <source>{name} is not among the downloaded models</source>
        <translation>{name} no está entre los modelos descargados</translation>
    </message>
    <message>
        <source>{name} is not confirmed yet</source>
        <translation>{name} aún no tiene confirmación</translation>
    </message>
    <message>
        <source>{name} is open to everybody, so it has no members</source>
        <translation>{name} está abierto a todos y no tiene miembros</translation>
    </message>
    <message>
        <source>{name} names certificates that are not there</source>
        <translation>{name} indica certificados que no existen</translation>
    </message>
    <message>
        <source>{name} relies on this machine to be found</source>
        <translation>{name} solo se encuentra a través de este ordenador</translation>
    </message>
    <message>
        <source>{name} removed this computer from the swarm {what}</source>
        <translation>{name} quitó este ordenador del enjambre {what}</translation>
    </message>
    <message>
        <source>{name} was damaged and could not be repaired; the damaged file is {path}</source>
        <translation>{name} estaba dañado y no se ha podido reparar; el archivo dañado es {path}</translation>
    </message>
    <message>
        <source>{name} was damaged and has been repaired; the damaged file is {path}</source>
        <translation>{name} estaba dañado y se ha reparado; el archivo dañado es {path}</translation>
    </message>
    <message>
        <source>{number} W a busy core</source>
        <translation>{number} W por núcleo ocupado</translation>
    </message>
    <message>
        <source>{number} of {all} addresses of {name} answer</source>
        <translation>{number} de {all} direcciones responden: {name}</translation>
    </message>
    <message>
        <source>{number} of {all} members that tried reached this machine directly</source>
        <translation>{number} de {all} miembros han llegado directamente a este ordenador</translation>
    </message>
    <message>
        <source>{number} of {all} members that tried reached this machine directly: it serves through a relay</source>
        <translation>{number} de {all} miembros que lo intentaron llegaron directamente a este ordenador: sirve a través de un relé</translation>
    </message>
    <message>
        <source>{path} belongs to somebody else</source>
        <translation>{path} es de otra persona</translation>
    </message>
    <message>
        <source>{path} belongs to user {number}, who is not known here</source>
        <translation>{path} es del usuario {number}, desconocido aquí</translation>
    </message>
    <message>
        <source>{path} cannot be read: {why}</source>
        <translation>no se puede leer {path}: {why}</translation>
    </message>
    <message>
        <source>{path} cannot be written</source>
        <translation>no se puede escribir en {path}</translation>
    </message>
    <message>
        <source>{path} has no model</source>
        <translation>en {path} no hay ningún modelo</translation>
    </message>
    <message>
        <source>{path} is on a file system that does not run programs</source>
        <translation>{path} está en un sistema de archivos que no ejecuta programas</translation>
    </message>
    <message>
        <source>{path} is too long a path for sockets</source>
        <translation>{path} es una ruta demasiado larga para sockets</translation>
    </message>
    <message>
        <source>{path} is {what}, and root does not follow it</source>
        <translation>{path} es {what}, y root no lo sigue</translation>
    </message>
    <message>
        <source>{path}, where the engine was to be installed, does not exist</source>
        <translation>{path}, donde se iba a instalar el motor, no existe</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}</source>
        <translation>{place}: no existe el ajuste {key}</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}; did you mean {other}?</source>
        <translation>{place}: no existe el ajuste {key}; ¿quieres decir {other}?</translation>
    </message>
    <message>
        <source>{place}: {key} is gone; {advice}</source>
        <translation>{place}: {key} ya no existe; {advice}</translation>
    </message>
    <message>
        <source>{place}: {key}: {why}</source>
        <translation>{place}: {key}: {why}</translation>
    </message>
    <message>
        <source>{program} (process {pid})</source>
        <translation>{program} (proceso {pid})</translation>
    </message>
    <message>
        <source>{section}.address {name} can be reached from other machines, so nothing listens there (set {section}.allow_remote if that is what you want)</source>
        <translation>{section}.address {name} es accesible desde otros ordenadores, así que allí no se escucha (activa {section}.allow_remote si es lo que quieres)</translation>
    </message>
    <message>
        <source>{section}.address {name} is not an IP address (127.0.0.1 is this machine only)</source>
        <translation>{section}.address {name} no es una dirección IP (127.0.0.1 es solo este ordenador)</translation>
    </message>
    <message>
        <source>{served} (loading {target})</source>
        <translation>{served} (cargando {target})</translation>
    </message>
    <message>
        <source>{served} (moving to {target})</source>
        <translation>{served} (luego {target})</translation>
    </message>
    <message>
        <source>{text}</source>
        <translation>{text}</translation>
    </message>
    <message>
        <source>{time} s after there is enough memory again</source>
        <translation>{time} s después de que vuelva a haber memoria</translation>
    </message>
    <message>
        <source>{time} s after you are back at the computer</source>
        <translation>{time} s después de que vuelvas al ordenador</translation>
    </message>
    <message>
        <source>{time} s after {who} is done</source>
        <translation>{time} s después de que termine {who}</translation>
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
        <translation>{what} tiene en el modelo la forma {number}, pero la configuración dice {other}</translation>
    </message>
    <message>
        <source>{what} is neither an invite nor a swarm you joined</source>
        <translation>{what} no es ni una invitación ni un enjambre tuyo</translation>
    </message>
    <message>
        <source>{what} is not a multiaddr</source>
        <translation>{what} no es una multidirección</translation>
    </message>
    <message>
        <source>{what} is not installed beside this Python</source>
        <translation>{what} no está instalado junto a este Python</translation>
    </message>
    <message>
        <source>{what} is stored as {format}, which this version of torch does not know</source>
        <translation>{what} está guardado como {format}, que esta versión de torch no conoce</translation>
    </message>
    <message>
        <source>{what}, so this address is for now</source>
        <translation>{what}, así que esta dirección es solo por ahora</translation>
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
        <translation>{what}; ahora se llama {file}</translation>
    </message>
    <message>
        <source>{what}; {other}</source>
        <translation>{what}; {other}</translation>
    </message>
    <message>
        <source>{who} can be used</source>
        <translation>se puede usar {who}</translation>
    </message>
    <message>
        <source>{who} can be used, with driver {driver}</source>
        <translation>se puede usar {who}, con el controlador {driver}</translation>
    </message>
    <message>
        <source>{who} cannot be used by torch {version}</source>
        <translation>torch {version} no puede usar {who}</translation>
    </message>
    <message>
        <source>{who} has ended; waiting a moment</source>
        <translation>{who} ha terminado; espera un momento</translation>
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
        <source>Programs that keep a graphics card busy</source>
        <translation>Programas que ocupan una tarjeta gráfica</translation>
    </message>
    <message>
        <source>Programs that need the memory</source>
        <translation>Programas que necesitan la memoria</translation>
    </message>
    <message>
        <source>Starting the swarm…</source>
        <translation>Creando el enjambre…</translation>
    </message>
    <message>
        <source>Joining the swarm…</source>
        <translation>Uniéndose al enjambre…</translation>
    </message>
    <message>
        <source>Asking who is in the swarm…</source>
        <translation>Preguntando quién está en el enjambre…</translation>
    </message>
    <message>
        <source>Finding out how others can reach this computer…</source>
        <translation>Averiguando cómo pueden llegar otros a este ordenador…</translation>
    </message>
    <message>
        <source>Asking the others about the other model…</source>
        <translation>Preguntando a los demás por el otro modelo…</translation>
    </message>
    <message>
        <source>Searching for models…</source>
        <translation>Buscando modelos…</translation>
    </message>
    <message>
        <source>Looking for models on this computer…</source>
        <translation>Buscando modelos en este ordenador…</translation>
    </message>
    <message>
        <source>Deleting the files…</source>
        <translation>Borrando los archivos…</translation>
    </message>
    <message>
        <source>Checking this computer…</source>
        <translation>Revisando este ordenador…</translation>
    </message>
    <message>
        <source>Writing the report…</source>
        <translation>Escribiendo el informe…</translation>
    </message>
    <message>
        <source>Looking at this computer…</source>
        <translation>Examinando este ordenador…</translation>
    </message>
    <message>
        <source>Encrypting your keys…</source>
        <translation>Cifrando tus claves…</translation>
    </message>
    <message>
        <source>Reading the backup…</source>
        <translation>Leyendo la copia…</translation>
    </message>
    <message>
        <source>Looking for a newer version…</source>
        <translation>Buscando una versión nueva…</translation>
    </message>
    <message>
        <source>Starting the address for other programs…</source>
        <translation>Iniciando la dirección para otros programas…</translation>
    </message>
    <message>
        <source>Waiting for Potluck…</source>
        <translation>Esperando a Potluck…</translation>
    </message>
    <message>
        <source>This takes about {seconds} s.</source>
        <translation>Tarda unos {seconds} s.</translation>
    </message>
    <message>
        <source>{seconds} s so far.</source>
        <translation>{seconds} s hasta ahora.</translation>
    </message>
</context>
<context>
    <name>ActivitySection</name>
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
        <source>Show more</source>
        <translation>Mostrar más</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>Qué ha pasado</translation>
    </message>
    <message>
        <source>Show less</source>
        <translation>Mostrar menos</translation>
    </message>
    <message>
        <source>Nothing here yet</source>
        <translation>Aún no hay nada</translation>
    </message>
    <message>
        <source>Never step aside for {program}</source>
        <translation>No apartarse nunca por {program}</translation>
    </message>
    <message>
        <source>Never for this app</source>
        <translation>Nunca por esta aplicación</translation>
    </message>
    <message>
        <source>Keep serving while {program} runs</source>
        <translation>Seguir sirviendo mientras funciona {program}</translation>
    </message>
    <message>
        <source>Potluck now keeps serving while {program} runs.</source>
        <translation>Potluck sigue sirviendo ahora mientras funciona {program}.</translation>
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
    <name>BackupSection</name>
    <message>
        <source>This computer has no keys of its own.</source>
        <translation>Este ordenador no tiene claves propias.</translation>
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
        <source>tokens</source>
        <translation>tokens</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>Sin límite</translation>
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
        <source>Longest answer</source>
        <translation>Respuesta más larga</translation>
    </message>
    <message>
        <source>About 75 words are 100 tokens.</source>
        <translation>Unas 75 palabras son 100 tokens.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Cerrar</translation>
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
        <source>Conversations</source>
        <translation>Conversaciones</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Nuevo chat</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>Opciones</translation>
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
        <source>More</source>
        <translation>Más</translation>
    </message>
    <message>
        <source>Who can read along</source>
        <translation>Quién puede leer</translation>
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
        <source>Your messages pass through the computers that serve this model. Their owners can read them, and nobody else can. Don&apos;t write what they should not know.

Conversations are kept on this computer only.</source>
        <translation>Tus mensajes pasan por los ordenadores que sirven este modelo. Sus dueños pueden leerlos, y nadie más. No escribas lo que no deban saber.

Las conversaciones se guardan solo en este ordenador.</translation>
    </message>
    <message>
        <source>Asking…</source>
        <translation>Preguntando…</translation>
    </message>
    <message>
        <source>People serving this model can read your messages.</source>
        <translation>Quienes sirven este modelo pueden leer tus mensajes.</translation>
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
    <name>ConfirmDialog</name>
    <message>
        <source>Cancel</source>
        <translation>Cancelar</translation>
    </message>
</context>
<context>
    <name>ConnectPage</name>
    <message>
        <source>Connect</source>
        <translation>Conectar</translation>
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
        <source>Revoke the key of {program}</source>
        <translation>Revocar la clave de {program}</translation>
    </message>
    <message>
        <source>Revoke…</source>
        <translation>Revocar…</translation>
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
        <source>That program can no longer use the swarm&apos;s model.</source>
        <translation>Ese programa ya no podrá usar el modelo del enjambre.</translation>
    </message>
    <message>
        <source>Revoke</source>
        <translation>Revocar</translation>
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
        <source>Programs that speak OpenAI&apos;s, Anthropic&apos;s or Ollama&apos;s API can use the swarm&apos;s model through this computer.</source>
        <translation>Los programas que hablan la API de OpenAI, Anthropic u Ollama pueden usar el modelo del enjambre a través de este ordenador.</translation>
    </message>
    <message>
        <source>Always on</source>
        <translation>Siempre activa</translation>
    </message>
    <message>
        <source>Starts with Potluck and keeps running. Otherwise it ends when nobody asks, or when a game starts.</source>
        <translation>Se inicia con Potluck y sigue en marcha. Si no, termina cuando nadie pregunta o empieza un juego.</translation>
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
        <source>Conversations</source>
        <translation>Conversaciones</translation>
    </message>
    <message>
        <source>Rename or delete</source>
        <translation>Renombrar o borrar</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Renombrar</translation>
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
    <name>DevicesSection</name>
    <message>
        <source>Set up…</source>
        <translation>Instalar…</translation>
    </message>
    <message>
        <source>The compute engine is not installed yet.</source>
        <translation>El motor de cálculo aún no está instalado.</translation>
    </message>
    <message>
        <source>Several graphics cards share the layers. Choose none, and Potluck takes the fastest.</source>
        <translation>Varias tarjetas gráficas se reparten las capas. Si no eliges ninguna, Potluck usa la más rápida.</translation>
    </message>
</context>
<context>
    <name>DiagnosticsSection</name>
    <message>
        <source>Run a check-up</source>
        <translation>Hacer una revisión</translation>
    </message>
    <message>
        <source>Not checked yet</source>
        <translation>Aún sin comprobar</translation>
    </message>
    <message>
        <source>A check-up covers the installation, disk, graphics card, network and swarm.</source>
        <translation>Se revisan la instalación, el disco, la tarjeta gráfica, la red y el enjambre.</translation>
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
        <source>Save a report</source>
        <translation>Guardar un informe</translation>
    </message>
    <message>
        <source>Report (*.zip)</source>
        <translation>Informe (*.zip)</translation>
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
        <source>Save a report…</source>
        <translation>Guardar informe…</translation>
    </message>
    <message>
        <source>Copy system info</source>
        <translation>Copiar datos del sistema</translation>
    </message>
    <message>
        <source>Check-up</source>
        <translation>Comprobación</translation>
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
    <name>EarningsSection</name>
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
        <source>Points by time</source>
        <translation>Puntos por tiempo</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Cuándo</translation>
    </message>
    <message>
        <source>Show as table</source>
        <translation>Mostrar como tabla</translation>
    </message>
    <message>
        <source>Points by model</source>
        <translation>Puntos por modelo</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modelo</translation>
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
        <source>By model</source>
        <translation>Por modelo</translation>
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
        <source>Show as chart</source>
        <translation>Mostrar como gráfico</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportar…</translation>
    </message>
    <message>
        <source>Points move your requests up the queue. They are not money.</source>
        <translation>Los puntos adelantan tus peticiones en la cola. No son dinero.</translation>
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
    <name>EngineSection</name>
    <message>
        <source>Looking at this computer…</source>
        <translation>Examinando este ordenador…</translation>
    </message>
    <message>
        <source>Installation progress</source>
        <translation>Progreso de la instalación</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Cancelar</translation>
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
        <source>Try again</source>
        <translation>Reintentar</translation>
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
        <source>Folder: {folder}</source>
        <translation>Carpeta: {folder}</translation>
    </message>
    <message>
        <source>Newer packages are available. Update when it suits you.</source>
        <translation>Hay paquetes más nuevos. Actualiza cuando te venga bien.</translation>
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
        <source>Potluck takes what is free and steps aside for games. The page Rules changes how much, and when.</source>
        <translation>Potluck usa lo que está libre y se aparta cuando juegas. En la página Reglas cambias cuánto y cuándo.</translation>
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
        <source>Change the rules</source>
        <translation>Cambiar las reglas</translation>
    </message>
    <message>
        <source>Paste another</source>
        <translation>Pegar otra</translation>
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
        <source>Pause</source>
        <translation>Pausar</translation>
    </message>
    <message>
        <source>Show all detectors</source>
        <translation>Ver todos los detectores</translation>
    </message>
    <message>
        <source>Points by time and by model, electricity, export</source>
        <translation>Puntos por tiempo y por modelo, electricidad, exportar</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ganancias</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Este ordenador</translation>
    </message>
    <message>
        <source>Its load now</source>
        <translation>Su carga ahora</translation>
    </message>
</context>
<context>
    <name>InvitingCard</name>
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
        <source>For how many people, and how long</source>
        <translation>Para cuántas personas y cuánto tiempo</translation>
    </message>
    <message>
        <source>Paste the message into a mail or chat that you trust: whoever has it can join.</source>
        <translation>Pega el mensaje en un correo o chat de confianza: quien lo tenga puede unirse.</translation>
    </message>
    <message>
        <source>This link opens Potluck where the invite is entered. It lets nobody in, so it&apos;s no secret.</source>
        <translation>Este enlace abre Potluck donde se introduce la invitación. No deja entrar a nadie, así que no es secreto.</translation>
    </message>
    <message>
        <source>QR code and link</source>
        <translation>Código QR y enlace</translation>
    </message>
    <message>
        <source>Copy an invite</source>
        <translation>Copiar una invitación</translation>
    </message>
    <message>
        <source>Join my Potluck swarm “{swarm}”: install Potluck, then paste this invite:</source>
        <translation>Únete a mi enjambre de Potluck «{swarm}»: instala Potluck y pega esta invitación:</translation>
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
        <source>What should friends call you?</source>
        <translation>¿Cómo deben llamarte tus amigos?</translation>
    </message>
    <message>
        <source>What should this computer be called?</source>
        <translation>¿Cómo debe llamarse este ordenador?</translation>
    </message>
    <message>
        <source>Invite others later. A small demo model is included.</source>
        <translation>Invita a otros más tarde. Se incluye un pequeño modelo de demostración.</translation>
    </message>
    <message>
        <source>Paste the invite, or the whole message that it came in</source>
        <translation>Pega la invitación, o todo el mensaje en que llegó</translation>
    </message>
    <message>
        <source>Your name or nickname</source>
        <translation>Tu nombre o apodo</translation>
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
    <name>LayerStrip</name>
    <message>
        <source>Layers of the model</source>
        <translation>Capas del modelo</translation>
    </message>
</context>
<context>
    <name>LayersCard</name>
    <message>
        <source>Download progress</source>
        <translation>Progreso de la descarga</translation>
    </message>
    <message>
        <source>{swarm} runs {model}</source>
        <translation>{swarm} usa {model}</translation>
    </message>
    <message>
        <source>As of {time}.</source>
        <translation>A las {time}.</translation>
    </message>
    <message>
        <source>Downloading…</source>
        <translation>Descargando…</translation>
    </message>
</context>
<context>
    <name>LimitsSection</name>
    <message>
        <source>No limit</source>
        <translation>Sin límite</translation>
    </message>
    <message>
        <source>This month so far: {sent} sent, {received} received</source>
        <translation>Este mes hasta ahora: {sent} enviados, {received} recibidos</translation>
    </message>
    <message>
        <source>All that fits</source>
        <translation>Todo lo que quepa</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Memoria</translation>
    </message>
    <message>
        <source>System memory for Potluck as a whole</source>
        <translation>Memoria del sistema para todo Potluck</translation>
    </message>
    <message>
        <source>Always left free for other programs</source>
        <translation>Siempre libre para otros programas</translation>
    </message>
    <message>
        <source>Layers to serve</source>
        <translation>Número de capas</translation>
    </message>
    <message>
        <source>Processor cores to use</source>
        <translation>Núcleos del procesador</translation>
    </message>
    <message>
        <source>Half of them</source>
        <translation>La mitad</translation>
    </message>
    <message>
        <source>Mbit/s</source>
        <translation>Mbit/s</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Red</translation>
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
        <source>Choose their folder on the page Swarm.</source>
        <translation>Elige su carpeta en la página Enjambre.</translation>
    </message>
    <message>
        <source>Downloads wait while less is free.</source>
        <translation>Las descargas esperan si hay menos espacio.</translation>
    </message>
    <message>
        <source>Disk</source>
        <translation>Disco</translation>
    </message>
    <message>
        <source>Space for downloaded models</source>
        <translation>Espacio para modelos descargados</translation>
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
        <source>Measured</source>
        <translation>Medida</translation>
    </message>
</context>
<context>
    <name>LoadSection</name>
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
        <source>{all} %, Potluck {ours} %</source>
        <translation>{all}&#xa0;%, Potluck {ours}&#xa0;%</translation>
    </message>
</context>
<context>
    <name>LoadingPlaceholder</name>
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
    <name>LogView</name>
    <message>
        <source>Log of the daemon</source>
        <translation>Registro del servicio</translation>
    </message>
</context>
<context>
    <name>LoginSection</name>
    <message>
        <source>It follows your rules.</source>
        <translation>Siguiendo tus reglas.</translation>
    </message>
    <message>
        <source>Start donating</source>
        <translation>Empezar a donar</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Cuando inicies sesión</translation>
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
        <source>{swarm} is open to everybody</source>
        <translation>{swarm} está abierto a todos</translation>
    </message>
    <message>
        <source>It has no members. Everybody who finds it can use it.</source>
        <translation>No tiene miembros. Quien lo encuentra puede usarlo.</translation>
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
        <source>Remove…</source>
        <translation>Quitar…</translation>
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
        <source>Change {name}</source>
        <translation>Cambiar {name}</translation>
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
    <name>MessageCode</name>
    <message>
        <source>Code</source>
        <translation>Código</translation>
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
    <name>ModelsCard</name>
    <message>
        <source>Computed here</source>
        <translation>Se calcula aquí</translation>
    </message>
    <message>
        <source>On the disk</source>
        <translation>En el disco</translation>
    </message>
    <message>
        <source>Nothing is served now.</source>
        <translation>Ahora no se sirve nada.</translation>
    </message>
    <message>
        <source>Delete prepared layers</source>
        <translation>Borrar las capas preparadas</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Borrar</translation>
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
        <source>Choose…</source>
        <translation>Elegir…</translation>
    </message>
    <message>
        <source>serving now</source>
        <translation>en servicio</translation>
    </message>
    <message>
        <source>used by {swarms}</source>
        <translation>usado por {swarms}</translation>
    </message>
    <message>
        <source>incomplete</source>
        <translation>incompleto</translation>
    </message>
    <message>
        <source>Delete {model}</source>
        <translation>Borrar {model}</translation>
    </message>
    <message>
        <source>Frees {size}. Potluck downloads the model again when it needs it.</source>
        <translation>Libera {size}. Potluck vuelve a descargar el modelo si lo necesita.</translation>
    </message>
    <message>
        <source>Delete {model}?</source>
        <translation>¿Borrar {model}?</translation>
    </message>
    <message>
        <source>Freed {size}.</source>
        <translation>{size} liberados.</translation>
    </message>
    <message>
        <source>Models go to {folder} from now on. Move those you have there yourself.</source>
        <translation>A partir de ahora, los modelos van a {folder}. Mueve tú los que ya tienes.</translation>
    </message>
    <message>
        <source>Choose a folder for models</source>
        <translation>Elige una carpeta para los modelos</translation>
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
        <source>There, Swarm has “Your computers”, which can show an invite to enter above. If that computer is gone, restore the backup of your keys.</source>
        <translation>Allí, la página Enjambre tiene «Tus ordenadores», que puede mostrar una invitación para pegar arriba. Si ese ordenador ya no está, restaura la copia de tus claves.</translation>
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
        <source>{name} (this computer)</source>
        <translation>{name} (este ordenador)</translation>
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
        <source>The others learn of it when this computer serves again.</source>
        <translation>Los demás se enteran cuando este ordenador vuelve a servir.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
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
        <source>Installation and updates</source>
        <translation>Instalación y actualizaciones</translation>
    </message>
    <message>
        <source>The compute engine, and newer versions of Potluck</source>
        <translation>El motor de cálculo y versiones nuevas de Potluck</translation>
    </message>
    <message>
        <source>Compute engine</source>
        <translation>Motor de cálculo</translation>
    </message>
    <message>
        <source>Backup</source>
        <translation>Copia de seguridad</translation>
    </message>
    <message>
        <source>Your keys, and the founder&apos;s recovery code</source>
        <translation>Tus claves y el código de recuperación del fundador</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>Diagnóstico</translation>
    </message>
    <message>
        <source>A check-up, a report for people who help, detectors and the log</source>
        <translation>Una revisión, un informe para quien ayuda, los detectores y el registro</translation>
    </message>
    <message>
        <source>This app</source>
        <translation>Esta aplicación</translation>
    </message>
    <message>
        <source>News</source>
        <translation>Novedades</translation>
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
    <name>ProgramListsSection</name>
    <message>
        <source>Always step aside for</source>
        <translation>Apartarse siempre por</translation>
    </message>
    <message>
        <source>Potluck stops whenever one runs.</source>
        <translation>Potluck para cuando funciona alguno.</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>No apartarse nunca por</translation>
    </message>
    <message>
        <source>Programs that Potluck mistakes for games.</source>
        <translation>Programas que Potluck confunde con juegos.</translation>
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
    <name>RulesPage</name>
    <message>
        <source>Rules</source>
        <translation>Reglas</translation>
    </message>
    <message>
        <source>Programs</source>
        <translation>Programas</translation>
    </message>
    <message>
        <source>Programs that Potluck always or never steps aside for</source>
        <translation>Programas por los que Potluck siempre o nunca se aparta</translation>
    </message>
    <message>
        <source>More limits</source>
        <translation>Más límites</translation>
    </message>
    <message>
        <source>Memory, network, disk and electricity</source>
        <translation>Memoria, red, disco y electricidad</translation>
    </message>
</context>
<context>
    <name>ScheduleSection</name>
    <message>
        <source>Hours of the week for donating</source>
        <translation>Horas de la semana para donar</translation>
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
        <source>At least one hour must stay. To stop donating, pause until you resume.</source>
        <translation>Debe quedar al menos una hora. Para dejar de donar, haz una pausa hasta que reanudes.</translation>
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
        <source>Time to start the next round undisturbed.</source>
        <translation>Tiempo para empezar la siguiente partida con calma.</translation>
    </message>
    <message>
        <source>s</source>
        <translation>s</translation>
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
        <source>Games come first</source>
        <translation>Los juegos van primero</translation>
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
        <source>Only while I&apos;m away</source>
        <translation>Solo cuando no estoy</translation>
    </message>
    <message>
        <source>Away after</source>
        <translation>Ausente tras</translation>
    </message>
    <message>
        <source>This long without keyboard or mouse.</source>
        <translation>Este tiempo sin teclado ni ratón.</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <source>Step aside for other users of this computer</source>
        <translation>Apartarse por otros usuarios de este ordenador</translation>
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
        <source>At any time</source>
        <translation>A cualquier hora</translation>
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
        <source>Hours of the week</source>
        <translation>Horas de la semana</translation>
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
    <name>Sidebar</name>
    <message>
        <source>Pages</source>
        <translation>Páginas</translation>
    </message>
</context>
<context>
    <name>SwarmPage</name>
    <message>
        <source>Swarm</source>
        <translation>Enjambre</translation>
    </message>
    <message>
        <source>Your computers</source>
        <translation>Tus ordenadores</translation>
    </message>
    <message>
        <source>Those that serve in your name. Add another one, or remove a lost one.</source>
        <translation>Los que sirven en tu nombre. Añade otro o elimina uno perdido.</translation>
    </message>
    <message>
        <source>Models on this computer</source>
        <translation>Modelos en este ordenador</translation>
    </message>
    <message>
        <source>What is computed here, and how much of the disk models take.</source>
        <translation>Qué se calcula aquí y cuánto disco ocupan los modelos.</translation>
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
        <source>Leave…</source>
        <translation>Salir…</translation>
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
        <source>sped up by {model}</source>
        <translation>acelerado por {model}</translation>
    </message>
    <message>
        <source>Change {name}</source>
        <translation>Cambiar {name}</translation>
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
        <source>You founded this swarm, and this computer forgets the founder&apos;s key. Write down its recovery code, without which nobody can ever appoint admins again: {code}</source>
        <translation>Fundaste este enjambre y este ordenador olvida la clave del fundador. Anota el código de recuperación; sin él, nadie podrá volver a nombrar administradores: {code}</translation>
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
        <source>It has no admin, so nobody can invite, confirm or remove people either.</source>
        <translation>No hay administradores, así que tampoco podrá nadie invitar, confirmar ni quitar a nadie.</translation>
    </message>
</context>
<context>
    <name>TodaySection</name>
    <message>
        <source>points earned</source>
        <translation>puntos ganados</translation>
    </message>
    <message>
        <source>tokens served</source>
        <translation>tokens servidos</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Hoy</translation>
    </message>
    <message numerus="yes">
        <source>%n people</source>
        <translation>
            <numerusform>%n persona</numerusform>
            <numerusform>%n personas</numerusform>
        </translation>
    </message>
    <message>
        <source>You helped {people}.</source>
        <translation>Has ayudado a {people}.</translation>
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
</context>
<context>
    <name>UpdatesSection</name>
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
        <source>Updates</source>
        <translation>Actualizaciones</translation>
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
        <translation>Este ordenador devolvió resultados incorrectos</translation>
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
        <translation>Este ordenador no sirve a nadie hasta que reanudes.</translation>
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
        <translation>En un minuto dejará de servir aquí. Esto no se puede deshacer. Los demás ordenadores de esa persona se quedan.</translation>
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
</TS>
