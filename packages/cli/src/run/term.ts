import type { Clock } from "@leasehold/core/provider";
import type { Elector, Leadership } from "@leasehold/core";
import { isInBackground } from "./background.ts";
import type { Program } from "./child.ts";
import { serveLeadership } from "./local-api.ts";
import { describePlan, type PlanTiming } from "./kill-deadlines.ts";
import type { RunOptions } from "./run-options.ts";
import type { StopSignals } from "./stop-signals.ts";
import { supervise } from "./supervision.ts";
import type { TermOutcome } from "./term-outcome.ts";

export interface TermOptions {
  readonly elector: Pick<Elector, "on" | "resign" | "timing">;
  readonly path: string;
  readonly signals: Pick<StopSignals, "passOn">;
  readonly clock: Clock;
  readonly run: Pick<RunOptions, "command" | "environment" | "graceMs" | "inform" | "inheritSecrets" | "lossSignal" | "tell">;
}

/** Runs CMD for one term, which CMD's environment describes. Does not release the lease. */
export async function runTerm(leadership: Leadership, options: TermOptions): Promise<TermOutcome> {
  const { elector, path, signals, clock, run } = options;
  const { command, graceMs, inform, lossSignal, tell } = run;
  const resign = (): void => void elector.resign();
  const api = await serveLeadership(leadership, resign).catch((error: unknown) => error as Error);
  if (api instanceof Error) return { exit: undefined, ended: api, overran: false };
  await using _closed = api;
  const { leaseDurationMs, renewDeadlineMs, validForMs } = elector.timing;
  const timing: PlanTiming = { leaseDurationMs, renewDeadlineMs, validForMs, graceMs };
  const { election, term } = leadership;
  inform(`leading '${election}' in term ${term}, running ${command[0]}; ${describePlan(timing, lossSignal)}.`);
  const own = { ...run.environment, LEASEHOLD_URL: api.url, LEASEHOLD_TOKEN: api.token };
  const inherited = run.inheritSecrets ? process.env : withoutSecrets(process.env);
  const env = { ...inherited, ...environmentOf(leadership, process.env), ...own };
  const program: Program = { path, command, env, hasInput: run.environment === undefined && !isInBackground() };
  const onRenewed = (listener: () => void): (() => void) => elector.on("renewed", listener);
  return await supervise({ leadership, timing, program, lossSignal, signals, clock, onRenewed, resign, tell });
}

/** Returns an environment without the store's URL, the voting secret and the HTTP token. The command does not need these. */
export function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LEASEHOLD_STORE: _store, LEASEHOLD_VOTING_SECRET: _secret, LEASEHOLD_TOKEN: _token, ...rest } = env;
  return rest;
}

/**
 * Returns the variables that describe the term to the command. If this wrapper runs inside the command of another wrapper, its
 * command belongs to the outer term as well. The outer wrapper finds it by the ids of the outer terms.
 */
export function environmentOf(leadership: Leadership, outer: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { election, term, termId, candidateId } = leadership;
  const { LEASEHOLD_TERM_ID: outerId, LEASEHOLD_OUTER_TERM_IDS: outerIds } = outer;
  const ids = [outerId, outerIds].filter((id) => id !== undefined && id !== "");
  return {
    LEASEHOLD_ELECTION: election,
    LEASEHOLD_TERM: String(term),
    LEASEHOLD_TERM_ID: termId,
    LEASEHOLD_CANDIDATE_ID: candidateId,
    ...(ids.length > 0 ? { LEASEHOLD_OUTER_TERM_IDS: ids.join(",") } : {}),
  };
}
