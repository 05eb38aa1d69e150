import { isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import type { Admission } from "./roster.ts";

/** What was asked of the members, and what came of it. */
export interface Asked {
  /** Those whose answers count. */
  readonly kept: ReadonlyMap<string, unknown>;
  /** All that have answered. */
  readonly answers: ReadonlyMap<string, unknown>;
  readonly failures: ReadonlyMap<string, unknown>;
  /** The time that each had for each request. */
  readonly memberMs: number;
}

const FORGOTTEN = "it has forgotten what it had promised, and counts again once the others have written it anew.";

/** Says why members do not count for one election: in errors, and to what keeps their states. */
export class Absences {
  readonly #election: string;
  readonly #names: readonly string[];
  readonly #admission: Admission;

  constructor(election: string, names: readonly string[], admission: Admission) {
    this.#election = election;
    this.#names = names;
    this.#admission = admission;
  }

  /** Takes in which members count, after all were given their time. */
  report({ kept, answers, failures }: Asked): void {
    for (const name of this.#names) {
      if (answers.has(name)) this.answered(name, kept.has(name));
      else this.failed(name, failures.get(name));
    }
  }

  answered(name: string, counts: boolean): void {
    this.#admission.report(name, this.#election, counts ? undefined : this.#whyForgotten(name), false);
  }

  failed(name: string, failure: unknown): void {
    this.#admission.report(name, this.#election, whyFailed(failure), true);
  }

  /** Why a member does not count, in a sentence. */
  whyMissing({ answers, failures }: Pick<Asked, "answers" | "failures">, name: string): string {
    return answers.has(name) ? this.#whyForgotten(name) : whyFailed(failures.get(name));
  }

  /** The error of a call that too few have answered. */
  unavailable({ kept, answers, failures, memberMs }: Asked, mayHaveBeenApplied: boolean): Error {
    const [cause] = failures.values();
    if (isLeaseholdError(cause, "FOREIGN_RECORD")) return cause;
    const others = this.#names.filter((name) => !kept.has(name));
    // Where all that are missing answer, and are other stores, nobody but a person can mend it.
    const isMistake = others.every((name) => answers.has(name) && this.#admission.whyAbsent(name) !== undefined);
    const failed = isLeaseholdError(cause) && cause.code.startsWith("STORE_") ? (cause.code as StoreErrorCode) : "STORE_TIMEOUT";
    const code = isMistake ? "STORE_REJECTED" : failed;
    const told = others.map((name) => `${name}: ${this.whyMissing({ answers, failures }, name)}`);
    if (others.some((name) => !answers.has(name) && isTimeout(failures.get(name)))) {
      const has = `Each member has ${Math.round(memberMs)} ms for each request, a quarter of attemptTimeoutMs`;
      told.push(`${has}: raise that, or the lease, where they need longer.`);
    }
    const message = `No majority of ${this.#names.join(", ")} answers. ${told.join(" ")}`;
    return this.error(code, message, mayHaveBeenApplied, cause);
  }

  error(code: StoreErrorCode, message: string, mayHaveBeenApplied: boolean, cause?: unknown): StoreError {
    const details = { store: "quorum", operation: "round", election: this.#election, mayHaveBeenApplied, cause };
    return new StoreError(code, message, details);
  }

  #whyForgotten(name: string): string {
    return this.#admission.whyAbsent(name) ?? FORGOTTEN;
  }
}

/** Whether a request has not been answered in time. */
export function isTimeout(failure: unknown): boolean {
  return failure === undefined || isLeaseholdError(failure, "STORE_TIMEOUT");
}

function whyFailed(failure: unknown): string {
  if (isTimeout(failure)) return "no answer in time.";
  return isLeaseholdError(failure) ? failure.message : "it has refused.";
}
