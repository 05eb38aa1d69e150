/**
 * A candidate in a process of its own. It asks its library every few milliseconds whether it leads, and prints each change to its
 * standard output. It obeys the {@link Command}s of its parent. It is an entry point: import nothing but types from here.
 */
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { CandidateRequests } from "./contender.ts";
import { contenderOf, type ContenderName } from "./contenders.ts";

export interface CandidateSettings {
  readonly contender: ContenderName;
  readonly host: string;
  readonly election: string;
  readonly leaseDurationMs: number;
}

export type Command =
  /** Stops like a process that is told to end. The line `stopped` says that the library has stopped. */
  | { readonly kind: "stop" }
  /** Competes again. */
  | { readonly kind: "campaign" }
  /** Blocks the event loop, like a task that asks before each of its steps whether it leads. */
  | { readonly kind: "block"; readonly ms: number };

/** A line of its output. Every time is by the host's clock. */
export type CandidateLine =
  | { readonly event: "ready" | "stopped"; readonly atMs: number }
  /** The library says from now on that it leads. */
  | { readonly event: "leads"; readonly atMs: number }
  /** The library no longer says so. `lastMs` is the last time that it did. */
  | { readonly event: "leads-no-more"; readonly atMs: number; readonly lastMs: number }
  /** The process did not run for a while, and led before. `leads` is the library's first answer after that. */
  | { readonly event: "thawed"; readonly lastMs: number; readonly atMs: number; readonly leads: boolean };

const LOOK_MS = 5;
/** If the time between two questions is longer than this, the process did not run. */
const FROZEN_MS = 1_000;

// If the parent dies, its candidates end too.
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

const { contender, host, election, leaseDurationMs } = JSON.parse(process.argv[2] ?? "{}") as CandidateSettings;
const adapter = await contenderOf(contender).load();
const competitor = await adapter.connect(host, leaseDurationMs);
let candidacy: CandidateRequests | undefined;
/** The last time at which it led. */
let lastMs: number | undefined;

process.on("message", (command: Command) => void obey(command));
say({ event: "ready", atMs: hostMs() });
setInterval(look, LOOK_MS);

async function obey(command: Command): Promise<void> {
  switch (command.kind) {
    case "stop":
      await candidacy?.stop();
      look();
      return say({ event: "stopped", atMs: hostMs() });
    case "campaign":
      candidacy = competitor.campaign(election, look);
      return;
    case "block":
      for (const untilMs = hostMs() + command.ms; hostMs() < untilMs;) {
        look();
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
      }
  }
}

function look(): void {
  const leads = candidacy?.leads() ?? false;
  const atMs = hostMs();
  if (lastMs === undefined) {
    if (leads) say({ event: "leads", atMs });
  } else if (atMs - lastMs > FROZEN_MS) say({ event: "thawed", lastMs, atMs, leads });
  else if (!leads) say({ event: "leads-no-more", atMs, lastMs });
  lastMs = leads ? atMs : undefined;
}

function say(line: CandidateLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
