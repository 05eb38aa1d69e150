import { isLeaseholdError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { highest, type Ballot } from "./ballot.ts";
import type { CallLimits } from "./call-limits.ts";
import type { MemberState } from "./member-state.ts";
import { MemberSession } from "./member-session.ts";
import type { Member, MemberWrite } from "./member.ts";
import type { MembershipRules } from "./roster.ts";

/** The failure of a write whose condition did not hold. */
export const REFUSED: Error = new Error("Somebody else has written there.");
/** The failure for a member to which a write was not sent, because of the member's state. */
export const PASSED_OVER: Error = new Error("It keeps what this write may not replace.");

/**
 * Sends one election's requests to the members, and judges which answers count. Also keeps the highest known promise of each
 * member.
 */
export class MemberRequests {
  readonly sessions: ReadonlyMap<string, MemberSession>;
  readonly #election: string;
  readonly #clock: Clock;
  readonly #admission: MembershipRules;

  constructor(election: string, members: readonly Member[], clock: Clock, admission: MembershipRules) {
    this.#election = election;
    this.#clock = clock;
    this.#admission = admission;
    this.sessions = new Map(members.map((member) => [member.name, new MemberSession(member, clock)]));
  }

  get names(): readonly string[] {
    return [...this.sessions.keys()];
  }

  all<T>(request: (session: MemberSession) => Promise<T>, names: readonly string[] = this.names): Map<string, Promise<T>> {
    return new Map(names.map((name) => [name, request(this.sessions.get(name) as MemberSession)]));
  }

  /** Reads these members, each after its earlier requests. */
  read(names: readonly string[], consistent: boolean, limits: CallLimits): Map<string, Promise<MemberState>> {
    return this.all(
      (session) => this.send(session, limits, (timeoutMs) => this.get(session, consistent, limits, timeoutMs)),
      names,
    );
  }

  /** Reads a member within `timeoutMs`. Does not wait for its earlier requests. */
  async get(session: MemberSession, consistent: boolean, { signal }: CallLimits, timeoutMs: number): Promise<MemberState> {
    const { member } = session;
    const kept = member.get(this.#election, consistent, { timeoutMs, signal }).then((shown) => {
      session.observe(shown);
      return shown;
    });
    return await this.#admission.meet(member.name, kept, { timeoutMs, signal });
  }

  /** Replaces a member's state. @throws {@link REFUSED} if the member keeps something other than `present`. */
  async write(session: MemberSession, write: MemberWrite, limits: CallLimits): Promise<MemberState> {
    const { signal } = limits;
    const kept = await this.send(session, limits, (timeoutMs) =>
      session.member.put(this.#election, write, { timeoutMs, signal }),
    );
    if (!kept) throw REFUSED;
    this.#learn(session.member.name, kept);
    return kept;
  }

  async send<T>(
    session: MemberSession,
    { signal, untilMs, memberMs }: CallLimits,
    request: (timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    return await session.send(this.#election, Math.min(untilMs, this.#clock.monotonicMs() + memberMs), request);
  }

  /** Returns the answers that count: they come from the quorum's own stores, and show no forgotten promise. */
  counting(answers: ReadonlyMap<string, MemberState>): ReadonlyMap<string, MemberState> {
    for (const [name, kept] of answers) this.#learn(name, kept);
    const remembering = [...answers].filter(([name, kept]) => this.sessions.get(name)?.isBehind(kept) === false);
    return this.#admission.counting(new Map(remembering), answers, false);
  }

  /** The states that the last round wrote to the members, if a reply has confirmed the write. */
  own(): ReadonlyMap<string, MemberState> {
    return new Map([...this.sessions].flatMap(([name, { own }]) => (own ? [[name, own] as const] : [])));
  }

  /** The highest promise that each member is known to have made. */
  known(): Readonly<Record<string, Ballot>> {
    return Object.fromEntries([...this.sessions].flatMap(([name, { known }]) => (known ? [[name, known] as const] : [])));
  }

  /** A round above every promise of these states, and above every promise that any member is known to have made. */
  roundAbove(kept: ReadonlyMap<string, MemberState>, lastRound: number): number {
    const top = highest([...[...kept.values()].map(({ promised }) => promised), ...Object.values(this.known())]);
    return Math.max(top?.round ?? 0, lastRound) + 1;
  }

  #learn(name: string, { promised, seen }: MemberState): void {
    this.sessions.get(name)?.learn(promised);
    for (const [other, ballot] of Object.entries(seen)) this.sessions.get(other)?.learn(ballot);
  }
}

/** Reports whether a member has refused a write, or was not sent one because of its state. */
export function isRefusal(failure: unknown): boolean {
  return failure === REFUSED || failure === PASSED_OVER;
}

/** Returns the highest number of a roster that the members have shown. */
export function newestRoster(answers: ReadonlyMap<string, MemberState>): number {
  return Math.max(0, ...[...answers.values()].map(({ roster }) => roster));
}

/**
 * Throws the error of a wrong list of members. Two lists would each have their own majority, so this is not the failure of one
 * member.
 */
export function refuseOthers(failures: ReadonlyMap<string, unknown>): void {
  for (const failure of failures.values()) if (isLeaseholdError(failure, "CONFIGURATION")) throw failure;
}
