/* A program that stands for another one: copied or linked to whatever name is wanted, it shows that name and its
   arguments in /proc. What follows "--" among its arguments is run below it, if it is a path. With STAND_IN_BUSY set it
   keeps a core busy. It ends when it is told to, or after ten minutes, and what it started ends with it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(600);
    for (int i = 1; i + 1 < count; i++) {
        if (strcmp(arguments[i], "--") == 0 && strchr(arguments[i + 1], '/')) {
            if (fork() == 0) {
                execv(arguments[i + 1], arguments + i + 1);
                _exit(127);
            }
            break;
        }
    }
    while (getenv("STAND_IN_BUSY")) {}
    for (;;) pause();
}
