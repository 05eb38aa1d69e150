import { sleep, type Clock } from "@leasehold/core/provider";
import type { ApiCall } from "@leasehold/test-kit/simulated/kubernetes-api";
import type { LeaseObject, LeaseSpec, Reply } from "@leasehold/test-kit/simulated/kubernetes-objects";

const JITTER = 1.2;

export interface GoCandidateOptions {
  readonly clock: Clock;
  /** Carries one request to the server. */
  readonly call: (call: ApiCall) => Promise<Reply>;
  readonly lease: string;
  readonly identity: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
}

/**
 * A candidate as a Go program has it, by the rules of https://pkg.go.dev/k8s.io/client-go/tools/leaderelection. The program that
 * `holderIdentity` names leads. Others wait from the moment at which they saw the record change. A leader stops once
 * `renewDeadline` has passed without a renewal.
 */
export class GoCandidate {
  isLeading = false;
  /** Called at each change of {@link isLeading}. */
  onChange: (() => void) | undefined;
  readonly #options: Required<GoCandidateOptions>;
  #lease: LeaseObject | undefined;
  /** The record as it compares it: times in whole seconds. */
  #observed = "";
  #observedMs = -Infinity;

  constructor(options: GoCandidateOptions) {
    this.#options = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000, ...options };
  }

  /** Acquires, renews until that fails, and returns, as `LeaderElector.Run` does. Releases if the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, retryPeriodMs } = this.#options;
    while (!(await this.#tryOnce())) {
      await sleep(clock, retryPeriodMs * (1 + clock.random() * JITTER), signal).catch(() => undefined);
      if (signal.aborted) return;
    }
    this.#lead(true);
    await this.#renew(signal);
    this.#lead(false);
    if (signal.aborted) await this.#release();
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { clock, renewDeadlineMs, retryPeriodMs } = this.#options;
    let lastMs = clock.monotonicMs();
    for (;;) {
      await sleep(clock, retryPeriodMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      const left = lastMs + renewDeadlineMs - clock.monotonicMs();
      const timeUp = Promise.withResolvers<undefined>();
      const timer = clock.setTimer(() => timeUp.resolve(undefined), Math.max(left, 0));
      const renewed = await Promise.race([this.#tryOnce(), timeUp.promise]);
      timer.cancel();
      if (renewed === undefined) return;
      // It counts from after the reply.
      if (renewed) lastMs = clock.monotonicMs();
    }
  }

  /** One try to acquire or to renew. */
  async #tryOnce(): Promise<boolean> {
    const { clock, identity, leaseDurationMs } = this.#options;
    const time = new Date(clock.wallMs()).toISOString().replace("Z", "000Z");
    const wanted: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: leaseDurationMs / 1_000,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    };
    const known = this.#lease?.spec;
    // Its own valid lease is updated without a read, and only after a failure it reads.
    if (known?.holderIdentity === identity && this.#isObservedValid(known)) {
      if (await this.#update({ ...wanted, acquireTime: known.acquireTime!, leaseTransitions: known.leaseTransitions ?? 0 }))
        return true;
    }
    const found = await this.#send("GET");
    if (found?.status === 404) return await this.#create(wanted);
    if (found?.status !== 200) return false;
    this.#saw(found.body as unknown as LeaseObject);
    const spec = this.#lease?.spec ?? {};
    const isOwn = spec.holderIdentity === identity;
    if (spec.holderIdentity && !isOwn && this.#isObservedValid(spec)) return false;
    return await this.#update({
      ...wanted,
      ...(isOwn ? { acquireTime: spec.acquireTime! } : {}),
      leaseTransitions: (spec.leaseTransitions ?? 0) + (isOwn ? 0 : 1),
    });
  }

  async #create(spec: LeaseSpec): Promise<boolean> {
    const body = { metadata: { name: this.#options.lease }, spec };
    const reply = await this.#send("POST", body);
    if (reply?.status !== 201) return false;
    this.#saw(reply.body as unknown as LeaseObject, true);
    return true;
  }

  /** Replaces `spec` in the Lease as it was read: annotations of others stay. */
  async #update(spec: LeaseSpec): Promise<boolean> {
    const reply = await this.#send("PUT", { ...this.#lease, spec });
    if (reply?.status !== 200) return false;
    this.#saw(reply.body as unknown as LeaseObject, true);
    return true;
  }

  async #release(): Promise<void> {
    const { clock, identity } = this.#options;
    const spec = this.#lease?.spec;
    if (spec?.holderIdentity !== identity) return;
    const time = new Date(clock.wallMs()).toISOString().replace("Z", "000Z");
    const released = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: time, renewTime: time };
    await this.#update({ ...released, leaseTransitions: spec.leaseTransitions ?? 0 });
  }

  async #send(method: string, body?: object): Promise<Reply | undefined> {
    const { call, lease } = this.#options;
    const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const item = method === "POST" ? path : `${path}/${lease}`;
    const json = body === undefined ? {} : { body: body as Readonly<Record<string, unknown>> };
    return await call({ method, path: item, ...json }).catch(() => undefined);
  }

  /** @param isOwn true for the answer to its own write, whose time counts even within the same second. */
  #saw(lease: LeaseObject, isOwn = false): void {
    const { acquireTime = "", renewTime = "", ...rest } = lease.spec ?? {};
    const seconds = [acquireTime, renewTime].map((time) => time.slice(0, 19));
    const record = JSON.stringify([rest, seconds]);
    this.#lease = lease;
    if (record === this.#observed && !isOwn) return;
    this.#observed = record;
    this.#observedMs = this.#options.clock.monotonicMs();
  }

  #isObservedValid({ leaseDurationSeconds = 0 }: LeaseSpec): boolean {
    return this.#observedMs + leaseDurationSeconds * 1_000 > this.#options.clock.monotonicMs();
  }

  #lead(isLeading: boolean): void {
    this.isLeading = isLeading;
    this.onChange?.();
  }
}
