import { isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import { isStoreError } from "@leasehold/core/provider";
import type { MemberState } from "./member-state.ts";
import type { MembershipRules } from "./roster.ts";

/** The members' answers to one kind of request. */
export interface Asked {
  /** The answers that count. */
  readonly kept: ReadonlyMap<string, unknown>;
  /** All answers, also those that do not count. */
  readonly answers: ReadonlyMap<string, MemberState>;
  readonly failures: ReadonlyMap<string, unknown>;
  /** The time that each member had for each request, in milliseconds. */
  readonly memberMs: number;
}

const FORGOTTEN = "it has forgotten what it had promised, and counts again once the others have written it anew.";

/** Finds out why members do not count for one election. The reasons go into errors, and to {@link MembershipRules.report}. */
export class Absences {
  readonly #election: string;
  readonly #names: readonly string[];
  readonly #admission: MembershipRules;

  constructor(election: string, names: readonly string[], admission: MembershipRules) {
    this.#election = election;
    this.#names = names;
    this.#admission = admission;
  }

  /** Reports which members count, after all members were given their time. */
  report({ kept, answers, failures }: Asked): void {
    for (const name of this.#names) {
      const answer = answers.get(name);
      if (answer) this.answered(name, kept.has(name) ? undefined : answer);
      else this.failed(name, failures.get(name));
    }
  }

  /** Reports that a member has answered. @param ignored the member's state, if it does not count. */
  answered(name: string, ignored?: MemberState): void {
    this.#admission.report(name, this.#election, ignored && this.#whyIgnored(name, ignored), false);
  }

  failed(name: string, failure: unknown): void {
    this.#admission.report(name, this.#election, whyFailed(failure), true);
  }

  /** Returns why a member does not count, as a sentence. */
  whyMissing({ answers, failures }: Pick<Asked, "answers" | "failures">, name: string): string {
    const answer = answers.get(name);
    return answer ? this.#whyIgnored(name, answer) : whyFailed(failures.get(name));
  }

  /** Returns the error of a call that too few members have answered. */
  unavailable({ kept, answers, failures, memberMs }: Asked): Error {
    const [cause] = failures.values();
    if (isLeaseholdError(cause, "FOREIGN_RECORD")) return cause;
    const others = this.#names.filter((name) => !kept.has(name));
    // If every missing member answers, and only its store is the reason, a retry does not help: a person has to act.
    const isMistake = others.every((name) => answers.has(name) && this.#admission.whyAbsent(name) !== undefined);
    const failed = isStoreError(cause) ? cause.code : "STORE_TIMEOUT";
    const code = isMistake ? "STORE_REJECTED" : failed;
    const told = others.map((name) => `${name}: ${this.whyMissing({ answers, failures }, name)}`);
    if (others.some((name) => !answers.has(name) && isTimeout(failures.get(name)))) {
      const has = `Each member has ${Math.round(memberMs)} ms for each request, a quarter of attemptTimeoutMs`;
      told.push(`${has}: raise that, or the lease, where they need longer.`);
    }
    const message = `No majority of ${this.#names.join(", ")} answers. ${told.join(" ")}`;
    return this.error(code, message, false, cause);
  }

  error(code: StoreErrorCode, message: string, mayHaveBeenApplied: boolean, cause?: unknown): StoreError {
    const details = { store: "quorum", operation: "round", election: this.#election, mayHaveBeenApplied, cause };
    return new StoreError(code, message, details);
  }

  #whyIgnored(name: string, answer: MemberState): string {
    return this.#admission.whyAbsent(name, answer) ?? FORGOTTEN;
  }
}

/** Reports whether a request was not answered in time. `undefined` stands for a request that has not settled. */
export function isTimeout(failure: unknown): boolean {
  return failure === undefined || isLeaseholdError(failure, "STORE_TIMEOUT");
}

function whyFailed(failure: unknown): string {
  if (isTimeout(failure)) return "no answer in time.";
  return isLeaseholdError(failure) ? failure.message : "it has refused.";
}
