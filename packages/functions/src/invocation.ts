import { ConfigurationError, type LeaseStore, type LeaseStoreCapabilities } from "@leasehold/core";
import { type Clock, checkName, duration, MAX_NAME_BYTES } from "@leasehold/core/provider";
import type { GateOptions } from "./options.ts";
import type { Platform } from "./platform.ts";
import { timeBudget, type Renewal, type TimeBudget, type TimeBudgetOptions } from "./time-budget.ts";

/** One invocation on its way through the gate. */
export interface Invocation<Args> {
  readonly args: Args;
  readonly election: string;
  readonly candidateId: string | undefined;
  /** The name of the request, the same at each of its deliveries. */
  readonly delivery: string | undefined;
  /** The end of the wait for the lease, the abort of the signal, and the end by the platform, all by the monotonic clock. */
  readonly waitEndMs: number;
  readonly endMs: number;
  readonly platformEndMs: number;
  readonly renewal: Renewal;
}

/** The options whose value depends on the event. */
type InvocationOptions<Args extends readonly unknown[]> = TimeBudgetOptions &
  Pick<GateOptions<Args, LeaseStore, unknown>, "election" | "delivery" | "waitMs">;

/** @throws {ConfigurationError} for options that cannot work with this event, before any request. */
export function begin<Args extends readonly unknown[]>(
  platform: Platform<Args>,
  options: InvocationOptions<Args>,
  { capabilities, clock }: { readonly capabilities: LeaseStoreCapabilities; readonly clock: Clock },
  args: Args,
): Invocation<Args> {
  const { waitMs = 0 } = options;
  const election = typeof options.election === "function" ? options.election(...args) : options.election;
  checkName("election", election);
  const remainingMs = duration("remainingMs", platform.remainingMs(...args), 0);
  const { workMs, renewal } = timeBudget(remainingMs, options, capabilities);
  if (waitMs >= workMs) {
    throw new ConfigurationError(
      `waitMs is ${waitMs}, and this invocation has ${Math.round(workMs)} ms in all: no time would be left to work in. Lower waitMs, or raise the function's timeout.`,
      { election },
    );
  }
  const nowMs = clock.monotonicMs();
  return {
    args,
    election,
    candidateId: label(platform.candidateId?.(...args)),
    delivery: deliveryName(platform, options, args),
    waitEndMs: nowMs + waitMs,
    endMs: nowMs + workMs,
    platformEndMs: nowMs + remainingMs,
    renewal,
  };
}

/** Returns the budget for the time that is left. A lease for the whole invocation would outlast a crash for too long. */
export function budgetNow(
  { platformEndMs }: Invocation<unknown>,
  options: TimeBudgetOptions,
  capabilities: LeaseStoreCapabilities,
  clock: Clock,
): TimeBudget {
  return timeBudget(platformEndMs - clock.monotonicMs(), options, capabilities);
}

function deliveryName<Args extends readonly unknown[]>(
  platform: Platform<Args>,
  { delivery }: InvocationOptions<Args>,
  args: Args,
): string | undefined {
  const name = delivery ? delivery(...args) : label(platform.delivery?.(...args));
  if (!delivery && !name) return undefined;
  checkName("delivery", name);
  return name;
}

/**
 * Returns a label that any store accepts, because the text may come from a request. Keeps the end of a long text, because ends
 * differ more than beginnings.
 */
function label(text: string | undefined): string | undefined {
  return text?.replace(/[^\x20-\x7e]/g, "?").slice(-MAX_NAME_BYTES);
}
