import { instantOf, type Instant } from "@leasehold/core/provider";
import type { Acknowledgement, Answer, Broken, Handover, Lead } from "./messages.ts";
import { isOrderedLater } from "./orders.ts";
import { poll, pollToKeep, type PollResult } from "./poll.ts";
import type { Server } from "./server.ts";

/** What stays the same in the LEADs of one term. */
export type Title = Omit<Lead, "kind" | "number" | "value">;

/** So many LEADs are remembered by when they were sent: an answer to an older one would extend nothing any more. */
const REMEMBERED = 32;

/**
 * One term that a majority has voted for: its LEADs, and since when the lease counts. That is the send of the latest LEAD
 * that a majority has acknowledged: each server by the latest of its own acknowledgements.
 */
export class Reign {
  readonly title: Title;
  value: string | undefined;
  /** Nothing is sent any more. */
  isOver = false;
  /** The latest order to hand over that any server has told of: one word is enough, since it is an administrator's. */
  handover: Handover | undefined;
  readonly #server: Server;
  readonly #sent = new Map<number, Instant>();
  /** The latest number that each server has acknowledged. */
  readonly #taken = new Map<string, number>();
  /** The servers whose term is above this one: they never acknowledge it again. */
  readonly #lost = new Set<string>();
  /** What an administrator has told servers that end the term. */
  readonly #broken = new Map<string, Broken>();
  /** The servers that know that it was released while it was the last. */
  readonly #released = new Set<string>();
  #number = 0;

  constructor(server: Server, title: Title, value: string | undefined) {
    this.#server = server;
    this.title = title;
    this.value = value;
  }

  /** The number of its last LEAD. */
  get number(): number {
    return this.#number;
  }

  /** Another term has begun: no majority can acknowledge this one any more. */
  get isLost(): boolean {
    return this.#isEnough(this.#lost.size);
  }

  /** A majority knows so. */
  get isReleased(): boolean {
    return this.#released.size >= this.#server.majority;
  }

  /** The order that has ended it, as so many say that no majority can acknowledge it any more. */
  get broken(): Broken | undefined {
    return this.#isEnough(new Set([...this.#lost, ...this.#broken.keys()]).size) ? [...this.#broken.values()][0] : undefined;
  }

  /** Some server has told of a break that came after the order to hand over. */
  get #isLifted(): boolean {
    return [...this.#broken.values()].some((broken) => isOrderedLater({ broken }, { handover: this.handover }));
  }

  #isEnough(against: number): boolean {
    return this.#server.everyone.length - against < this.#server.majority;
  }

  /** From before the send that the lease counts from; undefined before a majority has acknowledged any. */
  get grantedAt(): Instant | undefined {
    const numbers = [...this.#taken.values()].toSorted((one, other) => other - one);
    const number = numbers[this.#server.majority - 1];
    return number === undefined ? undefined : this.#sent.get(number);
  }

  /** Sends one LEAD to all, and waits for a majority, for all the time at most; for `graceMs`, see {@link poll}. */
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
      isAnswer: isLead,
      isYes: ({ taken }) => taken,
      onAnswer: (name, { taken, term, broken, handover }) => {
        if ((handover?.number ?? 0) > (this.handover?.number ?? 0)) this.handover = handover;
        if (taken) this.#taken.set(name, Math.max(this.#taken.get(name) ?? 0, number));
        else if (term > this.title.term) this.#lost.add(name);
        else if (broken) this.#broken.set(name, broken);
      },
    });
  }

  /** Frees what its LEADs have barred, but for whom it was asked to hand over to. Its validity has ended. */
  async release(holdMs: number, timeoutMs: number): Promise<PollResult<Acknowledgement>> {
    this.isOver = true;
    const { election, term, termId, leaseDurationMs } = this.title;
    const handover = this.#isLifted ? undefined : this.handover && { handover: this.handover };
    const number = this.#number;
    const request = { kind: "RELEASE", election, term, termId, leaseDurationMs, number, holdMs, ...handover } as const;
    // Without a hold, what is forgotten bars somebody for too long at most.
    return await (holdMs > 0 ? pollToKeep : poll)(this.#server, {
      request,
      timeoutMs,
      isAnswer: isRelease,
      isYes: () => true,
      onAnswer: (name, { term: known }) => {
        if (known > term) this.#lost.add(name);
        else this.#released.add(name);
      },
    });
  }
}

function isLead(answer: Answer): answer is Acknowledgement {
  return answer.kind === "LEAD";
}

function isRelease(answer: Answer): answer is Acknowledgement {
  return answer.kind === "RELEASE";
}
