import { UnsupportedError, type LeaseSnapshot, type ListedElection } from "@leasehold/core";
import {
  type BreakOptions,
  type BreakOutcome,
  type CheckOptions,
  type CheckReport,
  type ListOptions,
  type ReadOptions,
  type RepairOptions,
  type RepairOutcome,
  type TransferOptions,
  type TransferOutcome,
  cannotPause,
  checkList,
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
  timedCheck,
  type Administration,
  type Clock,
} from "@leasehold/core/provider";
import { administrationOf } from "./administration.ts";
import { NAME } from "./capabilities.ts";
import type { StateReply, VoterReply } from "./messages.ts";
import { poll, unanswered, type Electorate } from "./poll.ts";

/** The calls that are the same for a server and for an observer. */
export abstract class AdministeredStore {
  readonly name: string = NAME;
  readonly clock: Clock;
  readonly #electorate: Electorate;
  readonly #administration: Administration;
  readonly #proveRights: (election: string, timeoutMs: number) => Promise<void>;

  /** @param proveRights rejects unless this process has the right to write. */
  constructor(electorate: Electorate, proveRights: (election: string, timeoutMs: number) => Promise<void>) {
    this.clock = electorate.clock;
    this.#electorate = electorate;
    this.#proveRights = proveRights;
    this.#administration = administrationOf(electorate);
  }

  abstract read(election: string, options?: ReadOptions): Promise<LeaseSnapshot | undefined>;

  /** Lists the elections that a majority of the servers knows, and reads each. One in which no majority takes part is unknown. */
  list(prefix: string = "", options: ListOptions = {}): AsyncIterable<ListedElection> {
    checkList(prefix, options);
    return this.#list(prefix, { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal });
  }

  async check({ election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal }: CheckOptions): Promise<CheckReport> {
    const look = (): Promise<unknown> => this.read(election, { timeoutMs, signal });
    return await timedCheck(this.clock, look, () => this.#proveRights(election, timeoutMs));
  }

  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    return await this.#administration.break(election, options);
  }

  async transfer(election: string, candidateId: string, options?: TransferOptions): Promise<TransferOutcome> {
    return await this.#administration.transfer(election, candidateId, options);
  }

  /** @throws {UnsupportedError} always: the servers raise terms by themselves. */
  async repair(election: string, _options?: RepairOptions): Promise<RepairOutcome> {
    checkName("election", election);
    throw new UnsupportedError(
      "Servers that vote raise terms by themselves: no administrator sets them. Start the candidates with a minTerm above every term that a fenced resource has seen.",
      { election },
    );
  }

  /** @throws {UnsupportedError} always: this store keeps no pause. */
  async pause(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }

  /** @throws {UnsupportedError} always: this store keeps no pause. */
  async resume(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }

  /**
   * A leader has the votes of a majority, so every majority has the election's name. A server drops elections that are over when
   * there are too many. All names are in memory meanwhile.
   */
  async *#list(
    prefix: string,
    limits: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
  ): AsyncGenerator<ListedElection> {
    // The election is the prefix, for messages.
    const request = { kind: "TELL", election: prefix } as const;
    const { majority } = this.#electorate;
    // A server that takes part in all elections may answer after one that does not.
    const graceMs = limits.timeoutMs / 5;
    const result = await poll(this.#electorate, { ...limits, graceMs, request, isAnswer: isKnowing, isYes: takesPartInAll });
    const answers = [...result.answers.values()];
    if (answers.length < majority) throw unanswered(prefix, "TELL", result, false);
    const latest = new Map<string, number>();
    for (const { terms } of answers) {
      for (const [election, term] of Object.entries(terms)) latest.set(election, Math.max(term, latest.get(election) ?? term));
    }
    for (const [election, term] of latest) {
      if (!election.startsWith(prefix)) continue;
      limits.signal?.throwIfAborted();
      const counting = answers.filter((answer) => takesPartInAll(answer) || answer.takesPartIn?.includes(election));
      // After a start, a server knows an election by its latest term until it hears a leader.
      const read = counting.length < majority ? undefined : await this.read(election, limits);
      yield read ?? { election, state: "unknown", term };
    }
  }
}

/** Reports whether an answer counts. A server that takes no part in any election may lack all that it has acknowledged. */
function isKnowing(answer: VoterReply): answer is StateReply {
  return answer.kind === "TELL" && !answer.forgot && (takesPartInAll(answer) || (answer.takesPartIn ?? []).length > 0);
}

function takesPartInAll({ takesPart }: StateReply): boolean {
  return takesPart !== false;
}
