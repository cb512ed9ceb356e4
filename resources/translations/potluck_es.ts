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
        <source>The gateway went away before the answer was complete.</source>
        <translation>La pasarela desapareció antes de completar la respuesta.</translation>
    </message>
    <message>
        <source>The gateway said something that is not understood.</source>
        <translation>La pasarela ha dicho algo que no se entiende.</translation>
    </message>
    <message>
        <source>{free} of {all} free</source>
        <translation>{free} de {all} libres</translation>
    </message>
    <message>
        <source>{number} GB/s</source>
        <translation>{number} GB/s</translation>
    </message>
    <message>
        <source>{number} TFLOPS in {dtype}</source>
        <translation>{number} TFLOPS en {dtype}</translation>
    </message>
    <message>
        <source>chosen by itself</source>
        <translation>elegido por sí solo</translation>
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
        <source>Measured by {name}: {watts} W lately.</source>
        <translation>Medido por {name}: {watts} W últimamente.</translation>
    </message>
    <message>
        <source>As you gave it in the settings: {watts} W while serving.</source>
        <translation>Como lo indicaste en los ajustes: {watts} W mientras sirve.</translation>
    </message>
    <message>
        <source>Estimated, not measured ({name}): {watts} W lately.</source>
        <translation>Estimado, no medido ({name}): {watts} W últimamente.</translation>
    </message>
    <message numerus="yes">
        <source>%n entries written to {file}.</source>
        <translation>
            <numerusform>%n entrada escrita en {file}.</numerusform>
            <numerusform>%n entradas escritas en {file}.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Swarm “{swarm}”, %n block(s) in all</source>
        <translation>
            <numerusform>Enjambre «{swarm}», %n bloque en total</numerusform>
            <numerusform>Enjambre «{swarm}», %n bloques en total</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n of them here: {blocks}</source>
        <translation>
            <numerusform>%n de ellos aquí: {blocks}</numerusform>
            <numerusform>%n de ellos aquí: {blocks}</numerusform>
        </translation>
    </message>
    <message>
        <source>Computed on {device} in {dtype}</source>
        <translation>Se calcula en {device} con {dtype}</translation>
    </message>
    <message>
        <source>weights held in {format}</source>
        <translation>pesos guardados en {format}</translation>
    </message>
    <message>
        <source>{size} of weights stay in its memory</source>
        <translation>{size} de pesos quedan en su memoria</translation>
    </message>
    <message>
        <source>{size} pass through it each time</source>
        <translation>{size} pasan por ella cada vez</translation>
    </message>
    <message>
        <source>{done} of {all}</source>
        <translation>{done} de {all}</translation>
    </message>
    <message>
        <source>{size} in a second</source>
        <translation>{size} por segundo</translation>
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
        <source>A milestone</source>
        <translation>Un hito</translation>
    </message>
    <message numerus="yes">
        <source>Others have signed for %n credit(s) of work. Thank you!</source>
        <translation>
            <numerusform>Otros han firmado %n crédito de trabajo tuyo. ¡Gracias!</numerusform>
            <numerusform>Otros han firmado %n créditos de trabajo tuyo. ¡Gracias!</numerusform>
        </translation>
    </message>
    <message>
        <source>Paused since {time}. Resume from the menu when you like.</source>
        <translation>En pausa desde {time}. Reanuda desde el menú cuando quieras.</translation>
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
        <source>Activity</source>
        <translation>Actividad</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
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
        <source>What Potluck watches</source>
        <translation>Qué vigila Potluck</translation>
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
        <source>Finishing the open sessions, then shutting down</source>
        <translation>Termina las sesiones abiertas y luego se apaga</translation>
    </message>
    <message>
        <source>Paused by you until the game ends</source>
        <translation>Pausado por ti hasta que acabe el juego</translation>
    </message>
    <message>
        <source>Paused by you</source>
        <translation>Pausado por ti</translation>
    </message>
    <message>
        <source>Memory freed by you</source>
        <translation>Memoria liberada por ti</translation>
    </message>
    <message>
        <source>No swarm joined yet</source>
        <translation>Aún en ningún enjambre</translation>
    </message>
    <message>
        <source>Serving is switched off in the settings</source>
        <translation>La donación está desactivada en los ajustes</translation>
    </message>
    <message>
        <source>The engine is not set up yet</source>
        <translation>El motor aún no está instalado</translation>
    </message>
    <message>
        <source>The computer goes to sleep</source>
        <translation>El ordenador se va a dormir</translation>
    </message>
    <message>
        <source>Starting up</source>
        <translation>Arrancando</translation>
    </message>
    <message>
        <source>Looking whether somebody needs the computer</source>
        <translation>Mira si alguien necesita el ordenador</translation>
    </message>
    <message>
        <source>Starting the engine</source>
        <translation>Arranca el motor</translation>
    </message>
    <message>
        <source>Loading blocks</source>
        <translation>Cargando bloques</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model} slowly, while you use the computer</source>
        <translation>Sirve los bloques {blocks} de {model} despacio, mientras usas el ordenador</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model} slowly, because {who} is hot</source>
        <translation>Sirve los bloques {blocks} de {model} despacio, porque {who} está caliente</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model} slowly, to stay below the power cap of {who}</source>
        <translation>Sirve los bloques {blocks} de {model} despacio, para no pasar el límite de potencia de {who}</translation>
    </message>
    <message>
        <source>Serving blocks {blocks} of {model}</source>
        <translation>Sirve los bloques {blocks} de {model}</translation>
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
        <source>Giving way to {who}</source>
        <translation>Se aparta por {who}</translation>
    </message>
    <message>
        <source>Giving way: other programs need the memory of {who}</source>
        <translation>Se aparta: otros programas necesitan la memoria de {who}</translation>
    </message>
    <message>
        <source>Giving way: other programs need the memory</source>
        <translation>Se aparta: otros programas necesitan la memoria</translation>
    </message>
    <message>
        <source>There is enough memory again; waiting a moment</source>
        <translation>Vuelve a haber memoria; espera un momento</translation>
    </message>
    <message>
        <source>You are back at the computer; waiting a moment</source>
        <translation>Has vuelto al ordenador; espera un momento</translation>
    </message>
    <message>
        <source>Plugged in again; waiting a moment</source>
        <translation>Enchufado de nuevo; espera un momento</translation>
    </message>
    <message>
        <source>The network is not metered any more; waiting a moment</source>
        <translation>La red ya no es de uso medido; espera un momento</translation>
    </message>
    <message>
        <source>It has cooled down; waiting a moment</source>
        <translation>Se ha enfriado; espera un momento</translation>
    </message>
    <message>
        <source>{who} is over; waiting a moment</source>
        <translation>{who} ha terminado; espera un momento</translation>
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
        <source>Too hot: {who}</source>
        <translation>Demasiado calor: {who}</translation>
    </message>
    <message>
        <source>Serving only when nobody uses the computer, and nothing here can tell</source>
        <translation>Dona solo cuando nadie usa el ordenador, y aquí nada puede saberlo</translation>
    </message>
    <message>
        <source>Serving only when nobody uses the computer</source>
        <translation>Dona solo cuando nadie usa el ordenador</translation>
    </message>
    <message>
        <source>Outside of the hours in which you serve</source>
        <translation>Fuera de las horas en que donas</translation>
    </message>
    <message>
        <source>Today&apos;s upload is used up: {used} of {all} MiB</source>
        <translation>La subida de hoy está agotada: {used} de {all} MiB</translation>
    </message>
    <message>
        <source>Today&apos;s download is used up: {used} of {all} MiB</source>
        <translation>La bajada de hoy está agotada: {used} de {all} MiB</translation>
    </message>
    <message>
        <source>Today&apos;s electricity is used up: {used} of {all}</source>
        <translation>La electricidad de hoy está agotada: {used} de {all}</translation>
    </message>
    <message>
        <source>The disk is nearly full: {free} MiB are free, {least} must stay free</source>
        <translation>El disco está casi lleno: {free} MiB libres, {least} deben quedar libres</translation>
    </message>
    <message>
        <source>Downloaded checkpoints take {used} of {all} MiB</source>
        <translation>Los modelos descargados ocupan {used} de {all} MiB</translation>
    </message>
    <message>
        <source>when Potluck is started again</source>
        <translation>cuando se inicie Potluck de nuevo</translation>
    </message>
    <message>
        <source>when the game ends, or when you resume</source>
        <translation>cuando acabe el juego o reanudes</translation>
    </message>
    <message>
        <source>when the time is over, or when you resume</source>
        <translation>cuando pase el tiempo o reanudes</translation>
    </message>
    <message>
        <source>when the moment is over, or when you resume</source>
        <translation>cuando pase el momento o reanudes</translation>
    </message>
    <message>
        <source>when it has been tried again, or when you resume</source>
        <translation>tras otro intento o cuando reanudes</translation>
    </message>
    <message>
        <source>when you resume</source>
        <translation>cuando reanudes</translation>
    </message>
    <message>
        <source>when you join or create a swarm</source>
        <translation>cuando te unas a un enjambre o crees uno</translation>
    </message>
    <message>
        <source>when you switch serve.enabled on</source>
        <translation>cuando vuelvas a activar la donación</translation>
    </message>
    <message>
        <source>when you set it up: in the app, or with `potluck setup`</source>
        <translation>cuando lo instales: en la aplicación o con `potluck setup`</translation>
    </message>
    <message>
        <source>when the computer wakes up</source>
        <translation>cuando el ordenador despierte</translation>
    </message>
    <message>
        <source>when the computer is plugged in</source>
        <translation>cuando el ordenador esté enchufado</translation>
    </message>
    <message>
        <source>when the network is not metered</source>
        <translation>cuando la red no sea de uso medido</translation>
    </message>
    <message>
        <source>when it has cooled down</source>
        <translation>cuando se enfríe</translation>
    </message>
    <message>
        <source>when it draws less power</source>
        <translation>cuando consuma menos</translation>
    </message>
    <message>
        <source>when keyboard and mouse have rested for a while</source>
        <translation>cuando el teclado y el ratón descansen un rato</translation>
    </message>
    <message>
        <source>when something can tell</source>
        <translation>cuando algo pueda saberlo</translation>
    </message>
    <message>
        <source>when the next hours of when.hours begin</source>
        <translation>cuando empiecen tus próximas horas</translation>
    </message>
    <message>
        <source>at midnight</source>
        <translation>a medianoche</translation>
    </message>
    <message>
        <source>when there is room, or when limits.disk_free_mb is smaller</source>
        <translation>cuando haya sitio o deba quedar menos libre</translation>
    </message>
    <message>
        <source>when some are deleted, or when limits.disk_mb is larger</source>
        <translation>cuando se borren algunos o el límite sea mayor</translation>
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
        <source>{time} s after {who} has ended</source>
        <translation>{time} s después de que acabe {who}</translation>
    </message>
    <message>
        <source>{time} s after {who} is done</source>
        <translation>{time} s después de que termine {who}</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>Iniciando</translation>
    </message>
    <message>
        <source>Importing</source>
        <translation>Cargando programas</translation>
    </message>
    <message>
        <source>Loading embeddings and head</source>
        <translation>Cargando el principio y el final del modelo</translation>
    </message>
    <message>
        <source>Measured {name}</source>
        <translation>{name} medido</translation>
    </message>
    <message>
        <source>no GPU is found; blocks are served by the processor, which is slow but works</source>
        <translation>no se ha encontrado ninguna tarjeta gráfica; los bloques los sirve el procesador, que es lento pero funciona</translation>
    </message>
    <message>
        <source>{who} cannot be used by torch {version}</source>
        <translation>torch {version} no puede usar {who}</translation>
    </message>
    <message>
        <source>{who} can be used, with driver {driver}</source>
        <translation>se puede usar {who}, con el controlador {driver}</translation>
    </message>
    <message>
        <source>{who} can be used</source>
        <translation>se puede usar {who}</translation>
    </message>
    <message>
        <source>as you asked</source>
        <translation>como has pedido</translation>
    </message>
    <message>
        <source>install NVIDIA&apos;s driver {number} or newer to use {who}; this machine has none</source>
        <translation>para usar {who} hace falta el controlador {number} de NVIDIA o uno más nuevo; este equipo no tiene ninguno</translation>
    </message>
    <message>
        <source>install NVIDIA&apos;s driver {number} or newer to use {who}; this machine has {driver}</source>
        <translation>para usar {who} hace falta el controlador {number} de NVIDIA o uno más nuevo; este equipo tiene el {driver}</translation>
    </message>
    <message>
        <source>graphics inside the processor share its memory; computing on them gains nothing</source>
        <translation>los gráficos del procesador comparten su memoria; calcular en ellos no aporta nada</translation>
    </message>
    <message>
        <source>{who} is older than what torch {version} has kernels for</source>
        <translation>{who} es demasiado antigua para torch {version}</translation>
    </message>
    <message>
        <source>{free} GB are free, {least} GB are needed at most</source>
        <translation>hay {free} GB libres y hacen falta {least} GB como mucho</translation>
    </message>
    <message>
        <source>packages are fetched through the proxy {host}</source>
        <translation>los paquetes se descargan por el proxy {host}</translation>
    </message>
    <message>
        <source>{path} cannot be written</source>
        <translation>no se puede escribir en {path}</translation>
    </message>
    <message>
        <source>{file} cannot be fetched from {host}: {why}</source>
        <translation>no se puede descargar {file} de {host}: {why}</translation>
    </message>
    <message>
        <source>packages cannot be installed: {why}</source>
        <translation>no se pueden instalar los paquetes: {why}</translation>
    </message>
    <message>
        <source>the disk of {folder} is full</source>
        <translation>el disco de {folder} está lleno</translation>
    </message>
    <message>
        <source>make room, or choose another folder, then try again: it goes on where it stopped</source>
        <translation>haz sitio o elige otra carpeta y vuelve a intentarlo: sigue donde se quedó</translation>
    </message>
    <message>
        <source>choose another folder, or see whom it belongs to</source>
        <translation>elige otra carpeta o mira a quién pertenece</translation>
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
        <source>see that this computer has a network, then try again: it goes on where it stopped</source>
        <translation>mira si este equipo tiene red y vuelve a intentarlo: sigue donde se quedó</translation>
    </message>
    <message>
        <source>try again: it goes on where it stopped</source>
        <translation>inténtalo de nuevo: sigue donde se quedó</translation>
    </message>
    <message>
        <source>{file} arrives damaged</source>
        <translation>{file} llega dañado</translation>
    </message>
    <message>
        <source>see whether something changes downloads, then try again: it goes on where it stopped</source>
        <translation>mira si algo altera las descargas y vuelve a intentarlo: sigue donde se quedó</translation>
    </message>
    <message>
        <source>{what} is not offered where packages come from</source>
        <translation>{what} no se ofrece donde están los paquetes</translation>
    </message>
    <message>
        <source>the engine does not answer</source>
        <translation>el motor no responde</translation>
    </message>
    <message>
        <source>try again when the computer has less to do</source>
        <translation>inténtalo de nuevo cuando el equipo tenga menos trabajo</translation>
    </message>
    <message>
        <source>the proxy does not lead to {host}</source>
        <translation>el proxy no lleva a {host}</translation>
    </message>
    <message>
        <source>{path} vanished while the engine was set up</source>
        <translation>{path} desapareció mientras se instalaba el motor</translation>
    </message>
    <message>
        <source>leave its folder alone, and try again</source>
        <translation>deja su carpeta en paz e inténtalo de nuevo</translation>
    </message>
    <message>
        <source>the engine does not work here: {why}</source>
        <translation>el motor no funciona aquí: {why}</translation>
    </message>
    <message>
        <source>the engine is being set up already</source>
        <translation>el motor ya se está instalando</translation>
    </message>
    <message>
        <source>wait until that is done, or cancel it</source>
        <translation>espera a que termine o cancélalo</translation>
    </message>
    <message>
        <source>{what} ({number} of {all})</source>
        <translation>{what} ({number} de {all})</translation>
    </message>
    <message>
        <source>fetching</source>
        <translation>descargando</translation>
    </message>
    <message>
        <source>unpacking</source>
        <translation>desempaquetando</translation>
    </message>
    <message>
        <source>letting open sessions end</source>
        <translation>esperando a que acaben las sesiones abiertas</translation>
    </message>
    <message>
        <source>starting the new version</source>
        <translation>iniciando la versión nueva</translation>
    </message>
    <message>
        <source>watching the new version</source>
        <translation>observando la versión nueva</translation>
    </message>
    <message>
        <source>going back to the version before</source>
        <translation>volviendo a la versión anterior</translation>
    </message>
    <message>
        <source>the last try was interrupted</source>
        <translation>el último intento se interrumpió</translation>
    </message>
    <message>
        <source>nothing is lost: try again</source>
        <translation>no se ha perdido nada: inténtalo de nuevo</translation>
    </message>
    <message>
        <source>the publisher did not answer within {time} s</source>
        <translation>el editor no ha respondido en {time} s</translation>
    </message>
    <message>
        <source>try again later; see that this computer has a network, and the setting updates.url</source>
        <translation>inténtalo más tarde; comprueba que este equipo tiene red y el ajuste updates.url</translation>
    </message>
    <message>
        <source>the look for updates cannot be started: {why}</source>
        <translation>no se puede iniciar la búsqueda de actualizaciones: {why}</translation>
    </message>
    <message>
        <source>is there enough memory?</source>
        <translation>¿hay memoria suficiente?</translation>
    </message>
    <message>
        <source>the look for updates ended without a word, {why}</source>
        <translation>la búsqueda de actualizaciones ha terminado sin decir nada, {why}</translation>
    </message>
    <message>
        <source>the look for updates ended: {why}</source>
        <translation>la búsqueda de actualizaciones ha terminado: {why}</translation>
    </message>
    <message>
        <source>to see more, in a terminal: potluck update --check</source>
        <translation>para ver más, en una terminal: potluck update --check</translation>
    </message>
    <message>
        <source>asking the publisher</source>
        <translation>preguntando al editor</translation>
    </message>
    <message>
        <source>beginning</source>
        <translation>empezando</translation>
    </message>
    <message>
        <source>updates cannot be had from {host}: {why}</source>
        <translation>no se pueden obtener actualizaciones de {host}: {why}</translation>
    </message>
    <message>
        <source>see that this computer has a network, and the setting updates.url</source>
        <translation>comprueba que este equipo tiene red y el ajuste updates.url</translation>
    </message>
    <message>
        <source>the connection ended before the update was here</source>
        <translation>la conexión se ha cortado antes de que llegara la actualización</translation>
    </message>
    <message>
        <source>try again later; it goes on where it stopped</source>
        <translation>inténtalo más tarde; continúa donde se quedó</translation>
    </message>
    <message>
        <source>the server only trickles</source>
        <translation>el servidor solo envía con cuentagotas</translation>
    </message>
    <message>
        <source>the update is not the file that was signed; nothing was changed</source>
        <translation>la actualización no es el archivo firmado; no se ha cambiado nada</translation>
    </message>
    <message>
        <source>the update cannot be stored: {why}</source>
        <translation>no se puede guardar la actualización: {why}</translation>
    </message>
    <message>
        <source>make room on the disk</source>
        <translation>libera espacio en el disco</translation>
    </message>
    <message>
        <source>the update is not signed by the publisher you trust; nothing was changed</source>
        <translation>la actualización no está firmada por el editor en el que confías; no se ha cambiado nada</translation>
    </message>
    <message>
        <source>compare the setting updates.key with the publisher&apos;s page</source>
        <translation>compara el ajuste updates.key con la página del editor</translation>
    </message>
    <message>
        <source>the update&apos;s description has expired: the publisher is gone, or somebody hides newer ones</source>
        <translation>la descripción de la actualización ha caducado: el editor ya no está o alguien oculta las más nuevas</translation>
    </message>
    <message>
        <source>version {offered} is offered, but {number} was before: somebody shows an old description</source>
        <translation>se ofrece la versión {offered}, pero antes era la {number}: alguien muestra una descripción antigua</translation>
    </message>
    <message>
        <source>see the publisher&apos;s page</source>
        <translation>consulta la página del editor</translation>
    </message>
    <message>
        <source>the update&apos;s description is from the future</source>
        <translation>la descripción de la actualización es del futuro</translation>
    </message>
    <message>
        <source>set this computer&apos;s clock</source>
        <translation>ajusta el reloj de este equipo</translation>
    </message>
    <message>
        <source>version {offered} did not come up ({why}); {number} is in use again</source>
        <translation>la versión {offered} no ha arrancado ({why}); vuelve a usarse la {number}</translation>
    </message>
    <message>
        <source>where updates come from is not said</source>
        <translation>no se ha dicho de dónde vienen las actualizaciones</translation>
    </message>
    <message>
        <source>set updates.url and updates.key, as published</source>
        <translation>define updates.url y updates.key, tal como se publicaron</translation>
    </message>
    <message>
        <source>another update runs already</source>
        <translation>ya hay otra actualización en marcha</translation>
    </message>
    <message>
        <source>an update runs already</source>
        <translation>ya hay una actualización en marcha</translation>
    </message>
    <message>
        <source>try again later</source>
        <translation>inténtalo más tarde</translation>
    </message>
    <message>
        <source>try again</source>
        <translation>inténtalo de nuevo</translation>
    </message>
    <message>
        <source>The daemon runs version {theirs}, this program is {ours}</source>
        <translation>El servicio es de la versión {theirs} y este programa de la {ours}</translation>
    </message>
    <message>
        <source>start this program again</source>
        <translation>vuelve a iniciar este programa</translation>
    </message>
    <message>
        <source>restart the daemon: potluck drain, then potluck start</source>
        <translation>reinicia el servicio: potluck drain y después potluck start</translation>
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
        <source>Stepped aside</source>
        <translation>A un lado</translation>
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
        <source>Looking at this computer</source>
        <translation>Examinando este equipo</translation>
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
        <source>Trying it out on this computer</source>
        <translation>Probándolo en este equipo</translation>
    </message>
    <message>
        <source>In use from now on</source>
        <translation>En uso a partir de ahora</translation>
    </message>
    <message>
        <source>{name}, for the processor</source>
        <translation>{name}, para el procesador</translation>
    </message>
    <message>
        <source>{name}, for graphics cards by NVIDIA</source>
        <translation>{name}, para tarjetas gráficas de NVIDIA</translation>
    </message>
    <message>
        <source>{name}, for older graphics cards or drivers by NVIDIA</source>
        <translation>{name}, para tarjetas o controladores antiguos de NVIDIA</translation>
    </message>
    <message>
        <source>{name}, for graphics cards by AMD</source>
        <translation>{name}, para tarjetas gráficas de AMD</translation>
    </message>
    <message>
        <source>{name}, for Macs with Apple&apos;s processor</source>
        <translation>{name}, para Mac con procesador de Apple</translation>
    </message>
    <message>
        <source>{name}, for graphics cards by Intel</source>
        <translation>{name}, para tarjetas gráficas de Intel</translation>
    </message>
    <message>
        <source>Sees something now</source>
        <translation>Ve algo ahora</translation>
    </message>
    <message>
        <source>Does not work</source>
        <translation>No funciona</translation>
    </message>
    <message>
        <source>Watching, nothing seen</source>
        <translation>Vigilando, nada visto</translation>
    </message>
    <message>
        <source>Resting, as there is nothing to give back</source>
        <translation>En reposo, pues no hay nada que devolver</translation>
    </message>
    <message>
        <source>Not on this computer</source>
        <translation>No en este ordenador</translation>
    </message>
    <message>
        <source>Not needed with these settings</source>
        <translation>No hace falta con estos ajustes</translation>
    </message>
    <message>
        <source>Known only to a newer version</source>
        <translation>Solo lo conoce una versión más nueva</translation>
    </message>
    <message>
        <source>Potluck is not running</source>
        <translation>Potluck no está en marcha</translation>
    </message>
    <message>
        <source>Nothing is served until it runs. Your settings and what you earned are kept.</source>
        <translation>No se sirve nada hasta que arranque. Tus ajustes y lo que ganaste se conservan.</translation>
    </message>
    <message>
        <source>The daemon has ended.</source>
        <translation>El servicio ha terminado.</translation>
    </message>
    <message>
        <source>Serving at {percent} %</source>
        <translation>Sirviendo al {percent} %</translation>
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
        <source>{left}; shuts down at {time} at the latest.</source>
        <translation>{left}; se apaga a las {time} como muy tarde.</translation>
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
        <source>Go on serving whenever {program} runs, now and from now on? You can take it back on the Activity page.</source>
        <translation>¿Seguir sirviendo siempre que {program} esté abierto, desde ahora? Puedes deshacerlo en la página Actividad.</translation>
    </message>
    <message>
        <source>Watches nothing just now</source>
        <translation>Ahora no vigila nada</translation>
    </message>
    <message numerus="yes">
        <source>%n way(s) to notice that you need the computer</source>
        <translation>
            <numerusform>%n forma de notar que necesitas el ordenador</numerusform>
            <numerusform>%n formas de notar que necesitas el ordenador</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n do(es) not work</source>
        <translation>
            <numerusform>%n no funciona</numerusform>
            <numerusform>%n no funcionan</numerusform>
        </translation>
    </message>
    <message>
        <source>Used today: {sent} sent, {received} received, {energy} of electricity</source>
        <translation>Hoy: {sent} enviados, {received} recibidos, {energy} de electricidad</translation>
    </message>
    <message>
        <source>{energy} for {cost}</source>
        <translation>{energy} por {cost}</translation>
    </message>
    <message>
        <source>{number} tokens/s</source>
        <translation>{number} tokens/s</translation>
    </message>
    <message>
        <source>{used} of {all}</source>
        <translation>{used} de {all}</translation>
    </message>
    <message>
        <source>Fetching {what}</source>
        <translation>Descargando {what}</translation>
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
        <source>Fetches {download} at most, and takes {disk} of the disk.</source>
        <translation>Descarga {download} como mucho y ocupa {disk} en el disco.</translation>
    </message>
    <message>
        <source>the processor</source>
        <translation>el procesador</translation>
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
        <source>none of them yours</source>
        <translation>ninguno es tuyo</translation>
    </message>
    <message>
        <source>yours: {blocks}</source>
        <translation>tuyos: {blocks}</translation>
    </message>
    <message>
        <source>at {time} {coverage}</source>
        <translation>a las {time} {coverage}</translation>
    </message>
    <message numerus="yes">
        <source>%n block(s)</source>
        <translation>
            <numerusform>%n bloque</numerusform>
            <numerusform>%n bloques</numerusform>
        </translation>
    </message>
    <message>
        <source>Together the swarm serves up to {rate}</source>
        <translation>En conjunto, el enjambre alcanza hasta {rate}</translation>
    </message>
    <message>
        <source>blocks {blocks} (framed) set the limit.</source>
        <translation>los bloques {blocks} (enmarcados) marcan el límite.</translation>
    </message>
    <message>
        <source>coverage not known yet</source>
        <translation>cobertura aún desconocida</translation>
    </message>
    <message>
        <source>nobody serves {blocks}</source>
        <translation>nadie sirve {blocks}</translation>
    </message>
    <message numerus="yes">
        <source>each served at least %n time(s)</source>
        <translation>
            <numerusform>cada uno servido al menos una vez</numerusform>
            <numerusform>cada uno servido al menos %n veces</numerusform>
        </translation>
    </message>
    <message>
        <source>the daemon is not running</source>
        <translation>el servicio no está en marcha</translation>
    </message>
    <message>
        <source>start it with: potluck start</source>
        <translation>inícialo con: potluck start</translation>
    </message>
    <message>
        <source>no permission to speak to the daemon at {path}</source>
        <translation>sin permiso para hablar con el servicio en {path}</translation>
    </message>
    <message>
        <source>it belongs to another user</source>
        <translation>es de otro usuario</translation>
    </message>
    <message>
        <source>the daemon does not answer: {why}</source>
        <translation>el servicio no responde: {why}</translation>
    </message>
    <message>
        <source>{method} failed inside the daemon</source>
        <translation>{method} ha fallado dentro del servicio</translation>
    </message>
    <message>
        <source>`potluck logs` has the details</source>
        <translation>los detalles están en `potluck logs`</translation>
    </message>
    <message>
        <source>this is not an invite</source>
        <translation>esto no es una invitación</translation>
    </message>
    <message>
        <source>this invite was made by a newer version</source>
        <translation>esta invitación es de una versión más nueva</translation>
    </message>
    <message>
        <source>update Potluck, then try again</source>
        <translation>actualiza Potluck e inténtalo de nuevo</translation>
    </message>
    <message>
        <source>the invite is incomplete or has a wrong letter in it</source>
        <translation>la invitación está incompleta o tiene una letra equivocada</translation>
    </message>
    <message>
        <source>the invite is incomplete</source>
        <translation>la invitación está incompleta</translation>
    </message>
    <message>
        <source>the invite is damaged</source>
        <translation>la invitación está dañada</translation>
    </message>
    <message>
        <source>there is a swarm named {name} already</source>
        <translation>ya hay un enjambre llamado {name}</translation>
    </message>
    <message>
        <source>choose another name</source>
        <translation>elige otro nombre</translation>
    </message>
    <message>
        <source>you did not join a swarm named {name}</source>
        <translation>no te has unido a ningún enjambre llamado {name}</translation>
    </message>
    <message>
        <source>no swarm is joined</source>
        <translation>no te has unido a ningún enjambre</translation>
    </message>
    <message>
        <source>join one with: potluck join INVITE</source>
        <translation>únete a uno con: potluck join INVITACIÓN</translation>
    </message>
    <message>
        <source>the swarm cannot be found by others yet</source>
        <translation>los demás aún no pueden encontrar el enjambre</translation>
    </message>
    <message>
        <source>try again once this machine serves</source>
        <translation>inténtalo cuando este equipo esté sirviendo</translation>
    </message>
    <message>
        <source>the swarm {name} cannot be found</source>
        <translation>no se encuentra el enjambre {name}</translation>
    </message>
    <message>
        <source>serve it, or ask a member for an invite</source>
        <translation>sírvelo o pide una invitación a un miembro</translation>
    </message>
    <message>
        <source>the folder of a checkpoint must be absolute</source>
        <translation>la carpeta de un checkpoint debe darse completa</translation>
    </message>
    <message>
        <source>begin it with / or ~</source>
        <translation>empiézala con / o ~</translation>
    </message>
    <message>
        <source>the hub did not tell in time about {name}</source>
        <translation>el hub no ha informado a tiempo sobre {name}</translation>
    </message>
    <message>
        <source>cannot ask the hub about {name}</source>
        <translation>no se puede preguntar al hub por {name}</translation>
    </message>
    <message>
        <source>models are being moved already</source>
        <translation>ya se están moviendo modelos</translation>
    </message>
    <message>
        <source>wait until that is done</source>
        <translation>espera a que termine</translation>
    </message>
    <message>
        <source>the engine may be using them</source>
        <translation>puede que el motor los esté usando</translation>
    </message>
    <message>
        <source>pause first</source>
        <translation>haz una pausa primero</translation>
    </message>
    <message>
        <source>the folder must be absolute</source>
        <translation>la carpeta debe darse completa</translation>
    </message>
    <message>
        <source>begin it with /</source>
        <translation>empiézala con /</translation>
    </message>
    <message>
        <source>the models lie there already</source>
        <translation>los modelos ya están ahí</translation>
    </message>
    <message>
        <source>one of the folders lies in the other</source>
        <translation>una de las carpetas está dentro de la otra</translation>
    </message>
    <message>
        <source>choose a folder beside it</source>
        <translation>elige una carpeta al lado</translation>
    </message>
    <message>
        <source>choose another folder</source>
        <translation>elige otra carpeta</translation>
    </message>
    <message>
        <source>delete models that nobody uses, or choose another disk</source>
        <translation>borra modelos que nadie use o elige otro disco</translation>
    </message>
    <message>
        <source>cannot delete {path}: {why}</source>
        <translation>no se puede borrar {path}: {why}</translation>
    </message>
    <message>
        <source>cannot make {path}: {why}</source>
        <translation>no se puede crear {path}: {why}</translation>
    </message>
    <message>
        <source>cannot write {path}: {why}</source>
        <translation>no se puede escribir {path}: {why}</translation>
    </message>
    <message>
        <source>does it belong to you?</source>
        <translation>¿es tuyo?</translation>
    </message>
    <message>
        <source>does the folder belong to you?</source>
        <translation>¿la carpeta es tuya?</translation>
    </message>
    <message>
        <source>is the disk full?</source>
        <translation>¿está lleno el disco?</translation>
    </message>
    <message>
        <source>there is a file {path} already</source>
        <translation>ya hay un archivo {path}</translation>
    </message>
    <message>
        <source>choose another place</source>
        <translation>elige otro lugar</translation>
    </message>
    <message>
        <source>somebody needs the device now</source>
        <translation>alguien necesita el dispositivo ahora</translation>
    </message>
    <message>
        <source>measure when the game has ended</source>
        <translation>mide cuando acabe el juego</translation>
    </message>
    <message>
        <source>the engine&apos;s environment is missing</source>
        <translation>falta el entorno del motor</translation>
    </message>
    <message>
        <source>make it with: potluck setup</source>
        <translation>créalo con: potluck setup</translation>
    </message>
    <message>
        <source>there is no earlier environment to go back to</source>
        <translation>no hay un entorno anterior al que volver</translation>
    </message>
    <message>
        <source>no game is running as far as one can see</source>
        <translation>por lo que se ve, no hay ningún juego en marcha</translation>
    </message>
    <message>
        <source>name a time: potluck pause 2h</source>
        <translation>indica un tiempo: potluck pause 2h</translation>
    </message>
    <message>
        <source>the programs that run cannot be listed here</source>
        <translation>aquí no se pueden listar los programas en marcha</translation>
    </message>
    <message>
        <source>type a name instead</source>
        <translation>escribe un nombre</translation>
    </message>
    <message>
        <source>this daemon is the machine&apos;s own service</source>
        <translation>este servicio es del propio equipo</translation>
    </message>
    <message>
        <source>wait for its end</source>
        <translation>espera a que acabe</translation>
    </message>
    <message>
        <source>the update does not begin</source>
        <translation>la actualización no empieza</translation>
    </message>
    <message>
        <source>in a terminal: potluck update</source>
        <translation>en una terminal: potluck update</translation>
    </message>
    <message>
        <source>it did not start in time</source>
        <translation>no ha arrancado a tiempo</translation>
    </message>
    <message>
        <source>it ended: {why}</source>
        <translation>ha terminado: {why}</translation>
    </message>
    <message>
        <source>cannot run {path}: {why}</source>
        <translation>no se puede ejecutar {path}: {why}</translation>
    </message>
    <message>
        <source>Potluck {version} is offered; see: potluck update --check</source>
        <translation>hay Potluck {version}; más con: potluck update --check</translation>
    </message>
    <message>
        <source>the settings before this mistake stay in force</source>
        <translation>siguen valiendo los ajustes de antes de este error</translation>
    </message>
    <message>
        <source>the defaults hold where the file cannot be obeyed</source>
        <translation>donde no se entiende el archivo vale lo predeterminado</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}; did you mean {other}?</source>
        <translation>{place}: no existe el ajuste {key}; ¿quieres decir {other}?</translation>
    </message>
    <message>
        <source>{place}: there is no setting {key}</source>
        <translation>{place}: no existe el ajuste {key}</translation>
    </message>
    <message>
        <source>earnings are not booked: {why}</source>
        <translation>lo ganado no se anota: {why}</translation>
    </message>
    <message>
        <source>{file} was of a newer Potluck, and is now as before that, with what was changed since and is known here; not taken over: {keys}; the newer one is kept as {copy}</source>
        <translation>{file} era de un Potluck más nuevo y ahora está como antes, con lo cambiado desde entonces que aquí se conoce; no se ha tomado: {keys}; el más nuevo queda en {copy}</translation>
    </message>
    <message>
        <source>{file} was of a newer Potluck, and is now as before that, with what was changed since and is known here; the newer one is kept as {copy}</source>
        <translation>{file} era de un Potluck más nuevo y ahora está como antes, con lo cambiado desde entonces que aquí se conoce; el más nuevo queda en {copy}</translation>
    </message>
    <message>
        <source>only {free} MiB are free at {path}</source>
        <translation>solo quedan {free} MiB libres en {path}</translation>
    </message>
    <message>
        <source>make room: settings and history cannot be kept</source>
        <translation>libera espacio: no se pueden guardar los ajustes ni el historial</translation>
    </message>
    <message>
        <source>{free} GiB are free for downloaded checkpoints at {path}</source>
        <translation>quedan {free} GiB para checkpoints en {path}</translation>
    </message>
    <message>
        <source>make room, or use another disk: potluck models move DIR</source>
        <translation>libera espacio o usa otro disco: potluck models move CARPETA</translation>
    </message>
    <message>
        <source>{free} of {all} GiB are available</source>
        <translation>hay {free} de {all} GiB disponibles</translation>
    </message>
    <message>
        <source>an engine needs 2 GiB; this machine can only use a swarm</source>
        <translation>un motor necesita 2 GiB; este equipo solo puede usar un enjambre</translation>
    </message>
    <message>
        <source>end other programs, or serve fewer blocks: serve.num_blocks</source>
        <translation>cierra otros programas o sirve menos bloques: serve.num_blocks</translation>
    </message>
    <message>
        <source>this machine has no network</source>
        <translation>este equipo no tiene red</translation>
    </message>
    <message>
        <source>connect it; without a network only a swarm on this machine works</source>
        <translation>conéctalo; sin red solo funciona un enjambre en este equipo</translation>
    </message>
    <message>
        <source>{number} of {all} members that tried reached this machine directly: it serves through a relay</source>
        <translation>{number} de {all} miembros que lo intentaron llegaron directamente a este equipo: sirve a través de un relé</translation>
    </message>
    <message>
        <source>it works, but more slowly; to be reached directly forward {port} in the router</source>
        <translation>funciona, pero más despacio; para que lleguen directamente, redirige {port} en el router</translation>
    </message>
    <message>
        <source>the engine needs {names}, which is not installed</source>
        <translation>el motor necesita {names}, que no está instalado</translation>
    </message>
    <message>
        <source>no port is chosen yet; the daemon does so when it starts</source>
        <translation>aún no hay puerto elegido; el servicio lo elige al arrancar</translation>
    </message>
    <message>
        <source>the engine serves, but nobody listens at TCP port {port}</source>
        <translation>el motor sirve, pero nadie escucha en el puerto TCP {port}</translation>
    </message>
    <message>
        <source>another program listens at TCP port {port}, which the engine needs</source>
        <translation>otro programa escucha en el puerto TCP {port}, que el motor necesita</translation>
    </message>
    <message>
        <source>there is a GPU, but its driver does not answer: {why}</source>
        <translation>hay una tarjeta gráfica, pero su controlador no responde: {why}</translation>
    </message>
    <message>
        <source>install or repair NVIDIA&apos;s driver, then restart the machine</source>
        <translation>instala o repara el controlador de NVIDIA y reinicia el equipo</translation>
    </message>
    <message>
        <source>a GPU without NVIDIA&apos;s driver is found; it is used if torch is a build for it</source>
        <translation>hay una tarjeta gráfica sin el controlador de NVIDIA; se usa si torch está hecho para ella</translation>
    </message>
    <message>
        <source>no GPU is found; blocks are served by the CPU, which is slow but works</source>
        <translation>no se ha encontrado ninguna tarjeta gráfica; los bloques los sirve el procesador, que es lento pero funciona</translation>
    </message>
    <message>
        <source>torch {version} computes on the CPU only; the GPU is not used</source>
        <translation>torch {version} solo calcula en el procesador; la tarjeta gráfica no se usa</translation>
    </message>
    <message>
        <source>nobody keeps the clock right; it says {time}</source>
        <translation>nadie mantiene el reloj en hora; marca {time}</translation>
    </message>
    <message>
        <source>timedatectl set-ntp true, and compare with another clock now</source>
        <translation>timedatectl set-ntp true, y compara ahora con otro reloj</translation>
    </message>
    <message>
        <source>{name} is found through this machine</source>
        <translation>a {name} se llega a través de este equipo</translation>
    </message>
    <message>
        <source>{number} of {all} addresses where {name} is found answer</source>
        <translation>responden {number} de {all} direcciones donde se encuentra {name}</translation>
    </message>
    <message>
        <source>ask a member for a new invite: potluck swarm invite; check the network</source>
        <translation>pide a un miembro una invitación nueva: potluck swarm invite; comprueba la red</translation>
    </message>
    <message>
        <source>{number} blocks of {name} are served by nobody</source>
        <translation>{number} bloques de {name} no los sirve nadie</translation>
    </message>
    <message>
        <source>invite more members: potluck swarm invite</source>
        <translation>invita a más miembros: potluck swarm invite</translation>
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
        <source>What to show</source>
        <translation>Qué mostrar</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Buscando…</translation>
    </message>
    <message>
        <source>Show more</source>
        <translation>Mostrar más</translation>
    </message>
    <message>
        <source>Nothing of this kind has happened yet.</source>
        <translation>Aún no ha ocurrido nada así.</translation>
    </message>
    <message>
        <source>Nothing here</source>
        <translation>Aquí no hay nada</translation>
    </message>
    <message>
        <source>Never for this app</source>
        <translation>Nunca por esta aplicación</translation>
    </message>
    <message>
        <source>Go on serving whenever {program} runs</source>
        <translation>Seguir sirviendo siempre que {program} esté abierto</translation>
    </message>
    <message>
        <source>Never step aside for {program}</source>
        <translation>No apartarse nunca por {program}</translation>
    </message>
    <message>
        <source>Never stepped aside for</source>
        <translation>Nunca se aparta por</translation>
    </message>
    <message>
        <source>Take back</source>
        <translation>Deshacer</translation>
    </message>
    <message>
        <source>Step aside for {program} again</source>
        <translation>Volver a apartarse por {program}</translation>
    </message>
    <message>
        <source>Potluck goes on serving while {program} runs.</source>
        <translation>Potluck sigue sirviendo mientras {program} está abierto.</translation>
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
        <source>Start it</source>
        <translation>Iniciarlo</translation>
    </message>
    <message>
        <source>Potluck is being updated</source>
        <translation>Potluck se está actualizando</translation>
    </message>
    <message>
        <source>The new version starts in a moment; if it does not, this one does.</source>
        <translation>Enseguida arranca la versión nueva; si no lo hace, arranca esta.</translation>
    </message>
    <message>
        <source>Potluck was updated</source>
        <translation>Potluck se ha actualizado</translation>
    </message>
</context>
<context>
    <name>BlockStrip</name>
    <message>
        <source>Blocks of the model</source>
        <translation>Bloques del modelo</translation>
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
        <source>Asking…</source>
        <translation>Preguntando…</translation>
    </message>
    <message>
        <source>Getting ready: {step}…</source>
        <translation>Preparando: {step}…</translation>
    </message>
    <message>
        <source>Waiting for the first word…</source>
        <translation>Esperando la primera palabra…</translation>
    </message>
    <message>
        <source>The gateway was stopped.</source>
        <translation>La pasarela se detuvo.</translation>
    </message>
    <message>
        <source>The model added nothing. A small one only continues a text: begin a sentence.</source>
        <translation>El modelo no añadió nada. Uno pequeño solo continúa un texto: empieza una frase.</translation>
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
        <source>A chat needs a swarm: join one, or start one.</source>
        <translation>Un chat necesita un enjambre: únete a uno o crea uno.</translation>
    </message>
    <message>
        <source>Nobody to talk to yet</source>
        <translation>Aún no hay con quién hablar</translation>
    </message>
    <message>
        <source>Each answer is computed by the members who serve its blocks. They can read what you write, so never send what they must not know. Your questions spend the credit that this computer earned.</source>
        <translation>Cada respuesta la calculan los miembros que sirven los bloques. Pueden leer lo que escribes, así que nunca envíes lo que no deban saber. Tus preguntas gastan el crédito que ganó este ordenador.</translation>
    </message>
    <message>
        <source>Talk to {model}</source>
        <translation>Habla con {model}</translation>
    </message>
    <message>
        <source>Servers can read along. Your credit: {credit}</source>
        <translation>Los servidores pueden leer lo que escribes. Tu crédito: {credit}</translation>
    </message>
</context>
<context>
    <name>CommandStarter</name>
    <message>
        <source>The daemon does not start.</source>
        <translation>El servicio no arranca.</translation>
    </message>
</context>
<context>
    <name>CreditCard</name>
    <message>
        <source>Credit earned in the last 24 hours</source>
        <translation>Crédito ganado en las últimas 24 horas</translation>
    </message>
    <message numerus="yes">
        <source>from %n people</source>
        <translation>
            <numerusform>de una persona</numerusform>
            <numerusform>de %n personas</numerusform>
        </translation>
    </message>
    <message>
        <source>nothing signed for yet</source>
        <translation>nada firmado todavía</translation>
    </message>
    <message>
        <source>{amount} credits in the last 24 hours</source>
        <translation>{amount} créditos en las últimas 24 horas</translation>
    </message>
    <message>
        <source>Earnings</source>
        <translation>Ganancias</translation>
    </message>
    <message>
        <source>Show all earnings</source>
        <translation>Mostrar todas las ganancias</translation>
    </message>
    <message>
        <source>Credit today</source>
        <translation>Crédito de hoy</translation>
    </message>
</context>
<context>
    <name>Devices</name>
    <message>
        <source>Measuring: {step}</source>
        <translation>Midiendo: {step}</translation>
    </message>
    <message>
        <source>Measure again</source>
        <translation>Medir de nuevo</translation>
    </message>
    <message>
        <source>Measure the speed</source>
        <translation>Medir la velocidad</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>En uso</translation>
    </message>
    <message>
        <source>Not in use</source>
        <translation>Sin usar</translation>
    </message>
    <message>
        <source>Set it up…</source>
        <translation>Instalarlo…</translation>
    </message>
    <message>
        <source>The engine that computes is not installed yet.</source>
        <translation>El motor que calcula aún no está instalado.</translation>
    </message>
    <message>
        <source>Progress of measuring</source>
        <translation>Progreso de la medición</translation>
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
        <source>A check-up looks at the installation, the disk, the graphics card, the network and the swarm.</source>
        <translation>Se examinan la instalación, el disco, la tarjeta gráfica, la red y el enjambre.</translation>
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
        <source>Checked at {time}.</source>
        <translation>Comprobado a las {time}.</translation>
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
        <source>Copied. It names versions, devices and what is watched, no keys and no addresses.</source>
        <translation>Copiado. Incluye versiones, dispositivos y lo que se vigila; ni claves ni direcciones.</translation>
    </message>
    <message>
        <source>Check-up</source>
        <translation>Comprobación</translation>
    </message>
    <message>
        <source>Progress of the check-up</source>
        <translation>Progreso de la comprobación</translation>
    </message>
    <message>
        <source>For somebody who helps you</source>
        <translation>Para quien te ayude</translation>
    </message>
    <message>
        <source>A report holds the settings, the history and the log. Keys, invites, addresses and your user name are taken out.</source>
        <translation>Un informe contiene los ajustes, el historial y el registro. Se quitan claves, invitaciones, direcciones y tu nombre de usuario.</translation>
    </message>
    <message>
        <source>Save a report…</source>
        <translation>Guardar un informe…</translation>
    </message>
    <message>
        <source>Copy system info</source>
        <translation>Copiar datos del sistema</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Registro</translation>
    </message>
    <message>
        <source>Log of the daemon</source>
        <translation>Registro del servicio</translation>
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
        <source>Stretch of time</source>
        <translation>Periodo</translation>
    </message>
    <message>
        <source>credits earned</source>
        <translation>créditos ganados</translation>
    </message>
    <message>
        <source>credits spent</source>
        <translation>créditos gastados</translation>
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
        <source>Spent</source>
        <translation>Gastado</translation>
    </message>
    <message>
        <source>Earned</source>
        <translation>Ganado</translation>
    </message>
    <message>
        <source>Credits earned</source>
        <translation>Créditos ganados</translation>
    </message>
    <message>
        <source>Credits by time</source>
        <translation>Créditos por tiempo</translation>
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
        <source>Credits by model</source>
        <translation>Créditos por modelo</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modelo</translation>
    </message>
    <message>
        <source>No model has earned anything in this time.</source>
        <translation>Ningún modelo ha ganado nada en este tiempo.</translation>
    </message>
    <message>
        <source>Adding up…</source>
        <translation>Sumando…</translation>
    </message>
    <message>
        <source>Balance: {balance} credits. Since the beginning {earned} earned and {spent} spent.</source>
        <translation>Saldo: {balance} créditos. Desde el principio, {earned} ganados y {spent} gastados.</translation>
    </message>
    <message>
        <source>{amount} credits</source>
        <translation>{amount} créditos</translation>
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
        <source>A credit is 10¹² parameter-tokens of work that somebody signed for. It is no money: it buys an earlier place in the queues of those who trust you.</source>
        <translation>Un crédito son 10¹² parámetros-token de trabajo que alguien firmó. No es dinero: te adelanta en las colas de quienes confían en ti.</translation>
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
        <source>cost, no price is set</source>
        <translation>coste, sin precio indicado</translation>
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
        <source>Progress of the installation</source>
        <translation>Progreso de la instalación</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Cancelar</translation>
    </message>
    <message>
        <source>Renew it</source>
        <translation>Renovar</translation>
    </message>
    <message>
        <source>Use the one before again</source>
        <translation>Volver a la anterior</translation>
    </message>
    <message>
        <source>Another build or folder…</source>
        <translation>Otra versión…</translation>
    </message>
    <message>
        <source>It computes in a Python that you look after yourself.</source>
        <translation>Calcula en un Python que mantienes tú.</translation>
    </message>
    <message>
        <source>Ready. It computes on: {devices}.</source>
        <translation>Listo. Calcula en: {devices}.</translation>
    </message>
    <message>
        <source>Build of torch: {variant}</source>
        <translation>Versión de torch: {variant}</translation>
    </message>
    <message>
        <source>Folder: {folder}</source>
        <translation>Carpeta: {folder}</translation>
    </message>
    <message>
        <source>This version of Potluck comes with newer packages; renew it when it suits you.</source>
        <translation>Esta versión de Potluck trae paquetes más nuevos; renuévalos cuando te venga bien.</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
    </message>
</context>
<context>
    <name>Export</name>
    <message>
        <source>Table (CSV)</source>
        <translation>Tabla (CSV)</translation>
    </message>
    <message>
        <source>Export all entries</source>
        <translation>Exportar todas las entradas</translation>
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
        <source>What computes</source>
        <translation>Lo que calcula</translation>
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
        <source>Bring a few blocks to the table</source>
        <translation>Trae unos bloques a la mesa</translation>
    </message>
    <message>
        <source>Lend a swarm what your computer does not need.</source>
        <translation>Presta a un enjambre lo que tu ordenador no necesita.</translation>
    </message>
    <message>
        <source>Potluck takes the build of torch that fits this computer.</source>
        <translation>Potluck elige la versión de torch que conviene a este equipo.</translation>
    </message>
    <message>
        <source>Which swarm?</source>
        <translation>¿Qué enjambre?</translation>
    </message>
    <message>
        <source>People who run one model together. An invite is the key to it.</source>
        <translation>Personas que hacen funcionar juntas un modelo. Una invitación es la llave.</translation>
    </message>
    <message>
        <source>What you bring</source>
        <translation>Lo que aportas</translation>
    </message>
    <message>
        <source>Measuring takes a moment; you need not wait for it.</source>
        <translation>Medir tarda un momento; no hace falta que esperes.</translation>
    </message>
    <message>
        <source>You come first</source>
        <translation>Tú vas primero</translation>
    </message>
    <message>
        <source>Change it whenever you like, under When to donate and Limits.</source>
        <translation>Cámbialo cuando quieras, en «Cuándo donar» y «Límites».</translation>
    </message>
    <message>
        <source>From now on</source>
        <translation>A partir de ahora</translation>
    </message>
    <message>
        <source>Nothing starts by itself unless you switch it on.</source>
        <translation>Nada arranca por sí solo si no lo activas.</translation>
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
        <source>What this is</source>
        <translation>Qué es esto</translation>
    </message>
    <message>
        <source>Together you run what nobody can run alone</source>
        <translation>Juntos hacéis funcionar lo que nadie puede solo</translation>
    </message>
    <message>
        <source>A large language model is cut into blocks. Your computer serves a few of them, others serve the rest, and everybody in the swarm can use the whole.</source>
        <translation>Un gran modelo de lenguaje se corta en bloques. Tu ordenador sirve unos cuantos, otros sirven el resto, y todo el enjambre puede usar el conjunto.</translation>
    </message>
    <message>
        <source>Your games come first</source>
        <translation>Tus juegos van primero</translation>
    </message>
    <message>
        <source>When one starts, its graphics memory is free within a second. Later it goes on by itself.</source>
        <translation>Cuando empieza uno, su memoria gráfica queda libre en un segundo. Después sigue por sí solo.</translation>
    </message>
    <message>
        <source>What you give, you get back</source>
        <translation>Lo que das, lo recibes</translation>
    </message>
    <message>
        <source>Work for others earns credit. It is no money: it lets your own requests go first.</source>
        <translation>Trabajar para otros da crédito. No es dinero: hace que tus peticiones pasen antes.</translation>
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
        <source>Your internet address, which blocks you serve and how fast. If you chat, those who serve the model can read what you write. Never send what they must not know.</source>
        <translation>Tu dirección de internet, qué bloques sirves y a qué velocidad. Si chateas, quienes sirven el modelo pueden leer lo que escribes. Nunca envíes lo que no deban saber.</translation>
    </message>
    <message>
        <source>Nobody else</source>
        <translation>Nadie más</translation>
    </message>
    <message>
        <source>No account and no telemetry. Your files stay yours: no code comes from others.</source>
        <translation>Sin cuenta ni telemetría. Tus archivos siguen siendo tuyos: no llega código de otros.</translation>
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
        <source>Copy invite</source>
        <translation>Copiar invitación</translation>
    </message>
    <message>
        <source>Version {version} of Potluck is offered.</source>
        <translation>Hay una versión nueva de Potluck: {version}.</translation>
    </message>
    <message>
        <source>See what changes</source>
        <translation>Ver los cambios</translation>
    </message>
    <message>
        <source>Set up what computes</source>
        <translation>Instalar lo que calcula</translation>
    </message>
    <message>
        <source>See how far it is</source>
        <translation>Ver cómo va</translation>
    </message>
    <message>
        <source>No swarm joined</source>
        <translation>En ningún enjambre</translation>
    </message>
    <message>
        <source>{model}, swarm “{swarm}”</source>
        <translation>{model}, enjambre «{swarm}»</translation>
    </message>
    <message>
        <source>Show what Potluck watches to step aside in time</source>
        <translation>Muestra qué vigila Potluck para apartarse a tiempo</translation>
    </message>
    <message>
        <source>Copies an invite to this swarm; whoever has it can serve and use the model</source>
        <translation>Copia una invitación a este enjambre; quien la tenga puede servir y usar el modelo</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Copiada</translation>
    </message>
</context>
<context>
    <name>InstallationPage</name>
    <message>
        <source>Installation</source>
        <translation>Instalación</translation>
    </message>
    <message>
        <source>What computes</source>
        <translation>Lo que calcula</translation>
    </message>
    <message>
        <source>Updates</source>
        <translation>Actualizaciones</translation>
    </message>
</context>
<context>
    <name>JoinForm</name>
    <message>
        <source>Join this swarm</source>
        <translation>Unirse a este enjambre</translation>
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
        <source>Invite</source>
        <translation>Invitación</translation>
    </message>
    <message>
        <source>I want to start one</source>
        <translation>Quiero crear uno</translation>
    </message>
    <message>
        <source>Others join with an invite that you copy from Home. A small model to try it with is included.</source>
        <translation>Los demás se unen con una invitación que copias en «Inicio». Se incluye un modelo pequeño para probar.</translation>
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
        <source>Computes on</source>
        <translation>Calcula en</translation>
    </message>
    <message>
        <source>Several graphics cards hold the blocks together. With none chosen, the best one is taken.</source>
        <translation>Varias tarjetas gráficas guardan los bloques juntas. Si no eliges ninguna, se toma la mejor.</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Memoria</translation>
    </message>
    <message>
        <source>GiB</source>
        <translation>GiB</translation>
    </message>
    <message>
        <source>On the graphics card, or in the computer without one</source>
        <translation>En la tarjeta gráfica o, si no hay, en el ordenador</translation>
    </message>
    <message>
        <source>Never takes more, so fewer blocks may be served. A change loads the blocks again.</source>
        <translation>Nunca toma más, así que quizá sirva menos bloques. Un cambio vuelve a cargarlos.</translation>
    </message>
    <message>
        <source>What fits</source>
        <translation>Lo que quepa</translation>
    </message>
    <message>
        <source>In the computer, engine and network together</source>
        <translation>En el ordenador, motor y red juntos</translation>
    </message>
    <message>
        <source>Always left free for other programs</source>
        <translation>Siempre libre para otros programas</translation>
    </message>
    <message>
        <source>Blocks to serve</source>
        <translation>Bloques que sirves</translation>
    </message>
    <message>
        <source>Processor cores to compute with</source>
        <translation>Núcleos del procesador para calcular</translation>
    </message>
    <message>
        <source>Half of them</source>
        <translation>La mitad</translation>
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
        <source>Upload</source>
        <translation>Subida</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>Bajada</translation>
    </message>
    <message>
        <source>Upload in a day</source>
        <translation>Subida en un día</translation>
    </message>
    <message>
        <source>Download in a day</source>
        <translation>Bajada en un día</translation>
    </message>
    <message>
        <source>Disk</source>
        <translation>Disco</translation>
    </message>
    <message>
        <source>Downloaded models may take</source>
        <translation>Los modelos descargados pueden ocupar</translation>
    </message>
    <message>
        <source>Where they lie is on the page Models.</source>
        <translation>Dónde están se ve en la página «Modelos».</translation>
    </message>
    <message>
        <source>Always left free on the disk</source>
        <translation>Siempre libre en el disco</translation>
    </message>
    <message>
        <source>No download begins when less is free.</source>
        <translation>No empieza ninguna descarga si hay menos libre.</translation>
    </message>
    <message>
        <source>Heat and power</source>
        <translation>Calor y potencia</translation>
    </message>
    <message>
        <source>Above these, it computes more slowly until it is below them again.</source>
        <translation>Por encima de esto calcula más despacio hasta bajar de nuevo.</translation>
    </message>
    <message>
        <source>Temperature of a graphics card</source>
        <translation>Temperatura de una tarjeta gráfica</translation>
    </message>
    <message>
        <source>Temperature of the processor</source>
        <translation>Temperatura del procesador</translation>
    </message>
    <message>
        <source>Power of a graphics card</source>
        <translation>Potencia de una tarjeta gráfica</translation>
    </message>
    <message>
        <source>Electricity</source>
        <translation>Electricidad</translation>
    </message>
    <message>
        <source>Price of a kilowatt-hour</source>
        <translation>Precio del kilovatio-hora</translation>
    </message>
    <message>
        <source>In your currency. With it, Earnings shows what donating costs.</source>
        <translation>En tu moneda. Con él, «Ganancias» muestra lo que cuesta donar.</translation>
    </message>
    <message>
        <source>Not known</source>
        <translation>Desconocido</translation>
    </message>
    <message>
        <source>Costs in a day</source>
        <translation>Coste en un día</translation>
    </message>
    <message>
        <source>When they are reached, donating rests until midnight.</source>
        <translation>Al alcanzarlo, la donación descansa hasta medianoche.</translation>
    </message>
    <message>
        <source>Power that donating takes</source>
        <translation>Potencia que consume donar</translation>
    </message>
    <message>
        <source>From a meter at the plug, if you have one.</source>
        <translation>De un medidor en el enchufe, si lo tienes.</translation>
    </message>
    <message>
        <source>Measured</source>
        <translation>Medida</translation>
    </message>
</context>
<context>
    <name>Login</name>
    <message>
        <source>Start donating</source>
        <translation>Empezar a donar</translation>
    </message>
    <message>
        <source>By the rules that you have set.</source>
        <translation>Según las reglas que has puesto.</translation>
    </message>
    <message>
        <source>Show Potluck in the tray</source>
        <translation>Mostrar Potluck en la bandeja</translation>
    </message>
    <message>
        <source>Without a window.</source>
        <translation>Sin ventana.</translation>
    </message>
    <message>
        <source>By {file}</source>
        <translation>Por {file}</translation>
    </message>
    <message>
        <source>It is arranged for everybody here.</source>
        <translation>Aquí está dispuesto así para todos.</translation>
    </message>
    <message>
        <source>This computer does not offer it.</source>
        <translation>Este ordenador no lo ofrece.</translation>
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
        <source>{all} %, of which Potluck {ours} %</source>
        <translation>{all} %, de los cuales Potluck {ours} %</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Looking for the daemon.</source>
        <translation>Buscando el servicio.</translation>
    </message>
    <message>
        <source>Version {installed} of Potluck is installed; this window is still of version {running}. A restart stops nothing and ends only a conversation in Chat.</source>
        <translation>La versión {installed} de Potluck está instalada; esta ventana es todavía de la versión {running}. Reiniciarla no detiene nada y solo acaba una conversación del Chat.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Reiniciar</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>Modelos</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Buscando…</translation>
    </message>
    <message>
        <source>Served here</source>
        <translation>Servido aquí</translation>
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
        <source>Progress of the download</source>
        <translation>Progreso de la descarga</translation>
    </message>
    <message>
        <source>Join a swarm, and this computer takes the blocks that it lacks most.</source>
        <translation>Únete a un enjambre y este ordenador tomará los bloques que más le falten.</translation>
    </message>
    <message>
        <source>Nothing is served</source>
        <translation>No se sirve nada</translation>
    </message>
    <message>
        <source>Downloading: {progress}</source>
        <translation>Descargando: {progress}</translation>
    </message>
    <message>
        <source>Loading: {progress}</source>
        <translation>Cargando: {progress}</translation>
    </message>
    <message>
        <source>Blocks {blocks}</source>
        <translation>Bloques {blocks}</translation>
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
        <source>{size}, made again when needed</source>
        <translation>{size}, se rehacen si hacen falta</translation>
    </message>
    <message>
        <source>Blocks prepared for this computer</source>
        <translation>Bloques preparados para este ordenador</translation>
    </message>
    <message>
        <source>Delete prepared blocks</source>
        <translation>Borrar bloques preparados</translation>
    </message>
    <message>
        <source>{used} used, {free} free on this disk</source>
        <translation>{used} usados, {free} libres en este disco</translation>
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
        <source>served now</source>
        <translation>servido ahora</translation>
    </message>
    <message>
        <source>used by {swarms}</source>
        <translation>usado por {swarms}</translation>
    </message>
    <message>
        <source>not complete</source>
        <translation>incompleto</translation>
    </message>
    <message>
        <source>Delete {model}</source>
        <translation>Borrar {model}</translation>
    </message>
    <message>
        <source>{size} become free. If the model is needed again, it is downloaded again.</source>
        <translation>Se liberan {size}. Si el modelo vuelve a hacer falta, se descarga de nuevo.</translation>
    </message>
    <message>
        <source>Delete {model}?</source>
        <translation>¿Borrar {model}?</translation>
    </message>
    <message>
        <source>{size} are free again.</source>
        <translation>{size} vuelven a estar libres.</translation>
    </message>
    <message>
        <source>Folder for models</source>
        <translation>Carpeta para modelos</translation>
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
        <source>Right now</source>
        <translation>Ahora mismo</translation>
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
        <source>Build of torch</source>
        <translation>Versión de torch</translation>
    </message>
    <message>
        <source>Where it will lie</source>
        <translation>Dónde se guardará</translation>
    </message>
    <message>
        <source>Fetch and install</source>
        <translation>Descargar e instalar</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Reintentar</translation>
    </message>
    <message>
        <source>This version of Potluck comes without the packages of the best build ({variant}).</source>
        <translation>Esta versión de Potluck viene sin los paquetes de la mejor versión ({variant}).</translation>
    </message>
    <message>
        <source>Nobody of Potluck&apos;s has tried this build yet. It is used only if it passes its trial here.</source>
        <translation>Nadie de Potluck ha probado aún esta versión. Solo se usa si supera aquí su prueba.</translation>
    </message>
    <message>
        <source>Make room, or choose another folder below.</source>
        <translation>Haz sitio o elige abajo otra carpeta.</translation>
    </message>
    <message>
        <source>A folder for what computes</source>
        <translation>Una carpeta para lo que calcula</translation>
    </message>
    <message>
        <source>Another folder for what computes</source>
        <translation>Otra carpeta para lo que calcula</translation>
    </message>
</context>
<context>
    <name>SettingsForm</name>
    <message>
        <source>The daemon does not know this yet; update it.</source>
        <translation>El servicio aún no conoce esto; actualízalo.</translation>
    </message>
    <message>
        <source>Fixed by {variable} in the daemon&apos;s environment.</source>
        <translation>Fijado por {variable} en el entorno del servicio.</translation>
    </message>
    <message>
        <source>Saved, and in use.</source>
        <translation>Guardado y en vigor.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Deshacer</translation>
    </message>
</context>
<context>
    <name>SharePanel</name>
    <message>
        <source>What fits</source>
        <translation>Lo que quepa</translation>
    </message>
    <message>
        <source>Half of it</source>
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
        <source>Memory to give</source>
        <translation>Memoria que das</translation>
    </message>
    <message>
        <source>Donate while I use the computer</source>
        <translation>Donar mientras uso el ordenador</translation>
    </message>
    <message>
        <source>Games come first in any case.</source>
        <translation>Los juegos van primero en todo caso.</translation>
    </message>
    <message>
        <source>{device} has {size}. What other programs need stays free.</source>
        <translation>{device} tiene {size}. Lo que necesiten otros programas queda libre.</translation>
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
        <source>%n block(s)</source>
        <translation>
            <numerusform>%n bloque</numerusform>
            <numerusform>%n bloques</numerusform>
        </translation>
    </message>
    <message>
        <source>open to everybody</source>
        <translation>abierto a todos</translation>
    </message>
    <message>
        <source>served now</source>
        <translation>servido ahora</translation>
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
        <source>Leave…</source>
        <translation>Salir…</translation>
    </message>
    <message>
        <source>Leave {swarm}</source>
        <translation>Salir de {swarm}</translation>
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
        <source>Only a new invite brings you back. What you earned stays.</source>
        <translation>Solo una invitación nueva te trae de vuelta. Lo que ganaste se queda.</translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>Resume</source>
        <translation>Reanudar</translation>
    </message>
    <message>
        <source>Free my memory now</source>
        <translation>Liberar mi memoria ahora</translation>
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
        <source>Version {version} is offered…</source>
        <translation>Hay una versión nueva: {version}…</translation>
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
        <source>Look now</source>
        <translation>Mirar ahora</translation>
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
        <source>Once a day the publisher is asked for the newest version, and learns your address.</source>
        <translation>Una vez al día se pregunta al editor por la versión más nueva; conoce así tu dirección.</translation>
    </message>
    <message>
        <source>Progress of the update</source>
        <translation>Progreso de la actualización</translation>
    </message>
    <message>
        <source>{version}. Looked at {time}.</source>
        <translation>{version}. Consultado: {time}.</translation>
    </message>
    <message>
        <source>Version {version} of {day}</source>
        <translation>Versión {version}, {day}</translation>
    </message>
    <message>
        <source>Install version {version}</source>
        <translation>Instalar la versión {version}</translation>
    </message>
    <message>
        <source>Open sessions may end first, for ten minutes at most; then they go on elsewhere. If the new version does not come up, this one is used again by itself.</source>
        <translation>Las sesiones abiertas pueden acabar antes, durante diez minutos como mucho; luego siguen en otro sitio. Si la versión nueva no arranca, se vuelve a usar esta por sí sola.</translation>
    </message>
    <message>
        <source>What installed Potluck also updates it: apt, or pip. Install the new version with that.</source>
        <translation>Lo que instaló Potluck también lo actualiza: apt o pip. Instala con eso la versión nueva.</translation>
    </message>
    <message>
        <source>Look again</source>
        <translation>Mirar de nuevo</translation>
    </message>
    <message>
        <source>This installation has no publisher to ask. The settings updates.url and updates.key name one.</source>
        <translation>Esta instalación no tiene editor a quien preguntar. Los ajustes updates.url y updates.key nombran uno.</translation>
    </message>
</context>
<context>
    <name>WatchingPage</name>
    <message>
        <source>What Potluck watches</source>
        <translation>Qué vigila Potluck</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Atrás</translation>
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
        <source>Hours of the week in which to donate</source>
        <translation>Horas de la semana en las que donar</translation>
    </message>
    <message>
        <source>Always step aside for</source>
        <translation>Apartarse siempre por</translation>
    </message>
    <message>
        <source>Whenever one of these runs, it has the computer for itself.</source>
        <translation>Siempre que uno de estos esté abierto, tiene el ordenador para sí.</translation>
    </message>
    <message>
        <source>Never step aside for</source>
        <translation>No apartarse nunca por</translation>
    </message>
    <message>
        <source>Programs that look like a game and are none.</source>
        <translation>Programas que parecen un juego y no lo son.</translation>
    </message>
    <message>
        <source>At any time. Click hours or drag over them to leave them out.</source>
        <translation>A cualquier hora. Haz clic en las horas o arrastra sobre ellas para excluirlas.</translation>
    </message>
    <message>
        <source>Only in the filled hours.</source>
        <translation>Solo en las horas marcadas.</translation>
    </message>
    <message>
        <source>Your settings are exact to the minute: {hours}. Painting rounds them to hours.</source>
        <translation>Tus ajustes son exactos al minuto: {hours}. Al pintar se redondean a horas.</translation>
    </message>
    <message>
        <source>No hour is left, so nothing was changed. To stop donating, use the menu.</source>
        <translation>No quedaría ninguna hora, así que nada ha cambiado. Para dejar de donar, usa el menú.</translation>
    </message>
    <message>
        <source>From now on, Potluck steps aside whenever {program} runs.</source>
        <translation>Desde ahora, Potluck se aparta siempre que {program} esté abierto.</translation>
    </message>
    <message>
        <source>From now on, Potluck goes on serving while {program} runs.</source>
        <translation>Desde ahora, Potluck sigue sirviendo mientras {program} esté abierto.</translation>
    </message>
    <message>
        <source>{program} is judged by what it does again.</source>
        <translation>{program} vuelve a juzgarse por lo que hace.</translation>
    </message>
    <message>
        <source>Games come first</source>
        <translation>Los juegos van primero</translation>
    </message>
    <message>
        <source>When a game starts, its graphics memory is free within a second. Donating goes on by itself.</source>
        <translation>Cuando empieza un juego, su memoria gráfica queda libre en un segundo. La donación sigue por sí sola.</translation>
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
        <source>Enough to start the next round undisturbed.</source>
        <translation>Lo justo para empezar la siguiente partida sin molestias.</translation>
    </message>
    <message>
        <source>s</source>
        <translation>s</translation>
    </message>
    <message>
        <source>Go on with the other graphics cards</source>
        <translation>Seguir con las otras tarjetas gráficas</translation>
    </message>
    <message>
        <source>Step aside only on the card that the game uses, if that is known.</source>
        <translation>Apartarse solo en la tarjeta que usa el juego, si se sabe cuál es.</translation>
    </message>
    <message>
        <source>Games that Steam runs</source>
        <translation>Juegos que ejecuta Steam</translation>
    </message>
    <message>
        <source>Games that ask for GameMode</source>
        <translation>Juegos que piden GameMode</translation>
    </message>
    <message>
        <source>Windows games with Proton or Wine</source>
        <translation>Juegos de Windows con Proton o Wine</translation>
    </message>
    <message>
        <source>What runs in gamescope</source>
        <translation>Lo que se ejecuta en gamescope</translation>
    </message>
    <message>
        <source>Full-screen programs that are busy</source>
        <translation>Programas ocupados a pantalla completa</translation>
    </message>
    <message>
        <source>Players of videos, browsers and screen savers do not count.</source>
        <translation>Los reproductores de vídeo, navegadores y salvapantallas no cuentan.</translation>
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
        <source>100 % is as fast as it can.</source>
        <translation>100 % es lo más rápido posible.</translation>
    </message>
    <message>
        <source>Donate only while I am away</source>
        <translation>Donar solo cuando no estoy</translation>
    </message>
    <message>
        <source>Away after</source>
        <translation>Ausente tras</translation>
    </message>
    <message>
        <source>Keyboard and mouse have not been touched for so long.</source>
        <translation>Tanto tiempo sin tocar el teclado ni el ratón.</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <source>Step aside for other users who sit at the computer</source>
        <translation>Apartarse por otros usuarios que usen el ordenador</translation>
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
    <message>
        <source>Donate on battery as well</source>
        <translation>Donar también con batería</translation>
    </message>
    <message>
        <source>Donate over a metered network as well</source>
        <translation>Donar también por una red de uso medido</translation>
    </message>
    <message>
        <source>When you log in</source>
        <translation>Cuando inicies sesión</translation>
    </message>
</context>
</TS>
