import type { BlobClient, ContainerClient } from "@azure/storage-blob";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { Elector, type ElectorOptions } from "@leasehold/core";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { EVENT_NAMES, EventLog } from "@leasehold/test-kit/event-log";
import type { Azurite } from "@leasehold/test-kit/backends/azurite";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import type { FaultProxy, FaultRule } from "@leasehold/test-kit/faults/fault-proxy";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import type { ProxiedRequest } from "@leasehold/test-kit/faults/request-log";
import { HttpTraffic } from "./http-traffic.ts";
import { MovableClock } from "@leasehold/test-kit/clocks/movable-clock";
import { Witness } from "@leasehold/test-kit/witness";

/** How far the clock of each service has been moved by all of its tests. */
const serviceAheadMs = new WeakMap<Azurite, number>();

/** A candidate in a process of its own. Its store shares no memory with others. */
export interface Candidate {
  readonly elector: Elector;
  readonly store: BlobLeaseStore;
  readonly events: EventLog;
}

/** A delayed request. */
export interface HeldRequest {
  /** Resolves when the request has been sent and is held. */
  readonly arrived: Promise<ProxiedRequest>;
  /** Delivers the request. Resolves when the service has replied. */
  readonly letGo: () => Promise<void>;
}

/**
 * One container on Azurite, which does not exist at first, and a network to it that can fail. Both sides have one time, which
 * stands still until the test lets it pass.
 */
export class BlobWorld {
  readonly clock = new MovableClock();
  readonly witness = new Witness();
  readonly #traffic = new HttpTraffic();
  readonly proxy: FaultProxy;
  /** The container without the proxy, for arrangements and checks. */
  readonly container: ContainerClient;
  readonly #azurite: Azurite;
  #runs = false;
  readonly #startedAt: { readonly monotonicMs: number; readonly serviceMs: number };
  /** When Azurite's clock was last moved. */
  #advancedMs = performance.now();

  constructor(azurite: Azurite, proxy: FaultProxy) {
    this.#azurite = azurite;
    this.#startedAt = { monotonicMs: this.clock.monotonicMs(), serviceMs: Date.now() + (serviceAheadMs.get(azurite) ?? 0) };
    this.#traffic.dateReplies(() => this.serviceMs(this.clock.monotonicMs()));
    this.proxy = proxy;
    this.container = containerClient(azurite.url);
  }

  /** The blob of the election, without the proxy. */
  get blob(): BlobClient {
    return this.container.getBlobClient(ELECTION);
  }

  /** The container through the proxy, as candidates use it. */
  get proxied(): ContainerClient {
    return containerClient(this.proxy.url, this.container.containerName);
  }

  /** Returns the store of one more process. */
  store(): BlobLeaseStore {
    return new BlobLeaseStore({ container: this.proxied, clock: this.clock, createContainer: true });
  }

  candidate(candidateId: string, options: Partial<ElectorOptions> = {}): Candidate {
    const store = this.store();
    const elector = new Elector({
      election: ELECTION,
      candidateId,
      leaseDurationMs: LEASE_MS,
      clock: this.clock,
      ...options,
      store,
    });
    return { elector, store, events: this.listen(elector) };
  }

  /** Records every event of an elector. These events count among the texts that may not show a secret. */
  listen(elector: Elector): EventLog {
    for (const name of EVENT_NAMES) elector.on(name, (event) => this.witness.hear(event));
    return new EventLog(elector, this.clock);
  }

  /** Lets the clocks run by themselves too. Call it first. */
  letTimeRun(): void {
    this.clock.run();
    this.#runs = true;
    this.#traffic.dateReplies(undefined);
  }

  /** Makes the service date its replies by a clock that is `ms` ahead of this process's monotonic clock. */
  dateReplies(ms: number): void {
    this.#traffic.dateReplies(() => this.clock.monotonicMs() + ms);
  }

  /** Returns what the service's clock shows when this process's monotonic clock shows `monotonicMs`. */
  serviceMs(monotonicMs: number): number {
    const nowMs = Date.now() + (serviceAheadMs.get(this.#azurite) ?? 0) + monotonicMs - this.clock.monotonicMs();
    return this.#runs ? nowMs : this.#startedAt.serviceMs + monotonicMs - this.#startedAt.monotonicMs;
  }

  /** Lets `ms` pass, here and at the service, after every request under way has been answered. */
  async forward(ms: number): Promise<void> {
    await this.#quiet();
    await this.#advanceService(ms);
    this.clock.forward(ms);
  }

  /** Lets `ms` pass at the service only. */
  async elsewhere(ms: number): Promise<void> {
    await this.#advanceService(ms);
  }

  /** Lets `ms` pass. Stops at each timer, and lets everything run that it starts. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.clock.monotonicMs() + ms;
    await this.until(() => this.clock.monotonicMs() >= untilMs, untilMs);
  }

  /** Lets time pass from timer to timer, until the condition holds. @throws if it does not hold before `limitMs` by the clock. */
  async until(condition: () => boolean, limitMs: number = this.clock.monotonicMs() + 120_000): Promise<void> {
    for (;;) {
      await this.#quiet();
      if (condition()) return;
      const leftMs = limitMs - this.clock.monotonicMs();
      if (leftMs < -1) throw new Error("What was waited for did not happen in time.");
      await this.forward(Math.min(this.clock.nextTimerInMs ?? Infinity, Math.max(leftMs, 0)) + 1);
    }
  }

  /** Lets time pass until the promise settles. Returns its result, or throws its error. */
  async settled<T>(promise: Promise<T>, limitMs?: number): Promise<T> {
    let pending = true;
    const watch = promise.then(
      () => void (pending = false),
      () => void (pending = false),
    );
    await this.until(() => !pending, limitMs && this.clock.monotonicMs() + limitMs);
    await watch;
    return await promise;
  }

  /** Applies a fault to the next request of a name, and to no later one. */
  faultOnce(name: string, fault: Fault): void {
    let done = false;
    this.proxy.rule = (request) => {
      if (done || request.name !== name) return undefined;
      done = true;
      return fault;
    };
  }

  /** Holds the next request of a name until the test lets it go. `others` is the rule for all other requests. */
  holdOnce(name: string, others?: FaultRule): HeldRequest {
    const arrived = Promise.withResolvers<ProxiedRequest>();
    const until = Promise.withResolvers<void>();
    let done = false;
    this.proxy.rule = (request) => {
      if (done || request.name !== name) return others?.(request);
      done = true;
      arrived.resolve(request);
      return { kind: "hold", until: until.promise };
    };
    return {
      arrived: arrived.promise,
      letGo: async () => {
        until.resolve();
        const held = await arrived.promise;
        await this.proxy.waitFor((request) => request === held && request.deliveries[0]?.status !== undefined);
      },
    };
  }

  /** All requests that have arrived at the proxy. */
  get requests(): readonly ProxiedRequest[] {
    return this.proxy.requests;
  }

  /** Returns the requests that arrive at the proxy during `act`. */
  async requestsDuring(act: () => Promise<unknown>): Promise<readonly ProxiedRequest[]> {
    const before = this.requests.length;
    await act();
    return this.requests.slice(before);
  }

  /** Returns the names of these requests. */
  async namesDuring(act: () => Promise<unknown>): Promise<string[]> {
    return (await this.requestsDuring(act)).map(({ name }) => name);
  }

  /** Ends everything, so that nothing reaches the next test, and checks that no secret was shown. */
  async dispose(): Promise<void> {
    // If the service has died, this fails with its last output.
    await this.#azurite.advance(0);
    this.clock.stop();
    await this.#quiet();
    this.proxy.rule = undefined;
    this.witness[Symbol.dispose]();
    this.#traffic[Symbol.dispose]();
    this.witness.keep(...secretsOf(this.proxy.requests));
    this.proxy.clear();
    this.witness.expectDiscreet();
  }

  async #advanceService(ms: number): Promise<void> {
    // Azurite's clock runs by itself. If time must stand still, it is set back by the same amount.
    const nowMs = performance.now();
    const moveMs = this.#runs ? ms : ms - (nowMs - this.#advancedMs);
    this.#advancedMs = nowMs;
    await this.#azurite.advance(moveMs);
    serviceAheadMs.set(this.#azurite, (serviceAheadMs.get(this.#azurite) ?? 0) + moveMs);
  }

  async #quiet(): Promise<void> {
    await this.#traffic.quiet((requestId) => {
      const request = this.proxy.requests.findLast((recorded) => idOf(recorded) === requestId);
      if (!request) return false;
      const { fault, deliveries } = request;
      if (fault?.kind === "hold") return deliveries.length === 0;
      if (fault?.kind === "black-hole") return fault.side === "request" || deliveries[0]?.repliedMs !== undefined;
      return false;
    });
  }
}

function idOf(request: ProxiedRequest): string {
  return String(request.headers["x-ms-client-request-id"]);
}

/** Returns the lease ids and account keys that requests carried. */
function secretsOf(requests: readonly ProxiedRequest[]): string[] {
  return requests.flatMap(({ headers, query }) => {
    const { authorization } = headers;
    const signature = authorization?.slice(authorization.indexOf(":") + 1);
    const values = [headers["x-ms-lease-id"], headers["x-ms-proposed-lease-id"], signature, query.get("sig")];
    return values.filter((value) => typeof value === "string");
  });
}
