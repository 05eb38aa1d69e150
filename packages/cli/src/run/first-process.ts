import { isProgram } from "./command-path.ts";

/**
 * Runs its arguments as a child, passes signals on, and ends with the child's exit code. A shell that waits for one child waits for
 * every other that the system hands to it as well. A terminal sends its own signals to the whole group, so those are not passed on.
 */
const INIT = `
child= early=
pass() { if [ -n "$child" ]; then kill "-$1" "$child"; else early=$1; fi; }
for signal in TERM USR1 USR2; do trap "pass $signal" "$signal"; done
for signal in HUP INT QUIT WINCH; do if [ -t 0 ]; then trap : "$signal"; else trap "pass $signal" "$signal"; fi; done
exec 3<&0
"$@" <&3 3<&- &
child=$!
exec 3<&-
[ -z "$early" ] || pass "$early"
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
`;

/** What {@link giveInitAway} needs of a process. */
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
 * Where this process is the first of a container and is to run a command, a shell takes its place, and runs this program as its child.
 * Orphans of the command are handed to the first process, which has to wait for them; Node waits for its own children only.
 */
export function giveInitAway({ pid, execPath, execArgv, argv, env, execve }: FirstProcess, shell = "/bin/sh"): void {
  // Node aborts where it cannot give its place away. Without a shell it keeps the place, and orphans stay zombies.
  if (pid !== 1 || argv[2] !== "run" || !execve || !isProgram(shell)) return;
  execve(shell, ["sh", "-c", INIT, "sh", execPath, ...execArgv, ...argv.slice(1)], env);
}
