import { ConfigurationError, type Leadership } from "@leasehold/core";
import { LeadershipEndedError, onAbort, systemClock } from "@leasehold/core/provider";
import { Fleet, type FleetOptions, type Shard } from "@leasehold/fleet";
import { commandPath } from "./command-path.ts";
import { checkPlan } from "./kill-deadlines.ts";
import type { RunOptions } from "./run-options.ts";
import { StopSignals } from "./stop-signals.ts";
import { runTerm, type TermOptions } from "./term.ts";
import { exitCodeOfStop, tellHowItWent } from "./term-outcome.ts";

/** The options of `run` that describe a fleet, and this member's part in it. */
export type FleetPart = Pick<FleetOptions, "fleet" | "shards" | "atMost" | "maxShards" | "priority">;

/** A member's default for `leaseDurationMs`. */
const DEFAULT_LEASE_MS = 30_000;

/**
 * Runs a command for each shard that this member holds, side by side, and returns the exit code once it is asked to stop. A command
 * that ends with 0 gives its shard back. After any other end its shard rests, and then another member gets it.
 *
 * @throws as `run` does. {UnsupportedError} if the store cannot keep a fleet. {DrainTimeoutError} if a command outlasts its end.
 */
export async function runFleet(part: FleetPart, options: RunOptions): Promise<number> {
  const { store, candidateId, leaseDurationMs, stallTimeoutMs, graceMs, logger, inform } = options;
  const clock = systemClock;
  const fleet = new Fleet({
    ...part,
    store,
    memberId: candidateId,
    leaseDurationMs,
    stallTimeoutMs,
    drainTimeoutMs: graceMs + (leaseDurationMs ?? DEFAULT_LEASE_MS),
    logger,
  });
  checkPlan(fleet.timing);
  const path = commandPath(options.command[0]);
  using signals = new StopSignals(options.ignoresHangup);
  const { stopped } = signals;
  await using _server = await options.serve?.(undefined, stopped);
  /** The commands that run. */
  const terms = new Set<Pick<StopSignals, "passOn">>();
  // The first stop signal hands the shards over, one after the other. A second one goes to all commands.
  signals.passOn = (signal) => [...terms].map((term) => term.passOn(signal)).some(Boolean);
  const task = async (shard: Shard): Promise<void> => {
    const own: Pick<StopSignals, "passOn"> = { passOn: () => false };
    terms.add(own);
    try {
      const { leadership, resign } = resignable(shard);
      const elector = { timing: fleet.timing, resign, on: (_: "renewed", listener: () => void) => fleet.on("renewed", listener) };
      const environment = { LEASEHOLD_FLEET: fleet.fleet, LEASEHOLD_SHARD: shard.name };
      const run = { ...options, environment };
      const outcome = await runTerm(leadership, { elector: elector as TermOptions["elector"], path, signals: own, clock, run });
      const exitCode = tellHowItWent(outcome, options);
      if (outcome.overran) return await outlasted(fleet);
      if (!outcome.ended && !stopped.aborted && exitCode !== 0) throw new Error(`the command ended with exit code ${exitCode}.`);
    } finally {
      terms.delete(own);
    }
  };
  inform(`joining the fleet '${fleet.fleet}' as '${fleet.memberId}'.`);
  // A signal may have come while the server started.
  if (!stopped.aborted) await fleet.run(task, { signal: stopped });
  return exitCodeOfStop(stopped);
}

/** A process of the command is still there. The member stops, and its session is not released, because this never settles. */
async function outlasted(fleet: Fleet): Promise<never> {
  fleet.stop().catch(() => undefined);
  return await new Promise<never>(() => {});
}

/** Returns a leadership of the shard that its command can give up by itself. */
function resignable(shard: Shard): { leadership: Leadership; resign: () => Promise<void> } {
  const resigned = new AbortController();
  const reason = new LeadershipEndedError(shard.election, shard.term, "resigned", "it was resigned.");
  const publish = async (): Promise<never> => await Promise.reject(new ConfigurationError("A shard of a fleet has no value."));
  const leadership = {
    ...shard,
    signal: AbortSignal.any([shard.signal, resigned.signal]),
    ended: Promise.race([shard.ended, new Promise<Error>((resolve) => void onAbort(resigned.signal, resolve))]),
    publish,
  };
  return { leadership: leadership as unknown as Leadership, resign: async () => await Promise.resolve(resigned.abort(reason)) };
}
