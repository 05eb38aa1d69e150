import { readFileSync } from "node:fs";

// A shell's command writes `<term> <name> <uptime in seconds>` to the file in WITNESS, again and again.
const BEAT = `beat() { while :; do read -r up rest < /proc/uptime; echo "$LEASEHOLD_TERM $1 $up" >> "$WITNESS"; sleep 0.2; done; }`;

/** A command that beats, and no more. */
export const BEATING: readonly string[] = ["sh", "-c", `${BEAT}; beat main`];

/**
 * A command of everything that is hard to end: one process in the background, one that notes each TERM and goes on, one that is
 * stopped, and one that has left the group and the session.
 */
export const CREW: readonly string[] = [
  "sh",
  "-c",
  `${BEAT}
echo "$LEASEHOLD_TERM_ID" >> "$WITNESS.terms"
beat background &
(trap "" HUP INT; trap 'echo asked >> "$WITNESS.asked"' TERM; beat deaf) &
(sh -c 'echo "$LEASEHOLD_TERM stopped $$" >> "$WITNESS.stopped"; kill -STOP $$') &
setsid sh -c '${BEAT}; trap "" HUP; beat escaped' &
beat main`,
];

export interface Beat {
  readonly term: number;
  readonly name: string;
  /** By {@link uptimeMs}. */
  readonly atMs: number;
}

/** Returns the kernel's uptime, which a shell can read too. It counts in hundredths of a second. */
export function uptimeMs(): number {
  return Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000;
}

/** Returns the beats in a witness's file. */
export function beatsIn(text: string): readonly Beat[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [term, name, up] = line.split(" ");
      return { term: Number(term), name: name!, atMs: Number(up) * 1_000 };
    });
}
