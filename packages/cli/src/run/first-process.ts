import { isProgram } from "./command-path.ts";

/**
 * Runs its arguments as a child, passes signals on, and ends with the child's exit code. While the shell waits for this child, it
 * also reaps the orphans that the system gives to it. A terminal sends HUP, INT, QUIT and WINCH to its whole foreground group. At
 * a terminal `setsid` keeps the child out of this group, so that the child gets each signal once: from the script. Without
 * `setsid`, the script leaves these four signals to the terminal.
 */
const INIT = `
child= early= apart=
pass() { if [ -n "$child" ]; then kill "-$1" "$child"; else early=$1; fi; }
if [ -t 0 ] && command -v setsid >/dev/null; then apart=setsid; fi
for signal in TERM USR1 USR2; do trap "pass $signal" "$signal"; done
for signal in HUP INT QUIT WINCH; do
  if [ -t 0 ] && [ -z "$apart" ]; then trap : "$signal"; else trap "pass $signal" "$signal"; fi
done
exec 3<&0
$apart "$@" <&3 3<&- &
child=$!
exec 3<&-
[ -z "$early" ] || pass "$early"
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
`;

/** The parts of a process that {@link giveInitAway} needs. */
export interface FirstProcess {
  readonly pid: number;
  readonly execPath: string;
  readonly execArgv: readonly string[];
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Absent before Node.js 22.15. */
  readonly execve?: ((file: string, args: readonly string[], env: NodeJS.ProcessEnv) => void) | undefined;
}

/**
 * If this process is the first of a container and its verb is `run`, a shell takes its place. The shell runs this program as a
 * child. The system gives the command's orphans to the first process, which must wait for them. Node waits for its own children
 * only.
 */
export function giveInitAway({ pid, execPath, execArgv, argv, env, execve }: FirstProcess, shell = "/bin/sh"): void {
  // Node aborts if `execve` fails, so check for the shell first. Without a shell this process stays, and orphans stay zombies.
  if (pid !== 1 || argv[2] !== "run" || !execve || !isProgram(shell)) return;
  execve(shell, ["sh", "-c", INIT, "sh", execPath, ...execArgv, ...argv.slice(1)], env);
}
