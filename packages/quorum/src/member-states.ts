import type { Clock, StoreMember, Journal } from "@leasehold/core/provider";
import type { Member } from "./member.ts";

/** The most elections for which the reason of one member's absence is kept. */
const MOST_ELECTIONS = 100;

interface State {
  readonly member: Member;
  /**
   * The reason why the member does not answer, as a sentence; `undefined` once it answers. The reason applies to every
   * election.
   */
  silence: string | undefined;
  /** Why the member does not count although it answers: one sentence for each such election. */
  readonly missing: Map<string, string>;
  sinceMs: number;
  isTold: boolean;
}

/** The members that count, as far as this process knows, and what the other members wait for. */
export class MemberStates {
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #states: ReadonlyMap<string, State>;

  constructor(members: readonly Member[], clock: Clock, journal: Journal) {
    this.#clock = clock;
    this.#journal = journal;
    const sinceMs = clock.monotonicMs();
    const state = (member: Member): State => ({ member, silence: undefined, missing: new Map(), sinceMs, isTold: false });
    this.#states = new Map(members.map((member) => [member.name, state(member)]));
  }

  /** Returns each member, in the order of their names. */
  all(): readonly StoreMember[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#states].map(([name, state]) => {
      const { member, sinceMs } = state;
      const why = whyMissing(state);
      return { name, store: member.records.name, counts: why === undefined, forMs: nowMs - sinceMs, waitsFor: why };
    });
  }

  /** Records that a member has answered, and that it counts for an election. */
  counts(name: string, election: string): void {
    const state = this.#states.get(name) as State;
    if (whyMissing(state) === undefined) return;
    state.silence = undefined;
    state.missing.delete(election);
    if (state.missing.size > 0) return;
    if (state.isTold) {
      const forS = ((this.#clock.monotonicMs() - state.sinceMs) / 1_000).toFixed(1);
      const message = `The quorum's member ${state.member.place} counts again, after ${forS} s.`;
      this.#journal.warn("LEASEHOLD_MEMBER_RECOVERED", "info", message, { store: state.member.place });
    }
    state.sinceMs = this.#clock.monotonicMs();
    state.isTold = false;
  }

  /**
   * Records that a member does not count for an election.
   * @param isSilent true if it does not answer. {@link Member} itself warns of a silent member.
   */
  lacks(name: string, election: string, why: string, isSilent: boolean): void {
    const state = this.#states.get(name) as State;
    const { missing, member } = state;
    if (whyMissing(state) === undefined) state.sinceMs = this.#clock.monotonicMs();
    state.silence = isSilent ? why : undefined;
    if (isSilent) return;
    if (missing.has(election) || missing.size < MOST_ELECTIONS) missing.set(election, why);
    if (state.isTold) return;
    state.isTold = true;
    const message = `The quorum's member ${member.place} does not count: ${why} The others go on as long as they are a majority.`;
    this.#journal.warn("LEASEHOLD_MEMBER_FAILED", "warn", message, { store: member.place });
  }
}

function whyMissing({ silence, missing }: State): string | undefined {
  return silence ?? [...missing.values()][0];
}
