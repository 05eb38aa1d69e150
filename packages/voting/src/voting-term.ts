import { instantOf, type Instant } from "@leasehold/core/provider";
import type { Acknowledgement, Broken, TransferOrder, Lead } from "./messages.ts";
import { isAnswerOf, poll, pollToKeep, type PollResult } from "./poll.ts";
import type { Server } from "./server.ts";

/** The fields that are the same in all LEADs of one term. */
export type TermHeader = Omit<Lead, "kind" | "number" | "value">;

/** The number of LEADs whose send times are kept. An acknowledgement of an older one would extend nothing. */
const REMEMBERED = 32;

/** One term that a majority has voted for: its LEADs, and the instant from which its lease counts. */
export class VotingTerm {
  readonly title: TermHeader;
  value: string | undefined;
  /** No LEAD of this term is sent any more. */
  isOver = false;
  /** The last transfer order that any server has reported. One report is enough, because only an administrator gives orders. */
  transfer: TransferOrder | undefined;
  readonly #server: Server;
  readonly #sent = new Map<number, Instant>();
  /** The highest LEAD number that each server has acknowledged. */
  readonly #taken = new Map<string, number>();
  /** The servers that have a later term. They never acknowledge this term again. */
  readonly #lost = new Set<string>();
  /** The break of this term that each server has reported. */
  readonly #broken = new Map<string, Broken>();
  /** The servers that answered the RELEASE while this term was their latest. */
  readonly #released = new Set<string>();
  #number = 0;

  constructor(server: Server, title: TermHeader, value: string | undefined) {
    this.#server = server;
    this.title = title;
    this.value = value;
  }

  /** True if so many servers have a later term that a majority can no longer acknowledge this one. */
  get isLost(): boolean {
    return this.#isEnough(this.#lost.size);
  }

  /** A majority has acknowledged the RELEASE. */
  get isReleased(): boolean {
    return this.#released.size >= this.#server.majority;
  }

  /** The break that ended this term. Undefined while a majority can still acknowledge the term. */
  get broken(): Broken | undefined {
    return this.#isEnough(new Set([...this.#lost, ...this.#broken.keys()]).size) ? [...this.#broken.values()][0] : undefined;
  }

  #isEnough(against: number): boolean {
    return this.#server.everyone.length - against < this.#server.majority;
  }

  /**
   * The instant before the send of the latest LEAD that a majority has acknowledged; undefined if there is none. A server that
   * acknowledged a later LEAD counts for the earlier ones as well.
   */
  get grantedAt(): Instant | undefined {
    const numbers = [...this.#taken.values()].toSorted((one, other) => other - one);
    const number = numbers[this.#server.majority - 1];
    return number === undefined ? undefined : this.#sent.get(number);
  }

  /** Sends one LEAD to all servers, and waits for a majority, `timeoutMs` at most. For `graceMs`, see {@link poll}. */
  async lead(timeoutMs: number, graceMs?: number): Promise<PollResult<Acknowledgement>> {
    this.#number += 1;
    const number = this.#number;
    this.#sent.set(number, instantOf(this.#server.clock));
    this.#sent.delete(number - REMEMBERED);
    const { value } = this;
    const request = { kind: "LEAD", ...this.title, number, ...(value === undefined ? {} : { value }) } as const;
    return await poll(this.#server, {
      request,
      timeoutMs,
      graceMs,
      isOver: () => this.isOver,
      isAnswer: isAnswerOf<Acknowledgement>("LEAD"),
      isYes: ({ taken }) => taken,
      onAnswer: (name, { taken, term, broken, transfer }) => {
        if (transfer) this.transfer = transfer;
        if (taken) this.#taken.set(name, Math.max(this.#taken.get(name) ?? 0, number));
        else if (term > this.title.term) this.#lost.add(name);
        else if (broken) this.#broken.set(name, broken);
      },
    });
  }

  /** Lifts the block of this term's LEADs; a hold and a transfer still block. The term's validity must have ended. */
  async release(holdMs: number, timeoutMs: number): Promise<PollResult<Acknowledgement>> {
    this.isOver = true;
    const { election, term, termId, leaseDurationMs } = this.title;
    // A break lifts the transfer order.
    const transfer = this.#broken.size > 0 ? undefined : this.transfer && { transfer: this.transfer };
    const number = this.#number;
    const request = { kind: "RELEASE", election, term, termId, leaseDurationMs, number, holdMs, ...transfer } as const;
    // Without a hold, a server that forgets the RELEASE only blocks candidates for too long.
    return await (holdMs > 0 ? pollToKeep : poll)(this.#server, {
      request,
      timeoutMs,
      isAnswer: isAnswerOf<Acknowledgement>("RELEASE"),
      isYes: () => true,
      onAnswer: (name, { term: known }) => {
        if (known > term) this.#lost.add(name);
        else this.#released.add(name);
      },
    });
  }
}
