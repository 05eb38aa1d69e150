import assert from "node:assert/strict";
import type { Leadership, LeaseStore } from "@leasehold/core";
import { Contender, type Arena, type ContenderOptions } from "./contender.ts";
import { STEPS_PER_LEASE, type Scene } from "./scene.ts";

/**
 * The contenders of one election. Never are two of them valid at once by their own `isValid()`: all are asked whenever
 * one begins to lead, and many times in every lease; and each term is higher than those before.
 */
export class Contest implements AsyncDisposable {
  readonly #scene: Scene;
  readonly #arena: Arena;
  readonly #contenders: Contender[] = [];
  /** Of every leadership, in order. */
  readonly terms: number[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
    const { election, leaseMs: leaseDurationMs, clock } = scene;
    this.#arena = {
      clock,
      timing: { election, leaseDurationMs, retryPeriodMs: leaseDurationMs / 8 },
      started: (contender, leadership) => this.#started(contender, leadership),
    };
  }

  /** One more process begins to campaign. It has looked, so that its connections are open. */
  async enter(candidateId: string, store: LeaseStore, options: ContenderOptions = {}): Promise<Contender> {
    await this.#scene.look(store);
    const contender = new Contender(this.#arena, candidateId, store, options);
    this.#contenders.push(contender);
    return contender;
  }

  /** Enters, and waits until it leads. */
  async enterAndLead(candidateId: string, store: LeaseStore, options: ContenderOptions = {}): Promise<Contender> {
    const contender = await this.enter(candidateId, store, options);
    await this.until(`'${candidateId}' leads`, () => contender.leads, this.#scene.leaseMs);
    return contender;
  }

  /** Who leads. */
  get leader(): Contender | undefined {
    return this.#contenders.find((contender) => contender.leads);
  }

  /** Lets time pass, and asks everybody all the while. */
  async pass(ms: number): Promise<void> {
    const stepMs = this.#scene.leaseMs / STEPS_PER_LEASE;
    for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
      await this.#scene.pass(Math.min(stepMs, leftMs));
      this.#look();
    }
  }

  /** As {@link pass}, until something has come about. @throws if it has not after `withinMs`. */
  async until(what: string, happened: () => boolean, withinMs: number): Promise<void> {
    await this.#scene.until(what, happened, withinMs, async (ms) => await this.pass(ms));
  }

  /** One contender leads on for `ms`, in one term. */
  async leadsOn(contender: Contender, ms: number): Promise<void> {
    const { term } = contender.leadership;
    await this.pass(ms);
    assert.equal(this.leader?.elector.candidateId, contender.elector.candidateId, "who leads");
    assert.equal(contender.leadership.term, term, `'${contender.elector.candidateId}' has lost its term`);
  }

  /** Ends every campaign, as far as that can be. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const contender of this.#contenders) {
      contender.resume();
      contender.settle();
    }
    const stopped = Promise.all(this.#contenders.map((contender) => contender.stop()));
    // Whatever went wrong before is the thing to tell of.
    await this.#scene.ending(stopped, 4 * this.#scene.leaseMs).catch(() => undefined);
  }

  #started(contender: Contender, { term }: Leadership): void {
    this.#look();
    const last = this.terms.at(-1) ?? 0;
    assert.ok(term > last, `term ${term} of '${contender.elector.candidateId}' follows term ${last}`);
    this.terms.push(term);
  }

  #look(): void {
    for (const contender of this.#contenders) contender.assertRuns();
    const valid = this.#contenders.filter((contender) => contender.leads).map(({ elector }) => elector.candidateId);
    assert.ok(valid.length <= 1, `these are valid at once: ${valid.join(", ")}`);
  }
}
