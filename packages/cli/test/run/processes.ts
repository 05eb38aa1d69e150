import { readFileSync } from "node:fs";

// A shell's command writes `<term> <name> <uptime in seconds>` to the file in WITNESS, again and again.
const BEAT = `beat() { while :; do read -r up rest < /proc/uptime; echo "$LEASEHOLD_TERM $1 $up" >> "$WITNESS"; sleep 0.2; done; }`;

/** A command that only beats. */
export const BEATING: readonly string[] = ["sh", "-c", `${BEAT}; beat main`];

/**
 * A command whose processes are hard to end. One is in the background. One notes each TERM and goes on. One is stopped. One has
 * left the group and the session.
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
  /** The time of the beat, by {@link uptimeMs}. */
  readonly atMs: number;
}

/** Returns the kernel's uptime, which a shell can read too. Its resolution is a hundredth of a second. */
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
