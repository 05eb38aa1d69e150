/**
 * A candidate in a process of its own, for tests that kill, freeze and cut off real processes. It prints its events as lines of
 * JSON on its standard output, and obeys the {@link Command}s of its parent. Once its elector has stopped, nothing here keeps the
 * process alive. It is an entry point: import only types from here.
 */
import { Elector, isLeaseholdError } from "@leasehold/core";
import type { ElectorEvents, ElectorOptions, Leadership, LeaseStore } from "@leasehold/core";
import type { Instant, Place } from "@leasehold/core/provider";
import { openStore } from "../stores/stores.ts";
import type { StoreSettings } from "../stores/test-store.ts";
import { keepRegister, type RegisterEvent, type RegisterHabits } from "./keep-register.ts";
import { byHostClock, hostMs } from "../clocks/host-clock.ts";

/** The settings of a candidate at its start. */
export interface CandidateSettings {
  readonly store: StoreSettings;
  /** The election, and also the name of the document that its leaders guard. */
  readonly election: string;
  readonly candidateId: string;
  readonly elector: CandidateTiming & Pick<ElectorOptions, "onOverrun" | "drainTimeoutMs">;
  /**
   * Makes it call `isValid()` every few milliseconds while it leads. The call itself ends a term that is over. So a test of the
   * timers that end a term must not use it.
   * @defaultValue true
   */
  readonly asks?: boolean | undefined;
  /** If set, its task never settles. */
  readonly task?: "ignores-its-signal" | undefined;
  /** Each of its leaderships first writes its name into the guarded document. */
  readonly guards?: boolean | undefined;
  /** If set, its task keeps a register in the guarded document, in place of the task that is described above. */
  readonly register?: RegisterHabits | undefined;
}

export interface CandidateTiming {
  readonly leaseDurationMs: number;
  readonly retryPeriodMs?: number | undefined;
}

export type Command =
  /** Stop the elector, as SIGTERM does. */
  | { readonly kind: "stop" }
  | { readonly kind: "resign" }
  /** Block the event loop, as a task might do. */
  | { readonly kind: "block"; readonly ms: number }
  /**
   * Inside the task, print `about-to-write` and block for at most `ms`, so that the parent can freeze this process. The very next
   * statement writes into the guarded document.
   */
  | { readonly kind: "freeze-before-write"; readonly ms: number };

/** The lines that a candidate prints. Every time is by the host's clock, see {@link hostMs}. */
export type CandidateEvent =
  /** The process has connected, and is about to compete. */
  | { readonly event: "ready" }
  | {
      readonly event: "standby" | "startedLeading" | "renewed" | "storeFailed" | "renewFailed" | "releaseFailed";
    }
  | { readonly event: "listenerFailed" | "unhandled" | "runRejected"; readonly error: string }
  | { readonly event: "overrun"; readonly sinceSignalMs: number }
  /** The term is over. `released`: the store has confirmed the release. */
  | { readonly event: "stoppedLeading"; readonly term: number; readonly released: boolean }
  /** The store has confirmed a call that extends the lease, which counts from `sentMs`. */
  | { readonly event: "granted"; readonly by: "acquire" | "renew"; readonly sentMs: number }
  /** A poll was answered. */
  | { readonly event: "looked" }
  | { readonly event: "taskStarted" | "taskSettled"; readonly term: number; readonly valid: boolean }
  /** The first call of `isValid()` that returned true. */
  | { readonly event: "valid"; readonly term: number }
  /** The first call that returned false, and the time of the last call that returned true. */
  | { readonly event: "invalid"; readonly term: number; readonly lastValidMs: number }
  /** The task's signal has aborted. At `lastUnabortedMs` it had not. */
  | { readonly event: "aborted"; readonly term: number; readonly code: string; readonly lastUnabortedMs: number }
  /** This process did not run for `frozenMs`. The other facts are those of its first statement after that. */
  | { readonly event: "thawed"; readonly frozenMs: number; readonly valid: boolean | undefined; readonly aborted: boolean }
  /** The validity in the first statement after the event loop had been blocked; `false` without a leadership. */
  | { readonly event: "unblocked"; readonly valid: boolean; readonly aborted: boolean }
  /** The process blocks; its very next statement is the write. */
  | { readonly event: "about-to-write" }
  /** The outcome of a guarded write: `ok`, `refused` by the service, or the error. `valid`: its leadership was valid then. */
  | { readonly event: "wrote"; readonly outcome: string; readonly valid: boolean }
  | RegisterEvent
  /** The elector's `run` has resolved, and this process has nothing left to do. */
  | { readonly event: "runSettled" };

const HEARTBEAT_MS = 4;
/** A heartbeat that is late by this many leases shows that the process was frozen. */
const FROZEN_LEASES = 0.4;
const EVENTS: ReadonlyArray<keyof ElectorEvents> = [
  "standby",
  "startedLeading",
  "renewed",
  "renewFailed",
  "releaseFailed",
  "storeFailed",
];

// A parent that dies takes its candidates with it.
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

const settings = JSON.parse(process.argv[2] ?? "{}") as CandidateSettings;
const { election, candidateId, asks = true, task } = settings;
const { store, document, isRefusal, close } = await openStore(settings.store);
const guarded = document(election);
// Some SDKs load themselves at the first request, for longer than an attempt may take with a short lease. So this read comes
// first.
await guarded.read().catch(() => undefined);
tellOf(store);
const elector = new Elector({ store, election, candidateId, ...settings.elector });
const stopping = new AbortController();
/** The last leadership of this candidate. */
let watched: Watched | undefined;
let heartbeat: NodeJS.Timeout | undefined;
let lastBeatMs = hostMs();
let frozen = Promise.withResolvers<number>();

for (const event of EVENTS) elector.on(event, () => say({ event } as CandidateEvent));
elector.on("stoppedLeading", ({ term, released }) => say({ event: "stoppedLeading", term, released }));
elector.on("overrun", ({ sinceSignalMs }) => say({ event: "overrun", sinceSignalMs }));
elector.on("listenerFailed", ({ error }) => say({ event: "listenerFailed", error: String(error) }));
process.on("unhandledRejection", (error) => say({ event: "unhandled", error: String(error) }));
process.on("SIGTERM", () => stopping.abort(new Error("SIGTERM")));
process.on("message", obey);

say({ event: "ready" });
try {
  await elector.run(lead, { signal: stopping.signal });
  say({ event: "runSettled" });
} catch (error) {
  say({ event: "runRejected", error: String(error) });
}
clearInterval(heartbeat);
// Records the end of the last term, which has ended since the last heartbeat.
beat();
await close();
process.removeAllListeners("disconnect");
process.off("message", obey);
process.disconnect();

async function lead(leadership: Leadership): Promise<void> {
  const { signal, term } = leadership;
  watched = watch(leadership);
  heartbeat ??= startHeartbeat();
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  say({ event: "taskStarted", term, valid: leadership.isValid() });
  if (settings.guards) await write(leadership);
  frozen = Promise.withResolvers();
  void frozen.promise.then(async (ms) => {
    say({ event: "about-to-write" });
    standStill(ms);
    await write(leadership);
  });
  if (settings.register) await keepRegister({ leadership, register: guarded, isRefusal, habits: settings.register, say });
  else if (task === "ignores-its-signal") await new Promise(() => undefined);
  else await aborted.promise;
  say({ event: "taskSettled", term, valid: leadership.isValid() });
}

function obey(command: Command): void {
  switch (command.kind) {
    case "stop":
      return stopping.abort(new Error("told to stop"));
    case "resign":
      return void elector.resign();
    case "block":
      return block(command.ms);
    case "freeze-before-write":
      return frozen.resolve(command.ms);
  }
}

function block(ms: number): void {
  standStill(ms);
  const { leadership } = watched ?? {};
  const valid = leadership?.isValid() ?? false;
  say({ event: "unblocked", valid, aborted: leadership?.signal.aborted ?? false });
}

/** Blocks this process without use of the processor. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Writes without a check before it. */
async function write(by: Leadership): Promise<void> {
  let outcome = "ok";
  try {
    await guarded.write(by, candidateId);
  } catch (error) {
    outcome = isRefusal(error) ? "refused" : isLeaseholdError(error) ? error.code : String(error);
  }
  say({ event: "wrote", outcome, valid: by.isValid() });
}

/**
 * Reads the clock and the leadership every few milliseconds, and prints what has changed. It reads the signal only after all
 * timers that were due at the last heartbeat have run. So a stall of this process does not make a timer look late.
 */
function startHeartbeat(): NodeJS.Timeout {
  lastBeatMs = hostMs();
  return setInterval(beat, HEARTBEAT_MS);
}

function beat(): void {
  // The first statement, before any timer of the elector runs, because the heartbeat's timer is due first.
  const beatMs = hostMs();
  const valid = asks ? watched?.leadership.isValid() : undefined;
  const beforeMs = lastBeatMs;
  const frozenMs = beatMs - beforeMs;
  lastBeatMs = beatMs;
  const aborted = watched?.leadership.signal.aborted ?? false;
  if (frozenMs >= FROZEN_LEASES * settings.elector.leaseDurationMs) say({ event: "thawed", frozenMs, valid, aborted }, beatMs);
  if (valid === true) watched!.lastValidMs = beatMs;
  else if (valid === false && watched?.lastValidMs !== undefined) {
    say({ event: "invalid", term: watched.leadership.term, lastValidMs: watched.lastValidMs });
    watched.lastValidMs = undefined;
  }
  // The event loop read its time after the previous heartbeat. After a stall, the time that it read may be earlier than `beatMs`.
  setImmediate(noteSignal, watched, beforeMs);
}

/** The last leadership, as the heartbeat has observed it. */
interface Watched {
  readonly leadership: Leadership;
  /** The time of the last call of `isValid()` that returned true; undefined after the first one that returned false. */
  lastValidMs: number | undefined;
  /** The last time at which the signal had not aborted. */
  lastUnabortedMs: number;
}

function watch(leadership: Leadership): Watched {
  const { signal, term } = leadership;
  const nowMs = hostMs();
  // The process may have been frozen since it won.
  const valid = asks && leadership.isValid();
  const begun: Watched = { leadership, lastValidMs: valid ? nowMs : undefined, lastUnabortedMs: nowMs };
  if (valid) say({ event: "valid", term }, nowMs);
  signal.addEventListener("abort", () => {
    const { code } = signal.reason as { code?: string };
    say({ event: "aborted", term, code: code ?? String(signal.reason), lastUnabortedMs: begun.lastUnabortedMs });
  });
  return begun;
}

/** @param atMs all timers that were due at this time have run */
function noteSignal(seen: Watched | undefined, atMs: number): void {
  if (seen && !seen.leadership.signal.aborted) seen.lastUnabortedMs = Math.max(seen.lastUnabortedMs, atMs);
}

/** Makes the store print its polls, and the calls that extend the lease. */
function tellOf(given: LeaseStore): void {
  const [read, acquire, renew] = [given.read.bind(given), given.acquire.bind(given), given.renew.bind(given)];
  given.read = async (...of) => {
    const seen = await read(...of);
    say({ event: "looked" });
    return seen;
  };
  given.acquire = async (request) => {
    const outcome = await acquire(request);
    if (outcome.acquired) sayGranted("acquire", outcome.lease.grantedAt);
    return outcome;
  };
  const join = given.join?.bind(given);
  if (join) given.join = (...of) => tellingOf(join(...of));
  given.renew = async (...of) => {
    const outcome = await renew(...of);
    if (outcome.held && outcome.extendedAt) sayGranted("renew", outcome.extendedAt);
    return outcome;
  };
}

/** Each turn of a place counts as an answered poll. */
function tellingOf(place: Place): Place {
  return {
    async *turns() {
      for await (const snapshot of place.turns()) {
        say({ event: "looked" });
        yield snapshot;
      }
    },
    async acquire() {
      const outcome = await place.acquire();
      if (outcome.acquired) sayGranted("acquire", outcome.lease.grantedAt);
      return outcome;
    },
    leave: (limits) => place.leave(limits),
  };
}

function sayGranted(by: "acquire" | "renew", { monotonicMs }: Instant): void {
  say({ event: "granted", by, sentMs: byHostClock(monotonicMs) });
}

function say(event: CandidateEvent, atMs: number = hostMs()): void {
  process.stdout.write(`${JSON.stringify({ atMs, ...event })}\n`);
}
