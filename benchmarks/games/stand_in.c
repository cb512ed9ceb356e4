/* A program that stands for another one: linked to whatever name is wanted, it shows that name and its arguments in /proc.
   With STAND_IN_BUSY set it keeps a core busy. It ends when it is told to, with who started it, or after ten minutes. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(600);
    while (getenv("STAND_IN_BUSY")) {}
    for (;;) pause();
}
