import assert from "node:assert/strict";
import type { Leadership, LeaseStore } from "@leasehold/core";
import { Candidate, type Arena, type CandidateOptions } from "./candidate.ts";
import { STEPS_PER_LEASE, type Scenario } from "./scenario.ts";

/**
 * Runs the candidates of one election, and checks that they lead one at a time. At most one of them may be valid by its own
 * `isValid()`. All candidates are asked whenever one begins to lead, and many times in every lease. Each term must be higher than
 * all earlier ones.
 */
export class Contest implements AsyncDisposable {
  readonly #scene: Scenario;
  readonly #arena: Arena;
  readonly #candidates: Candidate[] = [];
  /** The term of every leadership, in order. */
  readonly terms: number[] = [];

  constructor(scene: Scenario) {
    this.#scene = scene;
    const { election, leaseMs: leaseDurationMs, clock } = scene;
    this.#arena = {
      clock,
      timing: { election, leaseDurationMs, retryPeriodMs: leaseDurationMs / 8 },
      started: (candidate, leadership) => this.#started(candidate, leadership),
    };
  }

  /** Starts one more process, which campaigns. Its store has read before, so that its connections are open. */
  async enter(candidateId: string, store: LeaseStore, options: CandidateOptions = {}): Promise<Candidate> {
    await this.#scene.look(store);
    const candidate = new Candidate(this.#arena, candidateId, store, options);
    this.#candidates.push(candidate);
    return candidate;
  }

  /** Starts a process, and waits until it leads. */
  async enterAndLead(candidateId: string, store: LeaseStore, options: CandidateOptions = {}): Promise<Candidate> {
    const candidate = await this.enter(candidateId, store, options);
    await this.until(`'${candidateId}' leads`, () => candidate.leads, this.#scene.leaseMs);
    return candidate;
  }

  /** The candidate that leads. */
  get leader(): Candidate | undefined {
    return this.#candidates.find((candidate) => candidate.leads);
  }

  /** Lets time pass, and asks all candidates many times meanwhile. */
  async pass(ms: number): Promise<void> {
    const stepMs = this.#scene.leaseMs / STEPS_PER_LEASE;
    for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
      await this.#scene.pass(Math.min(stepMs, leftMs));
      this.#look();
    }
  }

  /** Like {@link pass}, until `happened` is true. @throws if that takes longer than `withinMs`. */
  async until(what: string, happened: () => boolean, withinMs: number): Promise<void> {
    await this.#scene.until(what, happened, withinMs, async (ms) => await this.pass(ms));
  }

  /** Checks that one candidate leads for `ms` more, in one term. */
  async leadsOn(candidate: Candidate, ms: number): Promise<void> {
    const { term } = candidate.leadership;
    await this.pass(ms);
    assert.equal(this.leader?.elector.candidateId, candidate.elector.candidateId, "who leads");
    assert.equal(candidate.leadership.term, term, `'${candidate.elector.candidateId}' has lost its term`);
  }

  /** Ends every campaign, as far as possible. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const candidate of this.#candidates) {
      candidate.resume();
      candidate.settle();
    }
    const stopped = Promise.all(this.#candidates.map((candidate) => candidate.stop()));
    // Ignore this error, because an earlier failure is the one to report.
    await this.#scene.ending(stopped, 4 * this.#scene.leaseMs).catch(() => undefined);
  }

  #started(candidate: Candidate, { term }: Leadership): void {
    this.#look();
    const last = this.terms.at(-1) ?? 0;
    assert.ok(term > last, `term ${term} of '${candidate.elector.candidateId}' follows term ${last}`);
    this.terms.push(term);
  }

  #look(): void {
    for (const candidate of this.#candidates) candidate.assertRuns();
    const valid = this.#candidates.filter((candidate) => candidate.leads).map(({ elector }) => elector.candidateId);
    assert.ok(valid.length <= 1, `these are valid at once: ${valid.join(", ")}`);
  }
}
