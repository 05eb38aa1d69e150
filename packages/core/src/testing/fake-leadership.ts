import type { Leadership } from "../election/leadership.ts";
import { LeadershipEndedError, LeaseLostError, type LossReason } from "../reporting/errors.ts";
import { checkOptions, defineOptions } from "../store/options.ts";

export interface FakeLeadershipOptions {
  /** The fencing token. @defaultValue 1 */
  readonly term?: number | undefined;
  /** @defaultValue 'test' */
  readonly election?: string | undefined;
  /** @defaultValue 'this-host' */
  readonly candidateId?: string | undefined;
  /** @defaultValue 'term-id-<term>' */
  readonly termId?: string | undefined;
  /** The result of `remainingMs()` until the test ends the leadership. @defaultValue 13_500 */
  readonly remainingMs?: number | undefined;
}

const OPTIONS = defineOptions<FakeLeadershipOptions>()("term election candidateId termId remainingMs");

/** A leadership for the test of a task. It lasts until the test ends it. */
export interface FakeLeadership extends Leadership {
  readonly published: readonly string[];
  /** Loses the lease: the signal aborts with a `LeaseLostError` of this reason. @param reason `expired` by default. */
  lose(reason?: LossReason): void;
  /** Ends the leadership politely, as `resign()` does: the signal aborts with a `LeadershipEndedError`. */
  resign(): void;
}

/**
 * Returns a leadership for the unit test of a task. It needs no store, no elector and no clock. It renews nothing, and it is valid
 * until the test calls `lose` or `resign`. A second call of these changes nothing.
 *
 * @example
 * ```ts
 * const leadership = fakeLeadership({ term: 7 });
 * const billing = bill(leadership);
 * leadership.lose();
 * await billing;
 * ```
 * @throws {ConfigurationError} for an unknown option.
 */
export function fakeLeadership(options: FakeLeadershipOptions = {}): FakeLeadership {
  checkOptions("fakeLeadership", options, OPTIONS);
  const { term = 1, election = "test", candidateId = "this-host", remainingMs = 13_500 } = options;
  const { termId = `term-id-${term}` } = options;
  const controller = new AbortController();
  const { signal } = controller;
  const ended = Promise.withResolvers<Error>();
  const published: string[] = [];
  const end = (error: Error): void => {
    if (signal.aborted) return;
    controller.abort(error);
    ended.resolve(error);
  };
  return {
    election,
    candidateId,
    term,
    termId,
    signal,
    ended: ended.promise,
    published,
    isValid: () => !signal.aborted,
    remainingMs: () => (signal.aborted ? 0 : remainingMs),
    assertValid: () => signal.throwIfAborted(),
    checkpoint: () => {},
    renew: async () => await Promise.resolve(signal.throwIfAborted()),
    publish: async (value) => {
      await Promise.resolve(signal.throwIfAborted());
      published.push(value);
    },
    lose: (reason = "expired") => end(new LeaseLostError(election, term, reason, "the test has ended it.")),
    resign: () => end(new LeadershipEndedError(election, term, "resigned", "the test has ended it.")),
  };
}
