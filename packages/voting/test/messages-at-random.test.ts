/** One voter that receives requests of every kind in any order, with extreme values in every field. */
import { expect, test } from "vitest";
import { SeededRandom } from "@leasehold/core/testing";
import { isAnswer, isRequest } from "../src/message-shapes.ts";
import type { Acknowledgement, Request, Vote } from "../src/messages.ts";
import { stateReplyOf } from "../src/startup-recovery.ts";
import { decodeStoredState, textOf, type StoredVoterState } from "../src/voter-state-codec.ts";
import { VoterState } from "../src/voter-state.ts";
import { elect, EMPTY, lead } from "./one-election.ts";
import { anyRequest, damaged } from "./random-messages.ts";

const SEEDS = 400;
const MESSAGES = 150;
const PAUSES_MS = [0, 0, 1, 50, 1_000, 61_000];
/** Longer than the longest lease and a transfer after it. */
const LONG_MS = 3 * 3_600_000;

/** A voter whose answers and votes are judged. Its state passes through its file at each start. */
class JudgedVoter {
  nowMs = 0;
  received = 0;
  #voter = new VoterState(EMPTY, 0);
  readonly #votes = new Map<string, string>();
  readonly #terms = new Map<string, number>();

  receive(message: Request): void {
    this.received += 1;
    const answer = this.#answer(message);
    // An answer that has no number in its JSON would be dropped by the one that asked.
    if (answer) expect(isAnswer(JSON.parse(JSON.stringify(answer))), JSON.stringify([message, answer])).toBe(true);
    if (!("election" in message)) return;
    const { election } = message;
    const term = this.#voter.termOf(election);
    expect(term, JSON.stringify(message)).toBeGreaterThanOrEqual(this.#terms.get(election) ?? 0);
    this.#terms.set(election, term);
  }

  startAgain(): void {
    this.#voter = new VoterState(this.file() as StoredVoterState, this.nowMs);
  }

  /** The state that the voter would read after a start. */
  file(): StoredVoterState | undefined {
    return decodeStoredState(textOf({ ...this.#voter.kept, writes: 1, seen: {} }));
  }

  /** Much later, each election has a next term, and the voter votes in it for any candidate. */
  votesLater(): void {
    this.nowMs += LONG_MS;
    for (const [election, term] of this.#terms) {
      if (term === Number.MAX_SAFE_INTEGER) continue;
      const vote = this.#voter.elect({ ...elect(term + 1, "later", false, "any"), election }, this.nowMs);
      expect(vote, election).toMatchObject({ granted: true });
    }
  }

  #answer(message: Request): Vote | Acknowledgement | object | undefined {
    const { nowMs } = this;
    if (message.kind === "PING") return undefined;
    if (message.kind === "TELL") {
      return stateReplyOf(this.#voter.kept, { forgot: false, takesPart: true }, this.#voter.leases(nowMs));
    }
    if (message.kind === "READ") return { kind: "READ", sign: this.#voter.sign(message.election, nowMs), absent: [] };
    if (message.kind !== "ELECT") return this.#voter.take(message, "a", nowMs);
    const vote = this.#voter.elect(message, nowMs);
    if (vote.granted && !message.trial) this.#judge(message.election, message.term, message.termId);
    return vote;
  }

  #judge(election: string, term: number, termId: string): void {
    const key = JSON.stringify([election, term]);
    expect(this.#votes.get(key) ?? termId, key).toBe(termId);
    this.#votes.set(key, termId);
  }
}

test(`a voter answers ${SEEDS} random orders of messages, votes once in a term, and votes again in the end`, () => {
  const kinds = new Set<string>();
  let received = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = new SeededRandom(seed);
    const voter = new JudgedVoter();
    for (let count = 0; count < MESSAGES; count += 1) {
      voter.nowMs += random.pick(PAUSES_MS);
      if (random.chance(0.03)) voter.startAgain();
      const drawn = anyRequest(random);
      // A server reads its messages from JSON.
      const message: unknown = JSON.parse(JSON.stringify(random.chance(0.2) ? damaged(random, drawn) : drawn));
      if (!isRequest(message)) continue;
      kinds.add(message.kind);
      voter.receive(message);
    }
    expect(voter.file(), `seed ${seed}`).toBeDefined();
    voter.votesLater();
    received += voter.received;
  }
  expect(kinds.size).toBe(8);
  expect(received).toBeGreaterThan((SEEDS * MESSAGES) / 10);
});

test("a voter keeps a thousand finished elections, however many names it receives", () => {
  const voter = new VoterState(EMPTY, 0);
  let nowMs = 0;
  for (let count = 0; count < 5_000; count += 1) {
    const election = `e${count}`;
    voter.lead({ ...lead(1, 1), election }, "a", nowMs);
    voter.elect({ ...elect(9, "t", true), election: `trial ${count}` }, nowMs);
    voter.sign(`read ${count}`, nowMs);
    nowMs += 1_000;
  }
  // A lease of a second, and the minute for which a claim may be under way.
  expect(Object.keys(voter.kept.elections).length).toBeLessThanOrEqual(1_000 + 62);
});

test("a voter keeps no field of a message that this version does not know", () => {
  const voter = new VoterState(EMPTY, 0);
  const order = { id: "i", candidateId: "x", timeoutMs: 1, news: 1 };
  voter.lead({ ...lead(1, 1), news: 1 } as ReturnType<typeof lead>, "a", 0);
  voter.release({ ...lead(1, 1), kind: "RELEASE", holdMs: 0, transfer: order, news: 1 } as never, "a", 0);
  expect(JSON.stringify([voter.kept, voter.sign("e", 0)])).not.toContain("news");
});
