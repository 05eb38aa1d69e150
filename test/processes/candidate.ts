/**
 * A candidate in a process of its own, for the tests that kill, freeze and cut off real processes. It says what happens
 * to it as lines of JSON on its standard output, and obeys the {@link Command}s of its parent. Once its elector has
 * stopped, nothing here keeps the process alive. It is an entry point: import nothing but types from here.
 */
import { subscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { Elector, isLeaseholdError, REQUEST_CHANNEL } from "@leasehold/core";
import type { ElectorEvents, ElectorOptions, Leadership, StoreRequest } from "@leasehold/core";
import { containerClient } from "../backends/fresh-container.ts";
import { GUARDED_BLOB } from "./guarded-blob.ts";
import { hostMs } from "./host-clock.ts";

/** What a candidate is told at its start. */
export interface CandidateSettings {
  /** Azurite's, or that of a proxy in front of it. */
  readonly storeUrl: string;
  readonly containerName: string;
  readonly election: string;
  readonly candidateId: string;
  readonly elector?: Pick<ElectorOptions, "onOverrun" | "drainTimeoutMs"> | undefined;
  /**
   * Whether it asks `isValid()` every few milliseconds while it leads. Asking makes a term that is over end at once, so a
   * test of the timers that end it must not. @defaultValue true
   */
  readonly asks?: boolean | undefined;
  /** What its task does once its signal aborts: settle after `drainMs`, or go on until it is told to `settle`. */
  readonly task?: { readonly drainMs: number } | "ignores-its-signal" | undefined;
  /** Whether each of its leaderships writes its name, fenced, into {@link GUARDED_BLOB}, before all else. */
  readonly guards?: boolean | undefined;
}

export type Command =
  /** Stop the elector, as SIGTERM does. */
  | { readonly kind: "stop" }
  | { readonly kind: "resign" }
  /** Block the event loop, inside the task. */
  | { readonly kind: "block"; readonly ms: number }
  /** End the task that ignores its signal. */
  | { readonly kind: "settle" }
  /** Write into {@link GUARDED_BLOB} once more, as the leadership that it had last. */
  | { readonly kind: "write" };

/** What a candidate says. Every time is by the host's clock, see {@link hostMs}. */
export type CandidateEvent =
  | { readonly event: "standby" | "startedLeading" | "stoppedLeading" | "storeFailed" | "renewFailed" | "releaseFailed" }
  | { readonly event: "callbackFailed" | "unhandled" | "runRejected"; readonly error: string }
  | { readonly event: "overrun"; readonly sinceSignalMs: number }
  /** The store has confirmed a request that extends the lease; it was sent at `sentMs`. */
  | { readonly event: "granted"; readonly operation: string; readonly sentMs: number }
  /** A look has been answered. */
  | { readonly event: "looked" }
  | { readonly event: "taskStarted" | "taskSettled"; readonly term: number; readonly valid: boolean }
  /** The first answer of `isValid()` that was true. */
  | { readonly event: "valid"; readonly term: number }
  /** The first that was false, and when the last true one had been asked for. */
  | { readonly event: "invalid"; readonly term: number; readonly lastValidMs: number }
  /** The task's signal has aborted; at `lastUnabortedMs` it was last seen not to have. */
  | { readonly event: "aborted"; readonly code: string; readonly lastUnabortedMs: number }
  /** This process did not run for a while. What it saw in its first statement after that. */
  | { readonly event: "thawed"; readonly frozenMs: number; readonly valid: boolean | undefined; readonly aborted: boolean }
  /** What the task saw in its first statement after it had blocked the event loop. */
  | { readonly event: "unblocked"; readonly valid: boolean; readonly aborted: boolean }
  /** How a fenced write ended: `ok`, or the error's code. */
  | { readonly event: "wrote"; readonly outcome: string }
  /** The elector's `run` has resolved, and this process has nothing left to do. */
  | { readonly event: "runSettled" };

const HEARTBEAT_MS = 4;
/** A heartbeat that is this late shows that the process was frozen. */
const FROZEN_MS = 5_000;
const EVENTS: ReadonlyArray<keyof ElectorEvents> = [
  "standby",
  "startedLeading",
  "stoppedLeading",
  "renewFailed",
  "releaseFailed",
  "storeFailed",
];
/** Requests whose success extends the lease. */
const GRANTS = new Set(["acquire", "renew"]);

// A parent that dies takes its candidates with it.
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

const settings = JSON.parse(process.argv[2] ?? "{}") as CandidateSettings;
const { election, candidateId, asks = true, task = { drainMs: 0 } } = settings;
const container = containerClient(settings.storeUrl, settings.containerName);
const store = new BlobLeaseStore({ container });
const elector = new Elector({ store, election, candidateId, leaseDurationMs: 15_000, ...settings.elector });
const stopping = new AbortController();
/** The last leadership of this candidate. */
let watched: Watched | undefined;
let heartbeat: NodeJS.Timeout | undefined;
let settled = Promise.withResolvers<void>();
let blocked = Promise.withResolvers<number>();

subscribe(REQUEST_CHANNEL, (message) => {
  const { operation, outcome, durationMs } = message as StoreRequest;
  if (outcome !== "ok") return;
  if (GRANTS.has(operation)) say({ event: "granted", operation, sentMs: hostMs() - durationMs });
  if (operation === "head") say({ event: "looked" });
});
for (const event of EVENTS) elector.on(event, () => say({ event } as CandidateEvent));
elector.on("overrun", ({ sinceSignalMs }) => say({ event: "overrun", sinceSignalMs }));
elector.on("callbackFailed", ({ error }) => say({ event: "callbackFailed", error: String(error) }));
process.on("unhandledRejection", (error) => say({ event: "unhandled", error: String(error) }));
process.on("SIGTERM", () => stopping.abort(new Error("SIGTERM")));
process.on("message", obey);

try {
  await elector.run(lead, { signal: stopping.signal });
  say({ event: "runSettled" });
} catch (error) {
  say({ event: "runRejected", error: String(error) });
}
clearInterval(heartbeat);
process.removeAllListeners("disconnect");
process.off("message", obey);
process.disconnect();

async function lead(leadership: Leadership): Promise<void> {
  const { signal, term } = leadership;
  watched = watch(leadership);
  heartbeat ??= startHeartbeat();
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  settled = Promise.withResolvers();
  say({ event: "taskStarted", term, valid: leadership.isValid() });
  if (settings.guards) await write(leadership);
  blocked = Promise.withResolvers();
  void blocked.promise.then((ms) => {
    for (const untilMs = hostMs() + ms; hostMs() < untilMs;);
    const valid = leadership.isValid();
    say({ event: "unblocked", valid, aborted: signal.aborted });
  });
  if (task === "ignores-its-signal") await settled.promise;
  else {
    await aborted.promise;
    await delay(task.drainMs);
  }
  say({ event: "taskSettled", term, valid: leadership.isValid() });
}

function obey(command: Command): void {
  switch (command.kind) {
    case "stop":
      return stopping.abort(new Error("told to stop"));
    case "resign":
      return void elector.resign();
    case "block":
      return blocked.resolve(command.ms);
    case "settle":
      return settled.resolve();
    case "write":
      if (watched) void write(watched.leadership);
  }
}

async function write(by: Leadership): Promise<void> {
  const blob = container.getBlobClient(GUARDED_BLOB);
  try {
    await store.fencedUpload(by, blob, candidateId);
    say({ event: "wrote", outcome: "ok" });
  } catch (error) {
    say({ event: "wrote", outcome: isLeaseholdError(error) ? error.code : String(error) });
  }
}

/**
 * Looks at the clock and at the leadership every few milliseconds, and says what has changed. Whether the signal has
 * aborted it asks only after all the timers that were due, so that a process that the system let wait is not blamed.
 */
function startHeartbeat(): NodeJS.Timeout {
  let lastBeatMs = hostMs();
  return setInterval(() => {
    // The very first thing, before any timer of the elector's has its turn: this one is due the earliest.
    const beatMs = hostMs();
    const valid = asks ? watched?.leadership.isValid() : undefined;
    const frozenMs = beatMs - lastBeatMs;
    lastBeatMs = beatMs;
    const aborted = watched?.leadership.signal.aborted ?? false;
    if (frozenMs >= FROZEN_MS) say({ event: "thawed", frozenMs, valid, aborted }, beatMs);
    if (valid === true) watched!.lastValidMs = beatMs;
    else if (valid === false && watched?.lastValidMs !== undefined) {
      say({ event: "invalid", term: watched.leadership.term, lastValidMs: watched.lastValidMs });
      watched.lastValidMs = undefined;
    }
    setImmediate(noteSignal, watched);
  }, HEARTBEAT_MS);
}

/** What the heartbeat knows of the last leadership. */
interface Watched {
  readonly leadership: Leadership;
  /** When `isValid()` was last asked for with a true answer; undefined from the first false one on. */
  lastValidMs: number | undefined;
  /** When the signal was last seen not to have aborted. */
  lastUnabortedMs: number;
}

function watch(leadership: Leadership): Watched {
  const { signal, term } = leadership;
  const nowMs = hostMs();
  const begun: Watched = { leadership, lastValidMs: nowMs, lastUnabortedMs: nowMs };
  if (asks) say({ event: "valid", term }, nowMs);
  signal.addEventListener("abort", () => {
    const { code } = signal.reason as { code?: string };
    say({ event: "aborted", code: code ?? String(signal.reason), lastUnabortedMs: begun.lastUnabortedMs });
  });
  return begun;
}

function noteSignal(seen: Watched | undefined): void {
  if (seen && !seen.leadership.signal.aborted) seen.lastUnabortedMs = hostMs();
}

function say(event: CandidateEvent, atMs: number = hostMs()): void {
  process.stdout.write(`${JSON.stringify({ atMs, ...event })}\n`);
}
