import { readFileSync } from "node:fs";

const BEAT_MS = 200;

// A shell's command writes `<term> <name> <uptime in seconds>` to the file in WITNESS, again and again.
const BEAT = `beat() { while :; do read -r up rest < /proc/uptime; echo "$LEASEHOLD_TERM $1 $up" >> "$WITNESS"; sleep ${BEAT_MS / 1_000}; done; }`;

/** A command that beats, and no more. */
export const BEATING: readonly string[] = ["sh", "-c", `${BEAT}; beat main`];

/**
 * A command with everything that is hard to end: one in the background, one that ignores TERM, one that is stopped, and one that
 * has left the group and the session.
 */
export const CREW: readonly string[] = [
  "sh",
  "-c",
  `${BEAT}
echo "$LEASEHOLD_TERM_ID" >> "$WITNESS.terms"
beat background &
(trap "" TERM HUP INT; beat deaf) &
(sh -c 'echo "$LEASEHOLD_TERM stopped $$" >> "$WITNESS.stopped"; kill -STOP $$') &
setsid sh -c '${BEAT}; trap "" HUP; beat escaped' &
beat main`,
];

export interface Beat {
  readonly term: number;
  readonly name: string;
  /** By the machine's monotonic clock. */
  readonly monotonicMs: number;
}

/** Returns the beats in a witness's file. */
export function beatsIn(text: string): readonly Beat[] {
  // The uptime counts suspended time as well; between here and there, there was none.
  const uptimeMs = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000;
  const offsetMs = Number(process.hrtime.bigint()) / 1e6 - uptimeMs;
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [term, name, up] = line.split(" ");
      return { term: Number(term), name: name!, monotonicMs: Number(up) * 1_000 + offsetMs };
    });
}

/** How much longer than it should a command was silent between two beats, at worst, of which the later came after an instant. */
export function worstHoldUpMs(beats: readonly Beat[], afterMs: number): number {
  const silences = [...Map.groupBy(beats, ({ term, name }) => `${term} ${name}`).values()].flatMap((own) =>
    own.slice(1).map(({ monotonicMs }, index) => (monotonicMs < afterMs ? 0 : monotonicMs - own[index]!.monotonicMs)),
  );
  return Math.max(BEAT_MS, ...silences) - BEAT_MS;
}

/** For how long commands of two terms were alive at once, at worst: negative is a gap. */
export function worstOverlapMs(beats: readonly Beat[]): number {
  const terms = [...new Set(beats.map(({ term }) => term))].toSorted((one, other) => one - other);
  const overlaps = terms.slice(1).map((term, index) => {
    const before = beats.filter((beat) => beat.term === terms[index]).map(({ monotonicMs }) => monotonicMs);
    const after = beats.filter((beat) => beat.term === term).map(({ monotonicMs }) => monotonicMs);
    return Math.max(...before) - Math.min(...after);
  });
  return Math.max(-Infinity, ...overlaps);
}
