import { isLeaseholdError, type Elector, type Leadership } from "@leasehold/core";
import { demoMs, type DemoEvent, type EventDetails, type EventName } from "./demo-event.ts";
import { workerSettings } from "./worker-settings.ts";

/** The time between two samples of `isValid()` in a worker. */
const SAMPLE_MS = 5;
/** The worker reports a gap of this many leases between two samples. The cause is a freeze, or a very busy machine. */
const FREEZE_LEASES = 0.5;

/** The events of a worker for the demo. This process stamps them by the clock that all processes share. */
export interface WorkerLog {
  /** Samples the leadership's validity until it is disposed of, which the task does as it settles. */
  watch(leadership: Leadership): Watch;
  /** Sends an event of a term. */
  tell<Name extends EventName>(event: Name, term: number | null, details: EventDetails[Name]): void;
  /** Returns the present time, as in the events' `at`. */
  now(): number;
  /** Ends the log, so that the process can end. */
  close(): void;
}

export interface Watch extends Disposable {
  /** Samples `isValid()` now. */
  sample(): void;
}

/** Logs the events of `elector`, and ends this process when the demo has ended. */
export function logOf(elector: Elector): WorkerLog {
  process.once("disconnect", () => process.exit());
  const { originMs, leaseDurationMs } = workerSettings();
  const tell = <Name extends EventName>(
    event: Name,
    term: number | null,
    details: EventDetails[Name],
    at = demoMs(originMs),
  ): void => {
    const said = { at, candidate: elector.candidateId, event, term, ...details } as DemoEvent;
    process.stdout.write(`${JSON.stringify(said)}\n`);
  };
  const validUntil = (leadership: Leadership): number => Math.round((demoMs(originMs) + leadership.remainingMs()) * 100) / 100;
  let watched: Leadership | undefined;

  elector.on("standby", () => tell("standby", null, {}));
  elector.on("renewed", ({ term }) => {
    if (watched?.isValid()) tell("renewed", term, { validUntil: validUntil(watched) });
  });
  elector.on("ending", ({ term, reason }) => {
    const at = demoMs(originMs);
    // The sample that noticed the end is still running, and logs its event first.
    queueMicrotask(() => tell("ending", term, { lost: isLost(reason), reason: reason.message }, at));
  });
  elector.on("stoppedLeading", ({ term, reason }) => tell("stopped-leading", term, { lost: isLost(reason) }));
  elector.on("storeFailed", ({ error }) => process.stderr.write(`${elector.candidateId}: ${String(error)}\n`));

  const watch = (leadership: Leadership): Watch => {
    const { term } = leadership;
    watched = leadership;
    let lastValid = demoMs(originMs);
    let lastSample = lastValid;
    let over = false;
    const end = (at: number): void => {
      if (over) return;
      over = true;
      tell("validity-ended", term, { lastValid }, at);
    };
    const sample = (): void => {
      // Read the time first, so that a freeze between the two lines cannot make an old answer look new.
      const at = demoMs(originMs);
      const valid = leadership.isValid();
      if (valid) {
        lastValid = at;
        // Validity must not come back. If it does, the demo must get the event.
        over = false;
      } else {
        end(at);
      }
      if (at - lastSample >= FREEZE_LEASES * leaseDurationMs) tell("thawed", term, { frozenMs: at - lastSample, valid }, at);
      lastSample = at;
    };
    // A process that was frozen since its acquisition may be too late. Then it has never led.
    if (leadership.isValid()) tell("started-leading", term, { validUntil: validUntil(leadership) }, lastValid);
    const timer = setInterval(sample, SAMPLE_MS);
    return {
      sample,
      [Symbol.dispose]: () => {
        clearInterval(timer);
        sample();
        end(demoMs(originMs));
        watched = undefined;
      },
    };
  };

  return {
    watch,
    tell,
    now: () => demoMs(originMs),
    close: () => process.disconnect(),
  };
}

function isLost(reason: Error | undefined): boolean {
  return isLeaseholdError(reason, "LEASE_LOST");
}
